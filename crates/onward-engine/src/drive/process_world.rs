//! The real world: processes, signals, and the clock on the wall.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use onward_core::event::{LimitHit, Outcome, StopRequest, Urgency};
use onward_core::evidence::RequirementSeen;
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Input, LabelsSet};
use onward_core::run::Run;
use onward_core::run::worktrees::works_apart;
use onward_core::view::{self, StatusView};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

use crate::attendant::{self, SpawnError};
use crate::commands::replan::{self, Replanning};
use crate::drive::attempt_files::AttemptFiles;
use crate::drive::earlier_attempts::{Cleared, Former};
use crate::drive::groups::GroupPlace;
use crate::drive::project_moved::InPlace;
use crate::drive::reporter::AttemptOutput;
use crate::drive::running_attempt::{Flight, Landed, boot_now};
use crate::drive::shared_limits::SharedLimits;
use crate::drive::waiter::Waiter;
use crate::drive::worktrees_beside::{WorktreeMade, WorktreesBeside};
use crate::drive::world::{Happened, TreeWorld, World};
use crate::error::{Error, Result};
use crate::executor::shell::{self, PrepareTrouble};
use crate::probe::{
    self,
    background_probe::LookBeside,
    issue::{LabelPatience, Labelling},
    phase::ProofLook,
    requirement::RequirementLook,
    verification::{Looking, Proving},
};
use crate::project::Project;
use crate::queries::runs;
use crate::sys::own_files::THIS_PROGRAM;
use crate::sys::{signals, stop};
use crate::vcs::working_tree::WorkingTree;

/// How often a lock is tried whose attendant is dead.
const LOCK_EVERY: Duration = Duration::from_millis(20);

/// How long attempts are given to end where that cannot be written down: what their attendants take to ask, to insist and to kill.
const END_ALL_TIME_MAX: Duration = Duration::from_millis(8_500);

/// All attempts that this process has under way.
pub(crate) struct Flights<'a> {
    project: &'a Project,
    place: Arc<InPlace>,
    waiter: Waiter,
    /// This process, for whoever asks how far it is.
    me: view::DriverView,
    in_flight: BTreeMap<PhaseId, Flight>,
    /// Processes left over from earlier attempts.
    former: Former,
    /// Phases that say they are done and are looked at, by the number of the attempt that said so.
    proving: BTreeMap<(PhaseId, u32), Proving>,
    /// Phases whose requirements are being checked.
    requiring: BTreeMap<PhaseId, LookBeside<Vec<RequirementSeen>>>,
    /// The phase of which the issue is being told that it has started.
    labelling: Option<(PhaseId, LookBeside<std::result::Result<LabelsSet, String>>)>,
    /// The plan that is being made.
    replanning: Option<Replanning>,
    /// Files on their way from a worktree into the project, and worktrees on their way out.
    worktrees: WorktreesBeside,
    tree: WorkingTree,
    shared: SharedLimits,
    /// The run's place among those that are not at work at the same time.
    group: Option<GroupPlace>,
    output: AttemptFiles<'a>,
    /// Somebody wants to know how far it is, and was not told yet.
    status_asked: bool,
}

impl<'a> Flights<'a> {
    pub(crate) fn new(
        project: &'a Project,
        place: Arc<InPlace>,
        waiter: Waiter,
        me: view::DriverView,
        tree: WorkingTree,
    ) -> Self {
        let shared = SharedLimits::new(&project.store_folder());
        let (in_flight, proving) = (BTreeMap::new(), BTreeMap::new());
        let former = Former::default();
        let (requiring, labelling) = (BTreeMap::new(), None);
        let (replanning, status_asked) = (None, false);
        let output = AttemptFiles { project };
        Self {
            project,
            place,
            waiter,
            me,
            in_flight,
            former,
            proving,
            requiring,
            labelling,
            replanning,
            worktrees: WorktreesBeside::default(),
            tree,
            shared,
            group: None,
            output,
            status_asked,
        }
    }

    /// The run has a place in a group, and perhaps its turn.
    pub(crate) fn in_group(self, group: Option<GroupPlace>) -> Self {
        Self { group, ..self }
    }

