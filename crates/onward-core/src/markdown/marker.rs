//! Markers at the end of a phase's heading, in the forms that people write.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a phase is, as its heading says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    /// Not begun, or nothing is said.
    #[default]
    Pending,
    InProgress,
    Completed,
    Blocked,
    Skipped,
}

/// Words of markers, without regard to case; a hyphen or an underscore counts as a blank.
const WORDS: [(&str, Marker); 24] = [
    ("not started", Marker::Pending),
    ("pending", Marker::Pending),
    ("todo", Marker::Pending),
    ("to do", Marker::Pending),
    ("planned", Marker::Pending),
    ("in progress", Marker::InProgress),
    ("partial", Marker::InProgress),
    ("partially complete", Marker::InProgress),
    ("partially completed", Marker::InProgress),
    ("partially done", Marker::InProgress),
    ("wip", Marker::InProgress),
    ("started", Marker::InProgress),
    ("ongoing", Marker::InProgress),
    ("current", Marker::InProgress),
    ("complete", Marker::Completed),
    ("completed", Marker::Completed),
    ("done", Marker::Completed),
    ("finished", Marker::Completed),
    ("blocked", Marker::Blocked),
    ("on hold", Marker::Blocked),
    ("skipped", Marker::Skipped),
    ("skip", Marker::Skipped),
    ("cancelled", Marker::Skipped),
    ("canceled", Marker::Skipped),
];

/// Signs that say done, alone or before a word.
const TICKS: [char; 4] = ['\u{2705}', '\u{2713}', '\u{2714}', '\u{2611}'];
/// Asks for the colourful form of the sign before it.
const VARIATION: char = '\u{fe0f}';

/// A marker and where it stands in the text it was found in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkerFound {
    pub(super) marker: Marker,
    pub(super) span: Range<usize>,
}

/// The outcome of looking for a marker at the end of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AtTheEnd {
    Nothing,
    Found(MarkerFound),
    /// Something in brackets that looks like a marker and is none.
    Unknown(String),
}

impl Marker {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
        }
    }

    /// Whether it says that nothing is left to do.
    pub fn is_finished(self) -> bool {
        match self {
            Self::Completed | Self::Skipped => true,
            Self::Pending | Self::InProgress | Self::Blocked => false,
        }
    }
}

/// The marker at the end of a text.
pub(super) fn at_the_end(text: &str) -> AtTheEnd {
    let end = text.trim_end().len();
    let text = &text[..end];
    if let Some(found) = bracketed(text) {
        return match found {
            Bracketed::Marker(marker, start) => {
                let start = before_ticks(&text[..start]).unwrap_or(start);
                AtTheEnd::Found(MarkerFound { marker, span: start..end })
            }
            Bracketed::Unknown(word) => AtTheEnd::Unknown(word),
            Bracketed::Name => AtTheEnd::Nothing,
        };
    }
    let Some((tick, character)) = text.char_indices().rev().find(|(_, c)| TICKS.contains(c)) else {
        return AtTheEnd::Nothing;
    };
    let behind = text[tick + character.len_utf8()..].trim_start_matches(VARIATION);
    let marker = if behind.trim().is_empty() { Some(Marker::Completed) } else { word(behind) };
    marker.map_or(AtTheEnd::Nothing, |marker| {
        let start = before_ticks(&text[..tick]).unwrap_or(tick);
        AtTheEnd::Found(MarkerFound { marker, span: start..end })
    })
}

enum Bracketed {
    Marker(Marker, usize),
    Unknown(String),
    Name,
}

