//! The end of an output as people and patterns read it: plain text, without what only a terminal understands.

use crate::control_characters::is_control_or_hidden;
use crate::patterns;

/// How much of the end of an output is looked at.
pub const TAIL_BYTES_MAX: usize = 4 << 10;
/// Characters of a last line that are kept.
const LINE_CHARS_MAX: usize = 300;

/// Characters of a line that are shown of it.
const LONG_LINE_CHARS_MAX: usize = 2000;

/// The last bytes of an output as plain text. Never longer than a small multiple of [`TAIL_BYTES_MAX`].
pub fn readable(output: &[u8]) -> String {
    let tail = &output[output.len().saturating_sub(TAIL_BYTES_MAX)..];
    let text = String::from_utf8_lossy(tail);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_escape(&mut rest),
            '\r' | '\n' => out.push('\n'),
            // Typographic forms that the messages of today use.
            '\u{2019}' | '\u{2018}' => out.push('\''),
            '\u{a0}' | '\u{2007}' | '\u{2009}' | '\u{202f}' => out.push(' '),
            // JSON inside JSON: its quotes and line breaks are those of the message.
            '\\' => match rest.peek() {
                Some('"' | '\\') => {}
                Some('n') => {
                    rest.next();
                    out.push('\n');
                }
                Some(_) | None => out.push('\\'),
            },
            _ if character.is_control() => out.push(' '),
            _ => out.push(character),
        }
    }
    out
}

/// The last line that says something: what a phase gives as its reason.
pub fn last_line(output: &[u8]) -> Option<String> {
    let text = readable(output);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(line.chars().take(LINE_CHARS_MAX).collect())
}

/// The last lines of an output, the newest last, with their colours. Of a line that was overwritten the last state counts; blank
/// lines at the end say nothing.
pub fn last_lines(output: &[u8], lines_max: usize) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    let mut lines: Vec<String> = text
        .trim_end()
        .rsplit('\n')
        .take(lines_max)
        .map(|line| {
            let line = line.trim_end_matches('\r');
            let shown = line.rsplit('\r').find(|part| !part.trim().is_empty()).unwrap_or("");
            shown.chars().take(LONG_LINE_CHARS_MAX).collect()
        })
        .collect();
    lines.reverse();
    if lines.iter().all(String::is_empty) { Vec::new() } else { lines }
}

/// A line without colours and all else that only a terminal understands.
pub fn plain_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_escape(&mut rest),
            '\t' => out.push(' '),
            _ if character.is_control() => {}
            _ => out.push(character),
        }
    }
    out
}

/// A line without colours, in which everything else that a terminal or a program would obey stands as a sign.
pub fn shown_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        if let Some(length) = colour(rest) {
            rest = &rest[length..];
            continue;
        }
        match character {
            '\t' => out.push(' '),
            _ if !is_control_or_hidden(character) => out.push(character),
            _ if character.is_ascii() => out.extend(character.escape_default()),
            _ => out.extend(character.escape_unicode()),
        }
        rest = &rest[character.len_utf8()..];
    }
    out
}

/// The length of the colour at the beginning of a text.
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && !matches!(c, ';' | ':'))?;
    parameters[end..].starts_with('m').then_some("\u{1b}[".len() + end + "m".len())
}

/// Whether the end of an output matches a pattern of the plan, as in `retry: { output-matches: … }`.
pub fn matches(pattern: &str, output: &[u8]) -> bool {
    patterns::matches(pattern, &readable(output))
}

/// Colours, cursor moves (`ESC [ … letter`) and titles (`ESC ] … BEL`).
fn skip_escape(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match rest.next() {
        Some('[') => while rest.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
        Some(']') => while rest.next().is_some_and(|c| c != '\u{7}' && c != '\u{1b}' && c != '\n') {},
        Some(_) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_terminal_understands_is_gone() {
        let shown =
            readable(b"\x1b[31mhit\xe2\x80\x99s\x1b[0m \x1b]0;title\x07limit\r2:51\xe2\x80\xafPM \\\"type\\\"\\n");
        assert_eq!(shown, "hit's limit\n2:51 PM \"type\"\n");
    }

    #[test]
    fn the_last_line_is_the_reason() {
        assert_eq!(last_line(b"working\n\x1b[1mtoo complex\x1b[0m\n\n").as_deref(), Some("too complex"));
        assert_eq!((last_line(b""), last_line(b" \n\t\n")), (None, None));
        assert_eq!(last_line(&[b'x'; 9000]).map(|line| line.len()), Some(LINE_CHARS_MAX));
        assert!(matches("ECONNRESET|flaky", b"\xff\x00 ECONNRESET\n") && !matches("^a$", b"b"));
    }

    #[test]
    fn the_last_lines_are_as_they_were_seen_last() {
        let lines = |text: &str, max| last_lines(text.as_bytes(), max);
        assert_eq!(lines("one\r\ntwo\n10%\r50%\r100%\n\n", 2), ["two", "100%"]);
        assert_eq!(lines("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(lines("\n \n", 5), Vec::<String>::new());
        assert_eq!(lines("\x1b[31mred\x1b[0m\n", 1), ["\u{1b}[31mred\u{1b}[0m"]);
        assert_eq!(plain_line("\u{1b}[31mre\td\u{1b}]0;title\u{7}\u{7}"), "re d");
    }

    /// Titles, deletions and marks that turn text around are signs; a colour is neither seen nor missed.
    #[test]
    fn a_shown_line_hides_nothing() {
        assert_eq!(
            shown_line("a\u{1b}]0;b\u{7}\rc\u{8}\u{202e}d\u{0}\te"),
            "a\\u{1b}]0;b\\u{7}\\rc\\u{8}\\u{202e}d\\u{0} e"
        );
        assert_eq!(shown_line("\u{1b}[1;31mred\u{1b}[m\u{1b}[2J"), "red\\u{1b}[2J");
    }

    #[test]
    fn only_the_end_is_looked_at() {
        let mut long = vec![b'x'; TAIL_BYTES_MAX];
        long.extend_from_slice(b"end");
        assert_eq!(readable(&long).len(), TAIL_BYTES_MAX);
        assert!(readable(&long).ends_with("xend"));
    }
}
