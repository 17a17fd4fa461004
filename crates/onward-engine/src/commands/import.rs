//! Runs that are taken over from files of other tools. The files stay as they are, and nothing is written beside them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::checkpoint::Checkpoint;
use onward_core::event::RunStarted;
use onward_core::formats::{self, BadFile, FILE_BYTES_MAX, TakenRun};
use onward_core::id::{CheckpointId, RunId, Seq};
use onward_core::ids_and_keys;
use onward_core::input::Input;
use onward_store::listing;
use onward_store::{LeaseKind, RunFilter, RunRow, StoreExt};
use serde_json::{Map, Value};

use crate::Onward;
use crate::drive::committer;
use crate::error::{Error, Result};
use crate::files_taken::FilesTaken;
use crate::mirror;
use crate::portable::Redacted;
use crate::queries::runs::NEW;
use crate::redact;
use crate::start::starting::actor;
use crate::sys::plain_file;
use crate::vcs::{Repository, exclude};

/// Where the tools that keep a file for each run put those that failed.
const FAILED: &str = "failed";
/// Files of one folder that are looked at.
const FILES_MAX: usize = 100_000;
/// Runs of one type, project and second that are told apart.
const SAME_SECOND_MAX: u32 = 10_000;

/// The outcome of an import.
#[derive(Debug, Default)]
pub struct Imported {
    /// Runs that hold what the files say, those included that were here before.
    pub runs: Vec<RunId>,
    pub warnings: Vec<String>,
    /// Files that were not taken.
    pub bad: Vec<BadImport>,
}

/// A file that was not taken, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadImport {
    pub path: PathBuf,
    pub why: BadFile,
}

/// A file of another tool, as far as it could be read.
#[derive(Debug)]
pub struct ForeignFile {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    pub read: std::result::Result<Box<TakenRun>, BadFile>,
}

/// An import while it goes on.
#[derive(Default)]
struct ImportWork {
    outcome: Imported,
    /// Files that were taken over. Git is told of all of them at once: it is asked about each of them otherwise.
    taken: Vec<PathBuf>,
    /// Those of them of which nothing was left.
    whole: Vec<PathBuf>,
    repository: RepositoryAround,
}

/// The repository around the project, as far as it was looked for.
#[derive(Default)]
enum RepositoryAround {
    #[default]
    NotAsked,
    None,
    Found(Repository),
}

impl RepositoryAround {
    fn found(&self) -> Option<&Repository> {
        match self {
            Self::Found(repository) => Some(repository),
            Self::NotAsked | Self::None => None,
        }
    }
}

/// Where a run stands that a file would become.
enum PlaceOfRun {
    Free,
    /// It was taken over from the very same file.
    Here(RunId),
    /// An import was killed between its row and its first record.
    Begun(RunId),
}

impl Onward {
    /// Takes over what a file or the files of a folder hold. What could not be taken is in the outcome.
    pub fn import_files(&mut self, named: &Path) -> Result<Imported> {
        let path = self.from.join(named);
        let about =
            fs::metadata(&path).map_err(|why| Error::ImportUnreadable { path: path.clone(), why: why.to_string() })?;
        let mut work = ImportWork::default();
        let done =
            if about.is_dir() { self.import_folder(&path, &mut work) } else { self.import_file(&path, &mut work) };
        let ImportWork { mut outcome, taken, whole, .. } = work;
        FilesTaken::remember(&self.project, &whole);
        // Git is not to take them for somebody's work; where that cannot be said the import stands all the same.
        if let Err(why) = exclude::keep_out(&self.project.top, &taken) {
            outcome.warnings.push(why);
        }
        done.map(|()| outcome)
    }

    fn import_file(&mut self, path: &Path, work: &mut ImportWork) -> Result<()> {
        if mirror::is_as_written(&self.project, path) {
            let shown = self.project.relative(path);
            let why = format!("{shown} was written by a run that is here, and is not imported as another one");
            work.outcome.warnings.push(why);
            return Ok(());
        }
        match read_file(path, &self.project.relative(path)) {
            Ok(taken) => self.take_over(&[*taken], path, work),
            Err(why) => {
                work.outcome.bad.push(BadImport { path: path.to_owned(), why });
                Ok(())
            }
        }
    }

