//! Why no plan came of a task.

use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use onward_core::diagnostic::Diagnostic;

#[derive(Debug, thiserror::Error)]
pub enum PlanningError {
    #[error("{} is there already, and is not overwritten", path.display())]
    Exists { path: PathBuf },
    #[error("an agent writes plans in YAML, and {} would be read as another format", path.display())]
    OtherFormat { path: PathBuf },
    #[error("there is no task to plan")]
    NoTask,
    #[error("there is no agent {agent}: it is neither built in nor an entry of `agents` in the configuration")]
    NoSuchAgent { agent: String },
    #[error("the agent {agent} is not installed: there is no program {program} on the PATH")]
    NotInstalled { agent: String, program: String },
    #[error("the agent {agent} is not logged in: {said}")]
    NotLoggedIn { agent: String, said: String },
    /// A limit of the client; none: nobody said until when.
    #[error("the agent {agent} was rate-limited: {said}")]
    Limited { agent: String, until: Option<Timestamp>, said: String },
    #[error("the service of the agent {agent} has no capacity: {said}")]
    Overloaded { agent: String, said: String },
    #[error("the agent {agent} made no plan within {} s", limit.as_secs())]
    TooLong { agent: String, limit: Duration },
    #[error("the agent {agent} made no plan: {why}")]
    Failed { agent: String, why: String },
    /// After all corrections.
    #[error("the agent {agent} made no plan that can be used, in {tries} tries")]
    Wrong { agent: String, tries: u32, wrong: Box<WrongPlan> },
    /// The plan is not where it was to be.
    #[error("the plan cannot be written to {}: {why}", path.display())]
    NotWritten { path: PathBuf, kept: PathBuf, why: String },
}

/// The last text that was no plan.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongPlan {
    pub text: String,
    /// All that the checker says.
    pub diagnostics: Vec<Diagnostic>,
    /// The fault beside these; empty where the checker says it.
    pub why: String,
    /// The file in which it was kept.
    pub kept: PathBuf,
}
