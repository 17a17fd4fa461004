//! Version control of a run: snapshots of the working tree, mini-commits, and rewinds.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::derived_state::batch_number;
use super::state::{Before, PhaseState, Run};
use super::worktrees::works_apart;
use crate::checkpoint::Checkpoint;
use crate::data_size::json_bytes;
use crate::event::{
    Event, NoCommit, PhaseBack, PhaseError, RestoredState, RewindBegun, RunResult, RunRewound, SnapshotRef, StopReason,
    StopRequest, WorktreeFact,
};
use crate::evidence::{Around, LastLook, WorldSeen};
use crate::failure::FailureCode;
use crate::id::{Attempt, Generation, PhaseId};
use crate::mutant::{self, Mutant};
use crate::patch::{self, Op};
use crate::plan::expand::is_compound;
use crate::plan::{Effects, LossKind, Phase};
use crate::run::{PhaseStatus, RunStatus};
use crate::short_sha;

/// The part of a run that is about the working tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vcs {
    /// The commit that was checked out when we last looked.
    pub head: Option<String>,
    /// The newest snapshot.
    pub last: Option<SnapshotRef>,
    /// Whether the newest snapshot shows the working tree as it is at this very position.
    pub(super) fresh: Fresh,
    /// Completed phases that no commit has yet, in the order of their completion.
    pub(super) uncommitted: Vec<PhaseId>,
    /// A commit was begun, and nobody knows yet whether it was made.
    pub begun: Option<CommitIntent>,
    /// The number of the last commit that was begun.
    pub(super) commits: u32,
    /// A due commit could not be made; it is not tried again before something has changed.
    pub(super) held: bool,
    /// A rewind was begun and has not ended.
    pub rewinding: Option<RewindBegun>,
    /// The snapshot of what was there before that rewind.
    #[serde(default)]
    pub(super) before_rewind: Option<String>,
    /// Rewinds that can be taken back, the last one at the end.
    pub undoable: Vec<RewindBegun>,
    /// Pairs of snapshots, the older first, between which nothing of the run was at work: what came between them is somebody
    /// else's, and no rewind takes it away.
    #[serde(default)]
    pub theirs: Vec<Between>,
    /// A rewind has changed files since the newest snapshot.
    #[serde(default)]
    pub(super) moved: bool,
    /// The run has been on another branch than the one on which it was started.
    #[serde(default)]
    pub(crate) branch_moved: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Fresh {
    #[default]
    No,
    Yes,
    /// It was tried and could not be had.
    Missed,
}

/// So many pairs are kept; each is from a rewind or a checkpoint by hand before which somebody had changed files.
const THEIRS_MAX: usize = 1_000;

/// The commits of two snapshots, one taken after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between {
    pub older: String,
    pub newer: String,
}

/// The intent of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitIntent {
    pub number: u32,
    pub token: String,
    pub head: Option<String>,
}

impl Run {
    /// The snapshot that shows the working tree at this position, if there is one.
    pub(crate) fn fresh_snapshot(&self) -> Option<&SnapshotRef> {
        self.vcs.last.as_ref().filter(|_| self.vcs.fresh == Fresh::Yes)
    }

    /// A checkpoint that comes with the working tree also comes after the commit that can be made now.
    pub(super) fn commit_goes_first(&self) -> bool {
        let will_be_begun = self.commit_is_possible() && self.stop.is_none() && self.ending().is_none();
        (self.vcs.begun.is_some() && !self.gives_git_up()) || will_be_begun
    }

    /// Checkpoints wait until the working tree was kept, or cannot be.
    pub(super) fn snapshot_is_wanted(&self) -> bool {
        let due = self.vcs.fresh == Fresh::No && self.due.iter().any(|due| due.waits);
        self.started.snapshots && due && !self.gives_git_up()
    }

    /// Somebody wants out: git is not waited for. What was begun is finished by the next driver.
    pub(super) fn gives_git_up(&self) -> bool {
        let wants_out =
            matches!(self.stop, Some((StopRequest::Interrupt | StopRequest::SessionEnd | StopRequest::Hangup, _)));
        wants_out && self.stopped.is_none()
    }

