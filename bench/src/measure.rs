//! Times, and taking them in turns.

use std::time::Instant;

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

/// Measures the subjects in turns, `block` times each before the next one's turn. The first round warms up and does not
/// count where there is more than one.
pub(crate) fn in_turns(rounds: usize, block: usize, subjects: &mut [Subject<'_>]) -> Result<Vec<Times>> {
    let mut times = vec![Vec::with_capacity(rounds * block); subjects.len()];
    for _ in 0..rounds {
        for (subject, times) in subjects.iter_mut().zip(&mut times) {
            for _ in 0..block {
                times.push(timed(&mut *subject)?);
            }
        }
    }
    let warm_up = if rounds > 1 { block } else { 0 };
    Ok(times.into_iter().map(|mut times| Times::new(times.split_off(warm_up))).collect())
}
