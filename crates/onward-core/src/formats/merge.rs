//! Changes since a document was read, put into that document: all else in it stays as it was.

use serde_json::{Map, Value};

/// More nested than this is replaced as a whole.
const DEPTH_MAX: usize = 64;

/// `document` with the changes that lead from `base` to `now`; both say in our own words what is understood of a document.
pub(super) fn merged(
    document: &Map<String, Value>,
    base: &Map<String, Value>,
    now: &Map<String, Value>,
) -> Map<String, Value> {
    objects(document, base, now, 0)
}

fn value(document: &Value, base: &Value, now: &Value, depth: usize) -> Value {
    match (document, base, now) {
        _ if base == now => document.clone(),
        (Value::Object(document), Value::Object(base), Value::Object(now)) if depth < DEPTH_MAX => {
            Value::Object(objects(document, base, now, depth))
        }
        (Value::Array(document), Value::Array(base), Value::Array(now)) if depth < DEPTH_MAX => {
            Value::Array(lists(document, base, now, depth))
        }
        _ => now.clone(),
    }
}

fn objects(
    document: &Map<String, Value>,
    base: &Map<String, Value>,
    now: &Map<String, Value>,
    depth: usize,
) -> Map<String, Value> {
    let mut merged = document.clone();
    for key in base.keys().filter(|key| !now.contains_key(*key)) {
        merged.shift_remove(key);
    }
    for (key, after) in now {
        match (document.get(key), base.get(key)) {
            // It is as it was, and the document says nothing of it.
            (None, Some(before)) if before == after => {}
            (Some(there), Some(before)) => {
                merged.insert(key.clone(), value(there, before, after, depth + 1));
            }
            (Some(_) | None, _) => {
                merged.insert(key.clone(), after.clone());
            }
        }
    }
    merged
}

/// Lists of things that have names are merged by these; what the document has and nobody understood stays at the end.
fn lists(document: &[Value], base: &[Value], now: &[Value], depth: usize) -> Vec<Value> {
    let named = |list: &[Value]| list.iter().all(|item| name(item).is_some());
    if !named(base) || !named(now) {
        return now.to_vec();
    }
    let find = |list: &[Value], wanted: &Value| list.iter().find(|item| name(item) == name(wanted)).cloned();
    let item = |after: &Value| match (find(document, after), find(base, after)) {
        (Some(there), Some(before)) => value(&there, &before, after, depth + 1),
        (Some(_) | None, _) => after.clone(),
    };
    let unknown = document.iter().filter(|item| find(base, item).is_none() && find(now, item).is_none());
    now.iter().map(item).chain(unknown.cloned()).collect()
}

fn name(item: &Value) -> Option<(&'static str, &Value)> {
    ["id", "checkpoint_id", "agent", "path"].into_iter().find_map(|key| Some((key, item.get(key)?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        let Value::Object(map) = value else { panic!("an object") };
        map
    }

    /// A document has fields that nobody understands, at the top and in the items of a list. What was changed is changed; they stay.
    #[test]
    fn what_is_not_understood_stays() {
        let document =
            map(json!({"n": 1, "x": {"y": null}, "all": [{"id": "a", "z": 1}, {"q": 2}], "odd": "2026-02-19 10:05"}));
        let base = map(json!({"n": 1, "all": [{"id": "a", "s": 1}], "odd": null}));
        let now = map(json!({"n": 2, "all": [{"id": "a", "s": 2}, {"id": "b"}], "odd": null}));
        let expected = json!({
            "n": 2,
            "x": {"y": null},
            "all": [{"id": "a", "z": 1, "s": 2}, {"id": "b"}, {"q": 2}],
            "odd": "2026-02-19 10:05",
        });
        assert_eq!(Value::Object(merged(&document, &base, &now)), expected);
        assert_eq!(merged(&document, &base, &base), document);
    }
}
