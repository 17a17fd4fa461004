//! Reading folders: the standard iterator gives the same error for ever where a disk fails, so skipping errors never ends.

use super::{Breach, TextFile};

/// The one module that reads folders by itself, and ends at the first error.
const LISTING: &str = "crates/onward-store/src/listing.rs";
const CRATES: [&str; 2] = ["crates/onward-engine/src/", "crates/onward-store/src/"];

/// No source of the engine or the store reads a folder by itself.
pub fn check_folder_listings(file: &TextFile) -> Vec<Breach> {
    if file.path == LISTING || !CRATES.iter().any(|folder| file.path.starts_with(folder)) {
        return Vec::new();
    }
    let lines = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]").enumerate();
    let found = lines.filter(|(_, line)| line.contains("read_dir(")).map(|(index, _)| {
        let message = "`read_dir` may give the same error for ever: use onward_store::listing".to_owned();
        Breach::at(&file.path, index + 1, message)
    });
    found.collect()
}
