//! The parts of an exported run.

use jiff::Timestamp;
use onward_core::id::{CheckpointId, RunId, Seq};
use serde::{Deserialize, Serialize};

use crate::types::Record;

/// All that is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortableRun {
    pub head: PortableHead,
    /// From the first on, each one checked against the one before it.
    pub records: Vec<Record>,
    /// In order of storing.
    pub checkpoints: Vec<PortableCheckpoint>,
    pub artifacts: Vec<PortableArtifact>,
    /// A git bundle of the snapshots.
    pub bundle: Option<Vec<u8>>,
}

/// The facts about the file that are told without reading the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortableHead {
    pub run: RunId,
    /// The key under which two runs count as the same work.
    pub work: String,
    pub exported_at: Timestamp,
    /// The program that wrote it.
    pub by: String,
    pub records: u64,
    pub checkpoints: u64,
    pub artifacts: u64,
    /// Secrets were cut out once more, so the journal may be another one than that of the run it was made of.
    pub redacted: bool,
}

/// A checkpoint: a whole document, or patches of the one before it in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortableCheckpoint {
    pub id: CheckpointId,
    pub seq: Seq,
    pub meta: Vec<u8>,
    /// None where it goes on from the one before.
    pub whole: Option<Vec<u8>>,
    pub patches: Vec<Vec<u8>>,
}

/// A kept artifact: a file, or a folder with what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortableArtifact {
    /// The digest of its content, with the second until which it is kept where there is one.
    pub name: String,
    /// The artifact itself first, with an empty path; each folder before what is in it.
    pub entries: Vec<ArtifactEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactEntry {
    /// Below the artifact, with `/` between names.
    pub path: String,
    pub kind: ArtifactEntryKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactEntryKind {
    Folder,
    File { content: Vec<u8>, executable: bool },
}
