//! Values out of which a secret was cut: what is kept is not what was given out, so nothing begins with it.

use std::cell::Cell;

use super::state::Run;
use crate::event::PhaseError;
use crate::expression::{self, Condition, Past, Reference};
use crate::failure;
use crate::plan::{Axis, Body, Phase};

/// What stands in the place of a secret.
pub const MARK: &str = "[redacted]";

/// Why a phase cannot begin: it is to use a value out of which a secret was cut. Inputs of the run are not looked at, since
/// whoever starts a phase may have been given them again.
pub(super) fn uses_what_was_cut(run: &Run, phase: &Phase) -> Option<PhaseError> {
    let find = |text: &str| {
        let asked = expression::references(text).unwrap_or_default();
        asked.into_iter().find(|reference| was_cut(run, phase, reference))
    };
    let variables = run.plan().env.iter().chain(&phase.env).filter(|(_, value)| expression::holds(value));
    let of_a_variable = variables.into_iter().find_map(|(name, value)| Some((Some(name), find(value)?)));
    let of_a_text = || texts(phase).into_iter().filter(|text| expression::holds(text)).find_map(find);
    let others = || of_a_text().or_else(|| of_the_condition(run, phase)).map(|cut| (None, cut));
    let (variable, cut) = of_a_variable.or_else(others)?;
    let user = variable.map_or_else(|| "it".to_owned(), |name| format!("its variable {name}"));
    let message = format!("{user} is to hold {cut}, out of which a secret was cut: none is kept");
    Some(PhaseError { code: failure::COULD_NOT_START.to_owned(), message })
}

/// What else of a phase is filled in before it begins, or when somebody is told about it.
fn texts(phase: &Phase) -> Vec<&str> {
    let mut texts: Vec<&str> = Vec::new();
    match &phase.body {
        Body::External(external) => texts.push(&external.instructions),
        Body::Approval(approval) => {
            texts.push(&approval.message);
            texts.extend(approval.show.iter().map(String::as_str));
        }
        Body::Uses(uses) => texts.extend(uses.with.iter().map(|(_, value)| value.as_str())),
        Body::Run { .. } | Body::Agent(_) => {}
    }
    for (_, axis) in phase.matrix.iter().flat_map(|matrix| &matrix.axes) {
        match axis {
            Axis::Values(values) => texts.extend(values.iter().map(String::as_str)),
            Axis::From(text) => texts.push(text),
        }
    }
    texts.extend(phase.artifacts.iter().map(|artifact| artifact.path.as_str()));
    texts
}

fn was_cut(run: &Run, phase: &Phase, reference: &Reference) -> bool {
    let has_the_mark = |value: Option<&String>| value.is_some_and(|value| value.contains(MARK));
    match reference {
        Reference::Output { phase: of, output } => {
            has_the_mark(run.phase_state(&phase.situation.phase(of)).and_then(|state| state.outputs.get(output)))
        }
        Reference::Matrix(name) => has_the_mark(phase.situation.matrix.get(name)),
        Reference::Input(name) => has_the_mark(phase.situation.inputs.as_ref().and_then(|inputs| inputs.get(name))),
        Reference::Env(_) | Reference::Run(_) | Reference::Status(_) | Reference::Attempt => false,
    }
}

/// What the condition of a phase reads and should not.
fn of_the_condition(run: &Run, phase: &Phase) -> Option<Reference> {
    let condition = Condition::parse(phase.condition.as_deref()?).ok()?;
    let cut = Cell::new(None);
    let watched = |reference: &Reference| {
        if was_cut(run, phase, reference) {
            cut.set(Some(reference.clone()));
        }
        run.value(phase, reference)
    };
    let _ = condition.holds(&watched, Past::Good);
    cut.into_inner()
}
