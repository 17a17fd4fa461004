//! Names that would be the same once secrets are cut out of them. One would take the place of the other, so they are refused.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use onward_core::input::{Posted, Says};
use onward_core::patch::Op;
use serde_json::{Map, Value};

use super::{known, secrets};

/// Refuses a document in which two keys become one.
pub(crate) fn demand_apart(document: &Map<String, Value>) -> Result<(), String> {
    object(document, None)
}

/// The same for one that is merged into a state: a key that is cut must not be in the state already, for nobody can tell
/// whether it is the same one.
pub(crate) fn demand_apart_from(state: &Value, patch: &Map<String, Value>) -> Result<(), String> {
    object(patch, state.as_object())
}

/// The same for what is set by changes of a state.
pub(crate) fn demand_apart_in(ops: &[Op]) -> Result<(), String> {
    ops.iter().try_for_each(|op| match op {
        Op::Set { value: set, .. } => value(set, None),
        Op::Splice { insert, .. } => insert.iter().try_for_each(|one| value(one, None)),
        Op::Remove { .. } | Op::Extend { .. } => Ok(()),
    })
}

/// The same for names of outputs.
pub(crate) fn demand_outputs_apart(outputs: &BTreeMap<String, String>) -> Result<(), String> {
    names(outputs.keys(), |name| outputs.contains_key(name))
}

/// The part of a message that has names: of keys in a state, or of outputs.
enum NamesIn<'a> {
    Merged(&'a Map<String, Value>),
    Saved(&'a Map<String, Value>),
    Changed(&'a [Op]),
    Outputs(&'a BTreeMap<String, String>),
    Nothing,
}

fn names_in(posted: &Posted) -> NamesIn<'_> {
    match posted {
        Posted::Merge { patch } => NamesIn::Merged(patch),
        Posted::Save { state } => NamesIn::Saved(state),
        Posted::Change { ops, .. } => NamesIn::Changed(ops),
        Posted::Report { says: Says::Done(done), .. } => NamesIn::Outputs(&done.outputs),
        Posted::Report { says: Says::Start | Says::Progress { .. } | Says::Fail { .. }, .. }
        | Posted::Checkpoint { .. }
        | Posted::SessionEnd
        | Posted::Replan { .. }
        | Posted::Answer { .. }
        | Posted::GiveCallAnswer { .. }
        | Posted::Share { .. }
        | Posted::Archive
        | Posted::Pause
        | Posted::Cancel
        | Posted::Choose { .. }
        | Posted::SettleReplan { .. } => NamesIn::Nothing,
    }
}

/// The same for a message, which may come from somebody who does not know what is secret here.
pub(crate) fn demand_posted_apart(state: &Value, posted: &Posted) -> Result<(), String> {
    match names_in(posted) {
        NamesIn::Merged(patch) => demand_apart_from(state, patch),
        NamesIn::Saved(saved) => demand_apart(saved),
        NamesIn::Changed(ops) => demand_apart_in(ops),
        NamesIn::Outputs(outputs) => demand_outputs_apart(outputs),
        NamesIn::Nothing => Ok(()),
    }
}

/// Whether a secret is cut out of a name in a message. Where none is, no two names become one.
pub(crate) fn cuts_a_name(posted: &Posted) -> bool {
    match names_in(posted) {
        NamesIn::Merged(entries) | NamesIn::Saved(entries) => cuts_a_key(entries),
        NamesIn::Changed(ops) => ops.iter().any(|op| match op {
            Op::Set { value, .. } => cuts_a_key_in(value),
            Op::Splice { insert, .. } => insert.iter().any(cuts_a_key_in),
            Op::Remove { .. } | Op::Extend { .. } => false,
        }),
        NamesIn::Outputs(outputs) => outputs.keys().any(|name| is_cut(name)),
        NamesIn::Nothing => false,
    }
}

/// The same for the keys of a document.
pub(crate) fn cuts_a_key(document: &Map<String, Value>) -> bool {
    document.iter().any(|(key, inner)| is_cut(key) || cuts_a_key_in(inner))
}

fn cuts_a_key_in(document: &Value) -> bool {
    match document {
        Value::Object(entries) => cuts_a_key(entries),
        Value::Array(list) => list.iter().any(cuts_a_key_in),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn is_cut(name: &str) -> bool {
    matches!(secrets().text(name), Cow::Owned(_))
}

fn value(document: &Value, state: Option<&Value>) -> Result<(), String> {
    match document {
        Value::Object(entries) => object(entries, state.and_then(Value::as_object)),
        Value::Array(list) => list.iter().try_for_each(|one| value(one, None)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn object(entries: &Map<String, Value>, state: Option<&Map<String, Value>>) -> Result<(), String> {
    let is_taken = |name: &str| entries.contains_key(name) || state.is_some_and(|state| state.contains_key(name));
    names(entries.keys(), is_taken)?;
    entries.iter().try_for_each(|(key, inner)| value(inner, state.and_then(|state| state.get(key))))
}

fn names<'a>(all: impl Iterator<Item = &'a String>, is_taken: impl Fn(&str) -> bool) -> Result<(), String> {
    let secrets = secrets();
    let mut cut = BTreeSet::new();
    for name in all {
        if let Cow::Owned(without) = secrets.text(name)
            && (is_taken(&without) || !cut.insert(without))
        {
            return Err(same(name));
        }
    }
    Ok(())
}

fn same(name: &str) -> String {
    let secret = known::secret_in(name).unwrap_or_else(|| "a secret".to_owned());
    format!(
        "a name in it holds {secret}, and once that is cut out it is the same as another one; choose another name \
         (redact.except of the configuration takes a variable out)"
    )
}
