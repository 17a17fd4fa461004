//! What can be typed. Names and flags are a contract with scripts; what comes in later versions stands in `later.rs`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use onward_core::event::Orphans;
use onward_engine::PlanFrom;

use crate::later::{self, Later};

pub(crate) mod people;
mod reader;

pub(crate) use reader::{Reader, reader};

/// Keeps the books for long work done in phases, and goes on where it stopped.
#[derive(Debug, Parser)]
#[command(name = "onward", bin_name = "onward", version, disable_help_subcommand = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a project here: the folder .onward with a commented configuration.
    Init(Init),
    /// Start a plan, or find its unfinished run and go on.
    Run(Box<Run>),
    /// Go on with an unfinished run.
    Resume(Box<Resume>),
    /// How far a run is.
    Status(Status),
    /// The runs of this project.
    List(List),
    /// The checkpoints of a run, or its journal.
    Log(Log),
    /// A checkpoint or a run as a whole.
    Show(Show),
    /// What the phases of a run printed.
    Logs(Logs),
    /// Why a phase will or will not run.
    Why(Why),
    /// Check a plan without running it.
    Check(Check),
    /// The graph of a plan or of a run.
    Graph(Graph),
    /// Take a checkpoint of a run by hand.
    Checkpoint(Checkpoint),
    /// What differs between two checkpoints: state, phases, plan, files.
    Diff(Diff),
    /// Bring a run back to one of its checkpoints, files included.
    Rewind(Rewind),
    /// Take the last rewind of a run back.
    Undo(Undo),
    /// Begin a new run where a checkpoint stood.
    Fork(Fork),
    /// Save the state of a script that has no plan.
    Save(Save),
    /// The newest saved state of a type, and of a project if one is named.
    Load(Load),
    /// The free-form state of a run.
    State(State),
    /// The JSON Schemas of what onward reads and prints.
    Schema(Schema),
    /// The configuration in force.
    Config(Config),
    /// What retention would delete.
    Prune(Prune),
    /// A completion script for a shell.
    Completions(Completions),
    /// Look everything over: store, journals, checkpoints.
    Doctor(Doctor),
    /// Take a store that came with a clone, an archive or a copy for your own.
    Trust(Trust),
    /// Delete a run for good.
    Delete(Delete),
    /// What somebody who reports is to do next.
    Next(people::Next),
    /// Report on a phase that is not run by onward.
    Report(people::Report),
    /// Say yes to an approval.
    Approve(people::Approve),
    /// Say no to an approval.
    Reject(people::Approve),
    /// Have a phase done again.
    Retry(Steer),
    /// Leave a phase out.
    Skip(Steer),
    /// Take a phase as done: its work was done by hand.
    Adopt(Steer),
    /// Start nothing more of a run, and let what is at work come to its end.
    Pause(Halt),
    /// Give a run up: end what is at work and put the run away.
    Cancel(Halt),
}

/// The answer as one JSON object.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Json {
    /// Answer with one JSON object on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Write a commented onward.yaml too.
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Trust {
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The plan; onward.yaml or .onward/plan.yaml where none is named.
    pub(crate) plan: Option<PathBuf>,
    /// Go on with the unfinished run of this plan, or with the run that is named.
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, conflicts_with = "fresh")]
    #[expect(clippy::option_option, reason = "the flag is absent, bare, or has a value")]
    pub(crate) resume: Option<Option<String>>,
    /// Start anew; the unfinished run is archived.
    #[arg(long, conflicts_with = "from")]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) start: Start,
}

#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The run; the newest unfinished one where none is named.
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) start: Start,
}

