//! Values too large for the database, each in a file named after the hash of its plain bytes.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::{
    codec::BlobId,
    error::{Damage, StoreError},
    folder::{check_folder, create_file, make_folder, sync_folder},
    kill_point::reached,
    listing,
    lock::{self, Hold},
    private,
};

/// How names of files begin that are not whole yet. Their writer keeps them locked.
const ASIDE: &str = "new-";

/// No value is larger, and its envelope adds little.
const FILE_BYTES_MAX: u64 = 2 * crate::VALUE_BYTES_MAX as u64;

/// Where the file of a blob lies below the folder of blobs.
pub(crate) fn path(blobs: &Path, id: &BlobId) -> PathBuf {
    let name = blake3::Hash::from_bytes(*id).to_hex();
    blobs.join(&name[..2]).join(name.as_str())
}

/// Makes the file durable before anything names it. Its name appears only once the bytes behind it are safe.
///
/// A file that is there already is not written again, but its folder is flushed all the same: whoever wrote it may not
/// have come that far.
pub(crate) fn put(blobs: &Path, id: &BlobId, envelope: &[u8]) -> Result<(), StoreError> {
    let target = path(blobs, id);
    let folder = target.parent().unwrap_or(blobs);
    if make_folder(folder)? {
        sync_folder(blobs).map_err(|error| StoreError::not_saved(blobs, &error))?;
    }
    check_folder(folder)?;
    let there = fs::symlink_metadata(&target).is_ok_and(|file| file.len() == envelope.len() as u64);
    if !there {
        write_aside(blobs, &target, envelope).map_err(|error| StoreError::not_saved(&target, &error))?;
    }
    sync_folder(folder).map_err(|error| StoreError::not_saved(folder, &error))
}

fn write_aside(blobs: &Path, target: &Path, envelope: &[u8]) -> io::Result<()> {
    let aside = blobs.join(format!("{ASIDE}{}", uuid::Uuid::now_v7()));
    let written = create_file(&aside).and_then(|mut file| {
        lock::try_lock(&file, Hold::Alone)?;
        file.write_all(envelope)?;
        file.sync_all()?;
        reached("blob.before-rename");
        fs::rename(&aside, target)?;
        reached("blob.after-rename");
        Ok(())
    });
    if written.is_err() {
        // Half a file helps nobody, least of all on a full disk.
        drop(fs::remove_file(&aside));
    }
    written
}

pub(crate) fn get(blobs: &Path, id: &BlobId) -> Result<Vec<u8>, StoreError> {
    let path = path(blobs, id);
    private::read(&path, FILE_BYTES_MAX).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Damage::new(format!("the blob file {} is missing", path.display())).into(),
        _ => StoreError::unreadable(path, &error),
    })
}

pub(crate) fn is_there(blobs: &Path, id: &BlobId) -> bool {
    fs::symlink_metadata(path(blobs, id)).is_ok()
}

/// Removes the file; how many bytes that freed.
pub(crate) fn delete(blobs: &Path, id: &BlobId) -> u64 {
    let path = path(blobs, id);
    let bytes = fs::symlink_metadata(&path).map_or(0, |file| file.len());
    if fs::remove_file(&path).is_ok() { bytes } else { 0 }
}

/// Removes files that were never finished and whose writer is gone.
pub(crate) fn sweep(blobs: &Path) {
    for file in listing::readable(blobs) {
        if !file.file_name().as_encoded_bytes().starts_with(ASIDE.as_bytes()) {
            continue;
        }
        let opened = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(file.path());
        if opened.and_then(|file| lock::try_lock(&file, Hold::Alone)).unwrap_or(false) {
            drop(fs::remove_file(file.path()));
        }
    }
}

/// Every blob that has a file here, with its length. Names that are no blobs are passed over.
pub(crate) fn list(blobs: &Path) -> Vec<(BlobId, u64)> {
    let folders = listing::readable(blobs).into_iter();
    folders
        .filter(|folder| folder.file_type().is_ok_and(|kind| kind.is_dir()))
        .flat_map(|folder| listing::readable(folder.path()))
        .filter_map(|file| {
            let id = blake3::Hash::from_hex(file.file_name().as_encoded_bytes()).ok()?;
            Some((*id.as_bytes(), file.metadata().ok()?.len()))
        })
        .collect()
}
