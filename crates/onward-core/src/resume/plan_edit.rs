//! The differences between the plan of a run and the one that its file holds now, as people read them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::id::PhaseId;
use crate::mutant::{self, Mutant};
use crate::plan::{Phase, Plan, Retry, definition_digest, shown_names};
use crate::replan::approvals_loosened;
use crate::resume::{Finding, FindingKind};
use crate::run::{PhaseState, Run};

/// Entries of one kind that are named; the rest is counted.
const NAMED_MAX: usize = 8;
/// Characters of a value that are shown.
const VALUE_CHARS_MAX: usize = 100;
/// Longer lines are shown where they differ.
const COMPARED_CHARS_MAX: usize = 40;
/// So much is shown in front of a difference and behind it.
const AROUND_CHARS: usize = 12;
/// The sign of what is left out.
const LEFT_OUT: &str = "…";

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

/// The same with every line and every value, also of phases that are new: for whoever has to agree to it.
pub fn plan_edits_in_full(old: &Plan, new: &Plan) -> Vec<String> {
    let (before, after) = (phases(old), phases(new));
    let names: BTreeMap<PhaseId, String> = shown_names(old).into_iter().chain(shown_names(new)).collect();
    let name = |id: &PhaseId| names.get(id).cloned().unwrap_or_else(|| id.to_string());
    let mut told = Vec::new();
    for (id, phase) in after.iter().filter(|(id, _)| !before.contains_key(*id)) {
        told.push(format!("added: {}", name(id)));
        let keys = keys(phase, &WORKED_OUT);
        let said = keys.iter().filter(|(_, value)| !is_unsaid(value) && **value != json!(Retry::unsaid(&phase.body)));
        told.extend(
            said.map(|(key, value)| format!("added: {}: {}: {}", name(id), key.replace('_', "-"), whole(value))),
        );
    }
    let gone = before.keys().filter(|id| !after.contains_key(*id));
    told.extend(gone.map(|id| format!("removed: {}", name(id))));
    let mut differing = |what: &str, old: &Map<String, Value>, new: &Map<String, Value>| {
        let all: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for key in all.into_iter().filter(|key| value(old, key) != value(new, key)) {
            let (old, new) = (whole(value(old, key)), whole(value(new, key)));
            told.push(format!("changed: {what}{}: {old} → {new}", key.replace('_', "-")));
        }
    };
    differing("the plan's ", &keys(old, &NOT_OF_THE_PLAN), &keys(new, &NOT_OF_THE_PLAN));
    for (id, old) in &before {
        if let Some(new) = after.get(id) {
            differing(&format!("{}: ", name(id)), &keys(old, &WORKED_OUT), &keys(new, &WORKED_OUT));
        }
    }
    told
}

/// A value that stands there where the author wrote none.
fn is_unsaid(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(keys) => keys.is_empty(),
        Value::String(word) => ["none", "files", "normal"].contains(&word.as_str()),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A value with all that is in it, on one line.
fn whole(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) if !text.trim_end().contains('\n') => text.trim_end().to_owned(),
        other => other.to_string(),
    }
}

/// The approvals that an edited plan takes away, of those that a run still waits for.
pub fn approvals_taken(run: &Run, new: Option<&Plan>) -> Option<Finding> {
    let is_over = |id: &PhaseId| run.phase_state(id).is_some_and(PhaseState::is_finished);
    let taken = approvals_loosened(run.plan(), new?, &is_over);
    let message = format!("the edited plan {}", taken.join("; it "));
    (!taken.is_empty()).then(|| Finding::new(FindingKind::ApprovalTaken, message))
}

/// How the edited plan leaves a phase at work behind: it does not have it any more, or has other work under its id.
pub fn left_behind(run: &Run, phase: &PhaseId, new: &Plan) -> Option<&'static str> {
    let then = run.plan().phase(phase).filter(|_| !mutant::is(Mutant::OverlookAnEditAtWork))?;
    match new.phase(phase) {
        None => Some("is not in the edited plan any more"),
        Some(now) => {
            let other = definition_digest(run.plan(), then) != definition_digest(new, now);
            (other || then.effects != now.effects).then_some("is other work in the edited plan")
        }
    }
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
    if let Some(env) = keys.get_mut("env") {
        *env = by_name(env.take());
    }
    keys.retain(|key, _| !without.contains(&key.as_str()));
    keys
}

/// Variables as the author writes them, by their names.
fn by_name(env: Value) -> Value {
    let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.clone()));
    let pairs: Option<Map<String, Value>> = env.as_array().and_then(|pairs| pairs.iter().map(pair).collect());
    match pairs {
        Some(pairs) if pairs.is_empty() => Value::Null,
        Some(pairs) => Value::Object(pairs),
        None => env,
    }
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
    let told = |key: &String| match (value(old, key), value(new, key)) {
        // Of a mapping only what differs in it.
        (Value::Object(old), Value::Object(new)) => {
            let mut inner = changes(old, new);
            let more = inner.len().saturating_sub(NAMED_MAX);
            inner.truncate(NAMED_MAX);
            inner.extend((more > 0).then(|| format!("{more} more")));
            inner.into_iter().map(|change| format!("{}: {change}", key.replace('_', "-"))).collect()
        }
        (old, new) => vec![change(key, old, new)],
    };
    differs.flat_map(told).collect()
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
            let (old, new) = match (old, new) {
                (Some(old), Some(new)) => differing(old, new),
                (old, new) => (old.map_or("nothing".to_owned(), cut), new.map_or("nothing".to_owned(), cut)),
            };
            return format!("{key}, line {number}: {old} → {new}");
        }
        let (old, new) = differing(old, new);
        return format!("{key}: {old} → {new}");
    }
    format!("{key}: {} → {}", written(old), written(new))
}

