//! W3: phases that are processes, two at a time. The floors do as much as the graph allows at once.

use std::process::Command;

use crate::Result;
use crate::bare::{self, Trace};
use crate::figure::{Figure, Goal, Report, note};
use crate::measure::{Subject, Times, in_turns};
use crate::options::{Effort, Options};
use crate::plans::{GraphShape, MadeGraph};
use crate::project::{BenchProject, finish};

const NAME: &str = "W3";
const GOAL_TIMES_FLUSHED: f64 = 4.0;
/// Wall per phase may grow so much from the smallest graph to a larger one.
const GOAL_GROWTH: f64 = 1.3;
/// The time of a round, as a multiple of our own part of it.
const WITH_FLOORS: f64 = 1.6;
/// From here on a run takes long enough to be measured once.
const LARGE: usize = 10_000;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    for shape in GraphShape::ALL {
        let mut smallest: Option<(usize, f64)> = None;
        for phases in sizes(options, shape) {
            #[expect(clippy::cast_precision_loss, reason = "there are not so many phases")]
            let about_ms = smallest.map_or(0.0, |(_, ms)| ms * WITH_FLOORS * (phases * rounds(options, phases)) as f64);
            if !options.has_time(about_ms) {
                note(&format!("{} left out: there is no time for it", case(shape, phases)))?;
                continue;
            }
            let per_phase = one(options, report, &MadeGraph::idle(shape, phases))?;
            match smallest {
                None => smallest = Some((phases, per_phase)),
                Some((small, floor)) => {
                    let what = format!("growth from {small} phases");
                    let figure = Figure::new(NAME, case(shape, phases), what, per_phase, "ms").over(floor);
                    report.add(&figure.goal(Goal::Times(GOAL_GROWTH)))?;
                }
            }
        }
    }
    Ok(())
}

fn sizes(options: &Options, shape: GraphShape) -> Vec<usize> {
    match (options.effort, shape) {
        (Effort::Quick, GraphShape::Layered) | (Effort::Usual, _) | (Effort::Full, GraphShape::Chain) => {
            vec![100, 1_000]
        }
        (Effort::Quick, GraphShape::Chain | GraphShape::Wide) => vec![100],
        (Effort::Full, GraphShape::Layered | GraphShape::Wide) => vec![100, 1_000, LARGE],
    }
}

fn case(shape: GraphShape, phases: usize) -> String {
    format!("{} {phases}", shape.name())
}

/// Measures one graph; gives the wall time per phase of onward.
fn one(options: &Options, report: &mut Report, graph: &MadeGraph) -> Result<f64> {
    let turns = options.turns(rounds(options, graph.phases), 1);
    let (phases, slots, bare) = (graph.phases, graph.shape.slots(), options.scratch()?);
    // Made beforehand, and never deleted in between: neither is part of a run.
    let projects: Vec<BenchProject> =
        (0..turns.rounds).map(|_| BenchProject::with_plan(options, graph)).collect::<Result<_>>()?;
    let mut left = projects.iter();
    let mut last = &projects[0];
    projects[0].write("Makefile", &graph.makefile())?;
    let mut onward = || {
        last = left.next().ok_or("more rounds than projects")?;
        finish(last.onward(&["run", "--quiet", "--no-input"]))
    };
    let mut spawned = || bare::spawns(&bare, phases, slots, Trace::Nothing);
    let mut flushed = || bare::spawns(&bare, phases, slots, Trace::Flushed);
    let mut make = || finish(projects[0].program("make", &["-j2", "-s"]));
    let mut subjects: Vec<Subject<'_>> = vec![&mut flushed, &mut onward, &mut spawned];
    if has_make() && phases < LARGE {
        subjects.push(&mut make);
    }
    let times = in_turns(turns, &mut subjects)?;
    drop(subjects);
    let done = last.phases_done()?;
    if done != phases as u64 {
        return Err(format!("{done} of {phases} phases were done").into());
    }
    show(report, graph, &times)
}

fn show(report: &mut Report, graph: &MadeGraph, times: &[Times]) -> Result<f64> {
    let case = case(graph.shape, graph.phases);
    #[expect(clippy::cast_precision_loss, reason = "there are not so many phases")]
    let each = |times: &Times| times.p50() / graph.phases as f64;
    let [flushed, onward, spawned] = [0, 1, 2].map(|at| each(&times[at]));
    let figure = |what: &str, value: f64| Figure::new(NAME, case.clone(), what, value, "ms");
    report
        .add(&figure("per phase, over spawn and flush", onward).over(flushed).goal(Goal::Times(GOAL_TIMES_FLUSHED)))?;
    report.add(&figure("per phase, over bare spawn", onward).over(spawned))?;
    if let Some(make) = times.get(3) {
        report.add(&figure("peer: make -j2, over spawn and flush", each(make)).over(flushed))?;
    }
    Ok(onward)
}

fn rounds(options: &Options, phases: usize) -> usize {
    if phases >= LARGE {
        1
    } else if phases >= 1_000 {
        options.pick(1, 3, 3)
    } else {
        options.pick(4, 8, 8)
    }
}

pub(crate) fn has_make() -> bool {
    Command::new("make").arg("--version").output().is_ok_and(|done| done.status.success())
}
