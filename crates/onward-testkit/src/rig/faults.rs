//! A fault at every system call: driver, attendant or poster meets an error, or its end, at its nth call. Then the run goes on
//! without faults, and the ledger decides.
//!
//! A recording says which calls there are; a point is one of them and one way in which it may fail.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde_json::Value;

use super::book::read_book;
use super::calls::{self, CallFault};
use super::deeds::{self, Manners};
use super::judge::{self, Case, Disturbed};
use super::lane::Lane;
use super::tracer::{self, Aim, CallHit, Role, SeenCall, Traced};
use super::tree::{AttemptName, ProcessKind};
use crate::TestProject;
use crate::sim::dice::Dice;

/// How long a command may take that meets a fault, and every command after it. A driver that cannot read what became of an
/// attempt looks for ten seconds, and for longer where each look is slow.
const COMMAND_MAX: Duration = Duration::from_mins(1);
/// Starts after the fault. A question, a failed phase and a person each cost one.
const STARTS_MAX: u32 = 12;
/// The script of the shell before it becomes the command: it waits for its tracer.
const WAIT_FOR_TRACER: &str = "kill -STOP $$; exec \"$@\"";

/// Exit codes that a start without faults may end with.
const CODES: [i32; 4] = [0, 1, 14, 15];

/// The report about one point.
#[derive(Debug)]
pub struct PointTold {
    pub aim: Aim,
    /// None if the run took another way and never came to that call.
    pub hit: Option<CallHit>,
    /// How the command ended that met the fault.
    pub code: Option<i32>,
    pub faults: Vec<String>,
    pub tale: Vec<String>,
    pub kept: Option<PathBuf>,
}

/// Runs the plan once under a tracer and gives every call that a fault could meet.
pub fn record(binary: &Path) -> Vec<SeenCall> {
    let mut all = Vec::new();
    let mut stage = FaultStage::new(binary);
    let (_, traced) = stage.traced(&["run", "a.yaml", "--no-input"], None);
    all.extend(traced.seen);
    let run = stage.run();
    stage.write_patch();
    for words in stage.posts(&run) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (_, traced) = stage.traced(&words, None);
        let before = all.iter().filter(|seen| seen.role == Role::Poster).map(|seen| seen.process).max().unwrap_or(0);
        all.extend(traced.seen.into_iter().map(|seen| SeenCall { process: before + 1, ..seen }));
    }
    all
}

/// Every point of a recording.
pub fn points(seen: &[SeenCall]) -> Vec<Aim> {
    let mut all = Vec::new();
    for one in seen {
        let ways = u32::try_from(calls::ways(one.number).len()).expect("few ways");
        for way in 0..ways {
            all.push(Aim { role: one.role, process: one.process, call: one.call, way });
        }
    }
    all
}

/// So many points of a recording, chosen by the seed: each role gets its share, each call of it the same chance.
pub fn sample(recorded: &[SeenCall], count: usize, seed: u64) -> Vec<Aim> {
    let mut dice = Dice::new(seed);
    let mut seen_by: BTreeMap<Role, BTreeMap<i64, Vec<&SeenCall>>> = BTreeMap::new();
    for one in recorded {
        seen_by.entry(one.role).or_default().entry(one.number).or_default().push(one);
    }
    let roles: Vec<_> = seen_by.values().collect();
    let mut chosen = Vec::new();
    while chosen.len() < count && !roles.is_empty() {
        let of_role = roles[chosen.len() % roles.len()];
        // Half of the points by the call's name, so that rare calls are met; half by its place, so that all places are.
        let names: Vec<&Vec<&SeenCall>> = of_role.values().collect();
        let all: Vec<&SeenCall> = of_role.values().flatten().copied().collect();
        let one = if dice.percent(50) {
            let of_name = *dice.pick(&names);
            *dice.pick(of_name)
        } else {
            *dice.pick(&all)
        };
        let ways = calls::ways(one.number).len() as u64;
        let way = u32::try_from(dice.below(ways)).expect("few ways");
        chosen.push(Aim { role: one.role, process: one.process, call: one.call, way });
    }
    chosen
}

