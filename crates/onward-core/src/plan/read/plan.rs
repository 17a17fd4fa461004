//! The plan without its phases.

use std::collections::BTreeMap;

use crate::checkpoint::Trigger;
use crate::document::check_value::integer;
use crate::document::tree::{Node, Quoting};
use crate::document::units;
use crate::document::word::Word;
use crate::plan::keys::{AGENT, CONCURRENCY, GIT_COMMIT, INPUT_KEYS, MEMBER, NOTIFY, PHASE, PLAN, REPLAN};
use crate::plan::model::{GitCommit, InputKind, InputSpec, MAX_PARALLEL_DEFAULT, NamedMember, Plan, Switch};
use crate::plan::parts::{Concurrency, NoticeRule, NoticeWay, Occasion, WhenBusy};

use crate::retention::{KeepAge, KeepCount, RunRetention};

use super::layers::{Layers, texts};
use super::phase::merged;
use super::{freshness, parts};

pub(in crate::plan) fn plan(root: &Node) -> Plan {
    let top = Layers::alone(root, &PLAN);
    let checkpoint = root.get("checkpoint");
    Plan {
        run_name: top.text("run-name"),
        description: top.text("description"),
        inputs: inputs(root),
        env: top.pairs("env"),
        max_parallel: top.count("max-parallel").unwrap_or(MAX_PARALLEL_DEFAULT),
        on_failure: top.word("on-failure"),
        git_commit: checkpoint.and_then(|checkpoint| checkpoint.get("git-commit")).map(git_commit),
        limits: parts::limits(root),
        replan: top.inner("replan", &REPLAN).map(parts::replan),
        freshness: freshness::freshness(root),
        issue: freshness::issue(root),
        paths: top.pairs("paths").into_iter().collect(),
        team: team(root),
        requires: parts::requirements(root.get("requires")),
        mirror: checkpoint.and_then(|checkpoint| checkpoint.get("mirror")).map(texts),
        triggers: checkpoint.and_then(|checkpoint| checkpoint.get("triggers")).map(triggers).unwrap_or_default(),
        keep: checkpoint.and_then(|checkpoint| checkpoint.get("keep")).map(kept).unwrap_or_default(),
        compress: checkpoint.and_then(|checkpoint| checkpoint.get("compress")).and_then(Node::text).map(switch),
        notices: notices(root),
        default_agent: Layers::new(None, root.get("defaults"), &PHASE).inner("agent", &AGENT).map(merged),
        concurrency: top.inner("concurrency", &CONCURRENCY).map(concurrency),
        ..Plan::new(top.text("name").unwrap_or_default(), top.text("type").unwrap_or_default())
    }
}

/// A list has those that are on, and the others are off; a mapping says it of those that it names.
fn triggers(node: &Node) -> BTreeMap<Trigger, Switch> {
    let said = |trigger: Trigger| {
        let name = trigger.as_str().replace('_', "-");
        if node.entries().is_empty() {
            return Some((trigger, if texts(node).contains(&name) { Switch::On } else { Switch::Off }));
        }
        node.get(&name).and_then(Node::text).map(|text| (trigger, switch(text)))
    };
    Trigger::ALL.into_iter().filter_map(said).collect()
}

fn switch(text: &str) -> Switch {
    if text == "true" { Switch::On } else { Switch::Off }
}

/// A single count is that of every trigger; a mapping says it of those that it names.
fn kept(node: &Node) -> RunRetention {
    let said = |key: &str| node.get(key).and_then(Node::text);
    let count = |trigger: Trigger| {
        let text = node.text().or_else(|| said(&trigger.as_str().replace('_', "-")))?;
        Some((trigger, keep_count(text)?))
    };
    let age = |key: &str| match said(key)? {
        "forever" => Some(KeepAge::Forever),
        text => units::duration(text).ok().map(KeepAge::For),
    };
    RunRetention {
        checkpoints: Trigger::ALL.into_iter().filter_map(count).collect(),
        succeeded: age("succeeded-run"),
        failed: age("failed-run"),
    }
}

fn keep_count(text: &str) -> Option<KeepCount> {
    match text {
        "all" | "-1" => Some(KeepCount::All),
        "none" => Some(KeepCount::Newest(0)),
        _ => integer(text, Quoting::Plain).and_then(|count| u32::try_from(count).ok()).map(KeepCount::Newest),
    }
}

fn team(root: &Node) -> Vec<NamedMember> {
    let members = root.get("team").map(Node::items).unwrap_or_default();
    let member = |node: &Node| {
        let member = Layers::alone(node, &MEMBER);
        NamedMember { agent: member.text("agent").unwrap_or_default(), role: member.text("role") }
    };
    members.iter().map(member).collect()
}

fn concurrency(keys: Layers<'_>) -> Concurrency {
    let when_busy = if keys.flag("cancel-in-progress") { WhenBusy::Cancel } else { keys.word("when-busy") };
    Concurrency { group: keys.text("group").unwrap_or_default(), when_busy }
}

/// As far as the plan says it: the project's configuration says the rest.
fn git_commit(node: &Node) -> GitCommit {
    let rule = Layers::alone(node, &GIT_COMMIT);
    GitCommit {
        every: rule.count_if_written("every"),
        message: rule.text("message"),
        trailers: node.get("trailers").map(texts),
        hooks: rule.flag_if_written("hooks"),
    }
}

/// An entry with several ways is a rule for each.
fn notices(root: &Node) -> Vec<NoticeRule> {
    let Some(node) = root.get("notify") else { return Vec::new() };
    let entries = if node.items().is_empty() { std::slice::from_ref(node) } else { node.items() };
    let rules = entries.iter().flat_map(|entry| {
        let keys = Layers::alone(entry, &NOTIFY);
        let words = entry.get("when").map(texts).unwrap_or_default();
        let when: Vec<Occasion> = words.iter().filter_map(|word| Occasion::from_word(word)).collect();
        let command = keys.text("command").map(NoticeWay::Command);
        let webhook = keys.text("webhook").map(NoticeWay::Webhook);
        let desktop = keys.flag("desktop").then_some(NoticeWay::Desktop);
        let ways = command.into_iter().chain(webhook).chain(desktop);
        ways.map(|way| NoticeRule { when: when.clone(), way }).collect::<Vec<_>>()
    });
    rules.collect()
}

fn inputs(root: &Node) -> BTreeMap<String, InputSpec> {
    let entries = root.get("inputs").map(Node::entries).unwrap_or_default();
    entries.iter().map(|entry| (entry.key.clone(), input(&entry.value))).collect()
}

pub(in crate::plan) fn input(node: &Node) -> InputSpec {
    let spec = Layers::alone(node, &INPUT_KEYS);
    let kind = match spec.text("type").as_deref() {
        Some("integer") => InputKind::Integer,
        Some("number") => InputKind::Number,
        Some("boolean") => InputKind::Boolean,
        Some("date") => InputKind::Date,
        Some("choice") => InputKind::Choice { choices: spec.texts("choices") },
        Some(_) | None => InputKind::String,
    };
    InputSpec {
        kind,
        required: spec.flag("required"),
        default: spec.text("default"),
        description: spec.text("description"),
    }
}
