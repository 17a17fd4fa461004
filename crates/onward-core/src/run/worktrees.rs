//! Phases that work in a git worktree of their own: whose turn it is to come into the project, and what is known of each.
//!
//! The attempt ends, and its checks pass in the worktree. Then its files are put into the project, one phase after the other, and the
//! checks have to pass there, too. Whatever two have changed in the same place is a person's to settle.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::admission::{Claim, GIT_LOCK};
use super::agents;
use super::external_phases::ExternalState;
use super::schedule;
use super::state::{Before, PhaseState, PhaseStatus, ProbeDue, Run};
use crate::agent::AgentWorktree;
use crate::checkpoint::{AgentConflict, Trigger};
use crate::event::{Claimed, StopRequest, WorktreeConflict, WorktreeFact};
use crate::evidence::Evidence;
use crate::id::{Attempt, Generation, PhaseId, RunId};
use crate::mutant::{self, Mutant};
use crate::plan::{Body, OnInterrupt, Phase, Plan};
use crate::view::WorktreeRecord;

/// How often the project may change in the moment in which files are put into it, before a person is asked.
pub(super) const CALLED_OFF_MAX: u32 = 5;
/// Conflicts that the section of a checkpoint names; those of worktrees beyond it are told by the phases alone.
const CONFLICTS_NAMED_MAX: usize = 500;
/// Longer names of phases are cut in the names of folders.
const NAME_BYTES_MAX: usize = 120;

/// The worktree of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnWorktree {
    /// The attempt for which it was made, or made anew.
    pub attempt: Attempt,
    pub base: String,
    pub content: Option<String>,
    pub unresolved: Vec<String>,
    pub stage: WorktreeStage,
    /// The next attempt does not go on in it as it is.
    pub renewal: Option<Renewal>,
    /// Integrations that were called off, in a row.
    pub(super) called_off: u32,
}

/// How far the work in a worktree has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WorktreeStage {
    AtWork,
    /// Its checks have passed there; its files are to come into the project.
    Due,
    /// They are being put into it.
    Begun(Integration),
    /// A person has to say how it goes on.
    Conflict(Box<OpenConflict>),
    /// Its files are in the project.
    Integrated {
        result: String,
    },
}

/// Files on their way into the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integration {
    pub result: String,
    pub before: String,
    pub merged: String,
}

/// A conflict, and the result that the attempt claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenConflict {
    pub conflict: WorktreeConflict,
    pub(super) claimed: Option<Box<Claimed>>,
}

/// How a worktree is made ready for the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Renewal {
    /// It shows the project as it is now; what was in it is left behind.
    Fresh,
    /// It shows its own files brought together with the project as it is now.
    Rebase,
}

/// Whether a phase is to work in a worktree of its own.
pub fn works_apart(phase: &Phase) -> bool {
    match &phase.body {
        Body::Agent(block) => AgentWorktree::read(block) == AgentWorktree::Own,
        Body::Run { .. } | Body::Approval(_) | Body::External(_) | Body::Uses(_) => false,
    }
}

/// The folder of a worktree below the store.
pub fn place(run: &RunId, phase: &PhaseId, generation: Generation) -> String {
    format!("{}/{}-g{generation}", folder_of(run), as_a_name(phase.as_str()))
}

/// The folder below the store that has those of a run.
pub fn folder_of(run: &RunId) -> String {
    format!("worktrees/{}", as_a_name(run.as_str()))
}

/// An id as one part of a path.
fn as_a_name(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || (byte == b'.' && at > 0);
        if plain {
            name.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(name, "%{byte:02X}");
        }
    }
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let hash = blake3::hash(id.as_bytes()).to_hex();
    format!("{}-{}", &name[..NAME_BYTES_MAX - 17], &hash[..16])
}

impl PhaseState {
    /// The conflict that a person has to settle.
    pub fn conflict(&self) -> Option<&WorktreeConflict> {
        match &self.own.as_deref()?.stage {
            WorktreeStage::Conflict(open) => Some(&open.conflict),
            WorktreeStage::AtWork | WorktreeStage::Due | WorktreeStage::Begun(_) | WorktreeStage::Integrated { .. } => {
                None
            }
        }
    }

    /// The result that an attempt claims whose files could not be brought together with those of the project.
    pub(super) fn claimed_before_a_conflict(&self) -> Option<&Claimed> {
        match &self.own.as_deref()?.stage {
            WorktreeStage::Conflict(open) => open.claimed.as_deref(),
            WorktreeStage::AtWork | WorktreeStage::Due | WorktreeStage::Begun(_) | WorktreeStage::Integrated { .. } => {
                None
            }
        }
    }

