//! Times and spans as people read them: local time, the day only where it is another one.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use onward_core::words;

/// `10:05`, or `2026-11-14 10:05` where that was another day.
pub(crate) fn clock(at: Timestamp, now: Timestamp) -> String {
    let zone = TimeZone::system();
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone));
    let form = if at.date() == now.date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    at.strftime(form).to_string()
}

/// `12 min ago`; a time that has not come yet is said as it is.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    match Duration::try_from(now.duration_since(at)) {
        Ok(span) => format!("{} ago", words::duration(span)),
        Err(_) => format!("at {}", clock(at, now)),
    }
}

/// How long it took from one time to the other; nothing where the clock went back.
pub(crate) fn span(from: Timestamp, to: Timestamp) -> String {
    words::duration(Duration::try_from(to.duration_since(from)).unwrap_or_default())
}

pub(crate) fn milliseconds(count: u64) -> String {
    words::duration(Duration::from_millis(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_the_future_is_not_ago() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().expect("a time");
        let earlier: Timestamp = "2026-11-15T11:48:00Z".parse().expect("a time");
        assert_eq!(ago(earlier, now), "12 min ago");
        assert!(ago(now, earlier).starts_with("at "));
        assert_eq!(span(now, earlier), "0 ms");
    }
}
