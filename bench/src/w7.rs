//! W7: a snapshot of the working tree, held against `git status` of the same tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use onward_core::id::RunId;
use onward_engine::vcs::{Repository, TreeSnapshot};

use crate::Result;
use crate::figure::{Figure, Goal, Report, note};
use crate::measure::{Times, in_turns, timed};
use crate::options::Options;

const NAME: &str = "W7";
const FILES: [usize; 2] = [5_000, 50_000];
const FILES_PER_FOLDER: usize = 25;
const FOLDERS_PER_FOLDER: usize = 20;
const CHANGED: usize = 10;
const GOAL_CHANGED: f64 = 1.5;
const GOAL_UNCHANGED: f64 = 1.1;
/// Making and measuring the large tree takes about so long.
const LARGE_MS: f64 = 60_000.0;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    for files in FILES.into_iter().take(options.pick(1, 2, 2)) {
        if files == FILES[1] && !options.has_time(LARGE_MS) {
            note(&format!("{files} files are left out: there is no time for them"))?;
            continue;
        }
        measure_one(options, report, files)?;
    }
    Ok(())
}

fn measure_one(options: &Options, report: &mut Report, files: usize) -> Result<()> {
    let case = format!("{files} files");
    let tree = Tree::new(options.scratch()?, files)?;
    let repository = Repository::open(&tree.top, &tree.top.join(".onward")).map_err(|why| why.to_string())?;
    let mut books = Books { repository, run: RunId::new("bench_w7_20260101_000000"), number: 0, last: None };
    let first = timed(|| books.take(Expect::Other))?;
    let turns = options.turns(options.pick(9, 15, 25), 3);
    let unchanged = in_turns(turns, &mut [&mut || tree.status(), &mut || books.take(Expect::Same)])?;
    let changed = with_changes(options.pick(15, 30, 60), &tree, &mut books)?;
    report.add(&Figure::new(NAME, &case, "the first snapshot", first, "ms").over(unchanged[0].p50()))?;
    for (what, times, goal) in
        [("unchanged", unchanged.as_slice(), GOAL_UNCHANGED), ("10 changed", changed.as_slice(), GOAL_CHANGED)]
    {
        let figure =
            |part: &str, value: f64| Figure::new(NAME, &case, format!("snapshot, {what}, {part}"), value, "ms");
        report.add(&figure("p50", times[1].p50()).over(times[0].p50()).goal(Goal::Times(goal)))?;
        report.add(&figure("p99", times[1].p99()).over(times[0].p99()))?;
    }
    Ok(())
}

/// Both in turns, each after ten files were changed, which is not part of what is measured.
fn with_changes(rounds: usize, tree: &Tree, books: &mut Books) -> Result<[Times; 2]> {
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        tree.change(2 * round)?;
        floor.push(timed(|| tree.status())?);
        tree.change(2 * round + 1)?;
        ours.push(timed(|| books.take(Expect::Other))?);
    }
    Ok([Times::new(floor), Times::new(ours)])
}

/// Whether a snapshot must be the last one again.
#[derive(Clone, Copy, PartialEq)]
enum Expect {
    Same,
    Other,
}

struct Books {
    repository: Repository,
    run: RunId,
    number: u64,
    last: Option<TreeSnapshot>,
}

impl Books {
    fn take(&mut self, expect: Expect) -> Result<()> {
        self.number += 1;
        let last = self.last.as_ref().map(|last| last.commit.as_str());
        let taken = self.repository.snapshot(&self.run, self.number, last)?;
        if taken.same_as_last != (expect == Expect::Same) {
            return Err("a snapshot missed a change, or saw one that is none".into());
        }
        self.last = Some(taken);
        Ok(())
    }
}

/// A repository with many small files in folders.
struct Tree {
    top: PathBuf,
    files: usize,
}

impl Tree {
    fn new(top: PathBuf, files: usize) -> Result<Self> {
        let tree = Self { top, files };
        for file in 0..files {
            let path = tree.path(file);
            if file % FILES_PER_FOLDER == 0 {
                fs::create_dir_all(path.parent().unwrap_or(&tree.top))?;
            }
            fs::write(path, format!("file {file}\n").repeat(20))?;
        }
        fs::create_dir(tree.top.join(".onward"))?;
        fs::write(tree.top.join(".onward/.gitignore"), "*\n")?;
        tree.git(&["init", "--quiet"])?;
        tree.git(&["add", "--all"])?;
        let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        tree.git(&[&who, ["commit", "--quiet", "-m", "all"].as_slice()].concat())?;
        Ok(tree)
    }

    fn path(&self, file: usize) -> PathBuf {
        let folder = file / FILES_PER_FOLDER;
        let (outer, inner) = (folder / FOLDERS_PER_FOLDER, folder % FOLDERS_PER_FOLDER);
        self.top.join(format!("outer-{outer}/inner-{inner}/file-{file}.txt"))
    }

    /// Gives ten files, far from each other, a content that they never had.
    fn change(&self, round: usize) -> Result<()> {
        for number in 0..CHANGED {
            fs::write(self.path(number * (self.files / CHANGED)), format!("round {round}, {number}\n").repeat(20))?;
        }
        Ok(())
    }

    fn status(&self) -> Result<()> {
        self.git(&["status"])
    }

    fn git(&self, words: &[&str]) -> Result<()> {
        run(&self.top, words)
    }
}

fn run(folder: &Path, words: &[&str]) -> Result<()> {
    let status =
        Command::new("git").args(words).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("git {words:?}: {status}").into()) }
}
