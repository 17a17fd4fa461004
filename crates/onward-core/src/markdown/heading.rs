//! Headings of phases: `Phase N: Name` with a marker at the end.

use std::ops::Range;

use super::marker::{self, AtTheEnd, Marker, MarkerFound};

/// The longest text between the word and the name of a heading that may have been meant as one of a phase.
const LOOKALIKE_ID_CHARS_MAX: usize = 12;

/// A heading that begins a phase; spans are of the text without markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PhaseHeading {
    pub(super) id: Range<usize>,
    pub(super) name: Option<Range<usize>>,
    pub(super) marker: Marker,
    /// Where the marker stands at the end, if it does.
    pub(super) marked: Option<Range<usize>>,
    /// Something in brackets at the end that looks like a marker and is none.
    pub(super) unknown: Option<String>,
}

/// Reads a heading's text; none where it begins no phase.
pub(super) fn read(text: &str) -> Option<PhaseHeading> {
    let ticked = marker::behind_ticks(text);
    let from_phase = behind_signs(ticked.unwrap_or(text));
    let behind = strip_word(from_phase, "phase")?;
    let from_id = behind.trim_start();
    if from_id.len() == behind.len() {
        return None;
    }
    let id_at = text.len() - from_id.len();
    let id = id_at..id_at + id_len(from_id)?;
    let end = marker::at_the_end(&text[id.end..]);
    let (marker, span, unknown) = match end {
        AtTheEnd::Found(MarkerFound { marker, span }) => (marker, Some(id.end + span.start..id.end + span.end), None),
        AtTheEnd::Nothing | AtTheEnd::Unknown(_) if ticked.is_some() => (Marker::Completed, None, None),
        AtTheEnd::Nothing => (Marker::Pending, None, None),
        AtTheEnd::Unknown(word) => (Marker::Pending, None, Some(word)),
    };
    let rest = &text[id.end..span.as_ref().map_or(text.len(), |span| span.start)];
    let name = name(rest)?.map(|name| id.end + name.start..id.end + name.end);
    Some(PhaseHeading { id, name, marker, marked: span, unknown })
}

/// The text behind signs that people put before a heading, such as an emoji. Brackets, quotes and the like are no such signs.
fn behind_signs(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || !(c.is_ascii() || c.is_alphanumeric()))
}

/// The name behind an id: none where there is none, no answer where the heading goes on in another way.
#[expect(clippy::option_option, reason = "no phase, a phase without a name, a phase with one")]
fn name(rest: &str) -> Option<Option<Range<usize>>> {
    if rest.trim().is_empty() {
        return Some(None);
    }
    let rest_of_all = rest;
    let rest = behind_a_remark(rest);
    if rest.trim().is_empty() {
        return Some(None);
    }
    let spaced = rest.starts_with(char::is_whitespace);
    let trimmed = rest.trim_start();
    let first = trimmed.chars().next()?;
    let behind = &trimmed[first.len_utf8()..];
    let separates = match first {
        ':' => true,
        '-' | '\u{2013}' | '\u{2014}' if spaced => true,
        // Not a row such as `1– 3`.
        '\u{2013}' | '\u{2014}' => behind.starts_with(' ') && behind.trim_start().starts_with(char::is_alphabetic),
        '.' | ')' => !spaced && (behind.is_empty() || behind.starts_with(char::is_whitespace)),
        _ => false,
    };
    if !separates {
        return None;
    }
    let start = rest_of_all.len() - behind.trim_start().len();
    let end =
        rest_of_all.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '\u{2013}' | '\u{2014}')).len();
    Some((start < end).then_some(start..end))
}

/// The text behind a remark in parentheses, as in `Phase 5 (optional): Docs`; all of it where there is none.
fn behind_a_remark(rest: &str) -> &str {
    let inside = rest.starts_with(char::is_whitespace).then(|| rest.trim_start().strip_prefix('(')).flatten();
    inside.and_then(|inside| inside.split_once(')')).map_or(rest, |(_, behind)| behind)
}

