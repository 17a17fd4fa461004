//! The verbs. Each is: parse, call `Onward`, render.

mod ask;
mod bare;
mod check;
mod checkpoint;
mod completions;
mod config;
mod delete;
mod doctor;
mod graph;
mod init;
mod list;
mod log;
mod logs;
mod perform;
mod prune;
mod resume;
mod run;
mod schema;
mod show;
mod start;
mod status;
mod why;

pub(crate) use perform::{here, perform};
