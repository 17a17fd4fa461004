//! Expansion of the phases that can be expanded before anything has run.

use std::collections::BTreeMap;

use crate::expression::{self, Reference};
use crate::plan::{Body, Phase, Plan};

use super::children::{children, is_compound, settled};
use super::combinations::is_static;
use super::{DEPTH_MAX, ExpandError};

/// Phases of a plan with all that is taken apart in it. Matrices inside plans inside matrices multiply.
pub const PHASES_MAX: usize = 100_000;

/// The plan as a run stores it: matrices over known values, and plans inside plans whose inputs are known, are taken apart.
/// `inputs` are those of the run. Plans that are used must have been read.
pub fn at_start(plan: &Plan, inputs: &BTreeMap<String, String>) -> Result<Plan, Vec<ExpandError>> {
    bounded(plan, inputs, PHASES_MAX)
}

fn bounded(plan: &Plan, inputs: &BTreeMap<String, String>, max: usize) -> Result<Plan, Vec<ExpandError>> {
    let outer = |reference: &Reference| match reference {
        Reference::Input(name) => inputs.get(name).cloned(),
        Reference::Env(_)
        | Reference::Run(_)
        | Reference::Output { .. }
        | Reference::Status(_)
        | Reference::Matrix(_)
        | Reference::Attempt => None,
    };
    let mut faults = Vec::new();
    let mut expanded = plan.clone();
    for list in [&mut expanded.phases, &mut expanded.finally] {
        let mut all = Vec::with_capacity(list.len());
        for phase in std::mem::take(list) {
            faults.extend(add(settled(phase, &outer), &plan.used, &outer, &mut all, max));
        }
        *list = all;
    }
    if faults.is_empty() { Ok(expanded) } else { Err(faults) }
}

/// Adds a phase and all that it is taken apart into. A stack and not a recursion: plans are other people's texts.
fn add(
    phase: Phase,
    shelf: &BTreeMap<String, Plan>,
    outer: &dyn Fn(&Reference) -> Option<String>,
    all: &mut Vec<Phase>,
    max: usize,
) -> Vec<ExpandError> {
    let mut faults = Vec::new();
    let mut waiting = vec![(phase, 0)];
    while let Some((mut phase, depth)) = waiting.pop() {
        if is_compound(&phase) && is_known(&phase) && depth <= 2 * DEPTH_MAX {
            match children(&phase, shelf, outer) {
                Ok(parts) if all.len() + waiting.len() + parts.len() > max => {
                    faults.push(ExpandError::TooMany { phase: phase.id, max });
                    return faults;
                }
                Ok(parts) => {
                    phase.children = Some(parts.iter().map(|part| part.id.clone()).collect());
                    waiting.extend(parts.into_iter().rev().map(|part| (part, depth + 1)));
                }
                Err(fault) => faults.push(fault),
            }
        }
        all.push(phase);
    }
    faults
}

/// Whether everything that taking it apart asks for is known now.
pub fn is_known(phase: &Phase) -> bool {
    let known = |text: &str| {
        let known = |one: &Reference| matches!(one, Reference::Input(_) | Reference::Matrix(_));
        expression::references(text).is_ok_and(|all| all.iter().all(known))
    };
    match (&phase.matrix, &phase.body) {
        (Some(matrix), _) => is_static(matrix),
        (None, Body::Uses(uses)) => uses.with.iter().all(|(_, value)| known(value)),
        (None, Body::Run { .. } | Body::Agent(_) | Body::Approval(_) | Body::External(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::expand::read_used;
    use crate::plan::parse;

    #[test]
    fn plans_that_multiply_without_end_are_refused() {
        // Three plans inside each other, each with a matrix of ten: a thousand phases and some. A hundred are allowed.
        let matrix = "matrix: { n: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }";
        let mut shelf = |path: &str| match path {
            "one" => Ok(format!("onward: 1\nphases:\n  a: {{ {matrix}, uses: two }}\n")),
            _ => Ok(format!("onward: 1\nphases:\n  a: {{ {matrix}, run: x }}\n")),
        };
        let plan = parse(&format!("onward: 1\nphases:\n  a: {{ {matrix}, uses: one }}\n")).plan.expect("a plan");
        let (plan, _) = read_used(&plan, &mut shelf).expect("the files are there");
        let faults = bounded(&plan, &BTreeMap::new(), 100).expect_err("too many");
        assert!(matches!(faults.as_slice(), [ExpandError::TooMany { max: 100, .. }]), "{faults:?}");
        assert_eq!(bounded(&plan, &BTreeMap::new(), 10_000).expect("as many as there are").phases.len(), 1221);
    }
}
