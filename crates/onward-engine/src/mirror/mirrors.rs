//! Mirrors: the files of other tools, kept as the run stands, so that those can read along. The journal is the truth: a mirror is
//! written from it and never read back. One that somebody edited is put aside first, and that is on record.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use onward_core::checkpoint::{Checkpoint, FileFormat};
use onward_core::data_limits;
use onward_core::formats::{self, IndexEntry};
use onward_core::id::Seq;
use onward_core::input::{Input, MirrorTold};
use onward_core::run::{Run, RunStatus};
use onward_store::private;
use serde::{Deserialize, Serialize};

use crate::FOLDER as FOLDER_OF_STORE;
use crate::Onward;
use crate::journal;
use crate::kill_point::reached;
use crate::project::Project;
use crate::sys::file_lock::exclusive;
use crate::sys::plain_file::{self, swap};
use crate::vcs::exclude;

/// In the folder of the store: what was written, and what was put aside.
const FOLDER: &str = "mirrors";
const RECORD: &str = "written.json";
/// Folders in which no mirror lies.
const RESERVED: [&str; 2] = [".git", FOLDER_OF_STORE];
/// A longer file was written by somebody else, and is left alone.
const MIRROR_BYTES_MAX: u64 = data_limits::VALUE_BYTES_MAX as u64;
/// Copies of one file that are put aside under names of their own.
const COPIES_MAX: u32 = 10_000;

/// The mirrors of one run.
#[derive(Default)]
pub(crate) struct Mirrors {
    /// The position up to which they are written.
    written: Option<Seq>,
    kept_out: bool,
}

/// The digests of the content that was written last, and before that, by path: any other content is somebody else's.
#[derive(Default, Serialize, Deserialize)]
struct WrittenMirrors(BTreeMap<String, Vec<String>>);

/// Why a mirror is not as it should be.
enum MirrorTrouble {
    Failed(String),
    /// Somebody had changed it, and their content lies there now.
    Edited(PathBuf),
    /// The file in its place was never ours, and its content lies there now.
    TookThePlace(PathBuf),
}

impl Mirrors {
    /// Brings all mirrors up to date. Nothing that goes wrong here is the run's fault: it is told and goes on record.
    pub(crate) fn write(&mut self, project: &Project, run: &Run) -> Vec<Input> {
        if run.started.mirrors.is_empty() || self.written == Some(run.seq) {
            return Vec::new();
        }
        let told = self.write_all(project, run);
        self.written = Some(run.seq);
        let news = told.into_iter().filter(|told| run.mirror_trouble(&told.path) != Some(told.what.as_str()));
        let news: Vec<MirrorTold> = news.collect();
        if news.is_empty() { Vec::new() } else { vec![Input::Mirrored { told: news }] }
    }

    fn write_all(&mut self, project: &Project, run: &Run) -> Vec<MirrorTold> {
        let failed = |what: String| vec![MirrorTold { path: ".claude".to_owned(), what }];
        let store = project.store_folder();
        let lock = match exclusive(&project.runtime().join("mirror.lock")) {
            Ok(lock) => lock,
            Err(why) => return failed(format!("cannot be written: {why}")),
        };
        let mut writer = MirrorWriter {
            top: &project.top,
            folder: store.join(FOLDER),
            record: WrittenMirrors::default(),
            told: Vec::new(),
        };
        writer.record = writer.read_record();
        let now = formats::as_it_stands(run);
        let mut written = Vec::new();
        for format in &run.started.mirrors {
            written.extend(match format {
                FileFormat::PipelineState => writer.plain(run, &now, *format, ".claude/pipeline-state.json".to_owned()),
                FileFormat::Workflow => {
                    let name = name_of(&now).unwrap_or_else(|| run.id.to_string());
                    writer.plain(run, &now, *format, format!(".claude/data/checkpoints/{name}.json"))
                }
                FileFormat::Checkpoint => writer.by_its_life(run, &now),
                FileFormat::Crunch => writer.crunch(project, run, &now),
            });
        }
        if !self.kept_out {
            let paths: Vec<PathBuf> = written.iter().map(|path| project.top.join(path)).collect();
            match exclude::keep_out(&project.top, &paths) {
                Ok(()) => self.kept_out = true,
                Err(why) => writer.told.push(MirrorTold { path: ".claude".to_owned(), what: why }),
            }
        }
        drop(lock);
        writer.told
    }
}

