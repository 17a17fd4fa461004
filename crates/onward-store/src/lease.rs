//! The right to append to one run.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use onward_core::id::RunId;

/// How long a brief holder is waited for.
pub(crate) const BRIEF_WAIT_MAX: Duration = Duration::from_secs(5);

/// The purpose of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseKind {
    /// To see it through; may last for days. Nobody waits for it.
    Driving,
    /// To write a word and be gone. Others wait a moment for it.
    Brief,
}

impl LeaseKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Driving => "driving",
            Self::Brief => "brief",
        }
    }
}

impl fmt::Display for LeaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The holder of a run, for people to read. Nothing is ever decided by the pid: the lock alone says who is alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub host: String,
    pub pid: u32,
    pub since: Timestamp,
}

impl Holder {
    /// Stands in while the lock is taken and its holder has not yet said who it is.
    pub(crate) fn unknown() -> Self {
        Self { host: "unknown".to_owned(), pid: 0, since: Timestamp::UNIX_EPOCH }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {} since {}", self.pid, self.host, self.since)
    }
}

/// Proof that its owner may append to one run. Dropping it gives the run back.
///
/// Each lease on a run has a higher epoch than the one before, and every append checks it. So a process that was
/// paused, lost its lock and woke up again cannot write over its successor.
pub struct Lease {
    run: RunId,
    kind: LeaseKind,
    epoch: u64,
    /// The backend's own number of the run, so that an append need not look the id up.
    number: i64,
    /// Gives the run back when it is dropped.
    _lock: Box<dyn Send>,
}

impl Lease {
    pub(crate) fn new(run: RunId, kind: LeaseKind, epoch: u64, number: i64, lock: Box<dyn Send>) -> Self {
        Self { run, kind, epoch, number, _lock: lock }
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    pub fn kind(&self) -> LeaseKind {
        self.kind
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(crate) fn number(&self) -> i64 {
        self.number
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("run", &self.run)
            .field("kind", &self.kind)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}
