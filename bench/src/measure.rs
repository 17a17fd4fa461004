//! Times, and taking them in turns.

use std::time::{Duration, Instant};

use crate::Result;

/// One thing to measure; called again and again.
pub(crate) type Subject<'a> = &'a mut dyn FnMut() -> Result<()>;

/// Sorted milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    pub(crate) fn new(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    pub(crate) fn p50(&self) -> f64 {
        self.at(50)
    }

    pub(crate) fn p95(&self) -> f64 {
        self.at(95)
    }

    pub(crate) fn p99(&self) -> f64 {
        self.at(99)
    }

    pub(crate) fn max(&self) -> f64 {
        self.at(100)
    }

    fn at(&self, share: usize) -> f64 {
        assert!(!self.0.is_empty(), "nothing was measured");
        self.0[(self.0.len() - 1) * share / 100]
    }
}

/// Milliseconds that something takes.
pub(crate) fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1_000.0)
}

/// A measurement in turns: so many rounds, in each of them so many times in a row, and no new round behind the limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    pub(crate) rounds: usize,
    pub(crate) block: usize,
    pub(crate) limit: Duration,
}

/// Measures the subjects in turns. The first round warms up and does not count where there is more than one.
pub(crate) fn in_turns(turns: Turns, subjects: &mut [Subject<'_>]) -> Result<Vec<Times>> {
    let Turns { rounds, block, limit } = turns;
    let mut times = vec![Vec::with_capacity(rounds * block); subjects.len()];
    let start = Instant::now();
    let mut done = 0;
    while done < rounds && (done == 0 || start.elapsed() < limit) {
        done += 1;
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            for _ in 0..block {
                times.push(timed(&mut *subject)?);
            }
        }
    }
    let warm_up = if done > 1 { block } else { 0 };
    Ok(times.into_iter().map(|mut times| Times::new(times.split_off(warm_up))).collect())
}
