//! Artifacts of phases, as people read them.

use std::fmt::Write as _;

use jiff::Timestamp;
use onward_core::event::ArtifactSeen;
use onward_core::id::PhaseId;
use onward_core::words;

use super::{paint, safe, time};

/// Enough of a digest to tell two apart.
const DIGEST_CHARS: usize = 12;

/// A line for each, below the line of its phase.
pub(super) fn lines(artifacts: &[ArtifactSeen], now: Timestamp) -> String {
    let mut out = String::new();
    for artifact in artifacts {
        let kept = match (artifact.kept, artifact.kept_until, &artifact.not_kept) {
            (true, Some(until), _) => format!(", kept until {}", time::clock(until, now)),
            (true, None, _) => ", kept".to_owned(),
            (false, _, Some(why)) => format!(", not kept: {why}"),
            (false, _, None) => String::new(),
        };
        let digest: String = artifact.digest.chars().take(DIGEST_CHARS).collect();
        let size = words::bytes(artifact.bytes);
        let line = format!("{}: {} ({size}, {digest}{kept})", artifact.name, artifact.path);
        let _ = writeln!(out, "      {}", safe::line(&line));
    }
    out
}

/// The line about a completed phase whose artifacts could not be kept although the plan wants it.
pub(super) fn not_kept(phase: &PhaseId, artifacts: &[ArtifactSeen]) -> String {
    let mut out = String::new();
    for artifact in artifacts {
        if let Some(why) = &artifact.not_kept {
            let line = format!("{phase}: no copy is kept of {}: {why}", artifact.path);
            let _ = write!(out, "\n{} {}", paint::doubtful("!"), safe::line(&line));
        }
    }
    out
}
