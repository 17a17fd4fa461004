//! From a tree to the parts of the model that stand for themselves. As in `read`, what was refused is left out.

use std::collections::BTreeMap;

use super::check_scalar::{boolean, number};
use super::keys::BUILT_IN_AGENTS;
use super::model::{OnChange, PhaseFailure};
use super::parts::{
    APPROVE, Approval, Artifact, Axis, Budget, Detect, External, IfExpired, IfSilent, Keep, Limit, MAX_WAIT_DEFAULT,
    Matrix, MayEdit, REJECT, Rate, ReplanKeys, ReplanWhen, Scope, WhenLimited,
};
use super::read::{Layers, scalar, text, texts, whole};
use super::tree::{Content, Node};
use super::units;

pub(super) fn limits(root: &Node) -> BTreeMap<String, Limit> {
    let entries = root.get("limits").map(Node::entries).unwrap_or_default();
    entries.iter().map(|entry| (entry.key.clone(), limit(&entry.key, &entry.value))).collect()
}

fn limit(name: &str, node: &Node) -> Limit {
    Limit {
        max_parallel: count(node, "max-parallel"),
        rate: text(node, "rate").and_then(|rate| units::rate(&rate)).map(|(count, window)| Rate { count, window }),
        budget: node.get("budget").map(budget),
        detect: node.get("detect").map(detect),
        when_limited: match text(node, "when-limited").as_deref() {
            Some("pause") => WhenLimited::Pause,
            Some("fail") => WhenLimited::Fail,
            Some(_) | None => WhenLimited::Wait,
        },
        max_wait: Layers::alone(node).duration("max-wait").unwrap_or(MAX_WAIT_DEFAULT),
        scope: match text(node, "scope").as_deref() {
            Some("run") => Scope::Run,
            Some("user") => Scope::User,
            // An account of an agent is the user's, whatever the project.
            None if BUILT_IN_AGENTS.contains(&name) => Scope::User,
            Some(_) | None => Scope::Project,
        },
    }
}

fn budget(node: &Node) -> Budget {
    let usd = node.get("usd").and_then(scalar).and_then(|(text, plain)| number(text, plain));
    Budget { usd, tokens: node.get("tokens").and_then(whole).and_then(|tokens| u64::try_from(tokens).ok()) }
}

fn detect(node: &Node) -> Detect {
    let codes = node.get("exit-codes").map(Node::items).unwrap_or_default();
    Detect {
        exit_codes: codes.iter().filter_map(whole).filter_map(|code| i32::try_from(code).ok()).collect(),
        output_matches: text(node, "output-matches"),
        reset_at: text(node, "reset-at"),
    }
}

pub(super) fn matrix(node: &Node) -> Matrix {
    let axes = node.entries().iter().filter(|axis| !matches!(axis.key.as_str(), "max-parallel" | "fail-fast"));
    let of_node = |node: &Node| match &node.content {
        Content::Scalar { text, .. } => Axis::From(text.clone()),
        Content::Sequence(_) | Content::Mapping(_) => Axis::Values(texts(node)),
    };
    Matrix {
        axes: axes.map(|entry| (entry.key.clone(), of_node(&entry.value))).collect(),
        max_parallel: count(node, "max-parallel"),
        fail_fast: flag(node, "fail-fast").unwrap_or(false),
    }
}

pub(super) fn artifacts(node: &Node) -> Vec<Artifact> {
    let read = node.entries().iter().map(|entry| {
        let block = &entry.value;
        Artifact {
            name: entry.key.clone(),
            path: block.text().map(str::to_owned).or_else(|| text(block, "path")).unwrap_or_default(),
            required: flag(block, "required").unwrap_or(true),
            keep: keep(block),
            max_bytes: text(block, "max-size").and_then(|size| units::size(&size)),
        }
    });
    read.collect()
}