    /// Enough phases are done for a commit, and the last try does not forbid another.
    pub(super) fn commit_is_due(&self) -> bool {
        let every = self.started.commits.as_ref().map_or(usize::MAX, |rule| rule.every as usize);
        self.vcs.uncommitted.len() >= every && !self.vcs.held
    }

    /// A commit takes the working tree as it is: it must not be made beside a phase that writes.
    pub(super) fn commit_is_possible(&self) -> bool {
        // A phase in a worktree of its own writes nothing into the project.
        let writes = |phase: &Phase| phase.effects != Effects::None && !works_apart(phase);
        let at_rest = self.derived.running.iter().all(|&at| !writes(&self.plan().phases[at]));
        let quiet = at_rest && self.integration_begun().is_none();
        self.commit_is_due() && (quiet || mutant::is(Mutant::CommitBesideWriters))
    }

    /// Nothing is started now: git has to be brought up to date first, or the files are being put back.
    pub(super) fn git_comes_first(&self) -> bool {
        let git = self.snapshot_is_wanted() || self.commit_is_due() || self.vcs.begun.is_some();
        git || self.vcs.rewinding.is_some() || self.integration_wanted().is_some()
    }

    /// The snapshot of what was there before the rewind that has not ended. A newer one may show what was edited since.
    pub fn files_before_rewind(&self) -> Option<&str> {
        let last = || self.vcs.last.as_ref().map(|last| last.commit.as_str());
        self.vcs.before_rewind.as_deref().or_else(last)
    }

    /// The number under which the next snapshot is kept: no other of this run has it.
    pub fn next_snapshot(&self) -> u64 {
        self.seq.next().0
    }

    pub(super) fn begin_commit(&self) -> Event {
        let number = self.vcs.commits + 1;
        let token = blake3::hash(format!("{}\n{number}\n{}\n{}", self.id, self.seq, self.boot).as_bytes()).to_hex();
        Event::CommitBegun { number, token: token[..32].to_owned(), head: self.vcs.head.clone() }
    }

    pub(super) fn snapshot_taken(&mut self, snapshot: &SnapshotRef) {
        if let Some(theirs) = self.changed_by_others(snapshot) {
            self.vcs.theirs.push(theirs);
            let too_many = self.vcs.theirs.len().saturating_sub(THEIRS_MAX);
            self.vcs.theirs.drain(..too_many);
        }
        self.vcs.moved = false;
        self.vcs.head.clone_from(&snapshot.head);
        self.vcs.last = Some(snapshot.clone());
        self.vcs.fresh = Fresh::Yes;
    }

    /// Files that came since the newest snapshot, where neither a phase nor a rewind can have made it.
    fn changed_by_others(&self, snapshot: &SnapshotRef) -> Option<Between> {
        let of_a_phase =
            self.ending().is_none() || !self.derived.external.is_empty() || self.due.iter().any(|due| due.waits);
        let older = self.vcs.last.as_ref().filter(|_| !of_a_phase && !self.vcs.moved)?.commit.clone();
        (older != snapshot.commit).then(|| Between { older, newer: snapshot.commit.clone() })
    }

    pub(super) fn commit_begun(&mut self, number: u32, token: &str, head: Option<&String>) {
        assert_eq!(number, self.vcs.commits + 1, "commits are numbered without gaps");
        assert!(self.vcs.begun.is_none(), "one commit at a time");
        self.vcs.commits = number;
        self.vcs.begun = Some(CommitIntent { number, token: token.to_owned(), head: head.cloned() });
    }

    pub(super) fn commit_made(&mut self, number: u32, commit: &str) {
        assert_eq!(self.vcs.begun.take().map(|begun| begun.number), Some(number), "a commit is made that was begun");
        self.vcs.head = Some(commit.to_owned());
        for phase in std::mem::take(&mut self.vcs.uncommitted) {
            // A plan that was revised meanwhile may not have it any more.
            if !self.derived.index.by_id.contains_key(&phase) {
                continue;
            }
            let sha = short_sha(commit);
            self.change(&phase, |state| {
                state.commit_sha.get_or_insert(sha);
            });
        }
    }

