//! The markers in the file of a plan in Markdown against the record.

use std::collections::BTreeMap;

use super::finding::{Finding, FindingKind};
use crate::id::PhaseId;
use crate::markdown::Marker;
use crate::plan::PhaseMark;
use crate::run::{PhaseStatus, Run};

/// The meaning of a marker for whether a phase is to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkerClass {
    Open,
    Done,
    Out,
}

fn class(marker: Marker) -> MarkerClass {
    match marker {
        Marker::Pending | Marker::InProgress | Marker::Blocked => MarkerClass::Open,
        Marker::Completed => MarkerClass::Done,
        Marker::Skipped => MarkerClass::Out,
    }
}

/// Phases whose marker somebody has changed, and that now says something else than the record: each with what it says.
pub fn differing(run: &Run, now: &[PhaseMark]) -> Vec<PhaseMark> {
    let now: BTreeMap<&PhaseId, Marker> = now.iter().map(|mark| (&mark.phase, mark.marker)).collect();
    let differs = run.phases().filter_map(|(phase, state)| {
        let marker = now.get(&phase.id).copied().unwrap_or_default();
        let edited = class(marker) != class(run.marks.known(&phase.id)) && !run.marks.is_due(&phase.id);
        let contradicts = match class(marker) {
            MarkerClass::Done => state.status != PhaseStatus::Completed,
            MarkerClass::Out => state.status != PhaseStatus::Skipped,
            MarkerClass::Open => state.is_finished(),
        };
        (edited && contradicts).then(|| PhaseMark { phase: phase.id.clone(), marker })
    });
    differs.collect()
}

/// The same as findings: which of the two counts is not chosen here.
pub fn findings(run: &Run, differing: &[PhaseMark]) -> Vec<Finding> {
    let file = &run.started.plan_path;
    let found = differing.iter().filter_map(|PhaseMark { phase, marker }| {
        let status = run.phase_state(phase)?.status.as_str();
        let marked = match marker {
            Marker::Pending => "not started",
            Marker::InProgress => "in progress",
            Marker::Completed => "complete",
            Marker::Blocked => "blocked",
            Marker::Skipped => "skipped",
        };
        let message = format!("{file} marks phase {phase} as {marked}, and the record has it as {status}");
        Some(Finding::about(FindingKind::MarkerDiffers, phase, message))
    });
    found.collect()
}
