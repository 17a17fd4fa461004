//! The codes of failures: what stands in `code` of a phase's error, in one place, since stored runs and scripts know them.

/// It ended with a code other than 0.
pub const EXIT_CODE: &str = "exit-code";
/// A signal that was not ours ended it.
pub const SIGNAL: &str = "signal";
pub const TIMED_OUT: &str = "timed-out";
pub const COULD_NOT_START: &str = "could-not-start";
/// It says that it is done, and what it gives out cannot be read.
pub const BAD_OUTPUTS: &str = "bad-outputs";
/// It says that it is done, and an artifact is not there.
pub const ARTIFACT_MISSING: &str = "artifact-missing";
/// It says that it is done, and a command of `verify` says no.
pub const VERIFY_FAILED: &str = "verify-failed";
/// It says that it is done, and its `done-when` says no.
pub const EFFECT_MISSING: &str = "effect-missing";
/// Somebody says that it is done, and not all that is to prove it was looked at.
pub const NOT_LOOKED_AT: &str = "not-looked-at";
/// It takes its host down again and again.
pub const CRASH_LOOP: &str = "crash-loop";
/// An approval that was not given.
pub const REJECTED: &str = "rejected";
/// Whoever does it said so.
pub const REPORTED: &str = "reported";
/// Whoever does it says again and again that the same remains.
pub const STUCK: &str = "stuck";
/// Whoever does it was not heard for too long.
pub const SILENT: &str = "silent";
/// One of the phases that it consists of has failed.
pub const PART_FAILED: &str = "part-failed";
/// What it consists of cannot be told.
pub const CANNOT_EXPAND: &str = "cannot-expand";
/// It wants another plan and does not get it.
pub const NOT_REPLANNED: &str = "not-replanned";

/// Whether a phase with this code said that it was done, and what was to prove it said otherwise.
pub fn is_of_a_proof(code: &str) -> bool {
    matches!(code, VERIFY_FAILED | EFFECT_MISSING | ARTIFACT_MISSING)
}
