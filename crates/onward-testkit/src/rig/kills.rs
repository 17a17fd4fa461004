//! Processes of the tree are killed at random moments: drivers, attendants, main processes, children, posters; one, several, all.
//!
//! Moments are random by nature: the same seed gives the same plan and the same intentions, and the tale says what was hit.

mod renames;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use onward_core::id::RunId;
use onward_store::OpenMode;
use serde_json::Value;

use super::book::read_book;
use super::deeds::{self, Manners};
use super::judge::{self, Case, Disturbed};
use super::lane::{DriverAtWork, Lane};
use super::patience::{self, Patience};
use super::post::{self, POST_MAX, Post, PostedWhat};
use super::tree::{self, Process, ProcessKind};
use crate::TestProject;
use crate::process::{is_alive, send};
use crate::sim::dice::Dice;

/// How long one start may take, questions and limits included. All limits run slower on a busy machine.
const DRIVER_MAX: Duration = Duration::from_mins(1);
/// How long a driver may take after it was asked to stop: the contract's ten seconds, and room for a busy machine.
const STOP_MAX: Duration = Duration::from_secs(20);
/// How long one seed may take at all.
const SEED_MAX: Duration = Duration::from_mins(4);
/// Starts of one plan. Every kill costs at most one, every question and every person one more.
const STARTS_MAX: u32 = 60;
const POSTS_AT_ONCE_MAX: usize = 2;
/// How long after its start a run is looked for.
const RUN_LISTED_AFTER: Duration = Duration::from_millis(60);
/// Posts that are looked at where a driver is dead.
const INBOX_MAX: usize = 1_000;
/// How long something is waited for that is to be killed. On a busy machine a look at all processes takes long, too, and meanwhile nobody
/// looks after the drivers.
const SHORT_LIVED_WAIT_MAX: Duration = Duration::from_millis(300);
const EFFECT_WAIT_MAX: Duration = Duration::from_secs(3);
/// Pause between two looks.
const STEP: Duration = Duration::from_millis(3);

/// Exit codes that a driver may end with here; every other one is a fault.
const CODES: [i32; 8] = [0, 1, 14, 15, 129, 130, 137, 143];

/// The code of a driver whose project was renamed.
const MOVED: i32 = 74;

/// The report about one seed.
#[derive(Debug, Default)]
pub struct KillsTold {
    pub seed: u64,
    /// Kills and signals by what they hit, such as `SIGKILL driver`.
    pub hits: BTreeMap<String, u64>,
    pub starts: u64,
    pub posts: u64,
    /// Posts that were acknowledged.
    pub acknowledged: u64,
    pub attempts: u64,
    pub effects: u64,
    /// Violations; empty if all is well.
    pub faults: Vec<String>,
    /// The course of events, with milliseconds.
    pub tale: Vec<String>,
    /// Where the project is kept if something must not be.
    pub kept: Option<std::path::PathBuf>,
    /// It was left before its end, because nobody waits any more: it says nothing.
    pub given_up: bool,
    /// The longest time until a driver noticed that its project was renamed.
    pub longest_until_noticed: Duration,
}

/// How hard a seed is played.
#[derive(Clone, Copy, Debug)]
pub struct Force {
    /// Kills in one seed at most.
    pub kills_max: u64,
    pub strikes: Strikes,
}

impl Default for Force {
    fn default() -> Self {
        Self { kills_max: 14, strikes: Strikes::All }
    }
}

/// The kinds of strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strikes {
    All,
    /// The project is renamed, again and again, and drivers are killed, so that some have only just begun.
    Renames,
}

struct Rig<'a> {
    project: TestProject,
    binary: &'a Path,
    dice: Dice,
    lanes: Vec<Lane>,
    posts: Vec<Post>,
    /// Words and names whose post was acknowledged, by run.
    kept: Vec<(String, PostedWhat)>,
    /// Words that waited for an answer when their run's driver was dead: the run, the word, and how long its journal was.
    waiting: Vec<(String, String, usize)>,
    disturbed: Disturbed,
    /// Processes that were killed; one may take a moment to go.
    killed: BTreeSet<u32>,
    told: KillsTold,
    began: Instant,
    patience: Patience,
    words: u32,
}

