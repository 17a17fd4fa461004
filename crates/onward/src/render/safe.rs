//! Text from plans, notes, errors and stores, without anything that a terminal would obey.

use std::fmt::Write as _;

use onward_core::control_characters::is_control_or_hidden;

/// No colour is longer.
const COLOUR_BYTES_MAX: usize = 64;

/// A text for one line: line breaks are escaped too.
pub(crate) fn line(text: &str) -> String {
    escaped(text, |_| false)
}

/// A text of several lines: line breaks and tabs stay. A line may end as on Windows, which is no more than a line break.
pub(crate) fn block(text: &str) -> String {
    escaped(&text.replace("\r\n", "\n"), |character| matches!(character, '\n' | '\t'))
}

/// A line or more of a phase's output: colours pass, line breaks and tabs stay, and a terminal obeys nothing else of it.
pub(crate) fn coloured(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['\u{1b}', '\r']) {
        out.push_str(&block(&rest[..at]));
        rest = &rest[at..];
        if rest.starts_with("\r\n") {
            rest = &rest[1..];
        } else if let Some(length) = colour(rest) {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
        } else {
            out.push_str(&block(&rest[..1]));
            rest = &rest[1..];
        }
    }
    out.push_str(&block(rest));
    out
}

/// The length of the colour that a text begins with, which may be a style such as bold, but not one that hides what follows.
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|character: char| !character.is_ascii_digit() && !matches!(character, ';' | ':'))?;
    let hides = parameters[..end].split(';').any(|parameter| parameter.trim_start_matches('0') == "8");
    let shows = !hides || is_extended(&parameters[..end]);
    let fits = parameters[end..].starts_with('m') && end <= COLOUR_BYTES_MAX && shows;
    fits.then_some("\u{1b}[".len() + end + "m".len())
}

/// `38;5;8` is a colour and hides nothing.
fn is_extended(parameters: &str) -> bool {
    parameters.contains("38;") || parameters.contains("48;") || parameters.contains("58;")
}

/// The output of a phase in pieces, as text that a terminal may be given.
#[derive(Debug, Default)]
pub(crate) struct OutputText {
    /// The beginning of a character or of a colour.
    rest: Vec<u8>,
}

impl OutputText {
    /// The next bytes. What is cut in two at the end waits for the rest of it.
    pub(crate) fn next(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.len() - cut_off(&self.rest);
        let whole = whole - cut_colour(&self.rest[..whole]);
        let text = coloured(&String::from_utf8_lossy(&self.rest[..whole]));
        self.rest.drain(..whole);
        text
    }

    /// All that waited, and the end of every colour.
    pub(crate) fn end(self) -> String {
        format!("{}{}", coloured(&String::from_utf8_lossy(&self.rest)), super::paint::RESET)
    }
}

/// How many bytes at the end may be the beginning of a colour, or of a line break.
fn cut_colour(bytes: &[u8]) -> usize {
    if bytes.ends_with(b"\r") {
        return 1;
    }
    let longest = bytes.len().min(COLOUR_BYTES_MAX + "\u{1b}[".len());
    let end = &bytes[bytes.len() - longest..];
    let Some(at) = end.iter().rposition(|byte| *byte == 0x1b) else { return 0 };
    let begun = &end[at + 1..];
    let is_open = begun.strip_prefix(b"[").map_or(begun.is_empty(), |parameters| {
        parameters.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'))
    });
    if is_open { end.len() - at } else { 0 }
}

/// How many bytes at the end are the beginning of a character.
fn cut_off(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let needed = match bytes[bytes.len() - back] {
            0x80..=0xbf => continue,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        return if needed > back { back } else { 0 };
    }
    0
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if stays(character) || !is_control_or_hidden(character) {
            out.push(character);
        } else if character.is_ascii() {
            let _ = write!(out, "{}", character.escape_default());
        } else {
            let _ = write!(out, "{}", character.escape_unicode());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_given_nothing_to_obey() {
        assert_eq!(line("a\u{1b}[2Jb\rc\u{7}"), "a\\u{1b}[2Jb\\rc\\u{7}");
        assert_eq!(line("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(line("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(line("abc\u{202e}fdp.exe"), "abc\\u{202e}fdp.exe");
        assert_eq!(line("grüße → 日本"), "grüße → 日本");
    }

    #[test]
    fn lines_and_tabs_of_a_longer_text_stay() {
        assert_eq!(block("a\n\tb\u{1b}"), "a\n\tb\\u{1b}");
        assert_eq!(block("a\r\nb\rc\r"), "a\nb\\rc\\r");
    }

    #[test]
    fn colours_pass_and_nothing_else_does() {
        assert_eq!(coloured("\u{1b}[1;31mred\u{1b}[m\ta\r\nb"), "\u{1b}[1;31mred\u{1b}[m\ta\nb");
        assert_eq!(coloured("\u{1b}[38;5;8mgrey"), "\u{1b}[38;5;8mgrey");
        assert_eq!(coloured("\u{1b}[8mhidden \u{1b}[0;8m"), "\\u{1b}[8mhidden \\u{1b}[0;8m");
        assert_eq!(
            coloured("\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[?25l\r"),
            "\\u{1b}[2J\\u{1b}]0;title\\u{7}\\u{1b}[?25l\\r"
        );
        assert_eq!(coloured("abc\u{202e}\u{61c}\u{9b}31m"), "abc\\u{202e}\\u{61c}\\u{9b}31m");
    }

    #[test]
    fn what_comes_in_two_parts_is_shown_once() {
        let bytes = "é→\u{1b}[31mx\u{1b}[2J\r\ny\u{1b}".as_bytes();
        let (mut one, mut shown) = (OutputText::default(), String::new());
        for byte in bytes {
            shown.push_str(&one.next(&[*byte]));
        }
        shown.push_str(&one.end());
        assert_eq!(shown, "é→\u{1b}[31mx\\u{1b}[2J\ny\\u{1b}\u{1b}[0m");
        assert_eq!(OutputText::default().next(&[0xff, b'a']), "\u{fffd}a");
    }
}
