//! One name for one type: a reader who meets a name knows what is meant.

use std::collections::BTreeMap;

use super::{Breach, TextFile};

const KINDS: [&str; 4] = ["struct ", "enum ", "trait ", "type "];

/// Names that two types have all the same, and why.
const SHARED: [(&str, &str); 1] = [("Result", "an alias, with the error of its crate filled in")];

/// No name is given to two types of the workspace.
pub fn check_type_names(files: &[TextFile]) -> Vec<Breach> {
    let mut first: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path.contains("/src/")) {
        for (index, name) in types(&file.text) {
            match first.get(name) {
                _ if SHARED.iter().any(|(shared, _)| *shared == name) => {}
                Some((path, line)) => {
                    let message = format!("`{name}` is the name of another type, in {path}:{line}");
                    found.push(Breach::at(&file.path, index + 1, message));
                }
                None => {
                    first.insert(name, (&file.path, index + 1));
                }
            }
        }
    }
    found
}

/// The types that a text defines, those made by a macro among them, tests left out, each with the place of its line.
fn types(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().take_while(|(_, line)| *line != "#[cfg(test)]");
    lines.filter_map(|(index, line)| {
        // Further in, an alias belongs to a trait.
        let line = if line.trim_start().starts_with("type ") { line } else { line.trim_start() };
        let line = match line.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
            Some(rest) => rest.trim_start(),
            None => line,
        };
        let rest = KINDS.iter().find_map(|kind| line.strip_prefix(kind))?;
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        // A macro that makes types has a placeholder there.
        (end > 0).then_some((index, &rest[..end]))
    })
}
