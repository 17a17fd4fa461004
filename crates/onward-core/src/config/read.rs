//! From the text of one configuration file to what it sets.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use crate::diagnostic::{Code, Diagnostic, Place};
use crate::document::check::Checker;
use crate::document::check_value::{boolean, integer, number};
use crate::document::reference::preset;
use crate::document::shape::{Caution, Field, Keys, Shape};
use crate::document::spelling;
use crate::document::tree::{Builder, Node, NodeContent, NodeEntry, Quoting, TEXT_BYTES_MAX};
use crate::document::yaml;

use super::keys::{ALL, CONFIG, NAMED, leaves};

/// Where mirrors that are folders lie.
const LOCATION: &str = "location";

/// Nobody reads more than this; the rest is counted.
const DIAGNOSTICS_MAX: usize = 500;

/// Faults that the reader of plans words for plans, as they are told here.
const IN_OUR_WORDS: &[(Code, Option<&str>, &str)] = &[
    (Code::TooDeep, None, "write it more plainly"),
    (Code::TooManyNodes, None, "write it more plainly"),
    (Code::TooLarge, None, "write it more plainly"),
    (Code::MultipleDocuments, None, "one file holds one configuration: leave out the line `---`"),
    (Code::MergeKey, None, "write the keys out"),
    (
        Code::TagRefused,
        Some("a tag (`!...`) stands here; a configuration has none"),
        "leave the tag out; quote the value if it must stay text",
    ),
];

/// The result of reading a configuration text.
#[derive(Clone, Debug)]
pub struct ParsedConfig {
    /// Empty if a diagnostic is an error: half of what somebody wrote is not what they wanted.
    pub layer: Layer,
    /// By place.
    pub diagnostics: Vec<Diagnostic>,
}

/// The settings of one file, by dotted key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    settings: BTreeMap<String, Setting>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub value: Value,
    /// Of the key.
    pub place: Place,
}

impl Layer {
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.get(key)
    }

    /// Takes out what only a person may set, who trusts the file: by key, whatever is not the default.
    #[must_use]
    pub fn take_what_needs_trust(&mut self) -> Self {
        let cautious = leaves().into_iter().filter(|(_, field)| field.caution == Caution::NeedsTrust);
        let needs_trust = |(key, field): (String, &Field)| -> Vec<String> {
            let entry = |name: &&String| name.strip_prefix(key.as_str()).is_some_and(|rest| rest.starts_with('.'));
            if NAMED.contains(&key.as_str()) {
                return self.settings.keys().filter(entry).cloned().collect();
            }
            let set = self.settings.get(&key).is_some_and(|setting| setting.value != preset(field));
            if set { vec![key] } else { Vec::new() }
        };
        let keys: Vec<String> = cautious.flat_map(needs_trust).collect();
        let taken = keys.into_iter().filter_map(|key| self.settings.remove_entry(&key));
        Self { settings: taken.collect() }
    }

    /// Takes back what was taken out.
    pub fn put_back(&mut self, other: Self) {
        self.settings.extend(other.settings);
    }

    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    pub fn settings(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.settings.iter().map(|(key, setting)| (key.as_str(), setting))
    }
}

/// Reads a configuration file. A file that sets nothing is right.
pub fn parse(text: &str) -> ParsedConfig {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the file has {} bytes; at most {TEXT_BYTES_MAX} (4 MiB) are read", text.len());
        return refused(vec![Diagnostic::error(Code::TooLarge, message).at(Place::new(1, 1))]);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut builder = Builder::default();
    let outcome = yaml::read(text, &mut builder);
    let (root, mut diagnostics) = builder.finish();
    if let Err(fault) = outcome {
        diagnostics.push(fault);
        return refused(diagnostics);
    }
    match root {
        Some(root) if !is_nothing(&root) => understand(root, diagnostics),
        Some(_) | None => refused(diagnostics),
    }
}

fn refused(diagnostics: Vec<Diagnostic>) -> ParsedConfig {
    let diagnostics = diagnostics.into_iter().map(in_our_words).collect();
    ParsedConfig { layer: Layer::default(), diagnostics: cut(diagnostics) }
}

fn understand(mut root: Node, mut diagnostics: Vec<Diagnostic>) -> ParsedConfig {
    spelling::settle(&Shape::Mapping(&CONFIG), &mut root, &mut diagnostics);
    drop_empty_groups(&CONFIG, &mut root);
    let mut checker = Checker::new(diagnostics);
    checker.check(&Shape::Mapping(&CONFIG), &root);
    let mut diagnostics = checker.diagnostics;
    diagnostics.extend(location_fault(&root));
    if diagnostics.iter().any(Diagnostic::is_error) {
        // First the file has to be right; then it is worth saying what has no effect yet.
        diagnostics.retain(Diagnostic::is_error);
        return refused(diagnostics);
    }
    let mut layer = Layer::default();
    collect(&CONFIG, "", &root, &mut layer);
    ParsedConfig { layer, diagnostics: cut(diagnostics) }
}

