//! Worktrees of phases on the simulated machine: how they are made, and how their files come into the project.

use std::collections::BTreeSet;

use onward_core::event::{WorktreeConflict, WorktreeFact};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{Begin, Input};
use onward_core::run::worktrees::{Renewal, WorktreeStage};
use onward_core::run::{PhaseState, Run};
use onward_engine::{Committer, KeepNothing, Result, World, integration_steps};
use onward_store::Lease;

use super::ACTOR;
use super::store::FaultyStore;
use super::world::{ALONE, Eyes, Machine, SharedMachine};

/// The worktrees as they really are.
#[derive(Debug, Default)]
pub(super) struct SimulatedWorktrees {
    merges: u64,
    /// Merged trees whose files are all in the project.
    put: BTreeSet<String>,
    /// Attempts that brought nothing that the project did not have.
    in_the_project: BTreeSet<(PhaseId, Attempt)>,
}

impl Machine {
    /// The worktree of an attempt as it is to be made: with both versions of what two have changed, where the phase tries again.
    pub(super) fn begin_worktree(&mut self, run: &Run, phase: &PhaseId, attempt: Attempt) -> Result<Input> {
        let own = run.phase_state(phase).and_then(|state| state.own.as_deref());
        let both = own.is_some_and(|own| own.renewal == Some(Renewal::Rebase));
        let base = format!("tree{}", self.git.tree);
        let unresolved = if both && self.dice.percent(50) { vec!["file0".to_owned()] } else { Vec::new() };
        let content = both.then(|| format!("both{}", self.git.tree));
        // A snapshot was taken, and perhaps nobody lives to write that down.
        self.tick()?;
        Ok(found(phase, Ok(WorktreeFact::Begun { attempt, base, content, unresolved })))
    }

    /// Puts the files of a phase into the project, one step further.
    pub(super) fn integrate(&mut self, run: &Run, phase: &PhaseId) -> Result<Input> {
        self.tick()?;
        self.oracle.may_integrate(run, phase);
        let state = run.phase_state(phase).expect("of the plan");
        let attempt = Attempt(state.attempts);
        let fact = match &state.own.as_deref().expect("its files are on their way").stage {
            WorktreeStage::Begun(begun) if self.worktrees.put.contains(&begun.merged) => {
                // The driver that did it did not live to say so.
                Ok(WorktreeFact::Integrated { result: begun.result.clone(), left_out: Vec::new(), seen: None })
            }
            WorktreeStage::Begun(begun) => match self.dice.below(100) {
                0..=11 => Ok(WorktreeFact::CalledOff { reason: "a file was edited".to_owned(), paths: paths() }),
                12..=15 => Ok(conflict(&begun.result, "files that git does not know lie in the way")),
                16..=18 => Err("git has no room".to_owned()),
                _ => {
                    // Half of the files are moved.
                    self.tick()?;
                    self.git.tree += 1;
                    self.worktrees.put.insert(begun.merged.clone());
                    self.oracle.really_integrated(phase, attempt);
                    self.tick()?;
                    Ok(WorktreeFact::Integrated { result: begun.result.clone(), left_out: Vec::new(), seen: None })
                }
            },
            WorktreeStage::Due => {
                let nothing_left = self.worktrees.in_the_project.contains(&(phase.clone(), attempt));
                self.worktrees.merges += 1;
                let number = self.worktrees.merges;
                let (result, before) = (format!("result{number}"), format!("tree{}", self.git.tree));
                match self.dice.below(100) {
                    _ if nothing_left => Ok(WorktreeFact::Integrated { result, left_out: Vec::new(), seen: None }),
                    0..=14 => Ok(conflict(&result, "both have changed the same line")),
                    15..=18 => Err("conflict marks are left in file0".to_owned()),
                    19..=26 => {
                        // The project has all of it already.
                        self.worktrees.in_the_project.insert((phase.clone(), attempt));
                        self.oracle.really_integrated(phase, attempt);
                        Ok(WorktreeFact::Integrated { result, left_out: Vec::new(), seen: None })
                    }
                    _ => Ok(WorktreeFact::IntegrationBegun { result, before, merged: format!("merged{number}") }),
                }
            }
            WorktreeStage::AtWork | WorktreeStage::Conflict(_) | WorktreeStage::Integrated { .. } => {
                panic!("{phase} is to be integrated and is not on its way")
            }
        };
        self.tick()?;
        Ok(found(phase, fact))
    }

    pub(super) fn remove_worktree(&mut self, phase: &PhaseId) -> Result<Input> {
        self.tick()?;
        let integrated = self.oracle.may_remove_the_worktree(phase);
        let kept = self.dice.percent(20).then(|| "it was changed after its files were taken".to_owned());
        let put_away = (kept.is_none() && !integrated).then(|| "the commit of what was left out".to_owned());
        self.tick()?;
        Ok(found(phase, Ok(WorktreeFact::Removed { kept, put_away })))
    }
}

/// The phase whose files are on their way into the project.
pub(super) fn halfway(run: &Run) -> Option<PhaseId> {
    let begun =
        |state: &PhaseState| matches!(state.own.as_deref().map(|own| &own.stage), Some(WorktreeStage::Begun(_)));
    run.phases().find(|(_, state)| begun(state)).map(|(phase, _)| phase.id.clone())
}

/// Ends what a driver left halfway, before an edited plan is brought along or work is undone.
pub(super) fn end_what_is_halfway(
    machine: &SharedMachine,
    store: &mut FaultyStore,
    lease: &Lease,
    world: &mut Eyes,
    (mut run, begin): (Run, &Begin),
) -> Result<Run> {
    if begin.resumption.revised.is_some() || begin.resumption.from.is_some() {
        let (now, mut keep) = (machine.lock().expect(ALONE).now, KeepNothing);
        let mut hand = Committer::new(store, lease, &mut keep, &mut run, ACTOR);
        integration_steps::end(&mut hand, world.tree(), now)?;
    }
    Ok(run)
}

fn paths() -> Vec<String> {
    vec!["file0".to_owned()]
}

fn conflict(result: &str, told: &str) -> WorktreeFact {
    let (result, told) = (result.to_owned(), vec![told.to_owned()]);
    WorktreeFact::Conflict(WorktreeConflict { result, paths: paths(), more: 0, told })
}

fn found(phase: &PhaseId, found: std::result::Result<WorktreeFact, String>) -> Input {
    Input::Worktree { phase: phase.clone(), found: found.map(Box::new) }
}
