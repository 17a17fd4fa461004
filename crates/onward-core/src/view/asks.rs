//! Questions to people, as a list of runs shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::PhaseId;
use crate::plan::shown_names;
use crate::run::Run;

/// A list names so many of the phases of a run that wait.
const LISTED_MAX: usize = 5;
/// Of a question it has so much.
const CHARS_MAX: usize = 120;

/// A phase that waits for a person to decide: an approval, or a call of its agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseAsks {
    pub phase: PhaseId,
    /// The name by which people know the phase, where that is not its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<String>,
    /// The call that waits, where it is one of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The beginning of the question; `status` has all of it.
    pub asks: String,
}

/// The questions that an unfinished run has for people, the first of them.
pub(super) fn listed(run: &Run) -> Vec<PhaseAsks> {
    if !run.is_unfinished() {
        return Vec::new();
    }
    let approvals = run.approvals().map(|(phase, _)| (phase, None));
    let asked = approvals.chain(run.calls().map(|(phase, call)| (phase, Some(call.id.clone())))).take(LISTED_MAX);
    let names = shown_names(run.plan());
    asked
        .map(|(phase, call)| {
            let told = run.phase_state(&phase.id).and_then(|state| run.asks(phase, state)).unwrap_or_default();
            let shown = names.get(&phase.id).cloned();
            PhaseAsks { phase: phase.id.clone(), shown, call, asks: beginning(told.trim()) }
        })
        .collect()
}

fn beginning(told: &str) -> String {
    let line = told.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(CHARS_MAX).collect();
    if cut.len() < told.len() { format!("{cut} …") } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_question_the_beginning_is_listed() {
        assert_eq!(beginning("Ship it?"), "Ship it?");
        assert_eq!(beginning("Ship it?\nIt is late."), "Ship it? …");
        assert_eq!(beginning(&"ä".repeat(500)).chars().count(), CHARS_MAX + 2);
    }
}
