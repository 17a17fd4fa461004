//! Errors as pages: what happened, what was kept, what to type next. The one place where an error gets its exit code.

mod pages;
mod planning;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use jiff::Timestamp;
use onward_core::diagnostic::{self, Diagnostic};
use onward_core::exit;
use onward_core::id::RunId;
use onward_core::question::{Offer, Question};
use onward_core::resume::Finding;
use onward_core::view;
use onward_engine::{Error, NoThread, Project, stop};

use crate::args::Audience;
use crate::render;
use pages::{
    answer_needed, bad_checkpoint, bad_record, behind, damaged, forbidden, going_back, group_busy, halfway_back,
    illegal, loss_unknown, lost, moved, no_project, requirement, several, stopped, store, store_gone, survives,
    tree_in_use, unanswered, untrusted,
};

/// Why a command did not do what it was asked for. Boxed, because it travels through every result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure(Box<FailurePage>);

/// The page that is shown for an error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FailurePage {
    pub(crate) code: u8,
    /// A word for the kind of failure, for people who search for it.
    pub(crate) name: &'static str,
    pub(crate) what: String,
    /// Lines below it: reasons, candidates.
    pub(crate) more: Vec<String>,
    /// Diagnostics, laid out already.
    pub(crate) diagnostics: String,
    pub(crate) kept: &'static str,
    /// Commands that can be typed as they stand. Never one that destroys something.
    pub(crate) next: Vec<String>,
    pub(crate) run: Option<RunId>,
    pub(crate) question: Option<Box<Question>>,
    /// The findings that forbid it.
    pub(crate) findings: Vec<Finding>,
    /// The stored bytes of something that could not be read.
    pub(crate) raw: Option<String>,
    /// When it is worth while to try again, where somebody said so.
    pub(crate) retry_at: Option<Timestamp>,
    /// Answers as commands, where the question is about no run.
    pub(crate) choices: Vec<Offer>,
}

const NOTHING_CHANGED: &str = "nothing was started and nothing was changed";
const AS_BEFORE: &str = "nothing was changed";
const TAKEN_BACK: &str = "the request was taken back, and nothing was changed";
const LEFT: &str = "the request stays, and is carried out when the driver goes on or the run is resumed";
const STORE_LEFT: &str = "the store was left as it is";
const ALL_RECORDED: &str = "everything that was recorded before is still there";

impl FailurePage {
    /// Files that were not taken; whatever else was asked for was done.
    pub(crate) fn of_files(code: u8, name: &'static str, what: String) -> Self {
        Self::new(code, name, what).kept("the files, as they are, and every run that is named")
    }

    fn new(code: u8, name: &'static str, what: impl Into<String>) -> Self {
        Self {
            code,
            name,
            what: what.into(),
            more: Vec::new(),
            diagnostics: String::new(),
            kept: NOTHING_CHANGED,
            next: Vec::new(),
            run: None,
            question: None,
            findings: Vec::new(),
            raw: None,
            retry_at: None,
            choices: Vec::new(),
        }
    }

    fn next(self, command: impl Into<String>) -> Self {
        let next = self.next.into_iter().chain([command.into()]).collect();
        Self { next, ..self }
    }

    fn more(self, more: Vec<String>) -> Self {
        Self { more, ..self }
    }

    fn kept(self, kept: &'static str) -> Self {
        Self { kept, ..self }
    }

    fn of_run(self, run: &RunId) -> Self {
        Self { run: Some(run.clone()), ..self }
    }

    /// It is about this run, and this verb shows more of it.
    fn look_at(self, verb: &str, run: &RunId) -> Self {
        self.of_run(run).next(format!("onward {verb} {run}"))
    }

    fn diagnosed(self, file: &str, text: &str, diagnostics: &[Diagnostic]) -> Self {
        Self { diagnostics: diagnostic::render(file, text, diagnostics), ..self }
    }
}

