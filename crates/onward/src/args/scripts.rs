//! Verbs for scripts, and for workers who report on phases that onward does not run.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Json, key_and_value};

#[derive(Debug, Args)]
pub(crate) struct NextArgs {
    /// Run id or its beginning [default: inside a phase its own run, else the newest].
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

/// Exits 0, and says nothing but what the agent is to read. About a tool call, 2 keeps the client from making it.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Name of the event, as the client has it: `SessionStart`, `PreCompact`, `Stop` and so on. Its JSON is read from stdin.
    pub(crate) event: String,
    /// Folder of the attempt whose calls are asked about; an agent with `ask` is started with it.
    #[arg(long, value_name = "FOLDER", hide = true)]
    pub(crate) calls: Option<std::path::PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Offer only the tools that change nothing.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Serve streamable HTTP on loopback instead of stdin and stdout; prints address and token as one line of JSON.
    #[arg(long)]
    pub(crate) http: bool,
    /// Port for --http [default: any free one].
    #[arg(long, value_name = "N", requires = "http", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(subcommand)]
    pub(crate) what: ReportVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReportVerb {
    /// Report that work on a phase begins.
    Start(ReportedPhase),
    /// Report progress, which also shows that you are still at work.
    Progress(ReportProgress),
    /// Report a phase as done; verified before it is accepted.
    Done(ReportDone),
    /// Report that a phase cannot be done.
    Fail(ReportFail),
    /// Ask for a revision of the plan, or supply one.
    Replan(ReportReplan),
}

/// The phase that a report is about.
#[derive(Debug, Args)]
pub(crate) struct ReportedPhase {
    /// Id of the phase.
    pub(crate) phase: String,
    /// Run id or its beginning [default: inside a phase its own run, else the newest].
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Complexity of the phase, as a number.
    #[arg(long, value_name = "N")]
    pub(crate) complexity: Option<u32>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ReportProgress {
    #[command(flatten)]
    pub(crate) about: ReportedPhase,
    /// Progress note; `3/10` moves the bar.
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportDone {
    #[command(flatten)]
    pub(crate) about: ReportedPhase,
    /// Summary of the work, up to 50 words.
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    /// File or folder that was made, relative to the top of the project.
    #[arg(long, value_name = "PATH")]
    pub(crate) artifact: Vec<String>,
    /// Output value for later phases.
    #[arg(long = "output", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) values: Vec<(String, String)>,
    /// Commit with the work.
    #[arg(long, value_name = "SHA")]
    pub(crate) commit: Option<String>,
    /// Remaining work; the phase is not done while any is left.
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    pub(crate) remaining: String,
}

#[derive(Debug, Args)]
pub(crate) struct ReportFail {
    #[command(flatten)]
    pub(crate) about: ReportedPhase,
    /// Reason of the failure.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct ReportReplan {
    #[command(flatten)]
    pub(crate) about: ReportedPhase,
    /// Reason for the revision.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// File with the new plan [default: made by the command `replan.run` of the plan, else by an agent].
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    pub(crate) verb: StateVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StateVerb {
    /// Merge a JSON object into the state (RFC 7396: null removes).
    Merge(StateMerge),
    /// Print the state, or the part at a JSON pointer.
    Get(StateGet),
}

#[derive(Debug, Args)]
pub(crate) struct StateMerge {
    /// File with a JSON object, or - for stdin.
    #[arg(value_name = "FILE|-")]
    pub(crate) patch: PathBuf,
    /// Run id or its beginning [default: the newest run].
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct StateGet {
    /// JSON pointer into the state, such as /messages/0.
    #[arg(default_value = "")]
    pub(crate) pointer: String,
    /// Run id or its beginning [default: the newest run].
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct SaveArgs {
    /// Type of the work, such as implement.
    #[arg(value_name = "TYPE")]
    pub(crate) kind: String,
    /// Name of the project [default: `project_name` of the state].
    pub(crate) project: Option<String>,
    /// File with the state as a JSON object, or - for stdin.
    #[arg(long, value_name = "FILE|-", default_value = "-")]
    pub(crate) state: PathBuf,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Type, matched exactly.
    #[arg(value_name = "TYPE")]
    pub(crate) kind: String,
    /// Project, matched exactly.
    pub(crate) project: Option<String>,
    /// Ask a person first whether to go on with it.
    #[arg(long)]
    pub(crate) ask: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}