/// Whether a heading that begins no phase may have been meant to: the word, something short, and a sign before a name.
pub(super) fn looks_like_one(text: &str) -> bool {
    let text = behind_signs(text);
    let numbered = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let text = if numbered.len() < text.len() { numbered.trim_start_matches([')', ' ']) } else { text };
    let Some(behind) = strip_word(text, "phase") else { return false };
    let sign = |c: char| matches!(c, ':' | '|' | '\u{2013}' | '\u{2014}');
    let Some((id, name)) = behind.split_once(sign).or_else(|| behind.split_once(" - ")) else { return false };
    let id = id.trim();
    let short = !id.is_empty() && id.chars().count() <= LOOKALIKE_ID_CHARS_MAX && !id.contains(char::is_whitespace);
    short && !name.trim().is_empty()
}

/// The text behind a word, without regard to case.
pub(super) fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

/// How long the id is with which a text begins: numbers with points between them, and perhaps a letter.
pub(super) fn id_len(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = digits(0);
    if end == 0 {
        return None;
    }
    while bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if bytes.get(end).is_some_and(u8::is_ascii_alphabetic) {
        end += 1;
    }
    let goes_on = text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (!goes_on).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<(String, Option<String>, Marker)> {
        read(text).map(|it| (text[it.id].to_owned(), it.name.map(|name| text[name].to_owned()), it.marker))
    }

    /// Headings of phases in the ways in which they are written.
    #[test]
    fn headings_of_phases() {
        let is = |text: &str, id: &str, name: Option<&str>, marker: Marker| {
            assert_eq!(told(text), Some((id.to_owned(), name.map(str::to_owned), marker)), "{text:?}");
        };
        is("Phase 1: Schema", "1", Some("Schema"), Marker::Pending);
        is("phase 2.5 \u{2014} Tokens [DONE]", "2.5", Some("Tokens"), Marker::Completed);
        is("Phase 3a - Docs - \u{2705}", "3a", Some("Docs"), Marker::Completed);
        is("\u{2705} Phase 4: Early", "4", Some("Early"), Marker::Completed);
        is("\u{1f6a7} Phase 5: Begun", "5", Some("Begun"), Marker::Pending);
        is("\u{23f3}\u{fe0f} \u{2728}Phase 6: Wait [DONE]", "6", Some("Wait"), Marker::Completed);
        is("Phase 4\u{2014} Ship", "4", Some("Ship"), Marker::Pending);
        is("Phase 1.2.3. Deep", "1.2.3", Some("Deep"), Marker::Pending);
        is("Phase 7", "7", None, Marker::Pending);
        is("Phase 8 [BLOCKED]", "8", None, Marker::Blocked);
        is("Phase 9:", "9", None, Marker::Pending);
        is("Phase 5 (optional): Docs [DONE]", "5", Some("Docs"), Marker::Completed);
        is("Phase 6 (2 days)", "6", None, Marker::Pending);
        is("Phase 1: Parse [x] and (y) [COMPLETE]", "1", Some("Parse [x] and (y)"), Marker::Completed);
    }

    /// Headings that talk about phases begin none.
    #[test]
    fn other_headings() {
        let others = [
            "Phase one: no number",
            "Phases 1-3",
            "Phase 1-3: all",
            "Phase 2 overview",
            "Phase 1\u{2013} 3",
            "(Phase 1: x)",
            "\u{1f6a7} Work on Phase 1: x",
            "Phase1: x",
            "The Phase 1: x",
            "Phase 1st: x",
            "Phase",
            "Phase : x",
            "Phase 1_2: x",
        ];
        for text in others {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    /// Headings that were meant as phases, and are none, are told from prose about phases.
    #[test]
    fn headings_that_look_like_phases() {
        for text in [
            "Phase Four: D",
            "Phase IV - Ship",
            "Phase A: E",
            "Phase 4 | bar",
            "1. Phase 3: C",
            "Phase1: x",
            "2) phase 1_2: x",
            "\u{1f680} Phase Four: D",
        ] {
            assert!(looks_like_one(text) && read(text).is_none(), "{text:?}");
        }
        for text in [
            "Phase overview",
            "Phases 1-3",
            "Phase",
            "Phase notes:",
            "Phase order and why: costs",
            "Phasing: how",
            "Notes",
        ] {
            assert!(!looks_like_one(text), "{text:?}");
        }
    }
}
