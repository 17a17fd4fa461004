//! Rules for the text and size of source files.

use super::{Breach, TextFile};

/// Lines of a file without its tests: what fits a sitting.
pub const FILE_LINES_MAX: usize = 600;

/// Up to here a file counts; its tests come after.
const TESTS_START: &str = "#[cfg(test)]";

/// A file is at most [`FILE_LINES_MAX`] lines long, its tests not counted.
pub fn check_length(file: &TextFile) -> Option<Breach> {
    let lines = file.text.lines().take_while(|line| line.trim() != TESTS_START).count();
    let message = || format!("{lines} lines without tests, {FILE_LINES_MAX} at most: split it by what it does");
    (lines > FILE_LINES_MAX).then(|| Breach::in_file(&file.path, message()))
}

/// Nothing is left for later, and no lint is switched off without a reason.
pub fn check_words(file: &TextFile) -> Vec<Breach> {
    // Put together here, so that this file may be checked like any other.
    let unfinished = [["to", "do!"].concat(), ["unimplemen", "ted!"].concat(), ["FIX", "ME"].concat()];
    let silenced = [["#[al", "low("].concat(), ["#![al", "low("].concat()];
    find(file, &unfinished, "finish it, or leave it out and say so in the documents")
        .chain(find(file, &silenced, "use `#[expect(…, reason = \"…\")]`, which reports when it is no longer needed"))
        .collect()
}

/// No path that exists on one machine only.
pub fn check_paths(file: &TextFile) -> Vec<Breach> {
    let folders = ["root", "work", "home"].map(|name| format!("/{name}/"));
    numbered(file)
        .filter_map(|(number, line)| {
            let folder = folders.iter().find(|folder| has_absolute(line, folder))?;
            Some(Breach::at(&file.path, number, format!("`{folder}` is a path of one machine: use a relative one")))
        })
        .collect()
}

/// True if the folder stands at the start of a path, not inside one: `src/work/a.rs` is no path of a machine.
fn has_absolute(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '.' | '_' | '-' | '}' | ')'))
    })
}

fn find(file: &TextFile, words: &[String], advice: &str) -> impl Iterator<Item = Breach> {
    numbered(file).filter_map(move |(number, line)| {
        let word = words.iter().find(|word| line.contains(word.as_str()))?;
        Some(Breach::at(&file.path, number, format!("`{word}`: {advice}")))
    })
}

fn numbered(file: &TextFile) -> impl Iterator<Item = (usize, &str)> {
    file.text.lines().enumerate().map(|(index, line)| (index + 1, line))
}
