//! After the last retry of a phase, where a person is there: what is to become of it, in words.

use onward_core::input::Choice;
use onward_core::question::{FailedPhase, failed};
use onward_core::run::Run;

use crate::prompt::{self, TRIES_MAX};
use crate::render;

/// The decision of the person.
pub(super) enum Decided {
    Choices(Vec<(String, Choice)>),
    /// The run is put away.
    Abort,
    /// Everything is left as it is.
    Quit,
}

/// Asks about every phase that failed, one after the other.
pub(super) fn ask(run: &Run) -> Decided {
    let mut choices = Vec::new();
    for one in failed(run) {
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
fn about(one: &FailedPhase) -> Option<One> {
    let (phase, error) = (render::safe::line(one.phase.as_str()), render::safe::line(&one.error));
    render::say(&format!("Phase {phase} failed: {error}\n"));
    let question = match one.clean {
        Ok(()) => render::question::FAILED_CLEAN,
        Err(_) => render::question::FAILED,
    };
    for _ in 0..TRIES_MAX {
        match (prompt::ask(question)?.to_lowercase().as_str(), one.clean) {
            ("retry" | "r", _) => return Some(One::Choice(Choice::Retry)),
            ("clean", Ok(())) => return Some(One::Choice(Choice::RetryClean)),
            ("clean", Err(why)) => render::say(&format!("Its files cannot be put back: {why}.\n")),
            ("adopt", _) => return Some(One::Choice(Choice::Adopt)),
            ("skip" | "s", _) => return Some(One::Choice(Choice::Skip)),
            ("abort", _) => return Some(One::Abort),
            ("quit" | "q" | "", _) => return None,
            (_, _) => render::say("Please answer with one of the words.\n"),
        }
    }
    None
}
