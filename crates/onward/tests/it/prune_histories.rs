//! Pruning over random histories of real runs: with kept artifacts, snapshots in git, forks, and large values that several runs share.
//! The oracle knows what each run needs to go on.

use std::collections::BTreeMap;
use std::fs;

use onward_testkit::TestProject;
use serde_json::Value;

use crate::project;

/// The histories that are tried; `ONWARD_HISTORIES` says how many, `ONWARD_HISTORIES_SEED` from which one on.
const HISTORIES: u64 = 2;
const STEPS: u32 = 22;
const PLANS: [&str; 3] = ["app", "site", "tool"];
const LARGE_BYTES: usize = 60_000;
const POLICIES: [&str; 3] = [
    "manual: 0, run_start: 0, phase_transition: 0, batch_complete: 0",
    "manual: 1, run_start: 0, phase_transition: 1",
    "manual: 2",
];

struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).expect("a small number")]
    }
}

/// All that is needed of a run that can go on.
struct Needed {
    plan: &'static str,
    /// The large value that others have, too.
    has_large: bool,
    /// Whether it has checkpoints of its own; a fork begins without.
    has_checkpoints: bool,
    /// The snapshot of the checkpoint that it was forked from, in another run.
    snapshot: Option<String>,
    /// The number of the step that changed it last.
    changed: u32,
    /// The content of its kept artifact, and of the file that its newest snapshot has.
    artifact: String,
}

struct History {
    project: TestProject,
    dice: Dice,
    open: BTreeMap<String, Needed>,
    large: String,
    seed: u64,
    number: u32,
}

fn plan(name: &str) -> String {
    let path = format!("echo $(cat seed.txt) > {name}.txt");
    format!(
        "onward: 1\nname: {name}\nphases:\n  a: {{ run: '{path}', artifacts: {{ out: {{ path: {name}.txt, keep: true }} }} }}\n  \
         b: {{ needs: a, external: {{ instructions: do b }} }}\n"
    )
}

impl History {
    fn new(seed: u64) -> Self {
        let project = project();
        project.git_init();
        project.command(["init"]).expect(0);
        for name in PLANS {
            project.plan_at(&format!("{name}.yaml"), &plan(name));
        }
        let mut dice = Dice::new(seed);
        // Nothing that gets shorter, so that it is a blob.
        let large: String =
            (0..LARGE_BYTES).map(|_| char::from(b'a' + u8::try_from(dice.below(26)).unwrap_or(0))).collect();
        project.write("large.json", serde_json::json!({ "large": large }).to_string());
        Self { project, dice, open: BTreeMap::new(), large, seed, number: 0 }
    }

    fn json(&self, words: &[&str]) -> Value {
        self.project.command(words).expect(0).json()
    }

    fn listed(&self) -> Vec<String> {
        let listed = self.json(&["list", "--all", "--json"]);
        let runs = listed["runs"].as_array().expect("a list").iter();
        runs.filter_map(|run| run["run"].as_str().map(str::to_owned)).collect()
    }

    /// One of the runs that can go on.
    fn any(&mut self) -> Option<String> {
        let all: Vec<String> = self.open.keys().cloned().collect();
        (!all.is_empty()).then(|| self.dice.pick(&all).clone())
    }

    fn begin(&mut self) {
        let name = *self.dice.pick(&PLANS);
        let artifact = format!("{name} {}", self.number);
        self.project.write("seed.txt", &artifact);
        let before = self.listed();
        self.project.command(["run", &format!("{name}.yaml"), "--fresh"]).expect(15);
        let run = self.listed().into_iter().find(|run| !before.contains(run)).expect("a new run");
        let changed = self.number;
        self.open.insert(
            run,
            Needed { plan: name, has_large: false, has_checkpoints: true, snapshot: None, changed, artifact },
        );
        // A fresh start puts the one before it away.
        let listed = self.json(&["list", "--all", "--json"]);
        let archived = listed["runs"].as_array().expect("a list").iter().filter(|run| run["status"] == "archived");
        for run in archived.filter_map(|run| run["run"].as_str()) {
            self.open.remove(run);
        }
    }

    fn fork(&mut self) {
        let Some(from) = self.any().filter(|from| self.open[from].has_checkpoints) else { return };
        let log = self.json(&["log", &from, "--json"]);
        let log = log["checkpoints"].as_array().expect("a list");
        // At its start nothing was done yet.
        let any: Vec<&Value> = log.iter().filter(|one| one["trigger"] != "run_start").collect();
        let one = *self.dice.pick(&any);
        let forked = self.json(&["fork", one["id"].as_str().expect("an id"), "--json"]);
        let run = forked["run"].as_str().expect("a run").to_owned();
        // What came after the checkpoint is not in it.
        let shown = self.json(&["state", "get", "--run", &run, "--json"]);
        let has_large = shown.to_string().contains(&self.large);
        let snapshot = one["snapshot"].as_str().map(str::to_owned);
        let Needed { plan, artifact, .. } = &self.open[&from];
        let needed = Needed {
            plan,
            has_large,
            has_checkpoints: false,
            snapshot,
            changed: self.number,
            artifact: artifact.clone(),
        };
        self.open.insert(run, needed);
    }

