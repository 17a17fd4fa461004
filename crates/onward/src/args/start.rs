//! The arguments that start a run or go on with one.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use onward_core::event::Orphans;
use onward_engine::PlanFrom;

use super::{dollars, key_and_value, span};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Plan file [default: onward.yaml, else .onward/plan.yaml].
    pub(crate) plan: Option<PathBuf>,
    /// Go on with the unfinished run of this plan, or with RUN.
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, conflicts_with = "fresh")]
    #[expect(clippy::option_option, reason = "the flag is absent, bare, or has a value")]
    pub(crate) resume: Option<Option<String>>,
    /// Start a new run and archive the unfinished one.
    #[arg(long, conflicts_with = "from")]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) start: StartArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Run id or its beginning [default: the newest unfinished run].
    pub(crate) run: Option<String>,
    /// Go on with the unfinished run of this issue.
    #[arg(long, value_name = "N", conflicts_with = "run")]
    pub(crate) issue: Option<String>,
    /// Go on with the unfinished run that has these words in its title, description or plan.
    #[arg(long, value_name = "WORDS", conflicts_with = "run")]
    pub(crate) grep: Option<String>,
    #[command(flatten)]
    pub(crate) start: StartArgs,
}

/// Flags that `run` and `resume` share.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line are independent of each other")]
pub(crate) struct StartArgs {
    /// Run this phase again; `clean` first puts back the files it writes.
    #[arg(long, value_name = "PHASE[=keep|clean]")]
    pub(crate) retry: Vec<String>,
    /// Mark this phase as done, because its work was done by hand.
    #[arg(long, value_name = "PHASE")]
    pub(crate) adopt: Vec<String>,
    /// Skip this phase.
    #[arg(long, value_name = "PHASE")]
    pub(crate) skip: Vec<String>,
    /// Run this phase and all that need it again, in the unfinished run or else in the last completed one.
    #[arg(long, value_name = "PHASE")]
    pub(crate) from: Option<String>,
    /// Rewind to this checkpoint first, files included.
    #[arg(long, value_name = "ID")]
    pub(crate) checkpoint: Option<String>,
    /// Run this phase and no other.
    #[arg(long, value_name = "PHASE")]
    pub(crate) only: Option<String>,
    /// Keep completed phases although files, branch or issue have changed since.
    #[arg(long)]
    pub(crate) accept_stale: bool,
    /// Allow one more revision of the plan beyond the replan limits.
    #[arg(long)]
    pub(crate) force_replan: bool,
    /// Wait for, or kill, phases that still run without a driver.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) orphan: Option<OrphanArg>,
    /// Repair a damaged store that is in the way of a fresh start, or put it aside.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) damaged: Option<Damaged>,
    /// Run up to N phases side by side.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs: Option<u32>,
    /// Pause the run after this time, such as 3h or 90m.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) deadline: Option<Duration>,
    /// Start no further agent once all agents of the run have cost this much; stays with the run until another is given.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) budget: Option<u64>,
    /// Wait at most this long for a rate limit; 0 does not wait.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) wait_limit: Option<Duration>,
    /// Let this agent do the phases of a plan in Markdown [default: markdown.agent of the configuration, else whoever reports].
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Set an input of the plan.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) input: Vec<(String, String)>,
    /// Use the edited plan file, or the plan stored with the run.
    #[arg(long, value_enum, value_name = "WHICH", default_value = "file")]
    pub(crate) plan_from: PlanFromArg,
    /// Go on without this terminal; prints the run id.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) detach: bool,
    #[arg(long, value_name = "FD", hide = true)]
    pub(crate) detach_to: Option<i32>,
    /// Keep the machine from going to sleep while the run is at work.
    #[arg(long)]
    pub(crate) keep_awake: bool,
    /// Show what would run and why; start and write nothing.
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// Take the default answer; never overrides a refusal, an approval or a deletion.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Never ask; exit 14 where an answer is needed.
    #[arg(long)]
    pub(crate) no_input: bool,
    /// Print one JSON object per line on stdout; the last has the exit code.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print errors only.
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrphanArg {
    Wait,
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Damaged {
    Repair,
    Aside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFromArg {
    File,
    Run,
}

impl std::convert::From<OrphanArg> for Orphans {
    fn from(how: OrphanArg) -> Self {
        match how {
            OrphanArg::Wait => Self::Wait,
            OrphanArg::Kill => Self::Kill,
        }
    }
}

impl std::convert::From<PlanFromArg> for PlanFrom {
    fn from(which: PlanFromArg) -> Self {
        match which {
            PlanFromArg::File => Self::File,
            PlanFromArg::Run => Self::Run,
        }
    }
}
