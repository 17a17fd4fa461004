//! W1: saving a state of which a hundredth changed.

use std::fs::File;
use std::time::Instant;

use crate::Result;
use crate::bare::Flush;
use crate::figure::{Figure, Goal, Report, note};
use crate::measure::{Times, timed};
use crate::options::{Options, bytes_below};
use crate::ours::{Given, Ours};
use crate::project::{BenchProject, finish};
use crate::savers::{Change, JsonFile, Saver, SqliteRows};
use crate::state::Agents;

const NAME: &str = "W1";
/// As many checkpoints of one run as the goal for the disk speaks of.
const SAVES: usize = 200;
/// Fewer tell nothing, however slow the machine is.
const SAVES_MIN: usize = 4;
const GOAL_TIMES_FLUSH: f64 = 2.0;
const GOAL_DISK_MB: f64 = 30.0;
/// For a process of its own that saves the largest state.
const GOAL_COLD_MS: f64 = 100.0;
const GOAL_LOAD_MS: f64 = 40.0;

struct DocumentSize {
    name: &'static str,
    bytes: usize,
    /// The time limit of a save when the whole is given.
    goal_whole_ms: Option<f64>,
}

const SIZES: [DocumentSize; 3] = [
    DocumentSize { name: "1 KB", bytes: 1_000, goal_whole_ms: None },
    DocumentSize { name: "100 KB", bytes: 100_000, goal_whole_ms: Some(1.5) },
    DocumentSize { name: "10 MB", bytes: 10_000_000, goal_whole_ms: Some(40.0) },
];

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    for size in &SIZES {
        let large = size.bytes > 1_000_000;
        let whole = if large { options.pick(20, 100, SAVES) } else { SAVES };
        let peers = if large { options.pick(4, 20, 40) } else { options.pick(50, SAVES, SAVES) };
        one(options, report, size, SAVES, |folder| Ok(Box::new(Ours::new(folder, Given::Delta)?)))?;
        one(options, report, size, whole, |folder| Ok(Box::new(Ours::new(folder, Given::Whole)?)))?;
        if !options.has_time(0.0) {
            note(&format!("peers and onward save at {} left out: there is no time for them", size.name))?;
            continue;
        }
        one(options, report, size, peers, |folder| Ok(Box::new(JsonFile::new(folder))))?;
        one(options, report, size, peers, |folder| Ok(Box::new(SqliteRows::new(folder)?)))?;
        cold(options, report, size)?;
    }
    Ok(())
}

/// `onward save`: a process that finds its books, compares, stores and is gone.
fn cold(options: &Options, report: &mut Report, size: &DocumentSize) -> Result<()> {
    let (project, beside) = (BenchProject::new(options)?, options.scratch()?);
    let mut flush = Flush::new(&beside)?;
    let mut state = Agents::new(size.bytes);
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..options.pick(11, 21, 21) {
        let changed = serde_json::to_vec(&state.change())?;
        project.write("state.json", &state.whole.to_string())?;
        // Or else the first flush that follows, ours or the floor's, would pay for this file and for the last save too.
        File::open(project.folder().join("state.json"))?.sync_all()?;
        flush.append(&changed)?;
        floor.push(timed(|| flush.append(&changed))?);
        ours.push(timed(|| finish(project.onward(&["save", "bench", "cold", "--state", "state.json"])))?);
    }
    // The first one finds no books and stores all of it.
    let ours = Times::new(ours.split_off(1));
    let figure = |part: &str, value: f64| Figure::new(NAME, size.name, format!("onward save, {part}"), value, "ms");
    let middle = figure("p50", ours.p50()).over(Times::new(floor).p50());
    report.add(&if size.bytes > 1_000_000 { middle.goal(Goal::AtMost(GOAL_COLD_MS)) } else { middle })?;
    report.add(&figure("max", ours.max()))
}

/// One way to save, in turns with a flush of the bytes that changed.
fn one(
    options: &Options,
    report: &mut Report,
    size: &DocumentSize,
    count: usize,
    open: impl Fn(&std::path::Path) -> Result<Box<dyn Saver>>,
) -> Result<()> {
    let (folder, beside) = (options.scratch()?, options.scratch()?);
    let mut flush = Flush::new(&beside)?;
    let mut saver = open(&folder)?;
    let mut state = Agents::new(size.bytes);
    saver.save(Change { ops: Vec::new(), whole: &state.whole, text: Vec::new() })?;
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    let start = Instant::now();
    let mut done = 0;
    while done < count && (done < SAVES_MIN || start.elapsed() < options.patience()) {
        done += 1;
        let ops = state.change();
        let changed = serde_json::to_vec(&ops)?;
        let text = if saver.wants_text() { serde_json::to_vec(&state.whole)? } else { Vec::new() };
        floor.push(timed(|| flush.append(&changed))?);
        let change = Change { ops, whole: &state.whole, text };
        ours.push(timed(|| saver.save(change))?);
    }
    let (floor, ours) = (Times::new(floor).p50(), Times::new(ours));
    show_times(report, size, saver.as_ref(), &ours, floor)?;
    show_loads(report, size, saver.as_mut(), done, &state)?;
    if saver.name().contains("whole") {
        return Ok(());
    }
    let what = format!("{}, disk after {done}", saver.name());
    let is_ours = saver.wants_every_change();
    drop(saver);
    #[expect(clippy::cast_precision_loss, reason = "a disk is not so large")]
    let megabytes = bytes_below(&folder)? as f64 / 1e6;
    let figure = Figure::new(NAME, size.name, what, megabytes, "MB");
    let with_goal = is_ours && size.bytes > 1_000_000 && done == SAVES;
    report.add(&if with_goal { figure.goal(Goal::AtMost(GOAL_DISK_MB)) } else { figure })
}

fn show_times(report: &mut Report, size: &DocumentSize, saver: &dyn Saver, ours: &Times, floor: f64) -> Result<()> {
    let goal = match (saver.wants_every_change(), saver.wants_text()) {
        (true, _) => Some(Goal::Times(GOAL_TIMES_FLUSH)),
        (false, true) => size.goal_whole_ms.map(Goal::AtMost),
        (false, false) => None,
    };
    let figure = |part: &str, value: f64| {
        Figure::new(NAME, size.name, format!("{}, {part}", saver.name()), value, "ms").over(floor)
    };
    let middle = figure("p50", ours.p50());
    report.add(&goal.map_or(middle.clone(), |goal| middle.goal(goal)))?;
    if saver.wants_every_change() || saver.wants_text() {
        report.add(&figure("p99", ours.p99()))?;
        report.add(&figure("max", ours.max()))?;
    }
    Ok(())
}

/// Reads checkpoints from all over the history; the last one must be what was saved last.
fn show_loads(
    report: &mut Report,
    size: &DocumentSize,
    saver: &mut dyn Saver,
    count: usize,
    state: &Agents,
) -> Result<()> {
    let mut times = Vec::new();
    match saver.load(count) {
        Ok(loaded) if loaded == state.whole => {}
        Ok(_) => return report.fail(format!("W1 {}: {}: loaded is not what was saved", size.name, saver.name())),
        Err(why) => return report.fail(format!("W1 {}: {}: {why}", size.name, saver.name())),
    }
    for part in 0..10 {
        let number = count * part / 10;
        times.push(timed(|| saver.load(number).map(drop))?);
    }
    let figure = Figure::new(NAME, size.name, format!("{}, load p50", saver.name()), Times::new(times).p50(), "ms");
    let ours = saver.wants_every_change() || saver.wants_text();
    report.add(&if ours { figure.goal(Goal::AtMost(GOAL_LOAD_MS)) } else { figure })
}
