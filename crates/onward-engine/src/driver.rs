//! The loop: input, decide, append, report, start what is wanted and not in flight, wait. Read this second, after
//! `event.rs`.
//!
//! There is no other way to go on with a run: a first start, a resume after Ctrl+C and a resume after a power cut all
//! come through [`Driver::drive`].

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use onward_core::effect::Effect;
use onward_core::event::{Outcome, StopBy};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Begin, Input, Posted, Reply};
use onward_core::run::{self, Ending, Run, Stepped};
use onward_core::view;
use onward_store::{Consumed, Lease, Store};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

use crate::error::{Error, Result};
use crate::executor::shell;
use crate::flight::{Flight, Landed};
use crate::journal;
use crate::kill_point::reached;
use crate::look;
use crate::project::Project;
use crate::reporter::{Reporter, Update};
use crate::waiter::Waiter;
use crate::attendant;

/// How long the driver sleeps at most before it looks at the inbox by itself.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often a lock is tried whose attendant is dead.
const LOCK_EVERY: Duration = Duration::from_millis(20);
/// Inputs that share one commit at most.
const INPUTS_PER_APPEND_MAX: usize = 64;
const INBOX_ITEMS_PER_LOOK_MAX: usize = 64;

pub(crate) struct Driver<'a> {
    pub(crate) project: &'a Project,
    pub(crate) store: &'a mut dyn Store,
    pub(crate) lease: &'a Lease,
    pub(crate) reporter: &'a mut dyn Reporter,
    pub(crate) waiter: Waiter,
    pub(crate) actor: String,
    /// Who this process is, for whoever asks how far it is.
    pub(crate) me: view::Driver,
    pub(crate) run: Run,
    pub(crate) in_flight: BTreeMap<PhaseId, Flight>,
}

/// An input, and the inbox item it came from, if it came from one.
struct Arrived {
    input: Input,
    item: Option<String>,
}

impl From<Input> for Arrived {
    fn from(input: Input) -> Self {
        Self { input, item: None }
    }
}

