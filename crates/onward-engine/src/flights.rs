//! The real world: processes, signals, and the clock on the wall.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use onward_core::event::{LimitHit, Outcome, StopBy};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Input};
use onward_core::run::Run;
use onward_core::view::{self, StatusView};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

use crate::attendant::{self, SpawnError};
use crate::error::{Error, Result};
use crate::executor::shell::{self, Trouble};
use crate::flight::{Flight, Landed, boot_now};
use crate::former::{Cleared, Former};
use crate::look;
use crate::probe::{
    self,
    phase::Look,
    proof::{Looking, Proving},
};
use crate::project::Project;
use crate::replan::{self, Replanning};
use crate::shared_limits::SharedLimits;
use crate::tree::WorkingTree;
use crate::waiter::Waiter;
use crate::world::{Happened, Tree, Urgency, World};

/// How often a lock is tried whose attendant is dead.
const LOCK_EVERY: Duration = Duration::from_millis(20);

/// All attempts that this process has under way.
pub(crate) struct Flights<'a> {
    project: &'a Project,
    waiter: Waiter,
    /// Who this process is, for whoever asks how far it is.
    me: view::Driver,
    in_flight: BTreeMap<PhaseId, Flight>,
    /// What is still there of earlier attempts.
    former: Former,
    /// Phases that say they are done and are looked at, by the number of the attempt that said so.
    proving: BTreeMap<(PhaseId, u32), Proving>,
    /// The plan that is being made.
    replanning: Option<Replanning>,
    tree: WorkingTree,
    shared: SharedLimits,
}

impl<'a> Flights<'a> {
    pub(crate) fn new(project: &'a Project, waiter: Waiter, me: view::Driver, tree: WorkingTree) -> Self {
        let shared = SharedLimits::new(&project.store_folder());
        let (in_flight, proving) = (BTreeMap::new(), BTreeMap::new());
        let former = Former::default();
        Self { project, waiter, me, in_flight, former, proving, replanning: None, tree, shared }
    }

    /// Attempts that are over.
    fn landed(&mut self) -> Result<Vec<Input>> {
        let mut over = self.proven();
        over.extend(replan::made(&mut self.replanning));
        for (phase, flight) in &mut self.in_flight {
            if let Some(end) = flight.landed()? {
                let end = AttemptEnd { head: self.tree.head(), ..end };
                over.push(Input::AttemptEnded { phase: phase.clone(), attempt: flight.attempt, end });
            }
        }
        for input in &over {
            if let Input::AttemptEnded { phase, .. } = input {
                self.in_flight.remove(phase);
            }
        }
        Ok(over)
    }
}

impl Flights<'_> {
    /// What was found about phases that say they are done.
    fn proven(&mut self) -> Vec<Input> {
        let found = self.proving.iter_mut().filter_map(|((phase, number), proving)| {
            let proof = Box::new(proving.proof()?);
            Some((*number, Input::Probed { phase: phase.clone(), proof }))
        });
        let found: Vec<(u32, Input)> = found.collect();
        for (number, input) in &found {
            if let Input::Probed { phase, .. } = input {
                self.proving.remove(&(phase.clone(), *number));
            }
        }
        found.into_iter().map(|(_, input)| input).collect()
    }
}

fn could_not_start(phase: &PhaseId, attempt: Attempt, reason: String) -> Input {
    let end = AttemptEnd::bare(Outcome::CouldNotStart { reason });
    Input::AttemptEnded { phase: phase.clone(), attempt, end }
}

