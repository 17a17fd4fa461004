//! What a configuration may say although nobody acts on it yet. A line goes when the key works.

use crate::diagnostic::{Code, Diagnostic};

use super::read::Layer;

/// Keys by path; `.*` stands for all keys below.
const NOT_YET: &[&str] = &[
    "checkpoint.checkpoint_triggers.agent_complete",
    "checkpoint.checkpoint_triggers.conflict_events",
    "checkpoint.retention.agent_complete",
    "checkpoint.retention.conflict_start",
    "checkpoint.retention.conflict_resolved",
    "checkpoint.storage.*",
    "checkpoint.mirror",
    "store",
    "blobs",
    "executors.*",
    "markdown.*",
];

/// One warning for each line of the table that the file touches, where it first does.
pub(super) fn warnings(layer: &Layer) -> Vec<Diagnostic> {
    let touched = |row: &'static str| {
        let first = layer.settings().filter(|(key, _)| covers(row, key)).min_by_key(|(_, setting)| setting.place)?;
        let key = row.strip_suffix(".*").unwrap_or(row);
        let message = format!("`{key}` is understood, but this version does not act on it yet");
        Some(Diagnostic::warning(Code::NotYetSupported, message).at(first.1.place))
    };
    NOT_YET.iter().filter_map(|row| touched(row)).collect()
}

fn covers(row: &str, key: &str) -> bool {
    match row.strip_suffix('*') {
        Some(group) => key.starts_with(group),
        None => key == row,
    }
}

#[cfg(test)]
mod tests {
    use super::super::defaults::DEFAULTS;
    use super::*;

    /// A key is renamed and the table still has the old name: then its warning would be lost.
    #[test]
    fn every_line_names_a_key_that_exists() {
        for row in NOT_YET {
            let known = DEFAULTS.iter().any(|(key, _)| covers(row, key) || row.strip_suffix(".*") == Some(key));
            assert!(known, "{row}");
        }
    }
}
