//! One world, from its seed to its end: drivers are started, killed and started again, and others leave messages meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use onward_core::checkpoint::Trigger;
use onward_core::data_limits::DEPTH_LEVELS_MAX;
use onward_core::event::{CommitRule, Event, Orphans, PlanRevised, RunStarted, StopReason};
use onward_core::evidence::Evidence;
use onward_core::id::{PhaseId, RunId, Seq};
use onward_core::input::{Begin, BusyGroup, Choice, Posted, Reply, Resumption};
use onward_core::plan::{self, Plan};
use onward_core::replan::ReplanLimits;
use onward_core::run::{Ending, PhaseStatus, Run};
use onward_engine::{CommitObserver, Committer, Driver, Error, Reporter, Update, begin_run, put_fold, put_keyframe};
use onward_store::{
    Appended, CheckpointFilter, Entry, Holder, Lease, LeaseKind, NewEvent, NewRun, Page, Store, testing::MemoryStore,
};

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::edits::{self, Author};
use super::foretold::Foretold;
use super::oracle::{Coverage, Oracle, has_a_reason_to_fail};
use super::store::FaultyStore;
use super::world::{ALONE, Eyes, Machine, SharedMachine};
use super::{
    agents, compound, external_phases, limits, markers, messages_and_knowledge, plans, replans, rewind, store,
    worktrees, world,
};

/// Kills in one world at most, and starts before it must have come to its end.
const KILLS_MAX: u64 = 12;
const STARTS_MAX: u32 = 300;
const MESSAGES_PER_START_MAX: u64 = 2;
/// By whose hand everything happens here.
pub(super) const ACTOR: &str = "sim";

/// Counts of one seed.
#[derive(Debug, Default)]
pub struct SeedTold {
    pub kills: u64,
    pub starts: u64,
    pub events: u64,
    pub completed: bool,
    pub coverage: Coverage,
}

/// Plays one world to its end. Panics where an invariant does not hold.
pub fn play(seed: u64) -> SeedTold {
    play_and_tell(seed, None)
}

/// The same, telling every event as it becomes durable.
pub fn play_and_tell(seed: u64, trace: Option<fn(&str)>) -> SeedTold {
    let mut dice = Dice::new(seed);
    let plan = plans::random_plan(&mut dice);
    let mut told = SeedTold::default();
    let mut story = Story::new(dice, Author::new(seed), plan);
    story.machine.lock().expect(ALONE).oracle.trace = trace;
    let mut kills_left = story.throw(KILLS_MAX);
    for start in 1..=STARTS_MAX {
        told.starts += 1;
        let peace = kills_left == 0;
        let fuse = (!peace).then(|| story.throw(60));
        match story.one_driver(fuse, start) {
            Some(Ending::Completed) => {
                told.completed = true;
                break;
            }
            Some(Ending::Failed) if peace => break,
            // A life that was too short for its kill counts all the same, or the world would never end.
            Some(Ending::Failed | Ending::Stopped(_)) => {
                kills_left = kills_left.saturating_sub(1);
                story.after_a_stop();
            }
            None => {
                told.kills += 1;
                kills_left -= 1;
                story.after_a_kill();
            }
        }
        assert!(start < STARTS_MAX, "the run does not come to an end in {STARTS_MAX} starts");
    }
    let run = story.judge();
    assert!(told.completed || has_a_reason_to_fail(&run), "the run failed without a reason");
    let machine = story.machine.lock().expect(ALONE);
    told.events = machine.oracle.journal.len() as u64;
    told.coverage = machine.oracle.coverage.clone();
    told
}

struct Story {
    machine: SharedMachine,
    store: MemoryStore,
    id: RunId,
    plan: Plan,
    posted: u64,
    /// Messages that are answered without a checkpoint.
    merges: BTreeSet<String>,
    /// Messages that nobody can understand or keep.
    poison: BTreeSet<String>,
}

struct EventWatch(SharedMachine);

impl Reporter for EventWatch {
    fn update(&mut self, update: &Update<'_>) {
        if let Update::Event { recorded, run, .. } = update {
            let mut machine = self.0.lock().expect(ALONE);
            let durable = machine.oracle.journal.last().map_or(Seq(0), |last| last.seq);
            assert!(recorded.seq <= durable, "I2: told before it was durable");
            // Both are told in full to be compared, which takes longer than the step itself.
            if machine.dice.below(200) == 0 {
                machine.oracle.compare(run);
            }
        }
    }
}

