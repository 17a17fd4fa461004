//! Changes of a JSON document by path: what differs between two of them, and how to get from one to the other.
//!
//! A patch costs what changed. It is what checkpoints are stored as, and what `state` changes are recorded as.

mod read;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Map, Number, Value};

use crate::data_size::{Growth, Size, item_size, json_bytes, member_size, more_text, size};

/// One change. Paths are JSON pointers (RFC 6901); the empty path is the whole document.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// The place gets this value, whether or not it had one.
    Set { path: String, value: Value },
    /// The member is gone.
    Remove { path: String },
    /// In the list at this path, from `at` on, so many items are replaced by these.
    Splice { path: String, at: usize, remove: usize, insert: Vec<Value> },
    /// The text at this path goes on with this.
    Extend { path: String, text: String },
}

/// A patch that does not fit the document it is applied to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the patch does not fit: nothing suitable is at {path:?}")]
pub struct Misfit {
    pub path: String,
}

/// Values nested deeper than this are compared as a whole: no recursion without a limit.
const DEPTH_MAX: usize = 96;

/// The operations that turn `old` into `new`.
pub fn diff(old: &Value, new: &Value) -> Vec<Op> {
    let mut ops = Vec::new();
    differ(old, new, &mut String::new(), 0, &mut ops);
    ops
}

/// Containers are not compared before they are gone into: every leaf is looked at once, however deep it lies.
fn differ(old: &Value, new: &Value, path: &mut String, depth: usize, ops: &mut Vec<Op>) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) if depth < DEPTH_MAX => differ_maps(old, new, path, depth, ops),
        (Value::Array(old), Value::Array(new)) if depth < DEPTH_MAX => differ_lists(old, new, path, depth, ops),
        (Value::String(old), Value::String(new))
            if !old.is_empty() && new.len() > old.len() && new.starts_with(old.as_str()) =>
        {
            ops.push(Op::Extend { path: path.clone(), text: new[old.len()..].to_owned() });
        }
        _ if same(old, new, depth) => {}
        _ => ops.push(Op::Set { path: path.clone(), value: new.clone() }),
    }
}

fn differ_maps(old: &Map<String, Value>, new: &Map<String, Value>, path: &mut String, depth: usize, ops: &mut Vec<Op>) {
    let whole = path.len();
    // The usual case, and far cheaper than looking every key up: the same keys in the same order.
    if old.len() == new.len() && old.keys().eq(new.keys()) {
        for ((key, before), after) in old.iter().zip(new.values()) {
            push(path, key);
            differ(before, after, path, depth + 1, ops);
            path.truncate(whole);
        }
        return;
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        push(path, key);
        ops.push(Op::Remove { path: path.clone() });
        path.truncate(whole);
    }
    for (key, value) in new {
        push(path, key);
        match old.get(key) {
            Some(before) => differ(before, value, path, depth + 1, ops),
            None => ops.push(Op::Set { path: path.clone(), value: value.clone() }),
        }
        path.truncate(whole);
    }
}

/// Lists are compared from both ends; what lies between is compared item by item as far as both have one.
fn differ_lists(old: &[Value], new: &[Value], path: &mut String, depth: usize, ops: &mut Vec<Op>) {
    let shorter = old.len().min(new.len());
    let equal = |(a, b): &(&Value, &Value)| same(a, b, depth);
    let head = old.iter().zip(new).take_while(equal).count();
    let tail = old.iter().rev().zip(new.iter().rev()).take(shorter - head).take_while(equal).count();
    let (old_middle, new_middle) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let both = old_middle.len().min(new_middle.len());
    let whole = path.len();
    for (at, (before, after)) in old_middle.iter().zip(new_middle).enumerate() {
        push(path, &(head + at).to_string());
        differ(before, after, path, depth + 1, ops);
        path.truncate(whole);
    }
    let (gone, come) = (old_middle.len() - both, &new_middle[both..]);
    if gone > 0 || !come.is_empty() {
        ops.push(Op::Splice { path: path.clone(), at: head + both, remove: gone, insert: come.to_vec() });
    }
}

