//! Short forms of a plan, written out: `retry: 2`, `concurrency: load`, `approval: "Release it?"`, `artifacts: [build/app]`.

use std::collections::BTreeSet;

use crate::document::tree::{Node, NodeContent, NodeEntry};

/// Puts the long form in the place of every short one, so that all readers know only that.
pub(super) fn write_out(root: &mut Node) {
    let NodeContent::Mapping(entries) = &mut root.content else { return };
    for entry in entries {
        match (entry.key.as_str(), &mut entry.value.content) {
            ("defaults", _) => phase(&mut entry.value),
            ("concurrency", _) => under(&mut entry.value, "group"),
            ("phases" | "finally", NodeContent::Mapping(phases)) => {
                for it in phases {
                    phase(&mut it.value);
                }
            }
            _ => {}
        }
    }
}

fn phase(node: &mut Node) {
    let NodeContent::Mapping(entries) = &mut node.content else { return };
    for NodeEntry { key, value, .. } in entries {
        match key.as_str() {
            "retry" => under(value, "max"),
            "approval" => under(value, "message"),
            "artifacts" => by_their_paths(value),
            _ => {}
        }
    }
}

/// A single value becomes a mapping in which it stands under a key.
fn under(value: &mut Node, key: &str) {
    if matches!(value.content, NodeContent::Scalar { .. }) {
        let entry = NodeEntry { key: key.to_owned(), place: value.place, value: value.clone() };
        value.content = NodeContent::Mapping(vec![entry]);
    }
}

/// A list of paths becomes a table in which each stands under itself. A path that stands there twice is one file.
fn by_their_paths(value: &mut Node) {
    let NodeContent::Sequence(items) = &value.content else { return };
    let mut seen = BTreeSet::new();
    let paths = items.iter().filter_map(|item| Some((item.text()?, item))).filter(|(path, _)| seen.insert(*path));
    let entry =
        |(path, item): (&str, &Node)| NodeEntry { key: path.to_owned(), place: item.place, value: item.clone() };
    value.content = NodeContent::Mapping(paths.map(entry).collect());
}
