//! Clock times as people write them: `5:30am (Asia/Calcutta)`, `May 5 at 9pm (America/New_York)`, `2:51 PM`.

use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Span, Timestamp, Zoned};
use regex_lite::{Captures, Regex};

/// A clock time that passed just now is not tomorrow's: clients leave the seconds out, and the clocks differ a little.
const JUST_PASSED: SignedDuration = SignedDuration::from_mins(2);
/// A date without a year that lies further back than this is next year's.
const DAYS_BACK_MAX: i32 = 180;

static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    let months = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
    let pattern = format!(
        r"(?ix)^ (?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+(?:at\s+)?)?
        (?: (?P<month>{months})[a-z]*\.?\s+ (?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:,?\s+(?P<year>\d{{4}}))? ,?\s+ (?:at\s+)?
          | (?P<date>\d{{4}}-\d\d-\d\d) ,?[\sT]+ (?:at\s+)?
          | (?P<tomorrow>tomorrow) ,?\s+ (?:at\s+)? )?
        (?P<hour>\d{{1,2}}) (?: :(?P<minute>\d\d) (?: :(?P<second>\d\d))? )? (?:\s* (?P<half>[ap]\.?m\b)\.?)?
        (?:\s+on\s+ (?P<late_day>\d{{1,2}})\s+ (?P<late_month>{months})[a-z]* )?
        (?:\s* \( (?P<zone>[^)\n]{{1,40}}) \) | \s+ (?P<short>[A-Z]{{1,4}}(?:[+-]\d{{1,2}}(?::?\d\d)?)?)\b )?"
    );
    Regex::new(&pattern).expect("the pattern is a constant and a test compiles it")
});

/// The next moment after `now` at which the clock shows this. A time that does not exist on that day (clocks go
/// forward) is the moment after the gap; of a time that exists twice the first one ahead counts.
pub(super) fn next(text: &str, now: Timestamp, local: &TimeZone) -> Option<Timestamp> {
    let found = CLOCK.captures(text)?;
    let time = time(&found)?;
    let zone = zone(&found, local)?;
    let today = now.to_zoned(zone.clone()).date();
    if let Some(date) = date(&found, today)? {
        return moments(DateTime::from_parts(date, time), &zone).into_iter().find(|moment| *moment > now);
    }
    if let Some(weekday) = found.name("weekday").and_then(|name| weekday_of(name.as_str())) {
        let days = (0..=7).filter_map(|days| today.checked_add(Span::new().days(days)).ok());
        let moments = days
            .filter(|date| date.weekday() == weekday)
            .flat_map(|date| moments(DateTime::from_parts(date, time), &zone));
        return moments.into_iter().find(|moment| *moment > now);
    }
    let yesterday = today.checked_sub(Span::new().days(1)).ok()?;
    let tomorrow = today.checked_add(Span::new().days(1)).ok()?;
    let all: Vec<Timestamp> = [yesterday, today, tomorrow]
        .into_iter()
        .flat_map(|date| moments(DateTime::from_parts(date, time), &zone))
        .collect();
    let passed = all.iter().any(|moment| *moment <= now && now.duration_since(*moment) <= JUST_PASSED);
    if passed { None } else { all.into_iter().find(|moment| *moment > now) }
}

/// The moments at which the clocks of a zone show this: one, or two where an hour is repeated.
fn moments(shown: DateTime, zone: &TimeZone) -> Vec<Timestamp> {
    let ambiguous = zone.to_ambiguous_zoned(shown);
    let both = [ambiguous.clone().earlier(), ambiguous.clone().later()];
    let mut times: Vec<Timestamp> = if ambiguous.is_ambiguous() && !is_gap(&ambiguous) {
        both.into_iter().filter_map(|zoned| zoned.ok().as_ref().map(Zoned::timestamp)).collect()
    } else {
        ambiguous.compatible().ok().as_ref().map(Zoned::timestamp).into_iter().collect()
    };
    times.sort();
    times
}

fn is_gap(ambiguous: &jiff::tz::AmbiguousZoned) -> bool {
    matches!(ambiguous.offset(), jiff::tz::AmbiguousOffset::Gap { .. })
}

