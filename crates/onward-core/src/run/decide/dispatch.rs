//! Which file decides which input, and the few inputs that need no file of their own.

use jiff::Timestamp;

use super::{
    Refusal, begin, ended, limited, notices, plan_marks, posted, probed, replan, sections, stop, vcs, worktrees,
};
use crate::event::{Event, StopReason};
use crate::id::{Attempt, PhaseId};
use crate::input::Input;
use crate::run::state::Run;
use crate::run::{groups, issue_labels, requirements};

pub(in crate::run) fn decide(run: &Run, input: &Input, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    match input {
        Input::Begin(begin) => begin::begin(run, begin, now),
        Input::AttemptFound { phase, attempt, alive } => {
            at_work(run, phase, *attempt)?;
            let (phase, attempt, alive) = (phase.clone(), *attempt, *alive);
            Ok(vec![Event::AttemptAdopted { phase, attempt, epoch: run.epoch, alive }])
        }
        Input::AttemptEnded { phase, attempt, end } => {
            at_work(run, phase, *attempt)?;
            Ok(ended::ended(run, phase, *attempt, end, now))
        }
        Input::Probed { phase, proof } => probed::probed(run, phase, proof, now),
        Input::Required { phase, seen } => Ok(requirements::required(run, phase, seen).into_iter().collect()),
        Input::IssueLabelled { phase, set } => Ok(issue_labels::labelled(run, phase, set).into_iter().collect()),
        Input::Replan { phase, plan } => Ok(replan::made(run, phase, plan)),
        Input::PlanningPaid { phase, bill, answer } => {
            let answered = decide(run, answer, now)?;
            Ok(replan::paid(run, phase, bill).into_iter().chain(answered).collect())
        }
        Input::ReplanLimited { phase, agent, until, said } => {
            Ok(replan::limited(run, phase, agent, (*until, said), now).into_iter().collect())
        }
        Input::DriverGone => Ok(driver_gone(run)),
        Input::StopAsked { by } => Ok(stop::stop(run, *by)),
        Input::TreeSeen { files } => Ok(sections::tree_seen(run, files).into_iter().collect()),
        Input::Import(step) => Ok(sections::import(run, step, now)),
        Input::Mirrored { told } => Ok(sections::mirrored(run, told)),
        Input::Snapshotted(result) => Ok(vec![vcs::snapshotted(result)]),
        Input::KeptBeforeClean { phase, attempt, snapshot } => {
            Ok(vcs::kept_before_clean(run, phase, *attempt, snapshot, now))
        }
        Input::Worktree { phase, found } => Ok(worktrees::found(run, phase, found, now)),
        Input::Committed { number, made } => Ok(vcs::committed(run, *number, made).into_iter().collect()),
        Input::PhaseMarked { phase, marked } => Ok(plan_marks::marked(run, phase, marked).into_iter().collect()),
        Input::Notified { notice, sent } => Ok(notices::notified(run, *notice, sent, now).into_iter().collect()),
        Input::Rewind(begun) => vcs::rewind(run, begun),
        Input::Rewound(result) => vcs::rewound(run, result),
        Input::Forked { from, checkpoint, restored } => Ok(vec![vcs::forked(from, checkpoint, restored)]),
        Input::LimitElsewhere(closed) => Ok(limited::elsewhere(run, closed, now).into_iter().collect()),
        Input::GroupSeen(seen) => Ok(groups::seen(run, seen).into_iter().collect()),
        Input::Tick => Ok(Vec::new()),
        Input::Posted(posted) => posted::posted(run, posted, now),
    }
}

/// A run that ended or was stopped needs no such note.
fn driver_gone(run: &Run) -> Vec<Event> {
    let gone = !run.archived && run.ending().is_none();
    gone.then_some(Event::RunStopped { reason: StopReason::DriverGone }).into_iter().collect()
}

fn at_work(run: &Run, phase: &PhaseId, attempt: Attempt) -> Result<(), Refusal> {
    let state = run.phase_state(phase).ok_or_else(|| Refusal::NoSuchPhase(phase.clone()))?;
    match &state.attempt {
        Some(running) if running.number == attempt => Ok(()),
        Some(_) | None => Err(Refusal::NotAtWork(phase.clone(), attempt)),
    }
}
