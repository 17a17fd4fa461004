//! The last lines of an attempt that failed: the reason, as far as the phase has told it.

use console::truncate_str;
use onward_core::event::{Event, Outcome};
use onward_core::id::{Attempt, PhaseId};
use onward_core::plan::Body;
use onward_core::run::Run;
use onward_core::tail::plain_line;
use onward_engine::AttemptOutput;

use super::{paint, safe};

/// Shown of a failure that stays.
const LINES_MAX: usize = 20;
/// Shown of a failure after which it is tried again.
const RETRY_LINES: usize = 1;

/// The last lines that belong to an event, if it tells of a failure: of the checks where those said no, else of the output.
pub(super) fn of_event(event: &Event, run: &Run, output: &dyn AttemptOutput) -> Vec<String> {
    match event {
        Event::AttemptEnded { phase, attempt, outcome, .. } => match outcome {
            Outcome::Exited { code: 0 }
            | Outcome::CouldNotStart { .. }
            | Outcome::NeverRan
            | Outcome::Stopped { .. }
            | Outcome::Unknown => Vec::new(),
            Outcome::Exited { .. } | Outcome::Killed { .. } | Outcome::TimedOut => {
                output.last_lines(run, phase, *attempt, LINES_MAX)
            }
        },
        Event::PhaseFailed { phase, .. } => of_last_attempt(run, phase, output, LINES_MAX),
        Event::RetryScheduled { phase, .. } => of_last_attempt(run, phase, output, RETRY_LINES),
        _ => Vec::new(),
    }
}

fn of_last_attempt(run: &Run, phase: &PhaseId, output: &dyn AttemptOutput, lines_max: usize) -> Vec<String> {
    let prints = run
        .plan()
        .phase(phase)
        .is_some_and(|phase| phase.children.is_none() && matches!(phase.body, Body::Run { .. } | Body::Agent(_)));
    let Some(attempt) = run.phase_state(phase).map(|state| state.attempts).filter(|count| prints && *count > 0) else {
        return Vec::new();
    };
    let attempt = Attempt(attempt);
    // Checks are made only of what says that it is done: if there were any, they said no.
    let checks = output.last_lines_of_checks(run, phase, attempt, lines_max);
    if checks.is_empty() { output.last_lines(run, phase, attempt, lines_max) } else { checks }
}

/// The lines for a program: no colours.
pub(super) fn plain(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| plain_line(line)).collect()
}

/// Behind the line about a retry.
pub(super) fn of_a_retry(lines: &[String], columns: Option<usize>) -> String {
    lines
        .iter()
        .map(|line| format!("{}\n", cut(&format!("  {} {}", paint::dim("│"), harmless(line)), columns)))
        .collect()
}

/// In a frame, with the command that shows all of it.
pub(super) fn framed(lines: &[String], run: &Run, phase: &PhaseId, columns: Option<usize>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let head = match lines.len() {
        1 => "its last line".to_owned(),
        count => format!("its last {count} lines"),
    };
    let mut out = format!("{}\n", paint::dim(&format!("  ┌ {head}")));
    for line in lines {
        out.push_str(&cut(&format!("  {} {}", paint::dim("│"), harmless(line)), columns));
        out.push('\n');
    }
    let (id, phase) = (safe::line(run.id.as_str()), safe::line(phase.as_str()));
    out.push_str(&format!("{} all of it:  onward logs {id} {phase}\n", paint::dim("  └")));
    out
}

fn harmless(line: &str) -> String {
    let line = line.replace('\t', "    ");
    format!("{}{}", safe::coloured(&line), paint::RESET)
}

fn cut(line: &str, columns: Option<usize>) -> String {
    columns.map_or_else(|| line.to_owned(), |columns| truncate_str(line, columns, "…").into_owned())
}