/// Plays one seed to its end.
pub fn play(binary: &Path, seed: u64, force: Force) -> KillsTold {
    let mut dice = Dice::new(seed);
    let project = deeds::project(binary);
    let mut lanes = vec![Lane::new("a")];
    if dice.percent(40) {
        lanes.push(Lane::new("b"));
    }
    for lane in &lanes {
        deeds::write_plan(&project, &lane.name, Manners::Bad, &mut dice);
    }
    if dice.percent(30) {
        project.git_init();
    }
    let told = KillsTold { seed, ..KillsTold::default() };
    let began = Instant::now();
    let (posts, kept, disturbed) = (Vec::new(), Vec::new(), Disturbed::default());
    let (waiting, killed) = (Vec::new(), BTreeSet::new());
    let (patience, words) = (Patience::new(SEED_MAX), 0);
    let mut rig =
        Rig { project, binary, dice, lanes, posts, kept, waiting, disturbed, killed, told, began, patience, words };
    rig.play(force);
    if rig.told.faults.is_empty() && !patience::is_given_up() {
        rig.judge();
    }
    if patience::is_given_up() {
        // What was cut off may look like anything.
        rig.told.given_up = true;
        rig.told.faults.clear();
    }
    if !rig.told.faults.is_empty() {
        rig.told.kept = Some(rig.project.keep());
    }
    rig.told
}

impl Rig<'_> {
    fn play(&mut self, force: Force) {
        let mut kills = force.kills_max / 2 + self.dice.below(force.kills_max / 2 + 1);
        let mut next_kill = self.soon(600);
        let mut next_post = self.soon(300);
        while self.goes_on() && !self.lanes.iter().all(|lane| lane.done) {
            if self.patience.is_over() {
                self.fault("it does not come to its end".to_owned());
            }
            self.look_after_drivers();
            self.look_after_posts();
            let now = Instant::now();
            if kills > 0 && now >= next_kill {
                kills -= 1;
                self.strike(force.strikes);
                next_kill = self.soon(700);
            }
            if now >= next_post && self.posts.len() < POSTS_AT_ONCE_MAX {
                self.post_something();
                next_post = self.soon(250);
            }
            sleep(STEP);
        }
        self.tell("all plans are done");
        while self.goes_on() && !self.posts.is_empty() {
            self.look_after_posts();
            sleep(STEP);
        }
    }

    fn goes_on(&self) -> bool {
        self.told.faults.is_empty() && !patience::is_given_up()
    }

    fn soon(&mut self, millis: u64) -> Instant {
        Instant::now() + Duration::from_millis(5 + self.dice.below(millis))
    }

    fn tell(&mut self, text: &str) {
        self.told.tale.push(format!("{:>7} {text}", self.began.elapsed().as_millis()));
    }

    fn fault(&mut self, text: String) {
        self.tell(&format!("FAULT {text}"));
        self.told.faults.push(text);
    }
}

/// Drivers and people.
impl Rig<'_> {
    fn look_after_drivers(&mut self) {
        for at in 0..self.lanes.len() {
            if self.lanes[at].done {
                continue;
            }
            if self.lanes[at].driver.is_none() {
                self.go_on(at);
                continue;
            }
            self.learn_the_run(at);
            let Some(work) = &mut self.lanes[at].driver else { continue };
            if let Some(code) = work.running.ended() {
                let err = work.running.err();
                self.lanes[at].driver = None;
                self.ended(at, code, &err);
                continue;
            }
            let hangs = work.asked.as_mut().is_some_and(Patience::is_over);
            if hangs || work.patience.is_over() {
                let what = if hangs { "a stop that was asked for" } else { "a start" };
                let name = self.lanes[at].name.clone();
                self.fault(format!("{what} of {name} does not come to its end"));
            }
        }
    }

    /// The name of a run is known as soon as it is listed, so that others can post to it.
    fn learn_the_run(&mut self, at: usize) {
        let lane = &self.lanes[at];
        let is_due = lane.driver.as_ref().is_some_and(|work| work.since.elapsed() > RUN_LISTED_AFTER);
        if lane.run.is_none() && is_due {
            let list = self.ask(&["list", "--json"]);
            if let Err(fault) = self.lanes[at].find_run(&list) {
                self.fault(fault);
            }
        }
    }

    fn ended(&mut self, at: usize, code: i32, err: &str) {
        self.tell(&format!("driver of {} ended with {code}", self.lanes[at].name));
        if !CODES.contains(&code) {
            self.fault(format!("a driver ended with {code}: {}", crate::ran::tail(err)));
        }
        let lane = &mut self.lanes[at];
        lane.asked_again = if code == 14 { lane.asked_again + 1 } else { 0 };
        let run = lane.run.clone();
        if let (15, Some(run)) = (code, run)
            && self.dice.percent(70)
        {
            for what in [PostedWhat::Approve, PostedWhat::Done] {
                let post = post::start(&self.project, &run, what);
                self.posts.push(post);
                self.told.posts += 1;
            }
        }
    }

    /// Starts the next driver of a plan, or finds that it is done.
    fn go_on(&mut self, at: usize) {
        let list = self.ask(&["list", "--json"]);
        if let Err(fault) = self.lanes[at].find_run(&list) {
            return self.fault(fault);
        }
        let run = self.lanes[at].run.clone();
        let status = run.map_or(Value::Null, |run| self.ask(&["status", &run, "--json"]));
        if status["status"] == "completed" {
            self.lanes[at].done = true;
            return;
        }
        let words = self.lanes[at].command(&self.project, &status, &mut self.dice);
        self.tell(&format!("onward {}", words.join(" ")));
        self.told.starts += 1;
        let lane = &mut self.lanes[at];
        lane.starts += 1;
        if lane.starts > STARTS_MAX || lane.asked_again > 4 {
            let text = format!("{} starts of {} do not bring it to its end", lane.starts, lane.name);
            return self.fault(text);
        }
        let running = self.project.start(words);
        let patience = Patience::new(DRIVER_MAX);
        lane.driver = Some(DriverAtWork { running, since: Instant::now(), patience, asked: None });
    }

    /// The answer of a verb that only looks. It must come in any case.
    fn ask(&mut self, words: &[&str]) -> Value {
        match patience::answer(self.project.start(words), POST_MAX) {
            Ok(value) => value,
            Err(fault) => {
                self.fault(fault);
                Value::Null
            }
        }
    }
}

