//! The working tree of a run, as far as git can keep it.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onward_core::event::{ChangedBefore, FilesBack, NoCommit, SnapshotRef};
use onward_core::id::PhaseId;
use onward_core::input::{Input, Made};
use onward_core::plan::globs::Globs;
use onward_core::run::Run;
use onward_core::run::notices::DueNotice;

use crate::Onward;
use crate::drive::notices::NoticeSender;
use crate::drive::world::{Direction, FilesOutcome, RewindSince, TreeWorld};
use crate::error::Result;
use crate::markdown_file;
use crate::mirror::Mirrors;
use crate::probe;
use crate::probe::issue::{LabelPatience, Labelling};
use crate::project::Project;
use crate::redact;
use crate::redact::file_names::{FileNames, NamesFor};
use crate::sys::stop;
use crate::vcs::tree_lock::{TreeLock, TreeUser};
use crate::vcs::{
    self, CheckedOut, CommitRequest, Committed, Hooks, IndexAfter, KeptFile, LeftOut, NotCommitted, Repository,
    RestoreTarget, Whose, Without,
};

/// The repository, or why there is none.
pub(crate) struct WorkingTree {
    pub(super) project: Project,
    /// Where its phases work.
    top: PathBuf,
    /// Looked for when it is first asked for: many a word about a run needs no git.
    repository: OnceCell<std::result::Result<Repository, Without>>,
    /// Held by whoever drives a run here.
    lock: Option<TreeLock>,
    /// The state in which the changed files were last told.
    compared: Option<Compared>,
    mirrors: Mirrors,
    notices: NoticeSender,
    /// Held by whoever changes files of the project, or looks at all of them.
    files: Arc<Mutex<()>>,
}

/// All that another thread needs to have the same tree.
pub(crate) struct TreeOpener {
    project: Project,
    top: PathBuf,
    files: Arc<Mutex<()>>,
}

impl TreeOpener {
    pub(crate) fn open(self) -> WorkingTree {
        let tree = WorkingTree::of(&self.project, None);
        WorkingTree { top: self.top, files: self.files, ..tree }
    }
}

/// All that the list of changed files depends on.
#[derive(PartialEq, Eq)]
struct Compared {
    snapshot: String,
    head: Option<String>,
    index: String,
}

impl WorkingTree {
    /// The tree in which the phases of a run work.
    pub(crate) fn of(project: &Project, worktree: Option<&str>) -> Self {
        let top = worktree.map_or(project.top.as_path(), Path::new);
        Self {
            project: project.clone(),
            top: top.to_owned(),
            repository: OnceCell::new(),
            lock: None,
            compared: None,
            mirrors: Mirrors::default(),
            notices: NoticeSender::default(),
            files: Arc::default(),
        }
    }

    pub(crate) fn opener(&self) -> TreeOpener {
        TreeOpener { project: self.project.clone(), top: self.top.clone(), files: self.files.clone() }
    }

    /// Until this is dropped no other thread of this process changes files of the project, or looks at all of them.
    pub(crate) fn alone(&self) -> MutexGuard<'_, ()> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for a driver: as long as this lives nobody else brings files back here.
    pub(crate) fn to_drive(project: &Project, worktree: Option<&str>) -> Result<Self> {
        let tree = Self::of(project, worktree);
        let lock = tree.lock_path().map(TreeLock::share).transpose()?;
        if let Ok(repository) = tree.found() {
            repository.catch_index_up();
        }
        Ok(Self { lock, ..tree })
    }

    /// Once more before the end: a git that failed may do it now. A stop waits for it as long as for what is finished anyway.
    pub(crate) fn catch_index_up(&self) {
        let _whole = stop::Whole::begin();
        if let Ok(repository) = self.found() {
            repository.catch_index_up();
        }
    }

    fn found(&self) -> &std::result::Result<Repository, Without> {
        self.repository.get_or_init(|| Repository::open(&self.top, &self.project.store_folder()))
    }

    /// Where the lock of the tree lies; none outside of git.
    pub(crate) fn lock_path(&self) -> Option<PathBuf> {
        self.found().as_ref().ok().map(Repository::tree_lock_path)
    }

