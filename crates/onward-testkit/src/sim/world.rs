//! The simulated machine: processes that outlive drivers, a clock that jumps, and death at any moment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use onward_core::event::{FilesBack, LimitHit, Orphans, Outcome, StopRequest, Urgency};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, GroupSeen, Input};
use onward_core::replan::EXIT_REPLAN;
use onward_core::run::Run;
use onward_core::run::notices::DueNotice;
use onward_core::view::{self, Alive, StatusView};
use onward_engine::{Direction, Error, FilesOutcome, Happened, Result, RewindSince, TreeWorld, World};

use super::agents::{self, AccountHeard, AgentAtWork, Clients};
use super::dice::Dice;
use super::edits::Author;
use super::git::SimulatedGit;
use super::limits;
use super::oracle::Oracle;
use super::worktrees::SimulatedWorktrees;
use super::{external_phases, replans};

/// The machine as driver, store and world share it.
pub(super) type SharedMachine = Arc<Mutex<Machine>>;

/// How long a driver sleeps that waits for nothing in particular, and how long it may be kept from waking.
const LOOK_EVERY: SignedDuration = SignedDuration::from_millis(250);
const FROZEN: SignedDuration = SignedDuration::from_secs(10);

/// One thread plays one world, so nobody else can have panicked with the lock in hand.
pub(super) const ALONE: &str = "one thread plays one world";

/// The part of the world that survives the death of a driver.
pub(super) struct Machine {
    pub(super) dice: Dice,
    pub(super) author: Author,
    pub(super) now: Timestamp,
    pub(super) boot: u32,
    attempts: BTreeMap<(PhaseId, Attempt), SimulatedProcess>,
    /// Steps until the driver is killed; none while it is left in peace.
    pub(super) fuse: Option<u64>,
    pub(super) oracle: Oracle,
    /// Signals that a person still sends in this run.
    pub(super) signals_left: u32,
    pub(super) posts: Vec<String>,
    /// Messages of people and workers; they may be refused.
    pub(super) words: Vec<String>,
    /// Messages that this driver found: whoever left them may be dead, and the driver before it is.
    pub(super) waiting: Vec<String>,
    pub(super) git: SimulatedGit,
    clients: Clients,
    pub(super) worktrees: SimulatedWorktrees,
}

/// An attempt's process with its attendant.
#[derive(Clone, Debug)]
struct SimulatedProcess {
    state: ProcessState,
    boot: u32,
    asked: Option<(StopRequest, Urgency)>,
    /// It does not hear that it is to end, and finishes its work if it is soon done.
    deaf: bool,
    agent: Option<AgentAtWork>,
    /// It works in a worktree of its own.
    apart: bool,
}

#[derive(Clone, Debug)]
enum ProcessState {
    AtWork {
        until: Timestamp,
        outcome: Outcome,
    },
    /// Its record is there.
    Exited {
        outcome: Outcome,
        at: Timestamp,
    },
    /// It died and left nothing.
    Lost,
}

/// An attempt of a driver that is dead, as the next start finds it.
pub(super) enum SimulatedLook {
    AtWork,
    Over(Box<AttemptEnd>),
    NeverRan,
}

impl Machine {
    pub(super) fn new(dice: Dice, author: Author, now: Timestamp, oracle: Oracle) -> Self {
        Self {
            dice,
            author,
            now,
            boot: 1,
            attempts: BTreeMap::new(),
            fuse: None,
            oracle,
            signals_left: 3,
            posts: Vec::new(),
            words: Vec::new(),
            waiting: Vec::new(),
            git: SimulatedGit::default(),
            clients: Clients::default(),
            worktrees: SimulatedWorktrees::default(),
        }
    }

