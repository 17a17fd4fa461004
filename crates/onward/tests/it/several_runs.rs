//! Several runs in one working tree, by the dice: starts, rewinds, undos, clean retries, edits by the user, kills, also of rewinds and
//! undos at any of their calls of git. A ledger outside has every content that anybody wrote.
//!
//! One seed in a test run; `ONWARD_SOAK_SEEDS=100` tries more, `ONWARD_SOAK_SEED=7` begins with that one.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use onward_testkit::{Running, Signal, TestProject};
use serde_json::Value;

use crate::project;
use crate::rewinds_cut_off::waiting_git;

const RUNS: usize = 3;
const STEPS: u32 = 60;
const USER_FILES: [&str; 3] = ["mine.txt", "src/code.txt", "notes/new.txt"];

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        // The multiplier and increment of Knuth's MMIX.
        self.0 ^= self.0 >> 29;
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

fn plan(number: usize) -> String {
    let path = format!("r{number}");
    format!(
        "
onward: 1
name: r{number}
phases:
  a{number}: {{ run: step a{number} 'mkdir -p {path}; echo a $ONWARD_ATTEMPT > {path}/a.txt' }}
  b{number}: {{ needs: a{number}, writes: {path}/b.txt, run: step b{number} 'echo b $ONWARD_ATTEMPT >> {path}/b.txt' }}
  c{number}: {{ needs: b{number}, run: step c{number} 'echo c $ONWARD_ATTEMPT > {path}/c.txt; hold; ! test -e ../broken{number}' }}
"
    )
}

