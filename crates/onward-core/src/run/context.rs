//! The values that `${{ }}` and `if` name in a run: one context for conditions, variables, texts and commands.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::state::Run;
use crate::expression::{self, Condition, PATHS, Reference};
use crate::plan::{Axis, Body, Phase, Plan};

/// Values that only the process has in which an expression is filled in.
pub trait Outside {
    /// A variable of the process.
    fn variable(&self, name: &str) -> Option<String>;

    /// An input of the run as it was given; `kept` is what is on record, where a secret may be cut out of it.
    fn input(&self, name: &str, kept: &str) -> String {
        let _ = name;
        kept.to_owned()
    }

    /// A text of the plan as it was given, likewise.
    fn text(&self, kept: &str) -> Result<String, String> {
        Ok(kept.to_owned())
    }
}

/// The variables that a driver put on record: all that core knows of a process.
impl Outside for BTreeMap<String, String> {
    fn variable(&self, name: &str) -> Option<String> {
        self.get(name).cloned()
    }
}

/// The meaning of expressions at one place: a phase, or the plan as a whole.
pub struct ExpressionContext<'a> {
    run: &'a Run,
    phase: Option<&'a Phase>,
    attempt: u32,
    outside: &'a dyn Outside,
    variables: OnceCell<Vec<(&'a str, Result<String, String>)>>,
}

impl<'a> ExpressionContext<'a> {
    pub fn of_plan(run: &'a Run, outside: &'a dyn Outside) -> Self {
        Self { run, phase: None, attempt: 0, outside, variables: OnceCell::new() }
    }

    pub fn of_phase(run: &'a Run, phase: &'a Phase, attempt: u32, outside: &'a dyn Outside) -> Self {
        Self { run, phase: Some(phase), attempt, outside, variables: OnceCell::new() }
    }

    /// The value of an expression as it is written here.
    pub fn value(&self, reference: &Reference) -> Option<String> {
        self.here(reference, &|name| self.variable(name))
    }

    /// The same in the words of the run: full ids of phases, inputs of the run.
    pub(super) fn of_the_run(&self, reference: &Reference) -> Option<String> {
        self.outer(reference, &|name| self.variable(name))
    }

    /// The variables of the plan and of the phase, filled in; the phase's own win.
    pub fn variables(&self) -> Result<Vec<(String, String)>, String> {
        let mut all: Vec<(String, String)> = Vec::new();
        for (name, value) in self.filled() {
            let value = value.clone().map_err(|why| format!("the variable {name} cannot be filled in: {why}"))?;
            all.retain(|(other, _)| other != name);
            all.push(((*name).to_owned(), value));
        }
        Ok(all)
    }

    /// A text with its `${{ }}` filled in; none where a value is missing.
    pub fn fill(&self, template: &str) -> Option<String> {
        if !expression::holds(template) {
            return Some(template.to_owned());
        }
        expression::substitute(template, &|reference| self.value(reference)).ok()
    }

    fn variable(&self, name: &str) -> Option<String> {
        last(self.filled(), name, self.outside)
    }

    fn here(&self, reference: &Reference, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        match self.phase {
            Some(phase) => phase.situation.value(reference, &|reference| self.outer(reference, variable)),
            None => self.outer(reference, variable),
        }
    }

    fn outer(&self, reference: &Reference, variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
        match reference {
            Reference::Input(name) => Some(self.outside.input(name, self.run.started.inputs.get(name)?)),
            Reference::Env(name) => variable(name),
            Reference::Run(field) => self.run.fact(field),
            Reference::Output { phase, output } => self.run.phase_state(phase)?.outputs.get(output).cloned(),
            Reference::Status(phase) => Some(self.run.phase_state(phase)?.status.as_str().to_owned()),
            Reference::Attempt => Some(self.attempt.to_string()),
            Reference::Matrix(_) => None,
        }
    }

