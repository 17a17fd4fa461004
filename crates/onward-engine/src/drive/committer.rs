//! The one way from an input to a durable fact: decide, look at what it came to, append it in one commit, and only then
//! let anybody see it (I2). Who drives, who only speaks to a run, and who saves a state all come through here.
//!
//! Everything appended can be read: every record and every checkpoint was read from its own bytes and compared first.
//! What cannot be kept is refused alone where somebody posted it; where a part of the program brings it, it is an error
//! and nothing is appended. After anything that leaves the run ahead of its journal it is folded anew from the store.

use std::collections::BTreeMap;

use jiff::Timestamp;
use onward_core::event::RunStarted;
use onward_core::id::Seq;
use onward_core::ids_and_keys::IdTry;
use onward_core::input::{Input, Reply};
use onward_core::run::{self, Refusal, Run, Stepped};
use onward_store::{Appended, Entry, Lease, Store, StoreError, VALUE_BYTES_MAX};

use super::inbox::{answered, reply};
use crate::drive::keyframes::CommitObserver;
use crate::durations;
use crate::error::{Error, Result};
use crate::journal;
use crate::kill_point::reached;
use crate::redact;

/// Inputs that share one commit at most.
const INPUTS_PER_APPEND_MAX: usize = 64;

/// An input, and the inbox item it came from, if it came from one.
#[derive(Debug)]
pub struct Arrived {
    /// The question; or the answer, where it is not even decided.
    pub(super) asked: std::result::Result<Input, Reply>,
    pub(super) item: Option<String>,
    /// The poster; none: it is the committer's own.
    pub(super) by: Option<String>,
}

impl From<Input> for Arrived {
    fn from(input: Input) -> Self {
        Self { asked: Ok(redact::inputs::input(input)), item: None, by: None }
    }
}

/// The right to write about a run, and the run as its journal tells it.
pub struct Committer<'a> {
    store: &'a mut dyn Store,
    lease: &'a Lease,
    keep: &'a mut dyn CommitObserver,
    run: &'a mut Run,
    actor: &'a str,
    /// Whether the run may tell of more than its journal does.
    standing: CommitterState,
}

/// How a run stands to its journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitterState {
    #[default]
    AsStored,
    /// It could not be folded anew after a failure, and has to be before anything else.
    Ahead,
}

/// One commit that is not made yet.
struct PreparedCommit {
    entry: Entry,
    all: Stepped,
}

/// Why one of several inputs has no part in a commit.
enum LeftAside {
    /// The result cannot be kept, for this reason.
    Unfit(String),
    /// The poster took it back meanwhile.
    TakenBack,
}

/// Why a commit was not made.
enum CommitFailed {
    /// The result of the input at this place cannot be stored.
    Unfit {
        at: usize,
        why: String,
    },
    /// The input at this place is not allowed now; nobody posted it.
    Refused(Refusal),
    Store(StoreError),
}

impl<'a> Committer<'a> {
    pub fn new(
        store: &'a mut dyn Store,
        lease: &'a Lease,
        keep: &'a mut dyn CommitObserver,
        run: &'a mut Run,
        actor: &'a str,
    ) -> Self {
        Self { store, lease, keep, run, actor, standing: CommitterState::AsStored }
    }

    /// The same for a run that an earlier committer left like this.
    #[must_use]
    pub fn standing(self, standing: CommitterState) -> Self {
        Self { standing, ..self }
    }

    pub fn left(&self) -> CommitterState {
        self.standing
    }

    pub fn run(&self) -> &Run {
        self.run
    }

    pub fn store(&mut self) -> &mut dyn Store {
        self.store
    }

    /// Makes inputs that nobody posted durable, all or none of them.
    pub fn tell(&mut self, inputs: Vec<Input>, now: Timestamp) -> Result<Stepped> {
        self.commit(&inputs.into_iter().map(Arrived::from).collect::<Vec<_>>(), now)
    }

    /// The same in as many commits as it takes, for inputs that have nothing to do with each other.
    pub fn take(&mut self, mut arrived: Vec<Arrived>, now: Timestamp) -> Result<Stepped> {
        let mut all = Stepped::default();
        while !arrived.is_empty() {
            let rest = arrived.split_off(arrived.len().min(INPUTS_PER_APPEND_MAX));
            all.extend(self.commit(&std::mem::replace(&mut arrived, rest), now)?);
        }
        Ok(all)
    }

