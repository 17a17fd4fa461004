//! Reading the plans that a plan uses.

use std::collections::BTreeMap;

use crate::diagnostic::{Code, Diagnostic};
use crate::expression;
use crate::plan::{Body, MAX_PARALLEL_DEFAULT, Phase, Plan, inputs, parse};

/// Plans inside plans inside plans.
pub const DEPTH_MAX: usize = 8;

/// A fault in a used plan, or in the way it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedFault {
    /// The plan that is used.
    pub path: String,
    /// Its text, as far as it could be read: the places of the diagnostics are places in it.
    pub text: String,
    pub diagnostics: Vec<Diagnostic>,
}

/// The plan with all plans that it uses, those that these use included. `load` gives the text of a file below the top of the
/// project, or why it cannot. Warnings come back with the plan: keys of those plans that nobody acts on yet are among them.
pub fn read_used(
    plan: &Plan,
    load: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<(Plan, Vec<UsedFault>), Vec<UsedFault>> {
    let mut reading = Reading { load, used: BTreeMap::new(), faults: Vec::new() };
    reading.plan(plan, &mut Vec::new());
    let wrong = reading.faults.iter().any(|fault| fault.diagnostics.iter().any(Diagnostic::is_error));
    if wrong {
        return Err(reading.faults);
    }
    let mut whole = Plan { used: reading.used, ..plan.clone() };
    // One name is one limit, wherever it is declared; what the outer plan says of it counts.
    for inner in whole.used.values() {
        for (name, limit) in &inner.limits {
            whole.limits.entry(name.clone()).or_insert_with(|| limit.clone());
        }
    }
    Ok((whole, reading.faults))
}

/// Settings for a run as a whole have no effect in a used plan. It may be run by itself as well, so that is no mistake;
/// but its author shall know.
fn only_at_the_top(phase: &Phase, path: &str, inner: &Plan) -> Option<UsedFault> {
    let said = [
        ("max-parallel", inner.max_parallel != MAX_PARALLEL_DEFAULT),
        ("freshness", !inner.freshness.is_empty()),
        ("replan", inner.replan.is_some()),
        ("checkpoint", inner.says_of_checkpoints()),
        ("issue", inner.issue.is_some()),
        ("concurrency", inner.concurrency.is_some()),
        ("notify", !inner.notices.is_empty()),
    ];
    let said: Vec<String> = said.iter().filter(|(_, said)| *said).map(|(key, _)| format!("`{key}`")).collect();
    let message = format!("{} of {path} have no effect where phase `{}` uses it", said.join(", "), phase.id);
    let told = Diagnostic::warning(Code::NoEffect, message).help("say it in the plan that is run");
    let fault = UsedFault { path: path.to_owned(), text: String::new(), diagnostics: vec![told] };
    (!said.is_empty()).then_some(fault)
}

/// The path as it is looked up: without `./`.
pub(crate) fn normal(path: &str) -> String {
    let parts: Vec<&str> = path.trim().split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

struct Reading<'a> {
    load: &'a mut dyn FnMut(&str) -> Result<String, String>,
    used: BTreeMap<String, Plan>,
    faults: Vec<UsedFault>,
}

impl Reading<'_> {
    /// `above` are the paths that lead here; its length bounds the recursion.
    fn plan(&mut self, plan: &Plan, above: &mut Vec<String>) {
        for phase in plan.phases.iter().chain(&plan.finally) {
            if let Body::Uses(uses) = &phase.body {
                self.used(phase, &normal(&uses.path), above);
                self.given(phase, &uses.with, &normal(&uses.path));
            }
        }
    }

    fn used(&mut self, phase: &Phase, path: &str, above: &mut Vec<String>) {
        if above.iter().any(|before| before == path) {
            let round: Vec<&str> = above.iter().map(String::as_str).chain([path]).collect();
            return self.fault(
                path,
                Code::Cycle,
                format!("these plans use each other in a circle: {}", round.join(" -> ")),
            );
        }
        if above.len() >= DEPTH_MAX {
            return self.fault(path, Code::TooDeep, format!("plans inside plans are more than {DEPTH_MAX} deep"));
        }
        if self.used.contains_key(path) {
            return;
        }
        let text = match (self.load)(path) {
            Ok(text) => text,
            Err(why) => {
                let message = format!("phase `{}` uses {path}, which cannot be read: {why}", phase.id);
                return self.fault(path, Code::BadValue, message);
            }
        };
        let parsed = parse(&text);
        if !parsed.diagnostics.is_empty() {
            self.faults.push(UsedFault { path: path.to_owned(), text, diagnostics: parsed.diagnostics });
        }
        if let Some(inner) = parsed.plan {
            self.faults.extend(only_at_the_top(phase, path, &inner));
            self.used.insert(path.to_owned(), inner.clone());
            above.push(path.to_owned());
            self.plan(&inner, above);
            above.pop();
        }
    }

    /// The inputs of the plan and what the phase gives it. Values that are not known yet are checked when they are.
    fn given(&mut self, phase: &Phase, with: &[(String, String)], path: &str) {
        let Some(inner) = self.used.get(path) else { return };
        let unknown: Vec<&String> =
            with.iter().filter(|(_, value)| expression::holds(value)).map(|(name, _)| name).collect();
        let mut lenient = inner.clone();
        lenient
            .inputs
            .iter_mut()
            .filter(|(name, _)| unknown.contains(name))
            .for_each(|(_, spec)| spec.required = false);
        let given = with.iter().filter(|(name, _)| !unknown.contains(&name)).cloned();
        let faults = inputs::resolve(&lenient, &given.collect()).err().unwrap_or_default();
        let missing = unknown.into_iter().filter(|name| !inner.inputs.contains_key(*name));
        let missing = missing.map(|name| format!("the plan has no input `{name}`"));
        for message in faults.into_iter().map(|fault| fault.message).chain(missing).collect::<Vec<_>>() {
            self.fault(path, Code::BadInput, format!("phase `{}` uses {path}: {message}", phase.id));
        }
    }

    fn fault(&mut self, path: &str, code: Code, message: String) {
        let diagnostics = vec![Diagnostic::error(code, message)];
        self.faults.push(UsedFault { path: path.to_owned(), text: String::new(), diagnostics });
    }
}
