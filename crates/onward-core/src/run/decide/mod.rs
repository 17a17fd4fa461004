//! Decisions: what happened outside becomes facts. One file for each kind of input.

mod agents;
mod backoff;
mod begin;
mod dispatch;
pub(super) mod ended;
mod external_phases;
mod limited;
mod messages_and_knowledge;
mod notices;
mod pause;
mod plan_marks;
mod posted;
mod probed;
mod refusal;
mod replan;
mod revise;
mod sections;
mod stop;
mod undo_phases;
mod vcs;
mod worktrees;

pub(super) use agents::{agent_failure, counts_as_failure};
pub use begin::{clean_retry, is_legal};
pub(super) use dispatch::decide;
pub(super) use messages_and_knowledge::round;
pub use posted::ends_with;
pub use refusal::Refusal;
pub use revise::preview_revised;
