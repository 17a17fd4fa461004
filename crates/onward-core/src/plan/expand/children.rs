//! Expansion of one compound phase into its children.

use std::collections::BTreeMap;

use crate::expression::{self, Condition, Reference};
use crate::id::PhaseId;
use crate::plan::{Body, Matrix, Need, Phase, Plan, Situation, Uses, inputs};

use super::ExpandError;
use super::combinations::combinations;
use super::used::normal;

/// Hex digits of a child's id that tell combinations apart.
const DIGITS: usize = 8;

/// Whether the phase has to be taken apart before it can be done.
pub fn is_compound(phase: &Phase) -> bool {
    phase.children.is_none() && (phase.matrix.is_some() || matches!(phase.body, Body::Uses(_)))
}

/// The phases that a compound phase is taken apart into; they may be compound themselves. `outer` answers for the run, as in
/// [`Situation::value`], `shelf` has the plans that were read when the run started.
pub fn children(
    phase: &Phase,
    shelf: &BTreeMap<String, Plan>,
    outer: &dyn Fn(&Reference) -> Option<String>,
) -> Result<Vec<Phase>, ExpandError> {
    let context = |reference: &Reference| phase.situation.value(reference, outer);
    match (&phase.matrix, &phase.body) {
        (Some(matrix), _) => of_matrix(phase, matrix, &context),
        (None, Body::Uses(uses)) => of_plan(phase, uses, shelf, &context),
        (None, Body::Run { .. } | Body::Agent(_) | Body::Approval(_) | Body::External(_)) => Ok(Vec::new()),
    }
}

fn of_matrix(
    phase: &Phase,
    matrix: &Matrix,
    context: &dyn Fn(&Reference) -> Option<String>,
) -> Result<Vec<Phase>, ExpandError> {
    let all = combinations(matrix, context).map_err(|why| ExpandError::Matrix { phase: phase.id.clone(), why })?;
    let judges_each = asks_for_the_matrix(phase);
    let child = |values: BTreeMap<String, String>| {
        let situation = Situation { parent: Some(phase.id.clone()), matrix: values, ..phase.situation.clone() };
        let child = Phase {
            id: PhaseId::new(format!("{}@{}", phase.id, digits(&situation.matrix))),
            matrix: None,
            // A condition about the combination is one of each child; any other was settled before there were any.
            condition: phase.condition.clone().filter(|_| judges_each),
            situation,
            ..phase.clone()
        };
        settled(child, context)
    };
    Ok(all.into_iter().map(child).collect())
}

/// Whether the `if` can only be answered for each combination.
fn asks_for_the_matrix(phase: &Phase) -> bool {
    let asked = phase.condition.iter().flat_map(Condition::references);
    asked.into_iter().any(|one| matches!(one, Reference::Matrix(_)))
}

fn digits(values: &BTreeMap<String, String>) -> String {
    let canonical = serde_json::to_string(values).expect("a map of texts is JSON");
    blake3::hash(canonical.as_bytes()).to_hex()[..DIGITS].to_owned()
}

fn of_plan(
    phase: &Phase,
    uses: &Uses,
    shelf: &BTreeMap<String, Plan>,
    context: &dyn Fn(&Reference) -> Option<String>,
) -> Result<Vec<Phase>, ExpandError> {
    let fault = |why: String| ExpandError::Uses { phase: phase.id.clone(), path: uses.path.clone(), why };
    let plan = shelf.get(&normal(&uses.path)).ok_or_else(|| fault("which was not read when the run started".into()))?;
    let mut given = BTreeMap::new();
    for (name, value) in &uses.with {
        let value = expression::substitute(value, context).map_err(|why| fault(format!("but {why}")))?;
        given.insert(name.clone(), value);
    }
    let values = inputs::resolve(plan, &given).map_err(|faults| {
        let all: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
        fault(format!("but {}", all.join("; ")))
    })?;
    let situation = Situation {
        parent: Some(phase.id.clone()),
        matrix: BTreeMap::new(),
        within: Some(phase.id.clone()),
        inputs: Some(values),
    };
    let main = plan.phases.iter().map(|inner| placed(inner, plan, &situation));
    let last = plan.finally.iter().map(|inner| closing(placed(inner, plan, &situation), plan, &situation));
    Ok(main.chain(last).map(|child| settled(with_claims_of(phase, child), context)).collect())
}