impl Driver<'_> {
    /// Drives the run until there is nothing more to do for this process.
    pub(crate) fn drive(mut self, begin: Begin) -> Result<(Run, Ending)> {
        self.take(vec![Input::Begin(begin).into()])?;
        loop {
            if let Some(ending) = self.run.ending() {
                return Ok((self.run, ending));
            }
            let at_once = self.make_it_so();
            let inputs = if at_once.is_empty() { self.wait()? } else { at_once };
            self.take(inputs)?;
        }
    }

    /// Decides what came, makes it durable in one commit, and only then tells anybody.
    fn take(&mut self, arrived: Vec<Arrived>) -> Result<()> {
        for some in Chunks(arrived.into_iter()) {
            let before = self.run.seq;
            let mut all = Stepped::default();
            let mut consumed = Vec::new();
            for Arrived { input, item } in some {
                let stepped = run::step(&mut self.run, &input, &self.actor, Timestamp::now());
                match (stepped, item) {
                    (Ok(stepped), item) => {
                        consumed.extend(item.map(|id| answered(id, &reply(&stepped))));
                        all.events.extend(stepped.events);
                        all.checkpoints.extend(stepped.checkpoints);
                    }
                    (Err(why), Some(id)) => {
                        consumed.push(answered(id, &Reply::Refused { reason: why.to_string() }));
                    }
                    (Err(why), None) => return Err(why.into()),
                }
            }
            if all.events.is_empty() && consumed.is_empty() {
                continue;
            }
            let mut entry = journal::entry(&self.run, &all);
            entry.consumed = consumed;
            reached("driver.before-append");
            self.store.append(self.lease, before, entry)?;
            reached("driver.after-append");
            for recorded in &all.events {
                self.reporter.update(&Update::Event { recorded, run: &self.run });
            }
        }
        Ok(())
    }

    /// Starts what is wanted and not in flight. Some of it is known at once and comes back as inputs.
    fn make_it_so(&mut self) -> Vec<Arrived> {
        let mut at_once = Vec::new();
        for effect in run::wanted(&self.run, Timestamp::now()) {
            let input = match effect {
                Effect::Perform { phase, attempt } => self.perform(&phase, attempt),
                Effect::Recover { phase, attempt } => Some(self.recover(&phase, attempt)),
                Effect::Stop { phase, attempt, by, kill } => self.stop(&phase, attempt, by, kill),
                Effect::WakeAt(_) => None,
            };
            at_once.extend(input.map(Arrived::from));
        }
        at_once
    }

    fn perform(&mut self, id: &PhaseId, attempt: Attempt) -> Option<Input> {
        if self.in_flight.contains_key(id) {
            return None;
        }
        let phase = self.run.plan().phase(id).expect("wanted phases are in the plan");
        let started = shell::prepare(self.project, &self.run, phase, attempt).and_then(|prepared| {
            let exe = std::path::Path::new("/proc/self/exe");
            let attending = attendant::spawn(exe, &prepared.folder, &prepared.spec, &prepared.env);
            attending.map(|attending| Flight::attending(prepared.folder, attempt, attending)).map_err(|why| why.to_string())
        });
        match started {
            Ok(flight) => {
                self.in_flight.insert(id.clone(), flight);
                None
            }
            Err(reason) => {
                let end = AttemptEnd::bare(Outcome::CouldNotStart { reason });
                Some(Input::AttemptEnded { phase: id.clone(), attempt, end })
            }
        }
    }

    /// Finds out what became of an attempt that an earlier driver had started.
    fn recover(&mut self, id: &PhaseId, attempt: Attempt) -> Input {
        let state = self.run.phase_state(id).expect("wanted phases are in the plan");
        let boot = state.attempt.as_ref().map_or("", |running| running.boot.as_str());
        let folder = shell::folder(self.project, &self.run, id, attempt);
        let phase = id.clone();
        match Flight::recovered(folder, attempt, boot) {
            Landed::Ended(end) => Input::AttemptEnded { phase, attempt, end },
            Landed::NeverStarted => Input::AttemptFound { phase, attempt, alive: false },
            Landed::Flying(flight) => {
                self.in_flight.insert(id.clone(), flight);
                Input::AttemptFound { phase, attempt, alive: true }
            }
        }
    }

    fn stop(&mut self, id: &PhaseId, attempt: Attempt, by: StopBy, kill: bool) -> Option<Input> {
        match self.in_flight.get_mut(id) {
            Some(flight) => {
                flight.ask_to_stop(by, kill);
                None
            }
            // It was recorded but never started, and now it never will be.
            None => {
                let end = AttemptEnd::bare(Outcome::Stopped { by });
                Some(Input::AttemptEnded { phase: id.clone(), attempt, end })
            }
        }
    }

    /// Sleeps until something happens and says what it was.
    fn wait(&mut self) -> Result<Vec<Arrived>> {
        let fds: Vec<_> = self.in_flight.values().filter_map(Flight::fd).collect();
        let woken = self.waiter.wait(&fds, self.sleep()).map_err(Error::io("waiting for something to happen"))?;
        let mut arrived: Vec<Arrived> = self.landed().into_iter().map(Arrived::from).collect();
        for signal in woken.signals {
            arrived.extend(self.signal(signal).map(Arrived::from));
        }
        if woken.look || self.store.changed()? {
            arrived.extend(self.inbox()?);
        }
        if arrived.is_empty() {
            self.reporter.update(&Update::Tick { run: &self.run, now: Timestamp::now() });
            arrived.push(Input::Tick.into());
        }
        Ok(arrived)
    }

    fn sleep(&self) -> Duration {
        let now = Timestamp::now();
        let due = run::wanted(&self.run, now).into_iter().filter_map(|effect| match effect {
            Effect::WakeAt(time) => Duration::try_from(time.duration_since(now)).ok(),
            Effect::Perform { .. } | Effect::Recover { .. } | Effect::Stop { .. } => None,
        });
        let locks = self.in_flight.values().any(Flight::is_watching_a_lock).then_some(LOCK_EVERY);
        due.chain(locks).chain([LOOK_EVERY]).min().unwrap_or(LOOK_EVERY)
    }

    /// Attempts that are over.
    fn landed(&mut self) -> Vec<Input> {
        let mut over = Vec::new();
        for (phase, flight) in &mut self.in_flight {
            if let Some(end) = flight.landed() {
                over.push(Input::AttemptEnded { phase: phase.clone(), attempt: flight.attempt, end });
            }
        }
        for input in &over {
            if let Input::AttemptEnded { phase, .. } = input {
                self.in_flight.remove(phase);
            }
        }
        over
    }

    fn signal(&mut self, signal: i32) -> Option<Input> {
        match signal {
            SIGINT => Some(Input::StopAsked { by: StopBy::Interrupt }),
            SIGTERM => Some(Input::StopAsked { by: StopBy::SessionEnd }),
            SIGHUP => Some(Input::StopAsked { by: StopBy::Hangup }),
            SIGUSR1 => {
                let view = look::status_of(self.project, &self.run, Some(self.me.clone()), Vec::new());
                self.reporter.update(&Update::Status(&view));
                None
            }
            _ => None,
        }
    }

    fn inbox(&mut self) -> Result<Vec<Arrived>> {
        let items = self.store.inbox(&self.run.id, INBOX_ITEMS_PER_LOOK_MAX)?;
        Ok(items
            .into_iter()
            .map(|item| match serde_json::from_slice::<Posted>(&item.body) {
                Ok(posted) => Arrived { input: Input::Posted(posted), item: Some(item.id) },
                // It is answered all the same, or it would come again for ever.
                Err(_) => Arrived { input: Input::Tick, item: Some(item.id) },
            })
            .collect())
    }
}

/// Groups of inputs small enough for one commit.
struct Chunks<I>(I);

impl<I: Iterator<Item = Arrived>> Iterator for Chunks<I> {
    type Item = Vec<Arrived>;

    fn next(&mut self) -> Option<Vec<Arrived>> {
        let some: Vec<Arrived> = self.0.by_ref().take(INPUTS_PER_APPEND_MAX).collect();
        (!some.is_empty()).then_some(some)
    }
}

pub(crate) fn reply(stepped: &Stepped) -> Reply {
    match stepped.checkpoints.first() {
        Some(checkpoint) => Reply::Checkpoint { id: checkpoint.id.to_string() },
        None => Reply::Done,
    }
}

pub(crate) fn answered(id: String, reply: &Reply) -> Consumed {
    Consumed { id, reply: serde_json::to_vec(reply).expect("a reply has only string keys") }
}
