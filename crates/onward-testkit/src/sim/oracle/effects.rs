//! Effects: each must have a reason on record before the driver brings it about.

use std::collections::BTreeSet;

use onward_core::id::{Attempt, PhaseId, Seq};
use onward_core::plan::Effects;
use onward_core::run::Run;
use onward_core::run::replans::PlanMaker;

use super::Oracle;
use super::worktrees::works_apart;

impl Oracle {
    /// The driver is about to have another plan made.
    pub(in crate::sim) fn may_replan(&self, run: &Run, phase: &PhaseId) {
        if matches!(run.plan_maker(phase), Some(PlanMaker::Agent(_))) {
            self.agent_may_plan();
        }
        assert!(self.replans.asks(phase), "another plan is to be made for {phase}, which did not ask for it");
        let durable = self.journal.last().map_or(Seq(0), |last| last.seq);
        assert!(run.seq <= durable, "I2: a plan is made on {} while {durable} is durable", run.seq);
    }

    /// The driver is about to ask a probe.
    pub(in crate::sim) fn may_probe(&self, run: &Run, phase: &PhaseId) {
        assert!(self.facts[phase].unprobed.is_some(), "{phase} is to be probed for no reason");
        let durable = self.journal.last().map_or(Seq(0), |last| last.seq);
        assert!(run.seq <= durable, "I2: the driver probes on {} while {durable} is durable", run.seq);
    }

    /// The driver is about to make a commit.
    pub(in crate::sim) fn may_commit(&self, run: &Run, number: u32) {
        assert!(self.commits.contains(&number), "I2: commit {number} is made and not on record");
        let durable = self.journal.last().map_or(Seq(0), |last| last.seq);
        assert!(run.seq <= durable, "I2: the driver commits on {} while {durable} is durable", run.seq);
        let writes = |phase: &&PhaseId| {
            let phase = self.plan.phase(phase).expect("of the plan");
            phase.effects != Effects::None && !works_apart(phase)
        };
        let open: Vec<_> = self
            .facts
            .iter()
            .filter(|(_, facts)| facts.open.is_some())
            .map(|(phase, _)| phase)
            .filter(writes)
            .collect();
        assert!(open.is_empty(), "a commit is made while {open:?} write");
    }

    /// These commits are in the repository.
    pub(in crate::sim) fn committed(commits: &[u32]) {
        let different: BTreeSet<&u32> = commits.iter().collect();
        assert_eq!(different.len(), commits.len(), "a commit was made twice: {commits:?}");
    }

    /// The driver is about to start a process.
    pub(in crate::sim) fn may_perform(&self, run: &Run, phase: &PhaseId, attempt: Attempt) {
        assert_eq!(self.facts[phase].open, Some(attempt), "I2: {attempt} of {phase} is started and not on record");
        let durable = self.journal.last().map_or(Seq(0), |last| last.seq);
        assert!(run.seq <= durable, "I2: the driver acts on {} while {durable} is durable", run.seq);
    }

    /// A process was started; these of the same phase live at this moment.
    pub(in crate::sim) fn spawned(&mut self, phase: &PhaseId, attempt: Attempt, living: &[Attempt]) {
        assert!(living.is_empty(), "I5: {attempt} of {phase} is started while {living:?} live");
        let times = self.spawned.entry((phase.clone(), attempt)).or_default();
        *times += 1;
        assert_eq!(*times, 1, "I5: {attempt} of {phase} was started twice");
        self.deed_begins(phase, attempt);
    }

    /// An attempt died before it executed anything: as if it had not been started.
    pub(in crate::sim) fn never_ran(&mut self, phase: &PhaseId, attempt: Attempt) {
        self.spawned.remove(&(phase.clone(), attempt));
        self.deed_never_began(phase, attempt);
    }
}
