//! How long things are kept, the facts that decide about them, and the plan that comes of it.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checkpoint::Trigger;
use crate::id::{Attempt, CheckpointId, PhaseId, RunId, Seq};
use crate::run::RunStatus;

const DAY: Duration = Duration::from_hours(24);
/// Output of earlier attempts stays this long where the configuration says nothing.
pub const LOGS_KEPT: Duration = Duration::from_hours(24 * 30);

/// How long things are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A trigger without an entry keeps all: what nobody decided about is not deleted.
    pub keep: BTreeMap<Trigger, KeepCount>,
    pub runs: RunAges,
    /// All checkpoints together take at most this; above it the oldest go first, whatever their trigger.
    pub bytes_max: Option<u64>,
    /// How long after its end the output of an attempt stays that another attempt came after.
    pub logs: Duration,
    /// Nothing younger goes, and runs that are older do: for one prune, in place of the ages of runs.
    pub older_than: Option<Duration>,
}

impl Policy {
    /// The same for one prune that somebody limits to what is older than this.
    #[must_use]
    pub fn only_older_than(self, age: Duration) -> Self {
        let runs = RunAges { unfinished: age, ended: age };
        Self { runs, logs: self.logs.max(age), older_than: Some(age), ..self }
    }
}

/// The moment of a prune.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    pub now: Timestamp,
    /// Why the clock is not to be relied on: then nothing goes by its age.
    pub doubt: Option<String>,
}

impl From<Timestamp> for Moment {
    fn from(now: Timestamp) -> Self {
        Self { now, doubt: None }
    }
}

/// How many checkpoints of one run, trigger and phase stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeepCount {
    All,
    /// 0 keeps none.
    Newest(u32),
}

/// How long one run and its checkpoints are kept, as far as its plan says it. That goes before the policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunRetention {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checkpoints: BTreeMap<Trigger, KeepCount>,
    /// Once it is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub succeeded: Option<KeepAge>,
    /// Once it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<KeepAge>,
}

impl RunRetention {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How long after its last change a run goes. In their order the longer is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeepAge {
    For(Duration),
    Forever,
}

/// How long after their last change runs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunAges {
    /// Interrupted ones.
    pub unfinished: Duration,
    /// Completed, failed and archived ones.
    pub ended: Duration,
}

impl Default for RunAges {
    fn default() -> Self {
        Self { unfinished: 7 * DAY, ended: 30 * DAY }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    pub id: RunId,
    /// The workflow type.
    pub kind: String,
    pub project: String,
    /// As it is, not as the journal has it: `Running` only if a driver lives. Such a run is never deleted.
    pub status: RunStatus,
    pub updated_at: Timestamp,
    /// When it was imported, if nothing happened to it since.
    pub arrived_at: Option<Timestamp>,
    /// As its plan says.
    pub keep: RunRetention,
    /// A later start could go on with it; so it is with a failed one, too.
    pub unfinished: bool,
    /// Why it cannot be read. Such a run stays: it may be all that is left.
    pub unreadable: Option<String>,
    /// An unfinished run that was forked from it: its artifacts and snapshots are that one's, too.
    pub forked_to: Option<RunId>,
    pub checkpoints: Vec<CheckpointFacts>,
    pub logs: Vec<LogFacts>,
}

/// The output of an attempt that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFacts {
    pub phase: PhaseId,
    pub attempt: Attempt,
    pub ended_at: Timestamp,
    pub bytes: u64,
    /// The phase was not tried again after it.
    pub is_last: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFacts {
    pub id: CheckpointId,
    /// Tells which of two of a run is newer.
    pub seq: Seq,
    /// Tells which of any two is newer.
    pub number: u64,
    /// None where it cannot be read.
    pub created_at: Option<Timestamp>,
    pub triggers: Vec<Trigger>,
    pub phase: Option<PhaseId>,
    /// The wave that it ended, from 1.
    pub batch: Option<u32>,
    pub name: Option<String>,
    pub can_resume: bool,
    pub bytes: u64,
    /// An unreadable item stays: it may be all that is left.
    pub readable: bool,
}

/// Every run and every checkpoint that was looked at stands in exactly one of the two lists; of outputs only those that go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PrunePlan {
    pub delete: Vec<PruneLine>,
    pub keep: Vec<PruneLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PruneLine {
    /// Of the run or the checkpoint; of an output its run, phase and attempt.
    pub id: String,
    pub item: PruneItem,
    pub run: RunId,
    /// In words.
    pub reason: String,
    /// Of a checkpoint; a run has none of its own, so that a sum counts each byte once.
    pub bytes: u64,
    /// The consent that a deletion needs; none for what stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<PruneConsent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PruneItem {
    Run,
    Checkpoint,
    Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PruneConsent {
    /// Housekeeping may do it by itself.
    Standing,
    /// Somebody could still want to go on with it: only an explicit prune does it.
    Asked,
}

impl PrunePlan {
    pub fn bytes_freed(&self) -> u64 {
        self.delete.iter().map(|line| line.bytes).fold(0, u64::saturating_add)
    }

    /// The items that may be deleted without being asked about.
    pub fn standing(&self) -> impl Iterator<Item = &PruneLine> {
        self.delete.iter().filter(|line| line.consent == Some(PruneConsent::Standing))
    }
}