/// Writes fold caches and whole documents at odd moments, as a thread beside the driver does.
struct Keeping {
    machine: SharedMachine,
    store: MemoryStore,
}

impl Keeping {
    /// Somebody else leaves a message while the driver works.
    fn post_beside(&mut self, run: &Run) {
        let mut machine = self.machine.lock().expect(ALONE);
        let said = if machine.dice.percent(8) { external_phases::word(run, &mut machine.dice) } else { None };
        let wish = machine.dice.percent(2).then_some(Posted::Checkpoint { name: None });
        let plan = if machine.dice.percent(1) { agents::asks_for_a_plan(run) } else { None };
        for posted in said.into_iter().chain(wish).chain(plan) {
            let id = format!("beside{}", machine.posts.len() + machine.words.len());
            let body = serde_json::to_vec(&posted).expect("plain data");
            self.store.post(&run.id, &id, machine.now, body).expect("a store in memory");
            if matches!(posted, Posted::Checkpoint { .. }) {
                machine.posts.push(id);
            } else {
                machine.words.push(id);
            }
        }
    }
}

impl CommitObserver for Keeping {
    fn appended(&mut self, run: &Run, _: &Appended) {
        let (fold, whole) = {
            let mut machine = self.machine.lock().expect(ALONE);
            (machine.dice.percent(10), machine.dice.percent(5))
        };
        if fold {
            put_fold(&mut self.store, run).expect("a store in memory");
        }
        self.post_beside(run);
        if let (true, Some(id)) = (whole, &run.last_checkpoint) {
            put_keyframe(&mut self.store, id, None).expect("a store in memory");
        }
    }
}

impl Story {
    fn new(dice: Dice, author: Author, plan: Plan) -> Self {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().expect("a time");
        let machine = Arc::new(Mutex::new(Machine::new(dice, author, now, Oracle::new(&plan))));
        let mut story = Self {
            machine,
            store: MemoryStore::new(),
            id: RunId::new("run_sim_20261115_120000"),
            plan,
            posted: 0,
            merges: BTreeSet::new(),
            poison: BTreeSet::new(),
        };
        story.create();
        story
    }

    fn throw(&self, limit: u64) -> u64 {
        self.machine.lock().expect(ALONE).dice.below(limit)
    }

    fn create(&mut self) {
        let new =
            NewRun { run: self.id.clone(), work: "w".to_owned(), summary: b"{}".to_vec(), status: "new".to_owned() };
        self.store.create_run(new).expect("a new store");
        let started = RunStarted {
            plan_path: "onward.yaml".to_owned(),
            triggers: Trigger::ALL.to_vec(),
            snapshots: self.throw(100) < 60,
            commits: (self.throw(100) < 60).then(|| CommitRule {
                every: u32::try_from(1 + self.throw(4)).expect("small"),
                message: "checkpoint: phases {first}-{last} complete".to_owned(),
                trailers: Vec::new(),
                names_agents: true,
                hooks: false,
            }),
            ..RunStarted::bare(self.id.clone(), "w", self.plan.clone(), "sim")
        };
        let now = self.machine.lock().expect(ALONE).now;
        let lease = self.lease();
        begin_run(&mut self.store, &lease, &started, &[], (ACTOR, now)).expect("an empty journal");
        let records = self.store.events(&self.id, Seq(0), usize::MAX).expect("readable");
        self.machine.lock().expect(ALONE).oracle.appended(&lease, &records, &[]);
    }

    fn lease(&mut self) -> Lease {
        let since = self.machine.lock().expect(ALONE).now;
        let holder = Holder { host: "sim".to_owned(), pid: 1, since };
        self.store.take_lease(&self.id, LeaseKind::Driving, holder).expect("nobody else drives")
    }

