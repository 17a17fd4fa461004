//! The differences between the plan of a run and the one that its file holds now, as people read them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::id::PhaseId;
use crate::plan::{Phase, Plan, shown_names};
use crate::resume::{Finding, FindingKind};

/// Entries of one kind that are named; the rest is counted.
const NAMED_MAX: usize = 8;
/// Characters of a value that are shown.
const VALUE_CHARS_MAX: usize = 100;

/// Keys of a phase that the author did not write.
const WORKED_OUT: [&str; 4] = ["id", "children", "situation", "closing"];
/// Keys of a plan that are compared as phases, or not at all.
const NOT_OF_THE_PLAN: [&str; 3] = ["phases", "finally", "used"];

/// Phases that were added, removed and changed, the last with what stood there before and what stands there now.
pub fn plan_edits(old: &Plan, new: &Plan) -> Vec<String> {
    let (before, after) = (phases(old), phases(new));
    let names: BTreeMap<PhaseId, String> = shown_names(old).into_iter().chain(shown_names(new)).collect();
    let name = |id: &PhaseId| names.get(id).cloned().unwrap_or_else(|| id.to_string());
    let added: Vec<String> = after.keys().filter(|id| !before.contains_key(*id)).map(|id| name(id)).collect();
    let removed: Vec<String> = before.keys().filter(|id| !after.contains_key(*id)).map(|id| name(id)).collect();
    let both = before.iter().filter_map(|(id, old)| Some((*id, *old, *after.get(id)?)));
    let changed = both.map(|(id, old, new)| (name(id), changes(&keys(old, &WORKED_OUT), &keys(new, &WORKED_OUT))));
    let changed: Vec<(String, Vec<String>)> = changed.filter(|(_, changes)| !changes.is_empty()).collect();
    let whole = changes(&keys(old, &NOT_OF_THE_PLAN), &keys(new, &NOT_OF_THE_PLAN));
    let mut told: Vec<String> = [listed("added", &added), listed("removed", &removed)].into_iter().flatten().collect();
    told.extend(whole.into_iter().map(|change| format!("changed: the plan's {change}")));
    let more = changed.len().saturating_sub(NAMED_MAX);
    for (phase, changes) in changed.into_iter().take(NAMED_MAX) {
        told.extend(changes.into_iter().map(|change| format!("changed: {phase}: {change}")));
    }
    told.extend((more > 0).then(|| format!("changed: {more} more")));
    told
}

/// Adds to what was found about the plan how it was edited.
pub fn tell_plan_edits(findings: &mut [Finding], old: &Plan, new: Option<&Plan>) {
    let Some(new) = new else { return };
    let about = [FindingKind::PlanChanged, FindingKind::PlanTouched];
    for finding in findings.iter_mut().filter(|finding| about.contains(&finding.kind)) {
        finding.details = plan_edits(old, new);
    }
}

/// Phases in the order of their ids. Children of a matrix that is there before and after say nothing more than the matrix does.
fn phases(plan: &Plan) -> BTreeMap<&PhaseId, &Phase> {
    let of_a_matrix = |phase: &&Phase| !phase.situation.matrix.is_empty();
    plan.phases.iter().filter(|phase| !of_a_matrix(phase)).map(|phase| (&phase.id, phase)).collect()
}

fn listed(what: &str, names: &[String]) -> Option<String> {
    let more = names.len().saturating_sub(NAMED_MAX);
    let shown = names.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("{what}: {shown}{more}"))
}

/// The keys as the author writes them, with their values.
fn keys(thing: &impl serde::Serialize, without: &[&str]) -> Map<String, Value> {
    let Ok(Value::Object(mut keys)) = serde_json::to_value(thing) else { return Map::new() };
    // The body is told by its own key: `run`, `agent` and so on.
    if let Some(Value::Object(body)) = keys.remove("body") {
        keys.extend(body.into_iter().map(|(kind, body)| (kind, script(body))));
    }
    if let Some(Value::Array(needs)) = keys.get_mut("needs") {
        for need in
            needs.iter_mut().filter(|need| need["must_be_completed"] == false && need.get("staleness").is_none())
        {
            *need = need["phase"].take();
        }
    }
    keys.retain(|key, _| !without.contains(&key.as_str()));
    keys
}

