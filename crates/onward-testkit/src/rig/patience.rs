//! Limits on time that mean the program and not the machine: where more processes want to run than there are processors, a limit
//! runs as much slower as each of them does.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ran::Ran;
use crate::running::Running;

/// Nobody who looks less often is told the truth about a limit.
const LOOK_COUNTS_MAX: Duration = Duration::from_millis(250);
/// A limit runs this many times slower at most: what hangs has to be said to hang in the end.
const SLOWER_MAX: u32 = 12;
/// Pause between two looks at a command.
const STEP: Duration = Duration::from_millis(5);

static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Has what is being played left as soon as can be; it says nothing.
pub fn give_up() {
    GIVEN_UP.store(true, Ordering::SeqCst);
}

/// Whether nobody waits any more for what is being played.
pub fn is_given_up() -> bool {
    GIVEN_UP.load(Ordering::SeqCst)
}

/// A limit that has begun. It runs only where somebody looks at it.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    used: Duration,
    last: Instant,
}

impl Patience {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, used: Duration::ZERO, last: Instant::now() }
    }

    pub(super) fn is_over(&mut self) -> bool {
        let now = Instant::now();
        self.used += counted(now - self.last, runnable(), processors());
        self.last = now;
        self.used > self.limit
    }
}

/// The part of a pause between two looks that counts.
fn counted(pause: Duration, runnable: u32, processors: u32) -> Duration {
    let slower = f64::from(runnable.max(1)) / f64::from(processors.max(1));
    pause.min(LOOK_COUNTS_MAX).div_f64(slower.clamp(1.0, f64::from(SLOWER_MAX)))
}

/// Processes and threads of the machine that want to run now, this one among them.
fn runnable() -> u32 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let running = load.split(' ').nth(3).and_then(|field| field.split('/').next());
    running.and_then(|count| count.parse().ok()).unwrap_or(1)
}

fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1))
}

/// Waits for the end of a command. None where it had to be killed: it took longer, or nobody waits any more.
pub(super) fn end_of(mut running: Running, limit: Duration) -> Option<Ran> {
    let mut patience = Patience::new(limit);
    while running.ended().is_none() {
        if is_given_up() || patience.is_over() {
            return running.end_within(Duration::ZERO);
        }
        sleep(STEP);
    }
    running.end_within(limit)
}

/// The answer of a verb that only looks, or what is wrong with it.
pub(super) fn answer(running: Running, limit: Duration) -> Result<Value, String> {
    let words = running.args.join(" ");
    let Some(ran) = end_of(running, limit) else {
        return Err(format!("`onward {words}` does not come to its end"));
    };
    match serde_json::from_str(&ran.out) {
        Ok(value) if ran.code == 0 || ran.code == 10 => Ok(value),
        Ok(_) | Err(_) => Err(format!("`onward {words}` says {}: {}", ran.code, crate::ran::tail(&ran.err))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_runs_slower_on_a_busy_machine() {
        let pause = Duration::from_millis(100);
        assert_eq!(counted(pause, 1, 2), pause, "a quiet machine");
        assert_eq!(counted(pause, 2, 2), pause, "each has a processor");
        assert_eq!(counted(pause, 20, 2), pause / 10);
        assert_eq!(counted(pause, 4_000, 2), pause / SLOWER_MAX, "it comes to its end all the same");
        assert_eq!(counted(Duration::from_mins(3), 1, 2), LOOK_COUNTS_MAX, "nobody looked");
    }

    #[test]
    fn a_limit_that_is_looked_at_comes_to_its_end() {
        let mut patience = Patience::new(Duration::from_millis(1));
        crate::wait_until("the end of the limit", || patience.is_over().then_some(()));
    }
}
