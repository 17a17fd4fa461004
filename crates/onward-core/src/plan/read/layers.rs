//! The values of a mapping: what its author wrote, over what phases share, over the defaults of its table.

use std::time::Duration;

use crate::document::check_value::{boolean, integer, number};
use crate::document::shape::Keys;
use crate::document::tree::{Node, NodeContent, Quoting};
use crate::document::units;
use crate::document::word::Word;

/// One mapping of a plan.
#[derive(Clone, Copy)]
pub(in crate::plan) struct Layers<'a> {
    own: Option<&'a Node>,
    shared: Option<&'a Node>,
    keys: &'static Keys,
}

/// A single value, and whether it stands there without quotes.
type Scalar<'a> = (&'a str, Quoting);

impl<'a> Layers<'a> {
    pub(in crate::plan) fn new(own: Option<&'a Node>, shared: Option<&'a Node>, keys: &'static Keys) -> Self {
        Self { own, shared, keys }
    }

    /// A mapping that shares nothing.
    pub(in crate::plan) fn alone(own: &'a Node, keys: &'static Keys) -> Self {
        Self { own: Some(own), shared: None, keys }
    }

    /// As written: by the mapping itself, else by what it shares.
    pub(super) fn get(self, key: &str) -> Option<&'a Node> {
        self.own(key).or_else(|| self.shared(key))
    }

    pub(super) fn own(self, key: &str) -> Option<&'a Node> {
        self.own.and_then(|node| node.get(key))
    }

    pub(super) fn shared(self, key: &str) -> Option<&'a Node> {
        self.shared.and_then(|node| node.get(key))
    }

    /// The mapping under a key, if either says anything about it.
    pub(super) fn inner(self, key: &str, keys: &'static Keys) -> Option<Layers<'a>> {
        let (own, shared) = (self.own(key), self.shared(key));
        (own.is_some() || shared.is_some()).then_some(Layers { own, shared, keys })
    }

    /// Both mappings, the one that counts less first.
    pub(super) fn mappings(self) -> impl Iterator<Item = &'a Node> {
        self.shared.into_iter().chain(self.own)
    }

    /// The value that `read` makes of the text as written, else of the default.
    fn value<T>(self, key: &str, read: impl Fn(Scalar<'_>) -> Option<T>) -> Option<T> {
        let written = self.get(key).and_then(scalar).and_then(&read);
        written.or_else(|| self.keys.default_text(key).and_then(|text| read((text, Quoting::Plain))))
    }

    pub(super) fn text(self, key: &str) -> Option<String> {
        self.value(key, |(text, _)| Some(text.to_owned()))
    }

    pub(super) fn texts(self, key: &str) -> Vec<String> {
        let default = || self.keys.default_list(key).iter().map(|text| (*text).to_owned()).collect();
        self.get(key).map_or_else(default, texts)
    }

    pub(super) fn pairs(self, key: &str) -> Vec<(String, String)> {
        self.get(key).map(pairs).unwrap_or_default()
    }

    pub(super) fn duration(self, key: &str) -> Option<Duration> {
        self.value(key, |(text, _)| units::duration(text).ok())
    }

    pub(super) fn size(self, key: &str) -> Option<u64> {
        self.value(key, |(text, _)| units::size(text))
    }

    pub(super) fn count(self, key: &str) -> Option<u32> {
        self.value(key, |(text, quoting)| integer(text, quoting).and_then(|count| u32::try_from(count).ok()))
    }

    pub(super) fn number(self, key: &str) -> Option<f64> {
        self.value(key, |(text, quoting)| number(text, quoting))
    }

    /// A switch; one that is neither set nor has a default is off.
    pub(super) fn flag(self, key: &str) -> bool {
        self.value(key, |(text, quoting)| boolean(text, quoting)).unwrap_or(false)
    }

    /// A switch that may be left to somebody else.
    pub(super) fn flag_if_written(self, key: &str) -> Option<bool> {
        self.get(key).and_then(scalar).and_then(|(text, quoting)| boolean(text, quoting))
    }

    pub(super) fn count_if_written(self, key: &str) -> Option<u32> {
        self.get(key)
            .and_then(scalar)
            .and_then(|(text, quoting)| integer(text, quoting))
            .and_then(|n| u32::try_from(n).ok())
    }

    pub(super) fn word_if_written<T: Word>(self, key: &str) -> Option<T> {
        self.get(key).and_then(Node::text).and_then(T::from_word)
    }

    /// A word of a key that has a default.
    pub(super) fn word<T: Word>(self, key: &str) -> T {
        self.value(key, |(word, _)| T::from_word(word)).expect("the table has a default, and it is one of the words")
    }

    pub(super) fn words<T: Word>(self, key: &str) -> Vec<T> {
        self.texts(key).iter().filter_map(|word| T::from_word(word)).collect()
    }
}

pub(in crate::plan) fn texts(node: &Node) -> Vec<String> {
    node.items().iter().filter_map(Node::text).map(str::to_owned).collect()
}

pub(super) fn pairs(node: &Node) -> Vec<(String, String)> {
    node.entries().iter().filter_map(|entry| Some((entry.key.clone(), entry.value.text()?.to_owned()))).collect()
}

pub(super) fn scalar(node: &Node) -> Option<Scalar<'_>> {
    match &node.content {
        NodeContent::Scalar { text, quoting } => Some((text, *quoting)),
        NodeContent::Sequence(_) | NodeContent::Mapping(_) => None,
    }
}