/// Posts.
impl Rig<'_> {
    fn next_word(&mut self) -> String {
        self.words += 1;
        // No word is the beginning of another one.
        format!("w{}z", self.words)
    }

    fn post_something(&mut self) {
        let word = self.next_word();
        let what = post::any(word, &mut self.dice);
        let runs: Vec<String> = self.lanes.iter().filter_map(|lane| lane.run.clone()).collect();
        if runs.is_empty() {
            return;
        }
        let run = self.dice.pick(&runs).clone();
        self.told.posts += 1;
        self.posts.push(post::start(&self.project, &run, what));
    }

    fn look_after_posts(&mut self) {
        let mut waiting = Vec::new();
        for mut post in std::mem::take(&mut self.posts) {
            match post.running.ended() {
                None if post.patience.is_over() => {
                    self.fault(format!("the post {:?} does not come to its end", post.what));
                }
                None => waiting.push(post),
                Some(0) => {
                    self.tell(&format!("acknowledged: {:?} of {}", post.what, post.run));
                    self.told.acknowledged += 1;
                    self.kept.push((post.run, post.what));
                }
                Some(code @ (12 | 17 | 70 | 74 | 101)) => {
                    self.fault(format!("the post {:?} ended with {code}: {}", post.what, post.running.err()));
                }
                Some(code) => self.tell(&format!("not acknowledged ({code}): {:?}", post.what)),
            }
        }
        self.posts.append(&mut waiting);
    }
}

