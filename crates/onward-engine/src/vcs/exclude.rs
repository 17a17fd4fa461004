//! Git's own list of what is left out, `info/exclude`: mirrors and imported files are nobody's work.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::lines;

/// Adds files or folders to the list, as far as they lie in the repository around `top` and are not on it. What git tracks stays
/// tracked. Outside of git nothing is done; why it cannot be done is told in words.
pub(crate) fn keep_out(top: &Path, paths: &[PathBuf]) -> Result<(), String> {
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
    let failed = |why: std::io::Error| format!("{} cannot be written: {why}", list.display());
    let known = fs::read_to_string(&list).unwrap_or_default();
    let news: Vec<&String> = wanted.iter().filter(|line| !known.lines().any(|known| known == line.as_str())).collect();
    if news.is_empty() {
        return Ok(());
    }
    if let Some(folder) = list.parent() {
        match fs::DirBuilder::new().create(folder) {
            Err(why) if why.kind() != std::io::ErrorKind::AlreadyExists => return Err(failed(why)),
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
    let mut file = fs::OpenOptions::new().create(true).append(true).open(&list).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
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
