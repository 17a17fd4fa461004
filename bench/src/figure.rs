//! A figure, and where figures go: JSON lines into a file, a table onto stdout.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use crate::Result;
use crate::bare::Flush;
use crate::measure::{Turns, in_turns};
use crate::options::Options;

/// The goal of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// So many times the floor at most.
    Times(f64),
    AtMost(f64),
    AtLeast(f64),
}

#[derive(Clone, Debug)]
pub(crate) struct Figure {
    workload: &'static str,
    case: String,
    what: String,
    value: f64,
    unit: &'static str,
    floor: Option<f64>,
    goal: Option<Goal>,
}

impl Figure {
    pub(crate) fn new(
        workload: &'static str,
        case: impl Into<String>,
        what: impl Into<String>,
        value: f64,
        unit: &'static str,
    ) -> Self {
        Self { workload, case: case.into(), what: what.into(), value, unit, floor: None, goal: None }
    }

    pub(crate) fn over(mut self, floor: f64) -> Self {
        self.floor = Some(floor);
        self
    }

    pub(crate) fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }

    fn ratio(&self) -> Option<f64> {
        self.floor.filter(|floor| *floor > 0.0).map(|floor| self.value / floor)
    }

    /// None without a goal, and where the floor that a goal needs is not there.
    fn met(&self) -> Option<bool> {
        match self.goal? {
            Goal::Times(most) => self.ratio().map(|ratio| ratio <= most),
            Goal::AtMost(most) => Some(self.value <= most),
            Goal::AtLeast(least) => Some(self.value >= least),
        }
    }

    fn goal_text(&self) -> String {
        match self.goal {
            None => String::new(),
            Some(Goal::Times(most)) => format!("≤ {most} × floor"),
            Some(Goal::AtMost(most)) => format!("≤ {most} {}", self.unit),
            Some(Goal::AtLeast(least)) => format!("≥ {least} {}", self.unit),
        }
    }

    fn row(&self) -> String {
        let floor = self.floor.map(number).unwrap_or_default();
        let ratio = self.ratio().map(|ratio| format!("{} ×", number(ratio))).unwrap_or_default();
        let met = match self.met() {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        };
        format!(
            "{:<7} {:<20} {:<46} {:>9} {:<7} {:>9} {:>8}  {:<16} {met}",
            self.workload,
            self.case,
            self.what,
            number(self.value),
            self.unit,
            floor,
            ratio,
            self.goal_text()
        )
    }
}

/// A figure as others read it.
#[derive(Serialize)]
struct Line<'a> {
    workload: &'a str,
    case: &'a str,
    what: &'a str,
    value: f64,
    unit: &'a str,
    floor: Option<f64>,
    ratio: Option<f64>,
    goal: Option<String>,
    met: Option<bool>,
}

pub(crate) struct Report {
    file: File,
    path: PathBuf,
    /// Workloads with figures that miss their goal.
    missed: Vec<&'static str>,
    counted: [usize; 2],
    pub(crate) failures: Vec<String>,
}

impl Report {
    pub(crate) fn new(options: &Options) -> Result<Self> {
        if let Some(folder) = options.out.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = File::create(&options.out)?;
        let report =
            Self { file, path: options.out.clone(), missed: Vec::new(), counted: [0, 0], failures: Vec::new() };
        let (empty, case, what, value) = ("", "case", "what", "value");
        let (floor, ratio) = ("floor", "ratio");
        say(&format!("{empty:<7} {case:<20} {what:<46} {value:>9} {empty:<7} {floor:>9} {ratio:>8}  goal"))?;
        warn_about_disk(options)?;
        warn_about_load(options)?;
        Ok(report)
    }

    pub(crate) fn add(&mut self, figure: &Figure) -> Result<()> {
        let line = Line {
            workload: figure.workload,
            case: &figure.case,
            what: &figure.what,
            value: figure.value,
            unit: figure.unit,
            floor: figure.floor,
            ratio: figure.ratio(),
            goal: figure.goal.map(|_| figure.goal_text()),
            met: figure.met(),
        };
        serde_json::to_writer(&mut self.file, &line)?;
        self.file.write_all(b"\n")?;
        if let Some(met) = figure.met() {
            self.counted[usize::from(met)] += 1;
            if !met && !self.missed.contains(&figure.workload) {
                self.missed.push(figure.workload);
            }
        }
        say(&figure.row())
    }