impl Failure {
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        FailurePage::new(exit::USAGE, "usage", what).into()
    }

    /// The same with what to type next.
    pub(crate) fn and_next(mut self, command: &str) -> Self {
        self.next.push(command.to_owned());
        self
    }

    /// The command did its work, and its answer was not written in full.
    pub(crate) fn answer_not_written(why: &str, code: u8) -> Self {
        let what = format!("the answer could not be written to stdout: {why}");
        let page = FailurePage::new(exit::STORE, "answer-not-written", what);
        let without = format!(
            "the command itself came to its end, with exit code {code}; what was written of its answer is not all"
        );
        page.more(vec![without]).kept("what the command did is done, and is not taken back").into()
    }

    /// Nobody is there who could answer: the question and every answer as a command.
    pub(crate) fn answer_needed(question: Question) -> Self {
        answer_needed(question).into()
    }

    /// A prune waits for a word, and nobody is there who could give it.
    pub(crate) fn prune_unanswered(count: usize) -> Self {
        let what = format!("{count} items are to be deleted, and nobody is there to say yes");
        let page = FailurePage::new(exit::ANSWER_NEEDED, "answer-needed", what).kept(AS_BEFORE);
        let how = "a deletion cannot be taken back: a person must say yes, at a terminal or with --yes".to_owned();
        page.more(vec![how]).next("onward prune --dry-run").into()
    }

    /// A plan is to be written, and nobody is there who could look at it: every answer as a command.
    pub(crate) fn plan_unanswered(choices: Vec<Offer>) -> Self {
        let what = "a person looks at a plan before it is saved, and nobody is there";
        let page = FailurePage::new(exit::ANSWER_NEEDED, "answer-needed", what);
        let page = page.more(vec!["no agent was asked".to_owned()]);
        FailurePage { choices, ..page }.into()
    }

    /// A fresh start is wanted where the store is damaged: both ways out, as they can be typed.
    pub(crate) fn with_ways_out(mut self) -> Self {
        let ways = ["onward run --fresh --damaged repair", "onward run --fresh --damaged aside"];
        self.next.extend(ways.map(str::to_owned));
        self.more
            .push("repair keeps what can be read; aside moves all of it to .onward/damaged and begins anew".to_owned());
        self
    }

    /// The run was brought back to a checkpoint before this happened.
    pub(crate) fn after_a_rewind(mut self) -> Self {
        if [NOTHING_CHANGED, AS_BEFORE].contains(&self.kept) {
            self.kept = "the run and its files are at the checkpoint; nothing was started";
            self.next.push("onward undo".to_owned());
        }
        self
    }

    /// The same, of a run that was driven as far as it goes without an answer.
    pub(crate) fn stopped_for_an_answer(question: Question) -> Self {
        answer_needed(question).kept("all that is done is recorded; the rest waits for the answer").into()
    }

    /// A person was asked about a run that came to its end, and left by a signal instead.
    pub(crate) fn stopped_at_a_question(run: &RunId, signal: i32) -> Self {
        let what = format!("stopped by {}, and nothing was decided", signal_in_words(signal));
        let page = FailurePage::new(code_of(signal), "stopped", what).of_run(run).kept(ALL_RECORDED);
        page.next(view::resume_command(run)).into()
    }

    /// Names the project where it is not the folder that the command was typed in.
    pub(crate) fn in_its_project(mut self) -> Self {
        self.more.extend(elsewhere());
        let nowhere = std::env::current_dir().is_ok_and(|here| Project::find(&here).is_none());
        if nowhere {
            // It would only say that there is no project.
            self.next.retain(|command| command != "onward doctor");
        }
        self
    }

    /// The same of a run that was being driven when its store could not be written any more.
    pub(crate) fn while_driving(mut self, run: Option<&RunId>) -> Self {
        let Some(run) = run.filter(|_| self.code == exit::STORE && ["not-saved", "not-known"].contains(&self.name))
        else {
            return self;
        };
        self.run.get_or_insert_with(|| run.clone());
        self.kept = "all that was recorded; phases at work go on, and the next start takes their results";
        self.next.push(view::resume_command(run));
        self
    }

    /// The same failure, as the stop that caused it: what is given up since somebody wants out has not failed. What says that
    /// something is wrong with the store stays what it is.
    pub(crate) fn or_stopped(self) -> Self {
        let Some(signal) = stop::signal() else { return self };
        if matches!(self.code, exit::STORE | exit::DAMAGED | exit::NEWER | exit::BUG | exit::SIGNALS..) {
            return self;
        }
        let page = *self.0;
        let what = format!("stopped by {}", signal_in_words(signal));
        let more = if page.question.is_some() { Vec::new() } else { vec![page.what] };
        let (question, findings) = (None, Vec::new());
        FailurePage { code: code_of(signal), name: "stopped", what, more, question, findings, ..page }.into()
    }
}

