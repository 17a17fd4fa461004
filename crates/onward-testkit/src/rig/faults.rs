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
use super::patience::{self, Patience};
use super::tracer::{self, Aim, CallHit, Role, SeenCall, Traced};
use super::tree::{AttemptName, ProcessKind};
use crate::TestProject;
use crate::ran::Ran;
use crate::sim::dice::Dice;

/// How long a command may take that meets a fault, and every command after it; longer on a busy machine. A driver that cannot read
/// what became of an attempt looks for ten seconds, and for longer where each look is slow.
const COMMAND_MAX: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Starts after the fault. A question, a failed phase and a person each cost one.
const STARTS_MAX: u32 = 12;
/// The script of the shell before it becomes the command: it waits for its tracer.
const WAIT_FOR_TRACER: &str = "kill -STOP $$; exec \"$@\"";

/// Exit codes that a start without faults may end with.
const CODES: [i32; 4] = [0, 1, 14, 15];

/// The report about one point, or about several in one run.
#[derive(Debug)]
pub struct PointTold {
    /// The calls that were hit. One that the run never came to, because it took another way or had ended before, is missing.
    pub hits: Vec<CallHit>,
    /// How the command ended that met the faults.
    pub code: Option<i32>,
    pub faults: Vec<String>,
    pub tale: Vec<String>,
    pub kept: Option<PathBuf>,
    /// It was left before its end, because nobody waits any more: it says nothing.
    pub given_up: bool,
}

/// Runs the plan once under a tracer and gives every call that a fault could meet.
pub fn record(binary: &Path) -> Vec<SeenCall> {
    let mut all = Vec::new();
    let mut stage = FaultStage::new(binary);
    let (_, traced) = stage.traced(&["run", "a.yaml", "--no-input"], &[]);
    all.extend(traced.seen);
    let run = stage.run();
    stage.write_patch();
    for words in stage.posts(&run) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (_, traced) = stage.traced(&words, &[]);
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

/// So many pairs of points of drivers and attendants, chosen by the seed. Both are met by one run, unless the first is its end.
pub fn sample_pairs(recorded: &[SeenCall], count: usize, seed: u64) -> Vec<[Aim; 2]> {
    let at_work: Vec<SeenCall> = recorded.iter().filter(|seen| seen.role != Role::Poster).copied().collect();
    let points = sample(&at_work, 2 * count, seed);
    let mut dice = Dice::new(seed);
    // One of each, or two of one role: two drivers or two attendants as often as both.
    let pair = |one: Aim| loop {
        let other = *dice.pick(&points);
        if (other.role, other.process, other.call) != (one.role, one.process, one.call) {
            return [one, other];
        }
    };
    points.iter().copied().take(count).map(pair).collect()
}

/// Has one call fail, or several of one command, goes on without faults until the run is complete, and judges. All are of drivers and
/// attendants, or there is one.
pub fn play(binary: &Path, aims: &[Aim]) -> PointTold {
    let mut stage = FaultStage::new(binary);
    let (code, traced) = match aims {
        [aim] if aim.role == Role::Poster => stage.post_with_fault(*aim),
        aims => stage.traced(&["run", "a.yaml", "--no-input"], aims),
    };
    stage.tell(format!("{aims:?}: {:?}, ended with {code:?}", traced.hits));
    for hit in traced.hits.iter().filter(|hit| hit.role == Role::Attendant) {
        stage.disturb(hit);
    }
    match code {
        None => stage.fault("the command that met the fault does not come to its end".to_owned()),
        // A panic, an abort and a crash are bugs whatever the machine does.
        Some(code @ (70 | 101 | 134 | 139)) => stage.fault(format!("the command that met the fault ended with {code}")),
        Some(_) => {}
    }
    stage.hits.clone_from(&traced.hits);
    stage.go_on();
    if stage.faults.is_empty() {
        stage.judge();
    }
    stage.project.kill_everything();
    let given_up = patience::is_given_up();
    if given_up {
        // What was cut off may look like anything.
        stage.faults.clear();
    }
    let kept = (!stage.faults.is_empty()).then(|| stage.project.keep());
    PointTold { hits: traced.hits, code, faults: stage.faults, tale: stage.tale, kept, given_up }
}

struct FaultStage {
    project: TestProject,
    binary: PathBuf,
    disturbed: Disturbed,
    hits: Vec<CallHit>,
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
            hits: Vec::new(),
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
    fn traced(&mut self, words: &[&str], aims: &[Aim]) -> (Option<i32>, Traced) {
        let under = tracer::start(self.stopped(words), &self.binary, aims);
        let mut patience = Patience::new(COMMAND_MAX);
        let code = loop {
            match under.code.recv_timeout(LOOK_EVERY) {
                Ok(code) => break Some(code),
                Err(RecvTimeoutError::Timeout) if !patience.is_over() && !patience::is_given_up() => {}
                Err(RecvTimeoutError::Timeout) => {
                    // All of them: the tracer waits for each that it follows.
                    self.project.kill_everything();
                    break None;
                }
                Err(RecvTimeoutError::Disconnected) => break Some(-1),
            }
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
        self.end_of(&["run", "a.yaml", "--no-input"]);
        let run = self.run();
        self.write_patch();
        let posts = self.posts(&run);
        let which = usize::try_from(aim.process).expect("a small number") - 1;
        let words: Vec<&str> = posts[which % posts.len()].iter().map(String::as_str).collect();
        let told = self.traced(&words, &[Aim { process: 1, ..aim }]);
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
        match patience::answer(self.project.start(words), COMMAND_MAX) {
            Ok(value) => value,
            Err(fault) => {
                self.fault(fault);
                Value::Null
            }
        }
    }

    /// The end of a command that meets no fault. None, and said, where it does not come in time.
    fn end_of(&mut self, words: &[&str]) -> Option<Ran> {
        let ended = patience::end_of(self.project.start(words), COMMAND_MAX);
        if ended.is_none() {
            self.fault(format!("`onward {}`, without a fault, does not come to its end", words.join(" ")));
        }
        ended
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
                self.end_of(&["approve", &run, "agree"]);
                self.end_of(&["report", "done", "hand", "--run", &run]);
            }
            let words = lane.command(&self.project, &status, &mut dice);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let Some(ran) = self.end_of(&words) else { return };
            self.tell(format!("onward {} ended with {}", words.join(" "), ran.code));
            if ran.code == 74 && self.was_made_blindly() && ran.err.contains("error[untrusted]") {
                self.end_of(&["trust"]);
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
        self.hits.iter().any(|hit| hit.call == "statx")
    }

    fn judge(&mut self) {
        let book = read_book(&self.project.root().join("rig/ledger"));
        let run = self.run();
        let log = self.ask(&["log", &run, "--events", "--json"]);
        let events = log["events"].as_array().cloned().unwrap_or_default();
        let found = judge::faults(&Case { run: &run, book: &book, events: &events, disturbed: &self.disturbed });
        self.faults.extend(found);
        let ran = self.end_of(&["state", "get", "--run", &run]);
        let state: Value = ran.and_then(|ran| serde_json::from_str(&ran.out).ok()).unwrap_or_default();
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
