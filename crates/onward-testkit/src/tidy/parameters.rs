//! Parameters of functions: none is a bare yes or no, since at the call nobody knows what `true` means.

use super::{Breach, TextFile};

/// Functions that have one all the same, and why.
const ALLOWED: [(&str, &str); 1] = [("visit_bool", "the signature is that of serde")];

/// No function takes a `bool`, a reference to one, or one inside an option or a tuple. Closures and slices are not meant.
pub fn check_parameters(file: &TextFile) -> Vec<Breach> {
    let code: String = file.text.lines().map(|line| format!("{}\n", without_comment(line))).collect();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let rest = &code[at + 3..];
        let is_word = !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default();
        let is_allowed = ALLOWED.iter().any(|(allowed, _)| *allowed == name);
        let Some(list) = parameters(&rest[name.len()..]) else { continue };
        if is_word && !name.is_empty() && !is_allowed && has_bool(list) {
            let line = code[..at].matches('\n').count() + 1;
            let message = format!("`{name}` takes a bool: at the call nobody knows what `true` means; take an enum");
            found.push(Breach::at(&file.path, line, message));
        }
    }
    found
}

/// A line up to its comment. A text with two slashes in it is cut too, which hides no parameter.
fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// The text between the parentheses behind a function's name and its generics.
fn parameters(rest: &str) -> Option<&str> {
    let rest = &rest[generics_end(rest)..];
    let list = rest.strip_prefix('(')?;
    let mut depth = 1_u32;
    for (at, letter) in list.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&list[..at]);
        }
    }
    None
}

/// The length of `<…>`. An arrow in it, as in `F: Fn() -> T`, closes nothing.
fn generics_end(rest: &str) -> usize {
    let (mut depth, mut before) = (0_u32, ' ');
    for (at, letter) in rest.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' if before != '-' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if letter == '>' { at + 1 } else { at };
        }
        before = letter;
    }
    0
}

/// Whether the word `bool` stands where a parameter has its type. Behind an arrow or `Fn(` it is that of a closure, and behind `[` that
/// of data.
fn has_bool(list: &str) -> bool {
    list.match_indices("bool").any(|(at, word)| {
        let before = list[..at].trim_end_matches("mut ").trim_end().trim_end_matches(['&', '\'']).trim_end();
        let is_whole = !list[at + word.len()..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
        let tuple = before.rfind('(').filter(|open| !before[*open..].contains(')'));
        let of_a_parameter = tuple.is_none_or(|open| before[..open].trim_end_matches([' ', '&']).ends_with(':'));
        is_whole && of_a_parameter && (before.ends_with([':', '(', ',']) || before.ends_with("Option<"))
    })
}
