//! `onward export [RUN] --format FORMAT`: a run in the format of another tool.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::Path;

use jiff::Timestamp;
use onward_core::checkpoint::FileFormat;
use onward_core::exit;
use onward_core::formats;
use onward_engine::{Error, FormatExport, Onward};
use serde_json::{Map, Value};

use super::export::redacted;
use super::{here, output_file};
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn export_as(word: &str, args: &args::ExportArgs) -> Result<u8, Failure> {
    let known = FileFormat::ALL.map(FileFormat::as_str).join(", ");
    let format = FileFormat::parse(word)
        .ok_or_else(|| Failure::usage(format!("there is no format {word}; there are {known}")))?;
    if format == FileFormat::Crunch && args.output.is_none() {
        return Err(Failure::usage("crunch is a folder: name it with --output DIR"));
    }
    let (_, exported) = Onward::look(&here()?)?.export_in(args.run.as_deref(), format, redacted(args))?;
    match (exported, args.output.as_deref()) {
        (FormatExport::Document(document), output) => put(&text(&document), output),
        (FormatExport::Folder { files, latest }, Some(folder)) => {
            let written = write_folder(folder, &files, latest.as_deref());
            written.map_err(|why| not_written(folder, why))?;
            Ok(exit::DONE)
        }
        (FormatExport::Folder { .. }, None) => Err(Failure::usage("crunch is a folder: name it with --output DIR")),
    }
}

/// The empty state of a pipeline on a branch.
pub(super) fn skeleton(branch: &str, output: Option<&Path>) -> Result<u8, Failure> {
    put(&text(&formats::skeleton(branch, whole_seconds(Timestamp::now()))), output)
}

fn whole_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

fn text(document: &Map<String, Value>) -> String {
    let text = serde_json::to_string_pretty(document).expect("a document has only text keys");
    format!("{text}\n")
}

fn put(text: &str, output: Option<&Path>) -> Result<u8, Failure> {
    match output {
        Some(path) => output_file::write(path, text.as_bytes()).map_err(|why| not_written(path, why))?,
        None => render::answer_raw(text.as_bytes()),
    }
    Ok(exit::DONE)
}

/// Writes the files; others that lie there stay.
fn write_folder(folder: &Path, files: &[(String, String)], latest: Option<&str>) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for (name, text) in files {
        output_file::write(&folder.join(name), text.as_bytes())?;
    }
    if let Some(latest) = latest {
        let link = folder.join("latest");
        if fs::symlink_metadata(&link).is_ok_and(|about| about.is_symlink()) {
            fs::remove_file(&link)?;
        }
        symlink(latest, &link)?;
    }
    Ok(())
}

fn not_written(path: &Path, why: std::io::Error) -> Failure {
    Error::Io { what: format!("writing {}", path.display()), why }.into()
}
