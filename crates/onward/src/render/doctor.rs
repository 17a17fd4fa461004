//! The page of `doctor`: findings and repairs.

use std::fmt::Write as _;

use onward_engine::{DoctorFinding, DoctorSeverity, Findings, Repaired, Soundness};

use super::{paint, safe};

/// `onward doctor`.
pub(crate) fn doctor(found: &Findings) -> String {
    let mut out = findings(&found.findings);
    let last = match found.soundness() {
        Soundness::Sound => paint::good("✓ all is well"),
        Soundness::Newer => paint::bad("✗ a newer onward wrote this; nothing was changed"),
        Soundness::Damaged => paint::bad("✗ something is damaged; nothing was changed"),
    };
    let _ = writeln!(out, "{last}");
    out
}

/// `onward doctor --repair`: what was done, line by line, and what is left.
pub(crate) fn repair(done: &Repaired) -> String {
    let mut out = String::new();
    for repair in &done.repaired {
        let (path, message) = (safe::line(&repair.path), safe::line(&repair.message));
        let _ = writeln!(out, "{}[{}]: {path}: {message}", paint::good("repaired"), repair.code);
    }
    out.push_str(&findings(&done.findings));
    if let Some(aside) = &done.aside {
        let _ = writeln!(out, "what was there before is kept in {}", safe::line(aside));
    }
    let last = match (done.soundness(), done.repaired.is_empty()) {
        (Soundness::Newer, _) => paint::bad("✗ a newer onward wrote this; nothing was changed"),
        (Soundness::Sound, true) => paint::good("✓ all is well; there was nothing to repair"),
        (Soundness::Sound, false) => paint::good("✓ all is well again"),
        (Soundness::Damaged, _) => paint::bad("✗ something is left that a person has to see to"),
    };
    let _ = writeln!(out, "{last}");
    out
}

fn findings(all: &[DoctorFinding]) -> String {
    let mut out = String::new();
    for finding in all {
        let severity = match finding.severity {
            DoctorSeverity::Error => paint::bad("error"),
            DoctorSeverity::Warning => paint::doubtful("warning"),
            DoctorSeverity::Info => paint::dim("info"),
        };
        let (path, message) = (safe::line(&finding.path), safe::line(&finding.message));
        let _ = writeln!(out, "{severity}[{}]: {path}: {message}", finding.code);
        let _ = writeln!(out, "  help: {}", safe::line(&finding.help));
    }
    out
}
