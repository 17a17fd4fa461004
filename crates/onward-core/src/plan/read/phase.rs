//! The phases of a plan, with `defaults` filled in.

use std::collections::BTreeMap;

use serde_json::{Map, Number};

use crate::diagnostic::Place;
use crate::document::check_value::{boolean, integer, number};
use crate::document::tree::{Node, NodeContent, Quoting};
use crate::expression::Condition;
use crate::id::PhaseId;
use crate::plan::keys::{AGENT, BACKOFF, KINDS, NEED_KEYS, PHASE, REPLAN, RETRY};
use crate::plan::model::{Backoff, Body, Need, Phase, Retry};
use crate::plan::parts::Uses;

use super::layers::{Layers, pairs};
use super::parts;

/// A phase, and what the checks want to know beyond it.
pub(in crate::plan) struct Draft {
    pub(in crate::plan) phase: Phase,
    /// Of its id.
    pub(in crate::plan) place: Place,
    /// Of each entry of `needs`, in the same order.
    pub(in crate::plan) need_places: Vec<Place>,
    /// Empty where nothing says how it is done.
    pub(in crate::plan) kind: &'static str,
    /// With their places.
    pub(in crate::plan) limits: Vec<(String, Place)>,
    pub(in crate::plan) axes: Vec<String>,
    pub(in crate::plan) probed: bool,
    pub(in crate::plan) outputs_declared: bool,
}

impl Draft {
    pub(in crate::plan) fn id(&self) -> &str {
        self.phase.id.as_str()
    }
}

/// The phases under `key`.
pub(in crate::plan) fn drafts(root: &Node, key: &str) -> Vec<Draft> {
    let defaults = root.get("defaults");
    let entries = root.get(key).map(Node::entries).unwrap_or_default();
    entries
        .iter()
        .map(|entry| draft(&entry.key, entry.place, Layers::new(Some(&entry.value), defaults, &PHASE)))
        .collect()
}

fn draft(id: &str, place: Place, keys: Layers<'_>) -> Draft {
    let own = |key: &str| keys.own(key);
    let own_text = |key: &str| own(key).and_then(Node::text).map(str::to_owned);
    let own_texts = |key: &str| own(key).map(super::texts).unwrap_or_default();
    let (needs, need_places) = needs(own("needs"));
    let kind = KINDS.iter().copied().find(|kind| own(kind).is_some()).unwrap_or_default();
    let places = keys.get("limits").map(Node::items).unwrap_or_default();
    let limits: Vec<(String, Place)> =
        places.iter().filter_map(|item| Some((item.text()?.to_owned(), item.place))).collect();
    let matrix = own("matrix").map(parts::matrix);
    let axes = matrix.iter().flat_map(|matrix| &matrix.axes).map(|(name, _)| name.clone()).collect();
    let plain = Phase::new(PhaseId::new(id), body(kind, keys));
    Draft {
        phase: Phase {
            name: own_text("name"),
            description: own_text("description"),
            needs,
            env: env(keys),
            working_directory: keys.text("working-directory"),
            timeout: keys.duration("timeout"),
            retry: keys.inner("retry", &RETRY).map_or_else(|| plain.retry.clone(), retry),
            outputs: own("outputs").map(pairs).unwrap_or_default().into_iter().collect(),
            writes: own_texts("writes"),
            effects: keys.word("effects"),
            priority: keys.word("priority"),
            value: keys.word_if_written("kind"),
            on_interrupt: keys.word_if_written("on-interrupt"),
            condition: own_text("if").and_then(|text| Condition::parse(&text).ok()),
            matrix,
            reads: own_texts("reads"),
            artifacts: own("artifacts").map(parts::artifacts).unwrap_or_default(),
            verify: own_texts("verify"),
            done_when: own_texts("done-when"),
            fingerprint: keys.texts("fingerprint"),
            locks: keys.texts("locks"),
            limits: limits.iter().map(|(name, _)| name.clone()).collect(),
            on_failure: keys.word_if_written("on-failure"),
            on_change: keys.word_if_written("on-change"),
            requires: parts::requirements(own("requires")),
            replan: keys.inner("replan", &REPLAN).map(parts::replan),
            tasks: own_texts("tasks"),
            ..plain
        },
        place,
        need_places,
        kind,
        limits,
        axes,
        probed: own("done-when").is_some(),
        outputs_declared: own("outputs").is_some(),
    }
}

