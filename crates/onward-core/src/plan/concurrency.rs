//! Checks of `concurrency`: what its group may ask for, and two keys that say different things.

use crate::diagnostic::{Code, Diagnostic};
use crate::document::tree::Node;
use crate::document::word::Word as _;
use crate::expression::{self, Reference};

use super::parts::WhenBusy;

pub(super) fn check(root: &Node, faults: &mut Vec<Diagnostic>) {
    let Some(node) = root.get("concurrency") else { return };
    if let Some(group) = node.entry("group") {
        let asked = group.value.text().and_then(|text| expression::references(text).ok()).unwrap_or_default();
        let other = asked.iter().find(|reference| !matches!(reference, Reference::Input(_)));
        faults.extend(other.map(|reference| {
            let message = format!("the group of `concurrency` is known before the run is, and `{reference}` is not");
            let help = "it may ask for inputs: `load-${{ inputs.NAME }}`";
            Diagnostic::error(Code::BadExpression, message).at(group.place).help(help)
        }));
    }
    let cancels = node.entry("cancel-in-progress").filter(|entry| entry.value.text() == Some("true"));
    let busy =
        node.get("when-busy").and_then(Node::text).filter(|word| WhenBusy::from_word(word) != Some(WhenBusy::Cancel));
    if let (Some(entry), Some(word)) = (cancels, busy) {
        let message = format!("`cancel-in-progress: true` and `when-busy: {word}` contradict each other");
        let help = "keep one of them; `cancel-in-progress: true` is `when-busy: cancel`";
        faults.push(Diagnostic::error(Code::BadValue, message).at(entry.place).help(help));
    }
}
