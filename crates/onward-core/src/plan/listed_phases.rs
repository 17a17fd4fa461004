//! Plans of another form: `{"phases": [{"id", "name", "dependencies", "status"}]}`. Its phases are done by others, and reported.

use crate::diagnostic::{Code, Diagnostic};
use crate::document::tree::{Node, NodeContent, NodeEntry, Quoting};

/// Keys of a phase in this form.
const KNOWN: [&str; 6] = ["id", "name", "description", "dependencies", "status", "kind"];

/// Puts the form of our own in its place, and tells what is wrong with it. A plan that says `onward:` is left as it is.
pub(super) fn write_out(root: &mut Node, faults: &mut Vec<Diagnostic>) {
    if root.get("onward").is_some() {
        return;
    }
    let NodeContent::Mapping(entries) = &mut root.content else { return };
    let Some(phases) = entries.iter_mut().find(|entry| entry.key == "phases") else { return };
    let NodeContent::Sequence(items) = &phases.value.content else { return };
    order(items, faults);
    let mut listed: Vec<NodeEntry> = Vec::with_capacity(items.len());
    for item in items {
        let Some(id) = item.get("id").filter(|id| id.text().is_some_and(|text| !text.is_empty())) else {
            let fault = Diagnostic::error(Code::MissingKey, "a phase has no `id`").at(item.place);
            faults.push(fault.help("give each phase a name of its own"));
            continue;
        };
        let key = id.text().unwrap_or_default().to_owned();
        if listed.iter().any(|other| other.key == key) {
            faults.push(Diagnostic::error(Code::DuplicateKey, format!("`{key}` stands there twice")).at(id.place));
            continue;
        }
        listed.push(NodeEntry { key, place: id.place, value: phase(item, id) });
    }
    let place = phases.value.place;
    phases.value.content = NodeContent::Mapping(listed);
    let format = Node { place, content: NodeContent::Scalar { text: "1".to_owned(), quoting: Quoting::Plain } };
    entries.insert(0, NodeEntry { key: "onward".to_owned(), place, value: format });
}

fn phase(item: &Node, id: &Node) -> Node {
    let text = |text: &str| Node {
        place: item.place,
        content: NodeContent::Scalar { text: text.to_owned(), quoting: Quoting::Quoted },
    };
    let entry = |key: &str, value: Node| NodeEntry { key: key.to_owned(), place: value.place, value };
    let name = item.get("name").unwrap_or(id).clone();
    let told = item.get("description").unwrap_or(&name).clone();
    let instructions = Node { place: item.place, content: NodeContent::Mapping(vec![entry("instructions", told)]) };
    let mut entries = vec![entry("name", name), entry("external", instructions)];
    if let Some(needs) = item.get("dependencies") {
        entries.push(entry("needs", needs.clone()));
    }
    match (item.get("kind"), kind(item)) {
        (Some(kind), _) => entries.push(entry("kind", kind.clone())),
        (None, Some(kind)) => entries.push(entry("kind", text(kind))),
        (None, None) => {}
    }
    // What nobody knows is told by the check that follows.
    let others = item.entries().iter().filter(|entry| !KNOWN.contains(&entry.key.as_str()));
    entries.extend(others.cloned());
    Node { place: item.place, content: NodeContent::Mapping(entries) }
}

/// The kind of work that id and name tell of.
fn kind(item: &Node) -> Option<&'static str> {
    let text = |key: &str| item.get(key).and_then(Node::text).unwrap_or_default().to_lowercase();
    let words = format!("{} {}", text("id"), text("name"));
    let tells = |known: &[&str]| known.iter().any(|word| words.contains(word));
    match () {
        () if tells(&["issue"]) => Some("issue"),
        () if tells(&["commit"]) => Some("commit"),
        () if tells(&["doc", "readme", "changelog"]) => Some("docs"),
        () if tells(&["file", "source", "code", "test", "write", "implement"]) => Some("code"),
        () => None,
    }
}

/// In this form the order of the list is the order of the work: what is hardest to get back stands first.
fn order(items: &[Node], faults: &mut Vec<Diagnostic>) {
    let id = |item: &Node| item.get("id").and_then(Node::text).unwrap_or_default().to_owned();
    let closes = |item: &Node| {
        let text = |key: &str| item.get(key).and_then(Node::text).unwrap_or_default().to_lowercase();
        text("name").contains("closes #") || text("description").contains("closes #")
    };
    for (at, item) in items.iter().enumerate().filter(|(_, item)| kind(item) == Some("issue")) {
        let before = items[..at].iter().find(|other| matches!(kind(other), Some("code" | "docs")) || closes(other));
        if let Some(before) = before {
            let message = format!("`{}` is harder to get back than `{}`, yet stands behind it", id(item), id(before));
            let help = format!("let `{}` stand first", id(item));
            faults.push(Diagnostic::warning(Code::LowBeforeHigh, message).at(item.place).help(help));
        }
    }
}
