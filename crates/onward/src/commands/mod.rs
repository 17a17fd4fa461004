//! The verbs. Each is: parse, call `Onward`, render.

mod after_failure;
mod approve;
mod ask;
mod bare;
mod check;
mod checkpoint;
mod completions;
mod config;
mod delete;
mod diff;
mod doctor;
mod fork;
mod graph;
mod halt;
mod init;
mod list;
mod load;
mod log;
mod logs;
mod next;
mod perform;
mod prune;
mod replan;
mod report;
mod resume;
mod rewind;
mod run;
mod save;
mod schema;
mod show;
mod start;
mod state;
mod status;
mod steer;
mod why;

pub(crate) use perform::{here, perform};