    pub(super) fn commit_left(&mut self, number: u32, why: &NoCommit) {
        assert_eq!(self.vcs.begun.take().map(|begun| begun.number), Some(number), "a commit is left that was begun");
        match why {
            NoCommit::NothingChanged { .. } => self.vcs.uncommitted.clear(),
            NoCommit::NotNow { .. } => self.vcs.held = true,
        }
    }

    /// A phase is done: it is in the next commit, and if it moved HEAD alone, the commit there is its own.
    pub(super) fn completed_in_git(&mut self, phase: &PhaseId) {
        // What consists of others has done nothing itself.
        if self.started.commits.is_some() && !self.is_whole(self.at(phase)) {
            self.vcs.uncommitted.push(phase.clone());
        }
        self.vcs.held = false;
    }

    pub(super) fn undone_in_git(&mut self, phase: &PhaseId) {
        self.vcs.uncommitted.retain(|other| other != phase);
    }

    pub(super) fn rewind_begun(&mut self, begun: &RewindBegun) {
        assert!(self.derived.running.is_empty() && self.ending().is_some(), "a run that works is not rewound");
        assert!(self.vcs.rewinding.is_none(), "one rewind at a time");
        self.vcs.before_rewind = self.vcs.last.as_ref().map(|last| last.commit.clone());
        self.vcs.rewinding = Some(begun.clone());
    }

    pub(super) fn rewound(&mut self, rewound: &RunRewound) {
        let begun = self.vcs.rewinding.take().expect("a rewind ends that was begun");
        assert_eq!(begun.to, rewound.to, "the rewind that was begun is the one that ends");
        self.vcs.before_rewind = None;
        if let Some(restored) = &rewound.restored {
            self.restore(restored);
            if begun.files.is_some() {
                self.marks.restored(&restored.phases);
            }
            let done_again = restored.phases.iter().filter(|back| back.status == PhaseStatus::Completed);
            done_again.for_each(|back| self.mark_is_due(&back.phase));
            (self.result, self.stop, self.stopped) = (rewound.result, None, Some(StopReason::Rewind));
            // Whether it was made or not, its phases are no longer what it was about.
            (self.vcs.begun, self.vcs.held) = (None, false);
        }
        if begun.files.is_some() {
            // What was kept last shows what was there before. A checkpoint has the files that belong to its state.
            (self.vcs.fresh, self.vcs.moved) = (Fresh::No, true);
        }
        if begun.undoes {
            self.vcs.undoable.pop();
        } else {
            self.vcs.undoable.push(begun);
        }
    }

    pub(super) fn forked(&mut self, restored: &RestoredState) {
        self.restore(restored);
        self.stopped = Some(StopReason::Rewind);
    }

    fn restore(&mut self, restored: &RestoredState) {
        self.end_is_off();
        for back in &restored.phases {
            self.undone_in_git(&back.phase);
            self.marks.undone(&back.phase);
            self.change(&back.phase, |state| put_back(state, back));
        }
        self.change_state(&restored.state);
        if let Some(sections) = &restored.sections {
            self.put_sections(sections);
        }
        self.name_the_team();
        // Their ends were recorded at the time.
        let complete = self.derived.batch_left.iter().enumerate().filter(|(_, left)| **left == 0);
        let complete: Vec<u32> = complete.map(|(batch, _)| batch_number(batch)).collect();
        self.batches_recorded.extend(complete);
    }

    /// Whether others are at work beside an attempt that begins now; they are told, too.
    pub(super) fn beside_others(&mut self) -> bool {
        for &at in &self.derived.running {
            if let Some(attempt) = &mut self.phases[at].attempt {
                attempt.beside_others = true;
            }
        }
        !self.derived.running.is_empty()
    }

    /// The commit that a phase made itself: HEAD moved while it was at work, and nobody else can have moved it.
    pub(super) fn own_commit(&self, phase: &PhaseId, head: Option<&String>) -> Option<String> {
        let at = self.at(phase);
        let attempt = self.phases[at].attempt.as_ref()?;
        let commits = self.plan().phases[at].value == Some(LossKind::Commit);
        let apart = self.phases[at].own.is_some();
        let own = attempt.head.as_ref() != head && (commits || !attempt.beside_others) && !apart;
        head.filter(|_| own).map(|head| short_sha(head))
    }

