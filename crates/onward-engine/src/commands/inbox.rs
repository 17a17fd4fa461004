//! Asking something of a run: of the process that drives it, or, where there is none, by being that process briefly.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use onward_core::checkpoint::Trigger;
use onward_core::data_limits::text_fits;
use onward_core::event::RunResult;
use onward_core::id::{PhaseId, RunId};
use onward_core::input::{Choice, Posted, Reply};
use onward_core::lookup::Name;
use onward_core::run::{Refusal, Run};
use onward_store::{LeaseKind, StoreError, TakenBack, VALUE_BYTES_MAX};

use crate::Onward;
use crate::attendant;
use crate::drive::keyframes::KeepNothing;
use crate::drive::waiter;
use crate::drive::{Committer, inbox};
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::kill_point::reached;
use crate::queries::runs::require_phase;
use crate::redact;
use crate::start::starting::{actor, holder};
use crate::sys::stop;
use crate::vcs::journal_piece;
use crate::vcs::working_tree::WorkingTree;

const ANSWER_WAIT_MAX: Duration = Duration::from_secs(10);
const ANSWER_LOOK_EVERY: Duration = Duration::from_millis(2);

/// A name by which nothing would ever be found is refused: an empty one, and those that stand for the newest or the one before.
fn demand_a_name(called: &str) -> Result<()> {
    match Name::parse(called.trim()) {
        Some(Name::Id(_)) => Ok(()),
        None => Err(Error::EmptyName("checkpoint")),
        Some(Name::Newest | Name::Before) => {
            let why = format!("{called} stands for the newest checkpoint or the one before, and cannot be a name");
            Err(Error::Unfit { why })
        }
    }
}

impl Onward {
    /// Takes a checkpoint of a run by hand.
    pub fn checkpoint(&mut self, name: Option<&str>, called: Option<&str>) -> Result<String> {
        text_fits("its name", called.unwrap_or_default())?;
        called.map_or(Ok(()), demand_a_name)?;
        let run = self.find_run(name)?;
        match self.post(&run, Posted::Checkpoint { name: called.map(str::to_owned) })? {
            Reply::Checkpoint { id } => Ok(id),
            Reply::Done
            | Reply::Refused { .. }
            | Reply::Unfit { .. }
            | Reply::Overruled { .. }
            | Reply::NotReplanned { .. } => {
                unreachable!("a checkpoint is answered with its id or refused")
            }
        }
    }

    /// Records a person's answer about one phase; whoever drives the run next, or drives it now, obeys.
    pub fn choose(&mut self, name: Option<&str>, phase: &str, choice: Choice, reason: Option<String>) -> Result<RunId> {
        let run = self.find_run(name)?;
        let state = self.load(&run)?;
        let phase = require_phase(&state, phase)?;
        if matches!(choice, Choice::Retry | Choice::RetryClean) {
            demand_something_is_left(&state, &phase)?;
            self.demand_it_has_ended(&state, &phase)?;
        }
        if choice == Choice::RetryClean {
            self.demand_tree_alone(&state)?;
        }
        self.post(&run, Posted::Choose { phase, choice, by: Some(actor(&self.project)), reason })?;
        Ok(run)
    }

    /// Refuses a retry of a phase that is at work: it would go on as it is, and whoever asked would be told that it does not.
    fn demand_it_has_ended(&mut self, run: &Run, phase: &PhaseId) -> Result<()> {
        let attempt = run.phase_state(phase).and_then(|state| state.attempt.as_ref());
        let Some(number) = attempt.map(|attempt| attempt.number) else { return Ok(()) };
        if self.driver(&run.id)?.is_some() {
            return Err(Refusal::at_work(phase).into());
        }
        let at_work = attendant::is_at_work(&shell::folder(&self.project, run, phase, number)).unwrap_or(false);
        if at_work { Err(Refusal::outlived_its_driver(phase).into()) } else { Ok(()) }
    }

    /// Leaves a message, sees to it that it is heard, and gives back the answer. Durable before it returns. A message without an
    /// answer is taken back.
    pub(crate) fn post(&mut self, run: &RunId, posted: Posted) -> Result<Reply> {
        let body = inbox::message(&redact::inputs::posted(posted), &actor(&self.project));
        if body.len() > VALUE_BYTES_MAX {
            let why = format!("it has {} bytes, and {VALUE_BYTES_MAX} is the most that is kept as one", body.len());
            return Err(Error::Unfit { why });
        }
        self.demand_not_behind_notes(run)?;
        let now = Timestamp::now();
        let id = format!("{}-{}", std::process::id(), now.as_nanosecond());
        self.store()?.post(run, &id, now, body)?;
        reached("post.after-post");
        let _open = stop::OpenRequest::begin();
        let answered = match self.wait_for_answer(run, &id) {
            Ok(bytes) => bytes,
            Err(why) => self.take_back(run, &id, why)?,
        };
        understood(run, &answered)
    }