    fn import_folder(&mut self, folder: &Path, work: &mut ImportWork) -> Result<()> {
        let unreadable =
            |why: std::io::Error| Error::ImportUnreadable { path: folder.to_owned(), why: why.to_string() };
        let mut files = Vec::new();
        for entry in listing::all(folder).map_err(unreadable)?.into_iter().take(FILES_MAX) {
            let path = entry.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            let kind = fs::symlink_metadata(&path).map_err(unreadable)?.file_type();
            if kind.is_dir() && name == FAILED {
                let shown = self.project.relative(&path);
                work.outcome.warnings.push(format!("{shown} is a folder of its own: onward import PATH takes it"));
            }
            if kind.is_dir() || name.starts_with('.') || !matches!(ending, "json" | "yaml" | "yml") {
                continue;
            }
            if kind.is_file() {
                files.push(path);
            } else {
                let why = BadFile::Damaged("it is not a plain file, and no link is followed".to_owned());
                work.outcome.bad.push(BadImport { path, why });
            }
        }
        work.outcome.bad.sort_by(|one, other| one.path.cmp(&other.path));
        files.sort_unstable();
        let is_crunch = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("CP-"));
        if files.iter().any(is_crunch) || files.iter().any(|path| path.ends_with("index.yaml")) {
            let foreign = files.iter().filter(|path| !mirror::is_as_written(&self.project, path));
            let foreign: Vec<PathBuf> = foreign.cloned().collect();
            if foreign.iter().any(is_crunch) || foreign.len() == files.len() {
                return self.import_crunch(folder, &files, work);
            }
            let shown = self.project.relative(folder);
            let why = format!("{shown} was written by a run that is here, and is not imported as another one");
            work.outcome.warnings.push(why);
            return Ok(());
        }
        if files.is_empty() && work.outcome.bad.is_empty() {
            let why = BadFile::Damaged("no file in it has an ending that is read: json, yaml, yml".to_owned());
            work.outcome.bad.push(BadImport { path: folder.to_owned(), why });
        }
        for path in files {
            self.import_file(&path, work)?;
        }
        Ok(())
    }

    /// One run of all checkpoints of a folder, the oldest first. What the index says of them counts where they do not say it.
    fn import_crunch(&mut self, folder: &Path, files: &[PathBuf], work: &mut ImportWork) -> Result<()> {
        let outcome = &mut work.outcome;
        let mut index: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        let mut all: Vec<TakenRun> = Vec::new();
        let mut seen: BTreeMap<CheckpointId, &PathBuf> = BTreeMap::new();
        for path in files {
            let document = bytes_of(path).and_then(|bytes| formats::document(&bytes));
            let taken = match document {
                Ok(document) if formats::is_index(&document) => {
                    index = entries(&document);
                    continue;
                }
                Ok(document) => taken(document, &self.project.relative(path), path),
                Err(why) => Err(why),
            };
            match taken.and_then(|taken| the_first_of_its_id(taken, path, &mut seen)) {
                Ok(taken) => all.push(*taken),
                Err(why) => outcome.bad.push(BadImport { path: path.clone(), why }),
            }
        }
        for taken in &mut all {
            let id = taken.step.checkpoint.as_ref().map(ToString::to_string).unwrap_or_default();
            let entry = index.get(&id);
            taken.by_index(entry);
        }
        let known: Vec<String> =
            all.iter().filter_map(|taken| taken.step.checkpoint.as_ref().map(ToString::to_string)).collect();
        let missing = index.keys().filter(|id| !known.contains(id) && !outcome.bad.iter().any(|bad| names(bad, id)));
        outcome.warnings.extend(missing.map(|id| format!("the index names {id}, of which there is no file")));
        all.sort_by_key(|taken| taken.created_at);
        if all.is_empty() && outcome.bad.is_empty() {
            let why = BadFile::Damaged("it holds no checkpoint, only an index".to_owned());
            outcome.bad.push(BadImport { path: folder.to_owned(), why });
        }
        if all.is_empty() {
            return Ok(());
        }
        self.take_over(&all, folder, work)
    }

    /// Begins the run that these files hold, unless it is here.
    fn take_over(&mut self, all: &[TakenRun], path: &Path, work: &mut ImportWork) -> Result<()> {
        let newest = all.last().expect("there is a file");
        work.outcome.warnings.extend(newest.step.imported.sections.recovery.warnings.clone());
        match self.begun(all, work) {
            Ok(run) => {
                work.outcome.runs.push(run);
                work.whole.push(path.to_owned());
            }
            Err(Error::ImportConflict { why }) => {
                work.outcome.bad.push(BadImport { path: path.to_owned(), why: BadFile::Damaged(why) });
            }
            Err(why) => return Err(why),
        }
        work.taken.push(path.to_owned());
        Ok(())
    }

    fn begun(&mut self, all: &[TakenRun], work: &mut ImportWork) -> Result<RunId> {
        let newest = all.last().expect("there is a file");
        let place = self.place_of(newest, all)?;
        if let PlaceOfRun::Here(here) = place {
            return Ok(here);
        }
        let mut started = self.started_as(all);
        let steps = self.steps(all);
        committer::demand_it_can_begin_at(&started, all[0].created_at, &steps)?;
        self.store()?;
        let (id, lease) = if let PlaceOfRun::Begun(id) = place {
            self.make_run_folder(&id)?;
            let lease = self.take_lease(&id, LeaseKind::Brief)?;
            (id, lease)
        } else {
            let is_in_git = !started.plan.phases.is_empty();
            if is_in_git && matches!(work.repository, RepositoryAround::NotAsked) {
                let found = self.repository_of_ids(&started)?;
                work.repository = found.map_or(RepositoryAround::None, RepositoryAround::Found);
            }
            self.forget_deletions(run_id(newest, &started.project, all, 1), all)?;
            let repository = work.repository.found().filter(|_| is_in_git);
            if let (Some(own), Some(repository)) = (&newest.run, repository)
                && repository.has_own_claim(own)
            {
                repository.drop_claim(own);
            }
            let ids = |number| run_id(newest, &started.project, all, number);
            self.create_as(&started, LeaseKind::Brief, repository, &ids)?
        };
        started.run = id.clone();
        let actor = actor(&self.project);
        let times = (actor.as_str(), all[0].created_at, Some(Timestamp::now()));
        committer::begin_at(self.store()?, &lease, &started, times, &steps)?;
        drop(lease);
        Ok(id)
    }

    /// The run and the checkpoints of these files come back under their names where they were deleted: somebody asks for them.
    fn forget_deletions(&mut self, run: Option<RunId>, all: &[TakenRun]) -> Result<()> {
        let Some(run) = run else { return Ok(()) };
        let store = self.inspection()?;
        let mut any = store.run_was_deleted(&run)?;
        let checkpoints: Vec<CheckpointId> = all.iter().filter_map(|taken| taken.step.checkpoint.clone()).collect();
        for id in &checkpoints {
            any = any || store.checkpoint_was_deleted(id)?;
        }
        if any { Ok(store.forget_deletion(&run, &checkpoints)?) } else { Ok(()) }
    }

    /// The first fact of the run: its plan has every phase that any of the files names.
    fn started_as(&self, all: &[TakenRun]) -> RunStarted {
        let newest = all.last().expect("there is a file");
        let mut whole = newest.clone();
        for older in all {
            for phase in &older.plan.phases {
                if whole.plan.phase(&phase.id).is_none() {
                    whole.plan.phases.push(phase.clone());
                }
            }
        }
        let folder = self.project.top.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let started = whole.started(RunId::new(""), &folder);
        let work = newest.plan_path.as_ref().map(|path| ids_and_keys::work_key(path, []));
        RunStarted {
            work: work.unwrap_or_else(|| started.work.clone()),
            snapshots: self.config.snapshots(),
            mirrors: self.config.mirrors(None),
            mirror_folder: self.config.mirror_folder(),
            commits: None,
            ..started
        }
    }

    fn steps(&self, all: &[TakenRun]) -> Vec<(Input, Timestamp)> {
        let step = |taken: &TakenRun| {
            let mut step = taken.step.clone();
            step.imported.triggers = self.config.triggers(&BTreeMap::new());
            (Input::Import(Box::new(step)), taken.updated_at)
        };
        all.iter().map(step).collect()
    }

    /// Where the run of these files stands; refused where it is another one of that name.
    fn place_of(&mut self, newest: &TakenRun, all: &[TakenRun]) -> Result<PlaceOfRun> {
        let document = newest.step.imported.sections.imported.as_ref();
        let folder = self.project.top.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let project = ids_and_keys::word(newest.project.as_deref().unwrap_or(&folder));
        for number in 1..SAME_SECOND_MAX {
            let Some(id) = run_id(newest, &project, all, number) else { break };
            let Some(row) = self.row_of(&id)? else { break };
            if row.head == Seq(0) && row.status == NEW {
                if newest.run.is_some() {
                    return Ok(PlaceOfRun::Begun(id));
                }
                continue;
            }
            let known = self.load(&id)?;
            let here = known.sections().imported.as_ref();
            let same = here.is_some() && here.map(|it| &it.document) == document.map(|it| &it.document);
            if same {
                return Ok(PlaceOfRun::Here(id));
            }
            let name = document.and_then(|document| document.name.as_ref());
            let same_name = name.is_some() && here.and_then(|here| here.name.as_ref()) == name;
            if newest.run.is_some() || same_name {
                let why = format!("run {id} is here with other content, and nothing is overwritten");
                return Err(Error::ImportConflict { why });
            }
        }
        for taken in all {
            let Some(id) = &taken.step.checkpoint else { continue };
            if self.store()?.checkpoint(id)?.is_some() {
                let why =
                    format!("checkpoint {id} is here, in a run that holds something else; nothing is overwritten");
                return Err(Error::ImportConflict { why });
            }
        }
        Ok(PlaceOfRun::Free)
    }

    /// The row of a run, begun or not; none where it is not listed. By the index alone: a run that is about to be made is looked for
    /// once more.
    fn row_of(&mut self, id: &RunId) -> Result<Option<RunRow>> {
        let filter = RunFilter { run_prefix: Some(id.to_string()), ..RunFilter::default() };
        let rows = match self.store() {
            Ok(store) => store.all_runs(&filter)?,
            Err(Error::NoRuns) => return Ok(None),
            Err(why) => return Err(why),
        };
        Ok(rows.into_iter().find(|row| row.run == *id))
    }

    /// Whether a run of ours holds what a file says.
    pub fn is_imported(&mut self, taken: &TakenRun) -> bool {
        let place = self.place_of(taken, std::slice::from_ref(taken));
        matches!(place, Ok(PlaceOfRun::Here(_)) | Err(Error::ImportConflict { .. }))
    }

    /// Whether a file is a mirror that we write.
    pub fn is_mirror(&self, path: &Path) -> bool {
        mirror::is_ours(&self.project, path)
    }

    /// A file of another tool that lies in the project; none for any other file.
    pub fn foreign_file(&self, named: &Path) -> Option<ForeignFile> {
        let path = self.from.join(named);
        let (real, top) = (path.canonicalize().ok()?, self.project.top.canonicalize().ok()?);
        let inside = real.strip_prefix(&top).ok().filter(|inside| !inside.starts_with(crate::FOLDER))?.to_owned();
        if !real.is_file() {
            return None;
        }
        let bytes = bytes_of(&real).ok()?;
        let document = formats::document(&bytes);
        let by_content = document.as_ref().is_ok_and(|document| formats::recognise(document).is_some());
        let name = inside.file_name()?.to_string_lossy().into_owned();
        let by_name = name == "pipeline-state.json"
            || (name.starts_with("CP-") && inside.extension().is_some_and(|it| it == "yaml"));
        let by_place = [".claude/checkpoints", ".claude/data/checkpoints", ".claude/crunch"];
        let by_place = by_place.iter().any(|place| inside.starts_with(place));
        (by_content || by_name || by_place).then(|| {
            let run = document.and_then(|document| taken(document, &inside.to_string_lossy(), &real));
            ForeignFile { path, bytes, read: run }
        })
    }
}