struct World {
    project: TestProject,
    dice: Dice,
    /// The present drivers, by the number of the run.
    drivers: BTreeMap<usize, Running>,
    /// Phases at work without a driver.
    orphans: Vec<usize>,
    /// Runs whose driver was killed and that nobody went on with since.
    killed: BTreeSet<usize>,
    /// New files that the user made while nothing was at work: nobody may take them away.
    theirs: BTreeSet<String>,
    /// Rewinds and undos that were stopped or killed.
    cut_off: u32,
    /// Everything that the user ever wrote.
    ledger: Vec<(String, String)>,
    story: Vec<String>,
    /// Files were not brought back because somebody was at work, and were brought back.
    refused: u32,
    done: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let project = project();
        for number in 0..RUNS {
            project.plan_at(&format!("r{number}.yaml"), &plan(number));
        }
        for file in &USER_FILES[..2] {
            project.write(file, "at first\n");
        }
        project.git_init();
        let (drivers, orphans, ledger) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self {
            project,
            dice: Dice(seed),
            drivers,
            orphans,
            killed: BTreeSet::new(),
            theirs: BTreeSet::new(),
            cut_off: 0,
            ledger,
            story: vec![format!("seed {seed}")],
            refused: 0,
            done: 0,
        }
    }

    fn run_id(&self, number: usize) -> Option<String> {
        let list = self.project.command(["list", "--json"]).json();
        let of = |row: &&Value| row["run"].as_str().is_some_and(|run| run.contains(&format!("_r{number}_")));
        list["runs"].as_array()?.iter().find(of).and_then(|row| row["run"].as_str()).map(str::to_owned)
    }

    fn somebody_beside(&self, number: usize) -> bool {
        self.drivers.keys().chain(&self.orphans).any(|other| *other != number)
    }

    fn is_at_work(&self, number: usize) -> bool {
        self.drivers.contains_key(&number) || self.orphans.contains(&number)
    }

    fn step(&mut self) {
        let number = self.dice.below(RUNS);
        let at_work = self.is_at_work(number);
        match (at_work, self.dice.below(6)) {
            (_, 0) => self.edit(),
            (true, 1 | 2) => self.let_it_end(number),
            (true, 3) => self.kill_the_driver(number),
            (true, _) => {}
            (false, 1 | 2) => self.start(number),
            (false, 3 | 4) => self.go_back(number),
            (false, _) => self.undo_or_clean(number),
        }
        self.check();
    }

    /// Drives a run until its last phase is at work.
    fn start(&mut self, number: usize) {
        if self.is_at_work(number) {
            return;
        }
        self.story.push(format!("start {number}"));
        let begun = self.project.count("begin", &format!("c{number}"));
        let words = ["run", &format!("r{number}.yaml"), "--resume", "--accept-stale"];
        let running = self.project.start(words);
        let phase = format!("c{number}");
        // Its file is written after it has begun.
        let at_work = |world: &Self| {
            world.project.count("begin", &phase) > begun && world.project.exists(format!("r{number}/c.txt"))
        };
        onward_testkit::wait_until("the last phase or the end", || {
            (at_work(self) || !running.is_running()).then_some(())
        });
        self.killed.remove(&number);
        if at_work(self) {
            self.drivers.insert(number, running);
        } else {
            running.wait();
        }
    }

    fn let_it_end(&mut self, number: usize) {
        if !self.is_at_work(number) {
            return;
        }
        self.story.push(format!("let {number} end"));
        let gate = format!("c{number}");
        self.project.open(&gate);
        if let Some(running) = self.drivers.remove(&number) {
            running.wait();
        }
        if self.orphans.contains(&number) {
            self.orphans.retain(|other| *other != number);
            let ended = self.project.count("begin", &gate);
            onward_testkit::wait_until("the orphan", || {
                let over = self.project.count("end", &gate) + self.project.count("fail", &gate);
                (over == ended).then_some(())
            });
            self.project.wait_no_attendant(number);
        }
        self.project.shut(&gate);
    }

    fn kill_the_driver(&mut self, number: usize) {
        if let Some(running) = self.drivers.remove(&number) {
            self.story.push(format!("kill the driver of {number}"));
            running.kill();
            self.killed.insert(number);
            self.orphans.push(number);
        }
    }

    fn edit(&mut self) {
        let known = USER_FILES.get(self.dice.below(2 * USER_FILES.len()));
        let file = known.map_or_else(|| format!("notes/{}.txt", self.ledger.len()), |file| (*file).to_owned());
        let content = format!("edit {} of {file}\n", self.ledger.len());
        self.story.push(format!("the user writes {content:?}"));
        if self.drivers.is_empty() && self.orphans.is_empty() && self.killed.is_empty() && !self.project.exists(&file) {
            self.theirs.insert(file.clone());
        }
        self.project.write(&file, &content);
        self.ledger.push((file, content));
    }

    fn go_back(&mut self, number: usize) {
        let Some(run) = self.run_id(number).filter(|_| !self.is_at_work(number)) else { return };
        let log = self.project.command(["log", &run, "--json"]).json();
        let points = log["checkpoints"].as_array().expect("checkpoints").clone();
        if points.is_empty() {
            return;
        }
        let point = points[self.dice.below(points.len())]["id"].as_str().expect("an id").to_owned();
        self.story.push(format!("rewind {number} to {point}"));
        let beside = self.somebody_beside(number);
        if let Some(code) = self.perform(&["rewind", &point]) {
            self.count(code);
            assert_eq!(code == 11, beside, "exit code {code}: {:#?}", self.story);
        }
    }

    /// Its exit code; none where the dice had it stopped or killed at one of its calls of git.
    fn perform(&mut self, words: &[&str]) -> Option<i32> {
        if self.dice.below(2) > 0 {
            return Some(self.project.command(words).code);
        }
        let call = u32::try_from(1 + self.dice.below(18)).expect("a small number");
        let signal = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL][self.dice.below(3)];
        waiting_git(&self.project, call);
        let going = self.project.start(words);
        let hung = self.project.root().join("hung");
        onward_testkit::wait_until("the call or the end", || (hung.exists() || !going.is_running()).then_some(()));
        let is_hung = hung.exists();
        if is_hung {
            self.story.push(format!("{signal} at its call {call} of git"));
            going.signal(signal);
            self.cut_off += 1;
        }
        let ran = going.wait();
        for name in ["hung", "waiting", "calls", "bin/git"] {
            let _ = std::fs::remove_file(self.project.root().join(name));
        }
        (!is_hung).then_some(ran.code)
    }

    fn undo_or_clean(&mut self, number: usize) {
        let Some(run) = self.run_id(number).filter(|_| !self.is_at_work(number)) else { return };
        let beside = self.somebody_beside(number);
        if self.dice.below(2) == 0 {
            self.story.push(format!("undo {number}"));
            if let Some(code) = self.perform(&["undo", &run]) {
                self.count(code);
                assert_eq!(code == 11, beside && code != 10, "exit code {code}: {:#?}", self.story);
            }
        } else if beside {
            self.story.push(format!("clean retry of {number}"));
            let phase = format!("b{number}=clean");
            let code = self.project.command(["resume", &run, "--retry", &phase, "--accept-stale"]).code;
            assert!([11, 13, 14, 2].contains(&code), "exit code {code}: {:#?}", self.story);
        }
    }

    fn count(&mut self, code: i32) {
        self.refused += u32::from(code == 11);
        self.done += u32::from(code == 0);
    }

    /// Whoever is at work has its files, and nothing that the user wrote is lost.
    fn check(&self) {
        for number in self.drivers.keys().chain(&self.orphans) {
            let path = format!("r{number}/c.txt");
            assert!(self.project.exists(&path), "{path} was taken away: {:#?}", self.story);
        }
        for file in &self.theirs {
            assert!(self.project.exists(file), "{file} of the user's was taken away: {:#?}", self.story);
        }
        for (file, content) in &self.ledger {
            let there = std::fs::read_to_string(self.project.path(file)).is_ok_and(|text| text == *content);
            assert!(there || self.was_replaced(file, content), "{content:?} is lost: {:#?}", self.story);
        }
    }

    /// The user wrote something else there since, or git has it.
    fn was_replaced(&self, file: &str, content: &str) -> bool {
        let last = self.ledger.iter().rev().find(|(other, _)| other == file);
        last.is_some_and(|(_, last)| last != content) || self.git_has(content)
    }

    fn git_has(&self, content: &str) -> bool {
        let path = self.project.root().join("content");
        std::fs::write(&path, content).expect("a file");
        let name = self.project.git(["hash-object", "--no-filters", path.to_str().expect("a UTF-8 path")]);
        let mut asked = Command::new("git");
        asked.args(["cat-file", "-e", &name]).current_dir(self.project.dir()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    }
}

