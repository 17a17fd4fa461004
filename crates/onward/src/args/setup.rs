//! Setting a project up, and keeping it in order.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Json, span};

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Write a commented onward.yaml too.
    #[arg(long)]
    pub(crate) plan: bool,
    /// Install the plugin for Claude Code and Codex into .claude/plugins/onward, and print the line that loads it.
    #[arg(long)]
    pub(crate) claude_code: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Plan file [default: onward.yaml, else .onward/plan.yaml].
    pub(crate) plan: Option<PathBuf>,
    /// Check a plan in Markdown as one whose phases this agent does.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Show the file and line that set each value.
    #[arg(long)]
    pub(crate) origin: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Name of the schema; without one all are listed.
    pub(crate) name: Option<SchemaName>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaName {
    Plan,
    Event,
    Checkpoint,
    Config,
    Output,
    Workflow,
    PipelineState,
    Crunch,
    CrunchIndex,
    #[value(name = "checkpoint-1.0")]
    Checkpoint10,
    #[value(name = "checkpoint-1.1")]
    Checkpoint11,
    #[value(name = "checkpoint-1.2")]
    Checkpoint12,
    #[value(name = "checkpoint-1.3")]
    Checkpoint13,
    #[value(name = "checkpoint-2.0")]
    Checkpoint20,
    #[value(name = "checkpoint-2.1")]
    Checkpoint21,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Show what would be deleted and why; delete nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Delete only what is older than this, such as 14d; runs older than that go, whatever the retention rules say.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) older_than: Option<Duration>,
    /// Delete without asking.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Repair what is found; damaged files are kept in `.onward/damaged`.
    #[arg(long)]
    pub(crate) repair: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// Remove the timer.
    #[arg(long)]
    pub(crate) off: bool,
    /// Resume such runs once, now; install nothing.
    #[arg(long, conflicts_with = "off")]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Whole run id; a prefix is not enough.
    pub(crate) run: String,
    /// Delete without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Name of the shell.
    pub(crate) shell: clap_complete::Shell,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Verb whose page is wanted [default: the page of onward itself].
    pub(crate) verb: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    #[command(flatten)]
    pub(crate) output: Json,
}
