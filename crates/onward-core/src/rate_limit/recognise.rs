//! Whether an attempt that failed was rate-limited.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::patterns;
use crate::plan::{Detect, Limit};
use crate::tail;

use super::respond::guess;
use super::{messages, times};

/// The exit code with which a phase says that it was rate-limited.
pub const EXIT_LIMITED: i32 = 75;
/// A time may stand this far before the refusal it belongs to: headers come before the body.
const TIME_BEFORE_BYTES_MAX: usize = 1 << 10;
/// Characters of a message that are kept for people.
const SAID_CHARS_MAX: usize = 200;

/// The author of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A coding agent, in the event with which it says how it ended.
    Agent,
    /// A program, on its output.
    Program,
}

/// How an attempt failed. Nobody asks about one that did not.
#[derive(Clone, Copy, Debug)]
pub struct FailureEvidence<'a> {
    pub speaker: Speaker,
    /// None where it was ended by a signal.
    pub exit_code: Option<i32>,
    /// The agent's last word, or the output; only the end of it is looked at.
    pub text: &'a [u8],
    /// Limits this phase has hit in a row, before this time: waits that nobody told us grow with it.
    pub hits_before: u32,
    /// For clock times without a zone.
    pub local: &'a TimeZone,
}

/// A limit was hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecognisedLimit {
    /// The limits of the phase that this closes; empty if only the phase itself has to wait.
    pub limits: BTreeSet<String>,
    /// Not before this time. Always ahead of `now`.
    pub until: Timestamp,
    /// The time was told; otherwise it is a guess.
    pub told: bool,
    /// The line that said so, for people; empty if only the exit code did.
    pub said: String,
}

/// Looks for a limit behind a failure. `limits` are those that the phase draws on, with their names.
///
/// Programs that draw on no limit are believed by their exit code only: their output may be about anything.
pub fn recognise<'a>(
    evidence: &FailureEvidence<'_>,
    limits: impl IntoIterator<Item = (&'a str, &'a Limit)>,
    now: Timestamp,
) -> Option<RecognisedLimit> {
    if evidence.speaker == Speaker::Program && evidence.exit_code == Some(0) {
        return None;
    }
    let limits: Vec<(&str, &Limit)> = limits.into_iter().collect();
    let text = tail::readable(evidence.text);
    let declared: BTreeSet<String> = limits
        .iter()
        .filter(|(_, limit)| limit.detect.as_ref().is_some_and(|detect| detects(detect, evidence.exit_code, &text)))
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let listens = evidence.speaker == Speaker::Agent || !limits.is_empty();
    let refusal = if listens { messages::refusal(&text) } else { None };
    if declared.is_empty() && refusal.is_none() && evidence.exit_code != Some(EXIT_LIMITED) {
        return None;
    }
    let plan_says = limits.iter().filter_map(|(_, limit)| limit.detect.as_ref()?.reset_at.as_deref());
    let told = plan_says
        .filter_map(|pattern| patterns::last_caught(pattern, &text))
        .find_map(|value| times::caught(value, now, evidence.local))
        .or_else(|| times::named(near(&text, refusal.as_ref()), now, evidence.local));
    let every = || limits.iter().map(|(name, _)| (*name).to_owned()).collect();
    Some(RecognisedLimit {
        limits: if declared.is_empty() { every() } else { declared },
        until: told.unwrap_or_else(|| now + guess(evidence.hits_before)),
        told: told.is_some(),
        said: refusal.map(|at| line_of(&text, at.start)).unwrap_or_default(),
    })
}

fn detects(detect: &Detect, exit_code: Option<i32>, text: &str) -> bool {
    let by_code = exit_code.is_some_and(|code| detect.exit_codes.contains(&code));
    by_code || detect.output_matches.as_deref().is_some_and(|pattern| patterns::matches(pattern, text))
}

/// The text around the refusal, and all that comes after it.
fn near<'t>(text: &'t str, refusal: Option<&std::ops::Range<usize>>) -> &'t str {
    let start = refusal.map_or(0, |at| at.start.saturating_sub(TIME_BEFORE_BYTES_MAX));
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[start..]
}

fn line_of(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |before| before + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    line.trim().chars().take(SAID_CHARS_MAX).collect()
}
