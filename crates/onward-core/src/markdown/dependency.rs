//! Dependency lines: `**Dependencies**: [1, 2]` and the many other ways in which people write them.

use std::ops::Range;

use super::heading::{id_len, strip_word};

/// Keys before the colon, without regard to case; a hyphen or an underscore counts as a blank.
const KEYS: [(&str, KeyMeaning); 10] = [
    ("dependencies", KeyMeaning::Phases),
    ("dependency", KeyMeaning::Phases),
    ("depends on", KeyMeaning::Phases),
    ("depends", KeyMeaning::Phases),
    ("dependson", KeyMeaning::Phases),
    ("blocked by", KeyMeaning::Phases),
    ("needs", KeyMeaning::Anything),
    ("requires", KeyMeaning::Anything),
    ("prerequisites", KeyMeaning::Anything),
    ("prerequisite", KeyMeaning::Anything),
];

/// The kind of thing that is named behind a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyMeaning {
    Phases,
    /// Tools and people, too: the line counts only where it names phases.
    Anything,
}

/// Values that say that nothing is needed.
const NOTHING: [&str; 9] = ["none", "n/a", "na", "nothing", "no", "null", "~", "-", "no dependencies"];
/// Words behind an id that change nothing.
const FILLERS: [&str; 14] = [
    "complete",
    "completed",
    "completion",
    "done",
    "finished",
    "must",
    "be",
    "is",
    "are",
    "first",
    "and",
    "of",
    "only",
    "all",
];

/// A phase, or a row of them, that a dependency line names. Spans are of the line's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NeedNamed {
    pub(crate) id: String,
    /// The last of a row: `1-3`.
    pub(crate) through: Option<String>,
    pub(crate) span: Range<usize>,
}

/// The value of a dependency line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NeedsSaid {
    /// It names phases, and perhaps something that is none.
    Phases { named: Vec<NeedNamed>, unclear: Vec<(String, Range<usize>)> },
    /// It says that nothing is needed.
    Nothing,
    /// Nothing stands behind the colon: a list may follow.
    Open,
    /// It names no phase.
    Unclear,
}

/// Where the value of a dependency line begins; none where a line is none.
pub(super) fn value_at(line: &str) -> Option<(usize, KeyMeaning)> {
    let trimmed = line.trim_start();
    KEYS.iter().find_map(|(key, meaning)| {
        let value = strip_key(trimmed, key)?.trim_start().strip_prefix(':')?;
        Some((line.len() - value.len(), *meaning))
    })
}

fn strip_key<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let head = text.get(..key.len())?;
    let same = head.bytes().zip(key.bytes()).all(|(a, b)| {
        let a = if matches!(a, b'-' | b'_') { b' ' } else { a.to_ascii_lowercase() };
        a == b
    });
    same.then(|| &text[key.len()..])
}

/// Reads the part of a line from `start` on.
pub(super) fn read(line: &str, start: usize) -> NeedsSaid {
    let start = value_at(&line[start..]).map_or(start, |(nested, _)| start + nested);
    let value = &line[start..];
    if value.trim().is_empty() {
        return NeedsSaid::Open;
    }
    let plain = without_markup(value);
    if says_nothing(value) || says_nothing(&plain) {
        return NeedsSaid::Nothing;
    }
    let (mut named, mut unclear) = (Vec::new(), Vec::new());
    for piece in pieces(&plain) {
        let at = start + piece.start;
        if let Some((id, through, span)) = phase(&plain[piece.clone()]) {
            named.push(NeedNamed { id, through, span: at + span.start..at + span.end });
            continue;
        }
        let text = plain[piece.clone()].trim();
        let lead = plain[piece.clone()].len() - plain[piece].trim_start().len();
        unclear.push((text.to_owned(), at + lead..at + lead + text.len()));
    }
    if named.is_empty() { NeedsSaid::Unclear } else { NeedsSaid::Phases { named, unclear } }
}

fn says_nothing(value: &str) -> bool {
    let bare = value.trim().trim_matches(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | '.' | '(' | ')'));
    let bare = bare.to_ascii_lowercase();
    let first = || bare.split([' ', ',', ';', '(']).next().unwrap_or_default();
    bare.is_empty() || NOTHING.contains(&bare.as_str()) || (first() == "none" && !bare.contains("phase"))
}

/// The value with brackets and all in parentheses blanked out, byte for byte.
fn without_markup(value: &str) -> String {
    let mut depth = 0_u32;
    let mut plain = String::with_capacity(value.len());
    for c in value.chars() {
        let inside = depth > 0;
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if inside || matches!(c, '[' | ']' | '(' | ')' | '*' | '`' | '"' | '\'') {
            plain.extend(std::iter::repeat_n(' ', c.len_utf8()));
        } else {
            plain.push(c);
        }
    }
    // A parenthesis that nobody closes holds nothing.
    if depth > 0 { value.replace(['[', ']'], " ") } else { plain }
}

/// The items of a value: between commas, semicolons, `&`, `+` and `and`.
fn pieces(value: &str) -> Vec<Range<usize>> {
    let (mut found, mut start) = (Vec::new(), 0);
    for (at, c) in value.char_indices() {
        if matches!(c, ',' | ';' | '&' | '+') {
            found.push(start..at);
            start = at + c.len_utf8();
        }
    }
    found.push(start..value.len());
    let apart = found.into_iter().flat_map(|piece| {
        let words = value[piece.clone()].match_indices(" and ").map(|(at, word)| (piece.start + at, word.len()));
        let words: Vec<(usize, usize)> = words.collect();
        let mut parts = Vec::new();
        let mut start = piece.start;
        for (at, len) in words {
            parts.push(start..at);
            start = at + len;
        }
        parts.push(start..piece.end);
        parts
    });
    apart.filter(|piece| !value[piece.clone()].trim().is_empty()).collect()
}

