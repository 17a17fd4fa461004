//! The order among phases that are ready: what is more urgent first, then what is harder to get back, then the order of the plan.

use crate::plan::{Effects, LossKind, Phase, Priority};

/// The place of a phase among those that are ready; the smaller goes first.
pub fn order(phase: &Phase) -> (u8, u8) {
    (priority_rank(phase.priority), value_rank(value(phase)))
}

/// An outward effect is as hard to get back as an issue, whatever its phase is called; what says nothing counts as code.
fn value(phase: &Phase) -> LossKind {
    match (phase.value, phase.effects) {
        (Some(value), _) => value,
        (None, Effects::External) => LossKind::Issue,
        (None, Effects::None | Effects::Files) => LossKind::Code,
    }
}

fn priority_rank(priority: Priority) -> u8 {
    match priority {
        Priority::Critical => 0,
        Priority::High => 1,
        Priority::Normal => 2,
        Priority::Low => 3,
    }
}

/// The hardest to reconstruct goes first.
fn value_rank(value: LossKind) -> u8 {
    match value {
        LossKind::Issue => 0,
        LossKind::Commit => 1,
        LossKind::Code => 2,
        LossKind::Docs => 3,
    }
}
