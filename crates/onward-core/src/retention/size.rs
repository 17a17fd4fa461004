//! The limit of size: the oldest checkpoints go until the rest is small enough.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{CheckpointFacts, PruneConsent, PruneItem, PruneLine, PrunePlan, RunFacts};
use super::plan::{exempt, last_good};
use crate::id::CheckpointId;

/// Moves lines of a plan from `keep` to `delete` until what is kept fits. What is exempt from every count stays here, too, and so
/// does what `stays` has a reason for.
pub(super) fn limit(
    plan: &mut PrunePlan,
    bytes_max: u64,
    runs: &[RunFacts],
    stays: impl Fn(&CheckpointFacts) -> Option<String>,
) {
    let is_kept = |line: &&PruneLine| line.item == PruneItem::Checkpoint;
    let kept: BTreeSet<&str> = plan.keep.iter().filter(is_kept).map(|line| line.id.as_str()).collect();
    let mut total = plan.keep.iter().filter(is_kept).map(|line| line.bytes).fold(0, u64::saturating_add);
    let newest: BTreeSet<&CheckpointId> = runs.iter().filter_map(last_good).collect();
    let readable = runs.iter().filter(|run| run.unreadable.is_none());
    let mut oldest_first: Vec<&CheckpointFacts> = readable.flat_map(|run| &run.checkpoints).collect();
    oldest_first.retain(|checkpoint| kept.contains(checkpoint.id.as_str()));
    oldest_first.sort_by_key(|checkpoint| checkpoint.number);
    let may_go = |checkpoint: &&CheckpointFacts| {
        exempt(checkpoint).is_none() && !newest.contains(&checkpoint.id) && stays(checkpoint).is_none()
    };
    let mut goes = BTreeMap::new();
    for checkpoint in oldest_first.into_iter().filter(may_go) {
        if total <= bytes_max {
            break;
        }
        let reason = format!("all checkpoints together take {total} bytes, and {bytes_max} is the limit");
        total = total.saturating_sub(checkpoint.bytes);
        goes.insert(checkpoint.id.as_str().to_owned(), reason);
    }
    for mut line in std::mem::take(&mut plan.keep) {
        match goes.remove(&line.id).filter(|_| line.item == PruneItem::Checkpoint) {
            Some(reason) => {
                (line.reason, line.consent) = (reason, Some(PruneConsent::Asked));
                plan.delete.push(line);
            }
            None => plan.keep.push(line),
        }
    }
}
