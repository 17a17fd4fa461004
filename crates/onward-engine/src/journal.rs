//! Events as bytes, and the fold of what is stored.

use onward_core::checkpoint::{self, Behind, CheckpointMeta, Taken};
use onward_core::event::{Event, Recorded};
use onward_core::id::{RunId, Seq};
use onward_core::run::{self, Run, Stepped, cache};
use onward_core::view;
use onward_store::{Chain, Content, Entry, NewCheckpoint, NewEvent, Record, Store};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The version of the events' form. 0 may still change between builds.
const VERSION: u32 = 0;

const EVENTS_PER_READ: usize = 4096;

#[derive(Serialize)]
struct Out<'a> {
    v: u32,
    event: &'a Event,
}

#[derive(Deserialize)]
struct In {
    event: Event,
}

#[derive(Deserialize)]
struct Version {
    v: u32,
}

pub(crate) fn encode(event: &Event) -> Vec<u8> {
    serde_json::to_vec(&Out { v: VERSION, event }).expect("an event has only string keys")
}

pub(crate) fn decode(run: &RunId, record: Record) -> Result<Recorded> {
    let bad = |why: String| Error::BadRecord { run: run.clone(), seq: record.seq.0, why };
    let event = match serde_json::from_slice::<In>(&record.body) {
        Ok(read) => read.event,
        Err(why) => {
            let version = serde_json::from_slice::<Version>(&record.body).map(|version| version.v);
            return Err(match version {
                Ok(found) if found > VERSION => Error::Store(onward_store::StoreError::Newer {
                    what: "a record of the journal",
                    found: found.into(),
                    known: VERSION.into(),
                }),
                Ok(_) | Err(_) => bad(why.to_string()),
            });
        }
    };
    Ok(Recorded { seq: record.seq, at: record.at, actor: record.actor, event })
}

/// The event in the body of a record, whatever record it is.
pub(crate) fn event(body: &[u8]) -> Option<Event> {
    serde_json::from_slice::<In>(body).ok().map(|read| read.event)
}

/// The events of a run behind a position, oldest first.
pub(crate) fn events(store: &mut dyn Store, run: &RunId, after: Seq) -> Result<Vec<Recorded>> {
    let mut all: Vec<Recorded> = Vec::new();
    loop {
        let after = all.last().map_or(after, |last| last.seq);
        let read = store.events(run, after, EVENTS_PER_READ)?;
        let last = read.len() < EVENTS_PER_READ;
        for record in read {
            all.push(decode(run, record)?);
        }
        if last {
            return Ok(all);
        }
    }
}

/// The run as its journal tells it: the fold cache, where there is one, and the events behind it.
pub fn load(store: &mut dyn Store, run: &RunId) -> Result<Run> {
    let cached = store.fold(run)?.filter(|fold| fold.version == cache::FOLD_VERSION);
    if let Some(mut folded) = cached.and_then(|fold| cache::decode(&fold.bytes).filter(|run| run.seq == fold.seq)) {
        catch_up(store, &mut folded)?;
        return Ok(folded);
    }
    load_whole(store, run)
}

/// Folds in what came since.
pub(crate) fn catch_up(store: &mut dyn Store, run: &mut Run) -> Result<()> {
    for recorded in events(store, &run.id, run.seq)? {
        run.apply(&recorded);
    }
    Ok(())
}

/// The run from its first event on, whatever is cached.
pub(crate) fn load_whole(store: &mut dyn Store, run: &RunId) -> Result<Run> {
    let events = events(store, run, Seq(0))?;
    run::fold(&events).ok_or_else(|| Error::NoSuchRun(run.to_string()))
}

/// What one commit is to hold.
pub fn entry(run: &Run, stepped: &Stepped) -> Entry {
    Entry {
        events: stepped
            .events
            .iter()
            .map(|e| NewEvent { at: e.at, actor: e.actor.clone(), body: encode(&e.event) })
            .collect(),
        checkpoints: stepped.checkpoints.iter().map(stored).collect(),
        consumed: Vec::new(),
        status: run.status().as_str().to_owned(),
        summary: summary_bytes(run),
    }
}

pub(crate) fn summary_bytes(run: &Run) -> Vec<u8> {
    serde_json::to_vec(&view::summary(run)).expect("a summary has only string keys")
}

pub(crate) fn stored(taken: &Taken) -> NewCheckpoint {
    NewCheckpoint {
        id: taken.id.clone(),
        seq: taken.seq,
        meta: serde_json::to_vec(&taken.meta).expect("it has only string keys"),
        content: match &taken.content {
            checkpoint::Content::Whole(bytes) => Content::Whole(bytes.clone()),
            checkpoint::Content::Patch(bytes) => Content::Patch(bytes.clone()),
        },
    }
}

/// What the store says a reader of the newest checkpoint goes through.
pub(crate) fn behind(chain: &Chain) -> Behind {
    Behind { whole_bytes: chain.keyframe_bytes, patch_bytes: chain.patch_bytes }
}

pub(crate) fn meta(bytes: &[u8]) -> Option<CheckpointMeta> {
    serde_json::from_slice(bytes).ok()
}
