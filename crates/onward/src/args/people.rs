//! What is typed by those for whom a run waits: people who decide, and whoever does a phase and reports.

use clap::{Args, Subcommand};

use super::{Json, key_and_value};

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The run: its id or the beginning of it, or `latest`.
    pub(crate) run: String,
    /// The id of the phase.
    pub(crate) phase: String,
    /// One of the choices that the plan names, the first where none is given. Each of them is a yes, save `reject`.
    #[arg(long, value_name = "NAME")]
    pub(crate) choice: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Next {
    /// The run; inside a phase its own, else the newest one.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// The work on a phase begins.
    Start(About),
    /// How far it is; also a sign of life.
    Progress(Progress),
    /// The phase is done. It is looked whether that is so.
    Done(Done),
    /// The phase cannot be done.
    Fail(Fail),
    /// Another plan is needed.
    Replan(Replan),
}

/// What all reports have.
#[derive(Debug, Args)]
pub(crate) struct About {
    /// The id of the phase.
    pub(crate) phase: String,
    /// The run; inside a phase its own, else the newest one.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// How hard the phase turned out to be.
    #[arg(long, value_name = "N")]
    pub(crate) complexity: Option<u32>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Progress {
    #[command(flatten)]
    pub(crate) about: About,
    /// A word on where it stands; `3/10` counts.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Done {
    #[command(flatten)]
    pub(crate) about: About,
    /// What was done, in 50 words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    /// A file or folder that was made, below the top of the project.
    #[arg(long, value_name = "PATH")]
    pub(crate) artifact: Vec<String>,
    /// A value for later phases.
    #[arg(long = "output", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) values: Vec<(String, String)>,
    /// The commit that holds the work.
    #[arg(long, value_name = "SHA")]
    pub(crate) commit: Option<String>,
    /// What remains to be done. With anything left the phase is not done.
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    pub(crate) remaining: String,
}

#[derive(Debug, Args)]
pub(crate) struct Fail {
    #[command(flatten)]
    pub(crate) about: About,
    /// Why not.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct Replan {
    #[command(flatten)]
    pub(crate) about: About,
    /// Why the present one does not do.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// The new plan; without it the command `replan.run` of the plan makes one.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<std::path::PathBuf>,
}