/// The phase that an item names, with the last of a row and the span of both.
fn phase(item: &str) -> Option<(String, Option<String>, Range<usize>)> {
    let (named, rest) = strip_phase(item.trim_start());
    let len = id_len(rest)?;
    let start = item.len() - rest.len();
    let (id, mut behind) = (rest[..len].to_owned(), &rest[len..]);
    let mut end = start + len;
    let mut through = None;
    if let Some(last) = strip_row(behind) {
        let (_, last) = strip_phase(last);
        let len = id_len(last)?;
        through = Some(last[..len].to_owned());
        behind = &last[len..];
        end = item.len() - behind.len();
    }
    let behind = behind.trim();
    let told = behind.starts_with(':') || behind.starts_with("- ") || behind.starts_with('\u{2014}');
    let filled = behind.split_whitespace().all(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
        word.is_empty() || FILLERS.contains(&word.as_str())
    });
    let prose = named && !behind.contains(|c: char| c.is_ascii_digit());
    (told || filled || prose).then_some((id, through, start..end))
}

/// The text behind `phase`, `phases`, `phase_` or `#`, and whether there was one of the first.
fn strip_phase(text: &str) -> (bool, &str) {
    let text = strip_word(text, "the ").unwrap_or(text).trim_start();
    let Some(rest) = strip_word(text, "phases").or_else(|| strip_word(text, "phase")) else {
        return (false, text.strip_prefix('#').unwrap_or(text));
    };
    (true, rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '_' | '-' | '#')))
}

/// The text behind the sign or the word of a row: `-`, `to`, `through`.
fn strip_row(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let sign = |sign: &str| text.strip_prefix(sign);
    let word = |word: &str| strip_word(text, word).filter(|rest| rest.starts_with(char::is_whitespace));
    let rest = sign("..").or_else(|| sign("-")).or_else(|| sign("\u{2013}")).or_else(|| sign("\u{2014}"));
    let rest = rest.or_else(|| word("through")).or_else(|| word("thru")).or_else(|| word("to"))?.trim_start();
    let (_, id) = strip_phase(rest);
    id_len(id).map(|_| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Option<String> {
        let said = read(line, value_at(line)?.0);
        Some(match said {
            NeedsSaid::Phases { named, unclear } => {
                let named = named.iter().map(|one| match &one.through {
                    Some(last) => format!("{}..{last}", one.id),
                    None => one.id.clone(),
                });
                let unclear = unclear.iter().map(|(text, _)| format!("?{text}"));
                named.chain(unclear).collect::<Vec<_>>().join(" ")
            }
            NeedsSaid::Nothing => "nothing".to_owned(),
            NeedsSaid::Open => "open".to_owned(),
            NeedsSaid::Unclear => "unclear".to_owned(),
        })
    }

    /// Dependency lines in the ways in which people write them.
    #[test]
    fn spellings() {
        for (line, wanted) in [
            ("Dependencies: [1, 2]", "1 2"),
            ("dependencies: 1, 2 and 3", "1 2 3"),
            ("depends_on: [phase_1]", "1"),
            ("Dependencies: depends_on: [phase_1, phase_2]", "1 2"),
            ("Depends on: Phase 2", "2"),
            ("Needs: Phase 1 (schema), Phase 3.5", "1 3.5"),
            ("Dependencies: Phases 1-3 complete", "1..3"),
            ("Requires: phases 1 through 3", "1..3"),
            ("Dependencies: Phase 1 \u{2013} Phase 3a", "1..3a"),
            ("Blocked by: #2", "2"),
            ("Prerequisites: Phase 1: Schema", "1"),
            ("Dependencies: Phase 1 must be complete before starting", "1"),
            ("Dependencies: None (first phase)", "nothing"),
            ("Dependencies: none", "nothing"),
            ("Dependencies: []", "nothing"),
            ("Depends on: N/A", "nothing"),
            ("Dependencies:", "open"),
            ("Dependencies: PostgreSQL 15, Redis", "unclear"),
            ("Dependencies: Phase 1, PostgreSQL 15", "1 ?PostgreSQL 15"),
        ] {
            assert_eq!(told(line).as_deref(), Some(wanted), "{line:?}");
        }
    }

    /// Lines that only talk about dependencies are none.
    #[test]
    fn other_lines() {
        for line in
            ["This depends on the weather: mostly.", "The dependencies: see phase 9.", "Dependencies", "Needs more: 1"]
        {
            assert_eq!(told(line), None, "{line:?}");
        }
    }

    /// Spans lie in the line and name what they are about, whatever else stands there.
    #[test]
    fn spans_are_of_the_line() {
        let line = "Dependencies: [Phase 1, \u{e4} 3, Phases 4-6 complete]";
        let NeedsSaid::Phases { named, unclear } = read(line, 13) else { panic!("it names phases") };
        let texts: Vec<&str> = named.iter().map(|one| &line[one.span.clone()]).collect();
        assert_eq!(texts, ["1", "4-6"]);
        assert_eq!(unclear[0].0, "\u{e4} 3");
    }
}
