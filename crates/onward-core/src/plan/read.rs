//! From a tree to the model. What the checker refused is left out here, so that the rest can still be looked at.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Number};

use crate::diagnostic::Place;
use crate::id::PhaseId;

use super::check_scalar::{boolean, integer, number};
use super::keys::KINDS;
use super::model::{
    Backoff, Body, Effects, GitCommit, InputKind, InputSpec, MAX_PARALLEL_DEFAULT, Need, OnInterrupt, Phase, Plan,
    PlanFailure, Priority, Retry, RetryWhen, Staleness, Value,
};
use super::parts::Uses;
use super::read_parts;
use super::tree::{Content, Node};
use super::{freshness, units};

/// The name of a plan that has none.
const NAME_DEFAULT: &str = "plan";
const TYPE_DEFAULT: &str = "run";
const SHELL_DEFAULT: &[&str] = &["sh", "-e"];

/// A phase, and what the checks want to know beyond it.
pub(super) struct Draft {
    pub(super) phase: Phase,
    /// Of its id.
    pub(super) place: Place,
    /// Of each entry of `needs`, in the same order.
    pub(super) need_places: Vec<Place>,
    /// Empty where nothing says how it is done.
    pub(super) kind: &'static str,
    /// With their places.
    pub(super) limits: Vec<(String, Place)>,
    pub(super) axes: Vec<String>,
    pub(super) probed: bool,
    pub(super) outputs_declared: bool,
}

impl Draft {
    pub(super) fn id(&self) -> &str {
        self.phase.id.as_str()
    }
}

/// The plan without its phases.
pub(super) fn plan(root: &Node) -> Plan {
    let max_parallel = root.get("max-parallel").and_then(whole).and_then(|count| u32::try_from(count).ok());
    Plan {
        run_name: text(root, "run-name"),
        description: text(root, "description"),
        inputs: inputs(root),
        env: root.get("env").map(pairs).unwrap_or_default(),
        max_parallel: max_parallel.unwrap_or(MAX_PARALLEL_DEFAULT),
        on_failure: match text(root, "on-failure").as_deref() {
            Some("stop") => PlanFailure::Stop,
            Some("continue") => PlanFailure::Continue,
            Some(_) | None => PlanFailure::Finish,
        },
        git_commit: root.get("checkpoint").and_then(|checkpoint| checkpoint.get("git-commit")).map(git_commit),
        limits: read_parts::limits(root),
        replan: root.get("replan").map(|node| read_parts::replan(Layers::alone(node))),
        freshness: freshness::freshness(root),
        issue: freshness::issue(root),
        ..Plan::new(
            text(root, "name").unwrap_or_else(|| NAME_DEFAULT.to_owned()),
            text(root, "type").unwrap_or_else(|| TYPE_DEFAULT.to_owned()),
        )
    }
}

fn git_commit(node: &Node) -> GitCommit {
    GitCommit {
        every: node.get("every").and_then(whole).and_then(|count| u32::try_from(count).ok()),
        message: text(node, "message"),
        trailers: node.get("trailers").map(texts),
        hooks: node.get("hooks").and_then(scalar).and_then(|(text, plain)| boolean(text, plain)),
    }
}

/// The phases under `key`, with `defaults` filled in.
pub(super) fn drafts(root: &Node, key: &str) -> Vec<Draft> {
    let defaults = root.get("defaults");
    let entries = root.get(key).map(Node::entries).unwrap_or_default();
    entries.iter().map(|entry| draft(&entry.key, entry.place, Layers { own: &entry.value, defaults })).collect()
}

/// A phase over what phases share.
#[derive(Clone, Copy)]
pub(super) struct Layers<'a> {
    pub(super) own: &'a Node,
    pub(super) defaults: Option<&'a Node>,
}

impl<'a> Layers<'a> {
    /// A mapping that shares nothing.
    pub(super) fn alone(own: &'a Node) -> Self {
        Self { own, defaults: None }
    }

    pub(super) fn get(self, key: &str) -> Option<&'a Node> {
        self.own.get(key).or_else(|| self.shared(key))
    }

    fn shared(self, key: &str) -> Option<&'a Node> {
        self.defaults.and_then(|defaults| defaults.get(key))
    }

    /// The mapping under a key: what the phase says, and of the defaults what it does not say.
    pub(super) fn inner(self, key: &str) -> Option<Layers<'a>> {
        match (self.own.get(key), self.shared(key)) {
            (Some(own), defaults) => Some(Layers { own, defaults }),
            (None, Some(own)) => Some(Layers { own, defaults: None }),
            (None, None) => None,
        }
    }

    pub(super) fn text(self, key: &str) -> Option<String> {
        self.get(key).and_then(Node::text).map(str::to_owned)
    }

    pub(super) fn texts(self, key: &str) -> Vec<String> {
        self.get(key).map(texts).unwrap_or_default()
    }

    pub(super) fn duration(self, key: &str) -> Option<Duration> {
        self.text(key).and_then(|text| units::duration(&text).ok())
    }
}

