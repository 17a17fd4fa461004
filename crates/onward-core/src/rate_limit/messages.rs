//! Messages with which agents and interfaces report a rate limit.
//!
//! Wording, not meaning: ordinary text *about* limits (a test named after one, a document, a log line of a program that
//! handles them) must not be taken for one, so every pattern asks for a form that only the refusal itself has.

use std::ops::Range;
use std::sync::LazyLock;

use regex_lite::Regex;

/// Any of these is a refusal for now.
const REFUSALS: &[&str] = &[
    // Claude Code: `Claude AI usage limit reached|1766502000`, `5-hour limit reached ∙ resets 3pm (Europe/Berlin)`,
    // `You've hit your session limit · resets 12:50am (Asia/Dhaka)`, `You're out of extra usage · resets 11pm (…)`.
    r"\blimit reached[^\n|]{0,60}\|\d{10,13}\b",
    r"\blimit reached\s*[^\w\s]\s*resets?\b",
    r"\b(?:usage|session|weekly|daily|hourly|5-hour|opus|sonnet|fable|haiku) limit reached\. (?:your|please|try|resets?)",
    r"\byou(?:'ve| have) (?:hit|reached|exceeded) your (?:\w[\w-]* ){0,3}(?:limit|limits)\b",
    r"\byou're out of (?:extra |\w+ )?usage\b",
    r"\blimits? will reset at\b",
    // Codex and its interface.
    r#"["'](?:usage_limit_reached|usage_not_included|rate_limit_reached)["']"#,
    // Anthropic's interface.
    r#"["'](?:rate_limit_error|overloaded_error)["']"#,
    r"\bwould exceed (?:your|the) (?:account's |organization's )?rate limit\b",
    r"\breached your specified api usage limits\b",
    r"\b529 overloaded\b",
    r#"\b529 \{"type":"error""#,
    // OpenAI's interface.
    r#"["'](?:rate_limit_exceeded|ratelimitexceeded|requests_limit_reached)["']"#,
    r"\brate limit reached for [^\n]{1,120}(?:per (?:min|day)|try again in)",
    // Google's.
    r#"["']?status["']?\s*[:=]\s*["']resource_exhausted["']"#,
    r"\bresource has been exhausted \(e\.g\. check quota\)",
    r"\bresource exhausted\. please (?:try again|retry)",
    r"\bquota exceeded for (?:quota )?metric\b",
    r"\bexhausted your (?:capacity on this model|daily quota)\b",
    r"\byour quota will reset (?:after|at|in)\b",
    // GitHub's.
    r"\bapi rate limit (?:already )?exceeded for\b",
    r"\bexceeded a secondary rate limit\b",
    // HTTP, as curl, fetch, Python and npm print it.
    r"\bhttp(?:/[0-9.]+)?[ :]+(?:status[ :]+|error[ :]+)?(?:429|529)\b",
    r#"\b(?:status(?:[ _-]?code)?|api error|error(?: code)?|code)["']?\s*[:=(]?\s*\(?(?:429|529)\b(?:[^0-9]|$)"#,
    r"\b429[ :,-]+too many requests\b",
];

/// These look alike, but waiting does not help: the request is too large, the money is gone, the window is full.
const HOPELESS: &[&str] = &[
    r"\brequest too large for\b",
    r#"["']insufficient_quota["']"#,
    r"\byou(?:'ve| have) (?:hit|reached|exceeded) your (?:\w[\w-]* ){0,2}(?:context|spend|spending|credit|budget)(?: \w+)? limits?\b",
];

static REFUSAL: LazyLock<Regex> = LazyLock::new(|| any_of(REFUSALS));
static WITHOUT_HOPE: LazyLock<Regex> = LazyLock::new(|| any_of(HOPELESS));

fn any_of(patterns: &[&str]) -> Regex {
    let whole = format!("(?i){}", patterns.join("|"));
    Regex::new(&whole).expect("the patterns are constants and a test compiles them")
}

/// Where the last refusal stands in the text.
pub(super) fn refusal(text: &str) -> Option<Range<usize>> {
    if WITHOUT_HOPE.is_match(text) {
        return None;
    }
    REFUSAL.find_iter(text).last().map(|found| found.range())
}
