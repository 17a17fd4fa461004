//! The rules of retention.
//!
//! Checkpoints go by count: of every run, trigger and phase the newest stay; those of batches are counted by the wave. Runs go
//! by age, and take their checkpoints along. What the plan of a run says about either goes before the policy. Where there is a limit of size, the oldest checkpoints go next. Above all of it stands what is never deleted: what a person named, what cannot be read, the newest
//! checkpoint from which a run can go on, and the newest run of its kind that can go on.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::model::{
    CheckpointFacts, KeepAge, KeepCount, Moment, Policy, PruneConsent, PruneItem, PruneLine, PrunePlan, RunFacts,
};
use super::{clock, size};
use crate::checkpoint::Trigger;
use crate::id::{PhaseId, RunId};
use crate::run::RunStatus;
use crate::words;

enum PruneFate {
    Stays(String),
    Goes(String, PruneConsent),
}

/// Runs in the order given, each before its checkpoints, and those newest first.
pub fn plan(policy: &Policy, runs: &[RunFacts], moment: &Moment) -> PrunePlan {
    let now = moment.now;
    let clock = moment.doubt.clone().or_else(|| clock::behind(runs, now));
    let newest = newest_unfinished(runs);
    let mut plan = PrunePlan::default();
    for run in runs {
        let fate = of_run(policy, run, &newest, clock.as_deref(), now);
        let goes = match &fate {
            PruneFate::Goes(_, consent) => Some(*consent),
            PruneFate::Stays(_) => None,
        };
        plan.note(run, PruneItem::Run, run.id.as_str(), 0, fate);
        if let Some(why) = &run.unreadable {
            plan.keep_all_of(run, &unreadable(why));
            continue;
        }
        let mut checkpoints: Vec<&CheckpointFacts> = run.checkpoints.iter().collect();
        checkpoints.sort_by(|a, b| (b.seq, &b.id).cmp(&(a.seq, &a.id)));
        if let Some(consent) = goes {
            plan.note_all_of(run, &checkpoints, consent);
        } else {
            plan.note_by_count(policy, run, &checkpoints, (clock.as_deref(), now));
            plan.note_outputs(policy, run, clock.as_deref(), now);
        }
    }
    if let Some(limit) = policy.bytes_max {
        size::limit(&mut plan, limit, runs, |checkpoint| is_young(policy, checkpoint, clock.as_deref(), now));
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

    fn keep_all_of(&mut self, run: &RunFacts, reason: &str) {
        for checkpoint in &run.checkpoints {
            let fate = PruneFate::Stays(reason.to_owned());
            self.note(run, PruneItem::Checkpoint, checkpoint.id.as_str(), checkpoint.bytes, fate);
        }
    }

    fn note_by_count(
        &mut self,
        policy: &Policy,
        run: &RunFacts,
        newest_first: &[&CheckpointFacts],
        (clock, now): (Option<&str>, Timestamp),
    ) {
        let last_good = last_good(run);
        let mut counted = BTreeMap::new();
        for checkpoint in newest_first {
            let fate = match exempt(checkpoint) {
                Some(reason) => PruneFate::Stays(reason),
                None => match fate_of_checkpoint((policy, run), checkpoint, last_good, &mut counted) {
                    PruneFate::Goes(reason, consent) => match is_young(policy, checkpoint, clock, now) {
                        Some(young) => PruneFate::Stays(young),
                        None => PruneFate::Goes(reason, consent),
                    },
                    stays @ PruneFate::Stays(_) => stays,
                },
            };
            self.note(run, PruneItem::Checkpoint, checkpoint.id.as_str(), checkpoint.bytes, fate);
        }
    }

    /// The outputs of a run that stays. The last one of each phase stays as long as its run.
    fn note_outputs(&mut self, policy: &Policy, run: &RunFacts, clock: Option<&str>, now: Timestamp) {
        if clock.is_some() || run.status == RunStatus::Running {
            return;
        }
        let old = |at: Timestamp| now.duration_since(at) >= signed(policy.logs);
        for log in run.logs.iter().filter(|log| !log.is_last && old(log.ended_at)) {
            let id = format!("{}/{}/{}", run.id, log.phase, log.attempt);
            let kept = words::duration(policy.logs);
            let reason = format!("output of an earlier attempt; it stays for {kept} after its end");
            self.note(run, PruneItem::Output, &id, log.bytes, PruneFate::Goes(reason, PruneConsent::Standing));
        }
    }
}

/// The newest checkpoint from which a run can go on.
pub(super) fn last_good(run: &RunFacts) -> Option<&crate::id::CheckpointId> {
    let good = run.checkpoints.iter().filter(|checkpoint| checkpoint.readable && checkpoint.can_resume);
    good.max_by_key(|checkpoint| (checkpoint.seq, &checkpoint.id)).map(|checkpoint| &checkpoint.id)
}

/// Why a checkpoint is not old enough to go, where somebody said how old that is.
fn is_young(policy: &Policy, checkpoint: &CheckpointFacts, clock: Option<&str>, now: Timestamp) -> Option<String> {
    let limit = policy.older_than?;
    if let Some(doubt) = clock {
        return Some(doubt.to_owned());
    }
    let old = checkpoint.created_at.is_some_and(|at| now.duration_since(at) >= signed(limit));
    (!old).then(|| format!("it is younger than {}", words::duration(limit)))
}

// ---- runs ----

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
    let (word, consent) = match run.status {
        RunStatus::Running => return PruneFate::Stays("it is running".to_owned()),
        RunStatus::Interrupted | RunStatus::Paused | RunStatus::Waiting => ("unfinished", PruneConsent::Asked),
        RunStatus::Failed => ("failed", PruneConsent::Asked),
        RunStatus::Completed => ("completed", PruneConsent::Standing),
        RunStatus::Archived => ("archived", PruneConsent::Standing),
    };
    if let Some(why) = &run.unreadable {
        return PruneFate::Stays(unreadable(why));
    }
    if newest.contains(&run.id) {
        return PruneFate::Stays(format!("the newest run of {} {} that can go on", run.kind, run.project));
    }
    if let Some(fork) = &run.forked_to {
        return PruneFate::Stays(format!("run {fork}, which was forked from it, can go on"));
    }
    if let Some(fault) = clock {
        return PruneFate::Stays(fault.to_owned());
    }
    let KeepAge::For(limit) = age_limit(policy, run) else {
        return PruneFate::Stays(format!("{word}, and its plan keeps such runs forever"));
    };
    let since = |at: Timestamp| Duration::try_from(now.duration_since(at)).unwrap_or_default();
    let age = since(run.updated_at);
    let told =
        format!("{word}, last changed {} ago; such runs stay for {}", words::duration(age), words::duration(limit));
    if age < limit {
        return PruneFate::Stays(told);
    }
    match run.checkpoints.iter().find_map(|checkpoint| Some((checkpoint, exempt(checkpoint)?))) {
        Some((checkpoint, reason)) => PruneFate::Stays(format!("it holds {}: {reason}", checkpoint.id)),
        None => match run.arrived_at.map(since).filter(|here| *here < limit) {
            // Whoever brought old work shall have time to look at it.
            Some(here) => {
                let told = format!("{told}; it was imported {} ago", words::duration(here));
                PruneFate::Goes(told, PruneConsent::Asked)
            }
            None => PruneFate::Goes(told, consent),
        },
    }
}

