//! Answers as they are typed.

use crate::id::{PhaseId, RunId};
use crate::input::Choice;
use crate::run::{MARK, Run, is_legal};
use crate::view;

use super::Offer;

/// The parts of the command line that brought the question up, each with a space before it: an answer repeats them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypedWords {
    /// The plan and the inputs.
    pub plan: String,
    /// Answers that were given already.
    pub answers: String,
}

/// Those of the answers about one phase that are legal, each added to `resume`.
pub(super) fn phase_offers(run: &Run, phase: &PhaseId, answers: &[Choice], resume: &str) -> Vec<Offer> {
    let legal = answers.iter().filter(|choice| is_legal(run, phase, **choice));
    legal.map(|choice| Offer::new(words(*choice), format!("{resume} {}", flag(phase, *choice)))).collect()
}

/// Doing all of these phases again, where that is legal for each.
pub(super) fn retry_all(run: &Run, phases: &[&PhaseId], resume: &str) -> Option<Offer> {
    let legal = phases.iter().all(|phase| is_legal(run, phase, Choice::Retry));
    let flags: Vec<String> = phases.iter().map(|phase| flag(phase, Choice::Retry)).collect();
    legal.then(|| Offer::new("do all of them again", format!("{resume} {}", flags.join(" "))))
}

pub(super) fn resume(run: &Run) -> String {
    view::resume_command(&run.id)
}

pub(super) fn show(run: &RunId) -> Offer {
    Offer::new("look at it", format!("onward show {run}"))
}

pub(super) fn archive(run: &RunId) -> Offer {
    Offer::new("archive it and start nothing", format!("onward archive {run}"))
}

pub(super) fn go_on(choice: &str, run: &RunId, answers: &str) -> Offer {
    Offer::new(choice, format!("onward run --resume={run}{answers}"))
}

pub(super) fn fresh(choice: &str, typed: &TypedWords) -> Offer {
    Offer::new(choice, fresh_command(typed))
}

/// None where an input was cut out of what is known of the run: nobody could type it again from here.
pub(super) fn fresh_if_known(choice: &str, typed: &TypedWords) -> Option<Offer> {
    (!typed.plan.contains(MARK)).then(|| fresh(choice, typed))
}

pub(super) fn fresh_command(typed: &TypedWords) -> String {
    format!("onward run{} --fresh", typed.plan)
}

pub(super) fn orphans(command: &str, wait: &str, kill: &str) -> [Offer; 2] {
    [("wait", wait), ("kill", kill)].map(|(how, choice)| Offer::new(choice, format!("{command} --orphan {how}")))
}

fn words(choice: Choice) -> &'static str {
    match choice {
        Choice::Retry => "do the phase again",
        Choice::RetryClean => "do it again from the files as they were before",
        Choice::Adopt => "take the phase as done",
        Choice::Skip => "leave the phase out",
    }
}

/// An answer about a phase as a flag of `run` and `resume`.
fn flag(phase: &PhaseId, choice: Choice) -> String {
    let name = phase.as_str();
    match choice {
        Choice::Retry => format!("--retry {}", quoted(name)),
        Choice::RetryClean => format!("--retry {}", quoted(&format!("{name}=clean"))),
        Choice::Adopt => format!("--adopt {}", quoted(name)),
        Choice::Skip => format!("--skip {}", quoted(name)),
    }
}

impl TypedWords {
    /// Words as they would be typed: the plan with its inputs, and the answers given so far.
    pub fn new<'a>(plan: impl IntoIterator<Item = &'a str>, answers: impl IntoIterator<Item = &'a str>) -> Self {
        Self { plan: line(plan), answers: line(answers) }
    }
}

fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().fold(String::new(), |line, word| line + " " + &quoted(word))
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
