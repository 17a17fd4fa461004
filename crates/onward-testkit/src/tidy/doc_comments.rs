//! Doc comments name the thing or its duty. One that begins with a question word is a riddle until the end of its sentence.

use super::{Breach, TextFile};

const RIDDLES: [&str; 3] = ["What", "Who", "Whose"];

/// No paragraph of a doc comment begins with one of the words in `RIDDLES`.
pub fn check_doc_comments(file: &TextFile) -> Vec<Breach> {
    let mut found = Vec::new();
    let mut before = None;
    for (index, line) in file.text.lines().enumerate() {
        let text = doc_text(line);
        let begins = before.is_none_or(str::is_empty);
        if let Some(word) = text.filter(|_| begins).and_then(riddle) {
            let message = format!("a doc comment begins with `{word}`: name the thing or its duty");
            found.push(Breach::at(&file.path, index + 1, message));
        }
        before = text;
    }
    found
}

/// The text of a doc comment's line.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

fn riddle(text: &str) -> Option<&'static str> {
    RIDDLES.into_iter().find(|word| text.split(|letter: char| !letter.is_alphanumeric()).next() == Some(word))
}
