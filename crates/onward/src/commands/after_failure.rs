//! After the last retry of a phase, where a person is there: what is to become of it, in words or by their first letters.

use onward_core::id::{PhaseId, RunId};
use onward_core::input::Choice;
use onward_core::question::{FailedPhase, failed};
use onward_core::run::Run;
use onward_engine::Onward;

use crate::prompt::{self, FailureAnswer, TRIES_MAX};
use crate::render::{self, question};

/// The decision of the person.
pub(super) enum Decided {
    Choices(Vec<(String, Choice)>),
    /// The run is put away.
    Abort,
    /// Everything is left as it is.
    Quit,
}

/// Asks about every phase that failed, one after the other.
pub(super) fn ask(onward: &mut Onward, run: &Run) -> Decided {
    let mut choices = Vec::new();
    for one in failed(run) {
        match about(onward, &run.id, &one) {
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
fn about(onward: &mut Onward, run: &RunId, one: &FailedPhase) -> Option<One> {
    let (phase, error) = (render::safe::line(one.phase.as_str()), render::safe::line(&one.error));
    prompt::forget_what_was_typed();
    render::say(&format!("Phase {phase} failed: {error}\n"));
    for _ in 0..TRIES_MAX {
        let answer = prompt::ask(&question::failed(one))?.to_lowercase();
        match (prompt::after_failure(&answer), one.clean) {
            (Some(FailureAnswer::Choice(Choice::RetryClean)), Err(why)) => {
                render::say(&format!("Its files cannot be put back: {why}.\n"));
            }
            (Some(FailureAnswer::Choice(Choice::Adopt)), _) if !one.adopt => {
                render::say("A person has to approve it: it cannot be taken as done.\n");
            }
            (Some(FailureAnswer::Choice(choice)), _) => return Some(One::Choice(choice)),
            (Some(FailureAnswer::Abort), _) => return Some(One::Abort),
            (Some(FailureAnswer::Quit), _) => return None,
            (Some(FailureAnswer::Log), _) => show_log(onward, run, &one.phase),
            (None, _) => render::say("Please answer with one of the words, or its letter in brackets.\n"),
        }
    }
    None
}

/// Shows more of what the last attempt printed.
fn show_log(onward: &mut Onward, run: &RunId, phase: &PhaseId) {
    let attempts = onward.logs(Some(run.as_str()), Some(phase.as_str()));
    let last = attempts.ok().and_then(|all| all.into_iter().next_back());
    render::say(&last.map_or_else(question::no_log, |logged| question::log(run, logged)));
}