    /// Whether branch and issue are as they were last seen. What could not be looked at is no news.
    pub(super) fn is_seen(&self, around: &Around) -> bool {
        let then = self.look.as_ref().map(|look| &look.world);
        let issue = around.issue.as_ref().filter(|issue| issue.text.hash.is_some());
        let same_issue = issue.is_none_or(|issue| then.and_then(|then| then.issue.as_ref()) == Some(issue));
        let work_branch = then.and_then(|then| then.work_branch.as_ref());
        self.branch() == around.branch.as_deref() && work_branch == around.work_branch.as_ref() && same_issue
    }

    /// Records what the run itself did to its branch and its issue, so that it does not count as a change from outside.
    pub(super) fn around_seen(&mut self, around: &Around, at: Timestamp) {
        self.vcs.branch_moved |= self.branch() != around.branch.as_deref();
        let first = || Arc::new(LastLook { at, world: WorldSeen::default(), findings: Vec::new() });
        let world = &mut Arc::make_mut(self.look.get_or_insert_with(first)).world;
        world.branch.clone_from(&around.branch);
        world.work_branch.clone_from(&around.work_branch);
        if let Some(issue) = around.issue.as_ref().filter(|issue| issue.text.hash.is_some()) {
            world.issue = Some(issue.clone());
            self.issue_read(issue);
        }
    }

    /// A copy of the working tree was kept for an attempt that puts files back first.
    pub(super) fn copy_kept(&mut self, phase: Option<&PhaseId>, name: Option<&String>) {
        let (Some(phase), Some(name)) = (phase, name) else { return };
        let Some(last) = self.vcs.last.as_ref().map(|last| last.commit.clone()) else { return };
        let Some(at) = self.derived.index.by_id.get(phase).copied() else { return };
        if let Some(attempt) = &mut self.phases[at].attempt
            && attempt.clean.is_some()
            && *name == copy_name(phase, attempt.number)
        {
            attempt.kept = Some(last);
        }
    }

    pub(super) fn head_seen(&mut self, phase: &PhaseId, head: Option<&String>, own: Option<String>) {
        if head.is_some() {
            self.vcs.head = head.cloned();
        }
        if own.is_some() {
            self.change(phase, |state| state.commit_sha = own);
        }
    }
}

/// The name of the checkpoint that keeps what a clean attempt puts back.
pub fn copy_name(phase: &PhaseId, attempt: Attempt) -> String {
    format!("before-clean-{phase}-{attempt}")
}

/// Whether the working tree is as it was before an event.
pub(super) fn leaves_the_tree_alone(event: &Event) -> bool {
    match event {
        Event::CheckpointTaken { .. }
        | Event::ApprovalAsked { .. }
        | Event::ApprovalAnswered { .. }
        | Event::CallAsked { .. }
        | Event::CallAnswered { .. }
        | Event::CallAnswerGiven { .. }
        | Event::WorldSeen { .. }
        | Event::RequirementsSeen { .. }
        | Event::IssueLabelled { .. }
        | Event::GroupAwaited { .. }
        | Event::GroupEntered { .. }
        | Event::IssueNotLabelled { .. }
        | Event::PlanRevised(_)
        | Event::ReplanAllowed
        | Event::MarkersSettled { .. }
        | Event::StaleAccepted { .. }
        | Event::BatchCompleted { .. }
        | Event::PhaseExpanded { .. }
        | Event::MainPartEnded { .. }
        | Event::SnapshotTaken(_)
        | Event::SnapshotMissed { .. }
        | Event::CommitBegun { .. }
        | Event::CommitMade { .. }
        | Event::CommitLeft { .. }
        | Event::RewindBegun(_)
        | Event::FilesModified { .. }
        | Event::MirrorTroubled { .. }
        | Event::Shared { .. }
        | Event::NoticeSent { .. }
        | Event::NoticeFailed { .. }
        | Event::RunRewound(_) => true,
        Event::WorktreeChanged { fact, .. } => !matches!(**fact, WorktreeFact::Integrated { .. }),
        Event::RunStarted(_)
        | Event::DriverStarted { .. }
        | Event::AttemptStarted { .. }
        | Event::AttemptAdopted { .. }
        | Event::AttemptEnded { .. }
        | Event::ReplanAsked { .. }
        | Event::PlanningPaid { .. }
        | Event::ReplanProposed { .. }
        | Event::ReplanRefused { .. }
        | Event::Replanned(_)
        | Event::PhaseProbed { .. }
        | Event::Reported { .. }
        | Event::PhaseCompleted { .. }
        | Event::PhaseFailed { .. }
        | Event::RetryScheduled { .. }
        | Event::PhaseInDoubt { .. }
        | Event::PhaseReopened { .. }
        | Event::PhaseSkipped { .. }
        | Event::StopAsked { .. }
        | Event::RunStopped { .. }
        | Event::RunEnded { .. }
        | Event::RunArchived
        | Event::LimitHit(_)
        | Event::MarkersTaken { .. }
        | Event::PhaseMarked { .. }
        | Event::PhaseNotMarked { .. }
        | Event::RunPaused { .. }
        | Event::StateChanged { .. }
        | Event::RewindFailed { .. }
        | Event::RunImported(_)
        | Event::RunForked { .. } => false,
    }
}

