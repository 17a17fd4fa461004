//! Files of other tools that lie in the project, where a person is there: taken over, looked at, or left alone.

use std::fs;
use std::path::{Path, PathBuf};

use onward_core::formats::{self, BadFile};
use onward_core::id::RunId;
use onward_engine::{ForeignFile, ListFilter, Onward};

use crate::failure::Failure;
use crate::prompt;
use crate::render::{self, safe};

const WHOLE: &str = "(i)mport and go on  (v)iew  i(g)nore  [g]: ";
const BROKEN: &str = "it is not changed: repair it by hand and come again (q), or start (f)resh beside it  [q]: ";

/// The run that was taken over from a file, where somebody wanted that. Nothing is asked where a run of ours is unfinished.
pub(super) fn ask(onward: &mut Onward) -> Result<Option<RunId>, Failure> {
    let unfinished = |status: &str| !matches!(status, "completed" | "archived");
    let places = onward.project.left_by_others();
    if places.is_empty()
        || onward.list(&ListFilter::default()).is_ok_and(|all| all.iter().any(|it| unfinished(&it.status)))
    {
        return Ok(None);
    }
    let top = onward.project.top.clone();
    let Some(path) = places.iter().find_map(|place| newest(&top.join(place))) else { return Ok(None) };
    let Some(file) = onward.foreign_file(&path) else { return Ok(None) };
    if is_ours(onward, &file) {
        return Ok(None);
    }
    about(onward, &file)
}

/// A run of ours holds what the file says, or writes it.
fn is_ours(onward: &mut Onward, file: &ForeignFile) -> bool {
    onward.is_mirror(&file.path) || file.read.as_ref().is_ok_and(|taken| onward.is_imported(taken))
}

/// A file, or the newest of a folder.
fn newest(place: &Path) -> Option<PathBuf> {
    if place.is_file() {
        return Some(place.to_owned());
    }
    let files = fs::read_dir(place).ok()?.map_while(Result::ok).map(|entry| entry.path());
    let read = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        path.is_file() && matches!(ending, "json" | "yaml") && !path.ends_with("index.yaml")
    };
    files.filter(read).max_by_key(|path| fs::metadata(path).and_then(|about| about.modified()).ok())
}

fn about(onward: &mut Onward, file: &ForeignFile) -> Result<Option<RunId>, Failure> {
    let shown = safe::line(&onward.project.relative(&file.path));
    let taken = match &file.read {
        Ok(taken) => taken,
        Err(why) => return broken(&shown, file, why),
    };
    let done = taken.step.imported.phases.iter().filter(|phase| phase.ended_at.is_some()).count();
    let mut question = format!(
        "{shown} is of another tool: {}, {done} of {} phases done\n{WHOLE}",
        safe::line(&taken.title),
        taken.plan.phases.len()
    );
    for _ in 0..prompt::TRIES_MAX {
        let Some(answer) = prompt::ask(&question) else { return Ok(None) };
        match answer.to_lowercase().as_str() {
            "i" | "import" => {
                // A folder of checkpoints is one run.
                let folder = file.path.parent().filter(|folder| folder.join("index.yaml").is_file());
                let imported = onward.import_files(folder.unwrap_or(&file.path))?;
                return Ok(imported.runs.into_iter().next());
            }
            "v" | "view" => render::say(&safe::block(&formats::summary(taken))),
            "" | "g" | "ignore" | "n" | "no" => return Ok(None),
            _ => {}
        }
        WHOLE.clone_into(&mut question);
    }
    Ok(None)
}

/// It may be the only record of what was done: it is shown, and left as it is.
fn broken(shown: &str, file: &ForeignFile, why: &BadFile) -> Result<Option<RunId>, Failure> {
    let raw = String::from_utf8_lossy(&file.bytes);
    let mut question = format!(
        "{}\n{shown} is of another tool and cannot be read: {}\n{BROKEN}",
        safe::block(&raw),
        safe::line(&why.to_string())
    );
    for _ in 0..prompt::TRIES_MAX {
        let Some(answer) = prompt::ask(&question) else { return Ok(None) };
        match answer.to_lowercase().as_str() {
            "f" | "fresh" | "s" | "start" => return Ok(None),
            "" | "q" | "quit" | "r" | "repair" => {
                return Err(Failure::usage(format!("{shown} is to be repaired by hand; nothing was started")));
            }
            _ => BROKEN.clone_into(&mut question),
        }
    }
    Ok(None)
}