fn written(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => cut(text),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if items.is_empty() { "nothing".to_owned() } else { cut(&items.join(", ")) }
        }
        Value::Object(keys) => {
            let entries = keys.iter().map(|(key, value)| format!("{}: {}", key, written(value)));
            cut(&format!("{{ {} }}", entries.collect::<Vec<_>>().join(", ")))
        }
        other => cut(&other.to_string()),
    }
}

/// The beginning of a text, with a sign where something is left out.
fn cut(text: &str) -> String {
    let end = text.char_indices().nth(VALUE_CHARS_MAX).map_or(text.len(), |(at, _)| at);
    if end < text.len() { format!("{}{LEFT_OUT}", &text[..end]) } else { text.to_owned() }
}

/// Two lines from a little before the place where they begin to differ to a little behind the one where they end to, where they are
/// too long to be compared at a glance.
fn differing(old: &str, new: &str) -> (String, String) {
    if old.chars().count().max(new.chars().count()) <= COMPARED_CHARS_MAX {
        return (old.to_owned(), new.to_owned());
    }
    let (before, after): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    let same = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    let rest = before.len().min(after.len()) - same;
    let same_behind =
        before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let from = same.saturating_sub(AROUND_CHARS);
    let shown = |text: &[char]| {
        let to = (text.len() - same_behind + AROUND_CHARS).min(text.len());
        let (head, tail) = (if from > 0 { LEFT_OUT } else { "" }, if to < text.len() { LEFT_OUT } else { "" });
        let middle: String = text[from..to].iter().collect();
        format!("{head}{}{tail}", cut(&middle))
    };
    (shown(&before), shown(&after))
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

    /// The message of an approval was edited: its other keys stay what they were, and are not told.
    #[test]
    fn of_a_mapping_only_what_differs_is_told() {
        let old = plan("  a: { approval: { message: Ship it?, show: [notes.md] } }\n");
        let new = plan("  a: { approval: { message: Ship it now?, show: [notes.md] } }\n");
        assert_eq!(plan_edits(&old, &new), ["changed: a: approval: message: Ship it? → Ship it now?"]);
        let [none, one, two] = ["", ", env: { DAY: mon }", ", env: { DAY: tue }"]
            .map(|env| plan(&format!("  a: {{ run: 'true'{env} }}\n")));
        assert_eq!(plan_edits(&none, &one), ["changed: a: env: nothing → { DAY: mon }"]);
        assert_eq!(plan_edits(&one, &two), ["changed: a: env: DAY: mon → tue"]);
    }

    /// An edit that is told in full shows what a new phase does, and each line of a script: somebody agrees to it.
    #[test]
    fn edits_in_full_leave_nothing_out() {
        let old = plan("  a:\n    run: |\n      cd x\n      make\n  b: { run: 'true' }\n");
        let long = "x".repeat(VALUE_CHARS_MAX * 3);
        let new = plan(&format!(
            "  a:\n    run: |\n      cd y\n      make all\n  d: {{ needs: a, run: echo {long}, retry: 7 }}\n"
        ));
        let told = plan_edits_in_full(&old, &new);
        assert_eq!(told[..2], ["added: d".to_owned(), "added: d: needs: [\"a\"]".to_owned()]);
        assert!(told[2].starts_with("added: d: retry: {") && told[2].contains("\"max\":7"), "{told:?}");
        assert_eq!(told[3], format!("added: d: run: echo {long}"));
        assert_eq!(told[4..], ["removed: b", "changed: a: run: \"cd x\\nmake\\n\" → \"cd y\\nmake all\\n\""]);
        assert_eq!(plan_edits_in_full(&old, &old), Vec::<String>::new());
    }

    #[test]
    fn of_a_long_script_the_line_that_changed_is_told() {
        let old = plan("  a:\n    run: |\n      cd x\n      make\n");
        let new = plan("  a:\n    run: |\n      cd x\n      make all\n");
        assert_eq!(plan_edits(&old, &new), ["changed: a: run, line 2: make → make all"]);
    }

    #[test]
    fn of_a_long_line_the_part_that_changed_is_told() {
        let old = plan("  a: { run: 'for i in 1 2 3 4 5; do echo \"test $i ok\"; sleep 1; done' }\n");
        let new = plan("  a: { run: 'for i in 1 2 3; do echo \"test $i ok\"; sleep 1; done' }\n");
        assert_eq!(
            plan_edits(&old, &new),
            ["changed: a: run: …r i in 1 2 3 4 5; do echo \"t… → …r i in 1 2 3; do echo \"t…"]
        );
        let long = |middle: &str| format!("  a: {{ run: 'make {middle}' }}\n");
        let told = plan_edits(&plan(&long(&"x ".repeat(200))), &plan(&long(&"y ".repeat(200))));
        assert!(told[0].chars().count() < 260 && told[0].contains("… → make y y"), "{told:?}");
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
