//! Parts that stand for themselves: limits, matrices, artifacts, approvals, external phases, rules of replanning.

use std::collections::BTreeMap;

use crate::document::tree::{Node, NodeContent};
use crate::document::units;
use crate::plan::keys::{
    APPROVAL, ARTIFACT_KEYS, BUDGET_KEYS, BUILT_IN_AGENTS, DETECT, EXTERNAL, LIMIT_KEYS, MATRIX, REQUIREMENT,
};
use crate::plan::parts::{
    Approval, Axis, Budget, DeclaredArtifact, Detect, External, KeepCopy, Limit, MAX_WAIT_DEFAULT, Matrix, Rate,
    ReplanKeys, Requirement, Scope,
};

use super::layers::{Layers, texts};

pub(super) fn limits(root: &Node) -> BTreeMap<String, Limit> {
    let entries = root.get("limits").map(Node::entries).unwrap_or_default();
    entries.iter().map(|entry| (entry.key.clone(), limit(&entry.key, &entry.value))).collect()
}

fn limit(name: &str, node: &Node) -> Limit {
    let keys = Layers::alone(node, &LIMIT_KEYS);
    // An account of an agent is the user's, whatever the project.
    let scope_default = if BUILT_IN_AGENTS.contains(&name) { Scope::User } else { Scope::Project };
    Limit {
        max_parallel: keys.count("max-parallel"),
        rate: keys.text("rate").and_then(|rate| units::rate(&rate)).map(|(count, window)| Rate { count, window }),
        budget: node.get("budget").map(budget),
        detect: node.get("detect").map(detect),
        when_limited: keys.word("when-limited"),
        max_wait: keys.duration("max-wait").unwrap_or(MAX_WAIT_DEFAULT),
        scope: keys.word_if_written("scope").unwrap_or(scope_default),
    }
}

fn budget(node: &Node) -> Budget {
    let keys = Layers::alone(node, &BUDGET_KEYS);
    Budget { usd: keys.number("usd"), tokens: keys.count("tokens").map(u64::from) }
}

fn detect(node: &Node) -> Detect {
    let keys = Layers::alone(node, &DETECT);
    Detect {
        exit_codes: keys.texts("exit-codes").iter().filter_map(|code| code.parse().ok()).collect(),
        output_matches: keys.text("output-matches"),
        reset_at: keys.text("reset-at"),
    }
}

pub(in crate::plan) fn matrix(node: &Node) -> Matrix {
    let keys = Layers::alone(node, &MATRIX);
    let axes = node.entries().iter().filter(|axis| MATRIX.find(&axis.key).is_none());
    let of_node = |node: &Node| match &node.content {
        NodeContent::Scalar { text, .. } => Axis::From(text.clone()),
        NodeContent::Sequence(_) | NodeContent::Mapping(_) => Axis::Values(texts(node)),
    };
    Matrix {
        axes: axes.map(|entry| (entry.key.clone(), of_node(&entry.value))).collect(),
        max_parallel: keys.count("max-parallel"),
        fail_fast: keys.flag("fail-fast"),
    }
}

pub(super) fn artifacts(node: &Node) -> Vec<DeclaredArtifact> {
    let read = node.entries().iter().map(|entry| {
        let block = &entry.value;
        let keys = Layers::alone(block, &ARTIFACT_KEYS);
        DeclaredArtifact {
            name: entry.key.clone(),
            path: block.text().map(str::to_owned).or_else(|| keys.text("path")).unwrap_or_default(),
            required: keys.flag("required"),
            keep: keep(keys),
            report: keys.text("kind").as_deref() == Some("report"),
            max_bytes: keys.size("max-size"),
        }
    });
    read.collect()
}

fn keep(artifact: Layers<'_>) -> KeepCopy {
    match (artifact.flag("keep"), artifact.text("keep").as_deref()) {
        (true, _) | (false, Some("forever")) => KeepCopy::Forever,
        (false, None) => KeepCopy::No,
        (false, Some(text)) => units::duration(text).map_or(KeepCopy::No, KeepCopy::For),
    }
}

pub(super) fn requirements(node: Option<&Node>) -> Vec<Requirement> {
    let items = node.map(Node::items).unwrap_or_default();
    let read = items.iter().filter_map(|item| {
        let keys = Layers::alone(item, &REQUIREMENT);
        let run = item.text().map(str::to_owned).or_else(|| keys.text("run"))?;
        Some(Requirement { run, message: keys.text("message") })
    });
    read.collect()
}

pub(super) fn approval(node: Option<&Node>) -> Approval {
    let keys = Layers::new(node, None, &APPROVAL);
    Approval {
        message: keys.text("message").unwrap_or_default(),
        show: keys.texts("show"),
        choices: Some(keys.texts("choices"))
            .filter(|choices| !choices.is_empty())
            .unwrap_or_else(|| APPROVAL.default_list("choices").iter().map(|choice| (*choice).to_owned()).collect()),
        who: keys.texts("who"),
        expires: keys.duration("expires"),
        if_expired: keys.word("if-expired"),
    }
}

pub(super) fn external(node: Option<&Node>) -> External {
    let keys = Layers::new(node, None, &EXTERNAL);
    External {
        instructions: keys.text("instructions").unwrap_or_default(),
        heartbeat: keys.duration("heartbeat"),
        if_silent: keys.word("if-silent"),
    }
}

/// As far as it is written: whose word counts where plan and phase both have one is decided when it is asked for.
pub(super) fn replan(keys: Layers<'_>) -> ReplanKeys {
    ReplanKeys {
        max: keys.count_if_written("max"),
        max_per_phase: keys.count_if_written("max-per-phase"),
        may_edit: keys.word_if_written("may-edit"),
        approval: keys.flag_if_written("approval"),
        run: keys.text("run"),
        when: keys.get("when").map(|_| keys.words("when")),
        complexity_max: keys.count_if_written("complexity-max"),
        tasks_max: keys.count_if_written("tasks-max"),
    }
}