/// Has one call fail, goes on without faults until the run is complete, and judges.
pub fn play(binary: &Path, aim: Aim) -> PointTold {
    let mut stage = FaultStage::new(binary);
    let (code, traced) = match aim.role {
        Role::Driver | Role::Attendant => stage.traced(&["run", "a.yaml", "--no-input"], Some(aim)),
        Role::Poster => stage.post_with_fault(aim),
    };
    stage.tell(format!("{aim:?}: {:?}, ended with {code:?}", traced.hit));
    if let (Some(hit), Role::Attendant) = (&traced.hit, aim.role) {
        stage.disturb(hit);
    }
    match code {
        None => stage.fault("the command that met the fault does not come to its end".to_owned()),
        // A panic, an abort and a crash are bugs whatever the machine does.
        Some(code @ (70 | 101 | 134 | 139)) => stage.fault(format!("the command that met the fault ended with {code}")),
        Some(_) => {}
    }
    stage.hit.clone_from(&traced.hit);
    stage.go_on();
    if stage.faults.is_empty() {
        stage.judge();
    }
    stage.project.kill_everything();
    let kept = (!stage.faults.is_empty()).then(|| stage.project.keep());
    PointTold { aim, hit: traced.hit, code, faults: stage.faults, tale: stage.tale, kept }
}

struct FaultStage {
    project: TestProject,
    binary: PathBuf,
    disturbed: Disturbed,
    hit: Option<CallHit>,
    /// Words whose merge was acknowledged.
    acknowledged: Vec<String>,
    faults: Vec<String>,
    tale: Vec<String>,
}

impl FaultStage {
    fn new(binary: &Path) -> Self {
        let project = deeds::project(binary);
        deeds::write_plan(&project, "a", Manners::Plain, &mut Dice::new(1));
        Self {
            project,
            binary: binary.to_path_buf(),
            disturbed: Disturbed::default(),
            hit: None,
            acknowledged: Vec::new(),
            faults: Vec::new(),
            tale: Vec::new(),
        }
    }

    fn tell(&mut self, text: String) {
        self.tale.push(text);
    }

    fn fault(&mut self, text: String) {
        self.faults.push(text);
    }

    /// Runs a command under a tracer; no code if it does not end in time.
    fn traced(&mut self, words: &[&str], aim: Option<Aim>) -> (Option<i32>, Traced) {
        let under = tracer::start(self.stopped(words), &self.binary, aim);
        let code = match under.code.recv_timeout(COMMAND_MAX) {
            Ok(code) => Some(code),
            Err(RecvTimeoutError::Timeout) => {
                crate::process::send(under.pid, nix::sys::signal::Signal::SIGKILL);
                None
            }
            Err(RecvTimeoutError::Disconnected) => Some(-1),
        };
        (code, under.finish())
    }

    /// The command behind a shell that waits for its tracer.
    fn stopped(&self, words: &[&str]) -> Command {
        let binary = self.binary.to_string_lossy().into_owned();
        let mut all = vec!["-c", WAIT_FOR_TRACER, "sh", &binary];
        all.extend(words);
        let mut command = self.project.prepare_program("sh", all);
        let out = std::fs::OpenOptions::new().create(true).append(true).open(self.project.root().join("out/traced"));
        let out = out.expect("the folder is ours");
        command.stdout(Stdio::null()).stderr(out);
        command
    }

    fn run(&mut self) -> String {
        let list = self.ask(&["list", "--json"]);
        list["runs"][0]["run"].as_str().unwrap_or_default().to_owned()
    }

