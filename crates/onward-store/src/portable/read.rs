//! Reading a file into a run, with everything checked that can be checked without knowing what a journal says.

use std::collections::BTreeSet;

use jiff::Timestamp;
use onward_core::id::{CheckpointId, Seq};
use serde::Deserialize;

use super::artifact;
use super::model::{PortableCheckpoint, PortableHead, PortableRun};
use super::section::{
    ARTIFACT, BUNDLE, CHECKPOINTS, DONE, FORMAT, HEAD, JOURNAL, SectionKind, SectionReader, damaged, newer,
};
use crate::VALUE_BYTES_MAX;
use crate::chain;
use crate::check;
use crate::error::StoreError;
use crate::types::Record;

#[derive(Deserialize)]
struct ReadRecord {
    seq: u64,
    at: i64,
    actor: String,
    body: String,
    hash: String,
}

#[derive(Deserialize)]
struct ReadCheckpoint {
    id: String,
    seq: u64,
    meta: String,
    #[serde(default)]
    whole: Option<String>,
    #[serde(default)]
    patches: Vec<String>,
}

/// Reads an exported run. Nothing is given back of a file that is damaged anywhere, and no claim of it is believed before it is
/// checked.
pub fn read(bytes: &[u8]) -> Result<PortableRun, StoreError> {
    let mut sections = SectionReader::begin(bytes)?;
    let head = expect(&mut sections, HEAD)?;
    let head: PortableHead =
        serde_json::from_slice(&head).map_err(|why| damaged(format!("its head cannot be understood: {why}")))?;
    if check::run_name(&head.run).is_err() || !is_id(head.run.as_str()) {
        return Err(damaged(format!("it names its run {:?}", head.run.as_str())));
    }
    let records = records(&head, &expect(&mut sections, JOURNAL)?)?;
    let checkpoints = checkpoints(&head, &expect(&mut sections, CHECKPOINTS)?)?;
    let (mut artifacts, mut bundle) = (Vec::new(), None);
    loop {
        let section = sections.next()?;
        let content = sections.content(&section)?;
        match section.kind {
            ARTIFACT if bundle.is_none() => artifacts.push(artifact::decode(&content)?),
            BUNDLE if bundle.is_none() => bundle = Some(content),
            DONE if content.is_empty() => break,
            ARTIFACT | BUNDLE | DONE | HEAD | JOURNAL | CHECKPOINTS => return Err(disorder()),
            _ => return Err(newer(FORMAT.saturating_add(1))),
        }
    }
    sections.end()?;
    let names: BTreeSet<&str> = artifacts.iter().map(|artifact| artifact.name.as_str()).collect();
    if names.len() != artifacts.len() || head.artifacts != artifacts.len() as u64 {
        return Err(damaged("it does not hold the artifacts that it says it holds"));
    }
    Ok(PortableRun { head, records, checkpoints, artifacts, bundle })
}

fn expect(sections: &mut SectionReader<'_>, kind: SectionKind) -> Result<Vec<u8>, StoreError> {
    let section = sections.next()?;
    if section.kind != kind {
        return Err(disorder());
    }
    sections.content(&section)
}

fn disorder() -> StoreError {
    damaged("its parts are not in their order")
}

fn records(head: &PortableHead, text: &[u8]) -> Result<Vec<Record>, StoreError> {
    let mut records: Vec<Record> = Vec::new();
    let mut before = chain::start(&head.run);
    for line in lines(text) {
        let line: ReadRecord = serde_json::from_slice(line)
            .map_err(|why| damaged(format!("a record of its journal cannot be understood: {why}")))?;
        let seq = Seq(records.len() as u64 + 1);
        let at = Timestamp::from_microsecond(line.at).map_err(|_| damaged("a record of its journal has no time"))?;
        let hash = chain::next(&before, seq, line.at, &line.actor, line.body.as_bytes());
        let told = blake3::Hash::from_hex(&line.hash).ok();
        if line.seq != seq.0 || told != Some(blake3::Hash::from_bytes(hash)) {
            return Err(damaged(format!("record {seq} of its journal does not follow from the one before it")));
        }
        if line.body.len() > VALUE_BYTES_MAX {
            return Err(damaged(format!("record {seq} of its journal is too large")));
        }
        records.push(Record { seq, at, actor: line.actor, body: line.body.into_bytes(), hash });
        before = hash;
    }
    if records.is_empty() || records.len() as u64 != head.records {
        return Err(damaged("it does not hold the records that it says it holds"));
    }
    Ok(records)
}

fn checkpoints(head: &PortableHead, text: &[u8]) -> Result<Vec<PortableCheckpoint>, StoreError> {
    let mut all: Vec<PortableCheckpoint> = Vec::new();
    let mut ids = BTreeSet::new();
    for line in lines(text) {
        let line: ReadCheckpoint = serde_json::from_slice(line)
            .map_err(|why| damaged(format!("a checkpoint in it cannot be understood: {why}")))?;
        let in_order = all.last().is_none_or(|last| last.seq.0 <= line.seq) && line.seq <= head.records;
        let has_a_base = line.whole.is_some() || !all.is_empty();
        if !in_order || !has_a_base || !is_id(&line.id) || !ids.insert(line.id.clone()) {
            return Err(damaged(format!("checkpoint {:?} in it cannot be where it is", line.id)));
        }
        let too_large = line.whole.iter().chain(&line.patches).any(|part| part.len() > VALUE_BYTES_MAX);
        if too_large {
            return Err(damaged(format!("checkpoint {} in it is too large", line.id)));
        }
        all.push(PortableCheckpoint {
            id: CheckpointId::new(line.id),
            seq: Seq(line.seq),
            meta: line.meta.into_bytes(),
            whole: line.whole.map(String::into_bytes),
            patches: line.patches.into_iter().map(String::into_bytes).collect(),
        });
    }
    if all.len() as u64 != head.checkpoints {
        return Err(damaged("it does not hold the checkpoints that it says it holds"));
    }
    Ok(all)
}

/// A name, and no path.
fn is_id(id: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | '@');
    !id.is_empty() && id.len() <= 255 && !id.starts_with(['.', '-']) && id.chars().all(plain)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}