    /// Something is wrong that no machine's noise explains.
    pub(crate) fn fail(&mut self, text: String) -> Result<()> {
        say(&format!("FAILED  {text}"))?;
        self.failures.push(text);
        Ok(())
    }

    pub(crate) fn close(&self, options: &Options) -> Result<()> {
        warn_about_load(options)?;
        let [missed, met] = self.counted;
        say(&format!("\n{met} goals met, {missed} missed; the figures as JSON lines: {}", self.path.display()))?;
        if !self.missed.is_empty() {
            say(SYMBOLS_HINT)?;
        }
        for workload in &self.missed {
            say(&format!("  {workload}: {}", hint(workload)))?;
        }
        for failure in &self.failures {
            say(&format!("FAILED  {failure}"))?;
        }
        Ok(())
    }
}

const SYMBOLS_HINT: &str = "\nto see where the time goes, build with names first, then profile what missed:\n  \
    export CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=line-tables-only; bench/run W2 --quick";

/// Where to look when the goal of a workload is missed. Where there is no perf, `valgrind --tool=callgrind` in its place.
fn hint(workload: &str) -> &'static str {
    match workload {
        "W3" => {
            "perf record -g onward run --quiet (the driver), strace -c -f onward run --quiet (calls), \
             perf trace -s (waits), in a project of your own with as many phases"
        }
        "W4" | "W9" => "strace -r onward status; valgrind --tool=callgrind onward resume RUN",
        "W7" => "GIT_TRACE2_PERF=1 git status; strace -f -c -e trace=fsync,lstat,execve onward run --quiet",
        "W1" | "W2" | "W5" | "W6" => "perf record -g target/release/onward-bench WORKLOAD --quick",
        _ => "strace -f -y -e trace=fsync,fdatasync onward run --quiet",
    }
}

/// Three figures that count.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// In memory a flush costs nothing, and every ratio to it would be nonsense.
fn warn_about_disk(options: &Options) -> Result<()> {
    let kind = nix::sys::statfs::statfs(&options.folder)?.filesystem_type();
    if kind == nix::sys::statfs::TMPFS_MAGIC {
        note(&format!("{} lies in memory: name a folder on a disk with --folder", options.folder.display()))?;
    }
    Ok(())
}

/// Warns about load by others: computing takes time from many processes more than from one, so ratios of W3 and W4 come
/// out too high; flushing makes every flush wait, so all other ratios come out too near to one.
fn warn_about_load(options: &Options) -> Result<()> {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text.split(' ').next().unwrap_or("?");
    let processors = std::thread::available_parallelism()?.get();
    let mut flush = Flush::new(&options.scratch()?)?;
    let turns = Turns { rounds: 2, block: 50, limit: options.patience() };
    let taken = number(in_turns(turns, &mut [&mut || flush.append(&[b'x'; 64])])?[0].p50());
    let seconds = options.begun.elapsed().as_secs();
    note(&format!("after {seconds} s: load {load} on {processors} processors, a flush takes {taken} ms"))
}

/// Something to know about the figures around it.
pub(crate) fn note(text: &str) -> Result<()> {
    say(&format!("        note: {text}"))
}

fn say(text: &str) -> Result<()> {
    writeln!(io::stdout(), "{text}")?;
    Ok(())
}

pub(crate) fn complain(text: &str) {
    // There is nobody left to tell if stderr is gone.
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures with each kind of goal, on both sides of it. Each must say whether it is met.
    #[test]
    fn a_figure_knows_whether_its_goal_is_met() {
        let figure = |value: f64, goal: Goal| Figure::new("W", "case", "what", value, "ms").over(2.0).goal(goal).met();
        assert_eq!(figure(3.0, Goal::Times(1.5)), Some(true));
        assert_eq!(figure(3.1, Goal::Times(1.5)), Some(false));
        assert_eq!(figure(3.1, Goal::AtMost(3.0)), Some(false));
        assert_eq!(figure(3.1, Goal::AtLeast(3.0)), Some(true));
        assert_eq!(Figure::new("W", "case", "what", 1.0, "ms").goal(Goal::Times(1.0)).met(), None, "there is no floor");
    }
}
