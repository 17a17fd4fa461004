//! Whether what expressions ask for will be there when it is needed.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Code, Diagnostic};
use crate::expression::Reference;

use super::graph::Ancestors;
use super::read::Draft;
use crate::document::check::{ExpressionOwner, ReferenceUse};
use crate::document::suggest::{did_you_mean, worth_it};
use crate::document::tree::Node;

/// The names that expressions can refer to.
struct KnownNames<'a> {
    inputs: BTreeSet<&'a str>,
    drafts: &'a [Draft],
    finally: &'a [Draft],
    index: BTreeMap<&'a str, usize>,
    suggests: bool,
}

pub(super) fn check(
    root: &Node,
    drafts: &[Draft],
    finally: &[Draft],
    ancestors: &mut Ancestors<'_>,
    uses: &[ReferenceUse],
    faults: &mut Vec<Diagnostic>,
) {
    let inputs = root.get("inputs").map(Node::entries).unwrap_or_default();
    let mut world = KnownNames {
        suggests: true,
        inputs: inputs.iter().map(|entry| entry.key.as_str()).collect(),
        drafts,
        finally,
        index: drafts.iter().enumerate().map(|(index, draft)| (draft.id(), index)).collect(),
    };
    for usage in uses {
        world.suggests = worth_it(faults);
        let fault = match &usage.reference {
            Reference::Input(name) => world.input(name),
            Reference::Matrix(name) => world.matrix(name, usage.owner),
            Reference::Output { phase, output } => {
                world.phase(phase.as_str(), usage, ancestors).or_else(|| world.output(phase.as_str(), output))
            }
            Reference::Status(phase) => world.phase(phase.as_str(), usage, ancestors),
            Reference::Env(_) | Reference::Run(_) | Reference::Attempt => None,
        };
        faults.extend(fault.map(|fault| fault.at(usage.place)));
    }
}

impl KnownNames<'_> {
    fn near<'b>(&self, word: &str, candidates: impl IntoIterator<Item = &'b str>) -> String {
        if self.suggests { did_you_mean(word, candidates) } else { String::new() }
    }

    fn input(&self, name: &str) -> Option<Diagnostic> {
        if self.inputs.contains(name) {
            return None;
        }
        let mut help = self.near(name, self.inputs.iter().copied());
        if help.is_empty() {
            help = format!("declare it: `inputs: {{ {name}: {{ type: string }} }}`");
        }
        Some(Diagnostic::error(Code::UnknownInput, format!("there is no input `{name}`")).help(help))
    }

    fn matrix(&self, name: &str, owner: ExpressionOwner) -> Option<Diagnostic> {
        let axes: &[String] = match owner {
            ExpressionOwner::Phase(index) => {
                self.drafts.get(index).map(|draft| draft.axes.as_slice()).unwrap_or_default()
            }
            ExpressionOwner::Finally(index) => {
                self.finally.get(index).map(|draft| draft.axes.as_slice()).unwrap_or_default()
            }
            ExpressionOwner::Defaults => return None,
            ExpressionOwner::Plan => &[],
        };
        if axes.iter().any(|axis| axis == name) {
            return None;
        }
        let help = self.near(name, axes.iter().map(String::as_str));
        Some(
            Diagnostic::error(
                Code::UnknownMatrix,
                format!("`matrix.{name}` has no value here: no matrix goes over `{name}`"),
            )
            .help(help),
        )
    }

    fn phase(&self, id: &str, usage: &ReferenceUse, ancestors: &mut Ancestors<'_>) -> Option<Diagnostic> {
        let closing =
            matches!(usage.owner, ExpressionOwner::Finally(_)) && self.finally.iter().any(|draft| draft.id() == id);
        let Some(target) = self.index.get(id).copied() else {
            let help = self.near(id, self.index.keys().copied());
            let fault = Diagnostic::error(Code::UnknownPhase, format!("there is no phase `{id}`")).help(help);
            return if closing { None } else { Some(fault) };
        };
        match usage.owner {
            ExpressionOwner::Finally(_) | ExpressionOwner::Defaults => None,
            ExpressionOwner::Plan => {
                let message = format!("`{}` stands where no phase has run yet", usage.reference);
                Some(
                    Diagnostic::error(Code::NotAnAncestor, message)
                        .help("use it in the `env` of a phase that needs that one"),
                )
            }
            ExpressionOwner::Phase(own) if ancestors.may_come_before(target, own) => None,
            ExpressionOwner::Phase(own) => {
                let own = self.drafts.get(own).map(Draft::id).unwrap_or_default();
                let (code, message) = if usage.in_matrix {
                    (
                        Code::MatrixNotAncestor,
                        format!("the matrix of `{own}` goes over outputs of `{id}`, which need not have run before"),
                    )
                } else {
                    (
                        Code::NotAnAncestor,
                        format!("`{own}` uses `{}`, but `{id}` need not have run before", usage.reference),
                    )
                };
                Some(Diagnostic::error(code, message).help(format!("add `{id}` to the `needs` of `{own}`")))
            }
        }
    }

    fn output(&self, id: &str, output: &str) -> Option<Diagnostic> {
        let draft = self.index.get(id).and_then(|index| self.drafts.get(*index))?;
        if !draft.outputs_declared || draft.phase.outputs.contains_key(output) {
            return None;
        }
        let help = self.near(output, draft.phase.outputs.keys().map(String::as_str));
        Some(Diagnostic::error(Code::UnknownOutput, format!("phase `{id}` declares no output `{output}`")).help(help))
    }
}