/// Of files that hold a checkpoint of the same id the first counts: which of them was meant nobody can tell.
fn the_first_of_its_id<'a>(
    taken: Box<TakenRun>,
    path: &'a PathBuf,
    seen: &mut BTreeMap<CheckpointId, &'a PathBuf>,
) -> std::result::Result<Box<TakenRun>, BadFile> {
    let Some(id) = taken.step.checkpoint.clone() else { return Ok(taken) };
    if let Some(first) = seen.get(&id) {
        let first = first.file_name().unwrap_or_default().to_string_lossy();
        return Err(BadFile::Damaged(format!("checkpoint {id} is in {first}, too")));
    }
    seen.insert(id, path);
    Ok(taken)
}

fn names(bad: &BadImport, id: &str) -> bool {
    bad.path.file_stem().is_some_and(|stem| stem.to_string_lossy() == id)
}

fn read_file(path: &Path, shown: &str) -> std::result::Result<Box<TakenRun>, BadFile> {
    taken(formats::document(&bytes_of(path)?)?, shown, path)
}

/// The bytes of a file as far as they are read: one too many says that it is too long.
pub(crate) fn bytes_of(path: &Path) -> std::result::Result<Vec<u8>, BadFile> {
    let mut bytes = Vec::new();
    let read = plain_file::open(path).and_then(|file| file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|why| BadFile::Damaged(format!("it cannot be read: {why}")))?;
    Ok(bytes)
}

