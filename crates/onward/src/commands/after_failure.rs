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

/// Asks about every phase that failed, one after the other.
pub(super) fn ask(run: &Run) -> Decided {
    let failed = run.phases().filter(|(_, state)| state.status == PhaseStatus::Failed);
    let failed: Vec<(PhaseId, String)> = failed
        .map(|(phase, state)| {
            let error = state.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
            (phase.id.clone(), error)
        })
        .collect();
    let mut choices = Vec::new();
    for (phase, error) in &failed {
        match about(phase, error) {
            Some(One::Choice(choice)) => choices.push((phase.to_string(), choice)),
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
fn about(phase: &PhaseId, error: &str) -> Option<One> {
    let (phase, error) = (render::safe::line(phase.as_str()), render::safe::line(error));
    render::say(&format!("Phase {phase} failed: {error}\n"));
    for _ in 0..TRIES_MAX {
        match prompt::ask(render::question::FAILED)?.to_lowercase().as_str() {
            "retry" | "r" => return Some(One::Choice(Choice::Retry)),
            "adopt" => return Some(One::Choice(Choice::Adopt)),
            "skip" | "s" => return Some(One::Choice(Choice::Skip)),
            "abort" => return Some(One::Abort),
            "quit" | "q" | "" => return None,
            "clean" => render::say("There is no snapshot of before the phase, so its files cannot be put back.\n"),
            _ => render::say("Please answer with one of the words.\n"),
        }
    }
    None
}