/// Kills.
impl Rig<'_> {
    fn strike(&mut self, strikes: Strikes) {
        if strikes == Strikes::Renames {
            return if self.dice.percent(30) { self.signal_a_driver() } else { self.rename_the_project() };
        }
        match self.dice.below(100) {
            0..=29 => self.kill_one(),
            30..=44 => self.kill_after_an_effect(),
            45..=54 => self.rename_the_project(),
            55..=66 => self.kill_several(),
            67..=74 => self.kill_all(),
            75..=89 => self.signal_a_driver(),
            _ => self.kill_driver_and_poster(),
        }
    }

    fn kill_one(&mut self) {
        let kinds = [
            ProcessKind::Driver,
            ProcessKind::Attendant,
            ProcessKind::Main,
            ProcessKind::Child,
            ProcessKind::Check,
            ProcessKind::Poster,
            ProcessKind::Helper,
        ];
        let wanted = *self.dice.pick(&kinds);
        // Some kinds live for milliseconds only: they are waited for, a little.
        let since = Instant::now();
        while since.elapsed() < SHORT_LIVED_WAIT_MAX {
            let all = tree::processes(&self.project, self.binary);
            let of_kind: Vec<Process> = all.into_iter().filter(|process| process.kind == wanted).collect();
            if !of_kind.is_empty() {
                let one = self.dice.pick(&of_kind).clone();
                return self.kill(&[one]);
            }
            sleep(STEP);
        }
    }

    /// The moment in which a second try is one too many.
    fn kill_after_an_effect(&mut self) {
        let since = Instant::now();
        while since.elapsed() < EFFECT_WAIT_MAX {
            let all = tree::after_an_effect(&self.project, self.binary);
            if !all.is_empty() {
                let one = self.dice.pick(&all).clone();
                return self.kill(&[one]);
            }
            sleep(STEP);
        }
    }

    fn kill_several(&mut self) {
        let all = tree::processes(&self.project, self.binary);
        let some: Vec<Process> = all.into_iter().filter(|_| self.dice.percent(40)).collect();
        self.kill(&some);
    }

    /// As a power cut would: every process of the project, those too that are born meanwhile.
    fn kill_all(&mut self) {
        for round in 0..50 {
            let all = tree::processes(&self.project, self.binary);
            if all.is_empty() && round > 1 {
                return;
            }
            self.kill(&all);
        }
    }

    /// A driver is held, something is posted to its run, and both are killed before it can answer.
    fn kill_driver_and_poster(&mut self) {
        let at = self.dice.below(self.lanes.len() as u64);
        let lane = &self.lanes[usize::try_from(at).expect("a small number")];
        let (Some(driver), Some(run)) = (&lane.driver, lane.run.clone()) else { return };
        let pid = driver.running.pid();
        send(pid, Signal::SIGSTOP);
        let word = self.next_word();
        self.told.posts += 1;
        self.posts.push(post::start(&self.project, &run, PostedWhat::Merge(word)));
        sleep(Duration::from_millis(10 + self.dice.below(60)));
        let all = tree::processes(&self.project, self.binary);
        let both: Vec<Process> =
            all.into_iter().filter(|process| process.pid == pid || process.kind == ProcessKind::Poster).collect();
        self.kill(&both);
        // A driver that dies inside a commit may still bring it to its end.
        let since = Instant::now();
        while both.iter().any(|process| is_alive(process.pid)) && since.elapsed() < STOP_MAX {
            sleep(STEP);
        }
        self.note_waiting(&run);
    }

    /// Notes what waits for an answer. With the driver and the poster dead nobody but the next driver, or another poster, gives it.
    fn note_waiting(&mut self, run: &str) {
        let Ok(mut store) = onward_store::open(&self.project.path(".onward"), OpenMode::Look) else { return };
        let id = RunId::new(run);
        let posted = store.inbox(&id, INBOX_MAX).unwrap_or_default();
        if posted.is_empty() {
            return;
        }
        let log = self.ask(&["log", run, "--events", "--json"]);
        let so_far = log["events"].as_array().map_or(0, Vec::len);
        for item in posted {
            let body = String::from_utf8_lossy(&item.body).into_owned();
            for word in (1..=self.words).map(|number| format!("w{number}z")).filter(|word| body.contains(word)) {
                self.tell(&format!("{word} waits for an answer"));
                *self.told.hits.entry("posts left waiting".to_owned()).or_default() += 1;
                self.waiting.push((run.to_owned(), word, so_far));
            }
        }
    }

    /// Stops all of them, notes whose outcome is not on record yet, and kills them.
    fn kill(&mut self, them: &[Process]) {
        for process in them {
            send(process.pid, Signal::SIGSTOP);
        }
        // One that was just becoming another program is known by what it has become.
        let them: Vec<Process> = them
            .iter()
            .map(|process| tree::held(process.pid, self.binary).unwrap_or_else(|| process.clone()))
            .collect();
        for process in &them {
            if !is_alive(process.pid) || !self.killed.insert(process.pid) {
                continue;
            }
            *self.told.hits.entry(format!("SIGKILL {}", process.kind)).or_default() += 1;
            self.tell(&format!("SIGKILL {} {}: {}", process.kind, process.pid, process.command));
            self.disturb(process);
        }
        for process in &them {
            send(process.pid, Signal::SIGKILL);
        }
    }

    fn disturb(&mut self, process: &Process) {
        let Some(name) = &process.of else { return };
        let on_record = name.exit_record(&self.project).exists();
        if !on_record || process.kind == ProcessKind::Check {
            self.disturbed.killed.entry(name.clone()).or_default().insert((process.kind, process.pid));
        }
    }

    /// INT and TERM end what is at work; HUP lets it live on.
    fn signal_a_driver(&mut self) {
        let signal = *self.dice.pick(&[Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        let at = usize::try_from(self.dice.below(self.lanes.len() as u64)).expect("a small number");
        let Some(run) = self.lanes[at].run.clone() else { return };
        let Some(work) = &mut self.lanes[at].driver else { return };
        let pid = work.running.pid();
        work.asked = Some(Patience::new(STOP_MAX));
        *self.told.hits.entry(format!("{signal} driver")).or_default() += 1;
        self.tell(&format!("{signal} driver {pid}"));
        send(pid, signal);
        if signal != Signal::SIGHUP {
            self.disturbed.stopped.insert(run);
        }
    }
}

/// The end.
impl Rig<'_> {
    fn judge(&mut self) {
        let book = read_book(&self.project.root().join("rig/ledger"));
        self.told.attempts = book.iter().filter(|line| line.what == "begin").count() as u64;
        self.told.effects = book.iter().filter(|line| line.what == "effect").count() as u64;
        let runs: Vec<String> = self.lanes.iter().filter_map(|lane| lane.run.clone()).collect();
        for run in &runs {
            let log = self.ask(&["log", run, "--events", "--json"]);
            let events = log["events"].as_array().cloned().unwrap_or_default();
            let found = judge::faults(&Case { run, book: &book, events: &events, disturbed: &self.disturbed });
            for fault in found {
                self.fault(fault);
            }
            self.judge_posts(run, &book);
            self.judge_waiting(run, &events);
        }
        let doctor = self.ask(&["doctor", "--json"]);
        if doctor["ok"] != true {
            self.fault(format!("doctor: {doctor}"));
        }
        let left = tree::processes(&self.project, self.binary);
        let ours: Vec<&Process> =
            left.iter().filter(|one| matches!(one.kind, ProcessKind::Driver | ProcessKind::Attendant)).collect();
        if !ours.is_empty() {
            self.fault(format!("still there after the end: {ours:?}"));
        }
    }

    /// Checks that items waiting when a driver died were answered, and before anything was started.
    fn judge_waiting(&mut self, run: &str, events: &[Value]) {
        let of_run: Vec<_> = self.waiting.iter().filter(|(of, _, _)| of == run).cloned().collect();
        for (_, word, so_far) in of_run {
            let holds = |event: &Value| {
                matches!(event["type"].as_str(), Some("state_changed" | "checkpoint_taken"))
                    && event.to_string().contains(&word)
            };
            let answered = events.iter().position(holds);
            let started = events.iter().skip(so_far).position(|event| event["type"] == "attempt_started");
            let started = started.map(|at| at + so_far);
            match (answered, started) {
                (None, _) => self.fault(format!("{word} waited when its driver died, and was never answered")),
                (Some(answered), Some(started)) if started < answered => {
                    self.fault(format!(
                        "{word} waited when its driver died, and something was started before its answer"
                    ));
                }
                (Some(_), Some(_) | None) => {}
            }
        }
    }

    /// Everything that was acknowledged is there.
    fn judge_posts(&mut self, run: &str, book: &[super::book::BookLine]) {
        let ran = patience::end_of(self.project.start(["state", "get", "--run", run]), POST_MAX);
        let state: Value = ran.and_then(|ran| serde_json::from_str(&ran.out).ok()).unwrap_or_default();
        let log = self.ask(&["log", run, "--json"]);
        let names: BTreeSet<&str> =
            log["checkpoints"].as_array().into_iter().flatten().filter_map(|one| one["name"].as_str()).collect();
        let said = book.iter().filter(|line| line.run == run).filter_map(|line| line.what.strip_prefix("posted:"));
        let mut words: Vec<String> = said.map(str::to_owned).collect();
        let mut lost = Vec::new();
        for (_, what) in self.kept.iter().filter(|(of, _)| of == run) {
            match what {
                PostedWhat::Merge(word) => words.push(word.clone()),
                PostedWhat::Checkpoint(name) if !names.contains(name.as_str()) => {
                    lost.push(format!("checkpoint {name}"));
                }
                // The run is complete, so the answer of the person and the report counted.
                PostedWhat::Checkpoint(_) | PostedWhat::Progress | PostedWhat::Done | PostedWhat::Approve => {}
            }
        }
        lost.extend(words.into_iter().filter(|word| state["posts"][word] != word.as_str()));
        for word in lost {
            self.fault(format!("acknowledged and lost: {word}"));
        }
    }
}
