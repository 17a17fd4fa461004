//! Files below `.onward` are made and opened by `onward_store::private` alone, which follows no link.

use super::{Breach, TextFile};

/// Calls of the standard library that write through a link, or make folders behind one.
const WORDS: [&str; 6] =
    ["fs::write(", "File::create(", "create_dir_all(", ".recursive(true)", "fs::copy(", ".truncate(true)"];

/// Where they are used all the same, and why that is safe. A path that ends with a slash means all below it.
const ELSEWHERE: [(&str, &str); 8] = [
    ("crates/onward-engine/src/attendant/", "the folder of an attempt is looked at as a whole when it is made"),
    ("crates/onward-store/src/kill_point.rs", "a file that a test names"),
    (
        "crates/onward-engine/src/probe/artifact_copies.rs",
        "an artifact is put back into the project, not into the store",
    ),
    ("crates/onward-engine/src/drive/shared_limits.rs", "the folder is the store itself or the user's own"),
    ("crates/onward-engine/src/vcs/snapshot.rs", "refs lie in git's folder"),
    ("crates/onward-engine/src/background/timer.rs", "units lie in the folder of the user's own configuration"),
    ("crates/onward-store/src/sqlite/copy.rs", "into a temporary folder that was just made"),
    ("crates/onward-store/src/sqlite/salvage/log.rs", "into a folder that was just made"),
];

const CRATES: [&str; 2] = ["crates/onward-engine/src/", "crates/onward-store/src/"];

/// No source of the engine or the store writes past links by itself.
pub fn check_private_files(file: &TextFile) -> Vec<Breach> {
    let of_interest = CRATES.iter().any(|folder| file.path.starts_with(folder));
    let elsewhere = |place: &&str| file.path == **place || place.ends_with('/') && file.path.starts_with(*place);
    if !of_interest || ELSEWHERE.iter().any(|(place, _)| elsewhere(place)) {
        return Vec::new();
    }
    let lines = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]").enumerate();
    let found = lines.filter_map(|(index, line)| {
        let word = WORDS.iter().find(|word| line.contains(**word))?;
        let message = format!("`{word}` follows links that somebody may have planted: use onward_store::private");
        Some(Breach::at(&file.path, index + 1, message))
    });
    found.collect()
}