    /// The life of one driver; none if it was killed.
    fn one_driver(&mut self, fuse: Option<u64>, start: u32) -> Option<Ending> {
        self.post_something(start);
        let lease = self.lease();
        let mut store = FaultyStore::new(self.store.clone(), self.machine.clone());
        let run = onward_engine::load_run(&mut store, &self.id).expect("a readable journal");
        self.machine.lock().expect(ALONE).oracle.compare(&run);
        self.machine.lock().expect(ALONE).fuse = fuse;
        let run = or_killed(replans::answered(&self.machine, &mut store, &lease, run), "the answer")?;
        let begin = self.begin(&run, &lease, start);
        let mut world = Eyes::new(self.machine.clone());
        let run = or_killed(rewind::maybe(&self.machine, &mut store, &lease, &mut world, run), "the rewind")?;
        let run = or_killed(
            worktrees::end_what_is_halfway(&self.machine, &mut store, &lease, &mut world, (run, &begin)),
            "whoever sees to files",
        )?;
        let run = or_killed(self.speak_if_nobody_drives(&mut store, &lease, &mut world, run), "somebody who speaks")?;
        let choices = rewind::still_legal(&run, &begin);
        let resumption = rewind::still_possible(&run, begin.resumption);
        let begin = Begin { choices, resumption, ..begin };
        let (run, begin) = match edits::maybe(&self.machine, &mut store, &lease, &mut world, (run, begin)) {
            Ok(both) => both,
            Err(why) => {
                assert!(
                    world::is_killed(&why) || is_killed_store(&why),
                    "whoever brings an edited plan gave up: {why}"
                );
                return None;
            }
        };
        self.machine.lock().expect(ALONE).oracle.a_driver_begins(&run, &begin);
        let found = self.store.inbox(&self.id, usize::MAX).expect("readable");
        self.machine.lock().expect(ALONE).waiting = found.into_iter().map(|item| item.id).collect();
        let foretold = Foretold::new(&self.machine, &run, &begin);
        let mut watch = EventWatch(self.machine.clone());
        let mut keep = Keeping { machine: self.machine.clone(), store: self.store.clone() };
        let mut run = run;
        let (answers, loaded_at) = (begin.choices.clone(), run.seq);
        let committer = Committer::new(&mut store, &lease, &mut keep, &mut run, ACTOR);
        let ended = Driver { committer, world: &mut world, reporter: &mut watch }.drive(begin);
        self.machine.lock().expect(ALONE).fuse = None;
        foretold.judge(&self.machine);
        match ended {
            Ok(ending) => {
                let machine = self.machine.lock().expect(ALONE);
                machine.oracle.compare(&run);
                machine.oracle.notices.judge();
                drop(machine);
                Some(ending)
            }
            // What waited was seen to first, and with that an answer of the person no longer fits: they look again.
            Err(Error::Illegal(_)) if run.seq > loaded_at => Some(Ending::Stopped(StopReason::DriverGone)),
            Err(why) => {
                assert!(world::is_killed(&why) || is_killed_store(&why), "the driver gave up: {why}; {answers:?}");
                self.stale_owner(lease);
                None
            }
        }
    }

    /// A run that waits for others is brought on by them, with a driver or without.
    fn speak_if_nobody_drives(
        &self,
        store: &mut FaultyStore,
        lease: &Lease,
        world: &mut Eyes,
        run: Run,
    ) -> onward_engine::Result<Run> {
        let orderly = run.ending().is_some() && run.vcs.rewinding.is_none();
        if !orderly || self.throw(100) >= 80 {
            return Ok(run);
        }
        external_phases::speak(&self.machine, store, lease, world, run)
    }

    fn begin(&self, run: &Run, lease: &Lease, start: u32) -> Begin {
        let mut machine = self.machine.lock().expect(ALONE);
        let mut choices = Vec::new();
        for (phase, state) in run.phases() {
            let asks = phase.on_failure == Some(plan::PhaseFailure::Ask);
            let given_up =
                state.status == PhaseStatus::Failed && machine.dice.percent(if state.parked || asks { 50 } else { 8 });
            let conflict = state.conflict().is_some() && machine.dice.percent(60);
            let settle =
                state.in_doubt || given_up || conflict || replans::person_speaks(run, &phase.id, &mut machine.dice);
            let redo = state.is_finished() && start < 20 && machine.dice.percent(3);
            let after_all = state.status == PhaseStatus::Skipped && machine.dice.percent(5);
            let stubborn = state.status == PhaseStatus::Running && machine.dice.percent(10);
            if settle {
                choices.push((phase.id.clone(), *machine.dice.pick(&[Choice::Retry, Choice::Skip, Choice::Adopt])));
            } else if after_all {
                choices.push((phase.id.clone(), Choice::Adopt));
            } else if redo || stubborn {
                choices.push((phase.id.clone(), Choice::Retry));
            }
        }
        Begin {
            epoch: lease.epoch(),
            host: "sim".to_owned(),
            pid: start,
            boot: machine.boot.to_string(),
            jobs: machine.dice.percent(20).then(|| u32::try_from(1 + machine.dice.below(4)).expect("small")),
            orphans: if machine.dice.percent(10) { Orphans::Kill } else { Orphans::Wait },
            head: Some(machine.git.head()),
            environment: BTreeMap::new(),
            renew: machine.dice.percent(70),
            resumption: Self::resumption(run, &choices, start, &mut machine.dice),
            bounds: limits::bounds(&mut machine, start),
            closed: limits::elsewhere(&mut machine),
            busy: (lease.epoch() % 7 == 3).then(|| Box::new(BusyGroup { group: "sim".to_owned(), by: None })),
            choices,
        }
    }