/// A folder of mirrors that is the top of the project: `index.yaml` and `latest` would lie among the user's own files.
fn location_fault(root: &Node) -> Option<Diagnostic> {
    let inner = |node: &'_ Node, key: &str| node.entries().iter().position(|entry| entry.key == key);
    let group = &root.entries()[inner(root, "checkpoint")?].value;
    let storage = &group.entries()[inner(group, "storage")?].value;
    let location = &storage.entries()[inner(storage, LOCATION)?].value;
    let text = location.text()?;
    if text.trim().is_empty() || text.split('/').any(|part| !matches!(part.trim(), "" | ".")) {
        return None;
    }
    let message = format!("`{LOCATION}` is the top of the project: `{text}`");
    let help = "name a folder of its own, such as checkpoints/{issue}; index.yaml and latest are written into it";
    Some(Diagnostic::error(Code::BadValue, message).at(location.place).help(help))
}

/// A group whose keys are all commented out is left with nothing, and sets nothing.
fn drop_empty_groups(keys: &'static Keys, node: &mut Node) {
    let NodeContent::Mapping(entries) = &mut node.content else { return };
    entries.retain(|entry| !(is_nothing(&entry.value) && keys.find(&entry.key).is_some_and(is_group)));
    for entry in entries {
        if let Some(Field { shape: Shape::Mapping(inner), .. }) = keys.find(&entry.key) {
            drop_empty_groups(inner, &mut entry.value);
        }
    }
}

fn is_group(field: &Field) -> bool {
    matches!(field.shape, Shape::Mapping(_) | Shape::Table(_, _))
}

fn is_nothing(node: &Node) -> bool {
    matches!(&node.content, NodeContent::Scalar { text, quoting: Quoting::Plain } if matches!(text.as_str(), "" | "~" | "null"))
}

/// Notes what a checked mapping sets, key by key.
fn collect(keys: &'static Keys, prefix: &str, node: &Node, layer: &mut Layer) {
    for entry in node.entries() {
        let Some(field) = keys.find(&entry.key) else { continue };
        let key = format!("{prefix}{}", entry.key);
        let group = matches!(entry.value.content, NodeContent::Mapping(_));
        match &field.shape {
            Shape::Mapping(inner) => collect(inner, &format!("{key}."), &entry.value, layer),
            Shape::Either([_, Shape::Mapping(inner)]) if group => {
                collect(inner, &format!("{key}."), &entry.value, layer);
            }
            Shape::Table(_, _) => {
                for named in entry.value.entries() {
                    set(layer, format!("{key}.{}", named.key), named, as_written(&named.value));
                }
            }
            shape => set(layer, key, entry, value(shape, &entry.value)),
        }
    }
}

fn set(layer: &mut Layer, key: String, entry: &NodeEntry, value: Value) {
    layer.settings.insert(key, Setting { value, place: entry.place });
}

/// The value of one key, in the one form that the rest of onward sees: lists as lists, counts as numbers.
fn value(shape: &Shape, node: &Node) -> Value {
    let counts = matches!(shape, Shape::Either([Shape::Integer { .. }, Shape::Choice(_)]));
    if let Shape::OneOrMany(item) = shape {
        node.items().iter().map(|node| value(item, node)).collect()
    } else if counts && node.text() == Some(ALL) {
        Value::from(-1)
    } else if counts || matches!(shape, Shape::Boolean | Shape::Integer { .. }) {
        as_written(node)
    } else {
        Value::from(node.text().unwrap_or_default())
    }
}

/// Plain words that YAML 1.2 gives a meaning get it; all other text stays text.
pub(crate) fn as_written(node: &Node) -> Value {
    match &node.content {
        NodeContent::Sequence(items) => items.iter().map(as_written).collect(),
        NodeContent::Mapping(entries) => {
            Value::Object(entries.iter().map(|entry| (entry.key.clone(), as_written(&entry.value))).collect())
        }
        NodeContent::Scalar { .. } if is_nothing(node) => Value::Null,
        NodeContent::Scalar { text, quoting } => {
            let whole = || integer(text, *quoting).map(Value::from);
            let float = || number(text, *quoting).and_then(Number::from_f64).map(Value::Number);
            // Numbers below zero and beyond 64 bits with a sign, as JSON has them: what is written as YAML is read as it was.
            let as_json =
                || (*quoting == Quoting::Plain).then(|| serde_json::from_str(text).ok()).flatten().map(Value::Number);
            let known = boolean(text, *quoting).map(Value::Bool).or_else(whole).or_else(as_json).or_else(float);
            known.unwrap_or_else(|| Value::String(text.clone()))
        }
    }
}

fn in_our_words(fault: Diagnostic) -> Diagnostic {
    let Some((_, message, help)) = IN_OUR_WORDS.iter().find(|(code, _, _)| *code == fault.code) else {
        return fault;
    };
    let message = message.map_or_else(|| fault.message.clone(), str::to_owned);
    Diagnostic { message, ..fault }.help(*help)
}

/// By place, and no more than anyone reads.
fn cut(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by_key(|fault| (fault.place, fault.severity, fault.code));
    let left_out = diagnostics.len().saturating_sub(DIAGNOSTICS_MAX);
    if left_out > 0 {
        diagnostics.sort_by_key(|fault| (fault.severity, fault.place));
        let severity = diagnostics[DIAGNOSTICS_MAX].severity;
        diagnostics.truncate(DIAGNOSTICS_MAX);
        let more = Diagnostic::warning(Code::MoreFaults, format!("{left_out} more are left out"));
        diagnostics.push(Diagnostic { severity, ..more });
    }
    diagnostics
}
