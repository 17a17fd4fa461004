//! Going on with a run: the one place where facts are decided and made durable, and the loop around it.

pub(crate) mod agent_end;
mod attempt_files;
pub(crate) mod committer;
mod driver;
pub(crate) mod earlier_attempts;
pub(crate) mod groups;
pub(crate) mod inbox;
pub(crate) mod keyframes;
pub(crate) mod notices;
pub(crate) mod process_world;
pub(crate) mod project_moved;
pub(crate) mod reporter;
pub(crate) mod running_attempt;
pub(crate) mod shared_limits;
#[cfg(test)]
mod tests;
pub(crate) mod waiter;
mod worktrees_beside;
pub(crate) mod world;

pub use committer::{Arrived, Committer};
pub use driver::Driver;
