//! What makes two plans, or two phases, the same work: a hash over what matters and nothing else.

use serde_json::{Map, Value, json};

use super::expand::normal;
use super::model::{Body, Phase, Plan};

/// Changes when the work changes: its phases, their needs and what they do, shared variables, inputs. Not when only names,
/// descriptions, timeouts, retries or priorities do.
pub fn digest(plan: &Plan) -> String {
    let mut inputs = Map::new();
    for (name, spec) in &plan.inputs {
        inputs.insert(name.clone(), json!({ "type": spec.kind, "required": spec.required, "default": spec.default }));
    }
    let mut value = json!({
        "v": 1,
        "type": plan.kind,
        "inputs": inputs,
        "env": plan.env,
        "phases": plan.phases.iter().map(place).collect::<Vec<_>>(),
        "finally": plan.finally.iter().map(place).collect::<Vec<_>>(),
    });
    if !plan.used.is_empty() {
        let used: Map<String, Value> =
            plan.used.iter().map(|(path, inner)| (path.clone(), json!(digest(inner)))).collect();
        value["used"] = Value::Object(used);
    }
    hash(value)
}

/// Changes when the author says that the phase is other work: what it does, where, and with which variables, as written.
pub fn definition_digest(plan: &Plan, phase: &Phase) -> String {
    let env: Vec<(String, String)> = plan.env.iter().chain(&phase.env).cloned().collect();
    hash(work(phase, &env))
}

/// Changes when doing the phase again would be other work. `resolved_env` is all of its variables, filled in.
/// The order of variables does not matter, nor does anything the plan says elsewhere; what a plan inside does, does.
pub fn phase_digest(plan: &Plan, phase: &Phase, resolved_env: &[(String, String)]) -> String {
    let mut work = work(phase, resolved_env);
    if let Body::Uses(uses) = &phase.body
        && let Some(inner) = plan.used.get(&normal(&uses.path))
    {
        work["plan"] = json!(digest(inner));
    }
    hash(work)
}

fn work(phase: &Phase, env: &[(String, String)]) -> Value {
    let env: Map<String, Value> =
        env.iter().map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect();
    let mut work = json!({
        "v": 1,
        "body": phase.body,
        "working_directory": phase.working_directory,
        "env": env,
        "outputs": phase.outputs.keys().collect::<Vec<_>>(),
    });
    // Named only where there is something to name: a phase without them keeps the digest it always had.
    let mut more = Map::new();
    if !phase.situation.matrix.is_empty() {
        more.insert("matrix".into(), json!(phase.situation.matrix));
    }
    if let Some(inputs) = &phase.situation.inputs {
        more.insert("inputs".into(), json!(inputs));
    }
    if let Some(matrix) = &phase.matrix {
        more.insert("axes".into(), json!(matrix.axes));
    }
    if !phase.fingerprint.is_empty() {
        more.insert("fingerprint".into(), json!(phase.fingerprint));
    }
    if let Value::Object(all) = &mut work {
        all.extend(more);
    }
    work
}

/// The phase at its place in the graph.
fn place(phase: &Phase) -> Value {
    let mut place =
        json!({ "id": phase.id, "needs": phase.needs, "work": work(phase, &phase.env), "effects": phase.effects });
    if let Value::Object(all) = &mut place {
        all.extend(phase.condition.iter().map(|condition| ("if".to_owned(), json!(condition))));
    }
    place
}

/// Changes when anything does that could make another try end differently: all of the plan but names and descriptions.
/// Tells a revision that was tried before.
pub fn digest_of_all(plan: &Plan) -> String {
    let mut bare = plan.clone();
    (bare.run_name, bare.description) = (None, None);
    bare.name.clear();
    for phase in bare.phases.iter_mut().chain(&mut bare.finally) {
        (phase.name, phase.description) = (None, None);
    }
    hash(serde_json::to_value(&bare).expect("a plan has only keys that are texts"))
}

fn hash(value: Value) -> String {
    blake3::hash(canonical(value).to_string().as_bytes()).to_hex().to_string()
}

/// Keys in order, whatever order they came in.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> =
                map.into_iter().map(|(key, value)| (key, canonical(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(canonical).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}