/// A line about the project that is meant, where it is not the folder that the command was typed in.
pub(crate) fn elsewhere() -> Option<String> {
    let here = std::env::current_dir().ok()?;
    let project = Project::find(&here).filter(|project| project.top != here && project.fork.is_none())?;
    Some(format!("the project is {}", project.top.display()))
}

/// The exit code of whoever was ended by a signal.
pub(crate) fn code_of(signal: i32) -> u8 {
    exit::SIGNALS.saturating_add(u8::try_from(signal).unwrap_or_default())
}

fn signal_in_words(signal: i32) -> String {
    match code_of(signal) {
        exit::INTERRUPT => "Ctrl+C (SIGINT)".to_owned(),
        exit::TERMINATED => "SIGTERM".to_owned(),
        exit::HANGUP => "SIGHUP, the end of its terminal".to_owned(),
        _ => format!("signal {signal}"),
    }
}

impl From<FailurePage> for Failure {
    fn from(page: FailurePage) -> Self {
        Self(Box::new(page))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        FailurePage::for_error(error).into()
    }
}

impl Deref for Failure {
    type Target = FailurePage;

    fn deref(&self) -> &FailurePage {
        &self.0
    }
}

impl DerefMut for Failure {
    fn deref_mut(&mut self) -> &mut FailurePage {
        &mut self.0
    }
}