    /// Decides what came and makes it durable in one commit. What somebody posted and cannot be is answered, alone;
    /// what they took back meanwhile is left out.
    pub fn commit(&mut self, arrived: &[Arrived], now: Timestamp) -> Result<Stepped> {
        if self.standing == CommitterState::Ahead {
            self.fold_anew()?;
        }
        let (before, mut aside) = (self.run.seq, BTreeMap::new());
        loop {
            let why = match self.try_to_commit(arrived, &aside, now) {
                Ok(stepped) => {
                    self.run.ids = IdTry::FIRST;
                    return Ok(stepped);
                }
                Err(why) => why,
            };
            if let (CommitFailed::Refused(why), true) = (&why, self.run.seq == before) {
                return Err(refused(why.clone()));
            }
            let ids = self.run.ids;
            // Whatever it was: the run tells of what is not on record.
            self.standing = CommitterState::Ahead;
            let folded = self.fold_anew();
            match why {
                CommitFailed::Unfit { at, why } if arrived[at].item.is_some() => {
                    folded?;
                    aside.insert(at, LeftAside::Unfit(why));
                }
                CommitFailed::Unfit { why, .. } => return Err(Error::Unfit { why }),
                CommitFailed::Refused(why) => return Err(refused(why)),
                CommitFailed::Store(why @ StoreError::AlreadyThere { .. }) => {
                    folded?;
                    self.run.ids = ids.next().ok_or(why)?;
                }
                CommitFailed::Store(StoreError::NotWaiting { run, id }) => {
                    folded?;
                    let gone = arrived.iter().position(|one| one.item.as_ref() == Some(&id));
                    let gone = gone.filter(|at| !matches!(aside.get(at), Some(LeftAside::TakenBack)));
                    aside.insert(gone.ok_or(StoreError::NotWaiting { run, id })?, LeftAside::TakenBack);
                }
                CommitFailed::Store(why) => return Err(why.into()),
            }
        }
    }

    fn try_to_commit(
        &mut self,
        arrived: &[Arrived],
        aside: &BTreeMap<usize, LeftAside>,
        now: Timestamp,
    ) -> std::result::Result<Stepped, CommitFailed> {
        let before = self.run.seq;
        let Some(PreparedCommit { entry, all }) = self.prepare(arrived, aside, now)? else {
            return Ok(Stepped::default());
        };
        reached("commit.before-append");
        let appended = self.store.append(self.lease, before, entry).map_err(CommitFailed::Store)?;
        reached("commit.after-append");
        self.appended(&appended);
        Ok(all)
    }

    /// Steps all of it, and looks at what comes of each; nothing where there is nothing to be written.
    fn prepare(
        &mut self,
        arrived: &[Arrived],
        aside: &BTreeMap<usize, LeftAside>,
        now: Timestamp,
    ) -> std::result::Result<Option<PreparedCommit>, CommitFailed> {
        let (mut all, mut entry) = (Stepped::default(), Entry::default());
        for (at, Arrived { asked, item, by }) in arrived.iter().enumerate() {
            let declined = |reason: String| Reply::Refused { reason };
            let answer = match (aside.get(&at), asked) {
                (Some(LeftAside::TakenBack), _) => continue,
                (Some(LeftAside::Unfit(why)), _) => Reply::Unfit { reason: why.clone() },
                (None, Err(answer)) => answer.clone(),
                (None, Ok(input)) => match run::step(self.run, input, by.as_deref().unwrap_or(self.actor), now) {
                    Ok(stepped) => {
                        add(&mut entry, &self.run.started.plan_path, &stepped)
                            .map_err(|why| CommitFailed::Unfit { at, why })?;
                        let answer = reply(input, &stepped);
                        all.extend(stepped);
                        answer
                    }
                    Err(Refusal::Unfit(why)) if item.is_some() => Reply::Unfit { reason: why.to_string() },
                    Err(why) if item.is_some() => declined(why.to_string()),
                    Err(why) => return Err(CommitFailed::Refused(why)),
                },
            };
            entry.consumed.extend(item.clone().map(|id| answered(id, answer)));
        }
        if entry.events.is_empty() && entry.consumed.is_empty() {
            return Ok(None);
        }
        self.run.status().as_str().clone_into(&mut entry.status);
        entry.summary = journal::summary_bytes(self.run);
        entry.compression = journal::compression(self.run);
        Ok(Some(PreparedCommit { entry, all }))
    }

    fn appended(&mut self, appended: &Appended) {
        self.run.behind = journal::behind(&appended.chain);
        self.keep.appended(self.run, appended);
    }