/// Whether two values are equal to the last bit: 0.0 and -0.0 are not. What is read from one writer has its keys in one order, and then none is looked up.
fn same(a: &Value, b: &Value, depth: usize) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if depth < DEPTH_MAX && a.keys().eq(b.keys()) => {
            a.values().zip(b.values()).all(|(a, b)| same(a, b, depth + 1))
        }
        (Value::Array(a), Value::Array(b)) if depth < DEPTH_MAX => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b, depth + 1))
        }
        (Value::Object(a), Value::Object(b)) if depth < DEPTH_MAX => {
            let equal = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| same(a, b, depth + 1));
            a.len() == b.len() && a.iter().all(equal)
        }
        (Value::Number(a), Value::Number(b)) => {
            let is_negative = |number: &Number| number.as_f64().is_some_and(f64::is_sign_negative);
            a == b && is_negative(a) == is_negative(b)
        }
        _ => a == b,
    }
}

/// A key as part of a path.
pub fn escaped(key: &str) -> String {
    let mut path = String::new();
    push(&mut path, key);
    path.split_off(1)
}

fn push(path: &mut String, key: &str) {
    path.push('/');
    if !key.contains(['~', '/']) {
        path.push_str(key);
        return;
    }
    for c in key.chars() {
        match c {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            other => path.push(other),
        }
    }
}

/// Applies a patch. A patch that does not fit leaves the document half changed: the caller drops it.
pub fn apply(document: &mut Value, ops: &[Op]) -> Result<(), Misfit> {
    ops.iter().try_for_each(|op| apply_one(document, op.clone()))
}

/// The same, and by how much the document grows.
pub fn apply_and_measure(document: &mut Value, ops: &[Op]) -> Result<Growth, Misfit> {
    let mut grown = Growth::default();
    for op in ops {
        grown += growth(document, op)?;
        apply_one(document, op.clone())?;
    }
    Ok(grown)
}

/// By how much a document grows through a change that fits. Costs what comes and what goes.
fn growth(document: &Value, op: &Op) -> Result<Growth, Misfit> {
    let sum = |values: &[Value]| values.iter().map(item_size).sum::<Size>();
    let found = find(document, op.path());
    let none = Size::default();
    let (come, gone) = match (op, found) {
        (Op::Set { value, .. }, Some(old)) => (size(value), size(old)),
        (Op::Set { path, value }, None) => (member_size(&split(path)?.1, value), none),
        (Op::Remove { path }, Some(old)) => (none, member_size(&split(path)?.1, old)),
        (Op::Splice { at, remove, insert, .. }, Some(Value::Array(list))) => {
            let range = *at..at.saturating_add(*remove);
            (sum(insert), sum(list.get(range).ok_or_else(|| misfit(op.path()))?))
        }
        (Op::Extend { text, .. }, Some(_)) => (more_text(text), none),
        (Op::Remove { .. } | Op::Splice { .. } | Op::Extend { .. }, _) => return Err(misfit(op.path())),
    };
    Ok(come - gone)
}

/// How long a patch is as JSON, about.
pub fn bytes_about(ops: &[Op]) -> u64 {
    const FRAME_BYTES: u64 = 32;
    let values = |op: &Op| match op {
        Op::Set { value, .. } => json_bytes(value),
        Op::Remove { .. } => 0,
        Op::Splice { insert, .. } => insert.iter().map(|value| item_size(value).bytes).sum(),
        Op::Extend { text, .. } => more_text(text).bytes,
    };
    ops.iter().map(|op| FRAME_BYTES + op.path().len() as u64 + values(op)).sum()
}

/// By how much a document grows through a patch that fits it.
pub fn growth_of(document: &Value, ops: &[Op]) -> Result<Growth, Misfit> {
    if builds_on_itself(ops) {
        return apply_and_measure(&mut document.clone(), ops);
    }
    let mut grown = Growth::default();
    for op in ops {
        grown += growth(document, op)?;
    }
    Ok(grown)
}

/// Whether a change is about a place that another one of them changes: then each needs those before it.
fn builds_on_itself(ops: &[Op]) -> bool {
    if ops.len() < 2 {
        return false;
    }
    // With the slash before all else a path stands right before those that lead further.
    let order = |path: &str| path.bytes().map(|byte| if byte == b'/' { 0 } else { u16::from(byte) + 1 }).collect();
    let mut paths: Vec<&str> = ops.iter().map(Op::path).collect();
    paths.sort_by_cached_key(|path| -> Vec<u16> { order(path) });
    let leads_on =
        |pair: &[&str]| pair[1].strip_prefix(pair[0]).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    paths.windows(2).any(leads_on)
}