    /// Now and then work is undone, one phase alone is wanted, or the plan was edited.
    fn resumption(run: &Run, choices: &[(PhaseId, Choice)], start: u32, dice: &mut Dice) -> Resumption {
        let ids: Vec<PhaseId> = run.phases().map(|(phase, _)| phase.id.clone()).collect();
        // What is left out, or taken as done, is not done again as well.
        let settled = |id: &PhaseId| {
            let whole = compound::ancestors(run.plan(), id);
            let named = |phase: &PhaseId| phase == id || whole.contains(phase);
            choices.iter().any(|(phase, choice)| matches!(choice, Choice::Skip | Choice::Adopt) && named(phase))
        };
        let from = dice.percent(3).then(|| dice.pick(&ids).clone()).filter(|id| !settled(id));
        let needs_met = |id: &PhaseId| {
            let phase = run.plan().phase(id).expect("of the plan");
            let by_itself = phase.situation.parent.is_none() && !phase.closing;
            by_itself
                && phase
                    .needs
                    .iter()
                    .all(|need| run.phase_state(&need.phase).is_some_and(|s| s.status == PhaseStatus::Completed))
        };
        let only = dice
            .percent(3)
            .then(|| dice.pick(&ids).clone())
            .filter(|id| choices.is_empty() && from.is_none() && needs_met(id));
        let more_money = start >= limits::HURRY_STARTS_MAX && !run.used_up_budgets().is_empty();
        let revised = if more_money {
            Some(Box::new(agents::with_more_money(run)))
        } else {
            dice.percent(5).then(|| Box::new(revised(run, dice)))
        };
        let world = dice.percent(20).then(Box::default);
        let kept = run.phases().filter(|(_, state)| state.status == PhaseStatus::Completed && dice.percent(3));
        let accepted = kept.map(|(phase, _)| (phase.id.clone(), Evidence::default())).collect();
        let replan_limits = if dice.percent(25) { ReplanLimits::Waived } else { ReplanLimits::Hold };
        let marks = markers::random_marks(dice, run);
        Resumption { from, only, revised, world, accepted, replan_limits, marks, ..Resumption::default() }
    }

    /// Somebody beside the driver wants a checkpoint.
    fn post_something(&mut self, start: u32) {
        for _ in 0..self.throw(MESSAGES_PER_START_MAX + 1) {
            self.posted += 1;
            let id = format!("m{}", self.posted);
            if self.throw(100) < 15 {
                self.post_poison(&id);
                continue;
            }
            let number = self.throw(5);
            let posted = match self.throw(if start < limits::HURRY_STARTS_MAX { 6 } else { 5 }) {
                5 => Posted::Pause,
                4 => Posted::Share {
                    fact: Box::new(messages_and_knowledge::any(&mut self.machine.lock().expect(ALONE).dice)),
                },
                0 => Posted::Merge { patch: object(json!({ "counts": { format!("k{number}"): self.posted } })) },
                1 => Posted::Merge { patch: object(json!({ "counts": { format!("k{number}"): null } })) },
                2 => Posted::Save {
                    state: object(json!({ "log": vec![number; usize::try_from(self.posted).expect("small")] })),
                },
                _ => Posted::Checkpoint { name: Some(id.clone()) },
            };
            let body = serde_json::to_vec(&posted).expect("plain data");
            let now = self.machine.lock().expect(ALONE).now;
            self.store.post(&self.id, &id, now, body).expect("a store in memory");
            if matches!(posted, Posted::Merge { .. } | Posted::Pause) {
                self.merges.insert(id.clone());
            }
            let mut machine = self.machine.lock().expect(ALONE);
            // What is refused since it was said otherwise before is answered all the same.
            let answers = if matches!(posted, Posted::Share { .. }) { &mut machine.words } else { &mut machine.posts };
            answers.push(id);
        }
    }

