//! W9, as far as it needs no person: size, start-up and memory of the program, and how long others wait for it while it
//! drives a run.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::Result;
use crate::bare;
use crate::figure::{Figure, Goal, Report};
use crate::measure::{Times, in_turns, timed};
use crate::options::Options;
use crate::plans::{GraphShape, MadeGraph};
use crate::project::{BenchProject, COMMAND_SECONDS_MAX, finish, peak_memory, wait, wait_for_code};

const NAME: &str = "W9";
const GOAL_BINARY_MB: f64 = 25.0;
const GOAL_START_UP_MS: f64 = 10.0;
const GOAL_CALL_MS: f64 = 10.0;
const GOAL_HOOK_MS: f64 = 20.0;
const GOAL_FIRST_OUTPUT_MS: f64 = 100.0;
/// Phases that somebody else does: a run that a session of an agent works on.
const REPORTED: &str = "onward: 1
name: reported
phases:
  design: { external: { instructions: Design it. } }
  build: { needs: design, external: { instructions: Build it. } }
";
/// One phase that works until it is ended, and one that somebody else does.
const BESIDE: &str = "onward: 1
name: beside
phases:
  busy: { run: exec sleep 600 }
  theirs: { external: { instructions: report } }
";
/// A driver that waits for a report ends with it.
const CODE_WAITING: i32 = 15;
const SAVING_HOOKS: [&str; 4] = ["PreCompact", "Stop", "StopFailure", "SessionEnd"];
const HOOKS: [&str; 6] = ["SessionStart", "PreCompact", "Stop", "StopFailure", "SessionEnd", "Stop with nothing new"];
/// Of a driver with ten thousand phases; asked of smaller ones too.
const GOAL_MEMORY_MB: f64 = 64.0;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    #[expect(clippy::cast_precision_loss, reason = "a program is not so large")]
    let megabytes = std::fs::metadata(&options.binary)?.len() as f64 / 1e6;
    report.add(&Figure::new(NAME, "program", "size", megabytes, "MB").goal(Goal::AtMost(GOAL_BINARY_MB)))?;

    let project = BenchProject::new(options)?;
    let mut help = || finish(project.onward(&["--version"]));
    let times = in_turns(options.turns(options.pick(11, 31, 31), 10), &mut [&mut bare::spawn, &mut help])?;
    let figure = Figure::new(NAME, "program", "start-up (--version), p50", times[1].p50(), "ms");
    report.add(&figure.over(times[0].p50()).goal(Goal::AtMost(GOAL_START_UP_MS)))?;

    first_output(options, report)?;
    beside_a_driver(options, report)?;
    hooks(options, report)?;

    for phases in options.pick(vec![1_000], vec![1_000], vec![1_000, 10_000]) {
        let project = BenchProject::with_plan(options, &MadeGraph::idle(GraphShape::Wide, phases))?;
        let most = peak_memory(project.onward(&["run", "--quiet", "--no-input"]))?;
        let figure = Figure::new(NAME, format!("wide {phases}"), "memory of the driver, at most", most, "MB");
        report.add(&figure.goal(Goal::AtMost(GOAL_MEMORY_MB)))?;
    }
    Ok(())
}

/// How long a person looks at nothing: from the start of `run` to its first words, of a new run each time.
fn first_output(options: &Options, report: &mut Report) -> Result<()> {
    let project = BenchProject::new(options)?;
    project.write("onward.yaml", "onward: 1\nname: first\nphases: { a: { run: \"true\" } }\n")?;
    let mut run = || finish(project.onward(&["run", "--no-input"]));
    let turns = options.turns(options.pick(11, 21, 21), 10);
    let times = in_turns(turns, &mut [&mut bare::spawn, &mut run])?;
    for (share, value) in [("p50", times[1].p50()), ("p95", times[1].p95())] {
        let figure = Figure::new(NAME, "run", format!("start of a run to its end, {share}"), value, "ms");
        report.add(&figure.over(times[0].p50()))?;
    }
    let mut first: Vec<f64> = Vec::new();
    for _ in 0..options.pick(11, 21, 21) {
        let begun = Instant::now();
        let mut child = project.onward(&["run", "--no-input"]).stderr(Stdio::piped()).spawn()?;
        let mut byte = [0];
        child.stderr.take().ok_or("it was asked for")?.read_exact(&mut byte)?;
        first.push(begun.elapsed().as_secs_f64() * 1_000.0);
        // Nobody reads the rest, which is no failure of the run.
        let _ = wait(child);
    }
    let first = Times::new(first);
    for (share, value) in [("p50", first.p50()), ("p95", first.p95())] {
        let figure = Figure::new(NAME, "run", format!("first output, {share}"), value, "ms").over(times[0].p50());
        report.add(&if share == "p50" { figure.goal(Goal::AtMost(GOAL_FIRST_OUTPUT_MS)) } else { figure })?;
    }
    Ok(())
}