/// The name of a workflow file that the run was taken over from.
fn name_of(now: &Checkpoint) -> Option<String> {
    let imported = now.imported.as_ref().filter(|imported| imported.format == FileFormat::Workflow)?;
    let name = imported.name.clone()?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (plain && !name.starts_with('.')).then_some(name)
}

struct MirrorWriter<'a> {
    top: &'a Path,
    folder: PathBuf,
    record: WrittenMirrors,
    told: Vec<MirrorTold>,
}

impl MirrorWriter<'_> {
    /// A file that is there as long as anybody wants it.
    fn plain(&mut self, run: &Run, now: &Checkpoint, format: FileFormat, path: String) -> Vec<String> {
        match formats::export(now, format) {
            Ok(document) => {
                let mut text = serde_json::to_string_pretty(&document).expect("a document has only string keys");
                text.push('\n');
                self.put(run, &path, text.as_bytes());
            }
            Err(why) => self.tell(&path, MirrorTrouble::Failed(format!("is not written: {why}"))),
        }
        vec![path]
    }

    /// A file that goes when the work has succeeded, and into a folder of its own when it has failed.
    fn by_its_life(&mut self, run: &Run, now: &Checkpoint) -> Vec<String> {
        let (live, failed) =
            (format!(".claude/checkpoints/{}.json", run.id), format!(".claude/checkpoints/failed/{}.json", run.id));
        match now.status {
            RunStatus::Completed => {
                self.take_away(run, &live);
                self.take_away(run, &failed);
            }
            RunStatus::Failed | RunStatus::Archived => {
                self.plain(run, now, FileFormat::Checkpoint, failed.clone());
                self.take_away(run, &live);
            }
            RunStatus::Running | RunStatus::Paused | RunStatus::Waiting | RunStatus::Interrupted => {
                self.plain(run, now, FileFormat::Checkpoint, live.clone());
                self.take_away(run, &failed);
            }
        }
        vec![live, failed]
    }

    /// A file for each checkpoint, the index, and the link to the newest.
    fn crunch(&mut self, project: &Project, run: &Run, now: &Checkpoint) -> Vec<String> {
        let number = now.issue.as_ref().and_then(|issue| issue.number.clone());
        let plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        let name = number.clone().filter(|name| plain(name) && !name.is_empty()).unwrap_or_else(|| run.id.to_string());
        let folder = match &run.started.mirror_folder {
            Some(place) => place.replace("{issue}", &name),
            None => format!(".claude/crunch/{name}/checkpoints"),
        };
        if let Err(why) = self.crunch_into(project, run, number.as_deref(), &folder) {
            self.tell(&folder, MirrorTrouble::Failed(format!("is not written: {why}")));
        }
        vec![folder]
    }

    fn crunch_into(&mut self, project: &Project, run: &Run, issue: Option<&str>, folder: &str) -> Result<(), String> {
        let mut onward = Onward::look(&project.top).map_err(|why| why.to_string())?;
        let mut rows = onward.checkpoint_rows(&run.id).map_err(|why| why.to_string())?;
        rows.sort_by_key(|row| row.seq);
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(meta) = journal::meta(row.meta.as_ref()) else { continue };
            let path = format!("{folder}/{}.yaml", row.id);
            let mut phase = meta.phase.as_ref().map(ToString::to_string);
            if fs::symlink_metadata(self.top.join(&path)).is_err() {
                let checkpoint = onward.read_checkpoint(&row.id).map_err(|why| why.to_string())?;
                let document = formats::export(&checkpoint, FileFormat::Crunch).map_err(|why| why.to_string())?;
                self.put(run, &path, formats::to_yaml(&document).as_bytes());
                phase = formats::crunch_entry(&checkpoint).phase;
            }
            entries.push(IndexEntry {
                id: row.id.to_string(),
                created_at: meta.created_at,
                trigger: meta.triggers.first().map_or("manual", |trigger| trigger.as_str()).to_owned(),
                phase,
                can_resume: meta.can_resume,
            });
        }
        self.drop_pruned(run, folder, &entries);
        let Some(latest) = entries.last() else { return Ok(()) };
        let (index, link) = (format!("{folder}/index.yaml"), format!("{folder}/latest"));
        // A link that came before us may be somebody's work.
        let is_new = !self.record.0.contains_key(&index);
        let content = formats::to_yaml(&formats::crunch_index(issue, &entries));
        self.put(run, &index, content.as_bytes());
        if is_new && exclude::is_tracked(self.top, &link) {
            return Err(format!("{link} is in the repository, and is left alone"));
        }
        self.point_to(&link, &format!("{}.yaml", latest.id)).map_err(|why| why.to_string())
    }

    /// Checkpoints that are no longer kept go from the folder, too.
    fn drop_pruned(&mut self, run: &Run, folder: &str, entries: &[IndexEntry]) {
        let kept: BTreeSet<String> = entries.iter().map(|entry| format!("{folder}/{}.yaml", entry.id)).collect();
        let ours = |path: &&String| {
            path.strip_prefix(folder).is_some_and(|rest| rest.starts_with("/CP-")) && !kept.contains(*path)
        };
        let gone: Vec<String> = self.record.0.keys().filter(ours).cloned().collect();
        for path in &gone {
            self.take_away(run, path);
        }
    }

    /// Writes a file by renaming it into its place.
    fn put(&mut self, run: &Run, path: &str, bytes: &[u8]) {
        let written = self.make_room(run, path, Some(bytes)).and_then(|Room { there, edited }| {
            if there.as_ref().is_some_and(|there| there == bytes) {
                return Ok(edited);
            }
            let begun = self.folder.join(format!("new-{}", std::process::id()));
            private::create_anew(&begun)?.write_all(bytes)?;
            let saved_meanwhile = put_in_place(&begun, &self.top.join(path), there.as_deref())?;
            let kept = saved_meanwhile.map(|saved| self.put_aside(path, &saved)).transpose()?;
            reached("mirror.after-swap");
            let _ = fs::remove_file(&begun);
            Ok(kept.map(MirrorTrouble::Edited).or(edited))
        });
        match written {
            Ok(None) => {}
            Ok(Some(trouble)) => self.tell(path, trouble),
            Err(why) => self.tell(path, MirrorTrouble::Failed(format!("cannot be written: {why}"))),
        }
    }

    fn take_away(&mut self, run: &Run, path: &str) {
        if fs::symlink_metadata(self.top.join(path)).is_err() {
            return;
        }
        let removed =
            self.make_room(run, path, None).and_then(|room| fs::remove_file(self.top.join(path)).map(|()| room.edited));
        match removed {
            Ok(None) => {}
            Ok(Some(trouble)) => self.tell(path, trouble),
            Err(why) => self.tell(path, MirrorTrouble::Failed(format!("cannot be removed: {why}"))),
        }
    }

    /// Makes sure that a file may be written or removed: folders are there, no link leads away, what others wrote is put aside.
    fn make_room(&mut self, run: &Run, path: &str, bytes: Option<&[u8]>) -> io::Result<Room> {
        let place = self.top.join(path);
        demand_inside(path)?;
        self.demand_no_link(path)?;
        let parent = place.parent().expect("it lies below the top");
        if bytes.is_some() {
            self.make_folders(parent)?;
        }
        private::make_folders(self.folder.parent().expect("it lies in the store"), &self.folder)?;
        let there = match plain_file::read(&place, MIRROR_BYTES_MAX) {
            Ok(there) => Some(there),
            Err(why) if why.kind() == io::ErrorKind::NotFound => None,
            Err(why) => return Err(why),
        };
        let before = there.as_ref().map(|there| digest(there));
        let known = self.record.0.get(path).cloned().unwrap_or_default();
        let ours = before
            .as_ref()
            .is_none_or(|before| known.contains(before) || bytes.is_some_and(|new| digest(new) == *before))
            || there.as_ref().is_some_and(|there| is_what_was_imported(run, there));
        let edited = match &there {
            Some(_) if !ours && known.is_empty() && exclude::is_tracked(self.top, path) => {
                return Err(io::Error::other("the file that lies there is in the repository, and is left alone"));
            }
            Some(there) if !ours && known.is_empty() => Some(MirrorTrouble::TookThePlace(self.put_aside(path, there)?)),
            Some(there) if !ours => Some(MirrorTrouble::Edited(self.put_aside(path, there)?)),
            Some(_) | None => None,
        };
        // First what will be written, so that a kill in between does not make a stranger of it.
        let digests: Vec<String> = before.into_iter().chain(bytes.map(digest)).collect();
        if self.record.0.get(path) != Some(&digests) {
            self.record.0.insert(path.to_owned(), digests);
            self.write_record()?;
        }
        Ok(Room { there, edited })
    }

    /// Makes the folders from the top of the project down to this one; none of them is a link.
    fn make_folders(&self, folder: &Path) -> io::Result<()> {
        let below: Vec<&Path> = folder.ancestors().take_while(|above| *above != self.top).collect();
        for folder in below.into_iter().rev() {
            match DirBuilder::new().create(folder) {
                Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// No part of the way is a link: what it leads to is not ours to write.
    fn demand_no_link(&self, path: &str) -> io::Result<()> {
        let mut place = self.top.to_owned();
        for part in Path::new(path).components() {
            place.push(part);
            if fs::symlink_metadata(&place).is_ok_and(|about| about.is_symlink()) {
                return Err(io::Error::other(format!(
                    "{} is a link, and nothing is written through it",
                    place.display()
                )));
            }
        }
        Ok(())
    }

    fn put_aside(&self, path: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let kept = self.folder.join("kept");
        private::make_folders(&self.folder, &kept)?;
        let name = path.replace('/', "_");
        for number in 1..COPIES_MAX {
            let place = kept.join(format!("{name}.{number}"));
            match private::create(&place) {
                Ok(mut file) => {
                    file.write_all(bytes)?;
                    file.sync_all()?;
                    return Ok(place);
                }
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
                    if fs::read(&place)? == bytes {
                        return Ok(place);
                    }
                }
                Err(why) => return Err(why),
            }
        }
        Err(io::Error::other("there are too many copies of it"))
    }

    fn point_to(&self, path: &str, target: &str) -> io::Result<()> {
        demand_inside(path)?;
        // The last part is a link of ours; what leads to it is none.
        self.demand_no_link(path.rsplit_once('/').map_or("", |(folder, _)| folder))?;
        let place = self.top.join(path);
        if fs::symlink_metadata(&place).is_ok_and(|about| !about.is_symlink()) {
            return Err(io::Error::other(format!("{path} is no link, and is left alone")));
        }
        if fs::read_link(&place).is_ok_and(|there| there == Path::new(target)) {
            return Ok(());
        }
        let begun = self.folder.join(format!("link-{}", std::process::id()));
        let _ = fs::remove_file(&begun);
        symlink(target, &begun)?;
        fs::rename(&begun, &place)
    }

    fn read_record(&self) -> WrittenMirrors {
        record_in(self.folder.parent().expect("it lies in the store"))
    }

    fn write_record(&self) -> io::Result<()> {
        let begun = self.folder.join(format!("{RECORD}.{}", std::process::id()));
        private::create_anew(&begun)?.write_all(&serde_json::to_vec(&self.record).expect("texts"))?;
        fs::rename(begun, self.folder.join(RECORD))
    }

    fn tell(&mut self, path: &str, trouble: MirrorTrouble) {
        let in_project = |kept: &Path| kept.strip_prefix(self.top).unwrap_or(kept).display().to_string();
        let what = match trouble {
            MirrorTrouble::Failed(why) => why,
            MirrorTrouble::Edited(kept) => {
                format!("was changed by somebody else; their content lies in {}", in_project(&kept))
            }
            MirrorTrouble::TookThePlace(kept) => {
                format!("took the place of a file of somebody else; its content lies in {}", in_project(&kept))
            }
        };
        self.told.push(MirrorTold { path: path.to_owned(), what });
    }
}

/// The file that lay in a place before it is written.
struct Room {
    there: Option<Vec<u8>>,
    /// The content of somebody else that was put aside.
    edited: Option<MirrorTrouble>,
}

/// Puts a file in its place. What somebody has saved there since it was read is given back.
fn put_in_place(new: &Path, place: &Path, before: Option<&[u8]>) -> io::Result<Option<Vec<u8>>> {
    reached("mirror.before-swap");
    match swap(new, place) {
        // Nothing lies there to change places with.
        Err(why) if why.kind() == io::ErrorKind::NotFound => fs::rename(new, place).map(|()| None),
        Err(why) => Err(why),
        Ok(()) if !new.try_exists()? => Ok(None),
        Ok(()) => {
            let there = plain_file::read(new, MIRROR_BYTES_MAX)?;
            Ok((Some(there.as_slice()) != before).then_some(there))
        }
    }
}

/// A folder that the configuration or a file names leads nowhere else, and not to what is git's or ours.
fn demand_inside(path: &str) -> io::Result<()> {
    let mut parts = Path::new(path).components();
    let fine = parts.all(|part| match part {
        Component::Normal(name) => !RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)),
        Component::CurDir => true,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => false,
    });
    let why = "a mirror lies in the project, outside of .git and .onward";
    if fine { Ok(()) } else { Err(io::Error::other(why)) }
}

