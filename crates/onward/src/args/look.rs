//! Verbs that only look.

use clap::{Args, ValueEnum};

use super::{Json, key_and_value};

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Run id or its beginning [default: the newest run].
    pub(crate) run: Option<String>,
    /// Exit 3 while work is left.
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// Refresh whenever the run changes, until nobody is at work on it.
    #[arg(long, short = 'w')]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Include archived runs.
    #[arg(long)]
    pub(crate) all: bool,
    /// List only runs of this type.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// List only runs of this project.
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// List only runs with this input, given or by default.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) input: Vec<(String, String)>,
    /// List only runs with these words in their title, description or plan.
    #[arg(long, value_name = "WORDS")]
    pub(crate) grep: Option<String>,
    /// List only runs of this issue.
    #[arg(long, value_name = "N")]
    pub(crate) issue: Option<String>,
    /// Show how long each phase takes, over all runs of its plan.
    #[arg(long)]
    pub(crate) durations: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Run id or its beginning [default: the newest run].
    pub(crate) run: Option<String>,
    /// List the events of the journal instead, oldest first.
    #[arg(long)]
    pub(crate) events: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Id of a checkpoint or of a run, or a file of another tool.
    pub(crate) id: String,
    /// Print a file of another tool byte for byte.
    #[arg(long)]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Run id or its beginning, or a phase of the newest run [default: the newest run].
    #[arg(value_name = "RUN|PHASE")]
    pub(crate) run: Option<String>,
    /// Id of the phase [default: all phases].
    pub(crate) phase: Option<String>,
    /// Follow the output as it is printed, until no phase is at work.
    #[arg(long, short = 'f')]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct WhyArgs {
    /// Run id or its beginning [default: the newest run].
    pub(crate) run: Option<String>,
    /// Id of the phase.
    pub(crate) phase: String,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// Plan file or run id [default: the newest run].
    #[arg(value_name = "PLAN|RUN")]
    pub(crate) of: Option<String>,
    /// Output format.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: GraphFormat,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    Text,
    Mermaid,
    Dot,
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct SummaryArgs {
    /// Run id or its beginning [default: the newest run].
    pub(crate) run: Option<String>,
    /// Output format; html is one file that loads nothing.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: SummaryFormat,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SummaryFormat {
    Text,
    Markdown,
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Older checkpoint; `@` is the newest of the current run, `@-` the one before.
    pub(crate) from: String,
    /// Newer checkpoint.
    pub(crate) to: String,
    /// Show only how much changed in each file.
    #[arg(long)]
    pub(crate) stat: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}