/// Hooks of an agent's client, which it waits for: each that saves comes after a report, so that there is something to save.
fn hooks(options: &Options, report: &mut Report) -> Result<()> {
    let project = BenchProject::new(options)?;
    project.write("onward.yaml", REPORTED)?;
    // Its phases are for others, so it ends with the code of a run that waits for a report.
    wait_for_code(project.onward(&["run", "--quiet", "--no-input"]).spawn()?, CODE_WAITING)?;
    finish(project.onward(&["report", "start", "design"]))?;
    let turns = hook_turns(options, &project)?;
    for (name, times_of) in HOOKS.into_iter().zip(&turns.hooks) {
        for (share, value) in [("p50", times_of.p50()), ("p95", times_of.p95())] {
            let figure = Figure::new(NAME, "hook", format!("{name}, {share}"), value, "ms").over(turns.floor);
            report.add(&if share == "p50" { figure.goal(Goal::AtMost(GOAL_HOOK_MS)) } else { figure })?;
        }
    }
    Ok(())
}

struct HookTimes {
    /// Of a process that does nothing.
    floor: f64,
    /// As `HOOKS` has them.
    hooks: Vec<Times>,
}

/// Calls the hooks one after the other, again and again, and refuses the figures of a hook that saved nothing.
fn hook_turns(options: &Options, project: &BenchProject) -> Result<HookTimes> {
    let (mut floor, mut hooks) = (Vec::new(), vec![Vec::new(); HOOKS.len()]);
    let begun = Instant::now();
    let rounds = options.pick(20, 100, 200);
    for round in 0..rounds {
        if round > 0 && begun.elapsed() > options.patience() {
            break;
        }
        floor.push(timed(bare::spawn)?);
        for (name, times) in HOOKS.into_iter().zip(&mut hooks) {
            let event = name.split(' ').next().unwrap_or(name);
            let saves = SAVING_HOOKS.contains(&name);
            if saves {
                finish(project.onward(&["report", "progress", "design", "--note", &format!("{round}/{rounds}")]))?;
            }
            let before = if saves { saved(project)? } else { 0 };
            // Another session each time: one that was told before is told nothing.
            let said = format!(r#"{{"hook_event_name":"{event}","session_id":"{name} {round}","source":"startup"}}"#);
            project.write("said.json", &said)?;
            let file = std::fs::File::open(project.folder().join("said.json"))?;
            let mut hook = project.onward(&["hook", event]);
            hook.stdin(file);
            times.push(timed(|| finish(hook))?);
            if saves && saved(project)? == before {
                return Err(format!("{event} saved nothing").into());
            }
        }
    }
    Ok(HookTimes { floor: Times::new(floor).p50(), hooks: hooks.into_iter().map(Times::new).collect() })
}

/// How many checkpoints the run has.
fn saved(project: &BenchProject) -> Result<usize> {
    let shown = project.onward(&["log", "--json"]).stdout(Stdio::piped()).output()?;
    let log: serde_json::Value = serde_json::from_slice(&shown.stdout)?;
    Ok(log["checkpoints"].as_array().ok_or("no checkpoints are listed")?.len())
}

/// Questions and reports of somebody who does a phase while a driver works on another one. A report is durable when it
/// returns.
fn beside_a_driver(options: &Options, report: &mut Report) -> Result<()> {
    let project = BenchProject::new(options)?;
    project.write("onward.yaml", BESIDE)?;
    let driver = project.onward(&["run", "--quiet", "--no-input"]).spawn()?;
    let begun = Instant::now();
    while finish(project.onward(&["report", "start", "theirs"])).is_err() {
        if begun.elapsed() > Duration::from_secs(COMMAND_SECONDS_MAX) {
            return Err("no driver took up a report".into());
        }
    }
    let mut progress = || finish(project.onward(&["report", "progress", "theirs", "--note", "3/10"]));
    let mut next = || finish(project.onward(&["next"]));
    let mut status = || finish(project.onward(&["status"]));
    let turns = options.turns(options.pick(11, 21, 21), 10);
    let times = in_turns(turns, &mut [&mut bare::spawn, &mut progress, &mut next, &mut status])?;
    finish(project.onward(&["cancel", "latest"]))?;
    // It was given up, so its end is no good one.
    let _ = wait(driver);
    for (name, times_of) in ["report progress", "next", "status"].into_iter().zip(&times[1..]) {
        for (share, value) in [("p50", times_of.p50()), ("p95", times_of.p95())] {
            let figure = Figure::new(NAME, "beside a driver", format!("{name}, {share}"), value, "ms");
            let figure = figure.over(times[0].p50());
            report.add(&if share == "p50" { figure.goal(Goal::AtMost(GOAL_CALL_MS)) } else { figure })?;
        }
    }
    Ok(())
}
