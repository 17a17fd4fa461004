//! W2: durable steps in one process, with trivial work.

use std::cell::Cell;
use std::path::Path;

use crate::Result;
use crate::bare::{Commit, Flush};
use crate::figure::{Figure, Goal, Report};
use crate::measure::{Times, in_turns};
use crate::options::Options;
use crate::ours;

const NAME: &str = "W2";
const STEPS: usize = 1_000;
/// Steps before it is the other's turn.
const BLOCK: usize = 50;
/// About what one step stores: two records and a small patch.
const STEP_BYTES: usize = 600;
const IN_FLIGHT: usize = 8;
const GOAL_TIMES_COMMIT: f64 = 1.5;
const GOAL_FLAT: f64 = 1.3;
const GOAL_STEPS_PER_SECOND: f64 = 5_000.0;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    one_by_one(options, report)?;
    in_flight(options, report)
}

/// Nothing but steps, for others to count the flushes of.
pub(crate) fn steps_only(folder: &Path, count: usize) -> Result<()> {
    let mut books = ours::open(folder, "steps")?;
    for number in 0..count {
        books.change(ours::step(number))?;
    }
    Ok(())
}

fn one_by_one(options: &Options, report: &mut Report) -> Result<()> {
    let (folder, beside) = (options.scratch()?, options.scratch()?);
    let mut books = ours::open(&folder, "steps")?;
    let (mut bare, mut file) = (Commit::new(&beside)?, Flush::new(&beside)?);
    let body = vec![b'x'; STEP_BYTES];
    let number = Cell::new(0);
    let mut stretch = |rounds: usize| -> Result<Vec<Times>> {
        let mut step = || {
            number.set(number.get() + 1);
            books.change(ours::step(number.get())).map(drop).map_err(Into::into)
        };
        let mut commit = || bare.rows(&[&body]);
        let mut flush = || file.append(&body);
        in_turns(options.turns(rounds, BLOCK), &mut [&mut step, &mut commit, &mut flush])
    };
    let first = stretch(STEPS / BLOCK + 1)?;
    show(report, "1,000 steps", &first)?;
    let many = options.pick(10_000, 30_000, 100_000);
    // In turns throughout, so that the history of the floor grows as ours does.
    stretch(many / BLOCK)?;
    let case = format!("after {} steps", number.get());
    let last = stretch(STEPS / BLOCK + 1)?;
    show(report, &case, &last)?;
    // Over the flush and not over the commit: a young log grows with every commit, which makes the first ones slow.
    let [before, after] = [&first, &last].map(|times| times[0].p50() / times[2].p50());
    let figure = Figure::new(NAME, case, "ratio to flush, over the first one", after, "×").over(before);
    report.add(&figure.goal(Goal::Times(GOAL_FLAT)))
}

fn show(report: &mut Report, case: &str, times: &[Times]) -> Result<()> {
    let (ours, commit, flush) = (&times[0], &times[1], &times[2]);
    let figure = |what: &str, value: f64, floor: f64| Figure::new(NAME, case, what, value, "ms").over(floor);
    let goal = Goal::Times(GOAL_TIMES_COMMIT);
    report.add(&figure("p50, over bare commit", ours.p50(), commit.p50()).goal(goal))?;
    report.add(&figure("p50, over flush", ours.p50(), flush.p50()))?;
    report.add(&figure("p99, over bare commit's p99", ours.p99(), commit.p99()))?;
    report.add(&figure("max, over bare commit's max", ours.max(), commit.max()))
}

/// Steps that wait together share one commit.
fn in_flight(options: &Options, report: &mut Report) -> Result<()> {
    let (folder, beside) = (options.scratch()?, options.scratch()?);
    let mut books = ours::open(&folder, "steps")?;
    let mut bare = Commit::new(&beside)?;
    let body = vec![b'x'; STEP_BYTES];
    let mut number = 0;
    let mut steps = || {
        number += IN_FLIGHT;
        let all = (number..number + IN_FLIGHT).map(ours::step).collect();
        books.change_all(all).map(drop).map_err(Into::into)
    };
    let bodies = [body.as_slice(); IN_FLIGHT];
    let mut commit = || bare.rows(&bodies);
    let times = in_turns(options.turns(options.pick(6, 21, 21), BLOCK), &mut [&mut steps, &mut commit])?;
    #[expect(clippy::cast_precision_loss, reason = "it is eight")]
    let per_second = |times: &Times| IN_FLIGHT as f64 * 1_000.0 / times.p50();
    let figure = Figure::new(NAME, "8 in flight", "steps a second", per_second(&times[0]), "steps/s");
    report.add(&figure.over(per_second(&times[1])).goal(Goal::AtLeast(GOAL_STEPS_PER_SECOND)))
}