/// The changes that make a run stand as the checkpoint says.
pub fn back_to(run: &Run, checkpoint: &Checkpoint) -> RestoredState {
    restored(run, checkpoint, |_, state| state)
}

/// The changes by which a new run stands as a checkpoint of another says. What that other one has done outside since, or may
/// have done, is there for the new one too.
pub fn branched_off(new: &Run, other: &Run, checkpoint: &Checkpoint) -> RestoredState {
    restored(new, checkpoint, |phase, state| other.phase_state(&phase.id).unwrap_or(state))
}

/// `known` gives the state that tells what has happened outside for a phase.
fn restored<'a>(
    run: &'a Run,
    checkpoint: &Checkpoint,
    known: impl Fn(&Phase, &'a PhaseState) -> &'a PhaseState,
) -> RestoredState {
    let phases =
        run.phases().filter_map(|(phase, state)| back(phase, state, known(phase, state), checkpoint)).collect();
    let back = serde_json::Value::Object(checkpoint.state.clone());
    let ops = patch::diff(&run.state, &back);
    // Many small changes may be longer than all of it, and longer than what can be kept.
    let whole_is_shorter = patch::bytes_about(&ops) > json_bytes(&back);
    let state = if whole_is_shorter { vec![Op::Set { path: String::new(), value: back }] } else { ops };
    let sections = (run.sections != checkpoint.sections).then(|| Box::new(checkpoint.sections.clone()));
    RestoredState { phases, state, sections }
}

/// The run as it would stand if it were brought back to a checkpoint now.
pub fn as_of(run: &Run, checkpoint: &Checkpoint) -> Run {
    let mut ahead = run.clone();
    ahead.restore(&back_to(run, checkpoint));
    (ahead.result, ahead.stop, ahead.stopped) = (result_of(checkpoint), None, Some(StopReason::Rewind));
    (ahead.vcs.rewinding, ahead.vcs.before_rewind) = (None, None);
    ahead
}

/// The same where a rewind is taken back: a run that had failed has failed again, and nobody rewound it.
pub fn result_before(checkpoint: &Checkpoint) -> Option<RunResult> {
    match checkpoint.status {
        RunStatus::Failed => Some(RunResult::Failed),
        _ => result_of(checkpoint),
    }
}

/// Whether a run that stands as a checkpoint says is over.
pub fn result_of(checkpoint: &Checkpoint) -> Option<RunResult> {
    match checkpoint.status {
        RunStatus::Completed => Some(RunResult::Completed),
        RunStatus::Running
        | RunStatus::Paused
        | RunStatus::Waiting
        | RunStatus::Interrupted
        | RunStatus::Failed
        | RunStatus::Archived => None,
    }
}

