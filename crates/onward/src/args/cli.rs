//! All verbs, and how the words of a command line become one of them.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use super::help;
use super::{
    AdoptArgs, ApproveArgs, ArchiveArgs, BriefArgs, CheckArgs, CheckpointArgs, CompletionsArgs, ConfigArgs,
    ConflictVerb, DecisionVerb, DeleteArgs, DemoArgs, DiffArgs, DoctorArgs, ExportArgs, ForkArgs, GraphArgs, HaltArgs,
    HookArgs, ImportArgs, InitArgs, KeepArgs, KnowledgeVerb, ListArgs, LoadArgs, LogArgs, LogsArgs, ManArgs, McpArgs,
    MessageVerb, NextArgs, PlanArgs, PruneArgs, ReportArgs, ResumeArgs, RewindArgs, RunArgs, SaveArgs, SchemaArgs,
    ShowArgs, StateArgs, StatusArgs, SteerArgs, SummaryArgs, TeamArgs, TrustArgs, UndoArgs, WhyArgs,
};
use crate::not_yet::{self, NotYet};

/// Options of every verb stand apart from those of one verb.
const EVERYWHERE: &str = "Options of every verb";
/// Verbs that are suggested for one that nobody knows.
const SUGGESTED_MAX: usize = 2;

/// Run long work in phases, record every step, and go on where it stopped.
#[derive(Debug, Parser)]
#[command(name = "onward", bin_name = "onward", version, disable_help_subcommand = true, max_term_width = help::HELP_WIDTH_MAX)]
pub(crate) struct Cli {
    /// Use colours: auto, always or never.
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN", help_heading = EVERYWHERE)]
    pub(crate) color: Color,
    /// Log the steps of onward on stderr; with -vv also every event, wait and call of git.
    #[arg(long, short, global = true, action = ArgAction::Count, help_heading = EVERYWHERE)]
    pub(crate) verbose: u8,
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
    /// Have an agent write a plan; it is saved once you agree.
    Plan(PlanArgs),
    /// Start a plan, or go on with its unfinished run.
    Run(Box<RunArgs>),
    /// Go on with an unfinished run.
    Resume(Box<ResumeArgs>),
    /// Show how far a run is.
    Status(StatusArgs),
    /// List the runs of this project.
    List(ListArgs),
    /// List the checkpoints of a run, or the events of its journal.
    Log(LogArgs),
    /// Show one checkpoint or one run in full.
    Show(ShowArgs),
    /// Show the output of the phases.
    Logs(LogsArgs),
    /// Explain why a phase will or will not run.
    Why(WhyArgs),
    /// Draw the graph of a plan or of a run.
    Graph(GraphArgs),
    /// Print a run as one page: text, Markdown or HTML.
    Summary(SummaryArgs),
    /// Compare two checkpoints: state, phases, plan and files.
    Diff(DiffArgs),
    /// Approve a phase that waits for a person.
    Approve(ApproveArgs),
    /// Reject a phase that waits for a person.
    Reject(ApproveArgs),
    /// Run a phase again when its run goes on.
    Retry(SteerArgs),
    /// Skip a phase; phases that need it go on without it.
    Skip(SteerArgs),
    /// Mark a phase as done whose work was done by hand.
    Adopt(AdoptArgs),
    /// Pause a run: let the phases at work end, start no other.
    Pause(HaltArgs),
    /// Cancel and archive a run.
    Cancel(HaltArgs),
    /// Take a checkpoint by hand.
    Checkpoint(CheckpointArgs),
    /// Bring a run and its files back to a checkpoint.
    Rewind(RewindArgs),
    /// Undo the last rewind of a run.
    Undo(UndoArgs),
    /// Start a new run from a checkpoint.
    Fork(ForkArgs),
    /// Print the next phase for an agent or a person to do and report.
    Next(NextArgs),
    /// Report on a phase that onward does not run itself.
    Report(ReportArgs),
    /// Handle a hook event of an agent's client (Claude Code, Codex).
    Hook(HookArgs),
    /// Serve the verbs for agents as MCP tools, on stdio or HTTP.
    Mcp(McpArgs),
    /// Print a briefing of a run for an agent or a person new to it.
    Brief(BriefArgs),
    /// Send, read and acknowledge messages between agents.
    #[command(subcommand)]
    Message(MessageVerb),
    /// Show the team of a run: roles, phases and progress.
    Team(TeamArgs),
    /// Record what was learned, or list it.
    #[command(subcommand)]
    Knowledge(KnowledgeVerb),
    /// Record a decision for later phases and sessions.
    #[command(subcommand)]
    Decision(DecisionVerb),
    /// Record a disagreement between agents, and how it was settled.
    #[command(subcommand)]
    Conflict(ConflictVerb),
    /// Read or change the free-form state of a run.
    State(StateArgs),
    /// Save the state of a script that has no plan.
    Save(SaveArgs),
    /// Print the newest saved state.
    Load(LoadArgs),
    /// Watch a run that is killed twice and finishes (15 seconds).
    Demo(DemoArgs),
    /// Export a run as one file, or in the format of another tool.
    Export(ExportArgs),
    /// Import a run from a file, ours or another tool's.
    Import(ImportArgs),
    /// Create a project here: .onward with a commented configuration.
    Init(InitArgs),
    /// Check a plan without running it.
    Check(CheckArgs),
    /// Show the configuration in force.
    Config(ConfigArgs),
    /// Print a JSON Schema of the files and output of onward.
    Schema(SchemaArgs),
    /// Check the store, its journals and checkpoints; repair them.
    Doctor(DoctorArgs),
    /// Trust a store that came with a clone, an archive or a copy.
    Trust(TrustArgs),
    /// Install a timer that resumes runs after limits and restarts.
    Keep(KeepArgs),
    /// Delete old checkpoints and runs, as the retention rules say.
    Prune(PruneArgs),
    /// Archive a run: keep it, and offer it no more.
    Archive(ArchiveArgs),
    /// Delete a run for good.
    Delete(DeleteArgs),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Print a manual page.
    Man(ManArgs),
}

