//! A resume as it would be now, for those who only look: nothing of the plan is executed to find it out.

use jiff::Timestamp;
use onward_core::brief::{Brief, brief};
use onward_core::evidence::WorldSeen;
use onward_core::input::{Begin, Resumption};
use onward_core::plan::Need;
use onward_core::resume::{self, Finding, PlanFact, ResumeFacts, Weight};
use onward_core::run::{PhaseState, Run, schedule};
use onward_core::view::{self, WillRun};

use super::runs::require_phase;
use crate::Onward;
use crate::error::Result;
use crate::executor::shell;
use crate::probe;
use crate::start::dry_run::{FoundAhead, unless_refused};
use crate::start::open_question;
use crate::start::request::{Request, begin_told};
use crate::trust;
use crate::vcs;

/// Failed attempts that are told, the newest first.
const FAILED_ATTEMPTS_TOLD: usize = 3;

impl Onward {
    /// Whether a resume would run a phase, and why.
    pub fn why(&mut self, name: Option<&str>, phase: &str) -> Result<WillRun> {
        let id = self.find_run(name)?;
        let run = self.load(&id)?;
        let id = require_phase(&run, phase)?;
        let (found, state) = run.phases().find(|(found, _)| found.id == id).expect("it was just found");
        let mut why = if run.archived {
            WillRun::new(&found.id, None, vec!["its run is archived".to_owned()])
        } else {
            let ahead = self.resume_ahead(&run)?;
            let refused = self.refusals_seen(&run)?;
            unless_refused(self.why_ahead(&ahead, found), state, &refused)
        };
        let met = |need: &Need| run.phase_state(&need.phase).is_some_and(PhaseState::is_finished);
        if why.will_run && state.attempt.is_none() && found.needs.iter().all(met) {
            why.reasons.extend(schedule::held_up(&run, found, state, Timestamp::now()));
        }
        let tries = state.tries.iter().rev().take(FAILED_ATTEMPTS_TOLD).map(view::FailedAttempt::new);
        why.reasons.extend(tries.filter(|_| !state.is_finished()).map(|one| one.words()));
        why.reasons.extend(open_question::last_findings(&self.project, &run, Some(&found.id)));
        Ok(why)
    }

    /// The brief of a run in at most so many tokens. An attempt of which nobody knows is told as that, and not as one at work.
    pub fn brief(&mut self, name: Option<&str>, tokens: usize) -> Result<Brief> {
        let id = self.find_run(name)?;
        let run = self.load(&id)?;
        let open = run.is_unfinished() && !run.archived && self.driver(&id)?.is_none();
        let known = if open { self.with_unknown_ends(&run) } else { run };
        Ok(brief(&known, tokens))
    }

    fn resume_ahead(&self, run: &Run) -> Result<FoundAhead> {
        let begin = begin_told(&Request::default(), run.epoch + 1, Resumption::default());
        self.ahead(run, &Begin { environment: shell::variables_on_record(run.plan()), ..begin })
    }

    /// The findings for which a resume is refused, as far as git and the record tell them.
    fn refusals_seen(&mut self, run: &Run) -> Result<Vec<String>> {
        if !run.is_unfinished() || trust::doubt(&self.project).is_some() || self.driver(&run.id)?.is_some() {
            return Ok(Vec::new());
        }
        let found = self.worktree_gone(run).map_or_else(|| self.found_by_git(run), |gone| vec![gone]);
        let refused = found.iter().filter(|finding| finding.kind.row().weight == Weight::Refuse);
        Ok(refused.flat_map(Finding::lines).collect())
    }

    fn found_by_git(&self, run: &Run) -> Vec<Finding> {
        let then = run.last_look().map(|look| look.world.clone()).unwrap_or_default();
        // What is not asked counts as unchanged.
        let world = WorldSeen { probes: then.probes, issue: then.issue, ..probe::git_seen(&self.project, run) };
        let facts = ResumeFacts {
            run,
            plan: PlanFact::Kept,
            branch: vcs::branch_fact(&self.project.top, run.branch()),
            head: None,
            auto: self.config.resume_auto(),
            max_age: self.config.resume_max_age(),
            now: Timestamp::now(),
        };
        let mut found = resume::observe(&facts);
        found.extend(resume::world::findings(run, &world));
        found
    }
}
