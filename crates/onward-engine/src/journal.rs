//! Events as bytes, and the fold of what is stored.

use jiff::Timestamp;
use onward_core::checkpoint::{self, CheckpointMeta, NewCheckpointDocument, PatchDebt};
use onward_core::config::Compression;
use onward_core::event::{Event, Recorded};
use onward_core::id::{RunId, Seq};
use onward_core::read_back::{self, Part};
use onward_core::run::{self, Run, cache};
use onward_core::view::{self, Summary};
use onward_store::{Chain, NewCheckpoint, NewEvent, Record, Store, StoredContent};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The version of the events' form. 0 has the same form and was written before the first release.
const VERSION: u32 = 1;

/// Records that are read at once at first, and at most. They may be large, so many are read only where they are small.
const RECORDS_PER_READ: std::ops::RangeInclusive<usize> = 4..=1024;
/// After a read of more bytes than this fewer records are read at once.
const BYTES_PER_READ: usize = 4 << 20;
/// A change of the state whose record is longer is compared while it is read again, and not built a second time.
const BUILT_AGAIN_BYTES_MAX: usize = 64 * 1024;

#[derive(Serialize)]
struct EventOut<'a> {
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
    serde_json::to_vec(&EventOut { v: VERSION, event }).expect("an event has only string keys")
}

/// An event on its way into the journal, read again from its own bytes; or why it must not go there.
pub(crate) fn to_append(recorded: &Recorded) -> std::result::Result<NewEvent, String> {
    let body = encode(&recorded.event);
    let appended = |body| Ok(NewEvent { at: recorded.at, actor: recorded.actor.clone(), body });
    if let (Event::StateChanged { ops }, true) = (&recorded.event, body.len() > BUILT_AGAIN_BYTES_MAX) {
        let event = vec![("type", Part::Text("state_changed", "")), ("ops", Part::changes(ops))];
        let whole = Part::Object(vec![("v", Part::Number(VERSION.into())), ("event", Part::Object(event))]);
        read_back::demand(&body, &whole).map_err(|why| format!("its record could not be read again: {why}"))?;
        return appended(body);
    }
    let read =
        serde_json::from_slice::<In>(&body).map_err(|why| format!("its record could not be read again: {why}"))?;
    if read.event != recorded.event {
        return Err("its record would be read as something else".to_owned());
    }
    appended(body)
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
    each_event(store, run, after, |recorded| all.push(recorded))?;
    Ok(all)
}

/// The first events of a run.
pub(crate) fn first_events(store: &mut dyn Store, run: &RunId) -> Result<Vec<Recorded>> {
    let read = store.events(run, Seq(0), *RECORDS_PER_READ.start())?;
    read.into_iter().map(|record| decode(run, record)).collect()
}

/// The same, one at a time: however large they are together, few of them are in memory at once.
fn each_event(store: &mut dyn Store, run: &RunId, mut after: Seq, mut take: impl FnMut(Recorded)) -> Result<()> {
    let mut at_once = *RECORDS_PER_READ.start();
    loop {
        let read = store.events(run, after, at_once)?;
        let (is_last, bytes) = (read.len() < at_once, read.iter().map(|record| record.body.len()).sum::<usize>());
        for record in read {
            after = record.seq;
            take(decode(run, record)?);
        }
        if is_last {
            return Ok(());
        }
        let next = if bytes > BYTES_PER_READ { at_once / 4 } else { at_once * 4 };
        at_once = next.clamp(*RECORDS_PER_READ.start(), *RECORDS_PER_READ.end());
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

/// The author of the first fact of a run.
pub(crate) fn first_author(store: &mut dyn Store, run: &RunId) -> Result<Option<String>> {
    Ok(store.events(run, Seq(0), 1)?.into_iter().next().map(|record| record.actor))
}

/// Folds in what came since.
pub(crate) fn catch_up(store: &mut dyn Store, run: &mut Run) -> Result<()> {
    let (id, after) = (run.id.clone(), run.seq);
    each_event(store, &id, after, |recorded| run.apply(&recorded))
}

/// The run from its first event on, whatever is cached.
pub(crate) fn load_whole(store: &mut dyn Store, run: &RunId) -> Result<Run> {
    let mut folded: Option<Run> = None;
    let mut is_a_run = true;
    each_event(store, run, Seq(0), |recorded| match &mut folded {
        Some(run) => run.apply(&recorded),
        // Without a first event that begins it, nothing can be folded.
        None if is_a_run => {
            folded = run::fold([&recorded]);
            is_a_run = folded.is_some();
        }
        None => {}
    })?;
    folded.ok_or_else(|| Error::NoSuchRun(run.to_string()))
}

pub(crate) fn summary_bytes(run: &Run) -> Vec<u8> {
    bytes_of(&view::summary(run))
}

/// The same of a run that was imported at this moment.
pub(crate) fn summary_of_arrival(run: &Run, arrived_at: Timestamp) -> Vec<u8> {
    bytes_of(&Summary { arrived_at: Some(arrived_at), ..view::summary(run) })
}

fn bytes_of(summary: &Summary) -> Vec<u8> {
    serde_json::to_vec(summary).expect("a summary has only string keys")
}

/// Whether what the run stores is compressed, where its plan has a word on it.
pub(crate) fn compression(run: &Run) -> Option<Compression> {
    run.plan().compress.map(Compression::from)
}

pub(crate) fn stored(taken: &NewCheckpointDocument) -> NewCheckpoint {
    NewCheckpoint {
        id: taken.id.clone(),
        seq: taken.seq,
        meta: serde_json::to_vec(&taken.meta).expect("it has only string keys"),
        content: match &taken.content {
            checkpoint::CheckpointBytes::Whole(bytes) => StoredContent::Whole(bytes.clone()),
            checkpoint::CheckpointBytes::Patch(bytes) => StoredContent::Patch(bytes.clone()),
        },
    }
}

/// The cost of reading the newest checkpoint, as the store reports it.
pub(crate) fn behind(chain: &Chain) -> PatchDebt {
    PatchDebt { whole_bytes: chain.keyframe_bytes, patch_bytes: chain.patch_bytes }
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
        for known in [0, 1] {
            assert!(read(&format!(r#"{{"v":{known},{event}}}"#)).is_ok());
        }
        for text in [
            format!(r#"{{"v":2,{event}}}"#),
            format!(r#"{{{event},"v":2}}"#),
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
