//! Digests of plans and phases: a hash over all that makes two of them the same work, and nothing else.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::expand::normal;
use super::model::{Body, Phase, Plan};
use super::parts::Axis;

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
    DigestedWork::new(phase, plan.env.iter().chain(&phase.env)).hash()
}

/// Changes when doing the phase again would be other work. `resolved_env` is all of its variables, filled in.
/// The order of variables does not matter, nor does anything the plan says elsewhere; what a plan inside does, does.
pub fn phase_digest(plan: &Plan, phase: &Phase, resolved_env: &[(String, String)]) -> String {
    let inner = match &phase.body {
        Body::Uses(uses) => plan.used.get(&normal(&uses.path)),
        Body::Run { .. } | Body::Agent(_) | Body::Approval(_) | Body::External(_) => None,
    };
    DigestedWork { plan: inner.map(digest), ..DigestedWork::new(phase, resolved_env) }.hash()
}

/// The fields of a phase that its digest covers. The fields stand in the order of their names, and so does all that is
/// in them, so that the text of it is canonical as it is written: every start takes this digest of every finished
/// phase.
///
/// Fields that were added later appear only where they are set: a phase without them keeps the digest it always had.
#[derive(Serialize)]
struct DigestedWork<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    axes: Option<&'a [(String, Axis)]>,
    body: BodyInOrder<'a>,
    env: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    fingerprint: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    matrix: &'a BTreeMap<String, String>,
    outputs: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    v: u32,
    working_directory: Option<&'a str>,
}

/// Of a script the keys are in order as they are; any other body is put in order first.
#[derive(Serialize)]
#[serde(untagged)]
enum BodyInOrder<'a> {
    Script(&'a Body),
    Sorted(Value),
}

impl<'a> DigestedWork<'a> {
    fn new(phase: &'a Phase, env: impl IntoIterator<Item = &'a (String, String)>) -> Self {
        let body = match &phase.body {
            script @ Body::Run { .. } => BodyInOrder::Script(script),
            other @ (Body::Agent(_) | Body::Approval(_) | Body::External(_) | Body::Uses(_)) => {
                BodyInOrder::Sorted(canonical(json!(other)))
            }
        };
        Self {
            axes: phase.matrix.as_ref().map(|matrix| matrix.axes.as_slice()),
            body,
            env: env.into_iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
            fingerprint: &phase.fingerprint,
            inputs: phase.situation.inputs.as_ref(),
            matrix: &phase.situation.matrix,
            outputs: phase.outputs.keys().map(String::as_str).collect(),
            plan: None,
            v: 1,
            working_directory: phase.working_directory.as_deref(),
        }
    }

    fn hash(&self) -> String {
        let text = serde_json::to_vec(self).expect("it has only keys that are texts");
        blake3::hash(&text).to_hex().to_string()
    }
}

/// The phase at its place in the graph.
fn place(phase: &Phase) -> Value {
    let mut place = json!({ "id": phase.id, "needs": phase.needs, "work": DigestedWork::new(phase, &phase.env), "effects": phase.effects });
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
    (bare.markdown, bare.default_agent) = (None, None);
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