    /// Whether files of the phase are being put into the project: nothing else may happen to it until that has ended.
    pub(super) fn is_being_integrated(&self) -> bool {
        self.own.as_deref().is_some_and(|own| matches!(own.stage, WorktreeStage::Begun(_)))
    }

    /// Whether nothing more comes of its worktree.
    pub(super) fn is_done_with_its_worktree(&self) -> bool {
        self.own.is_some() && self.is_finished() && !self.is_being_integrated()
    }

    /// The place in which it works, or in which its work is looked at: its worktree, until its files are in the project.
    pub fn is_apart(&self) -> bool {
        self.own.as_deref().is_some_and(|own| !matches!(own.stage, WorktreeStage::Integrated { .. }))
    }
}

impl Run {
    /// Whether a worktree has to be made, or made anew, before an attempt at this phase begins.
    pub fn wants_a_worktree(&self, phase: &PhaseId) -> bool {
        let Some(state) = self.phase_state(phase) else { return false };
        let ready = state.own.as_deref().is_some_and(|own| own.renewal.is_none());
        works_apart(&self.plan().phases[self.at(phase)]) && !ready
    }

    /// Phases that say they are done and are looked at, where they are.
    pub(super) fn probes_wanted(&self) -> impl Iterator<Item = usize> {
        let looked_at = |at: &usize| match self.phases[*at].own.as_deref().map(|own| &own.stage) {
            Some(WorktreeStage::Due | WorktreeStage::Begun(_)) => false,
            Some(WorktreeStage::AtWork | WorktreeStage::Conflict(_) | WorktreeStage::Integrated { .. }) | None => true,
        };
        self.derived.probing.iter().copied().filter(looked_at)
    }

    /// The phase whose files are to come into the project now. They come one after the other, and each is looked at before the next:
    /// so nobody has to guess which of them broke what.
    pub(super) fn integration_wanted(&self) -> Option<usize> {
        if self.epoch == 0 || self.snapshot_is_wanted() || self.vcs.rewinding.is_some() {
            return None;
        }
        if let Some(begun) = self.integration_begun()
            && matches!(self.stop, None | Some((StopRequest::Cancel, _)))
        {
            return Some(begun);
        }
        if self.stop.is_some() {
            return None;
        }
        let git_is_busy = self.vcs.begun.is_some() || self.commit_is_due();
        if git_is_busy || self.integrating().any(|at| !self.is_due(at)) {
            return None;
        }
        let at_work = schedule::claims_at_work(self);
        let free = |at: &usize| at_work.taken(&integration_claim(&self.plan().phases[*at])).is_none();
        self.integrating().find(|at| free(at) || mutant::is(Mutant::IntegrateBesideOthers))
    }

    /// The phase whose files are being put into the project. Whatever the plan says of it by now: some may be there already.
    pub(super) fn integration_begun(&self) -> Option<usize> {
        self.derived.worktrees.iter().copied().find(|&at| self.phases[at].is_being_integrated())
    }

    /// The same, for whoever is about to change what the run goes by: that is ended first.
    pub fn files_on_their_way(&self) -> Option<&PhaseId> {
        let begun = self.integration_begun().filter(|_| !mutant::is(Mutant::ForgetWhatIsHalfway))?;
        Some(&self.plan().phases[begun].id)
    }