fn draft(id: &str, place: Place, layers: Layers<'_>) -> Draft {
    let own = layers.own;
    let (needs, need_places) = needs(own);
    let kind = KINDS.iter().copied().find(|kind| own.get(kind).is_some()).unwrap_or_default();
    let places = |key: &str| layers.get(key).map(Node::items).unwrap_or_default();
    let limits: Vec<(String, Place)> =
        places("limits").iter().filter_map(|item| Some((item.text()?.to_owned(), item.place))).collect();
    let matrix = own.get("matrix").map(read_parts::matrix);
    let axes = matrix.iter().flat_map(|matrix| &matrix.axes).map(|(name, _)| name.clone()).collect();
    Draft {
        phase: Phase {
            name: text(own, "name"),
            description: text(own, "description"),
            needs,
            env: env(layers),
            working_directory: layers.text("working-directory"),
            timeout: layers.duration("timeout"),
            retry: layers.inner("retry").map(retry).unwrap_or_default(),
            outputs: own.get("outputs").map(pairs).unwrap_or_default().into_iter().collect(),
            writes: own.get("writes").map(texts).unwrap_or_default(),
            effects: effects(layers),
            priority: priority(layers),
            value: value(own),
            on_interrupt: on_interrupt(layers),
            condition: text(own, "if"),
            matrix,
            reads: own.get("reads").map(texts).unwrap_or_default(),
            artifacts: own.get("artifacts").map(read_parts::artifacts).unwrap_or_default(),
            verify: own.get("verify").map(texts).unwrap_or_default(),
            done_when: own.get("done-when").map(texts).unwrap_or_default(),
            fingerprint: layers.texts("fingerprint"),
            locks: layers.texts("locks"),
            limits: limits.iter().map(|(name, _)| name.clone()).collect(),
            on_failure: read_parts::on_failure(layers),
            on_change: read_parts::on_change(layers),
            replan: layers.inner("replan").map(read_parts::replan),
            ..Phase::new(PhaseId::new(id), body(kind, layers))
        },
        place,
        need_places,
        kind,
        limits,
        axes,
        probed: own.get("done-when").is_some(),
        outputs_declared: own.get("outputs").is_some(),
    }
}

fn needs(own: &Node) -> (Vec<Need>, Vec<Place>) {
    let items = own.get("needs").map(Node::items).unwrap_or_default();
    let read = items.iter().filter_map(|item| {
        let phase = item.text().or_else(|| item.get("phase").and_then(Node::text))?;
        let must_be_completed = item.get("state").and_then(Node::text) == Some("completed");
        let staleness = match item.get("staleness").and_then(Node::text) {
            Some("inherit") => Staleness::Inherit,
            Some("ignore") => Staleness::Ignore,
            Some(_) | None => Staleness::Outputs,
        };
        Some((Need { phase: PhaseId::new(phase), must_be_completed, staleness }, item.place))
    });
    read.unzip()
}

fn body(kind: &str, layers: Layers<'_>) -> Body {
    let block = layers.own.get(kind);
    match kind {
        "agent" => Body::Agent(layers.inner("agent").map_or(serde_json::Value::Null, merged)),
        "approval" => Body::Approval(read_parts::approval(block)),
        "external" => Body::External(read_parts::external(block)),
        "uses" => {
            let with = layers.own.get("with").map(pairs).unwrap_or_default();
            Body::Uses(Uses { path: block.and_then(Node::text).unwrap_or_default().to_owned(), with })
        }
        _ => {
            let words = layers.text("shell").map(|words| words.split_whitespace().map(str::to_owned).collect());
            let shell = words.unwrap_or_else(|| SHELL_DEFAULT.iter().map(|word| (*word).to_owned()).collect());
            Body::Run { script: block.and_then(Node::text).unwrap_or_default().to_owned(), shell }
        }
    }
}

fn env(layers: Layers<'_>) -> Vec<(String, String)> {
    let mut env = layers.shared("env").map(pairs).unwrap_or_default();
    let known: BTreeMap<String, usize> =
        env.iter().enumerate().map(|(index, (name, _))| (name.clone(), index)).collect();
    for (name, value) in layers.own.get("env").map(pairs).unwrap_or_default() {
        match known.get(&name) {
            Some(index) => env[*index].1 = value,
            None => env.push((name, value)),
        }
    }
    env
}

fn retry(layers: Layers<'_>) -> Retry {
    let plain = Retry::default();
    let when = layers.get("when").map(Node::items).unwrap_or_default();
    let when: Vec<RetryWhen> = when.iter().filter_map(|item| retry_when(item.text()?)).collect();
    let max = layers.get("max").and_then(whole).and_then(|max| u32::try_from(max).ok());
    Retry {
        max: max.unwrap_or(plain.max),
        when: if layers.get("when").is_some() { when } else { plain.when },
        backoff: layers.inner("backoff").map(backoff).unwrap_or_default(),
        output_matches: layers.text("output-matches"),
    }
}

