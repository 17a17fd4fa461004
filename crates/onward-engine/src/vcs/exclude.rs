//! Git's own list of what is left out, `info/exclude`: mirrors and imported files are nobody's work.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::lines;
use crate::sys::plain_file;

const LIST_BYTES_MAX: u64 = 4 << 20;

/// Adds files or folders to the list, as far as they lie in the repository around `top` and are not on it. What git tracks stays
/// tracked. Outside of git nothing is done; why it cannot be done is told in words.
pub(crate) fn keep_out(top: &Path, paths: &[PathBuf]) -> Result<(), String> {
    if paths.is_empty() {
        return Ok(());
    }
    let words = ["rev-parse", "--show-toplevel", "--git-common-dir"];
    let Some(told) = lines(top, &words).filter(|told| told.len() == 2) else { return Ok(()) };
    let (repository, common) = (PathBuf::from(&told[0]), top.join(&told[1]));
    let inside = |path: &PathBuf| -> Option<String> {
        // The file itself may be gone, or not there yet: its folder is what links may lead away from.
        let (parent, name) = (path.parent()?, path.file_name()?);
        let parent = parent.canonicalize().ok().unwrap_or_else(|| parent.to_owned());
        let real = parent.join(name);
        let inside = real.strip_prefix(&repository).ok()?.to_str()?.to_owned();
        let ending = if path.is_dir() { "/" } else { "" };
        Some(format!("/{}{ending}", escaped(&inside)))
    };
    let wanted: Vec<String> = paths.iter().filter_map(inside).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let list = common.join("info/exclude");
    let failed = |why: io::Error| format!("{} cannot be written: {why}", list.display());
    let known = match plain_file::read(&list, LIST_BYTES_MAX) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => String::new(),
        read => String::from_utf8_lossy(&read.map_err(failed)?).into_owned(),
    };
    let mut there: BTreeSet<&str> = known.lines().collect();
    let news: Vec<&String> = wanted.iter().filter(|line| there.insert(line.as_str())).collect();
    if news.is_empty() {
        return Ok(());
    }
    if let Some(folder) = list.parent() {
        match fs::DirBuilder::new().create(folder) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(failed(why)),
            Ok(()) | Err(_) => {}
        }
    }
    let mut text = String::new();
    if !known.is_empty() && !known.ends_with('\n') {
        text.push('\n');
    }
    for line in &news {
        text.push_str(line);
        text.push('\n');
    }
    open_to_append(&list).and_then(|mut file| file.write_all(text.as_bytes())).map_err(failed)
}

/// Whether git has a file of this path, as seen from `top`, in its index.
pub(crate) fn is_tracked(top: &Path, path: &str) -> bool {
    lines(top, &["ls-files", "--", &format!(":(literal){path}")]).is_some_and(|found| !found.is_empty())
}

/// The end of a link, and a file with a second name, is perhaps another file of the user's.
fn open_to_append(list: &Path) -> io::Result<File> {
    if list.parent().is_some_and(Path::is_symlink) {
        return Err(io::Error::other("its folder is a link, and nothing is written through it"));
    }
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = File::options().create(true).append(true).custom_flags(flags).open(list).map_err(|why| {
        if list.is_symlink() { io::Error::other("it is a link, and nothing is written through it") } else { why }
    })?;
    let about = file.metadata()?;
    if about.is_file() && about.nlink() == 1 { Ok(file) } else { Err(io::Error::other("it has a second name")) }
}

/// A path as a line of such a list, in which it means itself.
fn escaped(path: &str) -> String {
    let mut line = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | '\\' | '!' | '#' | ' ') {
            line.push('\\');
        }
        line.push(c);
    }
    line
}
