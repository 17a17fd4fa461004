//! Everything that is shown. Every renderer is a function from a view to text; only `write` lets text out of the
//! program.

pub(crate) mod agent_session;
mod agents;
mod artifacts;
mod change;
pub(crate) mod check;
pub(crate) mod codes;
pub(crate) mod colour;
mod compound;
pub(crate) mod demo;
pub(crate) mod detach;
pub(crate) mod diff;
pub(crate) mod doctor;
mod ending;
pub(crate) mod external_phases;
pub(crate) mod failure;
pub(crate) mod follow;
pub(crate) mod foreign_work;
pub(crate) mod graph;
pub(crate) mod json;
pub(crate) mod keep;
mod limits;
pub(crate) mod list;
pub(crate) mod live;
pub(crate) mod log;
mod markers;
pub(crate) mod messages_and_knowledge;
mod names;
pub(crate) mod paint;
mod planned_work;
pub(crate) mod planning;
pub(crate) mod prune;
pub(crate) mod question;
pub(crate) mod replan;
mod requirements;
pub(crate) mod run;
pub(crate) mod safe;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod summary;
mod tail;
mod terminal_size;
pub(crate) mod time;
pub(crate) mod vcs;
pub(crate) mod watch;
mod worktrees;
mod wrap;
mod write;
mod writer_thread;

pub(crate) use terminal_size::drawing_columns;
pub(crate) use write::{
    Readership, answer, answer_bytes, answer_drawn, answer_exact, answer_json, answer_raw, copy, not_written, say,
    usage, usage_words, write_beside,
};
pub(crate) use writer_thread::drain;