    /// Every variable in the order in which it is written, each made of those before it and of the process's.
    fn filled(&self) -> &[(&'a str, Result<String, String>)] {
        self.variables.get_or_init(|| {
            let mut filled: Vec<(&str, Result<String, String>)> = Vec::new();
            let own = self.phase.map(|phase| phase.env.as_slice()).unwrap_or_default();
            let all = self
                .run
                .plan()
                .env
                .iter()
                .map(|one| (VariableOrigin::Plan, one))
                .chain(own.iter().map(|one| (VariableOrigin::Phase, one)));
            for (place, (name, template)) in all {
                let value = self.outside.text(template).and_then(|template| {
                    let variable = |name: &str| last(&filled, name, self.outside);
                    let value = expression::substitute(&template, &|reference| match place {
                        VariableOrigin::Plan => self.outer(reference, &variable),
                        VariableOrigin::Phase => self.here(reference, &variable),
                    });
                    value.map_err(|why| why.to_string())
                });
                filled.push((name, value));
            }
            filled
        })
    }
}

/// Where a variable is written.
#[derive(Clone, Copy)]
enum VariableOrigin {
    Plan,
    Phase,
}

fn last(filled: &[(&str, Result<String, String>)], name: &str, outside: &dyn Outside) -> Option<String> {
    match filled.iter().rev().find(|(other, _)| *other == name) {
        Some((_, value)) => value.as_ref().ok().cloned(),
        None => outside.variable(name),
    }
}

impl Run {
    /// The context of a phase's expressions, as far as it is on record.
    pub(super) fn context<'a>(&'a self, phase: &'a Phase) -> ExpressionContext<'a> {
        let attempts = self.phase_state(&phase.id).map_or(0, |state| state.attempts);
        ExpressionContext::of_phase(self, phase, attempts + 1, &self.environment)
    }

    /// A text of a phase as people read it. What is not known stays as it is written.
    pub fn told(&self, phase: &Phase, text: &str) -> String {
        let context = self.context(phase);
        let told = expression::substitute_known(text, &|reference| context.value(reference));
        told.unwrap_or_else(|_| text.to_owned())
    }

    /// A fact of the run that expressions may name.
    fn fact(&self, field: &str) -> Option<String> {
        match field {
            "id" => Some(self.id.to_string()),
            "name" => Some(self.started.title.clone()),
            "type" => Some(self.plan().kind.clone()),
            "project" => Some(self.started.project.clone()),
            "branch" => Some(self.started.branch.clone().unwrap_or_default()),
            other => self.plan().paths.get(other.strip_prefix(PATHS)?).cloned(),
        }
    }
}

/// The variables of the process that decisions about a plan ask for: a driver puts them on record when it begins.
pub fn variables_asked_for(plan: &Plan) -> BTreeSet<String> {
    let used = plan.used.values().flat_map(|plan| &plan.phases);
    let phases: Vec<&Phase> = plan.phases.iter().chain(&plan.finally).chain(used).collect();
    let conditions = phases.iter().filter_map(|phase| phase.condition.as_ref()).flat_map(Condition::references);
    let in_texts = phases.iter().flat_map(|phase| texts(phase)).flat_map(references);
    let direct: BTreeSet<String> = conditions.chain(in_texts).filter_map(variable).collect();
    if direct.is_empty() {
        return direct;
    }
    // Those may be made of others.
    let templates = plan.env.iter().chain(phases.iter().flat_map(|phase| &phase.env)).map(|(_, text)| text.as_str());
    direct.into_iter().chain(templates.flat_map(references).filter_map(variable)).collect()
}

/// Everything that the condition of a phase depends on, that of its variables included.
pub(super) fn watched(plan: &Plan, phase: &Phase) -> Vec<Reference> {
    let mut all = phase.condition.as_ref().map(Condition::references).unwrap_or_default();
    if all.iter().any(|reference| matches!(reference, Reference::Env(_))) {
        all.extend(plan.env.iter().chain(&phase.env).flat_map(|(_, text)| references(text)));
    }
    all
}

/// The other texts of a phase, filled in before it begins, or when somebody is told about it.
pub(super) fn texts(phase: &Phase) -> Vec<&str> {
    let mut texts: Vec<&str> = Vec::new();
    match &phase.body {
        Body::External(external) => texts.push(&external.instructions),
        Body::Approval(approval) => {
            texts.push(&approval.message);
            texts.extend(approval.show.iter().map(String::as_str));
        }
        Body::Uses(uses) => texts.extend(uses.with.iter().map(|(_, value)| value.as_str())),
        Body::Run { .. } | Body::Agent(_) => {}
    }
    for (_, axis) in phase.matrix.iter().flat_map(|matrix| &matrix.axes) {
        match axis {
            Axis::Values(values) => texts.extend(values.iter().map(String::as_str)),
            Axis::From(text) => texts.push(text),
        }
    }
    texts.extend(phase.artifacts.iter().map(|artifact| artifact.path.as_str()));
    texts
}

fn references(text: &str) -> Vec<Reference> {
    if expression::holds(text) { expression::references(text).unwrap_or_default() } else { Vec::new() }
}

fn variable(reference: Reference) -> Option<String> {
    if let Reference::Env(name) = reference { Some(name) } else { None }
}
