//! Places of a plan out of which no secret can be cut: a path, a glob or a lock without its secret is another one.

use std::collections::BTreeMap;

use onward_core::expression::{self, Reference};
use onward_core::plan::{Body, Phase, Plan};

use super::{MARK, known};

/// All phases that a plan was written with, those of the plans that it uses included.
fn phases(plan: &Plan) -> impl Iterator<Item = &Phase> {
    std::iter::once(plan).chain(plan.used.values()).flat_map(|one| one.phases.iter().chain(&one.finally))
}

/// Such places of one phase, each with its key.
fn places(phase: &Phase) -> Vec<(&'static str, &str)> {
    let mut found: Vec<(&'static str, &str)> = Vec::new();
    found.extend(phase.reads.iter().map(|glob| ("reads", glob.as_str())));
    found.extend(phase.writes.iter().map(|glob| ("writes", glob.as_str())));
    found.extend(phase.artifacts.iter().map(|artifact| ("artifacts", artifact.path.as_str())));
    found.extend(phase.working_directory.iter().map(|folder| ("working-directory", folder.as_str())));
    found.extend(phase.locks.iter().map(|lock| ("locks", lock.as_str())));
    match &phase.body {
        Body::Uses(uses) => found.push(("uses", &uses.path)),
        Body::Agent(block) => {
            let file = block.get("prompt-file").and_then(serde_json::Value::as_str);
            found.extend(file.map(|file| ("prompt-file", file)));
        }
        Body::Run { .. } | Body::Approval(_) | Body::External(_) => {}
    }
    found
}

/// Refuses a plan that has a secret in one of these places.
pub(super) fn demand_none(plan: &Plan) -> Result<(), String> {
    for phase in phases(plan) {
        for (key, text) in places(phase) {
            if let Some(secret) = known::secret_in(text) {
                return Err(refusal(phase, key, &secret));
            }
        }
    }
    Ok(())
}

/// All secrets in such places, and in names, for whoever asks before a run does: each in a sentence.
pub(crate) fn found(plan: &Plan) -> Vec<String> {
    let secret = |text: &str| known::secret_in(text);
    let name = secret(&plan.name).map(|secret| {
        format!("the name of the plan holds {secret}; it is kept and shown without it (redact.except takes a name out)")
    });
    let id = |phase: &Phase| {
        let secret = secret(phase.id.as_str())?;
        Some(format!(
            "the id of a phase holds {secret}, and an id cannot be cut: run refuses the plan (redact.except takes a name out)"
        ))
    };
    let place = |phase: &Phase| {
        let (key, secret) = places(phase).into_iter().find_map(|(key, text)| Some((key, secret(text)?)))?;
        Some(format!("run refuses the plan: {}", refusal(phase, key, &secret)))
    };
    name.into_iter().chain(phases(plan).flat_map(|phase| id(phase).into_iter().chain(place(phase)))).collect()
}

/// Refuses a plan that puts an input into one of these places out of which a secret was cut.
pub(crate) fn demand_whole_inputs(plan: &Plan, kept: &BTreeMap<String, String>) -> Result<(), String> {
    for phase in plan.phases.iter().chain(&plan.finally) {
        for (key, text) in places(phase) {
            for reference in expression::references(text).unwrap_or_default() {
                if let Reference::Input(name) = reference
                    && kept.get(&name).is_some_and(|value| value.contains(MARK))
                {
                    return Err(refusal(
                        phase,
                        key,
                        &format!("the value of the input {name}, which has a secret in it"),
                    ));
                }
            }
        }
    }
    Ok(())
}

fn refusal(phase: &Phase, key: &str, what: &str) -> String {
    format!(
        "`{key}` of phase {} holds {what}; it cannot be cut out there, since the rest would name something else \
         (redact.except in the configuration takes a name out)",
        phase.id
    )
}
