//! The wait before a retry.

use std::time::Duration;

use crate::id::{Attempt, PhaseId};
use crate::plan::Backoff;
use crate::run::state::Run;

/// The wait before retry number `retry` (from 0). With jitter it is between half and the whole of it; which, follows
/// from the seed, since core has no randomness of its own.
pub(super) fn wait(backoff: &Backoff, retry: u32, seed: u64) -> Duration {
    let factor = backoff.factor.max(1.0).powi(i32::try_from(retry).unwrap_or(i32::MAX));
    let whole = (backoff.initial.as_secs_f64() * factor).min(backoff.max.as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "a share between 0 and 1 needs no more than 32 bits")]
    let share = if backoff.jitter { 0.5 + 0.5 * ((seed >> 32) as f64 / f64::from(u32::MAX)) } else { 1.0 };
    Duration::from_secs_f64(whole * share)
}

pub(super) fn jitter_seed(run: &Run, phase: &PhaseId, attempt: Attempt) -> u64 {
    let hash = blake3::hash(format!("{}\n{phase}\n{attempt}", run.id).as_bytes());
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Backoff =
        Backoff { initial: Duration::from_secs(10), factor: 2.0, max: Duration::from_mins(1), jitter: false };

    #[test]
    fn waits_double_up_to_the_limit() {
        let waits: Vec<u64> = (0..5).map(|retry| wait(&EXACT, retry, 0).as_secs()).collect();
        assert_eq!(waits, [10, 20, 40, 60, 60]);
    }

    #[test]
    fn jitter_stays_between_half_and_whole() {
        for seed in [0, u64::MAX / 3, u64::MAX] {
            let waited = wait(&Backoff { jitter: true, ..EXACT }, 1, seed);
            assert!((Duration::from_secs(10)..=Duration::from_secs(20)).contains(&waited), "{waited:?}");
        }
    }
}
