//! What a plan says about change: of a phase's inputs, of the branch, of anything that a probe can see.

use serde::{Deserialize, Serialize};

use super::tree::Node;
use crate::id::PhaseId;

/// What is checked on every resume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freshness {
    #[serde(default)]
    pub git: GitFreshness,
    #[serde(default)]
    pub probes: Vec<Probe>,
}

impl Freshness {
    /// Nothing is said about it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Names may hold `${{ }}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitFreshness {
    pub branch: Option<String>,
    pub base: Option<String>,
    pub if_branch_gone: Option<IfChanged>,
    pub if_base_moved: Option<IfChanged>,
    pub if_dirty: Option<IfChanged>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    pub name: String,
    pub of: ProbeOf,
    pub if_changed: IfChanged,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeOf {
    /// What a command prints.
    Command(String),
    /// The content of files.
    Files(Vec<String>),
    /// The text of an issue.
    Issue(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IfChanged {
    Ignore,
    Warn,
    Ask,
    Stop,
    Rerun,
}

/// The issue that the work belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub number: String,
    /// The program that is asked; `gh` where nothing is said.
    pub provider: Option<String>,
    /// Labels and the phase that each stands for.
    pub states: Vec<(String, PhaseId)>,
}

pub(super) fn freshness(root: &Node) -> Freshness {
    let Some(node) = root.get("freshness") else { return Freshness::default() };
    let git = node.get("git").map(git).unwrap_or_default();
    let probes = node.get("probes").map(Node::entries).unwrap_or_default();
    let probes = probes.iter().filter_map(|entry| {
        let of = probe_of(&entry.value)?;
        let if_changed = if_changed(&entry.value, "if-changed").unwrap_or(IfChanged::Ask);
        Some(Probe { name: entry.key.clone(), of, if_changed })
    });
    Freshness { git, probes: probes.collect() }
}

fn git(node: &Node) -> GitFreshness {
    GitFreshness {
        branch: text(node, "branch"),
        base: text(node, "base"),
        if_branch_gone: if_changed(node, "if-branch-gone"),
        if_base_moved: if_changed(node, "if-base-moved"),
        if_dirty: if_changed(node, "if-dirty"),
    }
}

fn probe_of(node: &Node) -> Option<ProbeOf> {
    let files = || node.get("files").map(|files| ProbeOf::Files(texts(files)));
    let command = text(node, "command").map(ProbeOf::Command).or_else(files);
    command.or_else(|| text(node, "issue").map(ProbeOf::Issue))
}

fn if_changed(node: &Node, key: &str) -> Option<IfChanged> {
    match text(node, key)?.as_str() {
        "ignore" => Some(IfChanged::Ignore),
        "warn" => Some(IfChanged::Warn),
        "ask" => Some(IfChanged::Ask),
        "stop" => Some(IfChanged::Stop),
        "rerun" => Some(IfChanged::Rerun),
        _ => None,
    }
}

pub(super) fn issue(root: &Node) -> Option<Issue> {
    let node = root.get("issue")?;
    let states = node.get("states").map(Node::entries).unwrap_or_default();
    let states =
        states.iter().filter_map(|entry| Some((entry.key.clone(), PhaseId::new(entry.value.text()?)))).collect();
    Some(Issue { number: text(node, "number")?, provider: text(node, "provider"), states })
}

fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::text).map(str::to_owned)
}

fn texts(node: &Node) -> Vec<String> {
    node.items().iter().filter_map(Node::text).map(str::to_owned).collect()
}
