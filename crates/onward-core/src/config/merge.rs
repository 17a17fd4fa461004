//! Layers laid over each other: for every key the first that sets it counts, and where none does the default.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::checkpoint::{FileFormat, Trigger};
use crate::document::reference::preset;
use crate::document::units;
use crate::document::word::Word;
use crate::event::CommitRule;
use crate::plan::{GitCommit, MarkdownSettings, MayEdit, ReplanKeys, ReplanWhen, Switch, UnsaidNeeds};
use crate::resume::Auto;
use crate::retention::{KeepCount, Policy, RunAges};

use super::keys::{AGENTS, NAMED, leaves};
use super::read::Layer;

/// Completed phases per commit, where commits are asked for and no number is.
const COMMIT_EVERY_DEFAULT: u32 = 3;
const COMMIT_MESSAGE_DEFAULT: &str = "checkpoint: {places} complete";

/// The origin of what no file sets.
const DEFAULT: &str = "default";

/// The configuration in force, after all files and defaults were merged.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Every known key, in the order of the tables of keys.
    values: Vec<ConfigValue>,
    /// Settings of a file that nobody has trusted.
    not_in_force: Vec<ConfigValue>,
}

/// Variables that hold secrets. A project adds to those that its user names: it must not be able to take one out.
const ADDED_UP: &str = "redact.names";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigValue {
    /// Dotted.
    pub key: String,
    /// `null` where nothing is set and nothing stands in its place.
    pub value: Value,
    /// `FILE:LINE`, or `default`.
    pub origin: String,
}

/// The first layer counts most. A layer goes by the name of its file.
pub fn merge(layers: &[(String, Layer)]) -> Config {
    let mut values = Vec::new();
    for (key, field) in leaves() {
        let names = if NAMED.contains(&key.as_str()) { entries(layers, &key) } else { BTreeSet::new() };
        if names.is_empty() {
            let set = if key == ADDED_UP { added_up(layers, &key) } else { first(layers, &key) };
            values.push(set.unwrap_or_else(|| ConfigValue { key, value: preset(field), origin: DEFAULT.to_owned() }));
        } else {
            values.extend(names.into_iter().filter_map(|name| first(layers, name)));
        }
    }
    Config { values, not_in_force: Vec::new() }
}

/// The lists of all layers as one.
fn added_up(layers: &[(String, Layer)], key: &str) -> Option<ConfigValue> {
    let set = |layer: &(String, Layer)| first(std::slice::from_ref(layer), key);
    layers.iter().filter_map(set).reduce(|mut all, more| {
        if let (Value::Array(list), Value::Array(items)) = (&mut all.value, more.value) {
            let new: Vec<Value> = items.into_iter().filter(|item| !list.contains(item)).collect();
            list.extend(new);
        }
        all.origin = format!("{}, {}", all.origin, more.origin);
        all
    })
}

/// Each entry of such a table is a key of its own, so that a project that adds one does not lose those of its user.
fn entries<'a>(layers: &'a [(String, Layer)], table: &str) -> BTreeSet<&'a str> {
    let named = |key: &str| key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'));
    layers.iter().flat_map(|(_, layer)| layer.settings()).map(|(key, _)| key).filter(|key| named(key)).collect()
}

fn first(layers: &[(String, Layer)], key: &str) -> Option<ConfigValue> {
    let (origin, setting) = layers.iter().find_map(|(origin, layer)| Some((origin, layer.get(key)?)))?;
    let origin = format!("{origin}:{}", setting.place.line);
    Some(ConfigValue { key: key.to_owned(), value: setting.value.clone(), origin })
}

impl Default for Config {
    fn default() -> Self {
        merge(&[])
    }
}

/// The setting for the stored form of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    On,
    Off,
}

impl From<Switch> for Compression {
    fn from(switch: Switch) -> Self {
        match switch {
            Switch::On => Self::On,
            Switch::Off => Self::Off,
        }
    }
}

/// The setting for a store on a network file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnNetwork {
    Refused,
    Allowed,
}

