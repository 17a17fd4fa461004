//! Writing a run into a file.

use std::io::{self, Write};

use serde::Serialize;

use super::artifact;
use super::model::PortableRun;
use super::section::{ARTIFACT, BUNDLE, CHECKPOINTS, DONE, HEAD, JOURNAL, SectionWriter};

#[derive(Serialize)]
struct RecordLine<'a> {
    seq: u64,
    /// Microseconds since 1970.
    at: i64,
    actor: &'a str,
    body: &'a str,
    hash: String,
}

#[derive(Serialize)]
struct CheckpointLine<'a> {
    id: &'a str,
    seq: u64,
    meta: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    whole: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    patches: Vec<&'a str>,
}

/// Writes a run. What is stored of it is text; anything else is refused.
pub fn write(run: &PortableRun, into: &mut dyn Write) -> io::Result<()> {
    let mut sections = SectionWriter::begin(into)?;
    sections.section(HEAD, &line(&run.head))?;
    sections.section(JOURNAL, &journal(run)?)?;
    sections.section(CHECKPOINTS, &checkpoints(run)?)?;
    for artifact in &run.artifacts {
        sections.section(ARTIFACT, &artifact::encode(artifact))?;
    }
    if let Some(bundle) = &run.bundle {
        sections.section(BUNDLE, bundle)?;
    }
    sections.section(DONE, &[])
}

fn journal(run: &PortableRun) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    for record in &run.records {
        out.extend(line(&RecordLine {
            seq: record.seq.0,
            at: record.at.as_microsecond(),
            actor: &record.actor,
            body: text(&record.body)?,
            hash: hex(&record.hash),
        }));
    }
    Ok(out)
}

fn checkpoints(run: &PortableRun) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    for one in &run.checkpoints {
        out.extend(line(&CheckpointLine {
            id: one.id.as_str(),
            seq: one.seq.0,
            meta: text(&one.meta)?,
            whole: one.whole.as_deref().map(text).transpose()?,
            patches: one.patches.iter().map(|patch| text(patch)).collect::<io::Result<_>>()?,
        }));
    }
    Ok(out)
}

fn line<T: Serialize>(value: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("a line has only string keys");
    line.push(b'\n');
    line
}

fn text(bytes: &[u8]) -> io::Result<&str> {
    std::str::from_utf8(bytes).map_err(io::Error::other)
}

fn hex(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}
