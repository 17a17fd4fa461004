//! Retention: what may be deleted and what must stay, each with a reason. Nothing is deleted here: the caller shows the
//! plan, and does what it says.
//!
//! Two rules decide. Checkpoints go by count: of every run, trigger and phase the newest stay. Runs go by age, and take
//! their checkpoints along. Above both stands what is never deleted: what a person named, what cannot be read, the newest
//! checkpoint from which a run can go on, and the newest run of its kind that can go on.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::checkpoint::Trigger;
use crate::id::{CheckpointId, PhaseId, RunId, Seq};
use crate::run::RunStatus;
use crate::words;

const DAY: Duration = Duration::from_hours(24);
/// A clock that stands further than this before the last change of any run is wrong, and no age can be told by it.
const CLOCK_BEHIND_MAX: Duration = DAY;

/// How long things are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// A trigger without an entry keeps all: what nobody decided about is not deleted.
    pub keep: BTreeMap<Trigger, KeepCount>,
    pub runs: RunAges,
}

/// How many checkpoints of one run, trigger and phase stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepCount {
    All,
    /// 0 keeps none.
    Newest(u32),
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
    /// A later start could go on with it; so it is with a failed one, too.
    pub unfinished: bool,
    pub checkpoints: Vec<CheckpointFacts>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFacts {
    pub id: CheckpointId,
    /// Tells which of two is newer.
    pub seq: Seq,
    pub triggers: Vec<Trigger>,
    pub phase: Option<PhaseId>,
    pub name: Option<String>,
    pub can_resume: bool,
    pub bytes: u64,
    /// An unreadable item stays: it may be all that is left.
    pub readable: bool,
}

/// Every run and every checkpoint that was looked at stands in exactly one of the two lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PrunePlan {
    pub delete: Vec<PruneLine>,
    pub keep: Vec<PruneLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PruneLine {
    /// Of the run or the checkpoint.
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

    /// The items that housekeeping may delete without being asked.
    pub fn standing(&self) -> impl Iterator<Item = &PruneLine> {
        self.delete.iter().filter(|line| line.consent == Some(PruneConsent::Standing))
    }
}

enum PruneFate {
    Stays(String),
    Goes(String, PruneConsent),
}

/// Runs in the order given, each before its checkpoints, and those newest first.
pub fn plan(policy: &Policy, runs: &[RunFacts], now: Timestamp) -> PrunePlan {
    let clock = clock_fault(runs, now);
    let newest = newest_unfinished(runs);
    let mut plan = PrunePlan::default();
    for run in runs {
        let fate = of_run(policy, run, &newest, clock.as_deref(), now);
        let goes = match &fate {
            PruneFate::Goes(_, consent) => Some(*consent),
            PruneFate::Stays(_) => None,
        };
        plan.note(run, PruneItem::Run, run.id.as_str(), 0, fate);
        let mut checkpoints: Vec<&CheckpointFacts> = run.checkpoints.iter().collect();
        checkpoints.sort_by(|a, b| (b.seq, &b.id).cmp(&(a.seq, &a.id)));
        match goes {
            Some(consent) => plan.note_all_of(run, &checkpoints, consent),
            None => plan.note_by_count(policy, run, &checkpoints),
        }
    }
    plan
}

impl PrunePlan {
    fn note(&mut self, run: &RunFacts, item: PruneItem, id: &str, bytes: u64, fate: PruneFate) {
        let (list, reason, consent) = match fate {
            PruneFate::Stays(reason) => (&mut self.keep, reason, None),
            PruneFate::Goes(reason, consent) => (&mut self.delete, reason, Some(consent)),
        };
        list.push(PruneLine { id: id.to_owned(), item, run: run.id.clone(), reason, bytes, consent });
    }

    fn note_all_of(&mut self, run: &RunFacts, checkpoints: &[&CheckpointFacts], consent: PruneConsent) {
        for checkpoint in checkpoints {
            let fate = PruneFate::Goes(format!("its run {} goes", run.id), consent);
            self.note(run, PruneItem::Checkpoint, checkpoint.id.as_str(), checkpoint.bytes, fate);
        }
    }

    fn note_by_count(&mut self, policy: &Policy, run: &RunFacts, newest_first: &[&CheckpointFacts]) {
        let last_good = newest_first.iter().find(|c| c.readable && c.can_resume).map(|c| &c.id);
        let mut counted = BTreeMap::new();
        for checkpoint in newest_first {
            let fate = match exempt(checkpoint) {
                Some(reason) => PruneFate::Stays(reason),
                None => of_checkpoint(policy, checkpoint, last_good == Some(&checkpoint.id), &mut counted),
            };
            self.note(run, PruneItem::Checkpoint, checkpoint.id.as_str(), checkpoint.bytes, fate);
        }
    }
}

// ---- runs ----

/// Why no age can be told, if none can.
fn clock_fault(runs: &[RunFacts], now: Timestamp) -> Option<String> {
    let latest = runs.iter().max_by_key(|run| run.updated_at)?;
    let ahead = latest.updated_at.duration_since(now);
    (ahead > signed(CLOCK_BEHIND_MAX)).then(|| {
        format!(
            "run {} changed at {}, and the clock stands before that: nothing goes by its age",
            latest.id, latest.updated_at
        )
    })
}

