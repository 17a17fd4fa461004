//! The file of a plan in Markdown and the files it is split into: read and marked, never through links.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use onward_core::id::PhaseId;
use onward_core::markdown::{self, LinkedEdit, PhaseWork};
use onward_core::plan::TEXT_BYTES_MAX;
use onward_core::run::Run;

use crate::kill_point::reached;
use crate::plan_files::bounded_text;
use crate::project::Project;
use crate::sys::plain_file::swap;

const ENDINGS: [&str; 2] = ["md", "markdown"];
/// Somebody may save the file at the very moment it is marked.
const TRIES_MAX: u32 = 8;
const PERMISSIONS: u32 = 0o7777;

/// Whether a plan is one in Markdown, by the ending of its file's name.
pub(crate) fn is_markdown(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

/// The text of a file that a plan is split into, by its path from the folder of the plan.
pub(crate) fn read_part(plan: &Path, part: &str) -> Result<String, String> {
    let path = path_of_part(plan, part)?;
    text(&path)
}

/// Parts lie below the folder of the plan, and no link leads out of it.
fn path_of_part(plan: &Path, part: &str) -> Result<PathBuf, String> {
    let mut path = plan.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(part).components() {
        let Component::Normal(name) = component else { return Err("it leaves the folder of the plan".to_owned()) };
        if path.symlink_metadata().is_ok_and(|about| about.is_symlink()) && path != plan.parent().unwrap_or(&path) {
            return Err("its folder is a link".to_owned());
        }
        path.push(name);
    }
    Ok(path)
}

fn text(path: &Path) -> Result<String, String> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => bounded_text(file).and_then(whole),
        Err(_) if path.is_symlink() => Err("it is a link".to_owned()),
        Err(why) => Err(why.to_string()),
    }
}

/// Bytes that were not read would be lost when the file is written.
fn whole(text: String) -> Result<String, String> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("it is larger than {} MiB", TEXT_BYTES_MAX >> 20));
    }
    Ok(text)
}

/// The text of a phase as it stands in its plan's file now, and its tasks; none where it cannot be read.
pub(crate) fn work(project: &Project, run: &Run, phase: &PhaseId) -> Option<PhaseWork> {
    run.plan().markdown.as_ref()?;
    let path = project.top.join(&run.started.plan_path);
    markdown::phase_work(&text(&path).ok()?, phase.as_str(), &mut |part| read_part(&path, part))
}

/// The tasks that whoever does a phase has left open in the file of its plan, having ticked others. Boxes that nobody ticks say nothing.
pub(crate) fn tasks_left_open(plan: &Path, phase: &PhaseId) -> Vec<String> {
    let work =
        text(plan).ok().and_then(|text| markdown::phase_work(&text, phase.as_str(), &mut |part| read_part(plan, part)));
    let (done, open): (Vec<_>, Vec<_>) = work.unwrap_or_default().tasks.into_iter().partition(|task| task.done);
    if done.is_empty() { Vec::new() } else { open.into_iter().map(|task| task.text).collect() }
}

/// Sets the marker of a phase that is done and ticks its boxes, in the file as it is now; or says why not. A file that says so
/// already stays as it is.
pub(crate) fn mark(project: &Project, run: &Run, phase: &PhaseId) -> Result<(), String> {
    let told = |why: String| format!("{} is not marked: {why}", run.started.plan_path);
    let path = place(project, Path::new(&run.started.plan_path)).map_err(told)?;
    for _ in 0..TRIES_MAX {
        if marked(&path, phase).map_err(told)? == Replaced::Yes {
            return Ok(());
        }
    }
    Err(told("it is edited all the time".to_owned()))
}

/// Whether a file was replaced, or had been edited by somebody since it was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Replaced {
    Yes,
    Edited,
}

/// The file of the plan, if it lies where it lay when the run was started, behind no link.
fn place(project: &Project, plan: &Path) -> Result<PathBuf, String> {
    let top = project.top.canonicalize().map_err(|why| why.to_string())?;
    let path = top.join(plan);
    let folder = path.parent().unwrap_or(&top);
    match folder.canonicalize() {
        Ok(real) if real == folder => Ok(path),
        Ok(_) => Err("its folder is a link now".to_owned()),
        Err(why) => Err(why.to_string()),
    }
}

/// Parts go first: once the heading says that the phase is done, all of it is.
fn marked(path: &Path, phase: &PhaseId) -> Result<Replaced, String> {
    let before = text(path)?;
    let edited = markdown::phase_marked_done(&before, phase.as_str(), &mut |part| read_part(path, part));
    let (after, parts) = edited.map_err(|why| why.to_string())?;
    for LinkedEdit { path: part, before, after } in parts {
        let place = path_of_part(path, &part)?;
        let replaced = replace(&place, &before, &after).map_err(|why| format!("{part}: {why}"))?;
        if replaced == Replaced::Edited {
            return Ok(replaced);
        }
    }
    if after == before {
        return Ok(Replaced::Yes);
    }
    replace(path, &before, &after).map_err(|why| why.to_string())
}

/// Puts a new text in the place of an old one, all at once and durably, unless somebody has edited the file meanwhile.
fn replace(path: &Path, before: &str, after: &str) -> io::Result<Replaced> {
    reached("mark.before-write");
    let about = path.symlink_metadata()?;
    let beside = beside(path);
    match fs::remove_file(&beside) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        Ok(()) | Err(_) => {}
    }
    let written = write(&beside, after, about.mode()).and_then(|()| {
        reached("mark.before-rename");
        if text(path).map_err(io::Error::other)? != before {
            return Ok(Replaced::Edited);
        }
        reached("mark.before-swap");
        swap(&beside, path)?;
        taken_back_if_edited(path, &beside, before, after)
    });
    // After a failure it may be what somebody has saved; then it stays.
    if written.is_ok() || fs::read(&beside).is_ok_and(|there| after.as_bytes().starts_with(&there)) {
        let _ = fs::remove_file(&beside);
    }
    let written = written?;
    if written == Replaced::Yes {
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
        reached("mark.after-rename");
    }
    Ok(written)
}

/// A save in the moment of the swap lies beside the file now. It comes back, unless something else was saved since.
fn taken_back_if_edited(path: &Path, beside: &Path, before: &str, after: &str) -> io::Result<Replaced> {
    let is = |path: &Path, wanted: &str| fs::read(path).map(|there| there == wanted.as_bytes());
    if !beside.try_exists()? || is(beside, before)? {
        return Ok(Replaced::Yes);
    }
    if is(path, after)? {
        swap(beside, path)?;
        if !is(beside, after)? {
            // The later one counts.
            swap(beside, path)?;
        }
    }
    Ok(Replaced::Edited)
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let options = OpenOptions::new().write(true).create_new(true).custom_flags(libc::O_NOFOLLOW).open(path);
    let mut file = options?;
    file.set_permissions(Permissions::from_mode(mode & PERMISSIONS))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Where a file is written before it takes the place of another.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".onward-new");
    path.with_file_name(name)
}