    /// One step nearer to the end of the driver.
    pub(super) fn tick(&mut self) -> Result<()> {
        match &mut self.fuse {
            None => Ok(()),
            Some(0) => Err(killed()),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }

    pub(super) fn is_at_work(&self, phase: &PhaseId, attempt: Attempt) -> bool {
        let process = self.attempts.get(&(phase.clone(), attempt));
        process.is_some_and(|process| matches!(process.state, ProcessState::AtWork { .. }))
    }

    /// An attempt that nobody watches, as a start finds it.
    pub(super) fn found(&self, run: &Run, phase: &PhaseId, attempt: Attempt) -> SimulatedLook {
        let started_in =
            run.phase_state(phase).and_then(|state| state.attempt.as_ref()).map(|running| running.boot.clone());
        match self.attempts.get(&(phase.clone(), attempt)).map(|process| (process.end(), process.boot)) {
            Some((None, boot)) => {
                assert_eq!(boot, self.boot, "a process does not survive a reboot");
                SimulatedLook::AtWork
            }
            Some((Some(end), _)) => SimulatedLook::Over(Box::new(end)),
            None if started_in == Some(self.boot.to_string()) => SimulatedLook::NeverRan,
            None => SimulatedLook::Over(Box::new(AttemptEnd::bare(Outcome::Unknown))),
        }
    }

    /// A person waits for the end of an attempt, or brings it about.
    pub(super) fn see_the_end_of(&mut self, phase: &PhaseId, attempt: Attempt, orphans: Orphans) {
        let now = self.now;
        let process = self.attempts.get_mut(&(phase.clone(), attempt)).expect("it is at work");
        let ProcessState::AtWork { until, .. } = process.state else { return };
        if orphans == Orphans::Wait {
            return self.let_time_pass(until.duration_since(now).max(SignedDuration::ZERO));
        }
        let by = StopRequest::OrphanKill;
        let outcome = Outcome::Stopped { by, said_done: false };
        (process.asked, process.deaf) = (Some((by, Urgency::Kill)), false);
        process.state = ProcessState::Exited { outcome: outcome.clone(), at: now };
        self.oracle.is_over(phase, attempt, &outcome);
    }

    /// Everything dies: phases and attendants too. What was not flushed may be gone.
    pub(super) fn power_cut(&mut self) {
        let reboot = self.dice.percent(50);
        for ((phase, attempt), process) in &mut self.attempts {
            let lost = match &process.state {
                ProcessState::AtWork { .. } | ProcessState::Lost => true,
                ProcessState::Exited { .. } => reboot && self.dice.percent(30),
            };
            if lost {
                process.state = ProcessState::Lost;
                self.oracle.is_over(phase, *attempt, &Outcome::Unknown);
            }
        }
        if reboot {
            self.boot += 1;
        }
    }

    /// An attendant alone dies with its phase, as the OOM killer may do it.
    fn maybe_lose_one(&mut self) {
        if !self.dice.percent(1) {
            return;
        }
        let mut all = self.attempts.iter_mut();
        if let Some(((phase, attempt), process)) =
            all.find(|(_, process)| matches!(process.state, ProcessState::AtWork { .. }))
        {
            process.state = ProcessState::Lost;
            self.oracle.is_over(phase, *attempt, &Outcome::Unknown);
        }
    }

    /// Lets phases end whose time has come.
    fn let_end(&mut self) {
        for ((phase, attempt), process) in &mut self.attempts {
            if let ProcessState::AtWork { until, outcome } = &process.state
                && *until <= self.now
            {
                let said_done = process.deaf && *outcome == Outcome::Exited { code: 0 };
                let outcome =
                    process.asked.map_or_else(|| outcome.clone(), |(by, _)| Outcome::Stopped { by, said_done });
                self.oracle.is_over(phase, *attempt, &outcome);
                process.state = ProcessState::Exited { outcome, at: *until };
                self.git.tree += u64::from(!process.apart);
            }
        }
    }

    fn next_end(&self) -> Option<Timestamp> {
        self.attempts
            .values()
            .filter_map(|process| match process.state {
                ProcessState::AtWork { until, .. } => Some(until),
                ProcessState::Exited { .. } | ProcessState::Lost => None,
            })
            .min()
    }

    pub(super) fn let_time_pass(&mut self, span: SignedDuration) {
        self.now += span;
        self.let_end();
    }

    fn spawn(&mut self, run: &Run, phase: &PhaseId, attempt: Attempt) {
        let living = self.attempts.iter().filter(|(_, process)| matches!(process.state, ProcessState::AtWork { .. }));
        let same: Vec<Attempt> =
            living.clone().filter(|((other, _), _)| other == phase).map(|((_, number), _)| *number).collect();
        self.oracle.spawned(phase, attempt, &same);
        let in_use: Vec<String> = living.filter_map(|(_, process)| process.agent.as_ref()?.session.clone()).collect();
        let (outcome, agent) = match agents::begin(&mut self.dice, &mut self.clients, run, phase, self.now) {
            Some((outcome, agent)) => (outcome, Some(agent)),
            None => (self.random_outcome(), None),
        };
        let state = run.phase_state(phase).expect("of the plan");
        if let Some(known) = state.agent.as_deref().filter(|_| agent.is_some()) {
            self.oracle.answers_reach_the_agent(phase, &known.calls);
        }
        self.oracle.goes_by_its_key(run, phase);
        self.oracle.is_where_it_works(run, phase);
        let apart = state.is_apart();
        let session = agent.as_ref().and_then(|agent| agent.session.as_ref());
        assert!(
            session.is_none_or(|one| !in_use.contains(one)),
            "{phase} writes in {session:?} beside another process"
        );
        let seconds = i64::try_from(self.dice.below(40)).expect("small");
        let state = ProcessState::AtWork { until: self.now + SignedDuration::from_secs(seconds), outcome };
        let process = SimulatedProcess { state, boot: self.boot, asked: None, deaf: false, agent, apart };
        self.attempts.insert((phase.clone(), attempt), process);
    }

    fn random_outcome(&mut self) -> Outcome {
        match self.dice.below(100) {
            0..=69 => Outcome::Exited { code: 0 },
            70..=76 => Outcome::Exited { code: 75 },
            77..=84 => Outcome::Exited { code: 1 },
            85..=86 => Outcome::Exited { code: 137 },
            87..=89 => Outcome::Exited { code: EXIT_REPLAN },
            90..=93 => Outcome::Killed { signal: 9 },
            94..=96 => Outcome::TimedOut,
            _ => Outcome::CouldNotStart { reason: "no room".to_owned() },
        }
    }
}

pub(super) fn killed() -> Error {
    Error::Io { what: "simulated".to_owned(), why: std::io::Error::other("killed") }
}

pub(super) fn is_killed(error: &Error) -> bool {
    matches!(error, Error::Io { what, .. } if what == "simulated")
}

/// One driver's view of the machine. Its memory ends with it.
pub(super) struct Eyes {
    machine: SharedMachine,
    in_flight: BTreeSet<(PhaseId, Attempt)>,
}

impl Eyes {
    pub(super) fn new(machine: SharedMachine) -> Self {
        Self { machine, in_flight: BTreeSet::new() }
    }