fn keep(node: &Node) -> Keep {
    match (flag(node, "keep"), text(node, "keep").as_deref()) {
        (Some(true), _) | (None, Some("forever")) => Keep::Forever,
        (Some(false), _) | (None, None) => Keep::No,
        (None, Some(text)) => units::duration(text).map_or(Keep::No, Keep::For),
    }
}

pub(super) fn approval(node: Option<&Node>) -> Approval {
    let of = |key: &str| node.and_then(|node| node.get(key));
    let choices = of("choices").map(texts).filter(|choices| !choices.is_empty());
    Approval {
        message: of("message").and_then(Node::text).unwrap_or_default().to_owned(),
        show: of("show").map(texts).unwrap_or_default(),
        choices: choices.unwrap_or_else(|| vec![APPROVE.to_owned(), REJECT.to_owned()]),
        who: of("who").map(texts).unwrap_or_default(),
        expires: node.and_then(|node| Layers::alone(node).duration("expires")),
        if_expired: match of("if-expired").and_then(Node::text) {
            Some("approve") => IfExpired::Approve,
            Some("reject") => IfExpired::Reject,
            Some(_) | None => IfExpired::Pause,
        },
    }
}

pub(super) fn external(node: Option<&Node>) -> External {
    let of = |key: &str| node.and_then(|node| node.get(key)).and_then(Node::text);
    External {
        instructions: of("instructions").unwrap_or_default().to_owned(),
        heartbeat: node.and_then(|node| Layers::alone(node).duration("heartbeat")),
        if_silent: match of("if-silent") {
            Some("pause") => IfSilent::Pause,
            Some("fail") => IfSilent::Fail,
            Some("ask") => IfSilent::Ask,
            Some(_) | None => IfSilent::Wait,
        },
    }
}

pub(super) fn replan(layers: Layers<'_>) -> ReplanKeys {
    let number = |key: &str| layers.get(key).and_then(whole).and_then(|number| u32::try_from(number).ok());
    let when = layers.get("when").map(texts);
    ReplanKeys {
        max: number("max"),
        max_per_phase: number("max-per-phase"),
        may_edit: match layers.text("may-edit").as_deref() {
            Some("downstream") => Some(MayEdit::Downstream),
            Some("pending") => Some(MayEdit::Pending),
            Some("all") => Some(MayEdit::All),
            Some(_) | None => None,
        },
        approval: layers.get("approval").and_then(scalar).and_then(|(text, plain)| boolean(text, plain)),
        run: layers.text("run"),
        when: when.map(|words| words.iter().filter_map(|word| replan_when(word)).collect()),
        complexity_max: number("complexity-max"),
        tasks_max: number("tasks-max"),
    }
}

fn replan_when(word: &str) -> Option<ReplanWhen> {
    match word {
        "failed" => Some(ReplanWhen::Failed),
        "verify-failed" => Some(ReplanWhen::VerifyFailed),
        "too-complex" => Some(ReplanWhen::TooComplex),
        "agent-asked" => Some(ReplanWhen::AgentAsked),
        _ => None,
    }
}

pub(super) fn on_failure(layers: Layers<'_>) -> Option<PhaseFailure> {
    match layers.text("on-failure")?.as_str() {
        "stop" => Some(PhaseFailure::Stop),
        "replan" => Some(PhaseFailure::Replan),
        "skip" => Some(PhaseFailure::Skip),
        "ask" => Some(PhaseFailure::Ask),
        _ => None,
    }
}

pub(super) fn on_change(layers: Layers<'_>) -> Option<OnChange> {
    match layers.text("on-change")?.as_str() {
        "ask" => Some(OnChange::Ask),
        "rerun" => Some(OnChange::Rerun),
        "keep" => Some(OnChange::Keep),
        _ => None,
    }
}

fn count(node: &Node, key: &str) -> Option<u32> {
    node.get(key).and_then(whole).and_then(|count| u32::try_from(count).ok())
}

fn flag(node: &Node, key: &str) -> Option<bool> {
    node.get(key).and_then(scalar).and_then(|(text, plain)| boolean(text, plain))
}
