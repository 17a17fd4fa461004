//! Checks of a plan as a whole: needs that exist, no cycles, limits that are declared, inputs that can be given.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Code, Diagnostic};

use super::graph::{Ancestors, NeedsGraph};
use super::keys::BUILT_IN_AGENTS;
use super::read::Draft;
use super::{block_checks, concurrency, inputs, lint, references};
use crate::document::check::Checker;
use crate::document::suggest::{did_you_mean, worth_it};
use crate::document::tree::{Node, NodeContent, NodeEntry};

pub(super) fn check(root: &Node, drafts: &[Draft], finally: &[Draft], checker: &mut Checker) {
    let faults = &mut checker.diagnostics;
    let empty =
        |entry: &&NodeEntry| matches!(&entry.value.content, NodeContent::Mapping(entries) if entries.is_empty());
    if let Some(phases) = root.entry("phases").filter(empty) {
        let fault = Diagnostic::error(Code::MissingKey, "`phases` is empty");
        faults.push(fault.at(phases.place).help("a plan has at least one phase"));
    }
    inputs::check_declared(root, faults);
    block_checks::check(root, faults);
    concurrency::check(root, faults);
    let graph = connect(drafts, faults);
    cycles(drafts, &graph, faults);
    same_id(drafts, finally, faults);
    let closing = connect(finally, faults);
    cycles(finally, &closing, faults);
    limits(root, drafts.iter().chain(finally), faults);
    let mut ancestors = Ancestors::new(&graph);
    references::check(root, drafts, finally, &mut ancestors, &checker.uses, &mut checker.diagnostics);
    lint::check(drafts, &mut ancestors, &checker.uses, &mut checker.diagnostics);
}

/// The same for phases that have nothing but needs.
pub(super) fn check_needs(drafts: &[Draft], faults: &mut Vec<Diagnostic>) {
    let graph = connect(drafts, faults);
    cycles(drafts, &graph, faults);
    lint::check(drafts, &mut Ancestors::new(&graph), &[], faults);
}

/// Ids are told apart in every record of a run, so those of `finally` are not those of `phases`.
fn same_id(drafts: &[Draft], finally: &[Draft], faults: &mut Vec<Diagnostic>) {
    let ids: BTreeSet<&str> = drafts.iter().map(Draft::id).collect();
    for draft in finally.iter().filter(|draft| ids.contains(draft.id())) {
        let message = format!("`{}` is the id of a phase and of one in `finally`", draft.id());
        faults.push(Diagnostic::error(Code::DuplicateKey, message).at(draft.place).help("rename one of the two"));
    }
}

fn connect(drafts: &[Draft], faults: &mut Vec<Diagnostic>) -> NeedsGraph {
    let index: BTreeMap<&str, usize> = drafts.iter().enumerate().map(|(index, draft)| (draft.id(), index)).collect();
    let mut needs = Vec::with_capacity(drafts.len());
    for (own, draft) in drafts.iter().enumerate() {
        let mut known = BTreeSet::new();
        for (need, place) in draft.phase.needs.iter().zip(&draft.need_places) {
            let fault = match index.get(need.phase.as_str()) {
                None => {
                    let mut help = String::new();
                    if worth_it(faults) {
                        help = did_you_mean(need.phase.as_str(), index.keys().copied());
                    }
                    let several = need.phase.as_str().split([' ', ',']).filter(|one| !one.is_empty());
                    let several: Vec<&str> = several.collect();
                    if several.len() > 1 && several.iter().all(|one| index.contains_key(one)) {
                        help = format!("several are a list: `needs: [{}]`", several.join(", "));
                    }
                    if help.is_empty() {
                        "name a phase of this plan, or leave it out".clone_into(&mut help);
                    }
                    Diagnostic::error(
                        Code::UnknownNeed,
                        format!("phase `{}` needs `{}`, which does not exist", draft.id(), need.phase),
                    )
                    .help(help)
                }
                Some(found) if *found == own => {
                    Diagnostic::error(Code::SelfNeed, format!("phase `{}` needs itself", draft.id()))
                        .help("leave this need out")
                }
                Some(found) if known.insert(*found) => continue,
                Some(_) => Diagnostic::warning(
                    Code::DuplicateNeed,
                    format!("phase `{}` names the need `{}` twice", draft.id(), need.phase),
                )
                .help("leave one out"),
            };
            faults.push(fault.at(*place));
        }
        needs.push(known.into_iter().collect());
    }
    NeedsGraph::new(needs)
}

fn cycles(drafts: &[Draft], graph: &NeedsGraph, faults: &mut Vec<Diagnostic>) {
    for cycle in graph.cycles() {
        let Some(first) = cycle.first().map(|index| &drafts[*index]) else {
            continue;
        };
        let round = cycle.iter().chain(cycle.first()).map(|index| drafts[*index].id());
        let round = round.collect::<Vec<_>>().join(" -> ");
        let next = cycle.get(1).map(|index| drafts[*index].id());
        let place =
            first.phase.needs.iter().zip(&first.need_places).find(|(need, _)| Some(need.phase.as_str()) == next);
        let fault = Diagnostic::error(Code::Cycle, format!("these phases wait for each other in a circle: {round}"));
        faults.push(fault.at(place.map_or(first.place, |(_, place)| *place)).help("take one of these needs out"));
    }
}

fn limits<'a>(root: &Node, drafts: impl Iterator<Item = &'a Draft>, faults: &mut Vec<Diagnostic>) {
    let declared = root.get("limits").map(Node::entries).unwrap_or_default();
    let known: BTreeSet<&str> =
        declared.iter().map(|entry| entry.key.as_str()).chain(BUILT_IN_AGENTS.iter().copied()).collect();
    // A limit that comes from `defaults` is said once, not once per phase.
    let mut said = BTreeSet::new();
    for draft in drafts {
        for (name, place) in draft.limits.iter().filter(|(name, _)| !known.contains(name.as_str())) {
            if said.insert((*place, name)) {
                let mut help = String::new();
                if worth_it(faults) {
                    help = did_you_mean(name, known.iter().copied());
                }
                if help.is_empty() {
                    help = format!("declare it: `limits: {{ {name}: {{ max-parallel: 1 }} }}`");
                }
                faults.push(
                    Diagnostic::error(Code::UnknownLimit, format!("there is no limit `{name}`")).at(*place).help(help),
                );
            }
        }
    }
}