    /// Attempts that are over.
    fn landed(&mut self) -> Result<Vec<Input>> {
        let mut over = Vec::new();
        // What was being looked at or made when a stop was asked for was given up, which says nothing about it.
        if stop::asked().is_none() {
            over.extend(self.proven()?);
            over.extend(self.required());
            over.extend(self.labelled());
            over.extend(replan::made(&mut self.replanning));
        }
        for (phase, flight) in &mut self.in_flight {
            if let Some(end) = flight.landed()? {
                tracing::info!(%phase, attempt = %flight.attempt, outcome = ?end.outcome, "an attempt has ended");
                let around = flight.watch().now(self.tree.branch(), &end.outcome);
                let end = AttemptEnd { head: self.tree.head(), around, ..end };
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
    /// The inputs that signals ask for.
    fn heard(&mut self, signals: Vec<i32>) -> Vec<Input> {
        self.status_asked |= signals.contains(&SIGUSR1);
        for signal in &signals {
            tracing::info!(signal, "a signal");
        }
        let asked = signals.into_iter().filter_map(|signal| match signal {
            SIGINT => Some(StopRequest::Interrupt),
            SIGTERM => Some(StopRequest::SessionEnd),
            SIGHUP => Some(StopRequest::Hangup),
            _ => None,
        });
        asked.map(|by| Input::StopAsked { by }).collect()
    }

    /// Tells the user's index of commits of which it could not be told before.
    pub(crate) fn catch_index_up(&self) {
        self.tree.catch_index_up();
    }

    /// The proofs found for phases that say they are done. Where nobody could look the driver ends, and the next one looks again.
    fn proven(&mut self) -> Result<Vec<Input>> {
        let found = self.proving.iter_mut().filter_map(|((phase, number), proving)| {
            let blind = |why| {
                let what = format!("whether phase {phase} is done cannot be seen: {why}");
                Error::NoRoom { what }
            };
            let proof = proving.proof()?.map_err(blind);
            Some(proof.map(|proof| (*number, Input::Probed { phase: phase.clone(), proof: Box::new(proof) })))
        });
        let found = found.collect::<Result<Vec<(u32, Input)>>>()?;
        for (number, input) in &found {
            if let Input::Probed { phase, .. } = input {
                self.proving.remove(&(phase.clone(), *number));
            }
        }
        Ok(found.into_iter().map(|(_, input)| input).collect())
    }
}

impl Flights<'_> {
    /// The answers of looks at what phases require.
    fn required(&mut self) -> Vec<Input> {
        let mut over = Vec::new();
        self.requiring.retain(|phase, look| {
            let Some(seen) = look.seen() else { return true };
            // A look that broke down has seen nothing, and core knows what that means.
            over.push(Input::Required { phase: phase.clone(), seen: seen.unwrap_or_default() });
            false
        });
        over
    }

    /// The result of telling the issue that a phase has started.
    fn labelled(&mut self) -> Option<Input> {
        let (phase, telling) = self.labelling.as_mut()?;
        let set = telling.seen()?.unwrap_or_else(|_| Err("it could not be followed".to_owned()));
        let phase = phase.clone();
        self.labelling = None;
        Some(Input::IssueLabelled { phase, set })
    }
}

impl Flights<'_> {
    /// Whether the worktree of an attempt is in its place; else what is known of it by now, if anything is.
    fn worktree_is_made(
        &mut self,
        run: &Run,
        id: &PhaseId,
        attempt: Attempt,
    ) -> std::result::Result<(), Option<Box<Input>>> {
        let why = match self.worktrees.make(&self.tree, run, id, attempt) {
            Some(WorktreeMade::InPlace(Ok(()))) => return Ok(()),
            Some(WorktreeMade::ToBeMade(Ok(fact))) => {
                return Err(Some(Box::new(Input::Worktree { phase: id.clone(), found: Ok(Box::new(fact)) })));
            }
            // It was given up.
            Some(WorktreeMade::InPlace(Err(_)) | WorktreeMade::ToBeMade(Err(_))) if stop::asked().is_some() => {
                return Err(None);
            }
            Some(WorktreeMade::ToBeMade(Err(why))) => format!("it can have no worktree of its own: {why}"),
            Some(WorktreeMade::InPlace(Err(why))) => format!("its worktree cannot be made: {why}"),
            None => return Err(None),
        };
        Err(Some(Box::new(could_not_start(id, attempt, why))))
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
        if self.in_flight.contains_key(id) || stop::asked().is_some() {
            return Ok(None);
        }
        match self.former.clear(self.project, run, id, attempt) {
            Cleared::Nothing => {}
            Cleared::NotYet => return Ok(None),
            Cleared::Never(reason) => return Ok(Some(could_not_start(id, attempt, reason))),
        }
        let phase = run.plan().phase(id).expect("wanted phases are in the plan");
        let at_work = run.phase_state(id).and_then(|state| state.attempt.as_ref());
        let clean = at_work.and_then(|attempt| attempt.clean.as_ref());
        let kept = at_work.and_then(|attempt| attempt.kept.as_ref());
        let others_change_files = works_apart(phase) && self.worktrees.change_files();
        if others_change_files || (clean.is_some() && self.tree_is_busy()) {
            // It begins with all files of the project, and they are changing; or it changes some that others are reading.
            return Ok(None);
        }
        if clean.is_some() && kept.is_none() {
            let phase = id.clone();
            return Ok(Some(match self.tree.keep_before_clean(run) {
                Ok(snapshot) => Input::KeptBeforeClean { phase, attempt, snapshot },
                Err(why) => could_not_start(id, attempt, format!("what is there now cannot be kept: {why}")),
            }));
        }
        if works_apart(phase)
            && let Err(known) = self.worktree_is_made(run, id, attempt)
        {
            return Ok(known.map(|known| *known));
        }
        let cleaned = clean.map_or(Ok(()), |snapshot| self.tree.clean(run, id, snapshot));
        let cleaned = cleaned.map_err(|why| PrepareTrouble::Phase(format!("what it writes cannot be put back: {why}")));
        let started = cleaned.and_then(|()| shell::prepare(self.project, run, phase, attempt)).and_then(|prepared| {
            probe::phase::note_the_beginning(self.project, run, phase, &prepared.folder);
            if stop::asked().is_some() {
                return Ok(None);
            }
            let attending = attendant::spawn(Path::new(THIS_PROGRAM), &prepared.folder, &prepared.spec, &prepared.env);
            let look = ProofLook::new(self.project, run, phase);
            match attending {
                Ok(attending) => Ok(Some(Landed::Flying(Flight::attending(prepared.folder, attempt, attending, look)))),
                Err(why @ (SpawnError::Lock(_) | SpawnError::Handover(_))) => {
                    Err(PrepareTrouble::Machine(why.to_string()))
                }
                // What the error means for the attempt is asked of the attempt.
                Err(why @ (SpawnError::Held | SpawnError::StartedBefore | SpawnError::Process(_))) => {
                    match Flight::recovered(prepared.folder, attempt, &boot_now(), look) {
                        Landed::NeverStarted => Err(PrepareTrouble::Phase(why.to_string())),
                        found @ (Landed::Ended(_) | Landed::Flying(_)) => Ok(Some(found)),
                    }
                }
            }
        });
        match started {
            Ok(Some(Landed::Flying(flight))) => {
                tracing::info!(phase = %id, %attempt, "an attempt was started");
                self.in_flight.insert(id.clone(), flight);
                Ok(None)
            }
            // It was given up before it began.
            Ok(None) => Ok(None),
            Err(PrepareTrouble::Phase(_)) if stop::asked().is_some() => Ok(None),
            Ok(Some(Landed::Ended(end))) => {
                let end = AttemptEnd { head: self.tree.head(), ..end };
                Ok(Some(Input::AttemptEnded { phase: id.clone(), attempt, end }))
            }
            Ok(Some(Landed::NeverStarted)) => unreachable!("that is a trouble with its reason"),
            Err(PrepareTrouble::Machine(why)) => {
                Err(Error::NoRoom { what: format!("phase {id} cannot be started: {why}") })
            }
            Err(PrepareTrouble::Phase(reason)) => Ok(Some(could_not_start(id, attempt, reason))),
        }
    }

    fn recover(&mut self, run: &Run, id: &PhaseId, attempt: Attempt) -> Result<Input> {
        let state = run.phase_state(id).expect("wanted phases are in the plan");
        let boot = state.attempt.as_ref().map_or("", |running| running.boot.as_str());
        let folder = shell::folder(self.project, run, id, attempt);
        tracing::info!(phase = %id, %attempt, "looking what became of an attempt of an earlier driver");
        let phase = id.clone();
        let look = ProofLook::new(self.project, run, run.plan().phase(id).expect("wanted phases are in the plan"));
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
        tracing::debug!(phase = %id, "asking the probe of a phase whether it is done");
        self.proving.entry(key).or_insert_with(|| Proving::begin(Looking::at(self.project, run, phase, &[])));
        Ok(None)
    }

    fn require(&mut self, run: &Run, id: &PhaseId) -> Result<Option<Input>> {
        let phase = run.plan().phase(id).expect("wanted phases are in the plan");
        self.requiring.entry(id.clone()).or_insert_with(|| {
            let look = RequirementLook::of_phase(self.project, run, phase);
            LookBeside::begin(move |given_up| look.check_all(given_up))
        });
        Ok(None)
    }

    fn label_issue(&mut self, run: &Run, id: &PhaseId) -> Result<Option<Input>> {
        self.labelling.get_or_insert_with(|| {
            let labelling = Labelling::new(self.project, run, id, LabelPatience::Beside);
            (id.clone(), LookBeside::begin(move |_| labelling.set()))
        });
        Ok(None)
    }

    fn integrate(&mut self, run: &Run, id: &PhaseId) -> Result<Option<Input>> {
        Ok(self.worktrees.see_to(&self.tree, run, id, WorkingTree::integrated))
    }

    fn remove_worktree(&mut self, run: &Run, id: &PhaseId) -> Result<Option<Input>> {
        Ok(self.worktrees.see_to(&self.tree, run, id, WorkingTree::worktree_removed))
    }

    fn tree_is_busy(&self) -> bool {
        self.worktrees.are_busy()
    }

    fn replan(&mut self, run: &Run, id: &PhaseId) -> Result<Option<Input>> {
        self.replanning.get_or_insert_with(|| Replanning::start(self.project, run, id));
        Ok(None)
    }

    fn stop(&mut self, id: &PhaseId, attempt: Attempt, by: StopRequest, urgency: Urgency) -> Result<Option<Input>> {
        tracing::debug!(phase = %id, %attempt, ?by, ?urgency, "an attempt is to end");
        if let Some(flight) = self.in_flight.get_mut(id) {
            flight.ask_to_stop(by, urgency);
            return Ok(None);
        }
        // It was recorded but never started, and now it never will be.
        let end = AttemptEnd::bare(Outcome::Stopped { by, said_done: false });
        Ok(Some(Input::AttemptEnded { phase: id.clone(), attempt, end }))
    }

    fn wait(&mut self, limit: Duration) -> Result<Happened> {
        let looks = self.proving.values().map(Proving::fd).chain(self.requiring.values().map(LookBeside::fd));
        let told_now = self.worktrees.have_news();
        let looks = looks.chain(self.labelling.iter().map(|(_, telling)| telling.fd())).chain(self.worktrees.fds());
        let looks: Vec<_> = looks.collect();
        let limit = if told_now { Duration::ZERO } else { limit };
        let unwatched = self.replanning.is_some() || looks.iter().any(Option::is_none);
        let watching = unwatched || self.in_flight.values().any(Flight::is_unwatched);
        let limit = if watching { limit.min(LOCK_EVERY) } else { limit };
        let fds: Vec<_> = self.in_flight.values().filter_map(Flight::fd).chain(looks.into_iter().flatten()).collect();
        let woken = self.waiter.wait(&fds, limit).map_err(Error::io("waiting for something to happen"))?;
        drop(fds);
        // Before all else that happened, so that nothing more follows from it.
        let mut inputs = self.heard(woken.signals);
        inputs.extend(self.landed()?);
        let status_asked = std::mem::take(&mut self.status_asked);
        Ok(Happened { inputs, posted: woken.posted, status_asked })
    }

    fn signals(&mut self) -> Vec<Input> {
        self.heard(signals::take())
    }

    fn demand_in_place(&self) -> Result<()> {
        self.place.demand()
    }

    fn end_all(&mut self, by: Option<StopRequest>) {
        let asked = match stop::signal() {
            Some(SIGINT) => Some(StopRequest::Interrupt),
            Some(SIGTERM) => Some(StopRequest::SessionEnd),
            Some(_) | None => by,
        };
        // Otherwise nobody wants them to end: the next driver takes their results.
        let Some(by) = asked else { return };
        let (begun, mut urgency) = (Instant::now(), Urgency::Ask);
        while !self.in_flight.is_empty() && begun.elapsed() < END_ALL_TIME_MAX {
            for flight in self.in_flight.values_mut() {
                flight.ask_to_stop(by, urgency);
            }
            let fds: Vec<_> = self.in_flight.values().filter_map(Flight::fd).collect();
            let Ok(woken) = self.waiter.wait(&fds, LOCK_EVERY) else { return };
            drop(fds);
            if woken.signals.iter().any(|signal| [SIGINT, SIGTERM].contains(signal)) {
                urgency = Urgency::Kill;
            }
            self.in_flight.retain(|_, flight| matches!(flight.landed(), Ok(None)));
        }
    }

    fn limit_hit(&mut self, run: &Run, hit: &LimitHit) {
        // What is in the place of a project that was moved is somebody else's.
        if self.place.demand().is_ok() {
            self.shared.publish(run, hit, self.now());
        }
    }

    fn limits_elsewhere(&mut self, run: &Run) -> Vec<Input> {
        let now = self.now();
        self.shared.closed_by_others(run, now)
    }

    fn group(&mut self, run: &Run) -> Option<Input> {
        run.awaited_group()?;
        let group = self.group.as_mut()?;
        Some(Input::GroupSeen(group.ask_again(self.project, &run.id)))
    }

    fn tree(&mut self) -> &mut dyn TreeWorld {
        &mut self.tree
    }

    fn output(&self) -> &dyn AttemptOutput {
        &self.output
    }

    fn status(&self, run: &Run) -> StatusView {
        runs::status_of(self.project, run, Some(self.me.clone()), Vec::new())
    }
}