/// The same with a patch that nobody else needs: its values move into the document.
pub fn apply_all(document: &mut Value, ops: Vec<Op>) -> Result<(), Misfit> {
    ops.into_iter().try_for_each(|op| apply_one(document, op))
}

fn apply_one(document: &mut Value, op: Op) -> Result<(), Misfit> {
    match op {
        Op::Set { path, value } => set(document, path, value),
        Op::Remove { path } => remove(document, path),
        Op::Splice { path, at, remove, insert } => match find_mut(document, &path) {
            Some(Value::Array(list)) if at.checked_add(remove).is_some_and(|end| end <= list.len()) => {
                list.splice(at..at + remove, insert);
                Ok(())
            }
            Some(_) | None => Err(Misfit { path }),
        },
        Op::Extend { path, text } => match find_mut(document, &path) {
            Some(Value::String(old)) => {
                old.push_str(&text);
                Ok(())
            }
            Some(_) | None => Err(Misfit { path }),
        },
    }
}

fn set(document: &mut Value, path: String, value: Value) -> Result<(), Misfit> {
    if path.is_empty() {
        *document = value;
        return Ok(());
    }
    let (parent, key) = split(&path)?;
    match find_mut(document, parent) {
        Some(Value::Object(map)) => {
            match map.get_mut(key.as_ref()) {
                Some(place) => *place = value,
                None => drop(map.insert(key.into_owned(), value)),
            }
            Ok(())
        }
        Some(Value::Array(list)) => {
            let place = index(&key).and_then(|at| list.get_mut(at)).ok_or_else(|| misfit(&path))?;
            *place = value;
            Ok(())
        }
        Some(_) | None => Err(Misfit { path }),
    }
}

fn remove(document: &mut Value, path: String) -> Result<(), Misfit> {
    let (parent, key) = split(&path)?;
    match find_mut(document, parent) {
        Some(Value::Object(map)) => map.shift_remove(key.as_ref()).map(|_| ()).ok_or_else(|| misfit(&path)),
        Some(_) | None => Err(Misfit { path }),
    }
}

/// `Value::pointer`, without copying every key on the way.
fn find<'a>(document: &'a Value, path: &str) -> Option<&'a Value> {
    keys(path)?.try_fold(document, |place, key| match place {
        Value::Object(map) => map.get(key.as_ref()),
        Value::Array(list) => list.get(index(&key)?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

fn find_mut<'a>(document: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    keys(path)?.try_fold(document, |place, key| match place {
        Value::Object(map) => map.get_mut(key.as_ref()),
        Value::Array(list) => list.get_mut(index(&key)?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// The keys of a pointer; none if it is no pointer.
fn keys(path: &str) -> Option<impl Iterator<Item = Cow<'_, str>>> {
    let begins_well = path.is_empty() || path.starts_with('/');
    begins_well.then(|| path.split('/').skip(1).map(plain))
}

fn plain(key: &str) -> Cow<'_, str> {
    if key.contains('~') { Cow::Owned(key.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(key) }
}

/// A place in a list, as a pointer writes it: no sign and no leading zero.
fn index(key: &str) -> Option<usize> {
    let is_plain = !key.starts_with('+') && (key == "0" || !key.starts_with('0'));
    if is_plain { key.parse().ok() } else { None }
}

/// The path of the parent, and the key in it.
fn split(path: &str) -> Result<(&str, Cow<'_, str>), Misfit> {
    let (parent, key) = path.rsplit_once('/').ok_or_else(|| misfit(path))?;
    Ok((parent, plain(key)))
}

fn misfit(path: &str) -> Misfit {
    Misfit { path: path.to_owned() }
}

/// A change one level down: what is about a part, written as a change of the whole. It copies nothing.
pub struct Below<'a> {
    pub(crate) parent: &'a str,
    pub(crate) op: &'a Op,
}

impl Serialize for Below<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let path = |path: &'_ str| format!("{}{path}", self.parent);
        // In the order and with the words of `Op`, which reads it.
        let mut map = serializer.serialize_map(None)?;
        match self.op {
            Op::Set { path: at, value } => {
                map.serialize_entry("op", "set")?;
                map.serialize_entry("path", &path(at))?;
                map.serialize_entry("value", value)?;
            }
            Op::Remove { path: at } => {
                map.serialize_entry("op", "remove")?;
                map.serialize_entry("path", &path(at))?;
            }
            Op::Splice { path: list, at, remove, insert } => {
                map.serialize_entry("op", "splice")?;
                map.serialize_entry("path", &path(list))?;
                map.serialize_entry("at", at)?;
                map.serialize_entry("remove", remove)?;
                map.serialize_entry("insert", insert)?;
            }
            Op::Extend { path: at, text } => {
                map.serialize_entry("op", "extend")?;
                map.serialize_entry("path", &path(at))?;
                map.serialize_entry("text", text)?;
            }
        }
        map.end()
    }
}

