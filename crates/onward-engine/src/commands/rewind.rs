//! Going back: `rewind`, `undo`, and what differs between two checkpoints.

use jiff::Timestamp;
use onward_core::checkpoint::{Checkpoint, Differences, Trigger, compare};
use onward_core::event::{FilesBack, Outcome, RewindBegun};
use onward_core::id::{CheckpointId, PhaseId, RunId, Seq};
use onward_core::input::{AttemptEnd, Input};
use onward_core::lookup::Name;
use onward_core::question;
use onward_core::run::{Run, RunStatus, vcs, worked_on_since_rewind};
use onward_core::view;
use onward_store::{Lease, LeaseKind, RunFilter, RunRow};

use crate::Onward;
use crate::commands::prune::SnapshotsSince;
use crate::commands::rewind_steps::{self, NotBack, RewindWish};
use crate::drive::Committer;
use crate::drive::keyframes::KeepNothing;
use crate::drive::running_attempt::{Flight, Landed};
use crate::drive::world::RewindSince;
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::journal;
use crate::probe::phase::ProofLook;
use crate::start::meant_work::summary_of;
use crate::start::starting::actor;
use crate::vcs::PathChange;
use crate::vcs::journal_piece;
use crate::vcs::working_tree::WorkingTree;

/// The parts that a rewind restores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RewindParts {
    #[default]
    Both,
    State,
    Files,
}

/// The preview of a rewind, for the person who is asked.
#[derive(Debug)]
pub struct Preview {
    pub run: RunId,
    pub to: CheckpointId,
    pub phases: Vec<PhaseId>,
    /// None where no files are brought back, with the reason.
    pub files: std::result::Result<Vec<PathChange>, String>,
    /// Phases that may have been writing while the snapshot was taken.
    pub mixed: Vec<PhaseId>,
    /// Of an undo: phases that were worked on since the rewind.
    pub worked: Vec<PhaseId>,
}

/// The choice of an undo where phases were worked on since the rewind.
pub enum WorkSince<'a> {
    /// It asks first.
    Ask(&'a mut Confirm<'a>),
    /// Nobody is there to be asked: it does nothing.
    Refused,
    /// It takes that back as well, as was said.
    TakenBack,
}

/// A rewind that is taken back, and the phases that were worked on since.
struct Undone {
    rewind: RewindBegun,
    worked: Vec<PhaseId>,
}

/// The result of a rewind.
#[derive(Debug)]
pub enum Rewound {
    Done {
        run: RunId,
        to: CheckpointId,
        before: CheckpointId,
        without_files: Option<String>,
        /// Files that are not in the snapshot taken first, each with the reason.
        left_out: Vec<String>,
        /// An earlier rewind was taken back.
        undone: bool,
    },
    /// The person said no.
    Declined,
}

/// A rewind that had been cut off and has been ended.
#[derive(Debug)]
pub(crate) struct EndedRewind {
    begun: RewindBegun,
    /// Files that are not in the snapshot that was taken then, each with the reason.
    left_out: Vec<String>,
    /// The checkpoint with what had been edited since it was cut off.
    edited: Option<CheckpointId>,
}

impl EndedRewind {
    /// Lines for whoever ends it on the way to something else.
    fn notes_with_the_way(&self, run: &RunId) -> Vec<String> {
        let way = format!("run {run} was on its way back to {}, and is there now", self.begun.to);
        std::iter::once(way).chain(self.notes()).collect()
    }

    /// Lines for whoever ends it.
    pub(crate) fn notes(&self) -> Vec<String> {
        let left_out = self.left_out.iter().map(|line| format!("not in the snapshot of the files: {line}"));
        self.edited_words().into_iter().chain(left_out).collect()
    }

    /// Where the files are that had been edited, if any were.
    pub(crate) fn edited_words(&self) -> Option<String> {
        self.edited.as_ref().map(edited_words)
    }
}

fn edited_words(kept: &CheckpointId) -> String {
    format!("files were edited since the rewind was cut off; as they were they are in checkpoint {kept}")
}