/// Of every type and project the run that somebody would most likely go on with.
fn newest_unfinished(runs: &[RunFacts]) -> BTreeSet<&RunId> {
    let mut newest: BTreeMap<(&str, &str), &RunFacts> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.unfinished) {
        let place = newest.entry((&run.kind, &run.project)).or_insert(run);
        if (run.updated_at, &run.id) > (place.updated_at, &place.id) {
            *place = run;
        }
    }
    newest.into_values().map(|run| &run.id).collect()
}

fn of_run(
    policy: &Policy,
    run: &RunFacts,
    newest: &BTreeSet<&RunId>,
    clock: Option<&str>,
    now: Timestamp,
) -> PruneFate {
    let (limit, word, consent) = match run.status {
        RunStatus::Running => return PruneFate::Stays("it is running".to_owned()),
        RunStatus::Interrupted | RunStatus::Paused | RunStatus::Waiting => {
            (policy.runs.unfinished, "unfinished", PruneConsent::Asked)
        }
        RunStatus::Failed => (policy.runs.ended, "failed", PruneConsent::Asked),
        RunStatus::Completed => (policy.runs.ended, "completed", PruneConsent::Standing),
        RunStatus::Archived => (policy.runs.ended, "archived", PruneConsent::Standing),
    };
    if newest.contains(&run.id) {
        return PruneFate::Stays(format!("the newest run of {} {} that can go on", run.kind, run.project));
    }
    if let Some(fault) = clock {
        return PruneFate::Stays(fault.to_owned());
    }
    let age = Duration::try_from(now.duration_since(run.updated_at)).unwrap_or_default();
    let (age_told, limit_told) = (words::duration(age), words::duration(limit));
    if age < limit {
        return PruneFate::Stays(format!("{word}, last changed {age_told} ago; such runs stay for {limit_told}"));
    }
    match run.checkpoints.iter().find_map(|checkpoint| Some((checkpoint, exempt(checkpoint)?))) {
        Some((checkpoint, reason)) => PruneFate::Stays(format!("it holds {}: {reason}", checkpoint.id)),
        None => {
            PruneFate::Goes(format!("{word}, last changed {age_told} ago; such runs stay for {limit_told}"), consent)
        }
    }
}

// ---- checkpoints ----

/// Why a checkpoint stays whatever becomes of its run. It takes no other's place in a count.
fn exempt(checkpoint: &CheckpointFacts) -> Option<String> {
    if !checkpoint.readable {
        return Some("it cannot be read, and may be all that is left".to_owned());
    }
    checkpoint.name.as_ref().map(|name| format!("it was given the name {name}"))
}

/// How many were seen already of a trigger, and of a phase where the count is per phase.
type Counted<'a> = BTreeMap<(Trigger, Option<&'a PhaseId>), u32>;

/// It stays if any of its triggers keeps it. `counted` knows the newer ones.
fn of_checkpoint<'a>(
    policy: &Policy,
    checkpoint: &'a CheckpointFacts,
    last_good: bool,
    counted: &mut Counted<'a>,
) -> PruneFate {
    let mut stays = None;
    let mut goes = Vec::new();
    for &trigger in &BTreeSet::from_iter(&checkpoint.triggers) {
        let scope = scope(*trigger, checkpoint.phase.as_ref());
        let newer = counted.entry((*trigger, scope)).or_default();
        match verdict(policy, *trigger, scope, *newer) {
            Ok(reason) => stays = stays.or(Some(reason)),
            Err(reason) => goes.push(reason),
        }
        *newer += 1;
    }
    if last_good {
        return PruneFate::Stays("the newest one from which the run can go on".to_owned());
    }
    match stays {
        Some(reason) => PruneFate::Stays(reason),
        None if goes.is_empty() => PruneFate::Stays("nothing says why it was taken".to_owned()),
        None => PruneFate::Goes(goes.join("; "), PruneConsent::Standing),
    }
}

/// The phase within which a trigger is counted, or none where it is counted over the whole run.
fn scope(trigger: Trigger, phase: Option<&PhaseId>) -> Option<&PhaseId> {
    match trigger {
        Trigger::RunStart | Trigger::UserInterrupt | Trigger::SessionEnd => None,
        Trigger::PhaseTransition
        | Trigger::BatchComplete
        | Trigger::AgentComplete
        | Trigger::ConflictStart
        | Trigger::ConflictResolved
        | Trigger::Manual => phase,
    }
}

/// Whether one stays that has so many newer ones beside it, and why.
fn verdict(policy: &Policy, trigger: Trigger, scope: Option<&PhaseId>, newer: u32) -> Result<String, String> {
    let word = trigger.as_str();
    let of = scope.map(|phase| format!(" of phase {phase}")).unwrap_or_default();
    match policy.keep.get(&trigger).copied().unwrap_or(KeepCount::All) {
        KeepCount::All => Ok(format!("{word}: all stay")),
        KeepCount::Newest(0) => Err(format!("{word}: none stay")),
        KeepCount::Newest(count) if newer < count => Ok(format!("{word}: among the newest {count}{of}")),
        KeepCount::Newest(count) => Err(format!("{word}: the newest {count}{of} stay, and this one is older")),
    }
}

fn signed(span: Duration) -> SignedDuration {
    SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX)
}