    /// Phases that are not done, whose agent's files are in the project or on their way there, and that are no agent's in this plan.
    pub fn files_of_former_agents<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = &'a PhaseId> {
        self.phases().filter_map(|(phase, state)| {
            let stage = &state.own.as_deref().filter(|_| !state.is_finished())?.stage;
            let came_in = matches!(stage, WorktreeStage::Begun(_) | WorktreeStage::Integrated { .. });
            let is_an_agents = plan.phase(&phase.id).is_some_and(|phase| agents::work(phase).is_some());
            (came_in && !is_an_agents).then_some(&phase.id)
        })
    }

    /// Worktrees with unfinished work of which a plan takes nothing, each with its place below the store.
    pub fn worktrees_left_by<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (&'a PhaseId, String)> {
        self.phases().filter_map(|(phase, state)| {
            let stage = &state.own.as_deref().filter(|_| !state.is_finished())?.stage;
            let holds_work = matches!(stage, WorktreeStage::AtWork | WorktreeStage::Due | WorktreeStage::Conflict(_));
            let goes_on = plan.phase(&phase.id).is_some_and(works_apart);
            (holds_work && !goes_on).then(|| (&phase.id, place(&self.id, &phase.id, state.generation)))
        })
    }

    fn is_due(&self, at: usize) -> bool {
        self.phases[at].own.as_deref().is_some_and(|own| own.stage == WorktreeStage::Due)
    }

    /// Phases whose files are to come into the project, are on their way, or are looked at there.
    fn integrating(&self) -> impl Iterator<Item = usize> {
        self.derived.probing.iter().copied().filter(|&at| match self.phases[at].own.as_deref().map(|own| &own.stage) {
            Some(WorktreeStage::Due | WorktreeStage::Begun(_) | WorktreeStage::Integrated { .. }) => true,
            Some(WorktreeStage::AtWork | WorktreeStage::Conflict(_)) | None => false,
        })
    }

    /// The claims of phases that are no attempt any more and write into the project all the same.
    pub(super) fn integration_claims(&self) -> impl Iterator<Item = Claim<'_>> {
        self.integrating().map(|at| integration_claim(&self.plan().phases[at]))
    }

    /// Worktrees of which nothing more comes: their work is in the project and proven there, or a person has left it out.
    pub(super) fn worktrees_to_remove(&self) -> impl Iterator<Item = usize> {
        self.derived.worktrees.iter().copied().filter(|&at| self.phases[at].is_done_with_its_worktree())
    }

    /// The worktree of a phase, as it is shown.
    pub fn worktree_record(&self, phase: &Phase, state: &PhaseState) -> Option<WorktreeRecord> {
        state.own.as_deref().filter(|_| !state.is_finished())?;
        let place = format!(".onward/{}", place(&self.id, &phase.id, state.generation));
        let conflicts = state.conflict().map(|conflict| conflict.paths.clone()).unwrap_or_default();
        Some(WorktreeRecord { place, conflicts })
    }

    /// The question of a phase whose files cannot be brought together with those of the project.
    pub(super) fn conflict_words(&self, phase: &PhaseId, state: &PhaseState) -> Option<String> {
        let conflict = state.conflict()?;
        let more = if conflict.more > 0 { format!(" and {} more", conflict.more) } else { String::new() };
        let paths = if conflict.paths.is_empty() { "files".to_owned() } else { conflict.paths.join(", ") };
        let folder = place(&self.id, phase, state.generation);
        Some(format!(
            "it and others have changed the same: {paths}{more}; its version lies in .onward/{folder}, that of the others in the project. \
             retry: the agent brings both together; adopt: you have done so; skip: its work is left out"
        ))
    }

    pub(super) fn apply_to_the_worktree(&mut self, phase: &PhaseId, fact: &WorktreeFact) {
        match fact {
            WorktreeFact::Begun { attempt, base, content, unresolved } => self.change(phase, |state| {
                assert!(state.attempt.is_some(), "the worktree of {phase} is made for an attempt");
                state.own = Some(Box::new(OwnWorktree {
                    attempt: *attempt,
                    base: base.clone(),
                    content: content.clone(),
                    unresolved: unresolved.clone(),
                    stage: WorktreeStage::AtWork,
                    renewal: None,
                    called_off: 0,
                }));
            }),
            WorktreeFact::IntegrationBegun { result, before, merged } => {
                assert!(self.integration_begun().is_none(), "one integration at a time");
                let (result, before, merged) = (result.clone(), before.clone(), merged.clone());
                self.worktree_stage(phase, WorktreeStage::Begun(Integration { result, before, merged }));
            }
            WorktreeFact::Integrated { result, seen, .. } => {
                let again = mutant::is(Mutant::IntegrateTwice);
                let integrated = WorktreeStage::Integrated { result: result.clone() };
                self.worktree_stage(phase, if again { WorktreeStage::Due } else { integrated });
                let at = self.updated_at;
                self.change(phase, |state| {
                    // Until here it has written into the project.
                    state.ended_at = Some(at);
                    if let Some(seen) = seen {
                        written_in_the_project(state, seen);
                    }
                });
            }
            WorktreeFact::CalledOff { .. } => self.change(phase, |state| {
                let own = state.own.as_deref_mut().expect("an integration is of a worktree");
                (own.stage, own.called_off) = (WorktreeStage::Due, own.called_off + 1);
            }),
            WorktreeFact::Conflict(conflict) => self.worktree_conflict(phase, conflict),
            WorktreeFact::Removed { .. } => self.change(phase, |state| state.own = None),
        }
    }

    fn worktree_stage(&mut self, phase: &PhaseId, stage: WorktreeStage) {
        self.change(phase, |state| {
            let own = state.own.as_deref_mut().expect("an integration is of a worktree");
            own.stage = stage;
        });
    }

    fn worktree_conflict(&mut self, phase: &PhaseId, conflict: &WorktreeConflict) {
        self.change(phase, |state| {
            let claimed = match state.probe.take() {
                Some(
                    ProbeDue::AfterTheRun(claimed) | ProbeDue::AfterAStop(claimed) | ProbeDue::BeforeARerun(claimed),
                ) => Some(claimed),
                Some(ProbeDue::AfterACut(cut)) => Some(Box::new(cut.0)),
                None => None,
            };
            let own = state.own.as_deref_mut().expect("a conflict is of a worktree");
            own.stage = WorktreeStage::Conflict(Box::new(OpenConflict { conflict: conflict.clone(), claimed }));
            (state.status, state.external) = (PhaseStatus::Waiting, Some(ExternalState::Conflict));
        });
        let id = self.conflict_id(phase);
        let known = &self.sections().conflicts;
        if known.len() < CONFLICTS_NAMED_MAX && known.iter().all(|one| one.id != id) {
            let started = AgentConflict {
                id,
                between: vec![phase.to_string(), "project".to_owned()],
                topic: Some(format!("the same files: {}", conflict.paths.join(", "))),
                started_at: Some(self.updated_at),
                ..AgentConflict::default()
            };
            self.add_to_section("/conflicts", |sections| &mut sections.conflicts, started);
        }
        self.make_due(Trigger::ConflictStart, None);
    }

    /// The name of the conflict of its last attempt: no attempt has two.
    fn conflict_id(&self, phase: &PhaseId) -> String {
        format!("worktree-{phase}-{}", self.phases[self.at(phase)].attempts)
    }

    /// A person has said how it goes on.
    pub(super) fn conflict_is_settled(&mut self, phase: &PhaseId, resolution: &str) {
        if self.phases[self.at(phase)].conflict().is_none() {
            return;
        }
        let (id, at) = (self.conflict_id(phase), self.updated_at);
        if self.sections().conflicts.iter().any(|one| one.id == id && one.resolution.is_none()) {
            self.change_conflict(&id, |one| {
                (one.resolution, one.resolved_at) = (Some(resolution.to_owned()), Some(at));
            });
        }
        self.make_due(Trigger::ConflictResolved, None);
    }
}