fn back(phase: &Phase, now: &PhaseState, known: &PhaseState, checkpoint: &Checkpoint) -> Option<PhaseBack> {
    let then = checkpoint.phases.iter().find(|record| record.id == phase.id);
    let status = match then.map(|record| record.status) {
        // What was at work then has no process now.
        Some(PhaseStatus::Running) => PhaseStatus::Interrupted,
        Some(status) if status != PhaseStatus::Waiting => status,
        // What a person was asked is asked again.
        Some(_) | None => PhaseStatus::Pending,
    };
    // Going back does not take back what was done outside: on the way forward nobody can know. Nor does it tell what nobody
    // knew before it.
    let done_since = known.status == PhaseStatus::Completed && status != PhaseStatus::Completed;
    let open = status != PhaseStatus::Completed && status != PhaseStatus::Skipped;
    let at_work_now = known.status == PhaseStatus::Running;
    let unknown_now = open && (known.in_doubt || known.probe.is_some() || at_work_now);
    let at_work_then = then.is_some_and(|record| record.status == PhaseStatus::Running);
    // What a person decided is asked anew.
    let decided = super::external_phases::as_approval(phase).is_some();
    let tried = phase.children.is_none() && !is_compound(phase) && !decided;
    let effects_last = tried && phase.effects == Effects::External;
    let outward = effects_last && (done_since || at_work_then || unknown_now);
    let keeps_its_key = effects_last && !mutant::is(Mutant::NewKeyAfterARewind);
    let error = then.and_then(|record| {
        let code = record.error_code.unwrap_or(FailureCode::Unknown);
        record.error.clone().map(|message| PhaseError { code, message })
    });
    let back = PhaseBack {
        phase: phase.id.clone(),
        status,
        in_doubt: outward || then.is_some_and(|record| record.in_doubt),
        started_at: then.and_then(|record| record.started_at),
        ended_at: then.and_then(|record| record.ended_at),
        duration_ms: then.and_then(|record| record.duration_ms),
        note: then.and_then(|record| record.note.clone()),
        summary: then.and_then(|record| record.summary.clone()),
        outputs: then.map(|record| record.outputs.clone()).unwrap_or_default(),
        commit_sha: then.and_then(|record| record.commit_sha.clone()),
        artifacts: then.map(|record| record.artifacts.clone()).unwrap_or_default(),
        error,
        adopted: then.and_then(|record| record.adopted.clone()),
        generation: keeps_its_key.then_some(now.generation),
        attempts: then.map(|record| record.attempts).filter(|attempts| *attempts < now.attempts),
    };
    (!stands_as(now, &back)).then_some(back)
}

fn stands_as(state: &PhaseState, back: &PhaseBack) -> bool {
    let ends = (state.started_at, state.ended_at) == (back.started_at, back.ended_at);
    state.attempt.is_none() && state.status == back.status && state.in_doubt == back.in_doubt && ends
}

fn put_back(state: &mut PhaseState, back: &PhaseBack) {
    let begun = state.attempts > 0;
    // A new generation, so that no outcome of this one can be mistaken for one of before; unless the world outside is to know it
    // again by its key.
    let generation = back.generation.unwrap_or(Generation(state.generation.0 + 1));
    put_in_place(state, back);
    state.generation = generation;
    state.last_end = begun.then_some(Before::Redone);
}

/// A phase stands as it is told, in the generation it is in.
pub(super) fn put_in_place(state: &mut PhaseState, back: &PhaseBack) {
    (state.status, state.in_doubt) = (back.status, back.in_doubt);
    (state.attempt, state.not_before, state.probe, state.external) = (None, None, None, None);
    state.artifacts.clone_from(&back.artifacts);
    (state.failures, state.unknowns_in_a_row) = (0, 0);
    state.attempts_told = back.attempts;
    (state.started_at, state.ended_at, state.duration_ms) = (back.started_at, back.ended_at, back.duration_ms);
    state.note.clone_from(&back.note);
    state.summary.clone_from(&back.summary);
    state.outputs.clone_from(&back.outputs);
    state.commit_sha.clone_from(&back.commit_sha);
    state.error.clone_from(&back.error);
    state.adopted.clone_from(&back.adopted);
    state.parked = back.error.as_ref().is_some_and(|error| super::apply::is_left_alone(error.code));
    (state.base, state.clean, state.opened, state.own) = (None, false, false, None);
    super::agent_calls::forget(state);
}
