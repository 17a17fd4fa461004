//! The prompts of an agent that writes a plan.

use std::fmt::Write as _;

use super::answer::NoPlanText;
use super::format::about_plans;
use crate::diagnostic::{self, Diagnostic};
use crate::id::PhaseId;
use crate::plan::MayEdit;

/// The name of the plan in diagnostics that the agent reads.
const FILE: &str = "plan";

const HOW_TO_ANSWER: &str = "\
Your last message is the plan itself, all of it, in YAML: alone, or in one fenced block. It is taken from there and checked by a \
program. Change no file and carry nothing out: you may look around, and whoever asked decides what becomes of the plan.
";

/// The prompt for a plan of a task.
pub fn for_a_task(task: &str) -> String {
    let (task, about) = (task.trim(), about_plans());
    format!("Write a plan for this task:\n\n{task}\n\n# How to answer\n\n{HOW_TO_ANSWER}\n# What a plan is\n\n{about}")
}

/// The facts of a run for an agent that makes another plan for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplanTold<'a> {
    /// The phase that asked.
    pub phase: &'a PhaseId,
    pub reason: &'a str,
    pub may_edit: MayEdit,
    /// The present plan, as its author wrote it or as it is kept.
    pub plan: &'a str,
    /// The run in short, with what is done.
    pub brief: &'a str,
    /// Phases that are completed or skipped, and those at work.
    pub finished: &'a [PhaseId],
    pub at_work: &'a [PhaseId],
}

/// The prompt for another plan of a run.
pub fn for_a_replan(told: &ReplanTold<'_>) -> String {
    let ReplanTold { phase, reason, .. } = told;
    let mut out = format!(
        "A run is carried out by a plan, and its phase {phase} wants another plan:\n\n{reason}\n\nWrite the whole new plan, with the \
         phases that stay as they are.\n\n# How to answer\n\n{HOW_TO_ANSWER}\n# What may change\n\n{}\n",
        what_may_change(told)
    );
    for (title, text) in [("The present plan", told.plan), ("The run so far", told.brief)] {
        // Writing to a string does not fail.
        let _ = write!(out, "\n# {title}\n\n{}\n", text.trim_end());
    }
    let _ = write!(out, "\n# What a plan is\n\n{}", about_plans());
    out
}

fn what_may_change(told: &ReplanTold<'_>) -> String {
    let phase = told.phase;
    let mut out = match told.may_edit {
        MayEdit::Downstream => {
            format!(
                "Only {phase} and the phases that need it, near or far. Others stay word for word; new ones may be added."
            )
        }
        MayEdit::Pending => "All phases that have not begun. New ones may be added.".to_owned(),
        MayEdit::All => "All phases that are not at work. A finished one that changes is done anew.".to_owned(),
    };
    let _ = write!(out, " {phase} itself may be changed, or be replaced by others.");
    for (what, phases) in
        [("Finished, and kept as they are", told.finished), ("At work, and not to be changed", told.at_work)]
    {
        if !phases.is_empty() {
            let names: Vec<&str> = phases.iter().map(PhaseId::as_str).collect();
            let _ = write!(out, "\n{what}: {}.", names.join(", "));
        }
    }
    out.push_str("\nA plan that was tried before is refused. Keep the ids of phases that stay.");
    out
}

/// The next prompt where the plan is wrong: all that is wrong, each with its place and a way out.
pub fn correction(text: &str, diagnostics: &[Diagnostic]) -> String {
    let told = diagnostic::render(FILE, text, diagnostics);
    again(&format!("That plan cannot be used. The checker says:\n\n```\n{}\n```", told.trim_end()))
}

/// The same where the run cannot take the plan.
pub fn refused(why: &str) -> String {
    again(&format!("That plan cannot take the place of the present one: {why}."))
}

/// The same where no plan was found.
pub fn no_plan(why: &NoPlanText) -> String {
    again(&format!("No plan was found in your answer: {why}."))
}

fn again(what: &str) -> String {
    format!("{what}\n\nMend it, and answer with the whole plan again.\n\n{HOW_TO_ANSWER}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::parse;

    /// A plan with two mistakes: both go back, each with its line and what to do about it.
    #[test]
    fn all_mistakes_go_back_with_place_and_help() {
        let text = "onward: 1\nphases:\n  a: { rum: make }\n  b: { needs: c, run: make }\n";
        let told = correction(text, &parse(text).diagnostics);
        for part in ["plan:3:", "did you mean", "plan:4:", "whole plan again"] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    /// The prompt of a replan tells which phases stay, why another plan is wanted, and the plan as it is.
    #[test]
    fn a_replan_tells_what_stays() {
        let (asks, done) = (PhaseId::new("b"), [PhaseId::new("a")]);
        let told = for_a_replan(&ReplanTold {
            phase: &asks,
            reason: "far too big",
            may_edit: MayEdit::Downstream,
            plan: "onward: 1",
            brief: "a is done",
            finished: &done,
            at_work: &[],
        });
        for part in
            ["far too big", "Only b and the phases that need it", "kept as they are: a.", "onward: 1", "a is done"]
        {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!told.contains("At work"), "{told}");
    }
}
