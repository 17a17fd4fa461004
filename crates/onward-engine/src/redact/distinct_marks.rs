//! Texts of one plan that are the same once their secrets are cut out. Each is kept with a mark of its own, or nobody could tell which
//! of them a phase is to run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use blake3::Hash;
use onward_core::plan::Plan;
use serde_json::Value;

use super::input_key::key_of;
use super::{MARK, Secrets};

/// Digits of the mark. Two texts that share one cannot be run, and say so.
pub(super) const DIGITS: usize = 12;
/// The sign between `[redacted]` and the digits.
pub(super) const SIGN: char = '#';

/// The texts that are kept with a mark, and the key by which it is made: without the key of the store nobody can try guesses.
pub(crate) struct DistinctMarks {
    /// Without their secrets.
    cut: BTreeSet<String>,
    key: Hash,
}

impl DistinctMarks {
    /// Those of a plan in its stored form. The key is asked for where there are some.
    pub(crate) fn new(plan: &Value, secrets: &Secrets, store: &Path) -> Result<Self, String> {
        let mut all = BTreeMap::new();
        collect(plan, secrets, &mut all);
        let cut: BTreeSet<String> = all.into_iter().filter(|(_, texts)| texts.len() > 1).map(|(cut, _)| cut).collect();
        let key =
            if cut.is_empty() { Hash::from_bytes([0; 32]) } else { key_of(store).map_err(|why| why.to_string())? };
        Ok(Self { cut, key })
    }

    /// A text without its secrets, as it is kept.
    pub(crate) fn told_apart(&self, cut: String, whole: &str) -> String {
        if !self.cut.contains(&cut) {
            return cut;
        }
        let digest = blake3::keyed_hash(self.key.as_bytes(), &[b"text", whole.as_bytes()].join(&0)).to_hex();
        cut.replacen(MARK, &format!("{MARK}{SIGN}{}", &digest[..DIGITS]), 1)
    }

    /// Whether a plan, as it is kept, has such texts: the key of the store is needed to know them again.
    pub(crate) fn are_in(plan: &Plan) -> bool {
        let text = serde_json::to_string(plan).unwrap_or_default();
        text.contains(&format!("{MARK}{SIGN}"))
    }
}

/// All texts out of which something is cut, by what is left of them.
fn collect<'a>(value: &'a Value, secrets: &Secrets, all: &mut BTreeMap<String, BTreeSet<&'a str>>) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(cut) = secrets.text(text) {
                all.entry(cut).or_default().insert(text);
            } else if text.contains(MARK) {
                // Somebody wrote the mark itself, and it means what it says.
                all.entry(text.clone()).or_default().insert(text);
            }
        }
        Value::Array(list) => list.iter().for_each(|one| collect(one, secrets, all)),
        Value::Object(entries) => entries.values().for_each(|one| collect(one, secrets, all)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
