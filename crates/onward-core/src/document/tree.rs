//! The text as a tree in which every part knows its place. YAML and JSON both build it, under one set of limits.

use std::collections::BTreeMap;

use crate::diagnostic::{Code, Diagnostic, Place};

/// A plan larger than this is refused before it is looked at.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// Lists and mappings inside each other.
pub const DEPTH_MAX: usize = 64;
/// Values, what aliases stand for included.
pub const NODES_MAX: usize = 200_000;
/// Text of all values after aliases and defaults are written out.
pub const EXPANDED_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) content: NodeContent,
}

#[derive(Clone, Debug)]
pub(crate) enum NodeContent {
    Scalar { text: String, quoting: Quoting },
    Sequence(Vec<Node>),
    Mapping(Vec<NodeEntry>),
}

/// How a text is written. Only without quotes can it be a number, a boolean or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoting {
    Plain,
    Quoted,
}

#[derive(Clone, Debug)]
pub(crate) struct NodeEntry {
    pub(crate) key: String,
    /// Of the key; the value has its own.
    pub(crate) place: Place,
    pub(crate) value: Node,
}

impl Node {
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            NodeContent::Scalar { text, .. } => Some(text),
            NodeContent::Sequence(_) | NodeContent::Mapping(_) => None,
        }
    }

    pub(crate) fn entries(&self) -> &[NodeEntry] {
        match &self.content {
            NodeContent::Mapping(entries) => entries,
            NodeContent::Scalar { .. } | NodeContent::Sequence(_) => &[],
        }
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&NodeEntry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The items of a list, or the one value that stands in its place.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.content {
            NodeContent::Sequence(items) => items,
            NodeContent::Scalar { .. } | NodeContent::Mapping(_) => std::slice::from_ref(self),
        }
    }

    /// Values and bytes of text in here, this one included.
    pub(crate) fn cost(&self) -> Cost {
        let mut cost = Cost { nodes: 1, bytes: 0, depth: 0 };
        match &self.content {
            NodeContent::Scalar { text, .. } => cost.bytes = text.len(),
            NodeContent::Sequence(items) => items.iter().for_each(|item| cost.add(item.cost())),
            NodeContent::Mapping(entries) => entries.iter().for_each(|entry| {
                cost.bytes += entry.key.len();
                cost.add(entry.value.cost());
            }),
        }
        cost
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) nodes: usize,
    pub(crate) bytes: usize,
    pub(crate) depth: usize,
}

impl Cost {
    fn add(&mut self, part: Cost) {
        self.nodes += part.nodes;
        self.bytes += part.bytes;
        self.depth = self.depth.max(part.depth + 1);
    }
}

/// One collection that is being read.
struct Frame {
    place: Place,
    anchor: usize,
    content: NodeContent,
    /// The key whose value comes next; none in a list, and none where a key comes next.
    key: Option<(String, Place)>,
    seen: BTreeMap<String, Place>,
}

/// The use of the texts of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TextUse {
    /// Programs are given them.
    #[default]
    ForPrograms,
    /// They are kept, and any character may be in them.
    Kept,
}

/// Puts a tree together from what a reader sees, and refuses before memory is spent.
#[derive(Default)]
pub(crate) struct Builder {
    texts: TextUse,
    open: Vec<Frame>,
    root: Option<Node>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    bytes: usize,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Nothing after this can be read.
pub(crate) type Fatal = Diagnostic;

impl Builder {
    pub(crate) fn new(texts: TextUse) -> Self {
        Self { texts, ..Self::default() }
    }

    pub(crate) fn scalar(&mut self, text: String, quoting: Quoting, anchor: usize, place: Place) -> Result<(), Fatal> {
        let nodes = usize::from(!self.wants_key());
        self.charge(Cost { nodes, bytes: text.len(), depth: 0 }, place)?;
        if self.texts == TextUse::ForPrograms && text.contains('\0') {
            let fault =
                Diagnostic::error(Code::BadValue, "a text holds the character NUL, which no program can be given");
            self.diagnostics.push(fault.at(place).help("leave it out"));
        }
        self.attach(Node { place, content: NodeContent::Scalar { text, quoting } }, anchor)
    }

    pub(crate) fn open_sequence(&mut self, anchor: usize, place: Place) -> Result<(), Fatal> {
        self.open(NodeContent::Sequence(Vec::new()), anchor, place)
    }

    pub(crate) fn open_mapping(&mut self, anchor: usize, place: Place) -> Result<(), Fatal> {
        self.open(NodeContent::Mapping(Vec::new()), anchor, place)
    }

