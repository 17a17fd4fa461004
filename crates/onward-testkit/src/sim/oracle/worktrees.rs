//! Phases in worktrees of their own: their files come into the project once for each attempt, one phase after the other, and what two
//! have changed is a person's to settle.

use std::collections::BTreeSet;

use onward_core::agent::AgentWorktree;
use onward_core::event::WorktreeFact;
use onward_core::id::{Attempt, PhaseId, Seq};
use onward_core::plan::{Body, LossKind, Phase, Plan, globs};
use onward_core::run::Run;

use super::Oracle;

/// The oracle's notes on the worktree of one phase.
#[derive(Clone, Debug, Default)]
pub(super) struct TreeFacts {
    /// It was made for an attempt, and that one can work in it.
    ready: bool,
    attempt: Option<Attempt>,
    stage: TreeStage,
    /// Attempts whose files are in the project by the record.
    integrated: BTreeSet<Attempt>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TreeStage {
    #[default]
    AtWork,
    /// Its checks have passed there.
    Due,
    Begun,
    Conflict,
    Integrated,
}

pub(super) fn works_apart(phase: &Phase) -> bool {
    matches!(&phase.body, Body::Agent(block) if AgentWorktree::read(block) == AgentWorktree::Own)
}

impl Oracle {
    /// An attempt begins: in a worktree that is ready, once it was made.
    pub(super) fn worktree_of_an_attempt(&mut self, phase: &Phase, attempt: Attempt) {
        self.nothing_is_integrated_beside(phase);
        if !works_apart(phase) {
            self.trees.remove(&phase.id);
            return;
        }
        let tree = self.trees.entry(phase.id.clone()).or_default();
        assert_ne!(tree.stage, TreeStage::Conflict, "H3: {} goes on with a conflict that nobody settled", phase.id);
        tree.ready &= tree.stage != TreeStage::Integrated;
        (tree.stage, tree.attempt) = (TreeStage::AtWork, Some(attempt));
    }

    /// A phase with files on their way into the project, or looked at there, has taken the lock `git` and the files it writes.
    fn nothing_is_integrated_beside(&self, phase: &Phase) {
        for other in self.trees.iter().filter(|(id, _)| **id != phase.id && self.is_on_its_way(id)).map(|(id, _)| id) {
            let Some(definition) = self.plan.phase(other) else { continue };
            let both: Vec<String> = locks_in_the_project(definition).intersection(&locks(phase)).cloned().collect();
            assert!(both.is_empty(), "H2: {} holds {both:?} while the files of {other} are integrated", phase.id);
            let collide = |one: &String| definition.writes.iter().any(|two| globs::may_overlap(one, two));
            let writes = !works_apart(phase) && phase.writes.iter().any(collide);
            assert!(!writes, "H2: {} writes what is integrated for {other}", phase.id);
        }
    }

    fn is_on_its_way(&self, phase: &PhaseId) -> bool {
        let facts = &self.facts[phase];
        // What a person is asked about keeps nobody: that may take days.
        let looked_at = facts.unprobed.is_some() && !facts.in_doubt && facts.finished_as.is_none();
        let looked_at = looked_at && facts.open.is_none();
        looked_at && matches!(self.trees[phase].stage, TreeStage::Due | TreeStage::Begun | TreeStage::Integrated)
    }

