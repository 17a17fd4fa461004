//! The checks of every resume, and the issue that the work belongs to.

use crate::document::tree::Node;
use crate::id::PhaseId;
use crate::plan::freshness::{Freshness, GitFreshness, Issue, Probe, ProbeOf};
use crate::plan::keys::{GIT, ISSUE, PROBE};

use super::layers::{Layers, texts};

pub(super) fn freshness(root: &Node) -> Freshness {
    let Some(node) = root.get("freshness") else { return Freshness::default() };
    let git = node.get("git").map(|git_keys| git(Layers::alone(git_keys, &GIT))).unwrap_or_default();
    let probes = node.get("probes").map(Node::entries).unwrap_or_default();
    let probes = probes.iter().filter_map(|entry| {
        let of = probe_of(&entry.value)?;
        Some(Probe { name: entry.key.clone(), of, if_changed: Layers::alone(&entry.value, &PROBE).word("if-changed") })
    });
    Freshness { git, probes: probes.collect() }
}

fn git(keys: Layers<'_>) -> GitFreshness {
    GitFreshness {
        branch: keys.text("branch"),
        base: keys.text("base"),
        if_branch_gone: keys.word_if_written("if-branch-gone"),
        if_base_moved: keys.word_if_written("if-base-moved"),
        if_dirty: keys.word_if_written("if-dirty"),
    }
}

fn probe_of(node: &Node) -> Option<ProbeOf> {
    let text = |key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    let files = || node.get("files").map(|files| ProbeOf::Files(texts(files)));
    let command = text("command").map(ProbeOf::Command).or_else(files);
    command.or_else(|| text("issue").map(ProbeOf::Issue))
}

pub(super) fn issue(root: &Node) -> Option<Issue> {
    let node = root.get("issue")?;
    let issue = Layers::alone(node, &ISSUE);
    let states = node.get("states").map(Node::entries).unwrap_or_default();
    let states =
        states.iter().filter_map(|entry| Some((entry.key.clone(), PhaseId::new(entry.value.text()?)))).collect();
    Some(Issue {
        number: issue.text("number")?,
        provider: node.get("provider").and_then(Node::text).map(str::to_owned),
        states,
        sync: issue.word_if_written("sync"),
        if_ahead: issue.word_if_written("if-ahead"),
    })
}
