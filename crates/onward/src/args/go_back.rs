//! Checkpoints by hand, and the way back to one.

use std::path::PathBuf;

use clap::Args;

use super::Json;

#[derive(Debug, Args)]
pub(crate) struct CheckpointArgs {
    /// Run id or its beginning [default: the newest run].
    pub(crate) run: Option<String>,
    /// Name of the checkpoint; one with a name is never pruned.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct RewindArgs {
    /// Id of the checkpoint; `@-` is the one before the newest.
    pub(crate) checkpoint: String,
    /// Rewind the state of the run and leave the files.
    #[arg(long, conflicts_with = "files_only")]
    pub(crate) state_only: bool,
    /// Restore the files and leave the state of the run.
    #[arg(long)]
    pub(crate) files_only: bool,
    /// Rewind without asking, also on a terminal.
    #[arg(long, visible_alias = "no-input")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// Run id or its beginning [default: the newest run].
    pub(crate) run: Option<String>,
    /// Take back what was done since the rewind as well, without a question.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// Id of the checkpoint.
    pub(crate) checkpoint: String,
    /// Check out a git worktree for the new run in DIR, which must not exist yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) worktree: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Json,
}
