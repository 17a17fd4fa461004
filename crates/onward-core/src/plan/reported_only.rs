//! Plans that an agent may start by itself: all of it is reported in, and nothing in it is executed.

use serde_json::{Map, Value};

/// Phases that such a plan may have.
const PHASES_MAX: usize = 1_000;
/// All keys of such a plan. What is not among them may be a command, or decide what a person decides.
const PLAN_KEYS: [&str; 6] = ["onward", "name", "type", "description", "team", "phases"];
/// All keys of a phase of it.
const PHASE_KEYS: [&str; 9] =
    ["id", "name", "description", "needs", "external", "artifacts", "tasks", "priority", "kind"];
/// All keys of the way in which it is done.
const EXTERNAL_KEYS: [&str; 1] = ["instructions"];

/// The text of the plan, or the first thing in it that an agent may not ask for.
pub fn reported_only(plan: &Value) -> Result<String, String> {
    let Value::Object(whole) = plan else { return Err("the plan is no object".to_owned()) };
    demand_known(whole, &PLAN_KEYS, "the plan")?;
    let phases: Vec<(&str, &Value)> = match whole.get("phases") {
        Some(Value::Object(by_id)) => by_id.iter().map(|(id, phase)| (id.as_str(), phase)).collect(),
        Some(Value::Array(listed)) => {
            listed.iter().map(|phase| (phase["id"].as_str().unwrap_or("without an id"), phase)).collect()
        }
        _ => return Err("the plan has no `phases`".to_owned()),
    };
    if phases.len() > PHASES_MAX {
        return Err(format!("the plan has {} phases, and {PHASES_MAX} are the most", phases.len()));
    }
    for (id, phase) in phases {
        let place = format!("phase {id}");
        let Value::Object(keys) = phase else { return Err(format!("{place} is no object")) };
        demand_known(keys, &PHASE_KEYS, &place)?;
        match keys.get("external") {
            Some(Value::Object(external)) => demand_known(external, &EXTERNAL_KEYS, &place)?,
            Some(_) => return Err(format!("`external` of {place} is an object with `instructions`")),
            None => return Err(format!("{place} is not `external`: {ONLY}")),
        }
    }
    demand_no_template(plan)?;
    Ok(plan.to_string())
}

const ONLY: &str =
    "only phases that somebody reports on can be started here; a plan with commands is started by a person";

fn demand_known(keys: &Map<String, Value>, known: &[&str], place: &str) -> Result<(), String> {
    match keys.keys().find(|key| !known.contains(&key.as_str())) {
        Some(other) => Err(format!("`{other}` of {place} cannot be given here: {ONLY}; allowed: {}", known.join(", "))),
        None => Ok(()),
    }
}

/// A template would be filled from the environment of the server.
fn demand_no_template(value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) if text.contains("${{") => Err("no text of the plan may have `${{`".to_owned()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::Array(items) => items.iter().try_for_each(demand_no_template),
        Value::Object(entries) => entries.iter().try_for_each(|(key, inner)| {
            demand_no_template(&Value::String(key.clone())).and_then(|()| demand_no_template(inner))
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_of_reported_phases_is_taken() {
        let phases = json!({ "a": { "external": { "instructions": "Do it." }, "artifacts": { "out": "a.txt" } } });
        let plan = json!({ "onward": 1, "name": "demo", "phases": phases });
        assert_eq!(reported_only(&plan), Ok(plan.to_string()));
    }

    /// An agent tries every way to a command that a plan has. Each is refused by its name.
    #[test]
    fn whatever_could_be_executed_is_refused() {
        let external = json!({ "instructions": "x" });
        for (key, value) in [
            ("run", json!("rm -rf /")),
            ("agent", json!({ "prompt": "x" })),
            ("verify", json!(["true"])),
            ("done-when", json!("true")),
            ("requires", json!(["true"])),
            ("fingerprint", json!(["true"])),
            ("replan", json!({ "run": "x" })),
            ("uses", json!("other.yaml")),
            ("env", json!({ "A": "b" })),
        ] {
            let plan = json!({ "onward": 1, "name": "demo", "phases": { "a": { "external": external, key: value } } });
            let why = reported_only(&plan).expect_err(key);
            assert!(why.contains(key), "{why}");
            let plan = json!({ "onward": 1, "name": "demo", key: value, "phases": { "a": { "external": external } } });
            assert!(reported_only(&plan).is_err(), "{key}");
        }
        for plan in [
            json!([]),
            json!({ "onward": 1, "name": "demo" }),
            json!({ "onward": 1, "name": "demo", "phases": { "a": { "name": "no way to do it" } } }),
            json!({ "onward": 1, "name": "demo", "phases": { "a": { "external": { "instructions": "${{ env.HOME }}" } } } }),
            json!({ "onward": 1, "name": "demo", "phases": { "a": { "external": { "instructions": "x", "timeout": "1m" } } } }),
        ] {
            assert!(reported_only(&plan).is_err(), "{plan}");
        }
    }
}