fn bracketed(text: &str) -> Option<Bracketed> {
    let inside = text.strip_suffix(']')?;
    let open = inside.rfind('[')?;
    let inside = &inside[open + 1..];
    let bare = inside.trim_matches(|c: char| c.is_whitespace() || TICKS.contains(&c) || c == VARIATION);
    if bare.is_empty() && inside.contains(TICKS) {
        return Some(Bracketed::Marker(Marker::Completed, open));
    }
    if let Some(marker) = word(bare) {
        return Some(Bracketed::Marker(marker, open));
    }
    let loud = bare.len() >= 3 && bare.chars().all(|c| c.is_ascii_uppercase() || matches!(c, ' ' | '-' | '_'));
    Some(if loud { Bracketed::Unknown(bare.to_owned()) } else { Bracketed::Name })
}

/// The meaning of the words of a marker. Something may follow them that is no word: `COMPLETE - 2025-10-01`, `IN PROGRESS 60%`.
fn word(text: &str) -> Option<Marker> {
    let folded: String = text.trim().chars().map(fold).collect();
    let meant = |(word, marker): &(&str, Marker)| {
        let rest = folded.strip_prefix(word)?;
        let more = rest.trim_start();
        let ends = more.is_empty() || (rest != more && !more.starts_with(char::is_alphabetic)) || more.starts_with(':');
        ends.then_some((word.len(), *marker))
    };
    WORDS.iter().filter_map(meant).max_by_key(|(length, _)| *length).map(|(_, marker)| marker)
}

fn fold(c: char) -> char {
    if matches!(c, '-' | '_') { ' ' } else { c.to_ascii_lowercase() }
}

/// Where ticks begin that stand at the end of a text, if there are any.
fn before_ticks(text: &str) -> Option<usize> {
    let without = text.trim_end_matches(|c: char| c.is_whitespace() || TICKS.contains(&c) || c == VARIATION);
    let tail = &text[without.len()..];
    tail.find(TICKS).map(|at| without.len() + at)
}

/// The text behind ticks that stand before it, and whether there were any.
pub(super) fn behind_ticks(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_whitespace() || TICKS.contains(&c) || c == VARIATION);
    text[..text.len() - rest.len()].contains(TICKS).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headings end with markers in the forms people write. Each is known for what it says, and what stands before it is left.
    #[test]
    fn forms_that_people_write() {
        let forms = [
            ("Name [NOT STARTED]", Marker::Pending),
            ("Name [In-Progress]", Marker::InProgress),
            ("Name [IN PROGRESS 60%]", Marker::InProgress),
            ("Name [PARTIAL]", Marker::InProgress),
            ("Name [partially complete]", Marker::InProgress),
            ("Name [COMPLETE]", Marker::Completed),
            ("Name [COMPLETE - 2025-10-01]", Marker::Completed),
            ("Name [DONE: a1b2c3]", Marker::Completed),
            ("Name [\u{2705} DONE]", Marker::Completed),
            ("Name \u{2705}", Marker::Completed),
            ("Name \u{2714}\u{fe0f}", Marker::Completed),
            ("Name \u{2713} COMPLETED ", Marker::Completed),
            ("Name \u{2705} [COMPLETE]", Marker::Completed),
            ("Name [BLOCKED]", Marker::Blocked),
            ("Name [SKIPPED]", Marker::Skipped),
        ];
        for (text, wanted) in forms {
            let AtTheEnd::Found(found) = at_the_end(text) else { panic!("no marker in {text:?}") };
            assert_eq!(found.marker, wanted, "{text:?}");
            assert_eq!(&text[..found.span.start], "Name ", "{text:?}");
            assert_eq!(found.span.end, text.trim_end().len(), "{text:?}");
        }
    }

    /// Names end with brackets, words and ticks that are part of them.
    #[test]
    fn parts_of_a_name() {
        for text in ["Parse [x]", "Lists [a, b]", "Get it done", "Tick \u{2713} the boxes", "[Incomplete]", "Array[0]"]
        {
            assert_eq!(at_the_end(text), AtTheEnd::Nothing, "{text:?}");
        }
        assert_eq!(at_the_end("Name [DEFERRED]"), AtTheEnd::Unknown("DEFERRED".to_owned()));
    }
}