    pub(crate) fn repository(&self) -> std::result::Result<&Repository, String> {
        self.found().as_ref().map_err(ToString::to_string)
    }

    /// Whether a commit is there: an error where git cannot say so now, words where there is no repository that could have it.
    pub(crate) fn has_commit(&self, commit: &str) -> std::result::Result<std::result::Result<bool, String>, String> {
        match self.found() {
            Ok(repository) => repository.has_commit(commit).map(Ok).map_err(|why| why.to_string()),
            Err(gone @ (Without::NoRepository | Without::Bare)) => Ok(Err(gone.to_string())),
            Err(silent @ (Without::NoProgram | Without::ForeignOwner | Without::Other(_))) => Err(silent.to_string()),
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.found().is_ok()
    }

    /// The commit that is checked out.
    pub(crate) fn head(&self) -> Option<String> {
        self.found().as_ref().ok()?.head().commit
    }

    /// The branch that is checked out.
    pub(crate) fn branch(&self) -> Option<String> {
        self.found().as_ref().ok()?.head().branch.map(redact::inputs::text)
    }

    pub(crate) fn take(&self, run: &Run) -> std::result::Result<SnapshotRef, String> {
        let repository = self.repository()?;
        let last = run.vcs.last.as_ref();
        let number = run.next_snapshot();
        let taken = repository
            .snapshot(&run.id, number, last.map(|last| last.commit.as_str()))
            .map_err(|trouble| trouble.to_string())?;
        let number = last.filter(|_| taken.same_as_last).map_or(number, |last| last.number);
        Ok(told(taken, number, repository))
    }

    /// Keeps what is there before a phase puts back what it writes. Refused while another run works here.
    pub(crate) fn keep_before_clean(&self, run: &Run) -> std::result::Result<SnapshotRef, String> {
        self.demand_nobody_beside(run)?;
        let _alone = self.alone();
        self.take(run)
    }

    fn demand_nobody_beside(&self, run: &Run) -> std::result::Result<(), String> {
        let beside = Onward::look(&self.project.top).and_then(|mut onward| onward.at_work_beside(run));
        match beside.map_err(|why| why.to_string())? {
            Some(by) => Err(by.to_string()),
            None => Ok(()),
        }
    }

    /// Puts back what a phase writes, and nothing else; what was there was kept before. Refused while another run works here.
    pub(crate) fn clean(&self, run: &Run, phase: &PhaseId, snapshot: &str) -> std::result::Result<(), String> {
        self.demand_nobody_beside(run)?;
        let _alone = self.alone();
        let Some(lock) = &self.lock else { return self.put_back(run, phase, snapshot) };
        let alone = lock.while_alone(|| self.put_back(run, phase, snapshot)).map_err(|why| why.to_string())?;
        alone.unwrap_or_else(|| Err(TreeUser::Somebody.to_string()))
    }

    fn put_back(&self, run: &Run, phase: &PhaseId, snapshot: &str) -> std::result::Result<(), String> {
        let repository = self.repository()?;
        let writes = &run.plan().phase(phase).expect("wanted phases are in the plan").writes;
        if writes.iter().any(|glob| glob.contains(redact::MARK)) {
            return Err(
                "a secret was cut out of what it says it writes, so nobody knows which files are meant".to_owned()
            );
        }
        // What is put back must be certain: a glob that is not understood to the letter is refused.
        let globs = Globs::new(writes).map_err(|why| why.to_string())?;
        let is_wanted = |path: &Path| globs.mean(path.as_os_str().as_bytes());
        // The copy that a checkpoint names, or a newer one where others have written since.
        let present = self.take(run)?;
        let restored =
            repository.restore_paths(&present.commit, snapshot, &is_wanted).map_err(|why| why.to_string())?;
        let state = run.phase_state(phase).and_then(|state| state.attempt.as_ref());
        let kept = state.and_then(|attempt| attempt.kept.as_deref());
        let named = kept.is_some_and(|kept| repository.same_at(kept, &present.commit, &is_wanted).unwrap_or(false));
        if named && kept != Some(present.commit.as_str()) {
            // Nothing in it that the named copy has not.
            let number = present.number;
            let _ = repository.drop_snapshots(&run.id, &|other, _| other != number);
        }
        match restored.kept.first() {
            Some(kept) => Err(kept.words()),
            None => Ok(()),
        }
    }
}

fn told(taken: vcs::TreeSnapshot, number: u64, repository: &Repository) -> SnapshotRef {
    let left_out = taken.left_out.iter().map(words).collect();
    SnapshotRef { commit: taken.commit, number, left_out, head: repository.head().commit }
}

pub(super) fn words(left_out: &LeftOut) -> String {
    format!("{} ({})", left_out.path.display(), left_out.why.words())
}

impl TreeWorld for WorkingTree {
    fn snapshot(&mut self, run: &Run) -> Result<Input> {
        let taken = {
            let _alone = self.alone();
            self.take(run)
        };
        match taken {
            // It was given up, which says nothing about the tree.
            Err(_) if stop::asked().is_some() => Ok(Input::Tick),
            taken => Ok(Input::Snapshotted(taken)),
        }
    }