trait Attendants {
    fn wait_no_attendant(&self, number: usize);
}

impl Attendants for TestProject {
    /// The phase has ended; what attended it writes its record and goes.
    fn wait_no_attendant(&self, number: usize) {
        onward_testkit::wait_until("the record of the orphan", || {
            let folder = self.path(".onward/attempts");
            let runs = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let of = runs.filter(|run| run.file_name().to_string_lossy().contains(&format!("_r{number}_")));
            let phases = of.map(|run| run.path().join(format!("c{number}")));
            let attempts = phases.flat_map(|phase| std::fs::read_dir(phase).into_iter().flatten().flatten());
            let mut attempts = attempts.filter(|attempt| attempt.path().join("STARTED").exists());
            attempts.all(|attempt| attempt.path().join("EXIT").exists()).then_some(())
        });
    }
}

fn number_in(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Whatever the dice say, nobody who is at work loses a file, and nothing that the user wrote is lost.
#[test]
fn soak_several_runs_in_one_tree() {
    let (first, seeds) = (number_in("ONWARD_SOAK_SEED", 28), number_in("ONWARD_SOAK_SEEDS", 1));
    let (mut refused, mut done, mut cut_off) = (0, 0, 0);
    for seed in first..first + seeds {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step();
        }
        for number in 0..RUNS {
            world.let_it_end(number);
        }
        world.check();
        (refused, done, cut_off) = (refused + world.refused, done + world.done, cut_off + world.cut_off);
    }
    assert!(refused > 0 && done > 0, "these seeds say nothing: {refused} refused, {done} done");
    println!("{seeds} seeds from {first}: {refused} refused, {done} done, {cut_off} cut off");
}

/// Several scripts save for the first time at the same moment. They share one run.
#[test]
fn first_saves_at_once_share_one_run() {
    let project = project();
    project.write("state.json", r#"{"x": 1}"#);
    let all: Vec<_> = (0..8).map(|_| project.start(["save", "t", "p", "--state", "state.json"])).collect();
    for one in all {
        one.wait_code(0);
    }
    let runs = project.command(["list", "--all", "--json"]).expect(0).json();
    assert_eq!(runs["runs"].as_array().expect("a list").len(), 1, "{runs}");
}