impl Config {
    /// Every known key with its value, always in the same order.
    pub fn values(&self) -> Vec<ConfigValue> {
        self.values.clone()
    }

    /// Settings of a file that are not in force, since nobody has trusted them.
    pub fn not_in_force(&self) -> &[ConfigValue] {
        &self.not_in_force
    }

    /// Remembers what was taken out of a file before the files were laid over each other.
    #[must_use]
    pub fn without(self, file: &str, layer: &Layer) -> Self {
        let values = layer.settings().map(|(key, setting)| ConfigValue {
            key: key.to_owned(),
            value: setting.value.clone(),
            origin: format!("{file}:{}", setting.place.line),
        });
        Self { not_in_force: self.not_in_force.into_iter().chain(values).collect(), ..self }
    }

    pub fn resume_auto(&self) -> Auto {
        if self.word("resume.auto") == "never" { Auto::Never } else { Auto::Safe }
    }

    pub fn resume_max_age(&self) -> Duration {
        units::duration(self.word("resume.max_age")).expect("durations are checked when they are read")
    }

    /// The triggers that take a checkpoint, where a plan has a word on them, too. A person who asks for one always gets it.
    pub fn triggers(&self, plan: &BTreeMap<Trigger, Switch>) -> Vec<Trigger> {
        let automatic = self.flag("checkpoint.enabled") && self.flag("checkpoint.auto_checkpoint");
        let configured = |trigger: Trigger| match trigger {
            Trigger::Manual => true,
            Trigger::ConflictStart | Trigger::ConflictResolved => {
                automatic && self.flag("checkpoint.checkpoint_triggers.conflict_events")
            }
            Trigger::RunStart
            | Trigger::PhaseTransition
            | Trigger::BatchComplete
            | Trigger::AgentComplete
            | Trigger::UserInterrupt
            | Trigger::SessionEnd => {
                automatic && self.flag(&format!("checkpoint.checkpoint_triggers.{}", trigger.as_str()))
            }
        };
        let switched_on = |trigger: Trigger| match plan.get(&trigger).filter(|_| trigger != Trigger::Manual) {
            Some(Switch::On) => automatic,
            Some(Switch::Off) => false,
            None => configured(trigger),
        };
        Trigger::ALL.into_iter().filter(|trigger| switched_on(*trigger)).collect()
    }

    /// Whether the store may lie on a network file system.
    pub fn store_on_network(&self) -> OnNetwork {
        if self.word("store.network") == "allow" { OnNetwork::Allowed } else { OnNetwork::Refused }
    }

    /// How plans in Markdown are read.
    pub fn markdown(&self) -> MarkdownSettings {
        let agent = self.value("markdown.agent").as_str().map(str::to_owned);
        let unsaid = UnsaidNeeds::from_word(self.word("markdown.needs")).expect("words are checked when they are read");
        MarkdownSettings { agent, unsaid, replan: self.markdown_replan() }
    }

    /// How plans in Markdown may be changed; none where nothing is written about it.
    fn markdown_replan(&self) -> Option<ReplanKeys> {
        let key = |name: &str| format!("markdown.replan.{name}");
        let word = |name: &str| self.value(&key(name)).as_str().map(str::to_owned);
        let count = |name: &str| self.value(&key(name)).as_u64().and_then(|count| u32::try_from(count).ok());
        let when = self.value(&key("when")).as_array().map(|words| {
            words.iter().filter_map(Value::as_str).filter_map(ReplanWhen::from_word).collect::<Vec<ReplanWhen>>()
        });
        let keys = ReplanKeys {
            max: count("max"),
            max_per_phase: count("max-per-phase"),
            may_edit: word("may-edit").as_deref().and_then(MayEdit::from_word),
            approval: Some(self.flag(&key("approval"))).filter(|approval| !approval),
            run: word("run"),
            when,
            complexity_max: count("complexity-max"),
            tasks_max: count("tasks-max"),
        };
        (keys != ReplanKeys::default()).then_some(keys)
    }

    /// The agent that writes plans for tasks, where one is named.
    pub fn planning_agent(&self) -> Option<String> {
        self.value("plan.agent").as_str().map(str::to_owned)
    }

