//! The effects that should be happening now.

use jiff::Timestamp;

use super::replans::ReplanHold;
use super::requirements;
use super::schedule;
use super::settle::may_start;
use super::state::Run;
use crate::effect::Effect;
use crate::event::{Orphans, StopRequest, Urgency};
use crate::mutant::{self, Mutant};

/// Everything that should be under way, whether or not it is; the driver starts what is missing.
pub fn wanted(run: &Run, now: Timestamp) -> Vec<Effect> {
    if run.archived || run.ending().is_some() {
        return Vec::new();
    }
    // First: a snapshot or a commit then has the plan as it is.
    let mut effects: Vec<Effect> = run.marks_wanted().map(|phase| Effect::MarkPhase { phase: phase.clone() }).collect();
    // Before anything is started: whoever starts sees the files as the run stands.
    if !run.started.mirrors.is_empty() && !run.snapshot_is_wanted() {
        effects.push(Effect::Mirror);
    }
    if run.snapshot_is_wanted() {
        effects.push(Effect::Snapshot);
    }
    if let Some(begun) = run.vcs.begun.as_ref().filter(|_| !run.gives_git_up()) {
        effects.push(Effect::Commit { number: begun.number });
    }
    for (phase, state) in run.running() {
        let attempt = state.attempt.as_ref().expect("a running phase has its attempt");
        let (phase, number) = (phase.id.clone(), attempt.number);
        let ours = attempt.epoch == run.epoch || mutant::is(Mutant::ForgetRecovery);
        match (run.stop, ours) {
            (_, false) => effects.push(Effect::Recover { phase, attempt: number }),
            // A pause lets them come to their end.
            (Some((by, urgency)), true) if by != StopRequest::Pause => {
                effects.push(Effect::Stop { phase, attempt: number, by, urgency });
            }
            (None, true) if run.orphans == Orphans::Kill && attempt.adopted => {
                effects.push(Effect::Stop {
                    phase,
                    attempt: number,
                    by: StopRequest::OrphanKill,
                    urgency: Urgency::Kill,
                });
            }
            (None | Some(_), true) => effects.push(Effect::Perform { phase, attempt: number }),
        }
    }
    let id = |at: usize| run.plan().phases[at].id.clone();
    effects.extend(run.integration_wanted().map(|at| Effect::Integrate { phase: id(at) }));
    if run.stop.is_none() && run.epoch > 0 {
        effects.extend(run.probes_wanted().map(|at| Effect::Probe { phase: id(at) }));
        effects.extend(run.worktrees_to_remove().map(|at| Effect::RemoveWorktree { phase: id(at) }));
    }
    effects.extend(requirements::wanted(run, now));
    effects.extend(run.label_wanted().map(|phase| Effect::LabelIssue { phase: phase.clone() }));
    effects.extend(run.patience_ends(now).map(Effect::WakeAt));
    if run.stop.is_none() && run.epoch > 0 && run.awaited_group().is_none() {
        effects.extend(run.replan_wanted().and_then(|phase| match run.replan_is_held(now) {
            Some(ReplanHold::Limit(until)) => Some(Effect::WakeAt(until)),
            Some(ReplanHold::Money) => None,
            None => Some(Effect::Replan { phase: phase.clone() }),
        }));
    }
    effects.extend(run.notice_wanted(now).map(|due| Effect::Notify { notice: due.number }));
    effects.extend(run.notice_wakes(now).map(Effect::WakeAt));
    if may_start(run) {
        effects.extend(schedule::wake(run, now).map(Effect::WakeAt));
    }
    if run.stop.is_none() {
        effects.extend(run.limits.deadline.map(Effect::WakeAt));
    }
    effects
}
