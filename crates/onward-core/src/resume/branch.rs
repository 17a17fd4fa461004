//! The branch of a run against the repository of now: another one is checked out, it is gone, its base has moved, or there are changes
//! that nobody committed.

use super::finding::{Finding, FindingKind};
use super::world::kind_of;
use crate::evidence::WorldSeen;
use crate::plan::{IfChanged, Plan};

/// Dirty files that are named; the rest is counted.
const PATHS_SHOWN_MAX: usize = 5;

pub(super) fn findings(plan: &Plan, then: &WorldSeen, now: &WorldSeen) -> Vec<Finding> {
    let all = [elsewhere(then, now), work_branch_gone(plan, then, now), base_moved(plan, then, now), dirty(plan, now)];
    all.into_iter().flatten().collect()
}

fn elsewhere(then: &WorldSeen, now: &WorldSeen) -> Option<Finding> {
    let (before, after) = (then.branch.as_ref()?, now.branch.as_deref().unwrap_or("no branch"));
    let message = format!("{after} is checked out, and the run was on {before} last");
    (before != after).then(|| Finding::new(FindingKind::BranchElsewhere, message))
}

fn work_branch_gone(plan: &Plan, then: &WorldSeen, now: &WorldSeen) -> Option<Finding> {
    let name = plan.freshness.git.branch.as_deref()?;
    let kind = kind_if_gone(plan)?;
    let gone = then.work_branch.is_some() && now.work_branch.is_none();
    gone.then(|| Finding::new(kind, format!("the branch {name} of the work is gone")))
}

/// The finding for a branch that is gone: a refusal, unless the plan says otherwise.
pub(super) fn kind_if_gone(plan: &Plan) -> Option<FindingKind> {
    match plan.freshness.git.if_branch_gone {
        None | Some(IfChanged::Stop) => Some(FindingKind::BranchGone),
        Some(other) => kind_of(other),
    }
}

fn base_moved(plan: &Plan, then: &WorldSeen, now: &WorldSeen) -> Option<Finding> {
    let name = plan.freshness.git.base.as_deref()?;
    let kind = kind_of(plan.freshness.git.if_base_moved.unwrap_or(IfChanged::Warn))?;
    match (&then.base, &now.base) {
        (Some(then), Some(now)) if then == now => None,
        (None, _) => None,
        (Some(_), Some(_)) => Some(Finding::new(kind, format!("{name}, the base of the work, has moved"))),
        (Some(_), None) => Some(Finding::new(kind, format!("{name}, the base of the work, is no longer there"))),
    }
}

fn dirty(plan: &Plan, now: &WorldSeen) -> Option<Finding> {
    let kind = kind_of(plan.freshness.git.if_dirty?)?;
    let files = now.dirty.as_ref().filter(|files| !files.is_empty())?;
    let shown = files.iter().take(PATHS_SHOWN_MAX).cloned().collect::<Vec<_>>().join(", ");
    let more = files.len().saturating_sub(PATHS_SHOWN_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(Finding::new(kind, format!("there are changes that are not committed: {shown}{more}")))
}
