//! `onward import FILE`: whatever is in it, by its content.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use onward_core::exit;
use onward_core::formats::BadFile;
use onward_engine::{BadImport, Error, ImportedRun, Lineage, Onward, PORTABLE_BYTES_MAX, is_portable};
use serde_json::json;

use super::here;
use crate::args;
use crate::failure::{Failure, FailurePage};
use crate::render::failure::ErrorJson;
use crate::render::{self, safe};

/// Enough to know a file of ours by.
const HEAD_BYTES: u64 = 64;
/// The name for what comes on stdin, such as from a program that decrypts it.
const STDIN: &str = "-";

pub(super) fn import(args: &args::ImportArgs) -> Result<u8, Failure> {
    if args.file.is_dir() {
        return foreign(args);
    }
    let piped = args.file == Path::new(STDIN);
    let bytes = if piped { portable_on_stdin()? } else { portable(&args.file)? };
    let Some(bytes) = bytes else {
        let what = "what comes on stdin is no exported run; files of other tools are named";
        return if piped { Err(Failure::usage(what)) } else { foreign(args) };
    };
    let mut onward = Onward::work_or_new(&here()?)?;
    let imported = onward.import_run(&bytes).map_err(|why| why.in_file(&args.file))?;
    let warnings = warnings(&imported);
    if args.output.json {
        render::answer_json(&json!({ "runs": [imported.run], "warnings": warnings }));
        return Ok(exit::DONE);
    }
    for warning in &warnings {
        render::say(&format!("note: {}\n", render::safe::line(warning)));
    }
    render::answer(&format!("{}\n", render::safe::line(imported.run.as_str())));
    Ok(exit::DONE)
}

/// A file of ours that comes through a pipe, as from whatever decrypts it; none if it is something else.
fn portable_on_stdin() -> Result<Option<Vec<u8>>, Failure> {
    let cannot = |why: std::io::Error| Failure::from(Error::NotReadable { path: STDIN.into(), why });
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(PORTABLE_BYTES_MAX + HEAD_BYTES).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(is_portable(&bytes).then_some(bytes))
}

/// The bytes of a file of ours; none of one that is of another tool.
fn portable(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let cannot = |why: std::io::Error| Failure::from(Error::NotReadable { path: path.to_owned(), why });
    // Looked at before it is opened: a pipe would be waited for.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(cannot(std::io::Error::other("it is not a plain file")));
    }
    let mut file = File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD_BYTES).read_to_end(&mut bytes).map_err(cannot)?;
    if !is_portable(&bytes) {
        return Ok(None);
    }
    file.take(PORTABLE_BYTES_MAX).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(Some(bytes))
}

/// All that whoever imports should know.
fn warnings(imported: &ImportedRun) -> Vec<String> {
    let run = &imported.run;
    let lineage = match imported.lineage {
        Lineage::New => None,
        Lineage::Same => Some(format!("run {run} is here already, as it is in the file; nothing was changed")),
        Lineage::OlderThanHere => Some(format!("run {run} went on here since it was exported; nothing was changed")),
        Lineage::NewerThanHere { records } => Some(format!("run {run} was here; {records} records were added to it")),
    };
    let untrusted = imported.waits_because.map(|why| {
        format!("{why}; nothing of this project is executed until you have looked at the run and typed  onward trust")
    });
    lineage.into_iter().chain(imported.notes.iter().cloned()).chain(untrusted).collect()
}

/// Files of other tools.
fn foreign(args: &args::ImportArgs) -> Result<u8, Failure> {
    let imported = Onward::work_or_new(&here()?)?.import_files(&args.file)?;
    for warning in &imported.warnings {
        render::say(&format!("warning: {}\n", safe::line(warning)));
    }
    for bad in &imported.bad {
        render::say(&format!("error: {}\n", safe::line(&line(bad))));
    }
    if args.output.json {
        let bad: Vec<String> = imported.bad.iter().map(line).collect();
        let mut answer = json!({ "runs": imported.runs, "warnings": imported.warnings, "refused": bad });
        if let Some(failure) = failure(&imported.bad) {
            answer["error"] = json!(ErrorJson::new(&failure))["error"].take();
        }
        render::answer_json(&answer);
    } else {
        imported.runs.iter().for_each(|run| render::answer(&format!("{}\n", safe::line(run.as_str()))));
    }
    Ok(code(&imported.bad))
}

/// The files that were not taken as one failure, for a program; the others were taken all the same.
fn failure(bad: &[BadImport]) -> Option<Failure> {
    let (first, more) = bad.split_first()?;
    let more = if more.is_empty() { String::new() } else { format!("; and {} more", more.len()) };
    let name = if code(bad) == exit::NEWER { "newer" } else { "damaged-file" };
    Some(FailurePage::of_files(code(bad), name, format!("{}{more}", line(first))).into())
}

fn line(bad: &BadImport) -> String {
    format!("{} is not imported: {}", bad.path.display(), bad.why)
}

/// Newer files are newer only where none is damaged.
fn code(bad: &[BadImport]) -> u8 {
    let newer = |bad: &BadImport| matches!(bad.why, BadFile::Newer(_));
    match bad {
        [] => exit::DONE,
        all if all.iter().all(newer) => exit::NEWER,
        _ => exit::DAMAGED,
    }
}
