//! Counts the flushes. Fewer than there are durable steps means that a promise is broken, however good the times are:
//! this is the one thing that fails the whole.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::figure::{Figure, Goal, Report, note};
use crate::options::Options;
use crate::plans::{GraphShape, MadeGraph};
use crate::project::{BenchProject, finish};

const NAME: &str = "flushes";
const PHASES: usize = 200;
const STEPS: usize = 500;
/// Beside one flush per step there are some for opening, closing and tidying up.
const GOAL_PER_STEP: f64 = 1.15;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    if !Command::new("strace").arg("--version").output().is_ok_and(|done| done.status.success()) {
        return note("strace is not installed: the flushes are not counted");
    }
    for shape in [GraphShape::Chain, GraphShape::Layered] {
        phases(options, report, shape)?;
    }
    steps(options, report)
}

/// Phases that end together may share a commit, so a graph for two slots needs half as many at least.
fn phases(options: &Options, report: &mut Report, shape: GraphShape) -> Result<()> {
    let project = BenchProject::with_plan(options, &MadeGraph::idle(shape, PHASES))?;
    let binary = options.binary.to_string_lossy();
    finish(project.program("strace", &traced(&[&*binary, "run", "--quiet", "--no-input"])))?;
    let done = usize::try_from(project.phases_done()?)?;
    let flushes = flushes_of_the_books(&project.folder().join("trace"))?;
    let needed = done / shape.slots();
    let case = format!("{} {PHASES}", shape.name());
    show(report, &case, "of the books, per phase", flushes, done)?;
    if done < PHASES || flushes < needed {
        report.fail(format!("{case}: {done} phases recorded with {flushes} flushes, at least {needed} are needed"))?;
    }
    Ok(())
}

/// This program again, doing nothing but durable steps.
fn steps(options: &Options, report: &mut Report) -> Result<()> {
    let project = BenchProject::new(options)?;
    let (this, count) = (std::env::current_exe()?, STEPS.to_string());
    finish(project.program("strace", &traced(&[&*this.to_string_lossy(), crate::STEPS_ONLY, &count])))?;
    let flushes = flushes_of_the_books(&project.folder().join("trace"))?;
    show(report, &format!("{STEPS} steps"), "of the books, per step", flushes, STEPS)?;
    if flushes < STEPS {
        report.fail(format!("{STEPS} durable steps with {flushes} flushes"))?;
    }
    Ok(())
}

fn traced<'a>(command: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["-f", "-y", "-q", "-e", "trace=fsync,fdatasync", "-o", "trace", "--"];
    arguments.extend(command);
    arguments
}

#[expect(clippy::cast_precision_loss, reason = "there are not so many")]
fn show(report: &mut Report, case: &str, what: &str, flushes: usize, of: usize) -> Result<()> {
    let figure = Figure::new(NAME, case, what, flushes as f64 / of as f64, "flushes");
    report.add(&figure.over(1.0).goal(Goal::Times(GOAL_PER_STEP)))
}

/// Lines like `123 fdatasync(7</tmp/x/.onward/onward.db-wal>) = 0`. What attendants flush of their own does not count.
fn flushes_of_the_books(trace: &Path) -> Result<usize> {
    let text = fs::read_to_string(trace)?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in text.lines().filter(|line| line.contains("sync(")) {
        let Some((_, path)) = line.split_once('<') else { continue };
        let path = path.split('>').next().unwrap_or("");
        if path.contains("/.onward/") && !path.contains("/attempts/") {
            *counts.entry(path.to_owned()).or_default() += 1;
        }
    }
    // The log of the database, or whatever else takes one flush per commit: the file that is flushed most.
    Ok(counts.into_values().max().unwrap_or(0))
}