    fn modified(&mut self, run: &Run, kept: &Input) -> Option<Input> {
        let Input::Snapshotted(Ok(kept)) = kept else { return None };
        let repository = self.found().as_ref().ok()?;
        let now = Compared { snapshot: kept.commit.clone(), head: kept.head.clone(), index: repository.index_state() };
        if self.compared.as_ref() == Some(&now) {
            return None;
        }
        // What git does not tell now it tells with the next snapshot.
        let files = repository.modified(kept.head.as_deref(), &kept.commit, &run.sections().files_modified).ok()?;
        self.compared = Some(now);
        Some(Input::TreeSeen { files })
    }

    fn mirror(&mut self, run: &Run) -> Vec<Input> {
        self.mirrors.write(&self.project, run)
    }

    fn mark(&mut self, run: &Run, phase: &PhaseId) -> Result<Input> {
        let marked = markdown_file::mark(&self.project, run, phase);
        Ok(Input::PhaseMarked { phase: phase.clone(), marked })
    }

    fn notify(&mut self, run: &Run, notice: &DueNotice) -> Result<Option<Input>> {
        Ok(self.notices.send(&self.project, run, notice))
    }

    fn end_notices(&mut self) -> Option<Input> {
        self.notices.give_up()
    }

    fn label(&mut self, run: &Run, phase: &PhaseId) -> Result<Input> {
        let set = Labelling::new(&self.project, run, phase, LabelPatience::InTheWay).set();
        Ok(Input::IssueLabelled { phase: phase.clone(), set })
    }

    fn commit(&mut self, run: &Run, number: u32) -> Result<Input> {
        let made = {
            let _alone = self.alone();
            self.committed(run, number)
        };
        match made {
            // It was given up, and stays begun: the next driver finds it made, or makes it.
            Err(NoCommit::NotNow { .. }) if stop::asked().is_some() => Ok(Input::Tick),
            made => Ok(Input::Committed { number, made }),
        }
    }

    fn integrate(&mut self, run: &Run, phase: &PhaseId) -> Result<Input> {
        Ok(self.integrated(run, phase))
    }

    fn remove_worktree(&mut self, run: &Run, phase: &PhaseId) -> Result<Input> {
        Ok(self.worktree_removed(run, phase))
    }