    /// The attempts of this driver that have ended.
    fn landed(&mut self) -> Vec<Input> {
        let machine = self.machine.lock().expect(ALONE);
        let mut over = Vec::new();
        self.in_flight.retain(|key| {
            let Some(end) = machine.attempts.get(key).expect("it was started").end() else { return true };
            over.push(Input::AttemptEnded { phase: key.0.clone(), attempt: key.1, end });
            false
        });
        over
    }
}

/// Whether what an attempt that ended at this time gives out cannot be read.
pub(super) fn gives_out_nonsense(at: Timestamp) -> bool {
    at.as_second() % 29 == 0
}

impl SimulatedProcess {
    /// The end that its attendant tells; none while it is at work.
    fn end(&self) -> Option<AttemptEnd> {
        let (heard, end) = match &self.state {
            ProcessState::AtWork { .. } => return None,
            ProcessState::Lost => (AccountHeard::LittleOrNothing, AttemptEnd::bare(Outcome::Unknown)),
            ProcessState::Exited { outcome, at } => {
                let ended_before = self.asked.is_some() && !self.deaf;
                let heard = if ended_before { AccountHeard::AsFarAsItCame } else { AccountHeard::Everything };
                (heard, end(outcome.clone(), *at))
            }
        };
        let end = agents::told_by(self.agent.as_ref(), heard, end);
        Some(end)
    }
}

fn end(outcome: Outcome, at: Timestamp) -> AttemptEnd {
    // Not always the same list: a matrix over it is not always the same either.
    let lists = ["[]", "[1, 2]", "[2, 3, 4]", "no list"];
    let odd = usize::try_from(at.as_second()).unwrap_or_default() % 16;
    let list = lists[if odd == 0 { 3 } else { odd % 3 }];
    let outputs = if gives_out_nonsense(at) {
        Err("line 1".to_owned())
    } else {
        Ok([("list".to_owned(), list.to_owned())].into())
    };
    let end = AttemptEnd { ended_at: Some(at), duration_ms: Some(1), outputs, ..AttemptEnd::bare(outcome) };
    limits::with_last_words(end, at)
}

impl World for Eyes {
    fn now(&self) -> Timestamp {
        self.machine.lock().expect(ALONE).now
    }

