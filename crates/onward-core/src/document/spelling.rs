//! Keys, and the names of triggers, in either spelling: `on-failure` and `on_failure`. All else reads them as they are listed.

use super::shape::{Keys, Rest, Shape};
use super::tree::{Node, NodeContent, NodeEntry};
use crate::diagnostic::{Code, Diagnostic};

/// Words among which this one is are names of triggers.
const A_TRIGGER: &str = "phase-transition";

/// Writes keys and triggers as they are listed. A key that stands there in both spellings is told.
pub(crate) fn settle(shape: &Shape, node: &mut Node, diagnostics: &mut Vec<Diagnostic>) {
    match (shape, &mut node.content) {
        (Shape::Mapping(keys), NodeContent::Mapping(entries)) => mapping(keys, entries, diagnostics),
        (Shape::Table(_, value), NodeContent::Mapping(entries)) => {
            for entry in entries {
                settle(value, &mut entry.value, diagnostics);
            }
        }
        (Shape::List(item) | Shape::OneOrMany(item), NodeContent::Sequence(items)) => {
            for node in items {
                settle(item, node, diagnostics);
            }
        }
        (Shape::OneOrMany(item), NodeContent::Scalar { .. } | NodeContent::Mapping(_)) => {
            settle(item, node, diagnostics);
        }
        (Shape::Either(shapes), _) => {
            for shape in *shapes {
                settle(shape, node, diagnostics);
            }
        }
        (Shape::Choice(words), NodeContent::Scalar { text, .. }) if words.contains(&A_TRIGGER) => {
            if let Some(word) = words.iter().find(|word| is_spelled(word, text)) {
                (*word).clone_into(text);
            }
        }
        // Nothing else has keys of ours in it.
        (_, NodeContent::Scalar { .. } | NodeContent::Sequence(_) | NodeContent::Mapping(_)) => {}
    }
}

fn mapping(keys: &Keys, entries: &mut [NodeEntry], diagnostics: &mut Vec<Diagnostic>) {
    for at in 0..entries.len() {
        let listed = keys.fields.iter().find(|field| is_spelled(field.key, &entries[at].key));
        let Some(field) = listed else {
            if let Rest::Names(_, shape) = keys.rest {
                settle(shape, &mut entries[at].value, diagnostics);
            }
            continue;
        };
        if entries[at].key != field.key {
            if entries.iter().any(|entry| entry.key == field.key) {
                let message = format!("`{}` stands there twice, as `{}` too", field.key, entries[at].key);
                diagnostics.push(Diagnostic::error(Code::DuplicateKey, message).at(entries[at].place));
            }
            field.key.clone_into(&mut entries[at].key);
        }
        settle(&field.shape, &mut entries[at].value, diagnostics);
    }
}

/// Whether somebody means this word, whichever way its parts are joined.
fn is_spelled(word: &str, text: &str) -> bool {
    let joined = |c: char| if c == '_' { '-' } else { c };
    word.chars().map(joined).eq(text.chars().map(joined))
}