impl FailurePage {
    #[expect(clippy::too_many_lines, reason = "a table: one entry for each error")]
    fn for_error(error: Error) -> Self {
        let what = error.to_string();
        match error {
            Error::NoProject { from } => no_project(what, &from),
            Error::NoFolder { .. } => Self::new(exit::NOT_FOUND, "no-project", what),
            Error::NoSuchRun(_) | Error::NoRunOrPhase(_) => {
                Self::new(exit::NOT_FOUND, "no-run", what).next("onward list --all")
            }
            Error::NoRuns => Self::new(exit::NOT_FOUND, "no-run", what).next("onward run").next("onward list --all"),
            Error::NothingToRedo => Self::new(exit::NOT_FOUND, "no-run", what).next("onward run"),
            Error::RunsLost { .. } => lost(what),
            Error::JournalBehind { .. } => behind(what),
            Error::LossUnknown { .. } => loss_unknown(what),
            Error::NotRewound { .. } => going_back(exit::REFUSED, "not-rewound", what),
            Error::RewindPending { run, .. } => halfway_back(what, &run),
            Error::NothingToUndo { .. } => going_back(exit::NOT_FOUND, "nothing-to-undo", what),
            Error::TreeInUse { by, .. } => tree_in_use(what, by.run()),
            Error::StillAtWork { .. } => {
                Self::new(exit::DRIVEN, "at-work", what).kept(STORE_LEFT).next("onward doctor")
            }
            Error::Survives { .. } => survives(what),
            Error::NotReadable { .. } | Error::ImportUnreadable { .. } => {
                Self::new(exit::DAMAGED, "not-readable", what).kept(AS_BEFORE)
            }
            Error::NotAForm { .. } => {
                Self::new(exit::DAMAGED, "not-a-form", what).kept(AS_BEFORE).next("onward help import")
            }
            Error::BadFile { .. } => Self::new(exit::DAMAGED, "damaged-file", what).kept(AS_BEFORE),
            Error::NotImported { .. } => Self::new(exit::REFUSED, "not-imported", what).kept(AS_BEFORE),
            Error::NotExported { .. } => Self::new(exit::REFUSED, "not-exported", what).kept(AS_BEFORE),
            Error::OtherContent { run } => {
                Self::new(exit::DAMAGED, "other-content", what).kept(AS_BEFORE).look_at("show", &run)
            }
            Error::PhaseLives { .. } => going_back(exit::DRIVEN, "at-work", what),
            Error::NotForked { .. } => going_back(exit::REFUSED, "not-forked", what),
            Error::NothingUnfinished | Error::NothingFits => {
                Self::new(exit::NOT_FOUND, "no-run", what).next("onward list")
            }
            Error::NoSuchPhase { run, .. } => Self::new(exit::NOT_FOUND, "no-phase", what).look_at("status", &run),
            Error::NothingSaved { .. } => Self::new(exit::NOT_FOUND, "nothing-saved", what).next("onward list --all"),
            Error::NoSuchState { .. } => Self::new(exit::NOT_FOUND, "no-state", what).next("onward state get"),
            Error::NotShared { run, .. } => Self::new(exit::NOT_FOUND, "not-shared", what).look_at("show", &run),
            Error::NotAnObject { .. } => Self::new(exit::USAGE, "not-an-object", what),
            Error::NoPhases { run } => Self::new(exit::USAGE, "no-phases", what).look_at("show", &run),
            Error::NoSuchCheckpoint(_) => Self::new(exit::NOT_FOUND, "no-checkpoint", what).next("onward log"),
            Error::Ambiguous { candidates, .. } => Self::new(exit::NOT_FOUND, "ambiguous", what).more(candidates),
            Error::ImportConflict { .. } => Self::new(exit::DAMAGED, "id-taken", what).kept(AS_BEFORE),
            Error::NoSuchForm { run, .. } => Self::new(exit::DAMAGED, "no-such-form", what).look_at("show", &run),
            Error::HomeFolder => Self::new(exit::USAGE, "home-folder", what),
            Error::EmptyName(_) => Self::new(exit::USAGE, "empty-name", what).next("onward list"),
            Error::Untrusted { .. } => untrusted(what),
            Error::NoRoom { .. } => Self::new(exit::STORE, "no-room", what).kept(ALL_RECORDED).next("onward status"),
            Error::NoTimer { .. } => {
                Self::new(exit::STORE, "no-timer", what).kept(ALL_RECORDED).next("onward help no-timer")
            }
            Error::Moved { to, .. } => moved(what, to.as_deref()),
            Error::StoreGone { run, how, copy, .. } => store_gone(what, &run, &how, copy),
            Error::Stopped { signal } => stopped(signal),
            Error::HalfDone { signal, run, done } => stopped(signal).kept(done).look_at("status", &run),
            Error::LeftWaiting { run } => unanswered("left-waiting", what, LEFT, &run),
            Error::NotYet(_) => Self::new(exit::USAGE, "not-yet", what).next("onward --help"),
            Error::NoPlan { .. } => {
                Self::new(exit::USAGE, "no-plan", what).next("onward plan \"TASK\"").next("onward init --plan")
            }
            Error::Planning(why) => planning::planning(&what, why),
            Error::NoWorktree { .. } => Self::new(exit::REFUSED, "no-worktree", what).kept(AS_BEFORE),
            Error::PlanUnreadable { beside, .. } => {
                let there = (!beside.is_empty()).then(|| format!("plans that may be meant: {}", beside.join(", ")));
                let page = Self::new(exit::USAGE, "plan-unreadable", what).more(there.into_iter().collect());
                page.next(beside.first().map_or("onward init --plan".to_owned(), |plan| format!("onward check {plan}")))
            }
            Error::PlanNotText { .. } => Self::new(exit::USAGE, "plan-unreadable", what),
            Error::ConfigUnreadable { .. } => Self::new(exit::USAGE, "config-invalid", what).kept(AS_BEFORE),
            Error::AgentOfNoMarkdown { .. } => Self::new(exit::USAGE, "agent-without-markdown", what),
            Error::PlanInvalid { file, text, diagnostics } => {
                Self::new(exit::USAGE, "plan-invalid", what).diagnosed(&file, &text, &diagnostics)
            }
            Error::PlanUnsupported { file, text, diagnostics } => {
                Self::new(exit::USAGE, "plan-unsupported", what).diagnosed(&file, &text, &diagnostics)
            }
            Error::PlanNewer { file, text, diagnostics } => {
                Self::new(exit::NEWER, "newer", what).diagnosed(&file, &text, &diagnostics).next("onward --version")
            }
            Error::Inputs { file, diagnostics } => {
                Self::new(exit::USAGE, "inputs-invalid", what).diagnosed(&file, "", &diagnostics)
            }
            Error::Config { file, text, diagnostics } => {
                Self::new(exit::USAGE, "config-invalid", what).diagnosed(&file, &text, &diagnostics)
            }
            Error::Driven { run, .. } => Self::new(exit::DRIVEN, "driven", what).look_at("status", &run),
            Error::GroupBusy { by, .. } => group_busy(what, by.as_ref()),
            Error::GroupOfItself { by, .. } => group_busy(what, Some(&by)),
            Error::RequestRefused { run, .. } => Self::new(exit::REFUSED, "refused", what).look_at("status", &run),
            Error::Refused { run, reasons } => {
                Self::new(exit::REFUSED, "refused", what).more(reasons).look_at("show", &run)
            }
            Error::Forbidden { run, findings } => forbidden(what, &run, findings),
            Error::RequirementUnmet { unmet } => requirement(what, &unmet),
            Error::AnswerNeeded(question) => answer_needed(*question),
            Error::Several { runs, typed } => several(what, &runs, &typed),
            Error::Declined { .. } => Self::new(exit::USAGE, "declined", what).next("onward status"),
            Error::Unfit { .. } => Self::new(exit::USAGE, "unfit", what).kept(AS_BEFORE),
            Error::Illegal(why) => illegal(what, &why),
            Error::BadRecord { run, .. } => bad_record(what, &run),
            Error::BadCheckpoint { id, left, .. } => bad_checkpoint(what, &id, *left),
            Error::BadJournal { left, .. } => damaged(what, &left).next("onward doctor"),
            Error::Store(why) => store(&what, &why),
            Error::Io { .. } => Self::new(exit::STORE, "io", what).kept(ALL_RECORDED),
            Error::NoAnswer { run, .. } => unanswered("no-answer", what, TAKEN_BACK, &run),
        }
    }
}

