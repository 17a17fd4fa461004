//! What the doctor found.

use std::fmt::Write as _;

use onward_engine::Findings;

use super::{paint, safe};

/// `onward doctor`.
pub(crate) fn doctor(found: &Findings) -> String {
    let mut out = String::new();
    for finding in &found.findings {
        let severity = match finding.severity {
            "error" => paint::bad("error"),
            "warning" => paint::doubtful("warning"),
            other => paint::dim(other),
        };
        let _ = writeln!(
            out,
            "{severity}[{}]: {}: {}",
            finding.code,
            safe::line(&finding.path),
            safe::line(&finding.message)
        );
        if !finding.help.is_empty() {
            let _ = writeln!(out, "  help: {}", safe::line(&finding.help));
        }
    }
    let last = if found.ok {
        paint::good("✓ all is well")
    } else {
        paint::bad("✗ something is damaged; nothing was changed")
    };
    let _ = writeln!(out, "{last}");
    out
}