/// The command line.
#[derive(Debug)]
pub(crate) enum Typed {
    Now(Cli),
    /// Known, but not in this version.
    NotYet(NotYet),
}

/// All verbs and flags, those of later versions hidden.
pub(crate) fn command() -> clap::Command {
    not_yet::add_to(help::grouped(Cli::command()))
}

pub(crate) fn parse(words: &[OsString]) -> Result<Typed, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(help::asked_for(words)).map_err(without_later_verbs)?;
    match not_yet::find(&matches) {
        Some(later) => Ok(Typed::NotYet(later)),
        None => Cli::from_arg_matches(&matches).map(Typed::Now).map_err(|error| error.format(&mut command)),
    }
}

/// Whether this is a verb of this version.
pub(crate) fn is_verb(word: &str) -> bool {
    Cli::command().find_subcommand(word).is_some()
}

/// Suggests no verb that does not exist yet.
fn without_later_verbs(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::Strings(near)) = error.remove(ContextKind::SuggestedSubcommand) else { return error };
    // The nearest one comes last.
    let near = near.into_iter().rev().filter(|verb| !not_yet::is_verb(verb));
    let near: Vec<String> = near.take(SUGGESTED_MAX).collect();
    if !near.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
    error
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn typed(words: &str) -> Result<Typed, clap::Error> {
        parse(&words.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    fn run(words: &str) -> RunArgs {
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

    /// `resmue` is near to a verb that is there and to one that is not. Only the first is suggested.
    #[test]
    fn no_verb_is_suggested_that_does_not_exist() {
        let error = typed("onward resmue").expect_err("nobody knows it").to_string();
        assert!(error.contains("'resume'") && !error.contains("'serve'"), "{error}");
    }
}