    fn perform(&mut self, run: &Run, phase: &PhaseId, attempt: Attempt) -> Result<Option<Input>> {
        let key = (phase.clone(), attempt);
        if self.in_flight.contains(&key) {
            return Ok(None);
        }
        let mut machine = self.machine.lock().expect(ALONE);
        machine.tick()?;
        machine.oracle.may_perform(run, phase, attempt);
        let unanswered = machine.waiting.iter().find(|id| !machine.oracle.answered.contains(*id));
        assert_eq!(unanswered, None, "something is started before what waits is answered");
        if run.wants_a_worktree(phase) {
            return machine.begin_worktree(run, phase, attempt).map(Some);
        }
        machine.spawn(run, phase, attempt);
        if machine.dice.percent(2) {
            // The attendant dies before it executes anything, and everybody can see that.
            machine.attempts.remove(&key);
            machine.oracle.never_ran(phase, attempt);
            let end = AttemptEnd::bare(Outcome::NeverRan);
            return Ok(Some(Input::AttemptEnded { phase: phase.clone(), attempt, end }));
        }
        self.in_flight.insert(key);
        machine.tick()?;
        Ok(None)
    }

    fn recover(&mut self, run: &Run, phase: &PhaseId, attempt: Attempt) -> Result<Input> {
        let key = (phase.clone(), attempt);
        let mut machine = self.machine.lock().expect(ALONE);
        machine.tick()?;
        machine.let_end();
        let look = machine.found(run, phase, attempt);
        let phase = phase.clone();
        Ok(match look {
            SimulatedLook::AtWork => {
                self.in_flight.insert(key);
                Input::AttemptFound { phase, attempt, alive: true }
            }
            SimulatedLook::Over(end) => Input::AttemptEnded { phase, attempt, end: *end },
            SimulatedLook::NeverRan => Input::AttemptFound { phase, attempt, alive: false },
        })
    }

