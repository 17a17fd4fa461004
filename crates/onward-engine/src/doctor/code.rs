//! Codes of findings and repairs: scripts filter by them.

use std::fmt;

use serde::Serialize;

/// The `code` of a finding or a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoctorCode {
    /// The copy of an artifact is missing or spoilt.
    ArtifactCopy,
    /// The record of an attempt's end is damaged.
    AttemptRecord,
    /// An attempt is not in the journal of its run.
    AttemptUnrecorded,
    /// A large value is missing or spoilt.
    Blob,
    /// A checkpoint cannot be read.
    Checkpoint,
    /// A checkpoint stands behind the end of its journal.
    CheckpointBeyond,
    /// A checkpoint does not say what the journal says.
    CheckpointDiffers,
    /// A checkpoint could not be brought over into a new database.
    CheckpointLost,
    /// The journal names a checkpoint that is not there.
    CheckpointMissing,
    /// The database cannot be read, or not all of it.
    Database,
    /// The end of what was committed is gone.
    EndLost,
    FlushFailed,
    /// A file of another tool is damaged, or newer.
    ForeignFile,
    /// The cached fold of a run is not what its journal says.
    FoldCache,
    GitFailed,
    /// The head file was written anew.
    Head,
    HeadAhead,
    HeadDiffers,
    HeadForeign,
    HeadMissing,
    /// One of the two entries of the head file is damaged; the other one counts.
    HeadSlot,
    HeadUnreadable,
    /// Of a phase of a run that was brought back nobody knows whether it was done.
    InDoubt,
    /// Messages to a run cannot be read.
    Inbox,
    /// A journal cannot be read, or not understood.
    Journal,
    /// Git has records of a run that its journal does not have.
    JournalBehind,
    /// A journal was cut before what could not be read.
    JournalCut,
    /// A run is listed and all of its journal is gone.
    JournalLost,
    /// Records belong to a run that is not listed.
    JournalUnlisted,
    /// A repair or a start was cut off and left it behind.
    Leftover,
    /// A link, or something else in the place of a file of ours.
    Link,
    /// A remote mirrors refs that are ours.
    Mirror,
    /// A mirror was changed by somebody else.
    MirrorEdited,
    Network,
    /// A later version wrote it.
    Newer,
    /// A run was about to be started and never was.
    NoJournal,
    NoReserve,
    /// A phase outlived the driver of its run.
    Orphan,
    Owner,
    Permissions,
    /// The row in the list of runs does not say what the journal says.
    Projection,
    /// The damaged database was put aside for a fresh start.
    PutAside,
    /// A new database was made of what could be read.
    Rebuilt,
    /// The row in the list of runs cannot be read.
    Row,
    /// Git has records of a run that the store does not know.
    RunLost,
    /// A run stood in the database twice.
    RunTwice,
    StaleLock,
    StaleWake,
    /// The store cannot be opened or read, though it is not damaged.
    Store,
    StrayFolder,
    Unsafe,
    /// The store came from elsewhere and was not trusted yet.
    Untrusted,
}

impl fmt::Display for DoctorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(out)
    }
}

/// The weight of a finding: an error needs a repair or a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoctorSeverity {
    Error,
    Warning,
    Info,
}