/// The files and locks that a phase takes while its files are put into the project and are looked at there.
fn integration_claim(phase: &Phase) -> Claim<'_> {
    let mut locks: Vec<&str> = phase.locks.iter().map(String::as_str).collect();
    if !locks.contains(&GIT_LOCK) {
        locks.push(GIT_LOCK);
    }
    Claim { phase: &phase.id, locks, pools: Vec::new(), writes: &phase.writes, group: None }
}

fn written_in_the_project(state: &mut PhaseState, seen: &Evidence) {
    if let Some(ProbeDue::AfterTheRun(claimed) | ProbeDue::AfterAStop(claimed) | ProbeDue::BeforeARerun(claimed)) =
        &mut state.probe
    {
        claimed.seen.get_or_insert_default().writes.clone_from(&seen.writes);
    }
}

/// The worktree as the next attempt finds it.
pub(super) fn for_the_next_attempt(phase: &Phase, state: &mut PhaseState) {
    if !works_apart(phase) {
        state.own = None;
        return;
    }
    let half_done = matches!(state.last_end, Some(Before::Interrupted | Before::Unknown));
    let clean = state.clean || (half_done && phase.on_interrupt == Some(OnInterrupt::RerunClean));
    let Some(own) = state.own.as_deref_mut() else { return };
    own.renewal = match &own.stage {
        _ if clean => Some(Renewal::Fresh),
        WorktreeStage::Integrated { .. } => Some(Renewal::Fresh),
        WorktreeStage::Conflict(_) => Some(Renewal::Rebase),
        WorktreeStage::AtWork | WorktreeStage::Due | WorktreeStage::Begun(_) => own.renewal,
    };
    own.stage = WorktreeStage::AtWork;
}

/// A person or the plan wants the phase tried again, in the same generation.
pub(super) fn tried_again(state: &mut PhaseState) {
    let Some(own) = state.own.as_deref_mut() else { return };
    match &own.stage {
        WorktreeStage::Conflict(_) => (own.stage, own.renewal) = (WorktreeStage::AtWork, Some(Renewal::Rebase)),
        WorktreeStage::Due => own.stage = WorktreeStage::AtWork,
        WorktreeStage::AtWork | WorktreeStage::Begun(_) | WorktreeStage::Integrated { .. } => {}
    }
}

/// Its checks have passed where it is. A worktree that was to be made anew for this attempt, and was not, has nothing of it.
pub(super) fn proven(state: &mut PhaseState) {
    if let Some(own) = state.own.as_deref_mut()
        && own.stage == WorktreeStage::AtWork
        && own.renewal.is_none()
    {
        own.stage = WorktreeStage::Due;
    }
}

/// It has failed on its way into the project, or before.
pub(super) fn not_proven(state: &mut PhaseState) {
    if let Some(own) = state.own.as_deref_mut()
        && matches!(own.stage, WorktreeStage::Due | WorktreeStage::Begun(_))
    {
        own.stage = WorktreeStage::AtWork;
    }
}
