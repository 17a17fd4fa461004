//! Runs in files.

use std::path::PathBuf;

use clap::Args;

use super::Json;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Run id or its beginning [default: the newest].
    pub(crate) run: Option<String>,
    /// Write to this file, which only you can read, instead of stdout.
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Include the snapshots of the working tree and their history.
    #[arg(long, conflicts_with = "redact")]
    pub(crate) with_files: bool,
    /// Format of another tool: workflow, checkpoint, pipeline-state or crunch.
    #[arg(long, value_name = "FORMAT", conflicts_with = "with_files")]
    pub(crate) format: Option<String>,
    /// Print the empty pipeline state of a branch.
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["run", "format", "with_files", "redact"])]
    pub(crate) skeleton: Option<String>,
    /// Remove secrets that are known now, even where they were recorded before.
    #[arg(long)]
    pub(crate) redact: bool,
    #[command(flatten)]
    pub(crate) form: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File to import, folder with files of another tool, or `-` for an exported run on stdin.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) output: Json,
}