/// Secrets are cut before anything is read from it.
fn taken(document: Map<String, Value>, shown: &str, path: &Path) -> std::result::Result<Box<TakenRun>, BadFile> {
    let written = fs::metadata(path).and_then(|about| about.modified()).ok();
    let written = written.and_then(|time| Timestamp::try_from(time).ok()).unwrap_or_else(Timestamp::now);
    let document = redact::inputs::map(document);
    formats::read(document, &redact::inputs::text(shown.to_owned()), written).map(Box::new)
}

/// The entries of an index by the checkpoints that they are about.
fn entries(index: &Map<String, Value>) -> BTreeMap<String, Map<String, Value>> {
    let entries = index.get("checkpoints").and_then(Value::as_array).into_iter().flatten();
    entries
        .filter_map(|entry| Some((entry.get("checkpoint_id")?.as_str()?.to_owned(), entry.as_object()?.clone())))
        .collect()
}

/// The id of the run: the file's own, else one of ours at the time that the file was begun.
fn run_id(newest: &TakenRun, project: &str, all: &[TakenRun], number: u32) -> Option<RunId> {
    match &newest.run {
        Some(id) => (number == 1).then(|| id.clone()),
        None => Some(ids_and_keys::run_id(&newest.kind, project, all[0].created_at, number)),
    }
}