impl World for Flights<'_> {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn perform(&mut self, run: &Run, id: &PhaseId, attempt: Attempt) -> Result<Option<Input>> {
        if self.in_flight.contains_key(id) {
            return Ok(None);
        }
        match self.former.clear(self.project, run, id, attempt) {
            Cleared::Nothing => {}
            Cleared::NotYet => return Ok(None),
            Cleared::Never(reason) => return Ok(Some(could_not_start(id, attempt, reason))),
        }
        let phase = run.plan().phase(id).expect("wanted phases are in the plan");
        let clean =
            run.phase_state(id).and_then(|state| state.attempt.as_ref()).and_then(|attempt| attempt.clean.as_ref());
        let cleaned = clean.map_or(Ok(()), |snapshot| self.tree.clean(run, id, snapshot));
        let cleaned = cleaned.map_err(|why| Trouble::Phase(format!("what it writes cannot be put back: {why}")));
        let started = cleaned.and_then(|()| shell::prepare(self.project, run, phase, attempt)).and_then(|prepared| {
            probe::phase::note_the_beginning(self.project, run, phase, &prepared.folder);
            // This very program, also when its file was replaced meanwhile.
            let exe = Path::new("/proc/self/exe");
            let attending = attendant::spawn(exe, &prepared.folder, &prepared.spec, &prepared.env);
            let look = Look::of(self.project, run, phase);
            match attending {
                Ok(attending) => Ok(Landed::Flying(Flight::attending(prepared.folder, attempt, attending, look))),
                Err(why @ (SpawnError::Lock(_) | SpawnError::Handover(_))) => Err(Trouble::Machine(why.to_string())),
                // What the error means for the attempt is asked of the attempt.
                Err(why @ (SpawnError::Held | SpawnError::StartedBefore | SpawnError::Process(_))) => {
                    match Flight::recovered(prepared.folder, attempt, &boot_now(), look) {
                        Landed::NeverStarted => Err(Trouble::Phase(why.to_string())),
                        found @ (Landed::Ended(_) | Landed::Flying(_)) => Ok(found),
                    }
                }
            }
        });
        match started {
            Ok(Landed::Flying(flight)) => {
                self.in_flight.insert(id.clone(), flight);
                Ok(None)
            }
            Ok(Landed::Ended(end)) => {
                let end = AttemptEnd { head: self.tree.head(), ..end };
                Ok(Some(Input::AttemptEnded { phase: id.clone(), attempt, end }))
            }
            Ok(Landed::NeverStarted) => unreachable!("that is a trouble with its reason"),
            Err(Trouble::Machine(why)) => Err(Error::NoRoom { what: format!("phase {id} cannot be started: {why}") }),
            Err(Trouble::Phase(reason)) => Ok(Some(could_not_start(id, attempt, reason))),
        }
    }

    fn recover(&mut self, run: &Run, id: &PhaseId, attempt: Attempt) -> Result<Input> {
        let state = run.phase_state(id).expect("wanted phases are in the plan");
        let boot = state.attempt.as_ref().map_or("", |running| running.boot.as_str());
        let folder = shell::folder(self.project, run, id, attempt);
        let phase = id.clone();
        let look = Look::of(self.project, run, run.plan().phase(id).expect("wanted phases are in the plan"));
        Ok(match Flight::recovered(folder, attempt, boot, look) {
            Landed::Ended(end) => {
                Input::AttemptEnded { phase, attempt, end: AttemptEnd { head: self.tree.head(), ..end } }
            }
            Landed::NeverStarted => Input::AttemptFound { phase, attempt, alive: false },
            Landed::Flying(flight) => {
                self.in_flight.insert(id.clone(), flight);
                Input::AttemptFound { phase, attempt, alive: true }
            }
        })
    }

    fn probe(&mut self, run: &Run, id: &PhaseId) -> Result<Option<Input>> {
        let phase = run.plan().phase(id).expect("wanted phases are in the plan");
        let attempts = run.phase_state(id).map_or(0, |state| state.attempts);
        // What was begun for an earlier attempt says nothing about this one.
        self.proving.retain(|(other, number), _| other != id || *number == attempts);
        let key = (id.clone(), attempts);
        self.proving.entry(key).or_insert_with(|| Proving::begin(Looking::at(self.project, run, phase, &[])));
        Ok(None)
    }

    fn replan(&mut self, run: &Run, id: &PhaseId) -> Result<Option<Input>> {
        self.replanning.get_or_insert_with(|| Replanning::of(self.project, run, id));
        Ok(None)
    }

    fn stop(&mut self, id: &PhaseId, attempt: Attempt, by: StopBy, urgency: Urgency) -> Result<Option<Input>> {
        if let Some(flight) = self.in_flight.get_mut(id) {
            flight.ask_to_stop(by, urgency);
            return Ok(None);
        }
        // It was recorded but never started, and now it never will be.
        let end = AttemptEnd::bare(Outcome::Stopped { by, said_done: false });
        Ok(Some(Input::AttemptEnded { phase: id.clone(), attempt, end }))
    }

    fn wait(&mut self, limit: Duration) -> Result<Happened> {
        let unwatched = self.replanning.is_some() || self.proving.values().any(|proving| proving.fd().is_none());
        let watching = unwatched || self.in_flight.values().any(Flight::is_unwatched);
        let limit = if watching { limit.min(LOCK_EVERY) } else { limit };
        let proving = self.proving.values().filter_map(Proving::fd);
        let fds: Vec<_> = self.in_flight.values().filter_map(Flight::fd).chain(proving).collect();
        let woken = self.waiter.wait(&fds, limit).map_err(Error::io("waiting for something to happen"))?;
        drop(fds);
        let mut happened = Happened { inputs: self.landed()?, posted: woken.posted, status_asked: false };
        for signal in woken.signals {
            match signal {
                SIGINT => happened.inputs.push(Input::StopAsked { by: StopBy::Interrupt }),
                SIGTERM => happened.inputs.push(Input::StopAsked { by: StopBy::SessionEnd }),
                SIGHUP => happened.inputs.push(Input::StopAsked { by: StopBy::Hangup }),
                SIGUSR1 => happened.status_asked = true,
                _ => {}
            }
        }
        Ok(happened)
    }

    fn limit_hit(&mut self, run: &Run, hit: &LimitHit) {
        self.shared.publish(run, hit, self.now());
    }

    fn limits_elsewhere(&mut self, run: &Run) -> Vec<Input> {
        let now = self.now();
        self.shared.look(run, now)
    }

    fn tree(&mut self) -> &mut dyn Tree {
        &mut self.tree
    }

    fn status(&self, run: &Run) -> StatusView {
        look::status_of(self.project, run, Some(self.me.clone()), Vec::new())
    }
}
