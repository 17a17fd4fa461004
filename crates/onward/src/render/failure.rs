//! The page of a failure, and the question where nobody could be asked.

use std::fmt::Write as _;

use jiff::Timestamp;
use onward_core::id::RunId;
use onward_core::question::Offer;
use serde::Serialize;

use super::{paint, safe};
use crate::failure::Failure;

/// The page of an error: what happened, what was kept, what to type next.
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
    let offers = offers(failure);
    if !offers.is_empty() || failure.question.is_some() {
        out.push_str(&answers(offers));
    }
    out
}

/// The page for a program, where the answer would have been.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorJson<'a> {
    error: ErrorBody<'a>,
}

/// The same among the lines of a run.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorLine<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    error: ErrorBody<'a>,
}

impl<'a> ErrorLine<'a> {
    pub(crate) fn new(failure: &'a Failure) -> Self {
        Self { kind: "error", error: ErrorJson::new(failure).error }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ErrorBody<'a> {
    /// The word for the kind of failure.
    code: &'a str,
    /// The exit code.
    exit: u8,
    message: &'a str,
    details: Vec<&'a str>,
    kept: &'a str,
    next: &'a [String],
    run: Option<&'a RunId>,
    /// Where an answer is needed: every one as a command.
    choices: &'a [Offer],
    /// The stored bytes of something that could not be read.
    raw: Option<&'a str>,
    /// When it is worth while to try again.
    retry_at: Option<Timestamp>,
}

impl<'a> ErrorJson<'a> {
    pub(crate) fn new(failure: &'a Failure) -> Self {
        let details = failure.diagnostics.lines().chain(failure.more.iter().map(String::as_str)).collect();
        Self {
            error: ErrorBody {
                code: failure.name,
                exit: failure.code,
                message: &failure.what,
                details,
                kept: failure.kept,
                next: &failure.next,
                run: failure.run.as_ref(),
                choices: offers(failure),
                raw: failure.raw.as_deref(),
                retry_at: failure.retry_at,
            },
        }
    }

    #[cfg(test)]
    pub(crate) fn about(&self) -> &ErrorBody<'a> {
        &self.error
    }
}

/// The answers to the question that stands in the way, if one does.
fn offers(failure: &Failure) -> &[Offer] {
    failure.question.as_ref().map_or(failure.choices.as_slice(), |question| question.choices.as_slice())
}

/// Every answer as a command that can be typed.
fn answers(offers: &[Offer]) -> String {
    let mut out = String::from("Answer with one of these:\n");
    for offer in offers {
        let _ = writeln!(out, "  {}   ({})", safe::line(&offer.command), safe::line(&offer.choice));
    }
    out
}
