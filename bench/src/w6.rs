//! W6: growth. Each step appends a kilobyte, and the last save should take no longer than the first.

use std::path::Path;
use std::time::Instant;

use crate::Result;
use crate::bare::Flush;
use crate::figure::{Figure, Goal, Report, note, number};
use crate::measure::{Times, timed};
use crate::options::{Options, bytes_below};
use crate::ours::{Given, Ours};
use crate::savers::{Change, JsonFile, Saver, SqliteRows};
use crate::state::Log;

const NAME: &str = "W6";
/// Saves that are measured beside their floor from each of the steps on.
const WINDOW: usize = 200;
/// A peer writes all of it each time, so a few saves have to do.
const WINDOW_PEER: usize = 12;
const GOAL_TIMES_FLUSH: f64 = 2.0;
const GOAL_TIMES_FLUSH_P99: f64 = 20.0;
const GOAL_FLAT: f64 = 1.3;
const GOAL_DISK: f64 = 2.0;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    let steps = options.pick(vec![10, 1_000, 10_000], vec![10, 1_000, 10_000], vec![10, 1_000, 10_000, 50_000]);
    ours(options, report, &steps)?;
    if !options.has_time(0.0) {
        return note("peers left out: there is no time for them");
    }
    let peer_steps = [10, 1_000, 10_000];
    peer(options, report, &peer_steps, |folder| Ok(Box::new(JsonFile::new(folder))))?;
    peer(options, report, &peer_steps, |folder| Ok(Box::new(SqliteRows::new(folder)?)))
}

/// Times of a saver and of the floor, in turns.
fn window(saver: &mut dyn Saver, flush: &mut Flush, log: &mut Log, count: usize) -> Result<[Times; 2]> {
    let (mut floor, mut times) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let ops = log.change();
        let changed = serde_json::to_vec(&ops)?;
        floor.push(timed(|| flush.append(&changed))?);
        let change = Change { ops, whole: &log.whole, text: Vec::new() };
        times.push(timed(|| saver.save(change))?);
    }
    Ok([Times::new(floor), Times::new(times)])
}

fn ours(options: &Options, report: &mut Report, steps: &[usize]) -> Result<()> {
    let (folder, beside) = (options.scratch()?, options.scratch()?);
    let (mut flush, mut log) = (Flush::new(&beside)?, Log::new());
    let mut saver = Ours::new(&folder, Given::Delta)?;
    saver.save(Change { ops: Vec::new(), whole: &log.whole, text: Vec::new() })?;
    let (mut first, mut all) = (None, Vec::new());
    let mut floor = 0.0;
    for &step in steps {
        let start = Instant::now();
        while log.steps < step && start.elapsed() < options.patience() * 3 {
            let change = Change { ops: log.change(), whole: &log.whole, text: Vec::new() };
            all.push(timed(|| saver.save(change))?);
        }
        let [floors, times] = window(&mut saver, &mut flush, &mut log, WINDOW)?;
        floor = floors.p50();
        let case = format!("at step {}", log.steps - WINDOW);
        let figure = |what: &str, value: f64| Figure::new(NAME, case.clone(), what, value, "ms").over(floor);
        report.add(&figure("save, delta given, p50", times.p50()).goal(Goal::Times(GOAL_TIMES_FLUSH)))?;
        let ratio = times.p50() / floor;
        match first {
            None => first = Some(ratio),
            Some(first) => {
                let figure = Figure::new(NAME, case, "ratio, over the first ratio", ratio, "×").over(first);
                report.add(&figure.goal(Goal::Times(GOAL_FLAT)))?;
            }
        }
    }
    let all = Times::new(all);
    let case = format!("all {} steps", log.steps);
    let tail = Figure::new(NAME, case.clone(), "save, delta given, p99", all.p99(), "ms").over(floor);
    report.add(&tail.goal(Goal::Times(GOAL_TIMES_FLUSH_P99)))?;
    report.add(&Figure::new(NAME, case.clone(), "save, delta given, max", all.max(), "ms").over(floor))?;
    match saver.load(log.steps) {
        Ok(loaded) if loaded == log.whole => {}
        Ok(_) => report.fail("W6: what was loaded is not what was saved".to_owned())?,
        Err(why) => report.fail(format!("W6: {why}"))?,
    }
    drop(saver);
    show_disk(report, &case, &folder, &log)
}

#[expect(clippy::cast_precision_loss, reason = "a disk is not so large")]
fn show_disk(report: &mut Report, case: &str, folder: &Path, log: &Log) -> Result<()> {
    let appended = serde_json::to_vec(&log.whole)?.len() as f64 / 1e6;
    let stored = bytes_below(folder)? as f64 / 1e6;
    let what = format!("disk, over {} MB appended", number(appended));
    report.add(&Figure::new(NAME, case, what, stored, "MB").over(appended).goal(Goal::Times(GOAL_DISK)))
}

/// A peer is told of the whole, so it need not see the steps in between.
fn peer(
    options: &Options,
    report: &mut Report,
    steps: &[usize],
    open: impl Fn(&Path) -> Result<Box<dyn Saver>>,
) -> Result<()> {
    let (folder, beside) = (options.scratch()?, options.scratch()?);
    let (mut flush, mut log) = (Flush::new(&beside)?, Log::new());
    let mut saver = open(&folder)?;
    for &step in steps {
        while log.steps < step {
            log.change();
        }
        let [floors, times] = window(saver.as_mut(), &mut flush, &mut log, WINDOW_PEER)?;
        let figure = Figure::new(NAME, format!("at step {step}"), saver.name(), times.p50(), "ms");
        report.add(&figure.over(floors.p50()))?;
    }
    Ok(())
}
