//! Checks of single blocks of a plan: matrices that have values, answers that differ, silence that can be noticed.

use std::collections::BTreeSet;

use crate::diagnostic::{Code, Diagnostic};
use crate::expression;

use super::no_effect;
use super::parts::Axis;
use super::read;
use super::read::texts;
use crate::document::tree::{Node, NodeEntry};

/// Phases that one phase may be multiplied into.
pub(crate) const COMBINATIONS_MAX: usize = 10_000;

pub(super) fn check(root: &Node, faults: &mut Vec<Diagnostic>) {
    notices(root, faults);
    budgets(root, faults);
    for key in ["phases", "finally"] {
        for entry in root.get(key).map(Node::entries).unwrap_or_default() {
            phase(entry, faults);
        }
    }
}

fn notices(root: &Node, faults: &mut Vec<Diagnostic>) {
    let Some(notify) = root.entry("notify") else { return };
    let entries =
        if notify.value.items().is_empty() { std::slice::from_ref(&notify.value) } else { notify.value.items() };
    for entry in entries {
        let said = ["command", "webhook", "desktop"].iter().any(|way| entry.get(way).is_some());
        if entry.get("when").is_some() && !said {
            let fault = Diagnostic::error(Code::MissingKey, "an entry of `notify` does not say how people are told");
            faults.push(fault.at(notify.place).help("add `command: …`, `webhook: https://…` or `desktop: true`"));
        }
        let Some(webhook) = entry.entry("webhook") else { continue };
        let address = webhook.value.text().unwrap_or_default();
        if !["http://", "https://", "${{"].iter().any(|start| address.starts_with(start)) {
            let fault = Diagnostic::error(Code::BadValue, "`webhook` is no address of the web");
            faults.push(fault.at(webhook.place).help("it begins with `https://`, or is a variable: `${{ env.NAME }}`"));
        }
    }
}

/// A cost is counted in each run by itself, while a hit is told to all of a scope.
fn budgets(root: &Node, faults: &mut Vec<Diagnostic>) {
    for limit in root.get("limits").map(Node::entries).unwrap_or_default() {
        let wider = limit.value.entry("scope").filter(|entry| matches!(entry.value.text(), Some("project" | "user")));
        let Some(scope) = wider.filter(|_| limit.value.get("budget").is_some()) else { continue };
        let (name, wide) = (&limit.key, scope.value.text().unwrap_or_default());
        let message = format!(
            "`scope: {wide}` of the limit `{name}` does not count for its `budget`, which is that of each run by itself"
        );
        let fault = Diagnostic::warning(Code::NoEffect, message).at(scope.place);
        faults.push(fault.help("it still says who is told of a hit; `--budget` bounds all agents of one run"));
    }
}

fn phase(entry: &NodeEntry, faults: &mut Vec<Diagnostic>) {
    let node = &entry.value;
    no_effect::check(node, faults);
    if let Some(block) = node.entry("matrix") {
        matrix(&entry.key, block, faults);
    }
    if let Some(block) = node.get("approval") {
        approval(block, faults);
    }
    if let Some(block) = node.get("external").filter(|block| block.get("heartbeat").is_none())
        && let Some(silence) = block.entry("if-silent").filter(|entry| entry.value.text() != Some("wait"))
    {
        let fault = Diagnostic::error(Code::MissingKey, "`if-silent` is said, but not after how long");
        faults.push(fault.at(silence.place).help("add `heartbeat: 15m` beside it"));
    }
    if let Some(with) = node.entry("with").filter(|_| node.get("uses").is_none()) {
        let fault =
            Diagnostic::error(Code::BadValue, "`with` gives inputs to the plan that `uses` names; there is none");
        faults.push(fault.at(with.place).help("use `env` to give values to a phase"));
    }
    if let Some(path) = node.get("uses").filter(|path| path.text().is_some_and(expression::holds)) {
        let fault = Diagnostic::error(Code::BadValue, "the path of `uses` cannot hold an expression");
        faults
            .push(fault.at(path.place).help("plans inside plans are read before anything runs: write the path itself"));
    }
}

fn matrix(id: &str, block: &NodeEntry, faults: &mut Vec<Diagnostic>) {
    let matrix = read::matrix(&block.value);
    if matrix.axes.is_empty() {
        let fault = Diagnostic::error(Code::MissingKey, format!("the matrix of `{id}` goes over nothing"));
        faults.push(fault.at(block.place).help("name what it goes over: `matrix: { day: [mon, tue] }`"));
    }
    let mut combinations: usize = 1;
    for (name, axis) in &matrix.axes {
        let Axis::Values(values) = axis else { continue };
        combinations = combinations.saturating_mul(values.len().max(1));
        let place = block.value.entry(name).map_or(block.place, |entry| entry.place);
        let distinct: BTreeSet<&String> = values.iter().collect();
        if values.is_empty() {
            let fault = Diagnostic::error(Code::BadValue, format!("the matrix of `{id}` has no value for `{name}`"));
            faults.push(fault.at(place).help("give it at least one value"));
        } else if distinct.len() < values.len() {
            let fault = Diagnostic::warning(
                Code::BadValue,
                format!("a value of `{name}` stands twice in the matrix of `{id}`"),
            );
            faults.push(fault.at(place).help("it is done once; leave the second one out"));
        }
    }
    if combinations > COMBINATIONS_MAX {
        let message =
            format!("the matrix of `{id}` has {combinations} combinations; at most {COMBINATIONS_MAX} are possible");
        faults.push(Diagnostic::error(Code::TooLarge, message).at(block.place).help("split the phase"));
    }
}

fn approval(block: &Node, faults: &mut Vec<Diagnostic>) {
    if let Some(choices) = block.entry("choices") {
        let words = texts(&choices.value);
        let distinct: BTreeSet<&String> = words.iter().collect();
        if words.is_empty() || distinct.len() < words.len() {
            let what = if words.is_empty() { "`choices` is empty" } else { "an answer stands twice in `choices`" };
            let fault = Diagnostic::error(Code::BadValue, what);
            faults.push(fault.at(choices.place).help("name different answers, the one that means yes first"));
        }
    }
    if let Some(expired) = block.entry("if-expired").filter(|_| block.get("expires").is_none()) {
        let fault = Diagnostic::error(Code::MissingKey, "`if-expired` is said, but not after how long");
        faults.push(fault.at(expired.place).help("add `expires: 24h` beside it"));
    }
}
