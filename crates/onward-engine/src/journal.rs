//! Events as bytes, and the fold of what is stored.

use onward_core::checkpoint::{self, Behind, CheckpointMeta, Taken};
use onward_core::event::{Event, Recorded};
use onward_core::id::{RunId, Seq};
use onward_core::run::{self, Run, cache};
use onward_core::view;
use onward_store::{Chain, Content, NewCheckpoint, NewEvent, Record, Store};
use serde::de::Error as _;
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
    /// Looked at before the content is believed, also where that happens to be understood.
    #[serde(rename = "v", deserialize_with = "known_version")]
    _known: (),
    event: Event,
}

#[derive(Deserialize)]
struct Version {
    v: u64,
}

fn known_version<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<(), D::Error> {
    let found = u64::deserialize(deserializer)?;
    if found <= VERSION.into() { Ok(()) } else { Err(D::Error::custom(format!("version {found} is not known"))) }
}

pub(crate) fn encode(event: &Event) -> Vec<u8> {
    serde_json::to_vec(&Out { v: VERSION, event }).expect("an event has only string keys")
}

/// An event on its way into the journal, read again from its own bytes; or why it must not go there.
pub(crate) fn to_append(recorded: &Recorded) -> std::result::Result<NewEvent, String> {
    let body = encode(&recorded.event);
    let read =
        serde_json::from_slice::<In>(&body).map_err(|why| format!("its record could not be read again: {why}"))?;
    if read.event != recorded.event {
        return Err("its record would be read as something else".to_owned());
    }
    Ok(NewEvent { at: recorded.at, actor: recorded.actor.clone(), body })
}

pub(crate) fn decode(run: &RunId, record: Record) -> Result<Recorded> {
    let event = match serde_json::from_slice::<In>(&record.body) {
        Ok(read) => read.event,
        Err(why) => {
            // What a later version wrote need not look like ours: it is refused by its version, not for its looks.
            let version = serde_json::from_slice::<Version>(&record.body).map(|version| version.v);
            return Err(match version {
                Ok(found) if found > VERSION.into() => Error::Store(onward_store::StoreError::Newer {
                    what: "a record of the journal",
                    found,
                    known: VERSION.into(),
                }),
                Ok(_) | Err(_) => Error::BadRecord { run: run.clone(), seq: record.seq.0, why: why.to_string() },
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Recorded> {
        let record = Record {
            seq: Seq(1),
            at: jiff::Timestamp::UNIX_EPOCH,
            actor: String::new(),
            body: body.as_bytes().to_vec(),
            hash: [0; 32],
        };
        decode(&RunId::new("a"), record)
    }

    /// A later version wrote records whose content looks like ours, or does not. All are refused by their version, wherever it
    /// stands; what says no version is damaged.
    #[test]
    fn a_later_record_is_refused_by_its_version() {
        let event = r#""event":{"type":"run_archived"}"#;
        assert!(read(&format!(r#"{{"v":0,{event}}}"#)).is_ok());
        for text in [
            format!(r#"{{"v":1,{event}}}"#),
            format!(r#"{{{event},"v":1}}"#),
            r#"{"v":4294967296,"event":{"type":"later"}}"#.to_owned(),
        ] {
            let newer = matches!(read(&text), Err(Error::Store(onward_store::StoreError::Newer { .. })));
            assert!(newer, "{text}");
        }
        for text in [format!("{{{event}}}"), r#"{"v":0}"#.to_owned(), "[]".to_owned(), String::new()] {
            assert!(matches!(read(&text), Err(Error::BadRecord { .. })), "{text}");
        }
    }
}