/// A script stands for itself where nothing but it was written.
fn script(body: Value) -> Value {
    match body.get("script") {
        Some(Value::String(script)) => Value::String(script.clone()),
        _ => body,
    }
}

fn changes(old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let differs = all.into_iter().filter(|key| value(old, key) != value(new, key));
    differs.map(|key| change(key, value(old, key), value(new, key))).collect()
}

fn value<'a>(keys: &'a Map<String, Value>, key: &str) -> &'a Value {
    keys.get(key).unwrap_or(&Value::Null)
}

fn change(key: &str, old: &Value, new: &Value) -> String {
    let key = key.replace('_', "-");
    if let (Value::String(old), Value::String(new)) = (old, new) {
        let (mut before, mut after) = (old.trim_end().lines(), new.trim_end().lines());
        let several = old.trim_end().contains('\n') || new.trim_end().contains('\n');
        let first = (1..).map(|number| (number, before.next(), after.next()));
        let first = first.take_while(|(_, old, new)| old.is_some() || new.is_some()).find(|(_, old, new)| old != new);
        if let Some((number, old, new)) = first.filter(|_| several) {
            let (old, new) = (old.map_or("nothing", cut), new.map_or("nothing", cut));
            return format!("{key}, line {number}: {old} → {new}");
        }
        return format!("{key}: {} → {}", cut(old), cut(new));
    }
    format!("{key}: {} → {}", written(old), written(new))
}

fn written(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => cut(text).to_owned(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if items.is_empty() { "nothing".to_owned() } else { cut(&items.join(", ")).to_owned() }
        }
        other => cut(&other.to_string()).to_owned(),
    }
}

fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(VALUE_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(phases: &str) -> Plan {
        let text = format!("onward: 1\nname: demo\nphases:\n{phases}");
        let parsed = crate::plan::parse(&text);
        parsed.plan.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics))
    }

    #[test]
    fn edits_are_told_with_what_stood_there_before() {
        let old = plan("  a: { run: echo one }\n  b: { needs: a, run: 'true' }\n  c: { needs: [a, b], run: 'true' }\n");
        let new = plan(
            "  a: { run: echo two }\n  d: { needs: a, run: 'true' }\n  c: { needs: [a, d], run: 'true', timeout: 5m }\n",
        );
        let told = plan_edits(&old, &new);
        assert_eq!(told[..3], ["added: d", "removed: b", "changed: a: run: echo one → echo two"]);
        assert_eq!(told[3], "changed: c: needs: a, b → a, d");
        assert!(told[4].starts_with("changed: c: timeout: nothing → "), "{told:?}");
        assert_eq!(plan_edits(&old, &old), Vec::<String>::new());
    }

    #[test]
    fn of_a_long_script_the_line_that_changed_is_told() {
        let old = plan("  a:\n    run: |\n      cd x\n      make\n");
        let new = plan("  a:\n    run: |\n      cd x\n      make all\n");
        assert_eq!(plan_edits(&old, &new), ["changed: a: run, line 2: make → make all"]);
    }

    #[test]
    fn many_edits_are_counted() {
        let many =
            |word: &str| (0..20).map(|n| format!("  p{n}: {{ run: echo {word} }}\n")).collect::<Vec<_>>().concat();
        let told = plan_edits(&plan(&many("one")), &plan(&many("two")));
        assert_eq!((told.len(), told.last().map(String::as_str)), (NAMED_MAX + 1, Some("changed: 12 more")));
        let added =
            plan_edits(&plan("  a: { run: 'true' }\n"), &plan(&format!("  a: {{ run: 'true' }}\n{}", many("x"))));
        assert!(added[0].ends_with(" and 12 more"), "{added:?}");
    }
}
