//! After the last retry of a phase, where a person is there: what is to become of it, in words.

use onward_core::id::PhaseId;
use onward_core::input::Choice;
use onward_core::run::{PhaseStatus, Run};

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

/// Asks about every phase that failed, one after the other.
pub(super) fn ask(run: &Run) -> Decided {
    let failed = run.phases().filter(|(_, state)| state.status == PhaseStatus::Failed);
    let failed: Vec<Failed> = failed
        .map(|(phase, state)| Failed {
            phase: phase.id.clone(),
            error: state.error.as_ref().map(|error| error.message.clone()).unwrap_or_default(),
            clean: match (phase.writes.is_empty(), &state.base) {
                (true, _) => Clean::Not("the phase does not say what it writes"),
                (false, None) => Clean::Not("no snapshot was taken before it"),
                (false, Some(_)) => Clean::Possible,
            },
        })
        .collect();
    let mut choices = Vec::new();
    for one in &failed {
        match about(one) {
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