/// How long after its last change a run goes: as a person says for this prune, else its plan, else the policy.
fn age_limit(policy: &Policy, run: &RunFacts) -> KeepAge {
    let (usual, by_plan) = match run.status {
        RunStatus::Running | RunStatus::Interrupted | RunStatus::Paused | RunStatus::Waiting => {
            (policy.runs.unfinished, None)
        }
        RunStatus::Failed => (policy.runs.ended, run.keep.failed),
        RunStatus::Completed => (policy.runs.ended, run.keep.succeeded),
        // How it had ended is not known any more: it stays for the longest of all that could be meant.
        RunStatus::Archived => {
            let usual = KeepAge::For(policy.runs.ended);
            (policy.runs.ended, run.keep.succeeded.max(run.keep.failed).max(Some(usual)))
        }
    };
    by_plan.filter(|_| policy.older_than.is_none()).unwrap_or(KeepAge::For(usual))
}

fn unreadable(why: &str) -> String {
    format!("it cannot be read, and may be all that is left: {why}")
}

// ---- checkpoints ----

/// Why a checkpoint stays whatever becomes of its run. It takes no other's place in a count.
pub(super) fn exempt(checkpoint: &CheckpointFacts) -> Option<String> {
    if !checkpoint.readable {
        return Some("it cannot be read, and may be all that is left".to_owned());
    }
    checkpoint.name.as_ref().map(|name| format!("it was given the name {name}"))
}

