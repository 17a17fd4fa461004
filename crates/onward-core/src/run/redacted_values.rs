//! Values out of which a secret was cut: what is kept is not what was given out, so nothing begins with it.

use std::cell::Cell;

use super::context::texts;
use super::state::Run;
use crate::event::PhaseError;
use crate::expression::{self, Past, Reference};
use crate::failure::FailureCode;
use crate::plan::Phase;

/// The text that replaces a secret.
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
    Some(PhaseError { code: FailureCode::CouldNotStart, message })
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

/// A redacted value that the condition of a phase reads.
fn of_the_condition(run: &Run, phase: &Phase) -> Option<Reference> {
    let condition = phase.condition.as_ref()?;
    let context = run.context(phase);
    let cut = Cell::new(None);
    let watched = |reference: &Reference| {
        let value = context.value(reference);
        let secret = matches!(reference, Reference::Env(_)) && value.as_ref().is_some_and(|value| value.contains(MARK));
        if secret || was_cut(run, phase, reference) {
            cut.set(Some(reference.clone()));
        }
        value
    };
    let _ = condition.holds(&watched, Past::Good);
    cut.into_inner()
}
