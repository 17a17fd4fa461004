//! Colour, always beside a sign or a word that says the same. The streams take it out where it does not belong.

use onward_core::run::PhaseStatus;

/// Ends every colour.
pub(crate) const RESET: &str = "\u{1b}[0m";

fn paint(code: &str, text: &str) -> String {
    format!("\u{1b}[{code}m{text}{RESET}")
}

pub(crate) fn bold(text: &str) -> String {
    paint("1", text)
}

pub(crate) fn dim(text: &str) -> String {
    paint("2", text)
}

pub(crate) fn good(text: &str) -> String {
    paint("32", text)
}

pub(crate) fn bad(text: &str) -> String {
    paint("31", text)
}

pub(crate) fn busy(text: &str) -> String {
    paint("36", text)
}

pub(crate) fn doubtful(text: &str) -> String {
    paint("33", text)
}

/// The sign of a phase.
pub(crate) fn sign(status: PhaseStatus) -> String {
    match status {
        PhaseStatus::Pending => dim("·"),
        PhaseStatus::Running | PhaseStatus::Interrupted => busy("→"),
        PhaseStatus::Waiting => doubtful("?"),
        PhaseStatus::Completed => good("✓"),
        PhaseStatus::Failed => bad("✗"),
        PhaseStatus::Skipped => dim("-"),
    }
}