    fn write_patch(&self) {
        std::fs::write(self.project.root().join("rig/patch.json"), r#"{"posts":{"fault":"fault"}}"#)
            .expect("the folder is ours");
    }

    fn posts(&self, run: &str) -> Vec<Vec<String>> {
        let patch = self.project.root().join("rig/patch.json").to_string_lossy().into_owned();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        vec![
            words(&["state", "merge", &patch, "--run", run]),
            words(&["report", "done", "hand", "--run", run]),
            words(&["approve", run, "agree"]),
        ]
    }

    /// The run waits for people; one of them meets the fault.
    fn post_with_fault(&mut self, aim: Aim) -> (Option<i32>, Traced) {
        self.project.start(["run", "a.yaml", "--no-input"]).wait_within(COMMAND_MAX);
        let run = self.run();
        self.write_patch();
        let posts = self.posts(&run);
        let which = usize::try_from(aim.process).expect("a small number") - 1;
        let words: Vec<&str> = posts[which % posts.len()].iter().map(String::as_str).collect();
        let told = self.traced(&words, Some(Aim { process: 1, ..aim }));
        if words[0] == "state" && told.0 == Some(0) {
            self.acknowledged.push("fault".to_owned());
        }
        told
    }

    /// The attempt of an attendant that met a fault: of its end nobody may know.
    fn disturb(&mut self, hit: &CallHit) {
        let [_, _, run, phase, attempt, ..] = hit.words.as_slice() else { return };
        let name = AttemptName { run: run.clone(), phase: phase.clone(), attempt: attempt.parse().unwrap_or(0) };
        self.disturbed.killed.entry(name).or_default().insert((ProcessKind::Attendant, 0));
    }

    fn ask(&mut self, words: &[&str]) -> Value {
        let ran = self.project.start(words).wait_within(COMMAND_MAX);
        match serde_json::from_str(&ran.out) {
            Ok(value) if ran.code == 0 || ran.code == 10 => value,
            Ok(_) | Err(_) => {
                self.fault(format!("`onward {}` says {}: {}", words.join(" "), ran.code, crate::ran::tail(&ran.err)));
                Value::Null
            }
        }
    }

    /// Without faults, with people, until the run is complete.
    fn go_on(&mut self) {
        let mut lane = Lane::new("a");
        let mut dice = Dice::new(2);
        for _ in 0..STARTS_MAX {
            let list = self.ask(&["list", "--json"]);
            if let Err(fault) = lane.find_run(&list) {
                return self.fault(fault);
            }
            let mut status = Value::Null;
            if let Some(run) = lane.run.clone() {
                status = self.ask(&["status", &run, "--json"]);
                if status["status"] == "completed" || !self.faults.is_empty() {
                    return;
                }
                self.project.start(["approve", &run, "agree"]).wait_within(COMMAND_MAX);
                self.project.start(["report", "done", "hand", "--run", &run]).wait_within(COMMAND_MAX);
            }
            let words = lane.command(&self.project, &status, &mut dice);
            let ran = self.project.start(&words).wait_within(COMMAND_MAX);
            self.tell(format!("onward {} ended with {}", words.join(" "), ran.code));
            if ran.code == 74 && self.was_made_blindly() && ran.err.contains("error[untrusted]") {
                self.project.start(["trust"]).wait_within(COMMAND_MAX);
                continue;
            }
            lane.asked_again = if ran.code == 14 { lane.asked_again + 1 } else { 0 };
            if !CODES.contains(&ran.code) {
                return self.fault(format!("a start without faults: {ran}"));
            }
        }
        self.fault("it does not come to its end".to_owned());
    }

    /// Whether the store was made by somebody who could not see when its folder was born. The mark says less than it could then, and
    /// the store is not taken for one's own until a person says that it is.
    fn was_made_blindly(&self) -> bool {
        self.hit.as_ref().is_some_and(|hit| hit.call == "statx")
    }

    fn judge(&mut self) {
        let book = read_book(&self.project.root().join("rig/ledger"));
        let run = self.run();
        let log = self.ask(&["log", &run, "--events", "--json"]);
        let events = log["events"].as_array().cloned().unwrap_or_default();
        let found = judge::faults(&Case { run: &run, book: &book, events: &events, disturbed: &self.disturbed });
        self.faults.extend(found);
        let ran = self.project.start(["state", "get", "--run", &run]).wait_within(COMMAND_MAX);
        let state: Value = serde_json::from_str(&ran.out).unwrap_or_default();
        for word in self.acknowledged.clone() {
            if state["posts"][&word] != word.as_str() {
                self.fault(format!("acknowledged and lost: {word}"));
            }
        }
        let doctor = self.ask(&["doctor", "--json"]);
        if doctor["ok"] != true {
            self.fault(format!("doctor: {doctor}"));
        }
    }
}

/// The name of a fault's kind, for figures.
pub fn kind_of(hit: &CallHit) -> String {
    match hit.fault {
        CallFault::Once(errno) | CallFault::Lasting(errno) => format!("{errno:?}"),
        CallFault::Kill => "SIGKILL".to_owned(),
    }
}
