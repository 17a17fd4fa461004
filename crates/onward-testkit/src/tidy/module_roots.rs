//! A `mod.rs` is a table of contents: it names the files of its folder and re-exports from them.

use super::{Breach, TextFile};

/// The words with which something begins that has a body.
const ITEMS: [&str; 6] = ["fn ", "impl ", "impl<", "struct ", "enum ", "trait "];

/// No `mod.rs` of a product crate, nor of the testkit, has anything of its own.
pub fn check_module_root(file: &TextFile) -> Vec<Breach> {
    if !file.path.contains("/src/") || !file.path.ends_with("/mod.rs") {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate();
    let found = lines.filter(|(_, line)| is_item(line)).map(|(index, _)| {
        let message = "a mod.rs only names and re-exports: this belongs into a file whose name tells its duty";
        Breach::at(&file.path, index + 1, message.to_owned())
    });
    found.collect()
}

fn is_item(line: &str) -> bool {
    let plain = match line.trim_start().strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or(rest, |(_, item)| item),
        Some(rest) => rest.trim_start(),
        None => line.trim_start(),
    };
    let plain = plain.strip_prefix("const ").unwrap_or(plain);
    let plain = plain.strip_prefix("unsafe ").unwrap_or(plain);
    ITEMS.iter().any(|item| plain.starts_with(item))
}
