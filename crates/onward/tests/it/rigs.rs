//! Bounded shares of the rigs: `onward-rigs` plays as many as anybody likes.

use std::path::Path;

use onward_testkit::rig::kills::{self, Force};

const BINARY: &str = env!("CARGO_BIN_EXE_onward");

/// Seeds of the share. Each takes some seconds, and in each a handful of processes is hit.
const SEEDS: std::ops::Range<u64> = 1..4;
const KILLS_MAX: u64 = 8;

/// Drivers, attendants, phases, their children and posters are killed at random moments, over a plan that has everything. In the
/// end the plan is done: nothing twice, nothing beside itself, and nothing that was acknowledged is lost.
#[test]
fn soak_any_process_is_killed_at_random() {
    for seed in SEEDS {
        let told = kills::play(Path::new(BINARY), seed, Force { kills_max: KILLS_MAX, ..Force::default() });
        assert!(told.faults.is_empty(), "seed {seed}: {:#?}\n{}", told.faults, told.tale.join("\n"));
        assert!(!told.hits.is_empty() && told.effects > 10, "seed {seed} kills nothing: {:?}", told.hits);
    }
}

/// System calls of driver, attendant and poster fail, one at a time. Afterwards the run comes to its end as if nothing had been.
#[cfg(target_arch = "x86_64")]
#[test]
fn soak_calls_fail_one_at_a_time() {
    use onward_testkit::rig::faults;

    /// Points of the share.
    const POINTS: usize = 9;

    let seen = faults::record(Path::new(BINARY));
    assert!(seen.len() > 500, "the recording has {} calls", seen.len());
    let mut met = 0;
    for aim in faults::sample(&seen, POINTS, 1) {
        let told = faults::play(Path::new(BINARY), &[aim]);
        met += usize::from(!told.hits.is_empty());
        assert!(told.faults.is_empty(), "{aim:?} {:?}: {:#?}\n{}", told.hits, told.faults, told.tale.join("\n"));
    }
    assert!(met > POINTS / 2, "only {met} of {POINTS} faults were met");
}
