//! The inbox of the driver: posted items and their replies.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use onward_core::event::{Event, ExternalReport, SharedFact};
use onward_core::input::{Input, Posted, Reply};
use onward_core::mutant::{self, Mutant};
use onward_core::patch;
use onward_core::run::Stepped;
use onward_store::{Consumed, InboxItem};
use serde::Deserialize;
use serde_json::Value;

use super::committer::{Arrived, Committer};
use crate::commands::replan;
use crate::drive::world::{TreeWorld, keep};
use crate::error::Result;
use crate::redact;
use crate::sys::stop;

/// How long somebody who reports waits for the notices that follow from it.
const NOTICES_TIME_MAX: Duration = Duration::from_secs(2);
const NOTICE_LOOK_EVERY: Duration = Duration::from_millis(10);
const ITEMS_PER_LOOK_MAX: usize = 64;
/// Looks until nothing waits any more; whoever posts faster than that is heard by the loop.
const LOOKS_MAX: usize = 64;
/// A reason that somebody is told; one that quotes what they sent need not be as long as that.
const REASON_BYTES_MAX: usize = 4096;

/// The posted items, the oldest first; a manual checkpoint comes with the working tree of this moment.
pub(crate) fn waiting(committer: &mut Committer<'_>, tree: &mut dyn TreeWorld) -> Result<Vec<Arrived>> {
    let id = committer.run().id.clone();
    let items = committer.store().inbox(&id, ITEMS_PER_LOOK_MAX)?;
    let mut asked = Vec::with_capacity(items.len());
    for item in items {
        tracing::info!(message = %item.id, "a message");
        asked.push(understood(item, &committer.run().state, &asked));
    }
    let wanted = committer.run().started.snapshots && asked.iter().any(wants_the_tree);
    let first = if wanted { keep(tree, committer.run())? } else { Vec::new() };
    Ok(first.into_iter().map(Arrived::from).chain(asked).collect())
}

/// Answers all that waits for a run that nobody drives: nothing is started by it.
pub(crate) fn answer_all(committer: &mut Committer<'_>, tree: &mut dyn TreeWorld, now: Timestamp) -> Result<Stepped> {
    let mut all = mark_what_is_done(committer, tree, now)?;
    for _ in 0..LOOKS_MAX {
        let arrived = waiting(committer, tree)?;
        if arrived.is_empty() {
            break;
        }
        // It waits for whoever comes next, with all that it asks for.
        stop::demand_none()?;
        all.extend(note_that_the_driver_is_gone(committer, now)?);
        all.extend(committer.take(arrived, now)?);
        // First, so that the snapshot has it.
        all.extend(mark_what_is_done(committer, tree, now)?);
        all.extend(label_what_has_started(committer, tree, now)?);
        if committer.run().tree_is_awaited() {
            // A tree that cannot be kept is on record as such; the checkpoint is taken all the same.
            let kept = keep(tree, committer.run())?;
            all.extend(committer.tell(kept, now)?);
        }
        let told = tree.mirror(committer.run());
        if !told.is_empty() {
            all.extend(committer.tell(told, now)?);
        }
    }
    Ok(all)
}

/// Sends the notices that are due now, where nobody drives the run; what takes long waits for the next driver.
pub(crate) fn tell_people(committer: &mut Committer<'_>, tree: &mut dyn TreeWorld) -> Result<()> {
    let until = Instant::now() + NOTICES_TIME_MAX;
    while Instant::now() < until && stop::asked().is_none() {
        let now = Timestamp::now();
        let run = committer.run();
        let Some(due) = run.notice_wanted(now) else { break };
        match tree.notify(run, due)? {
            Some(sent) => drop(committer.tell(vec![sent], now)?),
            None => std::thread::sleep(NOTICE_LOOK_EVERY),
        }
    }
    if let Some(ended) = tree.end_notices() {
        committer.tell(vec![ended], Timestamp::now())?;
    }
    Ok(())
}

/// Has the file of a plan in Markdown say what is done.
fn mark_what_is_done(committer: &mut Committer<'_>, tree: &mut dyn TreeWorld, now: Timestamp) -> Result<Stepped> {
    let mut all = Stepped::default();
    // Each is told of in one way or the other, or nothing more is tried.
    loop {
        let wanted = committer.run().marks_wanted().next().cloned();
        let Some(phase) = wanted else { return Ok(all) };
        let told = tree.mark(committer.run(), &phase)?;
        all.extend(committer.tell(vec![told], now)?);
    }
}

/// Has the issue say what has started: with nobody at it the run would have to wait for a driver.
fn label_what_has_started(committer: &mut Committer<'_>, tree: &mut dyn TreeWorld, now: Timestamp) -> Result<Stepped> {
    let mut all = Stepped::default();
    loop {
        let wanted = committer.run().label_wanted().cloned();
        let Some(phase) = wanted.filter(|_| committer.run().ending().is_some()) else { return Ok(all) };
        let told = tree.label(committer.run(), &phase)?;
        // What was given up says nothing about the issue.
        stop::demand_none()?;
        all.extend(committer.tell(vec![told], now)?);
    }
}

