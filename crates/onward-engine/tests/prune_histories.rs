//! Pruning over random histories, against an oracle that knows what every run and every checkpoint held.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use onward_core::id::RunId;
use onward_engine::{FOLDER, ListFilter, Onward, Shown};
use serde_json::{Map, Value, json};

/// The histories that are tried; `ONWARD_HISTORIES` says how many.
const HISTORIES: u64 = 3;
const STEPS: u32 = 40;
const PROJECTS: [&str; 3] = ["app", "site", "tool"];

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// The demands whatever is pruned.
#[derive(Default)]
struct Oracle {
    /// The last state of each run that can be resumed.
    open: BTreeMap<RunId, (&'static str, Value)>,
    /// The state at every checkpoint ever taken.
    states: BTreeMap<String, Value>,
    /// Given a name, so never pruned.
    named: Vec<String>,
}

impl Oracle {
    fn check(&self, onward: &mut Onward, seed: u64) {
        let listed = onward.list(&ListFilter { all: true, ..ListFilter::default() }).expect("a list");
        for project in PROJECTS {
            let newest = self.open.iter().filter(|(_, (of, _))| *of == project).map(|(run, _)| run).next_back();
            let there = newest.is_none_or(|newest| listed.iter().any(|item| item.run == *newest));
            assert!(there, "seed {seed}: the newest run of {project} that can go on is gone");
        }
        for item in &listed {
            let (_, log) = onward.log(Some(item.run.as_str())).expect("its log");
            let open = self.open.get(&item.run);
            if let Some((_, last)) = open {
                let state = onward.state(Some(item.run.as_str()), "").expect("its state");
                assert_eq!(state, *last, "seed {seed}: the state of {}", item.run);
                let newest = log.iter().find(|one| one.can_resume).expect("a checkpoint to resume from");
                assert_eq!(self.states[newest.id.as_str()], *last, "seed {seed}: the newest one of {}", item.run);
            }
            for one in &log {
                let Shown::Checkpoint(shown) = onward.show(one.id.as_str()).expect("it can be read") else {
                    panic!("seed {seed}: {} is a checkpoint", one.id);
                };
                assert_eq!(Value::Object(shown.state), self.states[one.id.as_str()], "seed {seed}: {}", one.id);
            }
        }
        for id in &self.named {
            onward.show(id).unwrap_or_else(|why| panic!("seed {seed}: {id} has a name: {why}"));
        }
    }
}

fn policy(dice: &mut Dice) -> String {
    let size = match dice.below(3) {
        0 => "",
        _ => "\n  storage: { max_size_mb: 1 }",
    };
    format!("checkpoint:\n  retention: {{ manual: {} }}{size}\n", i64::try_from(dice.below(5)).unwrap_or(0) - 1)
}

fn state(dice: &mut Dice) -> Map<String, Value> {
    let large = if dice.below(4) == 0 { 120_000 } else { 40 };
    let noise: String = (0..large).map(|_| char::from(b'a' + u8::try_from(dice.below(26)).unwrap_or(0))).collect();
    let value = json!({ "n": dice.below(1000), "noise": noise, "list": (0..dice.below(5)).collect::<Vec<_>>() });
    value.as_object().cloned().unwrap_or_default()
}

fn one_history(folder: &Path, seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut oracle = Oracle::default();
    fs::create_dir_all(folder.join(FOLDER)).expect("a folder");
    let work = || Onward::work(folder).expect("a project");
    for step in 0..STEPS {
        let project = PROJECTS[usize::try_from(dice.below(3)).unwrap_or(0)];
        match dice.below(10) {
            0..=5 => {
                let saved = state(&mut dice);
                let (run, id) = work().save("test", project, saved.clone()).expect("it is saved");
                oracle.states.insert(id.to_string(), Value::Object(saved.clone()));
                oracle.open.insert(run, (project, Value::Object(saved)));
            }
            6 => {
                let Some((run, (_, last))) = oracle.open.iter().next_back() else { continue };
                let name = format!("name-{step}");
                let id = work().checkpoint(Some(run.as_str()), Some(&name)).expect("a checkpoint");
                oracle.states.insert(id.clone(), last.clone());
                oracle.named.push(id);
            }
            7 => {
                let Some(run) = oracle.open.keys().next().cloned() else { continue };
                work().archive(&run).expect("it is archived");
                oracle.open.remove(&run);
            }
            _ => {
                fs::write(folder.join(FOLDER).join("config.yaml"), policy(&mut dice)).expect("the configuration");
                let older = (dice.below(2) == 0).then_some(Duration::ZERO);
                let mut onward = work();
                let plan = onward.prune_plan(older).expect("a plan");
                let done = onward.prune(&plan, older).expect("it is pruned");
                assert!(done.failed.is_empty(), "seed {seed}: {:?}", done.failed);
                let left = onward.prune_plan(older).expect("a plan").delete;
                assert!(left.is_empty(), "seed {seed}: {left:?}");
                let there = onward.list(&ListFilter { all: true, ..ListFilter::default() }).expect("a list");
                oracle.check(&mut onward, seed);
                oracle.open.retain(|run, _| there.iter().any(|item| item.run == *run));
            }
        }
    }
    oracle.check(&mut work(), seed);
}

/// Scripts save, name, archive and prune in any order, under any retention. The newest run of each project that can go on is
/// always there with its state, every checkpoint that is left reads as what it was, named ones stay, and a second prune has
/// nothing to do.
#[test]
fn nothing_goes_that_a_run_needs() {
    let wanted = std::env::var("ONWARD_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(HISTORIES);
    for seed in 1..=wanted {
        let quick = Path::new("/dev/shm");
        let folder = if quick.is_dir() { tempfile::tempdir_in(quick) } else { tempfile::tempdir() };
        one_history(folder.expect("a temporary folder").path(), seed);
    }
}