    /// The run as the store tells it, whatever it is held to be here.
    fn fold_anew(&mut self) -> Result<()> {
        *self.run = journal::load(self.store, &self.run.id)?;
        self.standing = CommitterState::AsStored;
        Ok(())
    }
}

fn refused(why: Refusal) -> Error {
    match why {
        Refusal::Unfit(why) => why.into(),
        other => other.into(),
    }
}

/// Whether the first commit of such a run could be made: to be asked before there is anything of it.
pub(crate) fn demand_it_can_begin(started: &RunStarted, inputs: &[Input], now: Timestamp) -> Result<()> {
    let (mut run, mut all) = run::start(started.clone(), "", now);
    for input in inputs {
        all.extend(run::step(&mut run, input, "", now).map_err(refused)?);
    }
    whole_entry(&run, &all).map(drop).map_err(|why| Error::Unfit { why })
}

/// The same where each input has a time of its own.
pub(crate) fn demand_it_can_begin_at(
    started: &RunStarted,
    begun: Timestamp,
    inputs: &[(Input, Timestamp)],
) -> Result<()> {
    let (mut run, mut all) = run::start(started.clone(), "", begun);
    for (input, at) in inputs {
        all.extend(run::step(&mut run, input, "", *at).map_err(refused)?);
    }
    whole_entry(&run, &all).map(drop).map_err(|why| Error::Unfit { why })
}

/// The first commit of a run: that it is started, and what it starts with.
pub fn begin(
    store: &mut dyn Store,
    lease: &Lease,
    started: &RunStarted,
    inputs: &[Input],
    (actor, now): (&str, Timestamp),
) -> Result<(Run, Stepped)> {
    let inputs: Vec<(Input, Timestamp)> = inputs.iter().map(|input| (input.clone(), now)).collect();
    begin_at(store, lease, started, (actor, now, None), &inputs)
}

/// The same where each input has a time of its own, and of a run that was imported the time of that.
pub(crate) fn begin_at(
    store: &mut dyn Store,
    lease: &Lease,
    started: &RunStarted,
    (actor, begun, arrived): (&str, Timestamp, Option<Timestamp>),
    inputs: &[(Input, Timestamp)],
) -> Result<(Run, Stepped)> {
    let mut ids = IdTry::FIRST;
    loop {
        let (mut run, mut all) = run::start_with_ids(started.clone(), ids, actor, begun);
        for (input, at) in inputs {
            all.extend(run::step(&mut run, input, actor, *at).map_err(refused)?);
        }
        let mut entry = whole_entry(&run, &all).map_err(|why| Error::Unfit { why })?;
        if let Some(at) = arrived {
            entry.summary = journal::summary_of_arrival(&run, at);
        }
        reached("start.before-append");
        match store.append(lease, Seq(0), entry) {
            Ok(appended) => {
                reached("start.after-append");
                run.behind = journal::behind(&appended.chain);
                run.ids = IdTry::FIRST;
                return Ok((run, all));
            }
            Err(why @ StoreError::AlreadyThere { .. }) => ids = ids.next().ok_or(why)?,
            Err(why) => return Err(why.into()),
        }
    }
}

/// One commit of all this; or why it cannot be kept.
fn whole_entry(run: &Run, stepped: &Stepped) -> std::result::Result<Entry, String> {
    let status = run.status().as_str().to_owned();
    let (summary, compression) = (journal::summary_bytes(run), journal::compression(run));
    let mut entry = Entry { status, summary, compression, ..Entry::default() };
    add(&mut entry, &run.started.plan_path, stepped)?;
    Ok(entry)
}

/// Adds the bytes of what came of one input, each read again and compared.
fn add(entry: &mut Entry, plan: &str, stepped: &Stepped) -> std::result::Result<(), String> {
    if let Some(flaw) = &stepped.flaw {
        return Err(flaw.clone());
    }
    for recorded in &stepped.events {
        let event = journal::to_append(recorded)?;
        demand_room("its record", event.body.len())?;
        entry.events.push(event);
        entry.durations.extend(durations::row(plan, recorded));
    }
    for taken in &stepped.checkpoints {
        let checkpoint = journal::stored(taken);
        demand_room("its checkpoint", checkpoint.content.bytes().len())?;
        entry.checkpoints.push(checkpoint);
    }
    Ok(())
}

fn demand_room(what: &str, bytes: usize) -> std::result::Result<(), String> {
    if bytes <= VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(format!("{what} would have {bytes} bytes, and {VALUE_BYTES_MAX} is the most that is kept as one"))
}
