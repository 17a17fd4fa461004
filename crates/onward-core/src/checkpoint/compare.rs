//! The differences between two checkpoints, in words that people and programs read alike.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::model::Checkpoint;
use crate::id::PhaseId;
use crate::run::PhaseStatus;
use crate::view::PhaseRecord;

/// More nested than this is compared as a whole.
const DEPTH_MAX: usize = 64;

/// `diff --json`, but for the files, which only git knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Differences {
    pub state: Vec<ValueChange>,
    pub phases: Vec<PhaseChange>,
    pub messages: Vec<ValueChange>,
    pub plan: Vec<ValueChange>,
}

/// One place in a document, as a JSON pointer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ValueChange {
    pub op: ValueOp,
    pub path: String,
    pub old: Option<Value>,
    pub new: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueOp {
    Add,
    Remove,
    Replace,
}

/// A phase that does not stand as it stood.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PhaseChange {
    pub id: PhaseId,
    pub old: Option<PhaseStatus>,
    pub new: Option<PhaseStatus>,
    /// Other changed fields of the phase.
    pub fields: Vec<ValueChange>,
}

/// From one checkpoint to the other.
pub fn compare(from: &Checkpoint, to: &Checkpoint) -> Differences {
    Differences {
        state: values(&Value::Object(from.state.clone()), &Value::Object(to.state.clone())),
        phases: phases(from, to),
        messages: values(&plain(&from.messages), &plain(&to.messages)),
        plan: plan(from, to),
    }
}

fn plain<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("a document has only string keys")
}

/// The plan as a whole, and every phase that was added to it, taken out of it, or given other work to do.
fn plan(from: &Checkpoint, to: &Checkpoint) -> Vec<ValueChange> {
    let mut changes = values(&plain(&from.context.plan), &plain(&to.context.plan));
    let ids = |side: &Checkpoint| side.phases.iter().map(|record| record.id.clone()).collect::<BTreeSet<_>>();
    let (old, new) = (ids(from), ids(to));
    let beyond = |here: &Checkpoint, there: &Checkpoint| {
        let known = there.replans.history.len();
        here.replans.history.iter().skip(known).flat_map(|record| record.changed.clone()).collect::<BTreeSet<_>>()
    };
    let other_work: BTreeSet<PhaseId> = beyond(to, from).union(&beyond(from, to)).cloned().collect();
    for id in old.union(&new) {
        let op = match (old.contains(id), new.contains(id)) {
            (false, _) => ValueOp::Add,
            (true, false) => ValueOp::Remove,
            (true, true) if other_work.contains(id) => ValueOp::Replace,
            (true, true) => continue,
        };
        let path = format!("/phases/{}", id.as_str().replace('~', "~0").replace('/', "~1"));
        let side = |there: bool| there.then(|| Value::String(id.to_string()));
        changes.push(ValueChange { op, path, old: side(old.contains(id)), new: side(new.contains(id)) });
    }
    changes
}

fn phases(from: &Checkpoint, to: &Checkpoint) -> Vec<PhaseChange> {
    let known = |side: &Checkpoint, id: &PhaseId| side.phases.iter().any(|record| record.id == *id);
    let gone = from.phases.iter().filter(|record| !known(to, &record.id));
    to.phases.iter().chain(gone).filter_map(|record| phase(from, to, &record.id)).collect()
}

fn phase(from: &Checkpoint, to: &Checkpoint, id: &PhaseId) -> Option<PhaseChange> {
    let find = |side: &Checkpoint| side.phases.iter().find(|record| record.id == *id).cloned();
    let (old, new) = (find(from), find(to));
    if old == new {
        return None;
    }
    let fields = |record: &Option<PhaseRecord>| record.as_ref().map_or(Value::Object(Map::new()), plain);
    let fields = values(&fields(&old), &fields(&new));
    let fields = fields.into_iter().filter(|change| !matches!(change.path.as_str(), "/status" | "/id")).collect();
    Some(PhaseChange { id: id.clone(), old: old.map(|r| r.status), new: new.map(|r| r.status), fields })
}

/// The changes that turn the old value into the new one.
pub fn values(old: &Value, new: &Value) -> Vec<ValueChange> {
    let mut changes = Vec::new();
    differ(old, new, &mut String::new(), 0, &mut changes);
    changes
}

fn differ(old: &Value, new: &Value, path: &mut String, depth: usize, changes: &mut Vec<ValueChange>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(before), Value::Object(after)) if depth < DEPTH_MAX => {
            let added = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                inner(before.get(key), after.get(key), key, path, depth, changes);
            }
        }
        (Value::Array(before), Value::Array(after)) if depth < DEPTH_MAX => {
            for at in 0..before.len().max(after.len()) {
                inner(before.get(at), after.get(at), &at.to_string(), path, depth, changes);
            }
        }
        _ => changes.push(change(ValueOp::Replace, path, Some(old), Some(new))),
    }
}

fn inner(
    old: Option<&Value>,
    new: Option<&Value>,
    key: &str,
    path: &mut String,
    depth: usize,
    changes: &mut Vec<ValueChange>,
) {
    let whole = path.len();
    path.push('/');
    path.push_str(&key.replace('~', "~0").replace('/', "~1"));
    match (old, new) {
        (Some(old), Some(new)) => differ(old, new, path, depth + 1, changes),
        (None, Some(new)) => changes.push(change(ValueOp::Add, path, None, Some(new))),
        (Some(old), None) => changes.push(change(ValueOp::Remove, path, Some(old), None)),
        (None, None) => {}
    }
    path.truncate(whole);
}

fn change(op: ValueOp, path: &str, old: Option<&Value>, new: Option<&Value>) -> ValueChange {
    ValueChange { op, path: path.to_owned(), old: old.cloned(), new: new.cloned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Two states differ in a list, in a key with a slash and in a key that is new. Each place is named by its pointer.
    #[test]
    fn every_place_is_named() {
        let old = json!({"list": [1, 2], "a/b": 1, "same": {"x": 1}});
        let new = json!({"list": [1, 3, 4], "a/b": null, "same": {"x": 1}, "new": true});
        let told: Vec<(ValueOp, String)> = values(&old, &new).into_iter().map(|c| (c.op, c.path)).collect();
        let expected = [
            (ValueOp::Replace, "/list/1"),
            (ValueOp::Add, "/list/2"),
            (ValueOp::Replace, "/a~1b"),
            (ValueOp::Add, "/new"),
        ];
        assert_eq!(told, expected.map(|(op, path)| (op, path.to_owned())));
        assert!(values(&new, &new).is_empty());
    }
}
