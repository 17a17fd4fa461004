//! When to come back, as it is said beside a refusal: seconds, spans, dates, clock times, counts since 1970.

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use regex_lite::Regex;

use super::clock;

/// A reset further away than this is not believed: monthly limits are the longest there are.
pub const RESET_AWAY_MAX: SignedDuration = SignedDuration::from_hours(35 * 24);

/// How a form is read.
#[derive(Clone, Copy)]
enum Form {
    /// Seconds from now, or a date: the header `retry-after`.
    After,
    Milliseconds,
    /// A span from now: `4h 12m`, `2 days 17 hours`.
    Span,
    /// Seconds since 1970, or seconds or a span from now, or a date: the headers that say when a window ends.
    Reset,
    Clock,
}

/// In order of trust: what was said to us comes before what describes a window.
const FORMS: &[(&str, Form)] = &[
    (r#"\bretry-after-ms["']?\s*[:=]\s*["']?([0-9.]{1,16})"#, Form::Milliseconds),
    (r#"\bretry[-_ ]?after["']?\s*[:=]\s*["']?([^"'\n;}]{1,40})"#, Form::After),
    (r"\|(\d{10}(?:\d{3})?)\b", Form::Reset),
    (r#"\bresets?_(?:at|time)["']?\s*[:=]\s*["']?([^"'\n,}]{1,40})"#, Form::Reset),
    (r#"\bresets?_in_seconds["']?\s*[:=]\s*["']?([0-9.]{1,16})"#, Form::After),
    (r#"\bretry_?delay["']?\s*[:=]?\s*["'{]?\s*(?:seconds\s*[:=]\s*)?([0-9.]+ ?[a-z]*)"#, Form::Span),
    (
        r"\b(?:try(?: it)? again|retry|resets?|available again|wait)\s+(?:in|after|for)\s+(?:about\s+|another\s+)?((?:[0-9][0-9.]*\s*[a-z]+[\s,]*(?:and\s+)?){1,5})",
        Form::Span,
    ),
    (
        r"\b(?:try(?: it)? again|retry|resets?|available again|regain access|wait|limited)(?:\s+(?:at|on|after|until))?[\s:]+(\S[^\n]{0,70}(?:\n[^\n]{0,20})?)",
        Form::Clock,
    ),
    (r#"\b(?:x-)?ratelimit-reset(?:-[a-z]+)?["']?\s*[:=]\s*["']?([^"'\n,}]{1,40})"#, Form::Reset),
    (r#"\banthropic-ratelimit-[a-z-]*reset["']?\s*[:=]\s*["']?([^"'\n,}]{1,40})"#, Form::Reset),
];

static KNOWN: LazyLock<Vec<(Regex, Form)>> = LazyLock::new(|| {
    let compiled = FORMS.iter().map(|(pattern, form)| {
        let regex = Regex::new(&format!("(?i){pattern}")).expect("the patterns are constants and a test compiles them");
        (regex, *form)
    });
    compiled.collect()
});

static SPAN_PART: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?:,|and\b)?\s*([0-9]+)(?:\.([0-9]+))?\s*([a-z]+)")
        .expect("the pattern is a constant and a test compiles it")
});

/// The time to come back that the text names, if it is ahead of `now` and near enough to be believed.
pub(super) fn named(text: &str, now: Timestamp, local: &TimeZone) -> Option<Timestamp> {
    KNOWN.iter().find_map(|(regex, form)| {
        // Of several of one kind the last one said counts.
        let said = regex.captures_iter(text).filter_map(|found| found.get(1));
        let times: Vec<Timestamp> = said.filter_map(|value| read(value.as_str(), *form, now, local)).collect();
        times.into_iter().rfind(|time| believable(*time, now))
    })
}

/// A time on its own: what the `reset-at` pattern of a plan caught.
pub(super) fn caught(value: &str, now: Timestamp, local: &TimeZone) -> Option<Timestamp> {
    let value = value.trim();
    [Form::Reset, Form::Clock]
        .into_iter()
        .find_map(|form| read(value, form, now, local).filter(|time| believable(*time, now)))
}

pub(super) fn believable(time: Timestamp, now: Timestamp) -> bool {
    time > now && time.duration_since(now) <= RESET_AWAY_MAX
}

fn read(value: &str, form: Form, now: Timestamp, local: &TimeZone) -> Option<Timestamp> {
    let value = value.trim();
    match form {
        Form::After => seconds(value, now).or_else(|| span(value, now)).or_else(|| date(value)),
        Form::Milliseconds => in_milliseconds(decimal(value)?, now),
        Form::Span => span(value, now).or_else(|| seconds(value, now)),
        Form::Reset => {
            epoch(value).or_else(|| seconds(value, now)).or_else(|| span(value, now)).or_else(|| date(value))
        }
        Form::Clock => date(value)
            .or_else(|| {
                value
                    .split_whitespace()
                    .next()
                    .and_then(|word| date(word.trim_end_matches(['.', ','])).or_else(|| epoch(word)))
            })
            .or_else(|| clock::next(value, now, local)),
    }
}

/// Ten digits are seconds since 1970, thirteen are milliseconds.
fn epoch(value: &str) -> Option<Timestamp> {
    let whole = value.split_once('.').map_or(value, |(whole, _)| whole).trim_end_matches([')', ']', ',']);
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match whole.len() {
        10 => Timestamp::from_second(whole.parse().ok()?).ok(),
        13 => Timestamp::from_millisecond(whole.parse().ok()?).ok(),
        _ => None,
    }
}

/// A bare number of seconds from now.
fn seconds(value: &str, now: Timestamp) -> Option<Timestamp> {
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, rest) = value.split_at(digits);
    let bare = rest.is_empty()
        || rest.starts_with(char::is_whitespace) && !rest.trim_start().starts_with(char::is_alphanumeric);
    if !bare || number.is_empty() {
        return None;
    }
    in_milliseconds(decimal(number)? * 1000.0, now)
}

/// `4h 12m`, `20s`, `18.642s`, `6ms`, `2 days 17 hours 14 minutes`, `1 hour and 5 minutes`.
fn span(value: &str, now: Timestamp) -> Option<Timestamp> {
    let mut rest = value;
    let mut total = 0.0;
    let mut parts = 0;
    while let Some(found) = SPAN_PART.captures(rest) {
        let (_, [whole, unit]) = (found.get(0)?, [found.get(1)?.as_str(), found.get(3)?.as_str()]);
        let Some(factor) = milliseconds_of(unit) else { break };
        let decimals = found.get(2).map_or("0", |decimals| decimals.as_str());
        total += decimal(&format!("{whole}.{decimals}"))? * factor;
        parts += 1;
        rest = &rest[found.get(0)?.end()..];
    }
    if parts == 0 { None } else { in_milliseconds(total, now) }
}

fn milliseconds_of(unit: &str) -> Option<f64> {
    match unit.to_ascii_lowercase().as_str() {
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Some(1.0),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1_000.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60_000.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600_000.0),
        "d" | "day" | "days" => Some(86_400_000.0),
        "w" | "week" | "weeks" => Some(604_800_000.0),
        _ => None,
    }
}

fn decimal(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Rounded up: coming a moment too late costs nothing, a moment too early costs another refusal.
fn in_milliseconds(milliseconds: f64, now: Timestamp) -> Option<Timestamp> {
    const MAX: f64 = 1e12;
    if !(0.0..=MAX).contains(&milliseconds) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most a million million, checked above")]
    let whole = milliseconds.ceil().max(1.0) as i64;
    now.checked_add(SignedDuration::from_millis(whole)).ok()
}

/// RFC 3339, or the date of an HTTP header.
fn date(value: &str) -> Option<Timestamp> {
    let digit = value.starts_with(|c: char| c.is_ascii_digit());
    if digit { value.parse().ok() } else { jiff::fmt::rfc2822::parse(value).ok().map(|date| date.timestamp()) }
}
