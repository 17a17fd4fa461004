//! Approvals that are due, as they are put to a person at the terminal.

use crate::id::PhaseId;
use crate::plan::{APPROVE, REJECT};
use crate::run::Run;
use crate::run::agent_calls::AgentCall;

/// An approval that was asked for and not given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueApproval {
    pub phase: PhaseId,
    pub message: String,
    /// Things to look at first.
    pub look_at: Vec<String>,
    /// The possible answers, in the order of the plan.
    pub choices: Vec<String>,
    /// The tool call that is asked about, where it is one.
    pub call: Option<String>,
}

/// The answer of a person to an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalReply {
    Choice(String),
    /// It is left as it is.
    Later,
    Unclear,
}

/// The approvals that a run waits for.
pub fn due_approvals(run: &Run) -> Vec<DueApproval> {
    let due = run.approvals().map(|(phase, approval)| DueApproval {
        phase: phase.id.clone(),
        message: run.message(phase, approval),
        look_at: run.to_be_looked_at(phase, approval),
        choices: approval.choices.clone(),
        call: None,
    });
    let calls = run.calls().map(|(phase, call)| DueApproval {
        phase: phase.id.clone(),
        message: asked_about(call),
        look_at: Vec::new(),
        choices: vec![APPROVE.to_owned(), REJECT.to_owned()],
        call: Some(call.id.clone()),
    });
    due.chain(calls).collect()
}

/// The question about a call, with what the agent said before it.
fn asked_about(call: &AgentCall) -> String {
    let reason = call.reason.as_ref().map(|reason| format!("\nit said: {reason}")).unwrap_or_default();
    format!("may its agent use {}{reason}", call.in_words())
}

impl DueApproval {
    /// Whether the answers are the usual two, which have letters; others have numbers.
    pub fn is_yes_or_no(&self) -> bool {
        self.choices == [APPROVE, REJECT]
    }

    /// The answer that was typed: a choice in full, by its letter or its number. Enter decides nothing.
    pub fn reply(&self, typed: &str) -> ApprovalReply {
        let choice = |choice: &str| ApprovalReply::Choice(choice.to_owned());
        if let Some(named) = self.choices.iter().find(|known| *known == typed) {
            return choice(named);
        }
        let by_number = || typed.parse::<usize>().ok()?.checked_sub(1).and_then(|at| self.choices.get(at));
        match (typed, self.is_yes_or_no()) {
            ("" | "l" | "later", _) => ApprovalReply::Later,
            ("a" | "y" | "yes", true) => choice(APPROVE),
            ("r" | "n" | "no", true) => choice(REJECT),
            (_, true) => ApprovalReply::Unclear,
            (_, false) => by_number().map_or(ApprovalReply::Unclear, |known| choice(known)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(choices: &[&str]) -> DueApproval {
        let choices = choices.iter().map(|choice| (*choice).to_owned()).collect();
        DueApproval { phase: PhaseId::new("gate"), message: String::new(), look_at: Vec::new(), choices, call: None }
    }

    #[test]
    fn nothing_is_approved_by_enter() {
        for typed in ["", "l", "later"] {
            assert_eq!(due(&[APPROVE, REJECT]).reply(typed), ApprovalReply::Later, "{typed}");
            assert_eq!(due(&["ship", "hold"]).reply(typed), ApprovalReply::Later, "{typed}");
        }
    }

    #[test]
    fn the_usual_answers_have_letters_and_others_numbers() {
        let chosen = |choice: &str| ApprovalReply::Choice(choice.to_owned());
        let usual = due(&[APPROVE, REJECT]);
        assert_eq!(
            ["a", "reject", "x", "1"].map(|typed| usual.reply(typed)),
            [chosen(APPROVE), chosen(REJECT), ApprovalReply::Unclear, ApprovalReply::Unclear]
        );
        let own = due(&["ship", "hold"]);
        assert_eq!(
            ["2", "ship", "a", "3", "0"].map(|typed| own.reply(typed)),
            [chosen("hold"), chosen("ship"), ApprovalReply::Unclear, ApprovalReply::Unclear, ApprovalReply::Unclear]
        );
    }
}
