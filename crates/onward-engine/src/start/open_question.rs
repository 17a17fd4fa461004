//! The findings of a start that did not go on: a question that nobody answered, or a refusal. They are no fact of the
//! run, so they are not in its journal and need no lease; they lie beside it, and may be lost (`docs/design/0013`).

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use onward_core::id::{PhaseId, RunId};
use onward_core::resume::{Finding, Weight};
use onward_core::run::Run;
use onward_core::{view, words};
use onward_store::private;
use serde::{Deserialize, Serialize};

use crate::Onward;
use crate::project::Project;
use crate::redact;

/// The format of the note; one of another version counts as missing.
const FORMAT: u32 = 1;
const NOTE_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Noted {
    format: u32,
    at: Timestamp,
    findings: Vec<Finding>,
}

impl Onward {
    /// Keeps what stands in the way of a run for those who only look. Where it cannot be kept, nothing but that is lost.
    pub(crate) fn note(&self, run: &RunId, findings: &[Finding]) {
        let clean = |finding: &Finding| Finding {
            message: redact::inputs::text(finding.message.clone()),
            details: finding.details.iter().cloned().map(redact::inputs::text).collect(),
            ..finding.clone()
        };
        let findings = findings.iter().map(clean).collect();
        let noted = Noted { format: FORMAT, at: Timestamp::now(), findings };
        let bytes = serde_json::to_vec(&noted).expect("it has only string keys");
        let _ = private::replace(&place(&self.project, run), &bytes);
    }

    /// The run goes on, or is gone: what stood in its way does not any more.
    pub(crate) fn forget_note(&self, run: &RunId) {
        let _ = fs::remove_file(place(&self.project, run));
    }
}

fn place(project: &Project, run: &RunId) -> PathBuf {
    project.runtime().join(format!("{run}.found"))
}

fn read(project: &Project, run: &RunId) -> Option<Noted> {
    let bytes = private::read(&place(project, run), NOTE_BYTES_MAX).ok()?;
    serde_json::from_slice(&bytes).ok().filter(|noted: &Noted| noted.format == FORMAT)
}

/// The last findings about an unfinished run, with their age: of a start that did not go on, or of the last driver when
/// it began. Read-only verbs execute nothing to find out more.
pub(crate) fn last_findings(project: &Project, run: &Run, phase: Option<&PhaseId>) -> Vec<String> {
    let at = run.last_look().map(|look| look.at);
    let noted = if run.is_unfinished() { newer(project, &run.id, at) } else { None };
    match noted {
        Some(noted) => aged(&noted.worth_a_line(phase), Some(noted.at)),
        None => aged(&view::findings(run, phase), at),
    }
}

/// The same for a row of a list: `kept` is what the row says.
pub(crate) fn last_of_row(
    project: &Project,
    run: &RunId,
    kept: &[String],
    looked_at: Option<Timestamp>,
) -> Vec<String> {
    match newer(project, run, looked_at) {
        Some(noted) => aged(&noted.worth_a_line(None), Some(noted.at)),
        None => aged(kept, looked_at),
    }
}

fn newer(project: &Project, run: &RunId, than: Option<Timestamp>) -> Option<Noted> {
    read(project, run).filter(|noted| than.is_none_or(|than| noted.at > than))
}

impl Noted {
    fn worth_a_line(&self, phase: Option<&PhaseId>) -> Vec<String> {
        let worth = |finding: &&Finding| finding.kind.row().weight >= Weight::Warn;
        let about = |finding: &&Finding| phase.is_none_or(|phase| finding.phase.as_ref() == Some(phase));
        self.findings.iter().filter(worth).filter(about).map(|finding| finding.message.clone()).collect()
    }
}

pub(crate) fn aged(findings: &[String], at: Option<Timestamp>) -> Vec<String> {
    let Some(at) = at else { return Vec::new() };
    let age = words::duration(Duration::try_from(Timestamp::now().duration_since(at)).unwrap_or_default());
    findings.iter().map(|message| format!("seen {age} ago: {message}")).collect()
}