    pub(super) fn worktree_changed(&mut self, phase: &PhaseId, fact: &WorktreeFact) {
        let what = serde_json::to_value(fact).expect("plain data")["what"].as_str().expect("a tag").to_owned();
        *self.coverage.entry(format!("worktree_changed:{what}")).or_default() += 1;
        let tree = self.trees.entry(phase.clone()).or_default();
        let stage = tree.stage;
        match fact {
            WorktreeFact::Begun { attempt, .. } => {
                assert_eq!(self.facts[phase].open, Some(*attempt), "a worktree is made for an attempt at work");
                tree.ready = true;
            }
            WorktreeFact::IntegrationBegun { .. } => {
                assert_eq!(stage, TreeStage::Due, "H1: {phase} is integrated and was not proven");
                tree.stage = TreeStage::Begun;
                self.is_alone(phase);
            }
            WorktreeFact::Integrated { .. } => {
                assert!(matches!(stage, TreeStage::Due | TreeStage::Begun), "H1: {phase} was not on its way");
                tree.stage = TreeStage::Integrated;
                let attempt = tree.attempt.expect("a worktree is of an attempt");
                assert!(tree.integrated.insert(attempt), "H1: {attempt} of {phase} is integrated twice");
                let really = self.really_integrated.contains(&(phase.clone(), attempt));
                assert!(really, "H1: {attempt} of {phase} is on record as integrated, and was not");
                self.is_alone(phase);
            }
            WorktreeFact::CalledOff { .. } => {
                assert_eq!(stage, TreeStage::Begun, "{phase} is called off before it began");
                tree.stage = TreeStage::Due;
            }
            WorktreeFact::Conflict(_) => {
                assert!(matches!(stage, TreeStage::Due | TreeStage::Begun), "{phase} was not on its way");
                tree.stage = TreeStage::Conflict;
                let facts = self.facts.get_mut(phase).expect("of the plan");
                (facts.unprobed, facts.confirmed) = (None, false);
            }
            WorktreeFact::Removed { kept, put_away } => {
                let stage = self.trees.remove(phase).map(|tree| tree.stage);
                let safe = kept.is_some() || put_away.is_some() || stage == Some(TreeStage::Integrated);
                assert!(safe, "the worktree of {phase} is gone, and so is its work");
            }
        }
    }

    /// One at a time, and beside nobody who writes the same or holds the lock `git`.
    fn is_alone(&self, phase: &PhaseId) {
        let definition = self.plan.phase(phase).expect("of the plan");
        assert!(self.committing.is_none(), "H2: {phase} is integrated while a commit is made");
        for (other, tree) in self.trees.iter().filter(|(id, _)| *id != phase) {
            assert_ne!(tree.stage, TreeStage::Begun, "H2: {phase} is integrated beside {other}");
            let is_there = self.plan.phase(other).is_some();
            let looked_at = is_there && tree.stage == TreeStage::Integrated && self.is_on_its_way(other);
            assert!(!looked_at, "H2: {phase} is integrated before it is known whether {other} is done");
        }
        for (other, _) in self.facts.iter().filter(|(_, facts)| facts.open.is_some()) {
            let other = self.plan.phase(other).expect("of the plan");
            let both: Vec<String> = locks_in_the_project(definition).intersection(&locks(other)).cloned().collect();
            assert!(both.is_empty(), "H2: {phase} is integrated while {} holds {both:?}", other.id);
            let collide = |one: &String| definition.writes.iter().any(|two| globs::may_overlap(one, two));
            let writes = !works_apart(other) && other.writes.iter().any(collide);
            assert!(!writes, "H2: {phase} is integrated while {} writes the same", other.id);
        }
    }

    /// It was looked at in its worktree, and its checks have passed. True if they are to pass once more.
    pub(super) fn is_proven_apart(&mut self, phase: &PhaseId) -> bool {
        let Some(tree) = self.trees.get_mut(phase).filter(|tree| tree.ready) else { return false };
        if tree.stage == TreeStage::AtWork {
            tree.stage = TreeStage::Due;
            return true;
        }
        false
    }

    pub(super) fn is_not_proven(&mut self, phase: &PhaseId) {
        if let Some(tree) =
            self.trees.get_mut(phase).filter(|tree| matches!(tree.stage, TreeStage::Due | TreeStage::Begun))
        {
            tree.stage = TreeStage::AtWork;
        }
    }

    /// Somebody wants it tried again, with both versions where two have changed the same.
    pub(super) fn worktree_is_tried_again(&mut self, phase: &PhaseId) {
        let Some(tree) = self.trees.get_mut(phase) else { return };
        match tree.stage {
            TreeStage::Conflict => (tree.stage, tree.ready) = (TreeStage::AtWork, false),
            TreeStage::Due => tree.stage = TreeStage::AtWork,
            TreeStage::AtWork | TreeStage::Begun | TreeStage::Integrated => {}
        }
    }

    /// Nothing may be halfway when what the run goes by is changed: afterwards nobody would know of it.
    pub(super) fn nothing_is_halfway(&self, why: &str) {
        let halfway: Vec<_> = self.trees.iter().filter(|(_, tree)| tree.stage == TreeStage::Begun).collect();
        assert!(halfway.is_empty(), "H4: {why} while files of {:?} are halfway into the project", halfway[0].0);
    }

