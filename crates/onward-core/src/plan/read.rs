//! From a tree to the model. What the checker refused is left out here, so that the rest can still be looked at.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Number};

use crate::diagnostic::Place;
use crate::id::PhaseId;

use super::check_scalar::{boolean, integer, number};
use super::freshness::Checks;
use super::keys::KINDS;
use super::model::{
    Backoff, Body, Effects, InputKind, InputSpec, MAX_PARALLEL_DEFAULT, Need, OnInterrupt, Phase, Plan, PlanFailure,
    Priority, Retry, RetryWhen, Value,
};
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
    pub(super) locks: Vec<String>,
    pub(super) limits: Vec<(String, Place)>,
    pub(super) reads: Vec<String>,
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
        name: text(root, "name").unwrap_or_else(|| NAME_DEFAULT.to_owned()),
        run_name: text(root, "run-name"),
        description: text(root, "description"),
        kind: text(root, "type").unwrap_or_else(|| TYPE_DEFAULT.to_owned()),
        inputs: inputs(root),
        env: root.get("env").map(pairs).unwrap_or_default(),
        max_parallel: max_parallel.unwrap_or(MAX_PARALLEL_DEFAULT),
        on_failure: match text(root, "on-failure").as_deref() {
            Some("stop") => PlanFailure::Stop,
            Some("continue") => PlanFailure::Continue,
            Some(_) | None => PlanFailure::Finish,
        },
        phases: Vec::new(),
        finally: Vec::new(),
        freshness: freshness::freshness(root),
        issue: freshness::issue(root),
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
struct Layers<'a> {
    own: &'a Node,
    defaults: Option<&'a Node>,
}

impl<'a> Layers<'a> {
    fn get(self, key: &str) -> Option<&'a Node> {
        self.own.get(key).or_else(|| self.shared(key))
    }

    fn shared(self, key: &str) -> Option<&'a Node> {
        self.defaults.and_then(|defaults| defaults.get(key))
    }

    /// The mapping under a key: what the phase says, and of the defaults what it does not say.
    fn inner(self, key: &str) -> Option<Layers<'a>> {
        match (self.own.get(key), self.shared(key)) {
            (Some(own), defaults) => Some(Layers { own, defaults }),
            (None, Some(own)) => Some(Layers { own, defaults: None }),
            (None, None) => None,
        }
    }

    fn text(self, key: &str) -> Option<String> {
        self.get(key).and_then(Node::text).map(str::to_owned)
    }

    fn texts(self, key: &str) -> Vec<String> {
        self.get(key).map(texts).unwrap_or_default()
    }

    fn duration(self, key: &str) -> Option<Duration> {
        self.text(key).and_then(|text| units::duration(&text).ok())
    }
}

fn draft(id: &str, place: Place, layers: Layers<'_>) -> Draft {
    let own = layers.own;
    let (needs, need_places) = needs(own);
    let kind = KINDS.iter().copied().find(|kind| own.get(kind).is_some()).unwrap_or_default();
    let places = |key: &str| layers.get(key).map(Node::items).unwrap_or_default();
    let limits = places("limits").iter().filter_map(|item| Some((item.text()?.to_owned(), item.place))).collect();
    let axes = own.get("matrix").map(Node::entries).unwrap_or_default();
    let axes = axes.iter().filter(|axis| !matches!(axis.key.as_str(), "max-parallel" | "fail-fast"));
    Draft {
        phase: Phase {
            id: PhaseId::new(id),
            name: text(own, "name"),
            description: text(own, "description"),
            needs,
            body: body(kind, layers),
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
            checks: checks(layers),
        },
        place,
        need_places,
        kind,
        locks: layers.texts("locks"),
        limits,
        reads: layers.texts("reads"),
        axes: axes.map(|axis| axis.key.clone()).collect(),
        probed: own.get("done-when").is_some(),
        outputs_declared: own.get("outputs").is_some(),
    }
}

fn needs(own: &Node) -> (Vec<Need>, Vec<Place>) {
    let items = own.get("needs").map(Node::items).unwrap_or_default();
    let read = items.iter().filter_map(|item| {
        let phase = item.text().or_else(|| item.get("phase").and_then(Node::text))?;
        let must_be_completed = item.get("state").and_then(Node::text) == Some("completed");
        Some((Need { phase: PhaseId::new(phase), must_be_completed }, item.place))
    });
    read.unzip()
}

fn body(kind: &str, layers: Layers<'_>) -> Body {
    let block = layers.own.get(kind);
    let whole = || block.map_or(serde_json::Value::Null, to_json);
    match kind {
        "agent" => Body::Agent(layers.inner("agent").map_or(serde_json::Value::Null, merged)),
        "approval" => Body::Approval(whole()),
        "external" => Body::External(whole()),
        "uses" => {
            let with = layers.own.get("with").map(pairs).unwrap_or_default();
            let with = with.into_iter().map(|(name, value)| (name, serde_json::Value::String(value)));
            let path = block.and_then(Node::text).unwrap_or_default();
            Body::Uses(serde_json::json!({ "uses": path, "with": with.collect::<Map<_, _>>() }))
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

fn checks(layers: Layers<'_>) -> Checks {
    Checks {
        reads: layers.texts("reads"),
        fingerprint: layers.texts("fingerprint"),
        done_when: layers.own.get("done-when").map(texts).unwrap_or_default(),
        on_change: layers.text("on-change").as_deref().and_then(freshness::on_change),
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

fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::text).map(str::to_owned)
}

fn texts(node: &Node) -> Vec<String> {
    node.items().iter().filter_map(Node::text).map(str::to_owned).collect()
}

fn pairs(node: &Node) -> Vec<(String, String)> {
    node.entries().iter().filter_map(|entry| Some((entry.key.clone(), entry.value.text()?.to_owned()))).collect()
}

fn scalar(node: &Node) -> Option<(&str, bool)> {
    match &node.content {
        Content::Scalar { text, plain } => Some((text, *plain)),
        Content::Sequence(_) | Content::Mapping(_) => None,
    }
}

fn whole(node: &Node) -> Option<i64> {
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