    fn restore(
        &mut self,
        run: &Run,
        files: &FilesBack,
        begun: RewindSince,
        direction: Direction,
    ) -> Result<FilesOutcome> {
        let _alone = self.alone();
        Ok(self.restored(run, files, begun, direction))
    }
}

impl WorkingTree {
    fn committed(&self, run: &Run, number: u32) -> std::result::Result<Made, NoCommit> {
        let not_now = |reason: String| NoCommit::NotNow { reason };
        let repository = self.repository().map_err(not_now)?;
        let (Some(rule), Some(begun)) = (&run.started.commits, &run.vcs.begun) else {
            return Err(not_now("no commit was begun".to_owned()));
        };
        let text = run.commit_text(rule, number);
        let changes = self.changes_of(run);
        // The commit goes on top of what was there; a branch that a phase made meanwhile is the one that is meant.
        let at = CheckedOut { commit: begun.head.clone(), branch: repository.head().branch };
        let request = CommitRequest {
            token: &begun.token,
            run: &run.id,
            batch: &text.batch,
            at: &at,
            subject: &text.subject,
            body: &text.body,
            trailers: &text.trailers,
            hooks: if rule.hooks { Hooks::Run } else { Hooks::Skip },
            whose: &|path| changes.whose(path),
            has_secret: &|bytes| redact::secrets().are_in_file(bytes),
        };
        match repository.commit(&request) {
            Ok(Committed { commit, left_out, index, .. }) => {
                let stale = match index {
                    IndexAfter::Updated => None,
                    IndexAfter::AsItWas { why } => {
                        Some(format!("an update of git's index, which the next start makes: {why}"))
                    }
                };
                Ok(Made { commit, left_out: left_out.iter().map(words).chain(stale).collect() })
            }
            Err(NotCommitted::NothingChanged { left_out }) => {
                Err(NoCommit::NothingChanged { left_out: left_out.iter().map(words).collect() })
            }
            Err(why) => Err(not_now(why.to_string())),
        }
    }

    fn changes_of<'a>(&'a self, run: &'a Run) -> TreeChanges<'a> {
        let begun = run.phases().filter(|(_, state)| state.attempts > 0 || state.is_finished());
        let globs: Vec<String> = begun.flat_map(|(phase, _)| probe::phase::written(run, phase)).collect();
        let top = run.started.worktree.as_deref().map_or(self.project.top.as_path(), Path::new);
        let before = run.started.changed_before.as_ref();
        let names = FileNames::new(&self.project.store_folder(), NamesFor::Comparison);
        TreeChanges {
            before,
            names: names.beside(before.into_iter().flat_map(|before| before.paths.keys())),
            declared: globs.iter().filter_map(|glob| Globs::meant(glob)).collect(),
            top,
        }
    }

    /// Restores files; the present ones are kept first, also after a kill in the middle of an earlier try.
    fn restored(&self, run: &Run, files: &FilesBack, begun: RewindSince, direction: Direction) -> FilesOutcome {
        let unknown = |why: String| match begun {
            RewindSince::Now => FilesOutcome::AsBefore(why),
            RewindSince::Earlier => FilesOutcome::Halfway(why),
        };
        let (repository, present) = match self.repository().and_then(|there| Ok((there, self.take(run)?))) {
            Ok(found) => found,
            Err(why) => return unknown(why),
        };
        let nothing_moved = run.files_before_rewind() == Some(present.commit.as_str());
        let brought = match direction {
            Direction::There => brought_before(run),
            Direction::BackAgain => run.vcs.rewinding.as_ref().and_then(|begun| begun.files.as_ref()),
        };
        let number = run.next_snapshot() + 1;
        let restored =
            along(repository, run, files, brought, |way| repository.restore((&run.id, number), &present.commit, way));
        match restored {
            Ok(restored) => {
                let mut told = told(restored.snapshot, number, repository);
                told.left_out.extend(restored.kept.iter().map(KeptFile::words));
                FilesOutcome::Back(told)
            }
            Err(why) if why.left_all_as_it_was() && (begun == RewindSince::Now || nothing_moved) => {
                FilesOutcome::AsBefore(why.to_string())
            }
            Err(why) if why.is_a_refusal() => FilesOutcome::Refused(why.to_string()),
            Err(why) => FilesOutcome::Halfway(why.to_string()),
        }
    }

    /// Files that somebody edited since a rewind was cut off, as a snapshot of all that is there; none where each file is as it was
    /// before the rewind, or as the rewind brings it.
    pub(crate) fn edited_since(
        &self,
        run: &Run,
        files: &FilesBack,
    ) -> std::result::Result<Option<SnapshotRef>, String> {
        let present = self.take(run)?;
        let last = run.vcs.last.as_ref().map(|last| last.commit.as_str());
        let known: Vec<&str> = run.files_before_rewind().into_iter().chain(last).chain([files.to.as_str()]).collect();
        // What cannot be compared may be anybody's work.
        let edited = self.repository()?.has_other_files(&present.commit, &known).unwrap_or(true);
        Ok(Some(present).filter(|_| edited))
    }

