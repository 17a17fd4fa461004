//! Holds a tree against the tables of keys. Says everything that is wrong with it, and notes what its expressions ask for.

use crate::diagnostic::{Code, Diagnostic, Place};
use crate::expression::Reference;

use super::shape::{Field, Keys, NameRule, Rest, Shape, one_of};
use super::suggest::{did_you_mean, nearest, worth_it};
use super::tree::{Node, NodeContent, NodeEntry, Quoting};

/// The step of a path that leads into a phase.
const PHASE: &str = "phase";

/// The kind of text that an expression stands in: it decides which references are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ExpressionOwner {
    Plan,
    Defaults,
    /// By position among the phases.
    Phase(usize),
    /// By position among those of `finally`.
    Finally(usize),
}

/// An expression asks for something. Whether it is there is known once all phases are read.
#[derive(Debug)]
pub(crate) struct ReferenceUse {
    pub(crate) reference: Reference,
    pub(crate) place: Place,
    pub(crate) owner: ExpressionOwner,
    /// It says what a matrix goes over, which is needed before the phase exists.
    pub(crate) in_matrix: bool,
}

pub(crate) struct Checker {
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) uses: Vec<ReferenceUse>,
    /// The keys that lead here; [`PHASE`] stands for `phases`, `finally` and `defaults`.
    path: Vec<&'static str>,
    /// The key in hand as its author wrote it, for messages.
    key: String,
    owner: ExpressionOwner,
}

impl Checker {
    pub(crate) fn new(diagnostics: Vec<Diagnostic>) -> Self {
        Self { diagnostics, uses: Vec::new(), path: Vec::new(), key: "plan".to_owned(), owner: ExpressionOwner::Plan }
    }

    pub(crate) fn check(&mut self, shape: &Shape, node: &Node) {
        match (shape, &node.content) {
            (Shape::Anything, _) => {}
            (Shape::Mapping(keys), NodeContent::Mapping(entries)) => self.mapping(keys, entries, node.place),
            (Shape::Table(rule, value), NodeContent::Mapping(entries)) => self.table(*rule, value, entries),
            (Shape::List(item) | Shape::OneOrMany(item), NodeContent::Sequence(items)) => {
                for node in items {
                    self.check(item, node);
                }
            }
            (Shape::OneOrMany(item), NodeContent::Scalar { .. } | NodeContent::Mapping(_)) if fits_kind(item, node) => {
                self.check(item, node);
            }
            (Shape::Either(shapes), _) => self.either(shapes, shape, node),
            (_, NodeContent::Scalar { text, quoting }) if fits_kind(shape, node) => {
                self.scalar(shape, text, *quoting, node);
            }
            (_, NodeContent::Scalar { .. } | NodeContent::Sequence(_) | NodeContent::Mapping(_)) => {
                self.wrong_type(shape, node);
            }
        }
    }

    fn mapping(&mut self, keys: &'static Keys, entries: &[NodeEntry], place: Place) {
        let mut mistyped = false;
        for entry in entries {
            match keys.find(&entry.key) {
                Some(field) => self.field(field, entry),
                None => mistyped |= self.other_key(keys, entry),
            }
        }
        for field in keys.fields.iter().filter(|field| field.required) {
            if !entries.iter().any(|entry| entry.key == field.key) {
                let message = format!("{} has no `{}`", keys.what, field.key);
                let help = format!("add `{}`: {}", field.key, field.shape.describe());
                self.diagnostics.push(Diagnostic::error(Code::MissingKey, message).at(place).help(help));
            }
        }
        let said: Vec<&NodeEntry> = entries.iter().filter(|entry| keys.one_of.contains(&entry.key.as_str())).collect();
        match said.split_first() {
            None if mistyped => {}
            None => self.no_kind(keys, place),
            Some((first, rest)) => self.two_kinds(keys, first, rest),
        }
    }

    fn field(&mut self, field: &'static Field, entry: &NodeEntry) {
        // A message about a key of a phase, of `finally` or of `defaults` names the key alone.
        let (segment, owner) = match (self.path.is_empty(), field.key) {
            (true, "phases") => (PHASE, ExpressionOwner::Phase(0)),
            (true, "finally") => (PHASE, ExpressionOwner::Finally(0)),
            (true, "defaults") => (PHASE, ExpressionOwner::Defaults),
            (true, _) => (field.key, ExpressionOwner::Plan),
            (false, _) => (field.key, self.owner),
        };
        if let Some(said) = field.unsupported(entry.value.text()) {
            let outer: String = self.path.iter().filter(|key| **key != PHASE).flat_map(|key| [*key, "."]).collect();
            let message = format!("`{outer}{said}` is understood, but this version does not act on it yet");
            self.diagnostics.push(Diagnostic::warning(Code::NotYetSupported, message).at(entry.place));
        }
        self.path.push(segment);
        let before = std::mem::replace(&mut self.owner, owner);
        self.value(&entry.key, &field.shape, &entry.value);
        self.owner = before;
        self.path.pop();
    }