    /// Somebody sends what cannot be understood, or is nested so deep that its record could not be read again.
    fn post_poison(&mut self, id: &str) {
        let levels = DEPTH_LEVELS_MAX + 1 + usize::try_from(self.throw(64)).expect("small");
        let deep = format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        let body = match self.throw(3) {
            0 => "{\"ask\":\"dance\"}".to_owned(),
            1 => format!("{{\"ask\":\"save\",\"state\":{deep}}}"),
            _ => format!("{{\"ask\":\"merge\",\"patch\":{deep}}}"),
        };
        let now = self.machine.lock().expect(ALONE).now;
        self.store.post(&self.id, id, now, body.into_bytes()).expect("a store in memory");
        self.machine.lock().expect(ALONE).posts.push(id.to_owned());
        self.poison.insert(id.to_owned());
    }

    /// Lets time pass until a paused run is started again: none, or much.
    fn after_a_stop(&mut self) {
        let mut machine = self.machine.lock().expect(ALONE);
        let seconds = if machine.dice.percent(50) { 0 } else { 1200 };
        machine.let_time_pass(SignedDuration::from_secs(seconds));
    }

    fn after_a_kill(&mut self) {
        let mut machine = self.machine.lock().expect(ALONE);
        if machine.dice.percent(40) {
            machine.power_cut();
        }
        let seconds = i64::try_from(machine.dice.below(60)).expect("small");
        machine.let_time_pass(SignedDuration::from_secs(seconds));
    }

    /// A driver that was frozen, lost its lock and wakes up after another one has begun. It must not be able to write.
    fn stale_owner(&mut self, old: Lease) {
        if !self.machine.lock().expect(ALONE).dice.percent(20) {
            return;
        }
        self.store.lose_lock(&self.id);
        let new = self.lease();
        let head = self.store.events(&self.id, Seq(0), usize::MAX).expect("readable").last().map_or(Seq(0), |r| r.seq);
        let now = self.machine.lock().expect(ALONE).now;
        let entry = Entry {
            events: vec![NewEvent { at: now, actor: "stale".to_owned(), body: b"{}".to_vec() }],
            status: "running".to_owned(),
            summary: b"{}".to_vec(),
            ..Entry::default()
        };
        assert!(self.store.append(&old, head, entry).is_err(), "I4: a driver that lost its lease appended");
        drop((old, new));
    }

    /// At the end of the world everything must add up.
    fn judge(&mut self) -> Run {
        let run = onward_engine::load_run(&mut self.store, &self.id).expect("a readable journal");
        let machine = self.machine.lock().expect(ALONE);
        machine.oracle.compare(&run);
        drop(machine);
        self.judge_checkpoints(&run);
        self.judge_messages();
        run
    }

    fn judge_checkpoints(&mut self, run: &Run) {
        let rows = self.store.checkpoints(CheckpointFilter::OfRun(&run.id), Page::first(100_000)).expect("readable");
        let machine = self.machine.lock().expect(ALONE);
        let taken: Vec<_> = machine
            .oracle
            .journal
            .iter()
            .filter_map(|recorded| match &recorded.event {
                Event::CheckpointTaken { id, .. } => Some((id.clone(), recorded.seq)),
                _ => None,
            })
            .collect();
        let stored: Vec<_> = rows.iter().rev().map(|row| (row.id.clone(), row.seq)).collect();
        assert_eq!(stored, taken, "every checkpoint on record is stored, and no other");
        let last = run.phases().filter(|(_, state)| state.status == PhaseStatus::Completed).map(|(phase, _)| &phase.id);
        for row in &rows {
            if machine_throw(&machine, row.seq) {
                let found = self.store.checkpoint(&row.id).expect("readable").expect("listed");
                machine.oracle.compare_document(row.seq, &found);
            }
        }
        // What the plan said to be done before the run began is none of its work.
        let before = markers::done_before(&machine.oracle.journal);
        for phase in last {
            let names = edits::names_of(&machine.oracle.journal, phase);
            if names.iter().any(|name| before.contains(name)) {
                continue;
            }
            let there = rows.iter().any(|row| {
                let document = String::from_utf8_lossy(&row.meta).into_owned();
                let is_of_it = names.iter().any(|name| document.contains(&format!("\"{name}\"")));
                document.contains("phase_transition") && is_of_it
            });
            assert!(there, "B1: {phase} is done and left no checkpoint");
        }
    }