/// The content as it was written, as far as it is a file of ours that says so.
fn record_in(store: &Path) -> WrittenMirrors {
    let folder = store.join(FOLDER);
    let read =
        private::demand_folders(store, &folder).and_then(|()| private::read(&folder.join(RECORD), MIRROR_BYTES_MAX));
    read.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The file that the run was taken over from is in the journal as a whole.
fn is_what_was_imported(run: &Run, bytes: &[u8]) -> bool {
    let imported = run.sections().imported.as_ref();
    imported.is_some_and(|imported| formats::document(bytes).is_ok_and(|document| document == imported.document))
}

/// Mirrors of the project whose content is not what was written last: paths, for the doctor.
pub(crate) fn edited(project: &Project) -> Vec<(String, PathBuf)> {
    let record = record_in(&project.store_folder());
    let changed = |(path, digests): (&String, &Vec<String>)| {
        let place = project.top.join(path);
        let there = plain_file::read(&place, MIRROR_BYTES_MAX).ok()?;
        (!digests.contains(&digest(&there))).then(|| (path.clone(), place))
    };
    record.0.iter().filter_map(changed).collect()
}

/// The mirrors that we have written, by their paths in the project.
pub(crate) fn written(project: &Project) -> BTreeSet<String> {
    record_in(&project.store_folder()).0.into_keys().collect()
}

/// The mirrors that a store knows of, with what was written into them.
pub(crate) struct KnownMirrors(WrittenMirrors);

impl KnownMirrors {
    pub(crate) fn of(store: &Path) -> Self {
        Self(record_in(store))
    }

    /// Whether a file is one of them, with the content that we gave it: nobody's work.
    pub(crate) fn has(&self, shown: &Path, place: &Path) -> bool {
        let digests = shown.to_str().and_then(|shown| self.0.0.get(shown));
        digests.is_some_and(|digests| {
            plain_file::read(place, MIRROR_BYTES_MAX).is_ok_and(|there| digests.contains(&digest(&there)))
        })
    }
}

/// Whether a file is a mirror of ours with the content that we gave it.
pub(crate) fn is_as_written(project: &Project, path: &Path) -> bool {
    let record = record_in(&project.store_folder());
    let Some(digests) = record.0.get(&project.relative(path)) else { return false };
    plain_file::read(path, MIRROR_BYTES_MAX).is_ok_and(|there| digests.contains(&digest(&there)))
}

/// Whether a file is a mirror that we have written, whatever became of it since.
pub(crate) fn is_ours(project: &Project, path: &Path) -> bool {
    record_in(&project.store_folder()).0.contains_key(&project.relative(path))
}
