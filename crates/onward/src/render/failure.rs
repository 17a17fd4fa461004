//! The page of a failure, and the question where nobody could be asked.

use std::fmt::Write as _;

use onward_engine::Question;

use super::{paint, safe};
use crate::failure::Failure;

/// What happened, what was kept, what to type next.
pub(crate) fn page(failure: &Failure) -> String {
    let mut out = format!("{}[{}]: {}\n", paint::bad("error"), failure.name, safe::line(&failure.what));
    out.push_str(&safe::block(&failure.diagnostics));
    for line in &failure.more {
        let _ = writeln!(out, "  {}", safe::line(line));
    }
    let _ = writeln!(out, "  kept: {}", failure.kept);
    for command in &failure.next {
        let _ = writeln!(out, "  next: {}", safe::line(command));
    }
    if let Some(question) = &failure.question {
        out.push_str(&answers(question));
    }
    out
}

/// Every answer as a command that can be typed.
fn answers(question: &Question) -> String {
    let mut out = String::from("Answer with one of these:\n");
    for offer in &question.choices {
        let _ = writeln!(out, "  {}   ({})", safe::line(&offer.command), safe::line(&offer.choice));
    }
    out
}