    fn judge_messages(&mut self) {
        let (posts, words) = {
            let machine = self.machine.lock().expect(ALONE);
            (machine.posts.clone(), machine.words.clone())
        };
        let (merges, poison) = (self.merges.clone(), self.poison.clone());
        for id in posts.into_iter().chain(words.clone()) {
            let consumed = self.machine.lock().expect(ALONE).oracle.answered.contains(&id);
            let reply = self.store.reply(&self.id, &id).expect("readable");
            match reply.map(|bytes| serde_json::from_slice::<Reply>(&bytes).expect("our own bytes")) {
                Some(Reply::Refused { .. } | Reply::Unfit { .. }) if poison.contains(&id) => {}
                Some(reply) if poison.contains(&id) => panic!("what cannot be kept is answered with {reply:?}"),
                Some(Reply::Checkpoint { id }) => {
                    let id = onward_core::id::CheckpointId::new(id);
                    assert!(self.store.checkpoint(&id).expect("readable").is_some(), "the reply names no checkpoint");
                }
                Some(Reply::Done) if merges.contains(&id) => {}
                Some(Reply::Refused { reason }) if merges.contains(&id) => assert_eq!(reason, "the run is over"),
                Some(Reply::Done | Reply::Refused { .. } | Reply::Overruled { .. } | Reply::NotReplanned { .. })
                    if words.contains(&id) => {}
                Some(Reply::Unfit { reason }) => panic!("all that is posted here can be kept: {reason}"),
                Some(Reply::Done | Reply::Refused { .. } | Reply::Overruled { .. } | Reply::NotReplanned { .. }) => {
                    panic!("a checkpoint was asked for")
                }
                None => {
                    let waiting = self.store.inbox(&self.id, 1000).expect("readable").iter().any(|item| item.id == id);
                    assert!(waiting && !consumed, "a message was taken and never answered");
                }
            }
        }
    }
}

/// Every twentieth checkpoint is compared in full: a run has many, and each comparison folds its journal anew.
fn machine_throw(machine: &Machine, seq: Seq) -> bool {
    (seq.0 + machine.oracle.journal.len() as u64).is_multiple_of(20)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            unreachable!("written above")
        }
    }
}

/// The plan with a phase more, with its phases in another order, or with one that is another kind of work.
fn revised(run: &Run, dice: &mut Dice) -> PlanRevised {
    let mut plan = run.plan().clone();
    // Rare by itself: its files are halfway into the project, and it becomes another kind of work.
    if let Some(phase) = worktrees::halfway(run).filter(|_| dice.percent(60)) {
        let edited = plan.phases.iter_mut().find(|one| one.id == phase).expect("of the plan");
        edited.body = plans::body(dice);
        return PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() };
    }
    match dice.below(100) {
        0..=44 => {
            let phase = plans::another_phase(dice, &plan);
            plan.phases.push(phase);
        }
        45..=79 => plan.phases.rotate_left(1),
        _ => {
            let open = |phase: &plan::Phase| {
                let alone = phase.children.is_none() && phase.situation.parent.is_none();
                alone && run.phase_state(&phase.id).is_some_and(|state| !state.is_finished() && state.attempt.is_none())
            };
            if let Some(phase) = plan.phases.iter_mut().find(|phase| open(phase)) {
                phase.body = plans::body(dice);
            }
        }
    }
    PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() }
}

/// The outcome; none where whoever did it was killed.
fn or_killed<T>(done: onward_engine::Result<T>, who: &str) -> Option<T> {
    done.map_err(|why| assert!(world::is_killed(&why) || is_killed_store(&why), "{who} gave up: {why}")).ok()
}

fn is_killed_store(error: &Error) -> bool {
    matches!(error, Error::Store(why) if store::is_killed(why))
}
