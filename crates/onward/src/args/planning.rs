//! The arguments of `onward plan`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use onward_engine::{PlanTarget, TaskRequest};

use super::{Json, span};

/// A file name that means standard input, or standard output.
const STANDARD: &str = "-";
/// How long an agent may take where nobody says.
pub(crate) const PLANNING_TIME_MAX: Duration = Duration::from_mins(30);

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The task, in a sentence or in a page; `-` reads it from standard input.
    pub(crate) task: String,
    /// Let this agent write the plan [default: plan.agent of the configuration, else claude-code].
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Save the plan there [default: onward.yaml]; `-` prints it and saves nothing.
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// End the agent after this time [default: 30m].
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) timeout: Option<Duration>,
    /// Save a plan that passes the checks without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Never ask; exit 14 where an answer is needed.
    #[arg(long)]
    pub(crate) no_input: bool,
    /// Do not show what the agent says and does.
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) output_form: Json,
}

impl PlanArgs {
    pub(crate) fn reads_stdin(&self) -> bool {
        self.task == STANDARD
    }

    pub(crate) fn request(&self, task: String) -> TaskRequest {
        let target = match &self.output {
            None => PlanTarget::Project,
            Some(path) if path == Path::new(STANDARD) => PlanTarget::Printed,
            Some(path) => PlanTarget::File(path.clone()),
        };
        TaskRequest { task, agent: self.agent.clone(), target, time_max: self.timeout.unwrap_or(PLANNING_TIME_MAX) }
    }
}