fn needs(node: Option<&Node>) -> (Vec<Need>, Vec<Place>) {
    let items = node.map(Node::items).unwrap_or_default();
    let read = items.iter().filter_map(|item| {
        let keys = Layers::alone(item, &NEED_KEYS);
        let phase = item.text().map(str::to_owned).or_else(|| keys.text("phase"))?;
        let must_be_completed = keys.text("state").is_some();
        Some((Need { phase: PhaseId::new(phase), must_be_completed, staleness: keys.word("staleness") }, item.place))
    });
    read.unzip()
}

fn body(kind: &str, keys: Layers<'_>) -> Body {
    let block = keys.own(kind);
    match kind {
        "agent" => Body::Agent(keys.inner("agent", &AGENT).map_or(serde_json::Value::Null, merged)),
        "approval" => Body::Approval(parts::approval(block)),
        "external" => Body::External(parts::external(block)),
        "uses" => {
            let with = keys.own("with").map(pairs).unwrap_or_default();
            Body::Uses(Uses { path: block.and_then(Node::text).unwrap_or_default().to_owned(), with })
        }
        _ => {
            let shell = keys.text("shell").unwrap_or_default();
            let shell = shell.split_whitespace().map(str::to_owned).collect();
            Body::Run { script: block.and_then(Node::text).unwrap_or_default().to_owned(), shell }
        }
    }
}

fn env(keys: Layers<'_>) -> Vec<(String, String)> {
    let mut env = keys.shared("env").map(pairs).unwrap_or_default();
    let known: BTreeMap<String, usize> =
        env.iter().enumerate().map(|(index, (name, _))| (name.clone(), index)).collect();
    for (name, value) in keys.own("env").map(pairs).unwrap_or_default() {
        match known.get(&name) {
            Some(index) => env[*index].1 = value,
            None => env.push((name, value)),
        }
    }
    env
}

fn retry(keys: Layers<'_>) -> Retry {
    Retry {
        max: keys.count("max").unwrap_or_default(),
        when: keys.words("when"),
        backoff: keys.inner("backoff", &BACKOFF).map(backoff).unwrap_or_default(),
        output_matches: keys.text("output-matches"),
    }
}

fn backoff(keys: Layers<'_>) -> Backoff {
    let plain = Backoff::default();
    Backoff {
        initial: keys.duration("initial").unwrap_or(plain.initial),
        factor: keys.number("factor").unwrap_or(plain.factor),
        max: keys.duration("max").unwrap_or(plain.max),
        jitter: keys.flag("jitter"),
    }
}

/// The mapping with what the defaults add, as JSON.
pub(super) fn merged(keys: Layers<'_>) -> serde_json::Value {
    let mut all = Map::new();
    for entry in keys.mappings().flat_map(Node::entries) {
        all.insert(entry.key.clone(), to_json(&entry.value));
    }
    serde_json::Value::Object(all)
}

/// Plain words that YAML 1.2 gives a meaning get it; all other text stays text.
fn to_json(node: &Node) -> serde_json::Value {
    match &node.content {
        NodeContent::Sequence(items) => items.iter().map(to_json).collect(),
        NodeContent::Mapping(entries) => {
            serde_json::Value::Object(entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.value))).collect())
        }
        NodeContent::Scalar { text, quoting: Quoting::Plain } if matches!(text.as_str(), "" | "~" | "null") => {
            serde_json::Value::Null
        }
        NodeContent::Scalar { text, quoting } => {
            let float = || number(text, *quoting).and_then(Number::from_f64).map(serde_json::Value::Number);
            let whole = || integer(text, *quoting).map(serde_json::Value::from);
            let known = boolean(text, *quoting).map(serde_json::Value::Bool).or_else(whole).or_else(float);
            known.unwrap_or_else(|| serde_json::Value::String(text.clone()))
        }
    }
}
