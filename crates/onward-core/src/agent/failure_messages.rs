//! Messages of failure, as the clients of today word them.

use std::sync::LazyLock;

use jiff::Timestamp;
use regex_lite::Regex;

use super::declared::DeclaredLimit;
use super::frames::{AgentExit, about};
use super::outcome::AgentEnd;
use crate::plan::{Detect, Limit};
use crate::rate_limit::{FailureEvidence, Speaker, recognise};
use crate::tail;

static UNKNOWN_SESSION: LazyLock<Regex> =
    LazyLock::new(|| any_of(&["no conversation found with session id", "no rollout found for thread id"]));
static SESSION_IN_USE: LazyLock<Regex> =
    LazyLock::new(|| any_of(&[r"session id \S+ is already in use", "already has an active writer"]));
static TELLS_OF_AN_ERROR: LazyLock<Regex> = LazyLock::new(|| {
    any_of(&[
        "error|fail|invalid|denied|refus|reject|abort|exceed|unable|missing|unknown|unexpected|overload|limit|expired",
        r"\b(?:no|not|never|cannot|without|too|out of|run out|timed out|timeout|full|lost|bad|wrong|down|broken)\b",
        r"n't\b|\b[45]\d\d\b",
    ])
});
static NOT_LOGGED_IN: LazyLock<Regex> = LazyLock::new(|| {
    any_of(&["not logged in", "invalid api key", r"please run /login", r"\bstatus 401\b", r"^api error: 401\b"])
});
static EXHAUSTED: LazyLock<Regex> = LazyLock::new(|| {
    any_of(&["^prompt is too long", r"ran out of room in the model's context window", r"\bcontext_length_exceeded\b"])
});
static OVERLOADED: LazyLock<Regex> = LazyLock::new(|| {
    any_of(&[
        r"\b529\b[^\n]{0,40}\boverloaded",
        r"\boverloaded_error\b",
        "^api error: overloaded",
        "model is at capacity",
        "experiencing high demand",
        r"^api error: 5\d\d\b",
        r"\bunexpected status 5\d\d\b",
        r"\bhttp(?:/[0-9.]+)?[ :]+50[234]\b",
        r"\b(?:econnrefused|econnreset|etimedout|enotfound|eai_again|epipe)\b",
        r"\bconnection (?:refused|reset|error|failed|timed out|closed)\b",
        r"\brequest timed out\b",
        r"\b(?:could not|failed to) resolve host\b",
        r"\btemporary failure in name resolution\b",
        "stream disconnected before completion",
        r"\bfetch failed\b",
    ])
});

fn any_of(patterns: &[&str]) -> Regex {
    let whole = format!("(?i){}", patterns.join("|"));
    Regex::new(&whole).expect("the patterns are constants and a test compiles them")
}

/// The meaning of a message with which a client failed.
pub(super) fn failure(message: &str, exit: &AgentExit<'_>, now: Timestamp) -> AgentEnd {
    let text = tail::readable(message.as_bytes());
    let said = about(&text);
    if UNKNOWN_SESSION.is_match(&text) {
        AgentEnd::UnknownSession
    } else if SESSION_IN_USE.is_match(&text) {
        AgentEnd::SessionInUse
    } else if EXHAUSTED.is_match(&text) {
        AgentEnd::Exhausted
    } else if OVERLOADED.is_match(&text) {
        // A limit too has its 529, but no time: the same again a little later is the answer.
        AgentEnd::Overloaded { said }
    } else if let Some(limit) = limit(&text, exit, now) {
        limit
    } else if NOT_LOGGED_IN.is_match(&text) {
        AgentEnd::NotLoggedIn { said }
    } else {
        AgentEnd::Failed { message: if said.is_empty() { exit_said(exit) } else { as_an_error(said) } }
    }
}

/// A client that reports an error may say nothing else than "done", and alone that would be read as the opposite.
pub(super) fn as_an_error(said: String) -> String {
    if said.is_empty() || TELLS_OF_AN_ERROR.is_match(&said) {
        return said;
    }
    format!("its client reports an error, and all that it says is: {said}")
}

/// A limit, if the message speaks of one.
pub(super) fn limit(message: &str, exit: &AgentExit<'_>, now: Timestamp) -> Option<AgentEnd> {
    let found = recognise(&failed(message.as_bytes(), exit), [], now)?;
    Some(AgentEnd::Limited { until: found.told.then_some(found.until), said: about(message) })
}

/// A limit, if the output is as the declaration of the agent says.
pub(super) fn declared_limit(
    declared: &DeclaredLimit,
    output: &[u8],
    exit: &AgentExit<'_>,
    now: Timestamp,
) -> Option<AgentEnd> {
    let detect = Detect {
        exit_codes: Vec::new(),
        output_matches: declared.matches.clone(),
        reset_at: declared.reset_at.clone(),
    };
    let limit = Limit { detect: Some(detect), ..Limit::default() };
    let found = recognise(&failed(output, exit), [("declared", &limit)], now)?;
    let said = if found.said.is_empty() { tail::last_line(output).unwrap_or_default() } else { found.said };
    Some(AgentEnd::Limited { until: found.told.then_some(found.until), said })
}

fn failed<'a>(text: &'a [u8], exit: &AgentExit<'a>) -> FailureEvidence<'a> {
    FailureEvidence { speaker: Speaker::Agent, exit_code: exit.code, text, hits_before: 0, local: exit.local }
}

/// The end of a process whose frames do not say how it ended.
pub(super) fn no_result(exit: &AgentExit<'_>, printed: &[u8]) -> AgentEnd {
    let errors = tail::readable(exit.errors);
    if UNKNOWN_SESSION.is_match(&errors) {
        AgentEnd::UnknownSession
    } else if SESSION_IN_USE.is_match(&errors) {
        AgentEnd::SessionInUse
    } else if exit.code.is_none() || matches!(exit.code, Some(129 | 130 | 137 | 143)) {
        AgentEnd::Interrupted
    } else if NOT_LOGGED_IN.is_match(&errors) {
        AgentEnd::NotLoggedIn { said: exit_said(exit) }
    } else {
        let last = tail::last_line(exit.errors).or_else(|| tail::last_line(printed));
        AgentEnd::NoResult { said: last.unwrap_or_else(|| "it said nothing".to_owned()) }
    }
}

/// The last line of the errors, or the exit code.
fn exit_said(exit: &AgentExit<'_>) -> String {
    tail::last_line(exit.errors).unwrap_or_else(|| match exit.code {
        Some(code) => format!("it said nothing (exit code {code})"),
        None => "it said nothing, and was ended by a signal".to_owned(),
    })
}