fn retry_when(word: &str) -> Option<RetryWhen> {
    match word {
        "failed" => Some(RetryWhen::Failed),
        "timed-out" => Some(RetryWhen::TimedOut),
        "infra" => Some(RetryWhen::Infra),
        _ => None,
    }
}

fn backoff(layers: Layers<'_>) -> Backoff {
    let plain = Backoff::default();
    let scalar = |key: &str| layers.get(key).and_then(scalar);
    Backoff {
        initial: layers.duration("initial").unwrap_or(plain.initial),
        factor: scalar("factor").and_then(|(text, plain)| number(text, plain)).unwrap_or(plain.factor),
        max: layers.duration("max").unwrap_or(plain.max),
        jitter: scalar("jitter").and_then(|(text, plain)| boolean(text, plain)).unwrap_or(plain.jitter),
    }
}

fn effects(layers: Layers<'_>) -> Effects {
    match layers.text("effects").as_deref() {
        Some("none") => Effects::None,
        Some("external") => Effects::External,
        Some(_) | None => Effects::Files,
    }
}

fn priority(layers: Layers<'_>) -> Priority {
    match layers.text("priority").as_deref() {
        Some("critical") => Priority::Critical,
        Some("high") => Priority::High,
        Some("low") => Priority::Low,
        Some(_) | None => Priority::Normal,
    }
}

fn value(own: &Node) -> Option<Value> {
    match own.get("kind").and_then(Node::text)? {
        "issue" => Some(Value::Issue),
        "commit" => Some(Value::Commit),
        "code" => Some(Value::Code),
        "docs" => Some(Value::Docs),
        _ => None,
    }
}

fn on_interrupt(layers: Layers<'_>) -> Option<OnInterrupt> {
    match layers.text("on-interrupt")?.as_str() {
        "continue" => Some(OnInterrupt::Continue),
        "rerun" => Some(OnInterrupt::Rerun),
        "rerun-clean" => Some(OnInterrupt::RerunClean),
        "ask" => Some(OnInterrupt::Ask),
        _ => None,
    }
}

fn inputs(root: &Node) -> BTreeMap<String, InputSpec> {
    let entries = root.get("inputs").map(Node::entries).unwrap_or_default();
    entries.iter().map(|entry| (entry.key.clone(), input(&entry.value))).collect()
}

pub(super) fn input(node: &Node) -> InputSpec {
    let kind = match node.get("type").and_then(Node::text) {
        Some("integer") => InputKind::Integer,
        Some("number") => InputKind::Number,
        Some("boolean") => InputKind::Boolean,
        Some("date") => InputKind::Date,
        Some("choice") => InputKind::Choice { choices: node.get("choices").map(texts).unwrap_or_default() },
        Some(_) | None => InputKind::String,
    };
    let required = node.get("required").and_then(scalar).and_then(|(text, plain)| boolean(text, plain));
    InputSpec {
        kind,
        required: required.unwrap_or(false),
        default: text(node, "default"),
        description: text(node, "description"),
    }
}

pub(super) fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::text).map(str::to_owned)
}

pub(super) fn texts(node: &Node) -> Vec<String> {
    node.items().iter().filter_map(Node::text).map(str::to_owned).collect()
}

pub(super) fn pairs(node: &Node) -> Vec<(String, String)> {
    node.entries().iter().filter_map(|entry| Some((entry.key.clone(), entry.value.text()?.to_owned()))).collect()
}

pub(super) fn scalar(node: &Node) -> Option<(&str, bool)> {
    match &node.content {
        Content::Scalar { text, plain } => Some((text, *plain)),
        Content::Sequence(_) | Content::Mapping(_) => None,
    }
}

pub(super) fn whole(node: &Node) -> Option<i64> {
    scalar(node).and_then(|(text, plain)| integer(text, plain))
}

/// The mapping with what the defaults add, as JSON.
fn merged(layers: Layers<'_>) -> serde_json::Value {
    let mut all = Map::new();
    for node in layers.defaults.into_iter().chain([layers.own]) {
        for entry in node.entries() {
            all.insert(entry.key.clone(), to_json(&entry.value));
        }
    }
    serde_json::Value::Object(all)
}

/// Plain words that YAML 1.2 gives a meaning get it; all other text stays text.
fn to_json(node: &Node) -> serde_json::Value {
    match &node.content {
        Content::Sequence(items) => items.iter().map(to_json).collect(),
        Content::Mapping(entries) => {
            serde_json::Value::Object(entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.value))).collect())
        }
        Content::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null") => serde_json::Value::Null,
        Content::Scalar { text, plain } => {
            let float = || number(text, *plain).and_then(Number::from_f64).map(serde_json::Value::Number);
            let whole = || integer(text, *plain).map(serde_json::Value::from);
            let known = boolean(text, *plain).map(serde_json::Value::Bool).or_else(whole).or_else(float);
            known.unwrap_or_else(|| serde_json::Value::String(text.clone()))
        }
    }
}