    fn probe(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>> {
        let mut machine = self.machine.lock().expect(ALONE);
        machine.tick()?;
        machine.oracle.may_probe(run, phase);
        // A probe that takes its time is asked again by the driver, and that is harmless.
        if machine.dice.percent(30) {
            return Ok(None);
        }
        let definition = run.plan().phase(phase).expect("of the plan");
        let proof = Box::new(external_phases::proof(definition, &mut machine.dice));
        machine.tick()?;
        Ok(Some(Input::Probed { phase: phase.clone(), proof }))
    }

    fn require(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>> {
        self.machine.lock().expect(ALONE).require(run, phase)
    }

    fn label_issue(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>> {
        self.machine.lock().expect(ALONE).label_issue(run, phase).map(Some)
    }

    fn replan(&mut self, run: &Run, phase: &PhaseId) -> Result<Option<Input>> {
        replans::command(&mut self.machine.lock().expect(ALONE), run, phase)
    }

    fn stop(&mut self, phase: &PhaseId, attempt: Attempt, by: StopRequest, urgency: Urgency) -> Result<Option<Input>> {
        let key = (phase.clone(), attempt);
        let mut machine = self.machine.lock().expect(ALONE);
        machine.tick()?;
        if !self.in_flight.contains(&key) {
            let end = AttemptEnd::bare(Outcome::Stopped { by, said_done: false });
            return Ok(Some(Input::AttemptEnded { phase: phase.clone(), attempt, end }));
        }
        let now = machine.now;
        let stubborn = machine.dice.percent(40);
        let deaf = stubborn && machine.dice.percent(60);
        let process = machine.attempts.get_mut(&key).expect("it is in flight");
        if process.asked.is_some_and(|(_, asked)| asked >= urgency) {
            return Ok(None);
        }
        process.asked = Some((by, urgency));
        if let ProcessState::AtWork { until, .. } = &mut process.state {
            let grace = if urgency == Urgency::Kill || !stubborn { 0 } else { 8 };
            let killed_at = now + SignedDuration::from_secs(grace);
            // What does not hear it comes to its own end before the kill does.
            process.deaf = deaf && grace > 0;
            *until = (*until).min(if process.deaf { killed_at - SignedDuration::from_secs(1) } else { killed_at });
        }
        Ok(None)
    }

    fn wait(&mut self, limit: Duration) -> Result<Happened> {
        let mut happened = Happened::default();
        {
            let mut machine = self.machine.lock().expect(ALONE);
            machine.tick()?;
            // Nothing happens between now and the next end: no need to sleep through it in small steps.
            let step = machine.next_end().map_or(SignedDuration::from_secs(5), |end| end.duration_since(machine.now));
            let limit = SignedDuration::try_from(limit).expect("a short sleep");
            let step = if machine.next_end().is_some() {
                step.max(SignedDuration::ZERO)
            } else {
                // A driver that only waits may as well have been frozen for a while.
                if limit < LOOK_EVERY { limit.max(SignedDuration::from_millis(1)) } else { FROZEN }
            };
            machine.let_time_pass(step);
            if machine.dice.percent(2) {
                let jump = i64::try_from(machine.dice.below(7200)).expect("small") - 3600;
                machine.let_time_pass(SignedDuration::from_secs(jump));
            }
            machine.maybe_lose_one();
            if machine.signals_left > 0 && machine.dice.percent(3) {
                machine.signals_left -= 1;
                let by = *machine.dice.pick(&[
                    StopRequest::Interrupt,
                    StopRequest::Interrupt,
                    StopRequest::SessionEnd,
                    StopRequest::Hangup,
                ]);
                happened.inputs.push(Input::StopAsked { by });
            }
            happened.posted = machine.dice.percent(50);
        }
        happened.inputs.extend(self.landed());
        Ok(happened)
    }

    fn limit_hit(&mut self, run: &Run, _: &LimitHit) {
        self.machine.lock().expect(ALONE).oracle.compare(run);
    }

    fn limits_elsewhere(&mut self, _: &Run) -> Vec<Input> {
        let mut machine = self.machine.lock().expect(ALONE);
        limits::elsewhere(&mut machine).into_iter().map(Input::LimitElsewhere).collect()
    }

    fn group(&mut self, run: &Run) -> Option<Input> {
        run.awaited_group()?;
        let even = self.machine.lock().expect(ALONE).now.as_second() % 2 == 0;
        Some(Input::GroupSeen(if even { GroupSeen::Entered } else { GroupSeen::Busy { by: None } }))
    }

    fn tree(&mut self) -> &mut dyn TreeWorld {
        self
    }

    fn status(&self, run: &Run) -> StatusView {
        view::status(run, &Alive::default(), Vec::new())
    }
}

impl TreeWorld for Eyes {
    fn snapshot(&mut self, run: &Run) -> Result<Input> {
        self.machine.lock().expect(ALONE).snapshot(run)
    }

    fn modified(&mut self, _: &Run, _: &Input) -> Option<Input> {
        Some(self.machine.lock().expect(ALONE).modified())
    }

    fn notify(&mut self, _: &Run, notice: &DueNotice) -> Result<Option<Input>> {
        self.machine.lock().expect(ALONE).notify(notice).map(Some)
    }

    fn mark(&mut self, _: &Run, phase: &PhaseId) -> Result<Input> {
        self.machine.lock().expect(ALONE).mark(phase)
    }

    fn label(&mut self, run: &Run, phase: &PhaseId) -> Result<Input> {
        self.machine.lock().expect(ALONE).label_issue(run, phase)
    }

    fn integrate(&mut self, run: &Run, phase: &PhaseId) -> Result<Input> {
        self.machine.lock().expect(ALONE).integrate(run, phase)
    }

    fn remove_worktree(&mut self, _: &Run, phase: &PhaseId) -> Result<Input> {
        self.machine.lock().expect(ALONE).remove_worktree(phase)
    }

    fn commit(&mut self, run: &Run, number: u32) -> Result<Input> {
        self.machine.lock().expect(ALONE).commit(run, number)
    }

    fn restore(&mut self, run: &Run, files: &FilesBack, begun: RewindSince, _: Direction) -> Result<FilesOutcome> {
        self.machine.lock().expect(ALONE).restore(run, files, begun)
    }
}
