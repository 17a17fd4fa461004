//! Copies of artifacts in the store: made where the plan keeps them, put back where the artifact is missing, removed when their
//! time is over.
//!
//! A copy lies under the digest of what it is a copy of, `artifacts/RUN/DIGEST`, with the time in its name where it is kept for a
//! time only. It is written aside, flushed, and gets its name last.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use onward_core::event::ArtifactSeen;
use onward_core::evidence::Files;
use onward_core::id::{PhaseId, RunId};
use onward_core::run::verification::ArtifactState;
use onward_core::run::{PhaseState, PhaseStatus, Run};
use onward_store::{listing, private};

use super::artifact::{ArtifactRead, Readers, artifact_state, sync, take};
use super::files;
use crate::executor::shell;
use crate::kill_point::reached;
use crate::project::Project;
use crate::redact::MARK;

/// An artifact up to this size is read whenever somebody wants to know whether it is what it was.
const READ_ANYWAY_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Times of files are taken from a clock that moves in steps.
const CLOCK_STEP: SignedDuration = SignedDuration::from_millis(100);
/// The folder of the copies in the store.
pub(crate) const FOLDER: &str = "artifacts";
/// Stands between the digest and the second until which a copy is kept.
const UNTIL: &str = ".until-";

/// The copies of one run.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
}

impl Shelf {
    pub(crate) fn new(project: &Project, run: &RunId) -> Self {
        Self { folder: project.store_folder().join(FOLDER).join(run.as_str()) }
    }

    /// Both folders, which must be folders: what is written through a link lies where somebody else wants it.
    fn make(&self) -> io::Result<()> {
        let store = self.folder.ancestors().nth(2).expect("a shelf lies two folders below the store");
        private::make_folders(store, &self.folder)
    }

    /// Puts a copy on the shelf; durable when it returns. `aside` is a name that nobody else uses meanwhile.
    pub(super) fn put(&self, real: &Path, aside: &str, until: Option<Timestamp>) -> io::Result<ArtifactRead> {
        self.make()?;
        let aside = self.folder.join(format!("new-{aside}"));
        remove(&aside)?;
        let put = take(real, Some(&aside), Readers::Owner).and_then(|taken| {
            let named = self.folder.join(name(&taken.digest, until));
            if named.symlink_metadata().is_err() {
                reached("artifact.before-rename");
                fs::rename(&aside, &named)?;
                reached("artifact.after-rename");
            }
            Ok(taken)
        });
        // Half a copy helps nobody, least of all on a full disk.
        let removed = remove(&aside);
        let taken = put?;
        removed?;
        sync(&self.folder)?;
        self.folder.parent().map_or(Ok(()), sync)?;
        self.folder.parent().and_then(Path::parent).map_or(Ok(()), sync)?;
        Ok(taken)
    }

    /// The copy of an artifact, if it is still there. A run that was branched off another finds it with that one.
    fn find(&self, artifact: &ArtifactSeen) -> Option<PathBuf> {
        let name = name(&artifact.digest, artifact.kept_until);
        let own = self.folder.join(&name);
        let others = self.folder.parent().map(listing::readable).into_iter().flatten();
        let mut all = std::iter::once(own).chain(others.map(|other| other.path().join(&name)));
        all.find(|copy| copy.symlink_metadata().is_ok())
    }
}

fn name(digest: &str, until: Option<Timestamp>) -> String {
    until.map_or_else(|| digest.to_owned(), |until| format!("{digest}{UNTIL}{}", until.as_second()))
}

/// Takes away a file, a link or a whole folder; nothing there is as good.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(why) => Err(why),
    }
}

/// Takes away all copies in the store whose time is over.
pub(crate) fn expire(project: &Project, now: Timestamp) {
    let below = |folder: &Path| listing::readable(folder).into_iter().map(|entry| entry.path());
    let over = |copy: &PathBuf| {
        let name = copy.file_name().and_then(|name| name.to_str())?;
        Some(name.split_once(UNTIL)?.1.parse::<i64>().ok()? < now.as_second())
    };
    for copy in
        below(&project.store_folder().join(FOLDER)).flat_map(|run| below(&run)).filter(|it| over(it) == Some(true))
    {
        // What cannot be removed now is tried again at the next start.
        let _ = remove(&copy);
    }
}

/// An artifact of a finished phase that is not where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// There is a copy of it.
    Kept,
    ForGood,
}

/// The loss of an artifact; none where something is at its place, whatever it is, or the place is not known.
pub(super) fn gone(project: &Project, run: &Run, artifact: &ArtifactSeen) -> Option<Gone> {
    if is_cut(artifact) {
        return None;
    }
    fs::symlink_metadata(shell::top(project, run).join(&artifact.path)).err()?;
    let kept = artifact.kept && Shelf::new(project, &run.id).find(artifact).is_some();
    Some(if kept { Gone::Kept } else { Gone::ForGood })
}

/// Missing artifacts of finished phases that can be restored.
pub(crate) fn restorable<'a>(
    project: &'a Project,
    run: &'a Run,
) -> impl Iterator<Item = (&'a PhaseId, &'a ArtifactSeen)> {
    let completed = run.phases().filter(|(_, state)| state.status == PhaseStatus::Completed);
    let all = completed.flat_map(|(phase, state)| state.artifacts.iter().map(move |artifact| (&phase.id, artifact)));
    all.filter(|(_, artifact)| gone(project, run, artifact) == Some(Gone::Kept))
}