    /// The answer to a message; an error where nobody gives one, or a stop is asked for meanwhile.
    fn wait_for_answer(&mut self, run: &RunId, id: &str) -> Result<Vec<u8>> {
        waiter::wake(&self.wake_path(run));
        let deadline = Instant::now() + ANSWER_WAIT_MAX;
        loop {
            if let Some(bytes) = self.store()?.reply(run, id)? {
                return Ok(bytes);
            }
            self.answer_if_nobody_drives(run)?;
            if Instant::now() > deadline {
                return Err(Error::NoAnswer { run: run.clone(), seconds: ANSWER_WAIT_MAX.as_secs() });
            }
            stop::demand_none()?;
            std::thread::sleep(ANSWER_LOOK_EVERY);
        }
    }

    /// Takes a message back whose answer is not waited for any more: what is told as not done must not be done later by a driver
    /// that was stopped for a while. The answer is given where there is one after all.
    fn take_back(&mut self, run: &RunId, id: &str, why: Error) -> Result<Vec<u8>> {
        let reply = Reply::Refused { reason: "it was taken back".to_owned() };
        let reply = serde_json::to_vec(&reply).expect("a reply has only string keys");
        let taken = self.store().and_then(|store| match store.take_back(run, id, reply)? {
            TakenBack::Yes => Ok(None),
            TakenBack::Answered => Ok(store.reply(run, id)?),
        });
        match (taken, why) {
            (Ok(Some(answer)), _) => Ok(answer),
            (Err(_), Error::Stopped { .. } | Error::NoAnswer { .. }) => Err(Error::LeftWaiting { run: run.clone() }),
            (Ok(None) | Err(_), why) => Err(why),
        }
    }

    /// Takes the lease for a moment and answers what waits in the inbox. Never starts anything.
    fn answer_if_nobody_drives(&mut self, run: &RunId) -> Result<()> {
        if self.driver(run)?.is_some() {
            return Ok(());
        }
        let lease = match self.store()?.take_lease(run, LeaseKind::Brief, holder()) {
            Ok(lease) => lease,
            Err(StoreError::Held { .. }) => return Ok(()),
            Err(other) => return Err(other.into()),
        };
        let state = self.load(run)?;
        let mut state = self.demand_no_files_halfway(state, &lease)?;
        let mut tree = WorkingTree::of(&self.project, state.started.worktree.as_deref());
        let (actor, mut keep) = (actor(&self.project), KeepNothing);
        let mut committer = Committer::new(self.store()?, &lease, &mut keep, &mut state, &actor);
        let answered = inbox::answer_all(&mut committer, &mut tree, Timestamp::now())?;
        // An agent's hook waits for no git and for nobody who is told; whoever comes next does both.
        let by_a_hook = answered.checkpoints.iter().any(|one| one.meta.triggers == [Trigger::SessionEnd]);
        if !by_a_hook {
            inbox::tell_people(&mut committer, &mut tree)?;
        }
        if answered.checkpoints.iter().any(|one| one.meta.triggers != [Trigger::SessionEnd]) {
            journal_piece::copy_after_checkpoint(&self.project.store_folder(), &state, None);
        }
        drop(lease);
        Ok(())
    }
}

fn understood(run: &RunId, bytes: &[u8]) -> Result<Reply> {
    match serde_json::from_slice(bytes) {
        Ok(Reply::Refused { reason }) => Err(Error::RequestRefused { run: run.clone(), reason }),
        Ok(Reply::Unfit { reason }) => Err(Error::Unfit { why: reason }),
        Ok(reply) => Ok(reply),
        Err(why) => Err(Error::BadRecord { run: run.clone(), seq: 0, why: why.to_string() }),
    }
}

/// A run that is complete is opened again by a start alone.
fn demand_something_is_left(run: &Run, phase: &PhaseId) -> Result<()> {
    if run.result != Some(RunResult::Completed) {
        return Ok(());
    }
    let why = format!("the run is complete; do it again with  onward resume {} --retry {phase}", run.id);
    Err(Refusal::Illegal("a retry", phase.clone(), why).into())
}
