//! After the last retry of a phase, where a person is there: what is to become of it, in words.

use onward_core::id::PhaseId;
use onward_core::input::Choice;
use onward_core::plan::{Phase, PhaseFailure};
use onward_core::run::{PhaseStatus, Run};
use onward_core::view;
use onward_engine::Offer;

use crate::prompt::{self, TRIES_MAX};
use crate::render;

/// What the person decided.
pub(super) enum Decided {
    Choices(Vec<(String, Choice)>),
    /// The run is put away.
    Abort,
    /// Everything is left as it is.
    Quit,
}

/// A phase that failed, and what may be said about it.
struct Failed {
    phase: PhaseId,
    error: String,
    /// There is a snapshot of what it writes from before its first attempt.
    clean: Clean,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Clean {
    Possible,
    /// Why it is not.
    Not(&'static str),
}

/// Whether a phase failed of which the plan says that a person is asked.
pub(super) fn is_asked_about(run: &Run) -> bool {
    those_that_ask(run).next().is_some()
}

/// Why a person is asked, and every answer as a command.
pub(super) fn offers(run: &Run) -> (Vec<String>, Vec<Offer>) {
    let (mut reasons, mut choices) = (Vec::new(), Vec::new());
    for Failed { phase, error, clean } in those_that_ask(run) {
        let mut offer = |choice: &str, flag: String| {
            let command = format!("{} {flag}", view::resume_command(&run.id));
            choices.push(Offer { choice: choice.to_owned(), command });
        };
        offer("do the phase again", format!("--retry {phase}"));
        if clean == Clean::Possible {
            offer("do it again from the files as they were before", format!("--retry {phase}=clean"));
        }
        offer("take the phase as done", format!("--adopt {phase}"));
        offer("leave the phase out", format!("--skip {phase}"));
        reasons.push(format!("phase {phase} failed: {error}"));
    }
    (reasons, choices)
}

fn those_that_ask(run: &Run) -> impl Iterator<Item = Failed> {
    let asks = |phase: &Phase| phase.on_failure == Some(PhaseFailure::Ask);
    failed(run).filter(move |(phase, _)| asks(phase)).map(|(_, failed)| failed)
}

fn failed(run: &Run) -> impl Iterator<Item = (&Phase, Failed)> {
    let failed = run.phases().filter(|(_, state)| state.status == PhaseStatus::Failed);
    failed.map(|(phase, state)| {
        let clean = match (phase.writes.is_empty(), &state.base) {
            (true, _) => Clean::Not("the phase does not say what it writes"),
            (false, None) => Clean::Not("no snapshot was taken before it"),
            (false, Some(_)) => Clean::Possible,
        };
        let error = state.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
        (phase, Failed { phase: phase.id.clone(), error, clean })
    })
}

/// Asks about every phase that failed, one after the other.
pub(super) fn ask(run: &Run) -> Decided {
    let mut choices = Vec::new();
    for (_, one) in failed(run) {
        match about(&one) {
            Some(One::Choice(choice)) => choices.push((one.phase.to_string(), choice)),
            Some(One::Abort) => return Decided::Abort,
            None => return Decided::Quit,
        }
    }
    if choices.is_empty() { Decided::Quit } else { Decided::Choices(choices) }
}

enum One {
    Choice(Choice),
    Abort,
}

/// None is quit: nothing is decided.
fn about(one: &Failed) -> Option<One> {
    let (phase, error) = (render::safe::line(one.phase.as_str()), render::safe::line(&one.error));
    render::say(&format!("Phase {phase} failed: {error}\n"));
    let question = match one.clean {
        Clean::Possible => render::question::FAILED_CLEAN,
        Clean::Not(_) => render::question::FAILED,
    };
    for _ in 0..TRIES_MAX {
        match (prompt::ask(question)?.to_lowercase().as_str(), one.clean) {
            ("retry" | "r", _) => return Some(One::Choice(Choice::Retry)),
            ("clean", Clean::Possible) => return Some(One::Choice(Choice::RetryClean)),
            ("clean", Clean::Not(why)) => render::say(&format!("Its files cannot be put back: {why}.\n")),
            ("adopt", _) => return Some(One::Choice(Choice::Adopt)),
            ("skip" | "s", _) => return Some(One::Choice(Choice::Skip)),
            ("abort", _) => return Some(One::Abort),
            ("quit" | "q" | "", _) => return None,
            (_, _) => render::say("Please answer with one of the words.\n"),
        }
    }
    None
}