    pub(crate) fn close(&mut self) -> Result<(), Fatal> {
        let Some(frame) = self.open.pop() else {
            return Ok(());
        };
        self.attach(Node { place: frame.place, content: frame.content }, frame.anchor)
    }

    /// Writes out what the alias stands for, and counts all of it.
    pub(crate) fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Fatal> {
        let Some(node) = self.anchors.get(&anchor) else {
            let fault = Diagnostic::error(Code::Syntax, "an alias stands inside the value it names");
            return Err(fault.at(place).help("write the value out"));
        };
        let cost = node.cost();
        self.charge(cost, place)?;
        let node = self.anchors.get(&anchor).cloned();
        node.map_or(Ok(()), |node| self.attach(node, 0))
    }

    pub(crate) fn finish(self) -> (Option<Node>, Vec<Diagnostic>) {
        (self.root, self.diagnostics)
    }

    fn open(&mut self, content: NodeContent, anchor: usize, place: Place) -> Result<(), Fatal> {
        self.charge(Cost { nodes: 1, bytes: 0, depth: 1 }, place)?;
        if self.wants_key() {
            return Err(complex_key(place));
        }
        self.open.push(Frame { place, anchor, content, key: None, seen: BTreeMap::new() });
        Ok(())
    }

    fn wants_key(&self) -> bool {
        self.open.last().is_some_and(|frame| matches!(frame.content, NodeContent::Mapping(_)) && frame.key.is_none())
    }

    fn charge(&mut self, cost: Cost, place: Place) -> Result<(), Fatal> {
        self.nodes += cost.nodes;
        self.bytes += cost.bytes;
        if self.open.len() + cost.depth > DEPTH_MAX {
            return Err(too_deep(place));
        }
        let (code, message) = if self.nodes > NODES_MAX {
            (Code::TooManyNodes, format!("more than {NODES_MAX} values, those that aliases stand for included"))
        } else if self.bytes > EXPANDED_BYTES_MAX {
            (Code::TooLarge, format!("more than {} MiB of text once aliases are written out", EXPANDED_BYTES_MAX >> 20))
        } else {
            return Ok(());
        };
        Err(Diagnostic::error(code, message).at(place).help("split the plan, or write it more plainly"))
    }

    fn attach(&mut self, node: Node, anchor: usize) -> Result<(), Fatal> {
        if anchor != 0 {
            // The copy is kept for aliases: it costs what any other value costs.
            self.charge(node.cost(), node.place)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut frame.content {
            NodeContent::Sequence(items) => items.push(node),
            NodeContent::Mapping(entries) => match frame.key.take() {
                None => frame.key = Some(key_of(node)?),
                Some((key, place)) => {
                    if let Some(fault) = refused_key(&frame.seen, &key, place) {
                        self.diagnostics.push(fault);
                    } else {
                        frame.seen.insert(key.clone(), place);
                        entries.push(NodeEntry { key, place, value: node });
                    }
                }
            },
            NodeContent::Scalar { .. } => unreachable!("a frame is a list or a mapping"),
        }
        Ok(())
    }
}

pub(crate) fn too_deep(place: Place) -> Diagnostic {
    let message = format!("lists and mappings stand more than {DEPTH_MAX} deep inside each other");
    Diagnostic::error(Code::TooDeep, message).at(place).help("write it with fewer levels")
}

fn key_of(node: Node) -> Result<(String, Place), Fatal> {
    match node.content {
        NodeContent::Scalar { text, .. } => Ok((text, node.place)),
        NodeContent::Sequence(_) | NodeContent::Mapping(_) => Err(complex_key(node.place)),
    }
}

fn complex_key(place: Place) -> Diagnostic {
    Diagnostic::error(Code::Syntax, "a key is a list or a mapping")
        .at(place)
        .help("keys are words; quote a text that has brackets")
}

/// The fault of a key that cannot be taken; the first of two equal keys counts.
fn refused_key(seen: &BTreeMap<String, Place>, key: &str, place: Place) -> Option<Diagnostic> {
    if key == "<<" {
        let fault = Diagnostic::error(Code::MergeKey, "the merge key `<<` is not part of YAML 1.2 and is not read");
        return Some(fault.at(place).help("write the keys out, or put what phases share under `defaults`"));
    }
    let first = seen.get(key)?;
    let fault =
        Diagnostic::error(Code::DuplicateKey, format!("duplicate key `{key}`, first written on line {}", first.line));
    Some(fault.at(place).help("rename one of the two, or put them together"))
}
