//! W4: coming back, to a run that is complete and to one that was left half-way.
//!
//! The phases of the second half ring a bell. At the first ring the driver is made to leave; the two phases that were at
//! work end by themselves. So every return starts from a run that was really left, and leaves it a little further on.

use std::fs::File;

use crate::Result;
use crate::bare;
use crate::figure::{Figure, Goal, Report, note};
use crate::measure::{Times, in_turns};
use crate::options::Options;
use crate::plans::{GraphShape, MadeGraph};
use crate::project::{Bell, BenchProject, Leave, finish};
use crate::w3::has_make;

const NAME: &str = "W4";
/// Sizes, and how many milliseconds coming back may take.
const GOALS: [(usize, f64); 3] = [(100, 10.0), (1_000, 15.0), (10_000, 50.0)];
/// The time of a phase on a busy machine, with all that is measured around it.
const PHASE_MS: f64 = 12.0;
const GOAL_STATUS_MS: f64 = 10.0;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    status(options, report)?;
    for (phases, goal_ms) in &GOALS[..options.pick(2, 2, 3)] {
        #[expect(clippy::cast_precision_loss, reason = "there are not so many phases")]
        let about_ms = *phases as f64 * PHASE_MS;
        if options.has_time(about_ms) {
            one(options, report, *phases, *goal_ms)?;
        } else {
            note(&format!("{phases} phases left out: there is no time for them"))?;
        }
    }
    Ok(())
}

/// A look at a small project that is there already.
fn status(options: &Options, report: &mut Report) -> Result<()> {
    let project = BenchProject::with_plan(options, &MadeGraph::idle(GraphShape::Chain, 5))?;
    finish(project.onward(&["run", "--quiet", "--no-input"]))?;
    let mut ours = || finish(project.onward(&["status"]));
    let times = in_turns(options.turns(options.pick(11, 31, 31), 10), &mut [&mut bare::spawn, &mut ours])?;
    let (floor, ours) = (times[0].p50(), &times[1]);
    for (what, value) in [("status, p50", ours.p50()), ("status, p99", ours.p99()), ("status, max", ours.max())] {
        let figure = Figure::new(NAME, "5 phases", what, value, "ms").over(floor);
        report.add(&if what.ends_with("p50") { figure.goal(Goal::AtMost(GOAL_STATUS_MS)) } else { figure })?;
    }
    Ok(())
}

fn one(options: &Options, report: &mut Report, phases: usize, goal_ms: f64) -> Result<()> {
    let project = BenchProject::new(options)?;
    let mut bell = Bell::new(project.folder())?;
    let graph = MadeGraph { second_half: bell.ring(), ..MadeGraph::idle(GraphShape::Layered, phases) };
    project.write("onward.yaml", &graph.plan())?;
    bell.first_ring(project.onward(&["run", "--quiet", "--no-input"]), Leave::Killed)?;
    let run = project.run_id()?;

    let (mut floor, mut after_kill, mut after_stop) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.pick(4, 6, 6) {
        let resume = || project.onward(&["resume", &run, "--quiet", "--no-input"]);
        floor.push(crate::measure::timed(bare::spawn)?);
        after_kill.push(bell.first_ring(resume(), Leave::Stopped)?);
        after_stop.push(bell.first_ring(resume(), Leave::Killed)?);
    }
    let floor = Times::new(floor).p50();
    let case = format!("layered {phases}");
    for (what, times) in [("to the first phase, after kill -9", after_kill), ("the same, after a stop", after_stop)] {
        let times = Times::new(times);
        let figure = Figure::new(NAME, case.clone(), what, times.p50(), "ms").over(floor);
        report.add(&figure.goal(Goal::AtMost(goal_ms)))?;
    }

    finish(project.onward(&["resume", &run, "--quiet", "--no-input"]))?;
    let mut nothing = || finish(project.onward(&["resume", &run, "--quiet", "--no-input"]));
    let times = in_turns(options.turns(options.pick(6, 11, 11), 5), &mut [&mut bare::spawn, &mut nothing])?;
    for (what, value) in [("nothing to do, p50", times[1].p50()), ("nothing to do, max", times[1].max())] {
        let figure = Figure::new(NAME, case.clone(), what, value, "ms").over(times[0].p50());
        report.add(&if what.ends_with("p50") { figure.goal(Goal::AtMost(goal_ms)) } else { figure })?;
    }
    if has_make() { make(options, report, &project, &mut bell, &graph) } else { Ok(()) }
}

/// The same with make, for which a phase is done when its file is there.
fn make(
    options: &Options,
    report: &mut Report,
    project: &BenchProject,
    bell: &mut Bell,
    graph: &MadeGraph,
) -> Result<()> {
    project.write("Makefile", &graph.makefile())?;
    let touch = |from: usize, to: usize| (from..to).try_for_each(|n| touch(project, n));
    let case = format!("layered {}", graph.phases);
    touch(0, graph.middle())?;
    let mut first = Vec::new();
    let mut floor = Vec::new();
    for _ in 0..options.pick(3, 6, 6) {
        floor.push(crate::measure::timed(bare::spawn)?);
        first.push(bell.first_ring(project.program("make", &["-j2", "-s"]), Leave::Killed)?);
    }
    let (first, floor) = (Times::new(first).p50(), Times::new(floor).p50());
    report.add(&Figure::new(NAME, case.clone(), "peer: make, to the first phase", first, "ms").over(floor))?;
    touch(graph.middle(), graph.phases)?;
    let mut nothing = || finish(project.program("make", &["-j2", "-s"]));
    let times = in_turns(options.turns(options.pick(3, 6, 6), 3), &mut [&mut bare::spawn, &mut nothing])?;
    report.add(&Figure::new(NAME, case, "peer: make, nothing to do", times[1].p50(), "ms").over(times[0].p50()))
}

fn touch(project: &BenchProject, phase: usize) -> Result<()> {
    File::create(project.folder().join(format!("p{phase}")))?;
    Ok(())
}
