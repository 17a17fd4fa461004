//! Everything that a project keeps, byte by byte: what is in the store as it is read, and every other file as it lies there.

use std::fs;
use std::path::Path;

use onward_core::id::Seq;
use onward_store::{CheckpointFilter, OpenMode, Page, RunFilter};

/// Rows of one kind at most; a test that keeps more should look at fewer.
const ROWS_MAX: usize = 100_000;

/// All that is kept below `.onward`, each with a name that says what it is. Snapshots and kept artifacts are exact
/// copies of files by promise and are left out, and so are scratch folders, which belong to the phases.
pub fn everything(project: &Path) -> Vec<(String, Vec<u8>)> {
    let folder = project.join(".onward");
    let mut all = in_the_store(&folder);
    files(&folder, &mut all);
    all
}

fn in_the_store(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut store = onward_store::open(folder, OpenMode::Look).expect("a store that can be looked at");
    let mut all = Vec::new();
    for row in store.runs(&RunFilter::default(), Page::first(ROWS_MAX)).expect("readable") {
        all.push((format!("{} as listed", row.run), row.summary.clone().expect("readable")));
        for record in store.events(&row.run, Seq(0), ROWS_MAX).expect("readable") {
            all.push((format!("{} event {}", row.run, record.seq), record.body));
        }
        for checkpoint in store.checkpoints(CheckpointFilter::OfRun(&row.run), Page::first(ROWS_MAX)).expect("readable")
        {
            let found = store.checkpoint(&checkpoint.id).expect("readable").expect("it is listed");
            all.push((format!("{} row", checkpoint.id), format!("{checkpoint:?}").into_bytes()));
            all.push((format!("{} keyframe", checkpoint.id), found.keyframe));
            all.extend(found.patches.into_iter().map(|patch| (format!("{} patch", checkpoint.id), patch)));
        }
    }
    all
}

fn files(folder: &Path, all: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable")) {
        let (path, kind) = (entry.path(), entry.file_type().expect("readable"));
        let exact = ["git", "state", "artifacts"].iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && !exact {
            files(&path, all);
        } else if kind.is_file() {
            all.push((path.display().to_string(), fs::read(&path).expect("readable")));
        }
    }
}