/// Puts a copy back to where the artifact was. What has come there meanwhile stays.
pub(crate) fn put_back(project: &Project, run: &Run, artifact: &ArtifactSeen) -> io::Result<()> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "its copy is not in the store any more");
    let copy = Shelf::new(project, &run.id).find(artifact).ok_or_else(missing)?;
    let top = shell::top(project, run);
    let place = top.join(&artifact.path);
    let folder = place.parent().unwrap_or(&top);
    fs::create_dir_all(folder)?;
    // A folder on the way may be a link by now.
    if !fs::canonicalize(folder)?.starts_with(fs::canonicalize(&top)?) {
        return Err(io::Error::other("its place leads out of the project"));
    }
    let aside = folder.join(format!(".onward-{}", &artifact.digest[..artifact.digest.len().min(16)]));
    remove(&aside)?;
    let put = take(&copy, Some(&aside), Readers::AsUsual).and_then(|taken| {
        if taken.digest != artifact.digest {
            return Err(io::Error::other("its copy in the store is damaged"));
        }
        if aside.is_dir() { fs::rename(&aside, &place) } else { fs::hard_link(&aside, &place) }
    });
    remove(&aside)?;
    match put {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// The fault of a copy that should be in the store.
pub(crate) enum Spoilt {
    Missing,
    Damaged,
    Unreadable(io::Error),
}

/// Copies that a run counts on and that could not be put back.
pub(crate) fn spoilt<'a>(
    project: &'a Project,
    run: &'a Run,
    now: Timestamp,
) -> impl Iterator<Item = (&'a PhaseId, &'a ArtifactSeen, Spoilt)> {
    let counted_on =
        move |artifact: &ArtifactSeen| artifact.kept && artifact.kept_until.is_none_or(|until| until > now);
    let all = run.phases().flat_map(|(phase, state)| state.artifacts.iter().map(move |artifact| (&phase.id, artifact)));
    all.filter(move |(_, artifact)| counted_on(artifact)).filter_map(|(phase, artifact)| {
        let Some(copy) = Shelf::new(project, &run.id).find(artifact) else {
            return Some((phase, artifact, Spoilt::Missing));
        };
        match take(&copy, None, Readers::Owner) {
            Ok(taken) if taken.digest == artifact.digest => None,
            Ok(_) => Some((phase, artifact, Spoilt::Damaged)),
            Err(why) => Some((phase, artifact, Spoilt::Unreadable(why))),
        }
    })
}

/// The artifacts of a finished phase as they are now. One that cannot be looked at any more is there, and another one.
pub(super) fn artifacts_now(project: &Project, run: &Run, state: &PhaseState) -> Vec<ArtifactSeen> {
    let top = shell::top(project, run);
    let now = |then: &ArtifactSeen| {
        // Where it lies is not known any more, so nothing can be said against it.
        if is_cut(then) {
            return Some(then.clone());
        }
        if is_untouched(&top.join(&then.path), then, state.ended_at) {
            return Some(then.clone());
        }
        let (bytes, digest) = match artifact_state(&top, &then.path) {
            ArtifactState::There { bytes, digest, .. } => (bytes, digest),
            // Of what is put back nobody has to be asked.
            ArtifactState::Missing => return (gone(project, run, then) == Some(Gone::Kept)).then(|| then.clone()),
            ArtifactState::Refused { .. } => (0, String::new()),
        };
        Some(ArtifactSeen { bytes, digest, ..then.clone() })
    };
    state.artifacts.iter().filter_map(now).collect()
}

/// Whether a secret was cut out of the path of an artifact: there it cannot be looked for.
fn is_cut(artifact: &ArtifactSeen) -> bool {
    artifact.path.contains(MARK)
}

/// Whether a large file certainly is what it was: nothing about it, not even its name, has changed since the phase ended. Nobody
/// can set that time. What is small is read all the same.
fn is_untouched(path: &Path, then: &ArtifactSeen, done_at: Option<Timestamp>) -> bool {
    let Some(limit) = done_at.and_then(|at| at.checked_sub(CLOCK_STEP).ok()) else { return false };
    let Ok(about) = fs::symlink_metadata(path) else { return false };
    let large = about.is_file() && about.len() == then.bytes && then.bytes > READ_ANYWAY_BYTES_MAX;
    large && (about.ctime(), about.ctime_nsec()) < (limit.as_second(), i64::from(limit.subsec_nanosecond()))
}

/// The files that will be there again before anything is done, as they will be.
pub(super) fn put_back_later(project: &Project, run: &Run) -> Files {
    let mut all = Files::default();
    for (_, artifact) in restorable(project, run) {
        let Some(copy) = Shelf::new(project, &run.id).find(artifact) else { continue };
        let (folder, name) = (copy.parent().unwrap_or(&copy), copy.file_name().and_then(|name| name.to_str()));
        let top = if copy.is_dir() { &copy } else { folder };
        let glob = if copy.is_dir() { "**" } else { name.unwrap_or_default() };
        let place = artifact.path.trim_end_matches('/');
        all.files.extend(files::files_seen(top, &[glob.to_owned()], &[], None, None).files.into_iter().map(
            |(path, file)| {
                let path = if copy.is_dir() { format!("{place}/{path}") } else { place.to_owned() };
                (path, file)
            },
        ));
    }
    all
}