    fn value(&mut self, key: &str, shape: &Shape, node: &Node) {
        let outer = std::mem::replace(&mut self.key, key.to_owned());
        self.check(shape, node);
        self.key = outer;
    }

    /// A key that is not in the table. True if it was meant to say how the phase is done.
    fn other_key(&mut self, keys: &'static Keys, entry: &NodeEntry) -> bool {
        match keys.rest {
            Rest::Extensions if entry.key.starts_with("x-") => false,
            Rest::Names(rule, shape) => {
                self.name(rule, entry);
                self.value(&entry.key, shape, &entry.value);
                false
            }
            Rest::Extensions | Rest::Refused => {
                let known = || keys.fields.iter().map(|field| field.key);
                let meant = if worth_it(&self.diagnostics) { nearest(&entry.key, known()) } else { None };
                let help = match meant {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("{} has {}", keys.what, known().collect::<Vec<_>>().join(", ")),
                };
                let message = format!("unknown key `{}` in {}", entry.key, keys.what);
                self.diagnostics.push(Diagnostic::error(Code::UnknownKey, message).at(entry.place).help(help));
                meant.is_some_and(|near| keys.one_of.contains(&near))
            }
        }
    }

    fn no_kind(&mut self, keys: &'static Keys, place: Place) {
        if !keys.one_of.is_empty() {
            let message = format!("{} does not say how it is done", keys.what);
            let help = format!("give it exactly one of {}", one_of(keys.one_of));
            self.diagnostics.push(Diagnostic::error(Code::NoKind, message).at(place).help(help));
        }
    }

    fn two_kinds(&mut self, keys: &'static Keys, first: &NodeEntry, rest: &[&NodeEntry]) {
        for second in rest {
            let message = format!("`{}` and `{}` exclude each other in {}", first.key, second.key, keys.what);
            let help = format!("keep exactly one of {}", one_of(keys.one_of));
            self.diagnostics.push(Diagnostic::error(Code::TwoKinds, message).at(second.place).help(help));
        }
    }

    fn table(&mut self, rule: NameRule, shape: &'static Shape, entries: &[NodeEntry]) {
        for (index, entry) in entries.iter().enumerate() {
            if rule == NameRule::PhaseId {
                self.owner = match self.owner {
                    ExpressionOwner::Finally(_) => ExpressionOwner::Finally(index),
                    ExpressionOwner::Phase(_) | ExpressionOwner::Plan | ExpressionOwner::Defaults => {
                        ExpressionOwner::Phase(index)
                    }
                };
            }
            self.name(rule, entry);
            self.value(&entry.key, shape, &entry.value);
        }
    }

    fn name(&mut self, rule: NameRule, entry: &NodeEntry) {
        if rule.fits(&entry.key) {
            return;
        }
        let fault = match rule {
            NameRule::PhaseId => Diagnostic::error(Code::BadId, format!("`{}` cannot be the id of a phase", entry.key))
                .help("ids are 1 to 64 letters, digits, `.`, `_` and `-`, and start with a letter or digit"),
            NameRule::Variable => {
                Diagnostic::error(Code::BadName, format!("`{}` cannot be the name of a variable", entry.key))
                    .help("variables are letters, digits and `_`, and do not start with a digit")
            }
            NameRule::Name | NameRule::Free => {
                Diagnostic::error(Code::BadName, format!("`{}` cannot be a name here", entry.key))
                    .help("names are letters, digits, `_` and `-`")
            }
        };
        self.diagnostics.push(fault.at(entry.place));
    }

    /// The alternatives that have the right kind are tried; with only one of them its own message is the best.
    fn either(&mut self, shapes: &'static [Shape], whole: &Shape, node: &Node) {
        let fitting: Vec<&Shape> = shapes.iter().filter(|shape| fits_kind(shape, node)).collect();
        match fitting.as_slice() {
            [] => self.wrong_type(whole, node),
            [only] => self.check(only, node),
            many => {
                let (faults, uses) = (self.diagnostics.len(), self.uses.len());
                for shape in many {
                    self.check(shape, node);
                    if self.diagnostics.len() == faults {
                        return;
                    }
                    self.diagnostics.truncate(faults);
                    self.uses.truncate(uses);
                }
                self.bad_value(whole, node);
            }
        }
    }

