//! The way from text to plan: limits, tree, shape, meaning. Every fault is found in one go.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::diagnostic::{Code, Diagnostic, Place};
use crate::document::spelling;
use crate::id::PhaseId;
use crate::markdown::Marker;

use super::keys::PLAN;
use super::listed_phases;
use super::model::{Need, Phase, Plan};
use super::plan_checks;
use super::read::{self, Draft};
use super::short_forms;
use crate::document::check::Checker;
use crate::document::shape::Shape;
use crate::document::tree::{Builder, EXPANDED_BYTES_MAX, Fatal, Node, TEXT_BYTES_MAX};
use crate::document::{json, yaml};

/// Nobody reads more than this; the rest is counted.
const DIAGNOSTICS_MAX: usize = 500;

/// The result of parsing a plan.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// There if no diagnostic is an error.
    pub plan: Option<Plan>,
    /// As far as they could be made out, also of a plan with errors.
    pub phases: Vec<PhaseOutline>,
    /// By place.
    pub diagnostics: Vec<Diagnostic>,
}

/// A phase in the words of its author, for a first look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseOutline {
    pub id: PhaseId,
    pub name: Option<String>,
    /// The key that says how it is done; empty where none does.
    pub kind: String,
    pub needs: Vec<PhaseId>,
    /// As the plan itself says it.
    pub marker: Marker,
    pub tasks_total: usize,
    pub tasks_done: usize,
}

impl Parsed {
    /// The plan is right, but says something that this version does not act on.
    pub fn unsupported(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::NotYetSupported)
    }

    /// The plan was written for a later version.
    pub fn newer(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.code == Code::NewerFormat)
    }
}

