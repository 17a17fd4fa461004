//! Values as people read them.

use std::time::Duration;

use jiff::Timestamp;

/// Words of a summary that are kept.
pub const SUMMARY_WORDS_MAX: usize = 50;
/// Bytes of a summary that are kept, however few words they are.
const SUMMARY_BYTES_MAX: usize = 2 << 10;

/// How long it is until then: `4 h 12 min`, and `a moment` where that is now or over.
pub fn countdown(until: Timestamp, now: Timestamp) -> String {
    let left = until.duration_since(now);
    // Rounded up: what is said to open in 3 s is not asked for in 2.
    let seconds = left.as_secs().saturating_add(i64::from(left.subsec_nanos() > 0));
    match u64::try_from(seconds) {
        Ok(0) | Err(_) => "a moment".to_owned(),
        Ok(seconds) => duration(Duration::from_secs(seconds)),
    }
}

/// The summary of an agent or a script, cut to [`SUMMARY_WORDS_MAX`] words; line breaks become blanks. None if it is
/// empty.
pub fn summary(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut words = text.split_whitespace();
    for word in words.by_ref().take(SUMMARY_WORDS_MAX) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    let mut cut = words.next().is_some();
    if out.len() > SUMMARY_BYTES_MAX {
        let end = (0..=SUMMARY_BYTES_MAX).rev().find(|at| out.is_char_boundary(*at)).unwrap_or(0);
        out.truncate(end);
        cut = true;
    }
    if cut {
        out.push('…');
    }
    (!out.is_empty()).then_some(out)
}

/// `850 ms`, `12 s`, `3 min`, `2 h 5 min`, `4 d 3 h`: the two largest units at most.
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let two = |a: u64, unit: &str, b: u64, small: &str| {
        if b == 0 { format!("{a} {unit}") } else { format!("{a} {unit} {b} {small}") }
    };
    match seconds {
        0 => format!("{} ms", span.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => two(minutes, "min", if minutes < 10 { seconds % 60 } else { 0 }, "s"),
        3600..86_400 => two(hours, "h", minutes, "min"),
        _ => two(days, "d", hours, "h"),
    }
}

/// `812 B`, `1.2 kB`, `64 MB`: with a second digit where there is but one.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    let (mut whole, mut rest, mut unit) = (count, 0, None);
    for name in UNITS {
        if whole < 1000 {
            break;
        }
        (whole, rest, unit) = (whole / 1000, whole % 1000, Some(name));
    }
    match unit {
        None => format!("{whole} B"),
        Some(unit) if whole < 10 && rest >= 100 => format!("{whole}.{} {unit}", rest / 100),
        Some(unit) => format!("{whole} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_two_units_at_most() {
        let told: Vec<String> =
            [850, 12_000, 61_000, 700_000, 7_500_000, 360_000_000].map(|ms| duration(Duration::from_millis(ms))).into();
        assert_eq!(told, ["850 ms", "12 s", "1 min 1 s", "11 min", "2 h 5 min", "4 d 4 h"]);
    }

    #[test]
    fn sizes_are_told_in_two_digits_at_least() {
        let told = [0, 999, 1000, 1_250, 64_000_000, 2_099_999_999, u64::MAX].map(bytes);
        assert_eq!(told, ["0 B", "999 B", "1 kB", "1.2 kB", "64 MB", "2 GB", "18446 PB"]);
    }

    #[test]
    fn countdowns_never_promise_too_much() {
        let now: Timestamp = "2026-11-15T10:00:00.5Z".parse().expect("a time");
        let told = ["2026-11-15T10:00:03Z", "2026-11-15T10:00:00.6Z", "2026-11-15T09:00:00Z", "2026-11-15T14:12:00.5Z"]
            .map(|until| countdown(until.parse().expect("a time"), now));
        assert_eq!(told, ["3 s", "1 s", "a moment", "4 h 12 min"]);
    }

    #[test]
    fn summaries_are_cut_to_fifty_words() {
        assert_eq!(summary("two of\n three  modules\n").as_deref(), Some("two of three modules"));
        assert_eq!(summary(" \n\t"), None);
        let fifty = vec!["w"; 50].join(" ");
        assert_eq!(summary(&fifty).as_deref(), Some(fifty.as_str()));
        assert_eq!(summary(&format!("{fifty} more")), Some(format!("{fifty}…")));
        let one = summary(&"ä".repeat(5000)).expect("a word");
        assert!(one.len() <= SUMMARY_BYTES_MAX + '…'.len_utf8() && one.ends_with("ä…"));
    }
}
