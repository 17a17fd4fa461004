//! The response to a rate limit: wait, leave and come back, or fail.

use std::time::Duration;

use jiff::Timestamp;

use crate::plan::{Limit, WhenLimited};

use super::RecognisedLimit;

/// The first wait where nobody says how long.
pub const GUESS_FIRST: Duration = Duration::from_mins(1);
/// The longest wait where nobody says how long.
pub const GUESS_MAX: Duration = Duration::from_mins(15);

/// The shortest wait, whatever was said.
pub const SHORTEST: Duration = Duration::from_secs(1);
/// The next wait is at least this share of the time since the first of a row of hits.
const SHARE_OF_THE_ROW: u64 = 10;

/// The waiting policy given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// As the plan says.
    Plan,
    /// At most this long: `--wait-limit`.
    AtMost(Duration),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// The run stays and goes on by itself at this time.
    Wait { until: Timestamp },
    /// The run is paused; whoever starts it again should not do so before this time.
    Pause { until: Timestamp },
    /// It counts as a failure.
    Fail,
}

/// A minute, doubled with every hit in a row, up to a quarter of an hour.
pub fn guess(hits_before: u32) -> Duration {
    GUESS_FIRST.saturating_mul(1_u32.checked_shl(hits_before).unwrap_or(u32::MAX)).min(GUESS_MAX)
}

/// The least that is waited, however short the time that was told: `retry-after: 0` said for hours must not keep a machine busy
/// for hours. A second, and a tenth of the time since the first of an unbroken row of hits, up to a minute.
pub fn shortest(since: Timestamp, now: Timestamp) -> Duration {
    let row = u64::try_from(now.duration_since(since).as_secs()).unwrap_or(0);
    Duration::from_secs(row / SHARE_OF_THE_ROW).clamp(SHORTEST, GUESS_FIRST)
}

/// Decides how to respond to a hit. `limits` are those that it closes; `since` is when the first of an unbroken row of
/// hits happened, so that many short waits do not add up to more than the longest one allowed.
pub fn respond<'a>(
    hit: &RecognisedLimit,
    limits: impl IntoIterator<Item = &'a Limit>,
    patience: WaitPolicy,
    since: Timestamp,
    now: Timestamp,
) -> Response {
    let until = hit.until.max(now);
    let standard = Limit::default();
    let mut limits: Vec<&Limit> = limits.into_iter().collect();
    if limits.is_empty() {
        limits.push(&standard);
    }
    if limits.iter().any(|limit| limit.when_limited == WhenLimited::Fail) {
        return Response::Fail;
    }
    let waits = |limit: &&Limit| match patience {
        WaitPolicy::Plan => until.duration_since(since.min(now)).unsigned_abs() <= limit.max_wait,
        WaitPolicy::AtMost(longest) => until.duration_since(now).unsigned_abs() <= longest,
    };
    let pauses = limits.iter().any(|limit| limit.when_limited == WhenLimited::Pause);
    if pauses || !limits.iter().all(waits) { Response::Pause { until } } else { Response::Wait { until } }
}