    /// A revision beside a living driver leaves what is on its way alone.
    pub(super) fn what_is_halfway_stays_as_it_is(&self, plan: &Plan) {
        for (id, _) in self.trees.iter().filter(|(_, tree)| tree.stage == TreeStage::Begun) {
            let (before, after) = (self.plan.phase(id), plan.phase(id));
            let same = before.zip(after).is_some_and(|(before, after)| before.body == after.body);
            assert!(same, "H4: {id} is revised while its files are halfway into the project");
        }
    }

    /// Nobody but an agent can mean what an agent has claimed.
    pub(super) fn agents_become_others(&mut self, plan: &Plan) {
        for phase in plan.phases.iter().filter(|phase| !matches!(phase.body, Body::Agent(_))) {
            let open = self.facts.get(&phase.id).is_some_and(|facts| facts.open.is_none());
            if let Some(tree) = self.trees.get_mut(&phase.id).filter(|_| open) {
                if tree.stage == TreeStage::Due {
                    tree.stage = TreeStage::AtWork;
                }
                self.disowned.insert(phase.id.clone());
            }
        }
    }

    /// A phase is done, and nobody has brought its files together by hand.
    pub(super) fn worktree_may_be_completed(&self, phase: &PhaseId) {
        let apart = self.plan.phase(phase).is_some_and(works_apart);
        let Some(tree) = self.trees.get(phase).filter(|tree| apart && tree.ready) else { return };
        assert_ne!(tree.stage, TreeStage::Conflict, "H3: {phase} is done with a conflict that nobody settled");
        assert_eq!(tree.stage, TreeStage::Integrated, "H1: {phase} is done, and its files are not in the project");
        assert!(self.facts[phase].confirmed, "H1: {phase} is done, and its checks did not pass in the project");
    }

    /// The driver is about to put files into the project.
    pub(in crate::sim) fn may_integrate(&self, run: &Run, phase: &PhaseId) {
        let durable = self.journal.last().map_or(Seq(0), |last| last.seq);
        assert!(run.seq <= durable, "I2: the driver integrates on {} while {durable} is durable", run.seq);
        let stage = self.trees.get(phase).map(|tree| tree.stage);
        assert!(matches!(stage, Some(TreeStage::Due | TreeStage::Begun)), "I2: {phase} is integrated for no reason");
        self.is_alone(phase);
    }

    /// All files of this attempt are in the project.
    pub(in crate::sim) fn really_integrated(&mut self, phase: &PhaseId, attempt: Attempt) {
        let new = self.really_integrated.insert((phase.clone(), attempt));
        assert!(new, "H1: the files of {attempt} of {phase} are put into the project twice");
    }

    /// A worktree goes once nobody needs it, and tells whether its work is in the project: what a person left out is put away.
    pub(in crate::sim) fn may_remove_the_worktree(&self, phase: &PhaseId) -> bool {
        let stage = self.trees.get(phase).map(|tree| tree.stage).expect("a worktree that is there");
        assert!(self.facts[phase].finished_as.is_some(), "the worktree of {phase} is removed before its end");
        assert_ne!(
            stage,
            TreeStage::Begun,
            "the worktree of {phase} is removed while its files are put into the project"
        );
        stage == TreeStage::Integrated
    }

    /// The client of an attempt is started where its work is to be.
    pub(in crate::sim) fn is_where_it_works(&self, run: &Run, phase: &PhaseId) {
        let definition = self.plan.phase(phase).expect("of the plan");
        let ready = self.trees.get(phase).is_some_and(|tree| tree.ready);
        assert!(ready || !works_apart(definition), "{phase} is started without the worktree that it is to have");
        let apart = run.phase_state(phase).is_some_and(onward_core::run::PhaseState::is_apart);
        assert_eq!(apart, works_apart(definition), "{phase} works in the wrong place");
    }
}

fn locks(phase: &Phase) -> BTreeSet<String> {
    let commits = (phase.value == Some(LossKind::Commit)).then(|| "git".to_owned());
    phase.locks.iter().cloned().chain(commits).collect()
}

fn locks_in_the_project(phase: &Phase) -> BTreeSet<String> {
    let mut locks = locks(phase);
    locks.insert("git".to_owned());
    locks
}