/// The documents of a run in another format.
#[derive(Debug)]
pub enum FormatExport {
    Document(Map<String, Value>),
    /// Files by their names, and the one that `latest` leads to.
    Folder {
        files: Vec<(String, String)>,
        latest: Option<String>,
    },
}

impl Onward {
    /// A run in another format; what was taken over in that format comes out with all that it said.
    pub fn export_in(
        &mut self,
        named: Option<&str>,
        format: onward_core::checkpoint::FileFormat,
        redacted: Redacted,
    ) -> Result<(RunId, FormatExport)> {
        use onward_core::checkpoint::FileFormat;
        let id = self.find_run(named)?;
        let run = self.load(&id)?;
        let bad = |why: BadFile| Error::NoSuchForm { run: id.clone(), why: why.to_string() };
        match format {
            FileFormat::Workflow | FileFormat::Checkpoint | FileFormat::PipelineState => {
                let document = formats::export(&formats::as_it_stands(&run), format).map_err(bad)?;
                Ok((id.clone(), FormatExport::Document(cut(document, redacted))))
            }
            FileFormat::Crunch => {
                let mut rows = self.checkpoint_rows(&id)?;
                rows.sort_by_key(|row| row.seq);
                let mut stored: Vec<Checkpoint> = Vec::with_capacity(rows.len());
                for row in rows {
                    stored.push(self.read_checkpoint(&row.id)?);
                }
                if stored.is_empty() {
                    stored.push(formats::as_it_stands(&run));
                }
                let folder = crunch_folder(&stored, redacted).map_err(bad)?;
                Ok((id.clone(), folder))
            }
        }
    }
}

/// The folder of these checkpoints, which stand from the oldest to the newest.
fn crunch_folder(stored: &[Checkpoint], redacted: Redacted) -> std::result::Result<FormatExport, BadFile> {
    use onward_core::checkpoint::FileFormat;
    let mut files = Vec::with_capacity(stored.len() + 1);
    let mut entries = Vec::with_capacity(stored.len());
    for checkpoint in stored {
        let document = formats::export(checkpoint, FileFormat::Crunch)?;
        files.push((format!("{}.yaml", checkpoint.id), formats::to_yaml(&cut(document, redacted))));
        entries.push(formats::crunch_entry(checkpoint));
    }
    let issue = stored.last().and_then(|newest| newest.issue.as_ref()).and_then(|issue| issue.number.clone());
    let index = formats::crunch_index(issue.as_deref(), &entries);
    files.push(("index.yaml".to_owned(), formats::to_yaml(&cut(index, redacted))));
    let latest = entries.last().map(|entry| format!("{}.yaml", entry.id));
    Ok(FormatExport::Folder { files, latest })
}

/// A document without the secrets that are known now, where that is asked for.
fn cut(document: Map<String, Value>, redacted: Redacted) -> Map<String, Value> {
    match redacted {
        Redacted::AsStored => document,
        Redacted::OnceMore => redact::inputs::map(document),
    }
}