/// An hour alone is no time: `resets 5` could be anything.
fn time(found: &Captures<'_>) -> Option<Time> {
    let number = |name: &str| found.name(name).and_then(|part| part.as_str().parse::<i8>().ok());
    let (hour, minute) = (number("hour")?, number("minute"));
    let half = found.name("half").map(|half| half.as_str().to_ascii_lowercase());
    let hour = match half.as_deref() {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + if half.starts_with('p') { 12 } else { 0 },
        Some(_) => return None,
        None => {
            minute?;
            hour
        }
    };
    Time::new(hour, minute.unwrap_or(0), number("second").unwrap_or(0), 0).ok()
}

/// Outer none: there is a date, and it cannot be. Inner none: there is none.
#[expect(
    clippy::option_option,
    reason = "no date and a wrong date are two answers, and neither is an error to tell anyone"
)]
fn date(found: &Captures<'_>, today: Date) -> Option<Option<Date>> {
    if let Some(date) = found.name("date") {
        return Some(Some(date.as_str().parse().ok()?));
    }
    if found.name("tomorrow").is_some() {
        return Some(Some(today.checked_add(Span::new().days(1)).ok()?));
    }
    let (Some(month), Some(day)) =
        (found.name("month").or(found.name("late_month")), found.name("day").or(found.name("late_day")))
    else {
        return Some(None);
    };
    let day: i8 = day.as_str().parse().ok()?;
    let month = month_number(month.as_str())?;
    if let Some(year) = found.name("year") {
        return Some(Some(Date::new(year.as_str().parse().ok()?, month, day).ok()?));
    }
    let near = |years: i16| Date::new(today.year().checked_add(years)?, month, day).ok();
    let ahead = |date: &Date| today.until(*date).is_ok_and(|span| span.get_days() > -DAYS_BACK_MAX);
    Some(Some(near(0).filter(ahead).or_else(|| near(1))?))
}

fn weekday_of(name: &str) -> Option<Weekday> {
    let all = [
        ("mon", Weekday::Monday),
        ("tue", Weekday::Tuesday),
        ("wed", Weekday::Wednesday),
        ("thu", Weekday::Thursday),
        ("fri", Weekday::Friday),
        ("sat", Weekday::Saturday),
        ("sun", Weekday::Sunday),
    ];
    let lower = name.to_ascii_lowercase();
    all.into_iter().find(|(short, _)| *short == lower).map(|(_, weekday)| weekday)
}

fn month_number(name: &str) -> Option<i8> {
    let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let lower = name.to_ascii_lowercase();
    let at = names.iter().position(|month| lower.starts_with(month))?;
    i8::try_from(at + 1).ok()
}

/// The zone that is named, or the one of this machine where none is. A name that nobody knows is no answer.
fn zone(found: &Captures<'_>, local: &TimeZone) -> Option<TimeZone> {
    if let Some(name) = found.name("zone") {
        return by_name(name.as_str().trim());
    }
    // Any word may follow a time; only a few of them are zones.
    Some(found.name("short").and_then(|short| by_name(short.as_str())).unwrap_or_else(|| local.clone()))
}

fn by_name(name: &str) -> Option<TimeZone> {
    let upper = name.to_ascii_uppercase();
    let iana = match upper.as_str() {
        "UTC" | "GMT" | "Z" => return Some(TimeZone::UTC),
        "PT" | "PST" | "PDT" => "America/Los_Angeles",
        "MT" | "MST" | "MDT" => "America/Denver",
        "CT" | "CST" | "CDT" => "America/Chicago",
        "ET" | "EST" | "EDT" => "America/New_York",
        "CET" | "CEST" => "Europe/Paris",
        "JST" => "Asia/Tokyo",
        _ => match upper.strip_prefix("UTC").or(upper.strip_prefix("GMT")) {
            Some(offset) => return offset_zone(offset),
            None if name.contains('/') => name,
            None => return None,
        },
    };
    // The rules that were compiled in: the core reads no files.
    TimeZoneDatabase::bundled().get(iana).ok()
}

/// `+5`, `-07`, `+05:30`, `+0530`.
fn offset_zone(text: &str) -> Option<TimeZone> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text.strip_prefix(['+', '-'])?.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = if digits.len() > 2 { digits.split_at(digits.len() - 2) } else { (digits.as_str(), "0") };
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok().map(TimeZone::fixed)
}
