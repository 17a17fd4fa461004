//! Forms of values and answers that several verbs share.

use std::time::Duration;

use clap::Args;
use onward_core::event::nano_usd;

/// Above this somebody has mistyped.
const DOLLARS_MAX: f64 = 1_000_000.0;

/// The form of an answer.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Json {
    /// Print one JSON object on stdout.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The same as a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    Text,
    Json,
}

impl Json {
    pub(crate) fn form(self) -> AnswerForm {
        if self.json { AnswerForm::Json } else { AnswerForm::Text }
    }
}

/// `3h`, `90m`, `1h30m`; a bare 0 needs no unit.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    onward_core::document::units::duration(text)
        .map_err(|_| "a time is given with its unit, as 90s, 30m or 3h".to_owned())
}

/// Dollars, in the unit in which costs are kept: `5`, `2.50`, `$10`.
pub(super) fn dollars(text: &str) -> Result<u64, String> {
    let plain = text.strip_prefix('$').unwrap_or(text);
    let is_plain = plain.starts_with(|first: char| first.is_ascii_digit()) && !plain.contains(['e', 'E']);
    let amount = plain.parse::<f64>().ok().filter(|amount| is_plain && *amount <= DOLLARS_MAX);
    amount.map(nano_usd).ok_or_else(|| format!("it is given in dollars, as 5 or 2.50, up to {DOLLARS_MAX}"))
}

pub(super) fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) | None => Err("it is given as KEY=VALUE".to_owned()),
    }
}
