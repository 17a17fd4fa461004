//! Text from plans, notes, errors and stores, without anything that a terminal would obey.

use std::fmt::Write as _;

/// A text for one line: line breaks are escaped too.
pub(crate) fn line(text: &str) -> String {
    escaped(text, |_| false)
}

/// A text of several lines: line breaks and tabs stay.
pub(crate) fn block(text: &str) -> String {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

/// The next bytes of a stream as harmless text. A character that is cut in two at the end waits in `rest`.
pub(crate) fn stream(rest: &mut Vec<u8>, bytes: &[u8]) -> String {
    rest.extend_from_slice(bytes);
    let whole = rest.len() - cut_off(rest);
    let text = block(&String::from_utf8_lossy(&rest[..whole]));
    rest.drain(..whole);
    text
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
        if stays(character) || !is_obeyed(character) {
            out.push(character);
        } else if character.is_ascii() {
            let _ = write!(out, "{}", character.escape_default());
        } else {
            let _ = write!(out, "{}", character.escape_unicode());
        }
    }
    out
}

/// Control characters, and marks that reorder or hide text so that what is shown is not what is there.
pub(super) fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
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
    }

    #[test]
    fn a_character_that_comes_in_two_parts_is_shown_once() {
        let mut rest = Vec::new();
        let bytes = "é→\u{1b}".as_bytes();
        let mut shown = String::new();
        for byte in bytes {
            shown.push_str(&stream(&mut rest, &[*byte]));
        }
        assert_eq!((shown.as_str(), rest.len()), ("é→\\u{1b}", 0));
        assert_eq!(stream(&mut rest, &[0xff, b'a']), "\u{fffd}a");
    }
}
