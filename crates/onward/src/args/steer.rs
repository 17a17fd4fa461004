//! Answers and orders to a run.

use clap::Args;

use super::Json;

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct ApproveArgs {
    /// Run id or its beginning [default: inside a phase its own run, else the newest].
    pub(crate) run: Option<String>,
    /// Id of the phase.
    pub(crate) phase: String,
    /// Answer with one of the choices of the plan; all but `reject` approve [default: the first].
    #[arg(long, value_name = "NAME")]
    pub(crate) choice: Option<String>,
    /// Answer this tool call of the phase's agent and no other: `status` shows its id [default: the one that waits].
    #[arg(long, value_name = "ID")]
    pub(crate) call: Option<String>,
    /// Tell the agent why, where it is its tool call that is answered.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Go on with the run at once, where nobody drives it.
    #[arg(long)]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct SteerArgs {
    /// Run id or its beginning [default: inside a phase its own run, else the newest].
    pub(crate) run: Option<String>,
    /// Id of the phase.
    pub(crate) phase: String,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct AdoptArgs {
    #[command(flatten)]
    pub(crate) steer: SteerArgs,
    /// Record why it counts as done.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct HaltArgs {
    /// Run id or its beginning [default: inside a phase its own run, else the newest].
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ArchiveArgs {
    /// Run id or its beginning.
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) output: Json,
}