/// The part of a run within which the checkpoints of a trigger are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CountScope<'a> {
    Run,
    Phase(&'a PhaseId),
    /// Whichever of its phases was the last.
    Batch(u32),
}

impl CountScope<'_> {
    fn words(self) -> String {
        match self {
            Self::Run => String::new(),
            Self::Phase(phase) => format!(" of phase {phase}"),
            Self::Batch(batch) => format!(" of batch {batch}"),
        }
    }
}

/// How many were seen already of a trigger.
type Counted<'a> = BTreeMap<(Trigger, CountScope<'a>), u32>;

/// It stays if any of its triggers keeps it. `counted` knows the newer ones.
fn fate_of_checkpoint<'a>(
    rules: (&Policy, &RunFacts),
    checkpoint: &'a CheckpointFacts,
    last_good: Option<&crate::id::CheckpointId>,
    counted: &mut Counted<'a>,
) -> PruneFate {
    let mut stays = None;
    let mut goes = Vec::new();
    for &trigger in &BTreeSet::from_iter(&checkpoint.triggers) {
        let scope = scope(*trigger, checkpoint);
        let newer = counted.entry((*trigger, scope)).or_default();
        match verdict(rules, *trigger, scope, *newer) {
            Ok(reason) => stays = stays.or(Some(reason)),
            Err(reason) => goes.push(reason),
        }
        *newer += 1;
    }
    if last_good == Some(&checkpoint.id) {
        return PruneFate::Stays("the newest one from which the run can go on".to_owned());
    }
    match stays {
        Some(reason) => PruneFate::Stays(reason),
        None if goes.is_empty() => PruneFate::Stays("nothing says why it was taken".to_owned()),
        None => PruneFate::Goes(goes.join("; "), PruneConsent::Standing),
    }
}

fn scope(trigger: Trigger, checkpoint: &CheckpointFacts) -> CountScope<'_> {
    let phase = || checkpoint.phase.as_ref().map_or(CountScope::Run, CountScope::Phase);
    match trigger {
        Trigger::RunStart | Trigger::UserInterrupt | Trigger::SessionEnd => CountScope::Run,
        Trigger::BatchComplete => checkpoint.batch.map_or_else(phase, CountScope::Batch),
        Trigger::PhaseTransition
        | Trigger::AgentComplete
        | Trigger::ConflictStart
        | Trigger::ConflictResolved
        | Trigger::Manual => phase(),
    }
}

/// Whether one stays that has so many newer ones beside it, and why. The plan of its run goes before the policy.
fn verdict(
    (policy, run): (&Policy, &RunFacts),
    trigger: Trigger,
    scope: CountScope<'_>,
    newer: u32,
) -> Result<String, String> {
    let by_plan = run.keep.checkpoints.get(&trigger);
    let word = format!("{}{}", trigger.as_str(), if by_plan.is_some() { ", by the plan" } else { "" });
    let of = scope.words();
    match by_plan.or(policy.keep.get(&trigger)).copied().unwrap_or(KeepCount::All) {
        KeepCount::All => Ok(format!("{word}: all stay")),
        KeepCount::Newest(0) => Err(format!("{word}: none stay")),
        KeepCount::Newest(count) if newer < count => Ok(format!("{word}: among the newest {count}{of}")),
        KeepCount::Newest(count) => Err(format!("{word}: the newest {count}{of} stay, and this one is older")),
    }
}

pub(super) fn signed(span: Duration) -> SignedDuration {
    SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX)
}
