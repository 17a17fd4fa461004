//! Whether going on with a run of a file would execute anything that the user's own plan file does not say.
//!
//! A plan file in the project is what `onward run` executes in any case, as make does with a makefile. A run of exactly that plan
//! brings no command of its own; every other run waits for a person's word. See `docs/design/0031-runs-of-ones-own-plan.md`.

use onward_core::event::{Event, Recorded, RunStarted};
use onward_core::plan::{self, Body, Phase, Plan};
use onward_core::run::Run;
use onward_store::portable::PortableRun;

use crate::Onward;
use crate::error::Result;
use crate::plan_files::{plan_from_text, plan_text};
use crate::start::prepared_plan::PreparedPlan;
use crate::sys::caller_guard::inside;

impl Onward {
    /// Why a run of a file waits for a person's word; none where nothing of the file is executed.
    pub(super) fn waits_for_a_word(&self, file: &PortableRun, run: &Run, journal: &[Recorded]) -> Option<&'static str> {
        let started = &run.started;
        if started.plan.phases.is_empty() {
            return None;
        }
        if inside(&self.project).is_some() {
            return Some("it was imported from inside a phase");
        }
        if !file.artifacts.is_empty() || file.bundle.is_some() {
            return Some("the file brings files that would be put into the project");
        }
        if let Some(why) = journal.iter().find_map(|recorded| beyond_its_plan(&recorded.event)) {
            return Some(why);
        }
        let same_mirrors = started.mirrors == self.config.mirrors(started.plan.mirror.as_deref())
            && (started.mirrors.is_empty() || started.mirror_folder == self.config.mirror_folder());
        if started.commits.is_some() || !same_mirrors {
            return Some(
                "it makes commits along the way, or writes mirrors, that the configuration here does not ask for",
            );
        }
        match self.prepared_here(started) {
            Ok(Some(here)) if plan::digest_of_all(&here) == plan::digest_of_all(&started.plan) => {
                has_agents(&here).then_some("agents would be told what the file says of earlier attempts")
            }
            Ok(Some(_)) => Some("its plan is another one than the plan file here"),
            Ok(None) | Err(_) => Some("there is no plan file here that says what it would execute"),
        }
    }

    /// The plan that `onward run` would take here, with the run's inputs; none where the run is of another file.
    fn prepared_here(&self, started: &RunStarted) -> Result<Option<Plan>> {
        let path = self.project.default_plan(&self.project.top)?;
        let file = self.project.relative(&path);
        if file != started.plan_path {
            return Ok(None);
        }
        let written = plan_from_text(&self.project, &path, plan_text(&path)?, &self.config.markdown())?;
        Ok(Some(PreparedPlan::new(&self.project, &file, &written, &started.inputs)?.plan))
    }
}

/// Names the reason if a fact brings more than the plan that the run began with.
fn beyond_its_plan(event: &Event) -> Option<&'static str> {
    match event {
        Event::PlanRevised(_) | Event::Replanned(_) | Event::ReplanProposed { .. } | Event::PhaseExpanded { .. } => {
            Some("its plan was changed after it began")
        }
        Event::RunImported(_) => Some("it was taken over from a file of another tool"),
        Event::RunForked { .. } => Some("it was forked from another run"),
        Event::RewindBegun(_) | Event::RunRewound(_) | Event::RewindFailed { .. } => Some("it was rewound"),
        Event::Shared { .. } => Some("agents would be told what the file says to them"),
        Event::RunStarted(_)
        | Event::DriverStarted { .. }
        | Event::WorldSeen { .. }
        | Event::StaleAccepted { .. }
        | Event::AttemptStarted { .. }
        | Event::AttemptAdopted { .. }
        | Event::AttemptEnded { .. }
        | Event::PhaseProbed { .. }
        | Event::PhaseCompleted { .. }
        | Event::ApprovalAsked { .. }
        | Event::ApprovalAnswered { .. }
        | Event::CallAsked { .. }
        | Event::CallAnswered { .. }
        | Event::CallAnswerGiven { .. }
        | Event::Reported { .. }
        | Event::PhaseFailed { .. }
        | Event::RetryScheduled { .. }
        | Event::LimitHit(_)
        | Event::RunPaused { .. }
        | Event::PhaseInDoubt { .. }
        | Event::PhaseReopened { .. }
        | Event::PhaseSkipped { .. }
        | Event::MainPartEnded { .. }
        | Event::BatchCompleted { .. }
        | Event::StopAsked { .. }
        | Event::RunStopped { .. }
        | Event::RunEnded { .. }
        | Event::RunArchived
        | Event::StateChanged { .. }
        | Event::CheckpointTaken { .. }
        | Event::SnapshotTaken(_)
        | Event::SnapshotMissed { .. }
        | Event::CommitBegun { .. }
        | Event::CommitMade { .. }
        | Event::CommitLeft { .. }
        | Event::ReplanAsked { .. }
        | Event::PlanningPaid { .. }
        | Event::ReplanAllowed
        | Event::ReplanRefused { .. }
        | Event::MarkersTaken { .. }
        | Event::PhaseMarked { .. }
        | Event::PhaseNotMarked { .. }
        | Event::MarkersSettled { .. }
        | Event::FilesModified { .. }
        | Event::MirrorTroubled { .. }
        | Event::WorktreeChanged { .. }
        | Event::NoticeSent { .. }
        | Event::NoticeFailed { .. }
        | Event::RequirementsSeen { .. }
        | Event::IssueLabelled { .. }
        | Event::GroupAwaited { .. }
        | Event::GroupEntered { .. }
        | Event::IssueNotLabelled { .. } => None,
    }
}

fn has_agents(plan: &Plan) -> bool {
    let is_agent = |phase: &Phase| matches!(phase.body, Body::Agent(_));
    plan.phases.iter().chain(&plan.finally).any(is_agent) || plan.used.values().any(has_agents)
}