/// Reads a plan, YAML or JSON.
pub fn parse(text: &str) -> Parsed {
    if let Some(fault) = too_large(text) {
        return refused(vec![fault.help("put data and long scripts into files of their own")]);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (root, diagnostics) = tree(text);
    let Some(mut root) = root else {
        return refused(diagnostics);
    };
    if let Some(newer) = newer_format(&root) {
        return refused(vec![newer]);
    }
    understand(&mut root, diagnostics)
}

pub(super) fn too_large(text: &str) -> Option<Diagnostic> {
    let message = format!("the plan has {} bytes; at most {TEXT_BYTES_MAX} (4 MiB) are read", text.len());
    let fault = Diagnostic::error(Code::TooLarge, message).at(Place::new(1, 1));
    (text.len() > TEXT_BYTES_MAX).then_some(fault)
}

pub(super) fn refused(diagnostics: Vec<Diagnostic>) -> Parsed {
    Parsed { plan: None, phases: Vec::new(), diagnostics }
}

/// JSON where it looks like JSON. A text in braces may still be YAML; if it is neither, JSON was meant.
fn tree(text: &str) -> (Option<Node>, Vec<Diagnostic>) {
    if !text.trim_start().starts_with('{') {
        return build(|builder| yaml::read(text, builder));
    }
    let json = build(|builder| json::read(text, builder));
    if json.1.iter().all(|fault| fault.code != Code::Syntax) {
        return json;
    }
    let yaml = build(|builder| yaml::read(text, builder));
    if yaml.0.is_some() { yaml } else { json }
}

fn build(read: impl FnOnce(&mut Builder) -> Result<(), Fatal>) -> (Option<Node>, Vec<Diagnostic>) {
    let mut builder = Builder::default();
    let outcome = read(&mut builder);
    let (root, mut diagnostics) = builder.finish();
    match (outcome, root) {
        (Err(fault), _) => {
            diagnostics.push(fault);
            (None, sorted(diagnostics))
        }
        (Ok(()), Some(root)) => (Some(root), diagnostics),
        (Ok(()), None) => {
            let fault = Diagnostic::error(Code::MissingFormat, "the plan is empty").at(Place::new(1, 1));
            (None, vec![fault.help("start with `onward: 1`, `name:` and `phases:`")])
        }
    }
}

/// Other faults of a newer plan would only be this version's ignorance.
fn newer_format(root: &Node) -> Option<Diagnostic> {
    let format = root.get("onward")?;
    let mut checker = Checker::new(Vec::new());
    checker.check(&Shape::Format, format);
    checker.diagnostics.into_iter().find(|fault| fault.code == Code::NewerFormat)
}

fn understand(root: &mut Node, diagnostics: Vec<Diagnostic>) -> Parsed {
    let mut diagnostics = diagnostics;
    listed_phases::write_out(root, &mut diagnostics);
    spelling::settle(&Shape::Mapping(&PLAN), root, &mut diagnostics);
    let mut checker = Checker::new(diagnostics);
    checker.check(&Shape::Mapping(&PLAN), root);
    short_forms::write_out(root);
    let root = &*root;
    if root.get("onward").is_none() {
        let fault = Diagnostic::error(Code::MissingFormat, "the plan does not say its format: `onward: 1` is missing");
        checker.diagnostics.push(fault.at(root.place).help("write `onward: 1` as the first line"));
    }
    if let Some(fault) = shared_too_large(root) {
        checker.diagnostics.push(fault);
        return refused(cut(checker.diagnostics));
    }
    let drafts = read::drafts(root, "phases");
    let finally = read::drafts(root, "finally");
    plan_checks::check(root, &drafts, &finally, &mut checker);
    let phases = drafts.iter().map(outline).collect();
    let mut plan = None;
    if !checker.diagnostics.iter().any(Diagnostic::is_error) {
        let phases = drafts.into_iter().map(finished).collect();
        let finally = finally.into_iter().map(finished).collect();
        plan = Some(Plan { phases, finally, ..read::plan(root) });
    }
    Parsed { plan, phases, diagnostics: cut(checker.diagnostics) }
}

/// `defaults` are copied into every phase: many phases times long defaults is a bomb of its own.
fn shared_too_large(root: &Node) -> Option<Diagnostic> {
    let defaults = root.entry("defaults")?;
    let phases =
        ["phases", "finally"].iter().filter_map(|key| root.get(key)).map(|node| node.entries().len()).sum::<usize>();
    let bytes = defaults.value.cost().bytes.saturating_mul(phases);
    if bytes <= EXPANDED_BYTES_MAX {
        return None;
    }
    let message = format!("`defaults` written out for {phases} phases are more than {} MiB", EXPANDED_BYTES_MAX >> 20);
    Some(Diagnostic::error(Code::TooLarge, message).at(defaults.place).help("put the long texts into files"))
}

pub(super) fn outline(draft: &Draft) -> PhaseOutline {
    PhaseOutline {
        id: draft.phase.id.clone(),
        name: draft.phase.name.clone(),
        kind: draft.kind.to_owned(),
        needs: draft.phase.needs.iter().map(|need| need.phase.clone()).collect(),
        marker: Marker::Pending,
        tasks_total: 0,
        tasks_done: 0,
    }
}

/// A need that stands there twice counts once, with the stricter of the two demands.
pub(super) fn finished(draft: Draft) -> Phase {
    let mut phase = draft.phase;
    let mut seen: BTreeMap<PhaseId, usize> = BTreeMap::new();
    let mut needs: Vec<Need> = Vec::with_capacity(phase.needs.len());
    for need in phase.needs {
        if let Some(index) = seen.get(&need.phase) {
            let first = &mut needs[*index];
            first.must_be_completed |= need.must_be_completed;
            first.staleness = first.staleness.min(need.staleness);
        } else {
            seen.insert(need.phase.clone(), needs.len());
            needs.push(need);
        }
    }
    phase.needs = needs;
    phase
}

fn sorted(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics
        .sort_by(|a, b| (a.place, a.severity, a.code, &a.message).cmp(&(b.place, b.severity, b.code, &b.message)));
    diagnostics
}

/// By place; where there are too many, errors stay before warnings.
pub(super) fn cut(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let left_out = diagnostics.len().saturating_sub(DIAGNOSTICS_MAX);
    if left_out == 0 {
        return sorted(diagnostics);
    }
    // The warnings that decide whether a plan can be run must not be lost among others.
    diagnostics
        .sort_by_key(|diagnostic| (diagnostic.severity, diagnostic.code != Code::NotYetSupported, diagnostic.place));
    let severity = diagnostics[DIAGNOSTICS_MAX].severity;
    diagnostics.truncate(DIAGNOSTICS_MAX);
    let mut shown = sorted(diagnostics);
    let more = Diagnostic::warning(Code::MoreFaults, format!("{left_out} more are left out"));
    shown.push(Diagnostic { severity, ..more });
    shown
}
