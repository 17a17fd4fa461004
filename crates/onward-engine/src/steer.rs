//! Asking something of a run: of the process that drives it, or, where there is none, by being that process briefly.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use onward_core::id::RunId;
use onward_core::input::{Choice, Input, Posted, Reply};
use onward_core::run;
use onward_store::{InboxItem, LeaseKind, StoreError};

use crate::Onward;
use crate::driver::{self, answered, reply, wants_the_tree};
use crate::error::{Error, Result};
use crate::hand::Hand;
use crate::journal;
use crate::look::require_phase;
use crate::start::{actor, holder};
use crate::tree::WorkingTree;
use crate::waiter;
use crate::world::Tree;

const ANSWER_WAIT_MAX: Duration = Duration::from_secs(10);
const ANSWER_LOOK_EVERY: Duration = Duration::from_millis(2);
const INBOX_ITEMS_MAX: usize = 64;

impl Onward {
    /// Takes a checkpoint of a run by hand.
    pub fn checkpoint(&mut self, name: Option<&str>, called: Option<&str>) -> Result<String> {
        let run = self.find_run(name)?;
        match self.post(&run, &Posted::Checkpoint { name: called.map(str::to_owned) })? {
            Reply::Checkpoint { id } => Ok(id),
            Reply::Done | Reply::Refused { .. } | Reply::Overruled { .. } | Reply::NotReplanned { .. } => {
                unreachable!("a checkpoint is answered with its id or refused")
            }
        }
    }

    /// Records a person's answer about one phase; whoever drives the run next, or drives it now, obeys.
    pub fn choose(&mut self, name: &str, phase: &str, choice: Choice) -> Result<RunId> {
        let run = self.find_run(Some(name))?;
        let state = self.load(&run)?;
        let phase = require_phase(&state, phase)?;
        if choice == Choice::RetryClean {
            self.demand_tree_alone(&state)?;
        }
        self.post(&run, &Posted::Choose { phase, choice })?;
        Ok(run)
    }

    /// Puts a run away. It is kept, and is no longer in anybody's way.
    pub fn archive(&mut self, run: &RunId) -> Result<()> {
        self.post(run, &Posted::Archive).map(|_| ())
    }

    /// Leaves a message, sees to it that it is heard, and gives back the answer. Durable before it returns.
    pub(crate) fn post(&mut self, run: &RunId, posted: &Posted) -> Result<Reply> {
        let body = serde_json::to_vec(posted).expect("a message has only string keys");
        let now = Timestamp::now();
        let id = format!("{}-{}", std::process::id(), now.as_nanosecond());
        self.store()?.post(run, &id, now, body)?;
        waiter::wake(&self.wake_path(run));
        let deadline = Instant::now() + ANSWER_WAIT_MAX;
        loop {
            if let Some(bytes) = self.store()?.reply(run, &id)? {
                return understood(run, &bytes);
            }
            self.answer_if_nobody_drives(run)?;
            if Instant::now() > deadline {
                return Err(Error::NoAnswer { run: run.clone(), seconds: ANSWER_WAIT_MAX.as_secs() });
            }
            std::thread::sleep(ANSWER_LOOK_EVERY);
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
        let items = self.store()?.inbox(run, INBOX_ITEMS_MAX)?;
        let project = self.project.clone();
        let mut hand = Hand { store: self.store()?, lease: &lease, run: state, actor: actor(), now: Timestamp::now() };
        note_that_the_driver_is_gone(&mut hand)?;
        if hand.run.started.snapshots && items.iter().any(|item| wants_the_tree(&driver::understood(&item.body))) {
            // A tree that cannot be kept is on record as such; the checkpoint is taken all the same.
            let mut tree = WorkingTree::of(&project, hand.run.started.worktree.as_deref());
            hand.tell(&[tree.snapshot(&hand.run)?], Vec::new())?;
        }
        for item in items {
            answer(&mut hand, item)?;
        }
        if hand.run.tree_is_awaited() {
            let mut tree = WorkingTree::of(&project, hand.run.started.worktree.as_deref());
            hand.tell(&[tree.snapshot(&hand.run)?], Vec::new())?;
        }
        self.store()?.drop_lease(lease).map_err(Error::from)
    }
}

/// A run that nobody drives and that nobody stopped was killed. That is put on record before anything else is, or an
/// answer would set something off that nobody is there to do.
fn note_that_the_driver_is_gone(hand: &mut Hand<'_>) -> Result<()> {
    if hand.run.epoch == 0 || hand.run.archived || hand.run.ending().is_some() {
        return Ok(());
    }
    hand.tell(&[Input::DriverGone], Vec::new()).map(|_| ())
}

/// Decides one message and answers it in the same commit.
fn answer(hand: &mut Hand<'_>, item: InboxItem) -> Result<()> {
    let input = driver::understood(&item.body);
    let (before, now) = (hand.run.seq, Timestamp::now());
    let stepped = run::step(&mut hand.run, &input, &hand.actor, now);
    let answer = match &stepped {
        Ok(stepped) => reply(&input, stepped),
        Err(why) => Reply::Refused { reason: why.to_string() },
    };
    let mut entry = journal::entry(&hand.run, &stepped.unwrap_or_default());
    entry.consumed.push(answered(item.id, &answer));
    hand.store.append(hand.lease, before, entry)?;
    Ok(())
}

fn understood(run: &RunId, bytes: &[u8]) -> Result<Reply> {
    match serde_json::from_slice(bytes) {
        Ok(Reply::Refused { reason }) => Err(Error::Refused { run: run.clone(), reasons: vec![reason] }),
        Ok(reply) => Ok(reply),
        Err(why) => Err(Error::BadRecord { run: run.clone(), seq: 0, why: why.to_string() }),
    }
}