    pub(crate) fn use_of(&mut self, reference: Reference, place: Place) {
        let in_matrix = self.path.contains(&"matrix");
        self.uses.push(ReferenceUse { reference, place, owner: self.owner, in_matrix });
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn error(&mut self, code: Code, message: String, help: impl Into<String>, place: Place) {
        self.diagnostics.push(Diagnostic::error(code, message).at(place).help(help));
    }

    fn wrong_type(&mut self, shape: &Shape, node: &Node) {
        let found = match &node.content {
            NodeContent::Scalar { text, quoting: Quoting::Plain }
                if text.is_empty() || text == "null" || text == "~" =>
            {
                "nothing"
            }
            NodeContent::Scalar { .. } => "a single value",
            NodeContent::Sequence(_) => "a list",
            NodeContent::Mapping(_) => "a mapping",
        };
        let message = format!("`{}` is {found}; expected {}", self.key(), shape.describe());
        let help = match (&node.content, shape) {
            (NodeContent::Sequence(_), Shape::Mapping(_) | Shape::Table(_, _)) => {
                "leave out the dashes: each entry stands under its own name, `NAME: …`"
            }
            (NodeContent::Sequence(_), _) if self.key() == "run" => {
                "write the commands as a block: `run: |` and each command on a line of its own, indented"
            }
            (NodeContent::Scalar { text, .. }, shape) if !text.is_empty() && takes_a_list(shape) => {
                "put it into brackets: `[…]`"
            }
            (NodeContent::Scalar { text, .. }, Shape::Table(_, Shape::Text)) if !text.is_empty() => {
                &format!("name each with a line about it: `{}: {{ {text}: … }}`", self.key())
            }
            (_, Shape::Mapping(keys)) => &format!("write it as `{}`; its keys are {}", written_out(keys), names(keys)),
            (NodeContent::Mapping(_), Shape::Path) => {
                &format!("name a file below the project: `{}: schemas/review.json`", self.key())
            }
            _ => "",
        };
        self.error(Code::WrongType, message, help, node.place);
    }

    pub(crate) fn bad_value(&mut self, shape: &Shape, node: &Node) {
        let text: String = node.text().unwrap_or_default().chars().take(40).collect();
        let help = match shape {
            Shape::Choice(words) | Shape::ChoiceBut(words, _, _) => did_you_mean(&text, words.iter().copied()),
            _ => String::new(),
        };
        let message = format!("`{}` cannot be `{text}`; expected {}", self.key(), shape.describe());
        self.error(Code::BadValue, message, help, node.place);
    }
}

/// How a mapping is written, by what it must have or has first; nothing where the shape says no keys.
fn written_out(keys: &Keys) -> String {
    let required = keys.fields.iter().filter(|field| field.required);
    let shown: Vec<_> =
        if required.clone().next().is_some() { required.collect() } else { keys.fields.iter().take(1).collect() };
    let entries = shown.iter().map(|field| {
        let plain = !field.example.contains(['{', '$', ':', '#', ',']) || field.example.starts_with(['{', '[', '"']);
        let example = if plain { field.example.to_owned() } else { format!("'{}'", field.example) };
        format!("{}: {example}", field.key)
    });
    format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
}

fn names(keys: &Keys) -> String {
    keys.fields.iter().map(|field| field.key).collect::<Vec<_>>().join(", ")
}

fn takes_a_list(shape: &Shape) -> bool {
    match shape {
        Shape::List(_) => true,
        Shape::Either(shapes) => shapes.iter().any(takes_a_list),
        _ => false,
    }
}

/// True if the node is of the kind (single value, list, mapping) that the shape wants.
fn fits_kind(shape: &Shape, node: &Node) -> bool {
    match (shape, &node.content) {
        (Shape::Anything, _) | (Shape::List(_) | Shape::OneOrMany(_), NodeContent::Sequence(_)) => true,
        (Shape::Either(shapes), _) => shapes.iter().any(|shape| fits_kind(shape, node)),
        (Shape::OneOrMany(item), _) => fits_kind(item, node),
        (Shape::Mapping(_) | Shape::Table(_, _), content) => matches!(content, NodeContent::Mapping(_)),
        (Shape::List(_), NodeContent::Scalar { .. } | NodeContent::Mapping(_)) => false,
        (_, content) => matches!(content, NodeContent::Scalar { .. }),
    }
}
