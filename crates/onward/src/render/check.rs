//! The page of `check`.

use std::fmt::Write as _;

use onward_core::diagnostic::{self, Diagnostic};
use onward_core::id::PhaseId;
use onward_core::plan::{self, PhaseOutline};
use onward_engine::Checked;
use serde::Serialize;

use super::{paint, safe};

/// `check --json`.
#[derive(Debug, Serialize)]
pub(crate) struct CheckAnswer<'a> {
    valid: bool,
    phases: Vec<CheckedPhase<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batches: Option<Vec<Vec<PhaseId>>>,
    diagnostics: Vec<CheckedDiagnostic<'a>>,
}

#[derive(Debug, Serialize)]
struct CheckedPhase<'a> {
    id: &'a PhaseId,
    name: &'a str,
    kind: &'a str,
    needs: &'a [PhaseId],
    status: &'static str,
    tasks_total: usize,
    tasks_done: usize,
}

#[derive(Debug, Serialize)]
struct CheckedDiagnostic<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    line: Option<u32>,
    column: Option<u32>,
    help: &'a str,
}

pub(crate) fn answer(checked: &Checked) -> CheckAnswer<'_> {
    let parsed = &checked.parsed;
    CheckAnswer {
        valid: parsed.plan.is_some(),
        phases: parsed.phases.iter().map(phase).collect(),
        batches: parsed.plan.as_ref().map(plan::graph::batches),
        diagnostics: parsed.diagnostics.iter().map(diagnosed).collect(),
    }
}

fn phase(outline: &PhaseOutline) -> CheckedPhase<'_> {
    CheckedPhase {
        id: &outline.id,
        name: outline.name.as_deref().unwrap_or(outline.id.as_str()),
        kind: &outline.kind,
        needs: &outline.needs,
        status: outline.marker.as_str(),
        tasks_total: outline.tasks_total,
        tasks_done: outline.tasks_done,
    }
}

fn diagnosed(diagnostic: &Diagnostic) -> CheckedDiagnostic<'_> {
    CheckedDiagnostic {
        code: diagnostic.code.as_str(),
        severity: diagnostic.severity.as_str(),
        message: &diagnostic.message,
        line: diagnostic.place.map(|place| place.line),
        column: diagnostic.place.map(|place| place.column),
        help: &diagnostic.help,
    }
}

/// `onward check`.
pub(crate) fn check(checked: &Checked) -> String {
    let parsed = &checked.parsed;
    let mut out = safe::block(&diagnostic::render(&checked.file, &checked.text, &parsed.diagnostics));
    let file = safe::line(&checked.file);
    let Some(plan) = &parsed.plan else {
        let errors = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        let _ = writeln!(out, "{} {file} is not valid, errors found: {errors}", paint::bad("✗"));
        return out;
    };
    for (number, batch) in plan::graph::batches(plan).iter().enumerate() {
        let ids: Vec<String> = batch.iter().map(|id| safe::line(id.as_str())).collect();
        let _ = writeln!(out, "batch {}: {}", number + 1, ids.join(", "));
    }
    let sum = |count: fn(&PhaseOutline) -> usize| parsed.phases.iter().map(count).sum::<usize>();
    let (tasks, done) = (sum(|phase| phase.tasks_total), sum(|phase| phase.tasks_done));
    let tasks = if tasks == 0 { String::new() } else { format!(", tasks: {tasks}, done: {done}") };
    let _ = writeln!(out, "{} {file} is valid, phases: {}{tasks}", paint::good("✓"), plan.phases.len());
    out
}
