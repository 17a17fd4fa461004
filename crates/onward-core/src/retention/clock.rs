//! Whether the clock can be relied on. An age is the difference of two times, and a clock that was set wrong makes everything
//! look old. So the clock is compared with the time since boot, which nobody sets, and with the times on record.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::model::RunFacts;
use super::plan::signed;

const DAY: Duration = Duration::from_hours(24);
/// A clock that moved by more than this without time having passed was set. Time zones and summer time are no part of it.
const JUMP_MAX: Duration = DAY;
/// Nothing goes by its age for so long after a jump: whoever set the clock has time to see it.
const DOUBT_LASTS: Duration = DAY;

/// How the clocks stood at a look, as it is noted for the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockNote {
    pub at: Timestamp,
    /// The boot that `since_boot_ms` counts from.
    pub boot: String,
    pub since_boot_ms: u64,
    /// When a jump was noticed, as long as it is held against the clock.
    pub jumped_at: Option<Timestamp>,
}

/// How the clocks stand now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockReading {
    pub at: Timestamp,
    pub boot: String,
    pub since_boot: Duration,
}

/// The judgement about a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockVerdict {
    /// To be noted in place of the one before.
    pub note: ClockNote,
    /// Why no age can be told by the clock.
    pub doubt: Option<String>,
}

/// Compares the clock with how it stood at the last look.
pub fn judge_clock(last: Option<&ClockNote>, now: &ClockReading) -> ClockVerdict {
    let jumped = last.is_some_and(|last| jump(last, now) > signed(JUMP_MAX));
    let earlier = last.and_then(|last| last.jumped_at).filter(|at| lasts(*at, now.at));
    let jumped_at = if jumped { Some(now.at) } else { earlier };
    let doubt = jumped_at.map(|at| {
        format!("the clock of this machine was set by more than a day, noticed at {at}: nothing goes by its age until a day after")
    });
    let since_boot_ms = u64::try_from(now.since_boot.as_millis()).unwrap_or(u64::MAX);
    ClockVerdict { note: ClockNote { at: now.at, boot: now.boot.clone(), since_boot_ms, jumped_at }, doubt }
}

/// By how much the clock moved beside the time that passed. Over a boot nobody knows how much passed, only that it was not less
/// than nothing.
fn jump(last: &ClockNote, now: &ClockReading) -> SignedDuration {
    let moved = now.at.duration_since(last.at);
    if last.boot != now.boot {
        return -moved;
    }
    let passed = signed(now.since_boot) - signed(Duration::from_millis(last.since_boot_ms));
    (moved - passed).abs()
}

fn lasts(jumped_at: Timestamp, now: Timestamp) -> bool {
    let since = now.duration_since(jumped_at);
    since < signed(DOUBT_LASTS)
}

/// Why the clock is wrong by what is on record, if it is: it stands before the last change of a run.
pub(super) fn behind(runs: &[RunFacts], now: Timestamp) -> Option<String> {
    let latest = runs.iter().max_by_key(|run| run.updated_at)?;
    let ahead = latest.updated_at.duration_since(now);
    (ahead > signed(JUMP_MAX)).then(|| {
        format!(
            "run {} changed at {}, and the clock stands before that: nothing goes by its age",
            latest.id, latest.updated_at
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: i64, boot: &str, since_boot: u64) -> ClockReading {
        let at = Timestamp::from_second(1_800_000_000 + at).expect("a time of this century");
        ClockReading { at, boot: boot.to_owned(), since_boot: Duration::from_secs(since_boot) }
    }

    const DAYS: i64 = 24 * 60 * 60;

    /// Time passes as it should, over a suspension and over a boot. Nothing is held against the clock.
    #[test]
    fn a_clock_that_goes_right_is_relied_on() {
        let first = judge_clock(None, &reading(0, "a", 100));
        assert_eq!(first.doubt, None);
        let slept = judge_clock(Some(&first.note), &reading(90 * DAYS, "a", 100 + 90 * 24 * 60 * 60));
        assert_eq!(slept.doubt, None);
        let booted = judge_clock(Some(&slept.note), &reading(400 * DAYS, "b", 5));
        assert_eq!(booted.doubt, None);
        let corrected = judge_clock(Some(&booted.note), &reading(400 * DAYS - 3600, "c", 5));
        assert_eq!(corrected.doubt, None);
    }

    /// The clock is set a year ahead, or two days back, or comes up in the past after a boot. It is not relied on for a day, and
    /// then it is.
    #[test]
    fn a_clock_that_was_set_is_doubted_for_a_day() {
        let first = judge_clock(None, &reading(0, "a", 100));
        for (at, boot, since) in [(365 * DAYS, "a", 160), (-2 * DAYS, "a", 160), (-2 * DAYS, "b", 3)] {
            let jumped = judge_clock(Some(&first.note), &reading(at, boot, since));
            assert!(jumped.doubt.is_some(), "{at} {boot}");
            let hours = 23 * 60 * 60;
            let soon = judge_clock(Some(&jumped.note), &reading(at + hours, boot, since + hours.unsigned_abs()));
            assert!(soon.doubt.is_some(), "{at} {boot}");
            let later = 25 * 60 * 60;
            let later = judge_clock(Some(&soon.note), &reading(at + later, boot, since + later.unsigned_abs()));
            assert_eq!(later.doubt, None, "{at} {boot}");
        }
    }
}
