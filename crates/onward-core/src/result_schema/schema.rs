//! A schema that was read, and the two questions to it.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::Value;

use super::{fit, read};

/// Nodes of a schema.
pub(super) const SCHEMA_NODES_MAX: usize = 50_000;
/// A schema inside a schema, in the text of it or by `$ref`.
pub(super) const DEPTH_MAX: usize = 96;
/// Of one text that is quoted from a schema or an answer.
const QUOTE_CHARS_MAX: usize = 80;

/// A schema in which everything is understood.
#[derive(Clone, Debug)]
pub struct ResultSchema {
    pub(super) root: Value,
    /// By their text.
    pub(super) patterns: BTreeMap<String, Regex>,
    pub(super) siblings: RefSiblings,
}

/// The meaning of keywords beside a `$ref`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefSiblings {
    /// As in every draft since 2019-09.
    Count,
    /// As in draft 6 and 7.
    Ignored,
}

impl ResultSchema {
    /// The schema that a text holds, or in words why it is none that can be checked.
    pub fn read(text: &str) -> Result<Self, String> {
        let root = serde_json::from_str::<Value>(text).map_err(|why| format!("it is no JSON: {why}"))?;
        read::read(root)
    }

    /// Whether the answer fits, or in words at which places it does not.
    pub fn check(&self, answer: &Value) -> Result<(), String> {
        fit::check(self, answer)
    }
}

/// A text in one line that is not too long.
pub(super) fn quoted(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(QUOTE_CHARS_MAX).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { text }
}