/// Two checkpoints side by side.
#[derive(Debug)]
pub struct CheckpointDiff {
    pub from: CheckpointId,
    pub to: CheckpointId,
    pub differences: Differences,
    /// The changed files of the working tree, or why they are not known.
    pub files: std::result::Result<Vec<PathChange>, String>,
}

/// Asks a person.
pub(crate) type Confirm<'a> = dyn FnMut(&Preview) -> Result<bool> + 'a;

impl Onward {
    /// Brings a run back to one of its checkpoints. Where another rewind had been cut off, that is ended first, and the notices say
    /// so, whatever comes of this one.
    pub fn rewind(&mut self, name: &str, parts: RewindParts, confirm: Option<&mut Confirm<'_>>) -> Result<Rewound> {
        let name = Name::parse(name).ok_or(Error::EmptyName("checkpoint"))?;
        let to = self.show_checkpoint(&name, None)?;
        let run = to.run.clone();
        self.go_back(&run, &to, parts, None, confirm)
    }

    /// Takes the last rewind of a run back. The notices say what came first, like those of a rewind.
    pub fn undo(&mut self, name: Option<&str>, work_since: WorkSince<'_>) -> Result<Rewound> {
        let id = self.find_run(name)?;
        self.demand_not_behind_notes(&id)?;
        let run = self.load(&id)?;
        // Nothing is written before it is known that there is something to do.
        if run.vcs.rewinding.is_none() && run.vcs.undoable.is_empty() {
            return Err(Error::NothingToUndo { run: id });
        }
        let ended = if run.vcs.rewinding.is_some() { self.end_rewind_of(&id)? } else { None };
        let notes = ended.as_ref().map(EndedRewind::notes).unwrap_or_default();
        if let Some(EndedRewind { begun, .. }) = ended.filter(|ended| ended.begun.undoes) {
            // It is what was asked for. Another rewind before it is not.
            self.notices.push("the undo that was cut off has been ended".to_owned());
            self.notices.extend(notes);
            let (to, before, left_out) = (begun.to, begun.before, Vec::new());
            return Ok(Rewound::Done { run: id, to, before, without_files: None, left_out, undone: true });
        }
        self.notices.extend(notes);
        let run = self.load(&id)?;
        let last = run.vcs.undoable.last().cloned().ok_or_else(|| Error::NothingToUndo { run: id.clone() })?;
        let to = self.read_checkpoint(&last.before)?;
        let parts = match (last.state, last.files.is_some()) {
            (true, true) => RewindParts::Both,
            (true, false) => RewindParts::State,
            (false, _) => RewindParts::Files,
        };
        let worked = worked_on_since_rewind(&journal::events(self.store()?, &id, to.seq)?);
        let confirm = match work_since {
            _ if worked.is_empty() => None,
            WorkSince::TakenBack => None,
            WorkSince::Ask(confirm) => Some(confirm),
            WorkSince::Refused => {
                return Err(Error::AnswerNeeded(Box::new(question::undo_takes_work(&id, &worked))));
            }
        };
        self.go_back(&id, &to, parts, Some(&Undone { rewind: last, worked }), confirm)
    }