/// What `run` and `resume` share.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line are independent of each other")]
pub(crate) struct Start {
    /// Try this phase again.
    #[arg(long, value_name = "PHASE[=keep|clean]")]
    pub(crate) retry: Vec<String>,
    /// Take this phase as done: its work was done by hand.
    #[arg(long, value_name = "PHASE")]
    pub(crate) adopt: Vec<String>,
    /// Leave this phase out.
    #[arg(long, value_name = "PHASE")]
    pub(crate) skip: Vec<String>,
    /// Do this phase and all that needs it again, in the unfinished run or else in the last one that was completed.
    #[arg(long, value_name = "PHASE")]
    pub(crate) from: Option<String>,
    /// Go back to this checkpoint first, with the files that it kept.
    #[arg(long, value_name = "ID")]
    pub(crate) checkpoint: Option<String>,
    /// Do this phase and no other.
    #[arg(long, value_name = "PHASE")]
    pub(crate) only: Option<String>,
    /// Keep what is done as it is, though the world around it has changed.
    #[arg(long)]
    pub(crate) accept_stale: bool,
    /// Let one more revision of the plan through, though the limits are reached.
    #[arg(long)]
    pub(crate) force_replan: bool,
    /// What happens to phases that outlived their driver.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) orphan: Option<Orphan>,
    /// What happens to a store that is damaged and in the way of a fresh start: what can be read of it is kept, or all of it is
    /// put aside.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) damaged: Option<Damaged>,
    /// How many phases run side by side.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) jobs: Option<u32>,
    /// Stop after this long, as 3h or 90m; the run is paused.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) deadline: Option<Duration>,
    /// Wait for rate limits this long at most; 0 does not wait.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) wait_limit: Option<Duration>,
    /// An input of the plan.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) input: Vec<(String, String)>,
    /// Which plan counts when the file was edited since the run was started.
    #[arg(long, value_enum, value_name = "WHICH", default_value = "file")]
    pub(crate) plan_from: From,
    /// Say what would run and why; start and write nothing.
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// Answer "go on?" with yes; never a refusal or a deletion.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Never ask.
    #[arg(long)]
    pub(crate) no_input: bool,
    /// One JSON object a line on stdout, the last one about the end.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing but what went wrong.
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Orphan {
    Wait,
    Kill,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Damaged {
    Repair,
    Aside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    File,
    Run,
}

#[derive(Debug, Args)]
pub(crate) struct Steer {
    /// The run: its id or the beginning of it, or `latest`.
    pub(crate) run: String,
    /// The id of the phase.
    pub(crate) phase: String,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Halt {
    /// The run: its id or the beginning of it, or `latest`.
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The run; the newest one where none is named.
    pub(crate) run: Option<String>,
    /// Exit 3 while work is left.
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Archived runs too.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only runs of this type.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Only runs of this project name.
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Log {
    pub(crate) run: Option<String>,
    /// The journal instead of the checkpoints, oldest first.
    #[arg(long)]
    pub(crate) events: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A checkpoint or a run.
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The run; `@` is the newest.
    #[arg(default_value = "@")]
    pub(crate) run: String,
    pub(crate) phase: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Why {
    /// The run: its id or the beginning of it, or `latest`.
    pub(crate) run: String,
    /// The id of the phase.
    pub(crate) phase: String,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// A plan file or a run; the newest run where nothing is named.
    #[arg(value_name = "PLAN|RUN")]
    pub(crate) of: Option<String>,
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
}

#[derive(Debug, Args)]
pub(crate) struct Save {
    /// What kind of work it is: `implement`, `orchestrate`, …
    #[arg(value_name = "TYPE")]
    pub(crate) kind: String,
    /// What it is about.
    pub(crate) project: String,
    /// The state as a JSON object, in a file or, with -, on stdin.
    #[arg(long, value_name = "FILE|-", default_value = "-")]
    pub(crate) state: PathBuf,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Exactly this type.
    #[arg(value_name = "TYPE")]
    pub(crate) kind: String,
    /// Exactly this project.
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct State {
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
    /// A file, or - for stdin.
    #[arg(value_name = "FILE|-")]
    pub(crate) patch: PathBuf,
    /// Another run than the newest.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct StateGet {
    /// Where in the state: `/messages/0`.
    #[arg(default_value = "")]
    pub(crate) pointer: String,
    /// Another run than the newest.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Checkpoint {
    pub(crate) run: Option<String>,
    /// A name; a named checkpoint is never deleted by itself.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The older checkpoint; `@` is the newest of the current run, `@-` the one before.
    pub(crate) from: String,
    /// The newer one.
    pub(crate) to: String,
    /// Only how much changed in each file.
    #[arg(long)]
    pub(crate) stat: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Rewind {
    pub(crate) checkpoint: String,
    /// Leave the files as they are.
    #[arg(long, conflicts_with = "files_only")]
    pub(crate) state_only: bool,
    /// Bring back the files, and leave the run as it stands.
    #[arg(long)]
    pub(crate) files_only: bool,
    /// Ask nothing, even on a terminal.
    #[arg(long, visible_alias = "no-input")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The run; the newest one where it is left out.
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Fork {
    pub(crate) checkpoint: String,
    /// Give the new run a git working tree of its own in this folder, which must not exist yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) worktree: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Which one; without a name they are listed.
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
}

#[derive(Debug, Args)]
pub(crate) struct Config {
    /// Say where each value comes from.
    #[arg(long)]
    pub(crate) origin: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Only say what would be deleted and why.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Repair what is found: what can be made again is, everything else is kept in `.onward/damaged`.
    #[arg(long)]
    pub(crate) repair: bool,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The whole id: a prefix is not enough to destroy something.
    pub(crate) run: String,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
}

/// What was typed.
#[derive(Debug)]
pub(crate) enum Typed {
    Now(Cli),
    /// Known, but not in this version.
    Later(Later),
}

/// All verbs and flags, those of later versions hidden.
pub(crate) fn command() -> clap::Command {
    later::add_to(Cli::command())
}

pub(crate) fn parse(words: &[OsString]) -> Result<Typed, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(words)?;
    match later::find(&matches) {
        Some(later) => Ok(Typed::Later(later)),
        None => Cli::from_arg_matches(&matches).map(Typed::Now).map_err(|error| error.format(&mut command)),
    }
}

/// `3h`, `90m`, `1h30m`; a bare 0 needs no unit.
fn span(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    onward_core::document::units::duration(text)
        .map_err(|_| "a time is given with its unit, as 90s, 30m or 3h".to_owned())
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err("it is given as KEY=VALUE".to_owned()),
    }
}

impl std::convert::From<Orphan> for Orphans {
    fn from(how: Orphan) -> Self {
        match how {
            Orphan::Wait => Self::Wait,
            Orphan::Kill => Self::Kill,
        }
    }
}

impl std::convert::From<From> for PlanFrom {
    fn from(which: From) -> Self {
        match which {
            From::File => Self::File,
            From::Run => Self::Run,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &str) -> Result<Typed, clap::Error> {
        parse(&words.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    fn run(words: &str) -> Run {
        match typed(words) {
            Ok(Typed::Now(Cli { verb: Some(Verb::Run(run)), .. })) => *run,
            other => panic!("{words}: {other:?}"),
        }
    }

    #[test]
    fn the_table_of_arguments_holds_together() {
        command().debug_assert();
    }

    /// `--resume` may stand alone before the name of a plan, which is then not taken for the name of a run.
    #[test]
    fn resume_takes_a_run_only_behind_an_equals_sign() {
        assert_eq!(run("onward run").resume, None);
        let bare = run("onward run --resume plan.yaml");
        assert_eq!((bare.resume, bare.plan), (Some(None), Some(PathBuf::from("plan.yaml"))));
        assert_eq!(run("onward run --resume=r1").resume, Some(Some("r1".to_owned())));
        assert_eq!(run("onward run --resume=").resume, Some(Some(String::new())));
        assert!(typed("onward run --resume --fresh").is_err());
    }

    #[test]
    fn flags_that_answer_may_be_given_more_than_once() {
        let run = run("onward run --retry a --retry b=keep --skip c --adopt d --input x=1=2 --input y=");
        assert_eq!(run.start.retry, ["a", "b=keep"]);
        assert_eq!(run.start.input, [("x".into(), "1=2".into()), ("y".into(), String::new())]);
        assert!(typed("onward run --input x").is_err());
        assert!(typed("onward run --jobs 0").is_err());
    }

    #[test]
    fn what_is_unknown_is_named() {
        for (words, name) in [("onward frobnicate", "frobnicate"), ("onward run --no-such-flag", "--no-such-flag")] {
            let error = typed(words).expect_err("nobody knows it");
            assert_eq!(error.exit_code(), i32::from(onward_core::exit::USAGE));
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
