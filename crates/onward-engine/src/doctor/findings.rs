//! Findings: one line each, with a code, a place, and what to do about it.

use onward_store::StoreError;
use serde::Serialize;

use super::code::{DoctorCode, DoctorSeverity};
use crate::error::Error;
use crate::project::Project;

/// Stands in front of every way out that a repair is.
pub(super) const REPAIR: &str = "onward doctor --repair";

/// One thing that a person should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoctorFinding {
    pub code: DoctorCode,
    pub severity: DoctorSeverity,
    pub path: String,
    pub message: String,
    /// Help: the things that were kept, and the command to type next.
    pub help: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// No finding is an error.
    pub ok: bool,
    pub findings: Vec<DoctorFinding>,
    /// Absent where there is no store, or none that can be opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreFacts>,
}

/// The sum of all findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Soundness {
    Sound,
    Damaged,
    /// A later version wrote what is here: it is shown, and never changed.
    Newer,
}

impl Soundness {
    pub(super) fn judge(findings: &[DoctorFinding]) -> Self {
        if findings.iter().any(|finding| finding.code == DoctorCode::Newer) {
            Self::Newer
        } else if findings.iter().any(|finding| finding.severity == DoctorSeverity::Error) {
            Self::Damaged
        } else {
            Self::Sound
        }
    }
}

/// The store's own word about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreFacts {
    pub id: String,
    pub format: String,
    /// How many changes of form the database has seen.
    pub schema: u32,
    pub commits: u64,
}

impl Findings {
    pub fn soundness(&self) -> Soundness {
        Soundness::judge(&self.findings)
    }

    pub(super) fn has(&self, code: DoctorCode) -> bool {
        self.findings.iter().any(|finding| finding.code == code)
    }
}

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct FindingsSoFar(pub(super) Vec<DoctorFinding>);

impl FindingsSoFar {
    pub(super) fn error(&mut self, code: DoctorCode, path: impl Into<String>, message: impl Into<String>, help: &str) {
        self.add(DoctorSeverity::Error, code, path.into(), message.into(), help);
    }

    pub(super) fn warning(
        &mut self,
        code: DoctorCode,
        path: impl Into<String>,
        message: impl Into<String>,
        help: &str,
    ) {
        self.add(DoctorSeverity::Warning, code, path.into(), message.into(), help);
    }

    pub(super) fn info(&mut self, code: DoctorCode, path: impl Into<String>, message: impl Into<String>, help: &str) {
        self.add(DoctorSeverity::Info, code, path.into(), message.into(), help);
    }

    fn add(&mut self, severity: DoctorSeverity, code: DoctorCode, path: String, message: String, help: &str) {
        self.0.push(DoctorFinding { code, severity, path, message, help: help.to_owned() });
    }

    /// Adds the error of a call on the store that concerns no single run.
    pub(super) fn store(&mut self, why: &StoreError, what: &str) {
        let message = format!("{what}: {why}");
        match why {
            StoreError::Newer { .. } => self.error(DoctorCode::Newer, ".onward", message, NEWER),
            StoreError::Damaged(_) => self.error(DoctorCode::Database, ".onward/onward.db", message, &rebuilt()),
            _ => self.error(DoctorCode::Store, ".onward", message, UNREADABLE),
        }
    }
}

pub(super) const NEWER: &str = "nothing was changed and nothing is damaged by that: use the version that wrote it; this one is shown \
                     by onward --version";
pub(super) const UNREADABLE: &str =
    "the files are left as they are: look at the owner, the mode and the disk, then type onward doctor";

pub(super) fn rebuilt() -> String {
    format!(
        "whatever can still be read is kept: {REPAIR} puts it into a new database and keeps the old one, byte for byte, \
         in .onward/damaged"
    )
}

/// Adds an error about one run.
pub(super) fn of_run(why: &Error, path: &str, code: DoctorCode, help: &str, found: &mut FindingsSoFar) {
    match why {
        Error::Store(StoreError::Newer { .. }) => found.error(DoctorCode::Newer, path, why.to_string(), NEWER),
        other => found.error(code, path, other.to_string(), help),
    }
}

pub(super) fn relative(project: &Project, path: &std::path::Path) -> String {
    path.strip_prefix(&project.top).unwrap_or(path).display().to_string()
}
