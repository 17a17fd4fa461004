//! A person who goes back: between two drivers a run is now and then rewound to one of its checkpoints, and the rewind
//! may be cut off anywhere.

use onward_core::checkpoint::{self, Checkpoint};
use onward_core::event::{FilesBack, Outcome};
use onward_core::id::{CheckpointId, PhaseId};
use onward_core::input::{AttemptEnd, Begin, Choice, Input, Resumption};
use onward_core::plan::{Body, Need};
use onward_core::run::worktrees::WorktreeStage;
use onward_core::run::{PhaseStatus, Run};
use onward_engine::rewind_steps::{self, NotBack};
use onward_engine::{Committer, KeepNothing, Result, RewindSince, World, integration_steps};
use onward_store::{CheckpointFilter, Lease, Page, Store};

use super::store::FaultyStore;
use super::world::{ALONE, Eyes, SharedMachine};
use super::{ACTOR, compound};

/// So often a rewind that is not ended is tried again; the dice do not say no for ever.
const TRIES_MAX: u32 = 100;

/// Ends a rewind that was cut off, and perhaps begins another.
pub(super) fn maybe(
    machine: &SharedMachine,
    store: &mut FaultyStore,
    lease: &Lease,
    world: &mut Eyes,
    mut run: Run,
) -> Result<Run> {
    let (now, mut keep) = (machine.lock().expect(ALONE).now, KeepNothing);
    if let Some(begun) = run.vcs.rewinding.clone() {
        let to = read(store, &begun.to);
        let mut hand = Committer::new(store, lease, &mut keep, &mut run, ACTOR);
        for _ in 0..TRIES_MAX {
            match rewind_steps::finish(&mut hand, world, &to, RewindSince::Earlier, now)? {
                Ok(()) | Err(NotBack::AsBefore(_)) => break,
                // Nothing else is done with a run before it is ended.
                Err(NotBack::Pending(_)) => {}
            }
        }
        return Ok(run);
    }
    let Some(ends) = ends(machine, world, &run)? else { return Ok(run) };
    let rows = store.checkpoints(CheckpointFilter::OfRun(&run.id), Page::first(100_000)).expect("readable");
    let (wanted, which) = {
        let mut machine = machine.lock().expect(ALONE);
        (machine.dice.percent(8), machine.dice.below(rows.len().max(1) as u64))
    };
    let row = rows.get(usize::try_from(which).expect("small"));
    let (true, Some(row)) = (wanted && run.epoch > 0, row) else { return Ok(run) };
    let to = read(store, &row.id);
    let files = to.snapshot.as_ref().map(|kept| FilesBack { to: kept.commit.clone(), later: Vec::new() });
    let undo = run.vcs.undoable.last().is_some_and(|begun| begun.before == to.id);
    let present = run.vcs.undoable.last().filter(|_| undo).map(|last| read(store, &last.to));
    let wish = rewind_steps::RewindWish { to: &to, files, state: true, undoes: undo, present: present.as_ref() };
    let mut hand = Committer::new(store, lease, &mut keep, &mut run, ACTOR);
    integration_steps::end(&mut hand, world.tree(), now)?;
    rewind_steps::begin(&mut hand, world, ends, &wish, now)?;
    let _ = rewind_steps::finish(&mut hand, world, &to, RewindSince::Now, now)?;
    Ok(run)
}

/// Answers that were given before the rewind and still make sense after it.
pub(super) fn still_legal(run: &Run, begin: &Begin) -> Vec<(PhaseId, Choice)> {
    let plan = begin.resumption.revised.as_ref().map_or(run.plan(), |revised| &revised.plan);
    let over = |phase: &PhaseId| {
        let status = run.phase_state(phase).map(|state| state.status);
        let at_work = run.running().any(|(part, _)| compound::ancestors(run.plan(), &part.id).contains(phase));
        at_work || matches!(status, Some(PhaseStatus::Completed | PhaseStatus::Running))
    };
    // The next driver ends first what was begun to be put into the project.
    let is_coming_in = |phase: &PhaseId| {
        let own = run.phase_state(phase).and_then(|state| state.own.as_deref());
        own.is_some_and(|own| matches!(own.stage, WorktreeStage::Begun(_)))
    };
    let legal = |(phase, choice): &(PhaseId, Choice)| match choice {
        _ if is_coming_in(phase) => false,
        Choice::Retry | Choice::RetryClean => true,
        Choice::Skip => !over(phase),
        // A person has to approve it; nobody takes it as done.
        Choice::Adopt => !over(phase) && !matches!(plan.phase(phase).map(|p| &p.body), Some(Body::Approval(_))),
    };
    begin.choices.iter().filter(|one| legal(one)).cloned().collect()
}

/// A phase that was wanted alone is no longer, where the rewind took away what it needs.
pub(super) fn still_possible(run: &Run, told: Resumption) -> Resumption {
    let done = |need: &Need| run.phase_state(&need.phase).is_some_and(|s| s.status == PhaseStatus::Completed);
    let possible = |id: &PhaseId| run.plan().phase(id).is_some_and(|phase| phase.needs.iter().all(done));
    Resumption { only: told.only.clone().filter(possible), ..told }
}

/// The ends of a dead driver's attempts; nothing where one still lives.
fn ends(machine: &SharedMachine, world: &mut Eyes, run: &Run) -> Result<Option<Vec<Input>>> {
    let mut ends = Vec::new();
    for (phase, state) in run.running() {
        let attempt = state.attempt.as_ref().expect("it is at work").number;
        if machine.lock().expect(ALONE).is_at_work(&phase.id, attempt) {
            return Ok(None);
        }
        ends.push(match world.recover(run, &phase.id, attempt)? {
            Input::AttemptFound { phase, attempt, .. } => {
                Input::AttemptEnded { phase, attempt, end: AttemptEnd::bare(Outcome::NeverRan) }
            }
            end => end,
        });
    }
    Ok(Some(ends))
}

fn read(store: &mut FaultyStore, id: &CheckpointId) -> Checkpoint {
    let found = store.checkpoint(id).expect("readable").expect("it is listed");
    checkpoint::assemble(&found.keyframe, &found.patches).expect("I8: it can be read")
}