/// RFC 7396: members that are null go, objects are merged, everything else replaces what was there.
pub fn merge(target: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut merged = match target {
        Value::Object(map) => map.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    for (key, value) in patch {
        if value.is_null() {
            merged.shift_remove(key);
        } else {
            let before = merged.get(key).unwrap_or(&Value::Null);
            let after = merge(before, value);
            merged.insert(key.clone(), after);
        }
    }
    Value::Object(merged)
}

/// The same as [`merge`], as a patch: it costs what the merge patch says, not what the target holds.
pub fn merge_ops(target: &Value, patch: &Map<String, Value>) -> Vec<Op> {
    let mut ops = Vec::new();
    merging(target, patch, &mut String::new(), 0, &mut ops);
    ops
}

fn merging(target: &Value, wanted: &Map<String, Value>, path: &mut String, depth: usize, ops: &mut Vec<Op>) {
    let whole = path.len();
    for (key, value) in wanted {
        let before = target.get(key);
        push(path, key);
        match (before, value) {
            (None, Value::Null) => {}
            (Some(_), Value::Null) => ops.push(Op::Remove { path: path.clone() }),
            (Some(before @ Value::Object(_)), Value::Object(inner)) if depth < DEPTH_MAX => {
                merging(before, inner, path, depth + 1, ops);
            }
            (Some(before), value) if same(before, value, depth) => {}
            (before, value) => {
                let value = merge(before.unwrap_or(&Value::Null), value);
                ops.push(Op::Set { path: path.clone(), value });
            }
        }
        path.truncate(whole);
    }
}

/// Whether a patch fits a document. Costs what the patch touches, unless its changes build on each other.
pub fn fits(document: &Value, ops: &[Op]) -> Result<(), Misfit> {
    if builds_on_itself(ops) {
        return apply(&mut document.clone(), ops);
    }
    ops.iter().try_for_each(|op| {
        let fit = match (op, find(document, op.path())) {
            (Op::Set { path, .. }, None) | (Op::Remove { path }, Some(_)) => {
                let (parent, _) = split(path)?;
                find(document, parent).is_some_and(Value::is_object)
            }
            (Op::Set { .. }, Some(_)) | (Op::Extend { .. }, Some(Value::String(_))) => true,
            (Op::Splice { at, remove, .. }, Some(Value::Array(list))) => {
                at.checked_add(*remove).is_some_and(|end| end <= list.len())
            }
            (Op::Remove { .. } | Op::Splice { .. } | Op::Extend { .. }, _) => false,
        };
        if fit { Ok(()) } else { Err(misfit(op.path())) }
    })
}

impl Op {
    pub fn path(&self) -> &str {
        match self {
            Self::Set { path, .. } | Self::Remove { path } | Self::Splice { path, .. } | Self::Extend { path, .. } => {
                path
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn round_trip(old: &Value, new: &Value) -> Vec<Op> {
        let ops = diff(old, new);
        let mut document = old.clone();
        apply(&mut document, &ops).expect("our own patch");
        assert_eq!(&document, new, "{ops:?}");
        ops
    }

    #[test]
    fn a_patch_costs_what_changed() {
        let ops = round_trip(&json!({"a": 1, "b": {"c": [1, 2, 3]}}), &json!({"a": 1, "b": {"c": [1, 2, 3, 4]}}));
        assert_eq!(ops, [Op::Splice { path: "/b/c".to_owned(), at: 3, remove: 0, insert: vec![json!(4)] }]);
        let ops = round_trip(&json!({"log": "one"}), &json!({"log": "one, two"}));
        assert_eq!(ops, [Op::Extend { path: "/log".to_owned(), text: ", two".to_owned() }]);
        assert_eq!(round_trip(&json!([1]), &json!([1])), []);
    }

    #[test]
    fn keys_with_slashes_and_tildes_are_told_apart() {
        round_trip(&json!({"a/b": 1, "a~b": {"x": 1}}), &json!({"a/b": 2, "a~b": {"y": 1}, "": {"": 0}}));
    }

    #[test]
    fn lists_grow_shrink_and_change_in_the_middle() {
        round_trip(&json!([1, 2, 3, 4, 5]), &json!([1, 9, 4, 5]));
        round_trip(&json!([{"a": 1}, {"b": 2}]), &json!([{"a": 2}, {"b": 2}, {"c": 3}]));
        round_trip(&json!([1, 1, 1]), &json!([1]));
        round_trip(&json!({"a": [1]}), &json!({"a": {"b": null}}));
    }

    #[test]
    fn a_patch_for_another_document_is_refused() {
        let ops = diff(&json!({"a": [1, 2, 3]}), &json!({"a": [1, 2]}));
        assert_eq!(apply(&mut json!({"a": [1]}), &ops), Err(Misfit { path: "/a".to_owned() }));
        assert_eq!(fits(&json!({"a": [1]}), &ops), Err(Misfit { path: "/a".to_owned() }));
        assert_eq!(fits(&json!({"a": [1, 2, 3]}), &ops), Ok(()));
        let built = [
            Op::Set { path: "/b".to_owned(), value: json!([]) },
            Op::Splice { path: "/b".to_owned(), at: 0, remove: 0, insert: vec![json!(1)] },
        ];
        assert_eq!(fits(&json!({}), &built), Ok(()), "the second builds on the first");
        assert!(apply(&mut json!({}), &[Op::Remove { path: "/x".to_owned() }]).is_err());
    }

    /// All kinds of pointers were looked up. What was found is what the library's own, slower way finds.
    #[test]
    fn a_place_is_found_as_pointers_are_defined() {
        let mut document = json!({"": {"": 0}, "a/b": [1, {"~": 2}], "a~1b": 3, "01": 4, "list": [[5]], "null": null});
        let paths = [
            "",
            "/",
            "//",
            "/a~1b",
            "/a~1b/0",
            "/a~1b/00",
            "/a~1b/+1",
            "/a~1b/1/~0",
            "/a~01b",
            "/01",
            "/list/0/0",
            "/list/1",
            "/list/-",
            "/list/-1",
            "/null/x",
            "list",
            "/null",
            "a~1b",
            "/list/99999999999999999999",
        ];
        for path in paths {
            assert_eq!(find(&document, path), document.pointer(path), "{path:?}");
            let expected = document.pointer(path).cloned();
            assert_eq!(find_mut(&mut document, path).cloned(), expected, "{path:?}");
        }
    }

    /// A change of a part is written as one of the whole. It must read back as the same change further down.
    #[test]
    fn a_change_below_a_place_is_the_same_change_with_a_longer_path() {
        let text = || "/a~1b/0".to_owned();
        let ops = [
            Op::Set { path: text(), value: json!({"x": [1, "two"]}) },
            Op::Remove { path: text() },
            Op::Splice { path: text(), at: 3, remove: 1, insert: vec![json!(null), json!("\u{e4}")] },
            Op::Extend { path: text(), text: "more\n".to_owned() },
        ];
        for op in ops {
            let plain = serde_json::to_string(&Below { parent: "", op: &op }).expect("it is JSON");
            assert_eq!(plain, serde_json::to_string(&op).expect("it is JSON"));
            let below = serde_json::to_string(&Below { parent: "/state", op: &op }).expect("it is JSON");
            assert_eq!(below, plain.replace(r#""path":"/a"#, r#""path":"/state/a"#));
        }
    }

    #[test]
    fn merging_follows_the_examples_of_the_rfc() {
        let cases = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ];
        for (target, patch, expected) in cases {
            assert_eq!(merge(&target, &patch), expected);
            if let (Value::Object(patch), true) = (&patch, target.is_object()) {
                let mut document = target.clone();
                apply(&mut document, &merge_ops(&target, patch)).expect("our own patch");
                assert_eq!(document, expected, "as a patch");
            }
        }
    }
}