    /// The entry of a coding agent.
    pub fn agent(&self, name: &str) -> Option<&Value> {
        let key = format!("{AGENTS}.{name}");
        self.values.iter().find(|value| value.key == key).map(|value| &value.value)
    }

    pub fn snapshots(&self) -> bool {
        self.flag("checkpoint.snapshots")
    }

    /// When the work is committed along the way: as the plan says, and where it says nothing as the project does.
    pub fn commit_rule(&self, plan: Option<&GitCommit>) -> Option<CommitRule> {
        let key = |name: &str| self.value(&format!("checkpoint.git-commit.{name}"));
        let configured = key("every").as_u64().and_then(|every| u32::try_from(every).ok());
        let every = match plan {
            Some(plan) => plan.every.or(configured).unwrap_or(COMMIT_EVERY_DEFAULT),
            None => configured?,
        };
        let message = plan.and_then(|plan| plan.message.clone()).or_else(|| key("message").as_str().map(str::to_owned));
        let listed = || self.words("checkpoint.git-commit.trailers");
        let said = plan.and_then(|plan| plan.trailers.clone());
        let names_agents = said.is_none() && listed().is_empty();
        let trailers = said.unwrap_or_else(listed);
        let hooks = plan.and_then(|plan| plan.hooks).unwrap_or_else(|| self.flag("checkpoint.git-commit.hooks"));
        Some(CommitRule {
            every,
            message: message.unwrap_or_else(|| COMMIT_MESSAGE_DEFAULT.to_owned()),
            trailers,
            names_agents,
            hooks,
        })
    }

    /// How long things are kept.
    pub fn retention(&self) -> Policy {
        let keep = |trigger: Trigger| {
            let count = self.value(&format!("checkpoint.retention.{}", trigger.as_str())).as_i64();
            // Only -1 is below zero, and it means all.
            count.and_then(|count| u32::try_from(count).ok()).map_or(KeepCount::All, KeepCount::Newest)
        };
        Policy {
            keep: Trigger::ALL.into_iter().map(|trigger| (trigger, keep(trigger))).collect(),
            runs: RunAges::default(),
            bytes_max: self.value("checkpoint.storage.max_size_mb").as_u64().map(|mb| mb.saturating_mul(1_000_000)),
            logs: units::duration(self.word("logs.max_age")).expect("durations are checked when they are read"),
            older_than: None,
        }
    }

    /// Formats of other tools that are kept alongside: as the plan says, and where it says nothing as the project does.
    pub fn mirrors(&self, plan: Option<&[String]>) -> Vec<FileFormat> {
        let configured = self.words("checkpoint.mirror");
        plan.unwrap_or(&configured).iter().filter_map(|word| FileFormat::parse(word)).collect()
    }

    /// The folder of mirrors that are folders, where it is not the usual one.
    pub fn mirror_folder(&self) -> Option<String> {
        let told =
            self.values.iter().find(|value| value.key == "checkpoint.storage.location" && value.origin != DEFAULT);
        told.and_then(|told| told.value.as_str()).map(str::to_owned)
    }

    /// Whether stored content is compressed.
    pub fn compression(&self) -> Compression {
        if self.flag("checkpoint.storage.compress") { Compression::On } else { Compression::Off }
    }

    /// Variables that hold secrets although their names do not say so.
    pub fn secret_names(&self) -> Vec<String> {
        self.words("redact.names")
    }

    /// Variables that hold none although their names say so.
    pub fn no_secret_names(&self) -> Vec<String> {
        self.words("redact.except")
    }

    fn words(&self, key: &str) -> Vec<String> {
        self.value(key).as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    fn value(&self, key: &str) -> &Value {
        let found = self.values.iter().find(|value| value.key == key);
        found.map(|found| &found.value).expect("every known key has a value")
    }

    fn flag(&self, key: &str) -> bool {
        self.value(key).as_bool().expect("switches are checked when they are read")
    }

    fn word(&self, key: &str) -> &str {
        self.value(key).as_str().expect("words are checked when they are read")
    }
}