    fn step(&mut self) {
        self.number += 1;
        match self.dice.below(12) {
            0..=3 => self.begin(),
            4 | 5 => {
                let Some(run) = self.any() else { return };
                self.project.command(["state", "merge", "large.json", "--run", &run]).expect(0);
                // Each has files of its own.
                self.project.write("notes.txt", self.number.to_string());
                self.project.command(["checkpoint", &run]).expect(0);
                let needed = self.open.get_mut(&run).expect("it is open");
                (needed.has_large, needed.has_checkpoints, needed.changed) = (true, true, self.number);
            }
            6 | 7 => self.fork(),
            8 => {
                let Some(run) = self.any() else { return };
                self.go_on(&run);
            }
            9 => {
                let Some(run) = self.any() else { return };
                self.project.command(["archive", &run]).expect(0);
                self.open.remove(&run);
            }
            _ => self.prune(),
        }
    }

    fn prune(&mut self) {
        let policy = *self.dice.pick(&POLICIES);
        self.project.write(".onward/config.yaml", format!("checkpoint: {{ retention: {{ {policy} }} }}\n"));
        let mut words = vec!["prune", "--yes"];
        if self.dice.percent(60) {
            words.extend(["--older-than", "0"]);
        }
        self.project.command(words).expect(0);
        self.check();
    }

    /// Nothing that a run needs is gone, also once git has cleaned up.
    fn check(&mut self) {
        let (seed, listed) = (self.seed, self.listed());
        for name in PLANS {
            let of_plan = self.open.iter().filter(|(_, needed)| needed.plan == name);
            let newest = of_plan.max_by_key(|(_, needed)| needed.changed).map(|(run, _)| run);
            let there = newest.is_none_or(|newest| listed.contains(newest));
            assert!(there, "seed {seed}: {newest:?}, the newest run of {name} that can go on, is gone");
        }
        self.open.retain(|run, _| listed.contains(run));
        self.project.git(["gc", "--prune=now", "--quiet"]);
        let found = self.json(&["doctor", "--json"]);
        assert_eq!(found["findings"], serde_json::json!([]), "seed {seed}");
        for (run, needed) in &self.open {
            if let Some(snapshot) = &needed.snapshot {
                self.project.git(["rev-list", "--objects", "--quiet", snapshot]);
            }
            if needed.has_large {
                let state = self.json(&["state", "get", "/large", "--run", run, "--json"]);
                assert!(state.to_string().contains(&self.large), "seed {seed}: the state of {run}");
            }
            let log = self.json(&["log", run, "--json"]);
            let log = log["checkpoints"].as_array().expect("a list");
            let can_resume = !needed.has_checkpoints || log.iter().any(|one| one["can_resume"] == true);
            assert!(can_resume, "seed {seed}: {run} has nothing to resume from");
            for one in log {
                self.json(&["show", one["id"].as_str().expect("an id"), "--json"]);
                if let Some(snapshot) = one["snapshot"].as_str() {
                    self.project.git(["rev-list", "--objects", "--quiet", snapshot]);
                }
            }
        }
    }

    /// Goes on with a run to its end: its kept artifact is what it was, and its newest snapshot brings its file back.
    fn go_on(&mut self, run: &str) {
        let needed = self.open.remove(run).expect("it is open");
        let (seed, file) = (self.seed, format!("{}.txt", needed.plan));
        let kept = self.project.path(".onward/artifacts").join(run);
        if kept.is_dir() {
            let kept = fs::read_dir(kept).expect("a folder").flatten().map(|file| fs::read_to_string(file.path()));
            let kept: Vec<String> = kept.map(|text| text.expect("a text").trim().to_owned()).collect();
            assert_eq!(kept, std::slice::from_ref(&needed.artifact), "seed {seed}: the artifact of {run}");
        }
        if needed.has_checkpoints {
            let log = self.json(&["log", run, "--json"]);
            let newest = log["checkpoints"][0]["id"].as_str().expect("a checkpoint").to_owned();
            self.project.write(&file, "by somebody else");
            self.project.command(["rewind", &newest]).expect(0);
            assert_eq!(self.project.read(&file).trim(), needed.artifact, "seed {seed}: the file of {run}");
        }
        for words in [["report", "start", "b", "--run", run], ["report", "done", "b", "--run", run]] {
            self.project.command(words).expect(0);
        }
        assert_eq!(self.json(&["status", run, "--json"])["status"], "completed", "seed {seed}: {run}");
    }
}

/// Runs begin, share a large value, are forked, archived, brought to their end and pruned in any order, under any retention. Whatever a
/// run that can go on needs is there after each prune, and in the end each of them comes to its end.
#[test]
fn soak_nothing_goes_that_a_real_run_needs() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("ONWARD_HISTORIES_SEED").unwrap_or(1);
    for seed in first..first + number("ONWARD_HISTORIES").unwrap_or(HISTORIES) {
        let mut history = History::new(seed);
        for _ in 0..STEPS {
            history.step();
        }
        history.prune();
        while let Some(run) = history.any() {
            history.go_on(&run);
        }
        history.prune();
    }
}