/// Adds the locks, limits and files of the phase that uses a plan to each of its children.
fn with_claims_of(phase: &Phase, mut child: Phase) -> Phase {
    let joined = |own: &mut Vec<String>, outer: &[String]| {
        let more: Vec<String> = outer.iter().filter(|name| !own.contains(name)).cloned().collect();
        own.extend(more);
    };
    joined(&mut child.limits, &phase.limits);
    joined(&mut child.locks, &phase.locks);
    child
}

/// A phase of another plan at its place below the one that uses it.
fn placed(inner: &Phase, plan: &Plan, situation: &Situation) -> Phase {
    let needs = inner.needs.iter().map(|need| Need { phase: situation.phase(&need.phase), ..need.clone() });
    let own = |name: &String| inner.env.iter().any(|(other, _)| other == name);
    let shared = plan.env.iter().filter(|(name, _)| !own(name));
    Phase {
        id: situation.phase(&inner.id),
        needs: needs.collect(),
        env: shared.chain(&inner.env).cloned().collect(),
        situation: situation.clone(),
        ..inner.clone()
    }
}

/// A `finally` phase of the used plan: it runs at the end, whatever happened there.
fn closing(child: Phase, plan: &Plan, situation: &Situation) -> Phase {
    let all = plan.phases.iter().map(|phase| Need::new(situation.phase(&phase.id)));
    let condition = Condition::always(child.condition.as_ref());
    let needs = all.chain(child.needs.clone()).collect();
    Phase { needs, condition: Some(condition), ..child }
}

/// Fills in what is shown and compared before the phase is tried: its name, and the globs that decide what may run beside it.
/// All else keeps its expressions until an attempt starts.
pub(super) fn settled(mut phase: Phase, context: &dyn Fn(&Reference) -> Option<String>) -> Phase {
    let situation = phase.situation.clone();
    let value = |reference: &Reference| match reference {
        Reference::Matrix(_) | Reference::Input(_) => situation.value(reference, context),
        Reference::Env(_)
        | Reference::Run(_)
        | Reference::Output { .. }
        | Reference::Status(_)
        | Reference::Attempt => None,
    };
    if let Some(name) = &phase.name {
        phase.name = expression::substitute_known(name, &value).ok().or(phase.name);
    }
    let literal = |reference: &Reference| value(reference).map(|value| as_glob(&value));
    for glob in phase.writes.iter_mut().chain(&mut phase.reads) {
        if let Ok(filled) = expression::substitute_known(glob, &literal) {
            *glob = filled;
        }
    }
    phase
}

/// A value as a glob that means just this value.
fn as_glob(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for character in value.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '{' | '}' | '$') {
            out.push('[');
            out.push(character);
            out.push(']');
        } else {
            out.push(character);
        }
    }
    out
}

/// The plan with a phase taken apart: its children stand behind it. None if there is no such phase.
#[must_use]
pub fn insert(plan: &Plan, parent: &PhaseId, children: Vec<Phase>) -> Option<Plan> {
    let mut plan = plan.clone();
    let at = plan.phases.iter().position(|phase| &phase.id == parent)?;
    plan.phases[at].children = Some(children.iter().map(|child| child.id.clone()).collect());
    let rest = plan.phases.split_off(at + 1);
    plan.phases.extend(children.into_iter().chain(rest));
    Some(plan)
}

/// The outputs of an expanded phase: of a matrix, for every output a JSON array in the order of its children; of a used
/// plan, the outputs of its phases, where several have the same name the last one.
pub fn outputs<'a>(
    phase: &Phase,
    children: impl IntoIterator<Item = &'a BTreeMap<String, String>>,
) -> BTreeMap<String, String> {
    let mut lists: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
    for child in children {
        for (name, value) in child {
            lists.entry(name).or_default().push(value);
        }
    }
    let given = lists.into_iter().filter_map(|(name, values)| {
        let value = if phase.matrix.is_some() {
            serde_json::to_string(&values).expect("a list of texts is JSON")
        } else {
            (*values.last()?).clone()
        };
        Some((name.clone(), value))
    });
    given.collect()
}