/// A run that nobody drives and that nobody stopped was killed. That is put on record before anything else is, or an
/// answer would set something off that nobody is there to do.
pub(crate) fn note_that_the_driver_is_gone(committer: &mut Committer<'_>, now: Timestamp) -> Result<Stepped> {
    let run = committer.run();
    if run.epoch == 0 || run.archived || run.ending().is_some() {
        return Ok(Stepped::default());
    }
    committer.tell(vec![Input::DriverGone], now)
}

/// The part of a message that tells who posted it. Those before there was one do not say.
#[derive(Deserialize)]
struct PostedBy {
    posted_by: Option<String>,
}

/// A message as it is posted.
pub(crate) fn message(posted: &Posted, by: &str) -> Vec<u8> {
    let mut message = serde_json::to_value(posted).expect("a message has only string keys");
    message["posted_by"] = by.into();
    serde_json::to_vec(&message).expect("a message has only string keys")
}

/// A message that cannot be read is answered all the same, or it would come again for ever.
fn understood(item: InboxItem, state: &Value, earlier: &[Arrived]) -> Arrived {
    let asked = match serde_json::from_slice::<Posted>(&item.body) {
        Ok(posted) => match demand_apart(&posted, state, earlier) {
            Ok(()) => Ok(Input::Posted(redact::inputs::posted(posted))),
            Err(reason) => Err(Reply::Unfit { reason }),
        },
        Err(why) => Err(Reply::Refused { reason: format!("the message cannot be understood: {why}") }),
    };
    let by = serde_json::from_slice::<PostedBy>(&item.body).ok().and_then(|envelope| envelope.posted_by);
    Arrived { asked, item: Some(item.id), by }
}

/// Refuses a message with a name that is another's once secrets are cut out of it: one of the state, or of a message that came before
/// it and is not carried out yet.
fn demand_apart(posted: &Posted, state: &Value, earlier: &[Arrived]) -> std::result::Result<(), String> {
    if !redact::collisions::cuts_a_name(posted) {
        return Ok(());
    }
    redact::collisions::demand_posted_apart(&state_after(state, earlier), posted)
}

/// The state as it will be once these messages are carried out.
fn state_after(state: &Value, messages: &[Arrived]) -> Value {
    let mut state = state.clone();
    for message in messages {
        match &message.asked {
            Ok(Input::Posted(Posted::Merge { patch })) => {
                state = patch::merge(&state, &Value::Object(patch.clone()));
            }
            Ok(Input::Posted(Posted::Save { state: saved })) => state = Value::Object(saved.clone()),
            // One that does not fit is refused when it is carried out, and changes nothing.
            Ok(Input::Posted(Posted::Change { ops, .. })) => {
                let mut changed = state.clone();
                if patch::apply(&mut changed, ops).is_ok() {
                    state = changed;
                }
            }
            Ok(_) | Err(_) => {}
        }
    }
    state
}

fn wants_the_tree(arrived: &Arrived) -> bool {
    match &arrived.asked {
        Ok(Input::Posted(Posted::Checkpoint { .. })) => true,
        Ok(Input::Posted(Posted::Share { fact })) => {
            matches!(**fact, SharedFact::ConflictStarted { .. } | SharedFact::ConflictResolved { .. })
        }
        Ok(_) | Err(_) => false,
    }
}

/// The answer to what was asked. What follows from it for others in the same step is no part of it.
pub(crate) fn reply(asked: &Input, stepped: &Stepped) -> Reply {
    let overruled = stepped.events.iter().find_map(|recorded| match &recorded.event {
        Event::Reported { report: ExternalReport::Overruled { reason, .. }, .. } => Some(reason.clone()),
        _ => None,
    });
    if let Some(reason) = overruled {
        return Reply::Overruled { reason };
    }
    let about_a_plan = matches!(asked, Input::Posted(Posted::Replan { .. } | Posted::SettleReplan { .. }));
    if let Some(reply) = replan::reply(stepped).filter(|_| about_a_plan) {
        return reply;
    }
    match stepped.checkpoints.first() {
        Some(checkpoint) => Reply::Checkpoint { id: checkpoint.id.to_string() },
        None => Reply::Done,
    }
}

/// The answer as it is stored.
pub(crate) fn answered(id: String, reply: Reply) -> Consumed {
    let reply = match reply {
        _ if mutant::is(Mutant::LoseAnInboxReply) => Reply::Done,
        Reply::Refused { reason } => Reply::Refused { reason: cut(reason) },
        Reply::Unfit { reason } => Reply::Unfit { reason: cut(reason) },
        other @ (Reply::Checkpoint { .. } | Reply::Done | Reply::Overruled { .. } | Reply::NotReplanned { .. }) => {
            other
        }
    };
    Consumed { id, reply: serde_json::to_vec(&reply).expect("a reply has only string keys") }
}

fn cut(mut reason: String) -> String {
    reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
    reason
}
