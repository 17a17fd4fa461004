//! Headings of phases: `Phase N: Name` with a marker at the end.

use std::ops::Range;

use super::marker::{self, AtTheEnd, Marker, MarkerFound};

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
    let from_phase = ticked.unwrap_or(text).trim_start();
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

/// The name behind an id: none where there is none, no answer where the heading goes on in another way.
#[expect(clippy::option_option, reason = "no phase, a phase without a name, a phase with one")]
fn name(rest: &str) -> Option<Option<Range<usize>>> {
    if rest.trim().is_empty() {
        return Some(None);
    }
    let spaced = rest.starts_with(char::is_whitespace);
    let trimmed = rest.trim_start();
    let first = trimmed.chars().next()?;
    let behind = &trimmed[first.len_utf8()..];
    let separates = match first {
        ':' => true,
        '-' | '\u{2013}' | '\u{2014}' => spaced,
        '.' | ')' => !spaced && (behind.is_empty() || behind.starts_with(char::is_whitespace)),
        _ => false,
    };
    if !separates {
        return None;
    }
    let start = rest.len() - behind.trim_start().len();
    let end = rest.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '\u{2013}' | '\u{2014}')).len();
    Some((start < end).then_some(start..end))
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
        is("Phase 1.2.3. Deep", "1.2.3", Some("Deep"), Marker::Pending);
        is("Phase 7", "7", None, Marker::Pending);
        is("Phase 8 [BLOCKED]", "8", None, Marker::Blocked);
        is("Phase 9:", "9", None, Marker::Pending);
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
}
