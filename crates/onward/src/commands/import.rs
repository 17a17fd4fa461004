//! `onward import FILE`: whatever is in it, by its content.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use onward_core::exit;
use onward_engine::{Error, ImportedRun, Lineage, Onward, PORTABLE_BYTES_MAX, is_portable};
use serde_json::json;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn import(args: &args::ImportArgs) -> Result<u8, Failure> {
    let bytes = read(&args.file)?;
    if !is_portable(&bytes) {
        let why = format!("{} is none of the forms that this version can import", args.file.display());
        return Err(Error::NotAForm { why }.into());
    }
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

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot = |why: std::io::Error| Failure::from(Error::NotReadable { path: path.to_owned(), why });
    let file = File::open(path).map_err(cannot)?;
    if !file.metadata().map_err(cannot)?.is_file() {
        return Err(cannot(std::io::Error::other("it is not a plain file")));
    }
    let mut bytes = Vec::new();
    file.take(PORTABLE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(bytes)
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
    let untrusted = imported.is_untrusted.then(|| {
        "nothing of this project is executed until you have looked at what came with the file and typed  onward trust"
            .to_owned()
    });
    lineage.into_iter().chain(imported.notes.iter().cloned()).chain(untrusted).collect()
}