/// Set as soon as it is known: a program must get its last word, whatever happens.
static READER: OnceLock<Audience> = OnceLock::new();

pub(crate) fn is_read_by(reader: Audience) {
    READER.get_or_init(|| reader);
}

/// A panic is a bug, and a bug gets a page like any other failure. Its text may hold anything, a secret too, so only
/// what stands literally in our own source is shown.
pub(crate) fn turn_panics_into_pages() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
        let page = of_panic(panic.payload(), &place);
        render::say(&render::failure::page(&page));
        match READER.get() {
            None | Some(Audience::Person) => {}
            Some(Audience::Program) => render::answer_json(&render::failure::ErrorJson::new(&page)),
            Some(Audience::ProgramOfLines) => {
                render::answer_json(&render::failure::ErrorLine::new(&page));
                render::answer_json(&render::run::ExitLine::failed(&page, None));
            }
        }
        render::drain();
        std::process::exit(i32::from(page.code));
    }));
}

fn of_panic(payload: &dyn Any, place: &str) -> Failure {
    if payload.is::<NoThread>() {
        let what =
            "no thread could be started for ten seconds: there is none to spare, or a limit forbids it (ulimit -u)";
        return Error::NoRoom { what: what.to_owned() }.into();
    }
    let literal = payload.downcast_ref::<&'static str>().copied().unwrap_or("an assertion did not hold");
    Failure::from(bug(literal, place))
}

fn bug(literal: &str, place: &str) -> FailurePage {
    let report = format!("please report this text with the output of `onward --version`; it happened at {place}");
    FailurePage::new(exit::BUG, "bug", format!("a bug in onward: {literal}"))
        .more(vec![report])
        .kept("everything that was recorded so far; phases at work go on, and the next start takes their results")
        .next("onward status")
}
