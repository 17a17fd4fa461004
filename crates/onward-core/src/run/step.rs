//! The one way forward, and the fold: what happened is decided into events, the events are folded, and what follows from the new
//! state is recorded too.

use jiff::Timestamp;

use super::{Refusal, Run, decide, settle};
use crate::checkpoint::{self, CheckpointHead, KeptTree, NewCheckpointDocument};
use crate::event::{Event, Recorded, RunStarted, WorktreeFact};
use crate::ids_and_keys::IdTry;
use crate::input::{Begin, Input};

/// The outcome of one input: the events to append, and a document for every checkpoint among them.
#[derive(Debug, Default)]
pub struct Stepped {
    pub events: Vec<Recorded>,
    pub checkpoints: Vec<NewCheckpointDocument>,
    /// A checkpoint among them would not be read as it was meant: nothing of this may be appended.
    pub flaw: Option<String>,
}

impl Stepped {
    /// The outcomes of two inputs, one after the other, as one.
    pub fn extend(&mut self, next: Self) {
        self.events.extend(next.events);
        self.checkpoints.extend(next.checkpoints);
        self.flaw = self.flaw.take().or(next.flaw);
    }
}

/// More rounds than any state can need to come to rest; reaching it is a bug.
const SETTLE_ROUNDS_MAX: usize = 1_000_000;

/// Moves a run forward by one input. The run is ahead of its journal until the caller has appended what comes back; a
/// caller that cannot append must drop the run and fold it anew.
pub fn step(run: &mut Run, input: &Input, actor: &str, now: Timestamp) -> Result<Stepped, Refusal> {
    let now = as_stored(now);
    let mut stepped = Stepped::default();
    for event in decide::decide(run, input, now)? {
        record(run, event, actor, now, &mut stepped);
        // Now, and not after the whole input: two phases that are finished by one input leave two checkpoints.
        while let Some(event) = settle::books(run, now) {
            record(run, event, "driver", now, &mut stepped);
        }
    }
    settle_all(run, now, &mut stepped);
    Ok(stepped)
}

/// The run as it would stand if a driver began like this: for whoever wants to know beforehand. Nothing is recorded.
pub fn preview(run: &Run, begin: &Begin, now: Timestamp) -> Result<Run, Refusal> {
    let mut ahead = run.clone();
    // Files that are halfway are seen to before anything else; how that ends is not known yet.
    if let Some(phase) = run.files_on_their_way().cloned() {
        let fact = Box::new(WorktreeFact::CalledOff { reason: String::new(), paths: Vec::new() });
        fold_in(&mut ahead, Event::WorktreeChanged { phase, fact });
    }
    for event in decide::decide(&ahead, &Input::Begin(begin.clone()), now)? {
        fold_in(&mut ahead, event);
    }
    Ok(ahead)
}

/// Folds in what is not on record. Nothing took any time.
pub(super) fn fold_in(ahead: &mut Run, event: Event) {
    ahead.apply(&Recorded { seq: ahead.seq.next(), at: ahead.updated_at, actor: String::new(), event });
}

/// The same where these follow. What cannot be is left out.
pub fn preview_inputs(run: Run, inputs: &[Input], now: Timestamp) -> Run {
    let mut ahead = run;
    for input in inputs {
        for event in decide::decide(&ahead, input, now).unwrap_or_default() {
            fold_in(&mut ahead, event);
        }
    }
    ahead
}

/// The first step of a new run.
pub fn start(started: RunStarted, actor: &str, now: Timestamp) -> (Run, Stepped) {
    start_with_ids(started, IdTry::FIRST, actor, now)
}

/// The same after the ids of its checkpoints were found taken.
pub fn start_with_ids(started: RunStarted, ids: IdTry, actor: &str, now: Timestamp) -> (Run, Stepped) {
    let now = as_stored(now);
    let first = Recorded {
        seq: crate::id::Seq(1),
        at: now,
        actor: actor.to_owned(),
        event: Event::RunStarted(Box::new(started)),
    };
    let mut run = Run::from_first(&first).expect("the first event of a run is RunStarted: it was made above");
    run.ids = ids;
    let mut stepped = Stepped { events: vec![first], ..Stepped::default() };
    settle_all(&mut run, now, &mut stepped);
    (run, stepped)
}

/// Folds a journal from its first event on.
pub fn fold<'a>(events: impl IntoIterator<Item = &'a Recorded>) -> Option<Run> {
    let mut events = events.into_iter();
    let mut run = Run::from_first(events.next()?)?;
    for recorded in events {
        run.apply(recorded);
    }
    Some(run)
}

/// The head of the checkpoint that an event tells of, if it tells of one. `run` is what the event is about to be folded
/// into: the same checkpoint can be made from the journal again at any time.
pub fn checkpoint_at(run: &Run, recorded: &Recorded) -> Option<CheckpointHead> {
    let Event::CheckpointTaken { id, triggers, phase, name } = &recorded.event else { return None };
    Some(CheckpointHead {
        id: id.clone(),
        seq: recorded.seq,
        triggers: triggers.clone(),
        phase: phase.clone(),
        name: name.clone(),
        created_at: recorded.at,
        status: run.status(),
        can_resume: run.is_unfinished() && !run.sections().recovery.forbidden,
        snapshot: run.fresh_snapshot().map(|snapshot| KeptTree {
            commit: snapshot.commit.clone(),
            number: snapshot.number,
            mixed: run.running().map(|(phase, _)| phase.id.clone()).collect(),
        }),
    })
}

/// Whether all that follows from the state is on record, as it is after every [`step`]. A journal that was cut off
/// elsewhere knows a cause without its consequences.
pub fn is_settled(run: &Run) -> bool {
    settle::settle(run, run.updated_at).is_none()
}

/// Times are kept to the microsecond. What is folded live must be what is read back later, to the last digit.
pub fn as_stored(now: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(now.as_microsecond()).expect("a time that fits in nanoseconds fits in microseconds")
}

fn settle_all(run: &mut Run, now: Timestamp, stepped: &mut Stepped) {
    for _ in 0..SETTLE_ROUNDS_MAX {
        let Some(event) = settle::settle(run, now) else { return };
        record(run, event, "driver", now, stepped);
    }
    unreachable!("the state of run {} does not come to rest; it goes on with {:?}", run.id, settle::settle(run, now));
}

fn record(run: &mut Run, event: Event, actor: &str, now: Timestamp, stepped: &mut Stepped) {
    let recorded = Recorded { seq: run.seq.next(), at: now, actor: actor.to_owned(), event };
    // Before it is folded: the fold forgets what changed since the checkpoint before.
    if let Some(head) = checkpoint_at(run, &recorded) {
        let taken = checkpoint::taken(run, head.clone());
        if let Err(why) = checkpoint::reads_back(run, &head, &taken.content) {
            stepped.flaw.get_or_insert(why);
        }
        run.behind = run.behind.then(&taken.content);
        stepped.checkpoints.push(taken);
    }
    run.apply(&recorded);
    stepped.events.push(recorded);
}