    fn go_back(
        &mut self,
        id: &RunId,
        to: &Checkpoint,
        parts: RewindParts,
        undoes: Option<&Undone>,
        confirm: Option<&mut Confirm<'_>>,
    ) -> Result<Rewound> {
        self.demand_not_behind_notes(id)?;
        let lease = self.take_lease(id, LeaseKind::Brief)?;
        let run = self.load(id)?;
        let tree = WorkingTree::of(&self.project, run.started.worktree.as_deref());
        let (run, ended) = self.end_an_integration(run, &lease)?;
        self.notices.extend(ended);
        let touches_files = parts != RewindParts::State || run.vcs.rewinding.is_some();
        let mut alone = if touches_files { self.hold_tree_alone(&run)? } else { None };
        let (run, ended) = self.finish_rewind(run, &lease)?;
        self.notices.extend(ended.iter().flat_map(|ended| ended.notes_with_the_way(id)));
        let ends = self.ends(&run)?;
        let files = self.files_back(&run, to, parts, &tree)?;
        let without_files = files.as_ref().err().filter(|_| parts == RewindParts::Both).cloned();
        if let Some(confirm) = confirm {
            let worked = undoes.map(|undone| undone.worked.clone()).unwrap_or_default();
            let preview = Preview { worked, ..preview(&run, to, parts, &files, &tree) };
            // Others may start something while a person thinks about it.
            drop(alone.take());
            if !confirm(&preview)? {
                // The preview kept the working tree under a ref that nothing names.
                self.drop_unnamed_snapshots(&run, SnapshotsSince::Ours)?;
                return Ok(Rewound::Declined);
            }
            alone = if touches_files { self.hold_tree_alone(&run)? } else { None };
        }
        // An undo right after its rewind leaves nothing behind that is not kept already.
        let present = undoes.map(|undone| self.read_checkpoint(&undone.rewind.to)).transpose()?;
        let (state, present) = (parts != RewindParts::Files, present.as_ref());
        let wish = RewindWish { to, files: files.ok(), state, undoes: undoes.is_some(), present };
        let mut tree = tree;
        let (mut run, actor, mut keep, now) = (run, actor(&self.project), KeepNothing, Timestamp::now());
        let mut hand = Committer::new(self.store()?, &lease, &mut keep, &mut run, &actor);
        rewind_steps::begin(&mut hand, &mut tree, ends, &wish, now)?;
        let before = hand.run().vcs.rewinding.as_ref().expect("it was just begun").before.clone();
        let brings_files = wish.files.is_some();
        let done = rewind_steps::finish(&mut hand, &mut tree, to, RewindSince::Now, now)?;
        let last = hand.run().vcs.last.as_ref().filter(|_| brings_files);
        let left_out = last.map(|last| last.left_out.clone()).unwrap_or_default();
        drop(alone);
        self.drop_unnamed_snapshots(&run, SnapshotsSince::Ours)?;
        journal_piece::copy_after_checkpoint(&self.project.store_folder(), &run, None);
        drop(lease);
        match done {
            Ok(()) => {
                let (run, to, undone) = (id.clone(), to.id.clone(), undoes.is_some());
                Ok(Rewound::Done { run, to, before, without_files, left_out, undone })
            }
            Err(why) => Err(not_back(id, why)),
        }
    }

    /// A rewind that was cut off is ended first: half of it may be done. What somebody edited since is kept before.
    pub(crate) fn finish_rewind(&mut self, run: Run, lease: &Lease) -> Result<(Run, Option<EndedRewind>)> {
        let Some(begun) = run.vcs.rewinding.clone() else { return Ok((run, None)) };
        let to = self.read_checkpoint(&begun.to)?;
        let mut tree = WorkingTree::of(&self.project, run.started.worktree.as_deref());
        let begun_by = run.id.clone();
        let (mut run, actor, mut keep) = (run, actor(&self.project), KeepNothing);
        let mut hand = Committer::new(self.store()?, lease, &mut keep, &mut run, &actor);
        let edited = begun.files.as_ref().map(|files| tree.edited_since(hand.run(), files)).transpose();
        let edited = edited.map_err(|why| not_back(&begun_by, NotBack::Pending(why)))?.flatten();
        let now = Timestamp::now();
        let edited = edited.map(|edited| rewind_steps::keep_edited(&mut hand, edited, now)).transpose()?.flatten();
        let done = rewind_steps::finish(&mut hand, &mut tree, &to, RewindSince::Earlier, now)?;
        done.map_err(|why| not_back(&begun_by, why.and(edited.as_ref().map(edited_words))))?;
        let last = run.vcs.last.as_ref().filter(|_| begun.files.is_some());
        let left_out = last.map(|last| last.left_out.clone()).unwrap_or_default();
        Ok((run, Some(EndedRewind { begun, left_out, edited })))
    }

    /// For whoever steers a run and has nothing to do with its files: a rewind that was cut off is ended only where it brings back
    /// none. Files may have been edited since, and nobody expects that they are replaced.
    pub(crate) fn demand_no_files_halfway(&mut self, run: Run, lease: &Lease) -> Result<Run> {
        if let Some(begun) = run.vcs.rewinding.as_ref().filter(|begun| begun.files.is_some()) {
            let what = if begun.undoes { "an undo" } else { "a rewind" };
            let reason =
                format!("{what} to {} was cut off, and the next run, resume, rewind or undo ends it first", begun.to);
            return Err(Error::RewindPending { run: run.id, reason });
        }
        self.finish_rewind(run, lease).map(|(run, _)| run)
    }

