//! What every key is worth where no file sets it.

use serde_json::{Value, json};

/// The file that a new project gets: all of it commented out, so that later defaults still reach the project.
pub const DEFAULT_FILE: &str = include_str!("default.yaml");

/// The key under which names of the author's choosing stand.
pub(super) const EXECUTORS: &str = "executors";

#[derive(Clone, Copy, Debug)]
pub(super) enum Preset {
    /// Nothing stands in its place: what it would ask for is not done.
    Unset,
    Flag(bool),
    Count(i64),
    Word(&'static str),
    NoItems,
    NoEntries,
}

impl Preset {
    pub(super) fn value(self) -> Value {
        match self {
            Self::Unset => Value::Null,
            Self::Flag(flag) => json!(flag),
            Self::Count(count) => json!(count),
            Self::Word(word) => json!(word),
            Self::NoItems => json!([]),
            Self::NoEntries => json!({}),
        }
    }
}

use Preset::{Count, Flag, NoEntries, NoItems, Unset, Word};

/// Every key there is, in the order in which values are shown: that of the tables of keys.
pub(super) const DEFAULTS: &[(&str, Preset)] = &[
    ("resume.auto", Word("safe")),
    ("resume.max_age", Word("7d")),
    ("checkpoint.enabled", Flag(true)),
    ("checkpoint.auto_checkpoint", Flag(true)),
    ("checkpoint.checkpoint_triggers.run_start", Flag(true)),
    ("checkpoint.checkpoint_triggers.phase_transition", Flag(true)),
    ("checkpoint.checkpoint_triggers.batch_complete", Flag(true)),
    ("checkpoint.checkpoint_triggers.agent_complete", Flag(false)),
    ("checkpoint.checkpoint_triggers.conflict_events", Flag(true)),
    ("checkpoint.checkpoint_triggers.user_interrupt", Flag(true)),
    ("checkpoint.checkpoint_triggers.session_end", Flag(true)),
    ("checkpoint.retention.run_start", Count(1)),
    ("checkpoint.retention.phase_transition", Count(-1)),
    ("checkpoint.retention.batch_complete", Count(3)),
    ("checkpoint.retention.agent_complete", Count(1)),
    ("checkpoint.retention.conflict_start", Count(-1)),
    ("checkpoint.retention.conflict_resolved", Count(-1)),
    ("checkpoint.retention.user_interrupt", Count(1)),
    ("checkpoint.retention.session_end", Count(1)),
    ("checkpoint.retention.manual", Count(-1)),
    ("checkpoint.storage.location", Unset),
    ("checkpoint.storage.compress", Flag(true)),
    ("checkpoint.storage.max_size_mb", Unset),
    ("checkpoint.snapshots", Flag(true)),
    ("checkpoint.git-commit.every", Unset),
    ("checkpoint.git-commit.message", Unset),
    ("checkpoint.git-commit.trailers", NoItems),
    ("checkpoint.git-commit.hooks", Flag(false)),
    ("checkpoint.mirror", NoItems),
    ("store", Unset),
    ("store.network", Word("refuse")),
    ("blobs", Unset),
    (EXECUTORS, NoEntries),
    ("markdown.agent", Unset),
    ("markdown.needs", Word("earlier")),
    ("redact.names", NoItems),
    ("redact.except", NoItems),
];

#[cfg(test)]
mod tests {
    use super::super::keys::CONFIG;
    use super::*;
    use crate::plan::shape::{Keys, Shape};

    /// A key is added to the tables and its default is forgotten: then no value would be shown for it.
    #[test]
    fn every_key_has_a_default_in_the_order_of_the_tables() {
        let mut keys = Vec::new();
        leaves("", &CONFIG, &mut keys);
        let known: Vec<&str> = DEFAULTS.iter().map(|(key, _)| *key).collect();
        assert_eq!(known, keys);
    }

    fn leaves(prefix: &str, keys: &'static Keys, out: &mut Vec<String>) {
        for field in keys.fields {
            let key = format!("{prefix}{}", field.key);
            match &field.shape {
                Shape::Mapping(inner) => leaves(&format!("{key}."), inner, out),
                Shape::Either([_, Shape::Mapping(inner)]) => {
                    out.push(key.clone());
                    leaves(&format!("{key}."), inner, out);
                }
                _ => out.push(key),
            }
        }
    }
}