    /// The changes that a rewind to these files would make.
    pub(crate) fn preview(&self, run: &Run, files: &FilesBack) -> std::result::Result<Vec<vcs::PathChange>, String> {
        let repository = self.repository()?;
        let present = self.take(run)?;
        let seen = along(repository, run, files, None, |way| repository.preview(&present.commit, way));
        seen.map_err(|trouble: vcs::GitTrouble| trouble.to_string())
    }
}

/// The files that the rewind brought which is being undone.
fn brought_before(run: &Run) -> Option<&FilesBack> {
    let undoes = run.vcs.rewinding.as_ref().is_some_and(|begun| begun.undoes);
    run.vcs.undoable.last().filter(|_| undoes)?.files.as_ref()
}

/// Does something with the way to these files. Snapshots that are not there any more say nothing.
fn along<T, E: From<vcs::GitTrouble>>(
    repository: &Repository,
    run: &Run,
    files: &FilesBack,
    brought: Option<&FilesBack>,
    work: impl FnOnce(&RestoreTarget<'_>) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let theirs = || run.vcs.theirs.iter().map(|pair| (pair.older.as_str(), pair.newer.as_str()));
    let brought = brought.map(|files| files.to.as_str());
    let named = theirs().flat_map(|(older, newer)| [older, newer]).chain(files.later.iter().map(String::as_str));
    let there = repository.commits_there(&named.chain(brought).collect())?;
    let later: Vec<&str> = files.later.iter().map(String::as_str).filter(|one| there.contains(one)).collect();
    let theirs: Vec<_> = theirs().filter(|(older, newer)| there.contains(older) && there.contains(newer)).collect();
    let brought = brought.filter(|one| there.contains(one));
    work(&RestoreTarget { target: &files.to, later: &later, theirs: &theirs, brought })
}

/// The changes in a working tree, by who made them.
struct TreeChanges<'a> {
    before: Option<&'a ChangedBefore>,
    names: FileNames,
    /// The globs of `writes` of phases that have begun.
    declared: Vec<Globs>,
    top: &'a Path,
}

impl TreeChanges<'_> {
    fn whose(&self, path: &Path) -> Whose {
        let bytes = path.as_os_str().as_bytes();
        if self.declared.iter().any(|globs| globs.mean(bytes)) {
            return Whose::Run;
        }
        let Some(before) = self.before else { return Whose::BeforeAndSince };
        let name = path.to_string_lossy();
        let Some(name) = self.names.kept(&name) else { return Whose::BeforeAndSince };
        match before.paths.get(name.as_ref()) {
            Some(then) if *then == state_of(&self.top.join(path)) => Whose::Before,
            Some(_) => Whose::BeforeAndSince,
            None if before.too_many => Whose::BeforeAndSince,
            None => Whose::Run,
        }
    }
}

/// So many changes that were there before a run are kept by their names.
const CHANGED_BEFORE_MAX: usize = 10_000;

impl WorkingTree {
    /// The files that were changed before a run begins.
    pub(crate) fn changed_before(&self) -> Option<ChangedBefore> {
        let mut paths = self.repository().ok()?.changed_now().ok()?;
        let too_many = paths.len() > CHANGED_BEFORE_MAX;
        paths.truncate(CHANGED_BEFORE_MAX);
        let names = FileNames::new(&self.project.store_folder(), NamesFor::Record);
        let seen = |path: PathBuf| {
            let name = names.kept(&path.to_string_lossy())?.into_owned();
            Some((name, state_of(&self.top.join(&path))))
        };
        let found: Option<BTreeMap<_, _>> = paths.into_iter().map(seen).collect();
        Some(ChangedBefore { paths: found?, too_many })
    }
}

/// Size and time of a file: another value means that somebody wrote to it.
pub(super) fn state_of(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    match path.symlink_metadata() {
        Ok(about) => format!("{} {}.{:09}", about.len(), about.mtime(), about.mtime_nsec()),
        Err(_) => "gone".to_owned(),
    }
}
