//! Whether it is a phase's turn, going by what it needs and its `if`.

use std::cell::Cell;

use super::redacted_values::MARK;
use crate::expression::{Condition, Past, Reference};
use crate::plan::Phase;

/// The outcome of a needed phase, or of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedOutcome {
    /// It may still be done.
    Open,
    Completed,
    Skipped,
    Failed,
    /// It can never run: something before it failed, or a need that must be completed was skipped.
    Unreachable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Something that it needs is still open.
    NotYet,
    Run,
    /// Its condition does not hold.
    Skip,
    /// A phase it needs has failed, and its condition does not ask for that.
    Never,
}

/// `needs` are the fates of what the phase needs, in the order of its `needs`.
pub fn readiness(phase: &Phase, needs: &[NeedOutcome], context: &dyn Fn(&Reference) -> Option<String>) -> Readiness {
    let fates: Vec<NeedOutcome> = phase
        .needs
        .iter()
        .zip(needs)
        .map(
            |(need, fate)| {
                if need.must_be_completed && *fate == NeedOutcome::Skipped { NeedOutcome::Unreachable } else { *fate }
            },
        )
        .collect();
    decide(phase, &fates, Past::Good, context)
}

/// The same for a phase of `finally`, once all the others have come to their end: `main` says how. It runs whatever happened,
/// unless its condition says otherwise; `needs` are those among `finally`.
pub fn readiness_of_finally(
    phase: &Phase,
    needs: &[NeedOutcome],
    main: Past,
    context: &dyn Fn(&Reference) -> Option<String>,
) -> Readiness {
    decide(phase, needs, main, context)
}

fn decide(
    phase: &Phase,
    fates: &[NeedOutcome],
    main: Past,
    context: &dyn Fn(&Reference) -> Option<String>,
) -> Readiness {
    let failed = fates.iter().any(|fate| matches!(fate, NeedOutcome::Failed | NeedOutcome::Unreachable));
    let judges = phase.condition.as_ref().is_some_and(Condition::judges_the_past);
    if failed && !judges {
        return Readiness::Never;
    }
    if fates.contains(&NeedOutcome::Open) {
        return Readiness::NotYet;
    }
    let past = if judges && (failed || main == Past::Failed) { Past::Failed } else { Past::Good };
    let cut = Cell::new(false);
    let context = |reference: &Reference| {
        let value = context(reference);
        cut.set(cut.get() || value.as_ref().is_some_and(|value| value.contains(MARK)));
        value
    };
    let context: &dyn Fn(&Reference) -> Option<String> = &context;
    match &phase.condition {
        None => Readiness::Run,
        // What it asks about is not what was given out. It fails before it begins, and is not silently left out.
        Some(condition) if condition.holds(context, past) || cut.get() => Readiness::Run,
        Some(_) => Readiness::Skip,
    }
}

/// Whether parts that have not started never will: one has failed, and the matrix says that this is enough.
pub fn is_cut_short(whole: &Phase, parts: &[NeedOutcome]) -> bool {
    whole.matrix.as_ref().is_some_and(|matrix| matrix.fail_fast) && parts.contains(&NeedOutcome::Failed)
}

/// The outcome of a parent, by its children; none while one of them is open. A matrix without a combination is
/// completed.
pub fn whole(parts: &[NeedOutcome]) -> Option<NeedOutcome> {
    if parts.contains(&NeedOutcome::Open) {
        return None;
    }
    let bad = parts.iter().any(|fate| matches!(fate, NeedOutcome::Failed | NeedOutcome::Unreachable));
    let all_skipped = !parts.is_empty() && parts.iter().all(|fate| *fate == NeedOutcome::Skipped);
    Some(match (bad, all_skipped) {
        (true, _) => NeedOutcome::Failed,
        (false, true) => NeedOutcome::Skipped,
        (false, false) => NeedOutcome::Completed,
    })
}
