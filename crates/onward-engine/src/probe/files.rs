//! The content of files that globs name. Bounded in every direction, and never outside the project.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::evidence::{FileSeen, Files};
use onward_core::plan::globs::{Globs, fixed_part};
use onward_store::listing;

use crate::redact::file_names::FileNames;
use crate::sys::patient_io::Heeding;
use crate::sys::stop;

/// Files of one phase that are looked at; where there are more, that is said.
const FILES_MAX: usize = 10_000;
/// Entries of folders that are gone through for them.
const ENTRIES_MAX: usize = 200_000;
/// Of a longer file its beginning, its end and its length are compared.
const WHOLE_BYTES_MAX: u64 = 64 * 1024 * 1024;
const SAMPLE_BYTES: u64 = 1024 * 1024;

/// Looks at all files that the globs mean and the others do not, and names them as they are kept where that is wanted. `before` saves reading what is the same by its size, time
/// and inode.
pub(super) fn files_seen(
    top: &Path,
    globs: &[String],
    but: &[String],
    before: Option<&Files>,
    names: Option<&FileNames>,
) -> Files {
    let mut found = Files::default();
    let but: Vec<Globs> = but.iter().filter_map(|but| Globs::meant(but)).collect();
    let all_seen = each(top, globs, |path, about| {
        if !but.iter().any(|but| but.mean(path)) {
            // One that cannot be named is left out: what holds a secret is not kept as it is.
            if let Some(name) = names.map_or(Some(Cow::Borrowed(path)), |names| names.kept(path)) {
                let before = before.and_then(|before| before.files.get(name.as_ref()));
                found.files.insert(name.into_owned(), file_seen(&top.join(path), about, before));
            }
        }
        found.files.len() < FILES_MAX
    });
    found.too_many = !all_seen;
    found
}

/// The files that the globs mean and that were written after a time.
pub(super) fn written_after(top: &Path, globs: &[String], at: Timestamp) -> Vec<String> {
    let mut found = BTreeSet::new();
    each(top, globs, |path, about| {
        if i128::from(modified_ns(about)) > at.as_nanosecond() {
            found.insert(path.to_owned());
        }
        found.len() < FILES_MAX
    });
    found.into_iter().collect()
}

/// Goes through the files that the globs mean, as long as it is wanted; whether that was all of them.
fn each(top: &Path, globs: &[String], mut see: impl FnMut(&str, &Metadata) -> bool) -> bool {
    let (mut entries, mut more) = (0, true);
    for glob in globs {
        let (Some(start), Some(glob)) = (fixed_part(glob), Globs::at_least(glob)) else { continue };
        let mut folders = vec![start];
        while let Some(path) = folders.pop() {
            entries += 1;
            if entries > ENTRIES_MAX || !more || stop::asked().is_some() {
                return false;
            }
            let Some(about) = inside(top, &path) else { continue };
            if about.is_dir() {
                folders.extend(children(top, &path));
            } else if glob.mean(&path) {
                more = see(&path, &about);
            }
        }
    }
    true
}

/// The file at a path, if it lies in the project: no link leads out of it.
fn inside(top: &Path, path: &str) -> Option<Metadata> {
    let whole = top.join(path);
    let folder = if path.is_empty() { top.to_owned() } else { whole.parent().map(PathBuf::from)? };
    let within = folder.canonicalize().ok()?.starts_with(top.canonicalize().ok()?);
    let about = fs::symlink_metadata(&whole).ok()?;
    within.then_some(about)
}

/// The entries of a folder, in order. The folders of git and of onward itself are nobody's input.
fn children(top: &Path, path: &str) -> Vec<String> {
    let names = listing::readable(top.join(path)).into_iter().filter_map(|entry| entry.file_name().into_string().ok());
    let names = names.filter(|name| name != ".git" && name != ".onward");
    let mut paths: Vec<String> =
        names.map(|name| if path.is_empty() { name } else { format!("{path}/{name}") }).collect();
    paths.sort_unstable_by(|a, b| b.cmp(a));
    paths
}

fn file_seen(path: &Path, about: &Metadata, before: Option<&FileSeen>) -> FileSeen {
    let modified_ns = modified_ns(about);
    let (size, inode) = (about.len(), about.ino());
    if let Some(before) = before
        && (before.size, before.modified_ns, before.inode) == (size, modified_ns, inode)
        && !before.hash.is_empty()
    {
        return before.clone();
    }
    let hash = if about.is_symlink() { link(path) } else { content(path, size).unwrap_or_default() };
    FileSeen { hash, size, modified_ns, inode }
}

fn modified_ns(about: &Metadata) -> i64 {
    about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec())
}

fn link(path: &Path) -> String {
    let target = fs::read_link(path).unwrap_or_default();
    blake3::hash(target.as_os_str().as_encoded_bytes()).to_hex().to_string()
}

fn content(path: &Path, size: u64) -> Option<String> {
    let mut options = File::options();
    let mut file = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    if size <= WHOLE_BYTES_MAX {
        std::io::copy(&mut Heeding(file.take(WHOLE_BYTES_MAX)), &mut hasher).ok()?;
        return Some(hasher.finalize().to_hex().to_string());
    }
    hasher.update(&size.to_le_bytes());
    std::io::copy(&mut Read::by_ref(&mut file).take(SAMPLE_BYTES), &mut hasher).ok()?;
    file.seek(SeekFrom::Start(size - SAMPLE_BYTES)).ok()?;
    std::io::copy(&mut file.take(SAMPLE_BYTES), &mut hasher).ok()?;
    Some(format!("sample-{}", hasher.finalize().to_hex()))
}

/// The whole of a small file of the project; empty where there is none any more.
pub(crate) fn text(top: &Path, path: &str, bytes_max: u64) -> Option<Vec<u8>> {
    let Some(about) = inside(top, path) else {
        return (!top.join(path).exists()).then(Vec::new);
    };
    let mut bytes = Vec::new();
    let file =
        File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(top.join(path)).ok()?;
    let small = about.is_file() && file.metadata().ok()?.is_file() && about.len() <= bytes_max;
    small.then(|| file.take(bytes_max).read_to_end(&mut bytes))?.ok()?;
    Some(bytes)
}
