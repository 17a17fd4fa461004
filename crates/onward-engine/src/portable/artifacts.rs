//! Kept artifacts of a run, read from the store and written into it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use onward_store::portable::{ArtifactEntry, ArtifactEntryKind, PortableArtifact, digest};
use onward_store::{listing, private};

use crate::probe::artifact_copies::{FOLDER, remove};

/// How the name of a copy begins as long as it is not whole.
const UNFINISHED: &str = "new-";

/// The artifacts of a run that a file can hold, and the names of those that it cannot: with links in them, or with names that are no
/// text.
pub(super) fn read(store: &Path, run: &str) -> io::Result<(Vec<PortableArtifact>, Vec<String>)> {
    let (mut all, mut left_out) = (Vec::new(), Vec::new());
    let shelf = store.join(FOLDER).join(run);
    let entries = match listing::all(&shelf) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok((all, left_out)),
        other => other?,
    };
    let mut names: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    names.sort();
    for path in names {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(UNFINISHED) {
            continue;
        }
        let mut entries = Vec::new();
        if !take(&path, "", &mut entries)? {
            left_out.push(name);
            continue;
        }
        let artifact = PortableArtifact { name: name.clone(), entries };
        // A copy that was changed is no copy any more.
        if name.split_once('.').map_or(name.as_str(), |(digest, _)| digest) == digest(&artifact) {
            all.push(artifact);
        } else {
            left_out.push(name);
        }
    }
    Ok((all, left_out))
}

/// Whether all of it could be taken.
fn take(path: &Path, named: &str, into: &mut Vec<ArtifactEntry>) -> io::Result<bool> {
    let about = fs::symlink_metadata(path)?;
    if about.is_file() {
        let mut content = Vec::new();
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
        file.take(about.len() + 1).read_to_end(&mut content)?;
        let executable = about.permissions().mode() & 0o100 != 0;
        into.push(ArtifactEntry { path: named.to_owned(), kind: ArtifactEntryKind::File { content, executable } });
        return Ok(true);
    }
    if !about.is_dir() {
        return Ok(false);
    }
    into.push(ArtifactEntry { path: named.to_owned(), kind: ArtifactEntryKind::Folder });
    let mut below: Vec<PathBuf> = listing::all(path)?.iter().map(std::fs::DirEntry::path).collect();
    below.sort();
    for path in below {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(false) };
        let named = if named.is_empty() { name.to_owned() } else { format!("{named}/{name}") };
        if named.contains('\\') || !take(&path, &named, into)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Puts an artifact of a file that was checked into the store. Written aside, flushed, and named last.
pub(super) fn put(store: &Path, run: &str, artifact: &PortableArtifact) -> io::Result<()> {
    let shelf = store.join(FOLDER).join(run);
    private::make_folders(store, &shelf)?;
    let named = shelf.join(&artifact.name);
    if named.symlink_metadata().is_ok() {
        return Ok(());
    }
    let aside = shelf.join(format!("{UNFINISHED}import-{}", std::process::id()));
    remove(&aside)?;
    for entry in &artifact.entries {
        // Their paths were checked: names below names, none of which leads out.
        let path = if entry.path.is_empty() { aside.clone() } else { aside.join(&entry.path) };
        match &entry.kind {
            ArtifactEntryKind::Folder => DirBuilder::new().mode(0o700).create(&path)?,
            ArtifactEntryKind::File { content, executable } => {
                let mode = if *executable { 0o700 } else { 0o600 };
                let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
                file.write_all(content)?;
                file.sync_all()?;
            }
        }
    }
    fs::rename(&aside, &named)?;
    File::open(&shelf)?.sync_all()
}