    /// Ends the rewind of a run that was cut off, if there is one. Whoever holds the run sees to it.
    pub(crate) fn end_rewind_of(&mut self, id: &RunId) -> Result<Option<EndedRewind>> {
        let lease = match self.take_lease(id, LeaseKind::Brief) {
            Err(Error::Driven { .. }) => return Ok(None),
            other => other?,
        };
        let run = self.load(id)?;
        let (_, ended) = self.end_a_rewind_that_was_cut_off(run, &lease)?;
        drop(lease);
        Ok(ended)
    }

    /// Ends all rewinds that were cut off, before anything builds on files of which some are moved; gives a note for each.
    pub fn end_rewinds(&mut self) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for id in self.unended_rewinds() {
            match self.end_rewind_of(&id) {
                // Whoever reads it says so, and knows the way out.
                Err(why) if why.is_damage() => {}
                ended => {
                    let Some(ended) = ended? else { continue };
                    notes.extend(ended.notes_with_the_way(&id));
                }
            }
        }
        Ok(notes)
    }

    /// The same, for whoever only looks.
    pub fn notes_of_unended_rewinds(&mut self) -> Vec<String> {
        let mut notes = Vec::new();
        for id in self.unended_rewinds() {
            notes.extend(self.load(&id).ok().as_ref().and_then(view::unended_rewind));
        }
        notes
    }

    /// Runs with a rewind that was cut off, or that is being done just now. A store that cannot be read names none: whoever needs
    /// it says so.
    fn unended_rewinds(&mut self) -> Vec<RunId> {
        let interrupted = vec![RunStatus::Interrupted.as_str().to_owned()];
        let rows = self.rows(&RunFilter { statuses: Some(interrupted), ..RunFilter::default() });
        let is_rewinding = |row: &RunRow| summary_of(row).is_some_and(|summary| summary.rewinding);
        rows.unwrap_or_default().into_iter().filter(is_rewinding).map(|row| row.run).collect()
    }

    /// The ends of attempts that nobody drives any more. One that still lives forbids to go back.
    fn ends(&self, run: &Run) -> Result<Vec<Input>> {
        let mut ends = Vec::new();
        for (phase, state) in run.running() {
            let attempt = state.attempt.as_ref().expect("a running phase has its attempt");
            let folder = shell::folder(&self.project, run, &phase.id, attempt.number);
            let look = ProofLook::new(&self.project, run, phase);
            let end = match Flight::recovered(folder, attempt.number, &attempt.boot, look) {
                Landed::Ended(end) => end,
                Landed::NeverStarted => AttemptEnd::bare(Outcome::NeverRan),
                Landed::Flying(_) => {
                    return Err(Error::PhaseLives { run: run.id.clone(), phase: phase.id.clone() });
                }
            };
            ends.push(Input::AttemptEnded { phase: phase.id.clone(), attempt: attempt.number, end });
        }
        Ok(ends)
    }

    /// The files to be brought back, or why there are none.
    fn files_back(
        &mut self,
        run: &Run,
        to: &Checkpoint,
        parts: RewindParts,
        tree: &WorkingTree,
    ) -> Result<std::result::Result<FilesBack, String>> {
        if parts == RewindParts::State {
            return Ok(Err("only the state was asked for".to_owned()));
        }
        let found = match &to.snapshot {
            None => Err(format!("checkpoint {} has no snapshot of the files", to.id)),
            Some(kept) => {
                tree.has_commit(&kept.commit).map_err(|reason| not_asked(&run.id, &reason))?.and_then(|there| {
                    there.then_some(kept).ok_or_else(|| format!("the snapshot of {} is not in this repository", to.id))
                })
            }
        };
        match found {
            Ok(kept) => Ok(Ok(FilesBack { to: kept.commit.clone(), later: self.later(&run.id, to.seq)? })),
            Err(why) if parts == RewindParts::Files => Err(Error::NotRewound { run: run.id.clone(), reason: why }),
            Err(why) => Ok(Err(why)),
        }
    }

    /// Snapshots that the run took after a position for phases of its own. One that was taken by hand, or before a rewind, shows
    /// what others have made as well.
    fn later(&mut self, run: &RunId, after: Seq) -> Result<Vec<String>> {
        let rows = self.checkpoint_rows(run)?;
        let newer = rows.iter().filter(|row| row.seq > after);
        let metas = newer.filter_map(|row| journal::meta(row.meta.as_ref()));
        let by_the_run = metas.filter(|meta| meta.triggers.iter().any(|trigger| *trigger != Trigger::Manual));
        let mut commits: Vec<String> = by_the_run.filter_map(|meta| meta.snapshot).map(|kept| kept.commit).collect();
        commits.sort_unstable();
        commits.dedup();
        Ok(commits)
    }

    /// The differences between two checkpoints.
    pub fn diff(&mut self, from: &str, to: &str) -> Result<CheckpointDiff> {
        let mut read = |name: &str| {
            let name = Name::parse(name).ok_or(Error::EmptyName("checkpoint"))?;
            self.show_checkpoint(&name, None)
        };
        let (from, to) = (read(from)?, read(to)?);
        let files = self.with_snapshots(&from, &to, crate::vcs::Repository::changes);
        Ok(CheckpointDiff { from: from.id.clone(), to: to.id.clone(), differences: compare(&from, &to), files })
    }

    /// The files of two checkpoints as git compares them, line by line.
    pub fn diff_text(
        &mut self,
        from: &CheckpointId,
        to: &CheckpointId,
    ) -> Result<std::result::Result<Vec<u8>, String>> {
        let (from, to) = (self.read_checkpoint(from)?, self.read_checkpoint(to)?);
        Ok(self.with_snapshots(&from, &to, |repository, old, new| {
            let mut text = Vec::new();
            repository.diff_text(old, new, &mut text).map(|()| text)
        }))
    }

    fn with_snapshots<T: Default>(
        &self,
        from: &Checkpoint,
        to: &Checkpoint,
        compare: impl FnOnce(&crate::vcs::Repository, &str, &str) -> std::result::Result<T, crate::vcs::GitTrouble>,
    ) -> std::result::Result<T, String> {
        let missing = |side: &Checkpoint| format!("checkpoint {} has no snapshot of the files", side.id);
        match (&from.snapshot, &to.snapshot) {
            (None, _) if from.id == to.id => Ok(T::default()),
            (None, _) => Err(missing(from)),
            (_, None) => Err(missing(to)),
            (Some(old), Some(new)) if old.commit == new.commit => Ok(T::default()),
            (Some(old), Some(new)) => {
                let tree = WorkingTree::of(&self.project, None);
                compare(tree.repository()?, &old.commit, &new.commit).map_err(|trouble| trouble.to_string())
            }
        }
    }
}

/// Git cannot say whether it has the files: half of a rewind is not what was asked for.
fn not_asked(run: &RunId, why: &str) -> Error {
    let reason = format!("git cannot say whether it has the files: {why}");
    Error::NotRewound { run: run.clone(), reason }
}

fn not_back(run: &RunId, why: NotBack) -> Error {
    let run = run.clone();
    match why {
        NotBack::AsBefore(reason) => Error::NotRewound { run, reason },
        NotBack::Pending(reason) => Error::RewindPending { run, reason },
    }
}

fn preview(
    run: &Run,
    to: &Checkpoint,
    parts: RewindParts,
    files: &std::result::Result<FilesBack, String>,
    tree: &WorkingTree,
) -> Preview {
    let changes = files.as_ref().map_err(Clone::clone).and_then(|files| tree.preview(run, files));
    let phases = if parts == RewindParts::Files { Vec::new() } else { vcs::back_to(run, to).phases };
    Preview {
        run: run.id.clone(),
        to: to.id.clone(),
        phases: phases.into_iter().map(|back| back.phase).collect(),
        files: changes,
        mixed: to.snapshot.as_ref().map(|kept| kept.mixed.clone()).unwrap_or_default(),
        worked: Vec::new(),
    }
}
