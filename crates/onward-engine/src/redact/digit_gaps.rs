//! Gaps that programs put between the digits of one encoded value: line breaks, separators, the margins of a dump.

/// The longest stretch of separators, with the indentation of a new line.
const SEPARATORS_BYTES_MAX: usize = 64;
/// The longest rest of a line of a dump, which shows the same bytes as text.
const MARGIN_BYTES_MAX: usize = 80;
/// The place at the beginning of a line of a dump has at least and at most so many digits.
const PLACE_DIGITS: std::ops::RangeInclusive<usize> = 4..=16;

/// Separators between bytes in hex, within a line.
const SEPARATORS: &[u8] = b" \t:-,;_";
/// All that may follow the first byte of a value in hex, if not the digits of the second.
pub(super) const AFTER_A_BYTE: &[u8] = b" \t:-,;_0\\\r\n";

/// How far it is from one digit to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    None,
    /// The bytes end before it can be told.
    Open,
    Length(usize),
    /// The same, over the margins of a dump: text behind the digits, the place before those of the next line.
    Margins(usize),
}

/// Where a gap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// So near the beginning that a line break is taken for the end: else the end of every second line would be held back.
    TheBeginning,
    TheRest,
}

/// The line break in base64, with the indentation behind it; also where it is written `\n`.
pub(super) fn line_break(bytes: &[u8]) -> Gap {
    let (length, lines) = separators(bytes, |byte| matches!(byte, b' ' | b'\t'));
    if length == bytes.len() && length <= SEPARATORS_BYTES_MAX || bytes[length..] == *b"\\" {
        Gap::Open
    } else if lines == 0 || length > SEPARATORS_BYTES_MAX {
        Gap::None
    } else {
        Gap::Length(length)
    }
}

/// The gap between two bytes in hex, before these digits.
pub(super) fn before_digits(bytes: &[u8], digits: [u8; 2], within: Within) -> Gap {
    let plain = between(bytes, digits, within);
    if plain != Gap::None || within == Within::TheBeginning {
        return plain;
    }
    margins(bytes, digits)
}

fn between(bytes: &[u8], digits: [u8; 2], within: Within) -> Gap {
    let (length, lines) = separators(bytes, |byte| SEPARATORS.contains(&byte));
    if length > SEPARATORS_BYTES_MAX || (lines > 0 && within == Within::TheBeginning) {
        return Gap::None;
    }
    let rest = &bytes[length..];
    let mark = if rest.starts_with(b"0x") || rest.starts_with(b"\\x") { 2 } else { 0 };
    let behind = &rest[mark..];
    if behind.starts_with(&digits) && length + mark > 0 {
        Gap::Length(length + mark)
    } else if digits.starts_with(behind) || matches!(rest, b"0" | b"\\") {
        Gap::Open
    } else {
        Gap::None
    }
}

/// The rest of the line behind blanks, and the place of the next one.
fn margins(bytes: &[u8], digits: [u8; 2]) -> Gap {
    let seen = &bytes[..bytes.len().min(MARGIN_BYTES_MAX)];
    if !matches!(seen.first(), None | Some(b' ' | b'\t' | b'\r' | b'\n')) {
        return Gap::None;
    }
    let open_or_none = |open: bool| if open { Gap::Open } else { Gap::None };
    let Some(end) = seen.iter().position(|&byte| byte == b'\n') else {
        return open_or_none(seen.len() < MARGIN_BYTES_MAX);
    };
    let line = &bytes[end + 1..];
    let place = line.iter().take(*PLACE_DIGITS.end() + 1).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let behind = &line[place..];
    if behind.is_empty() {
        return open_or_none(place <= *PLACE_DIGITS.end());
    }
    let colon = usize::from(behind[0] == b':');
    let blanks = behind[colon..].iter().take_while(|&&byte| byte == b' ').count();
    let rest = &behind[colon + blanks..];
    if !PLACE_DIGITS.contains(&place) || (blanks == 0 && !rest.is_empty()) || blanks > SEPARATORS_BYTES_MAX {
        Gap::None
    } else if rest.starts_with(&digits) {
        Gap::Margins(end + 1 + place + colon + blanks)
    } else {
        open_or_none(digits.starts_with(rest))
    }
}

/// The end of the line in which a dump shows as text what was found in it.
pub(super) fn end_of_line(bytes: &[u8]) -> Gap {
    let seen = &bytes[..bytes.len().min(MARGIN_BYTES_MAX)];
    match seen.iter().position(|&byte| byte == b'\n') {
        Some(end) => Gap::Length(end),
        None if seen.len() < MARGIN_BYTES_MAX => Gap::Open,
        None => Gap::None,
    }
}

/// The length of a stretch of separators and line breaks, little more than is allowed at most; and how many of them are breaks.
fn separators(bytes: &[u8], is_one: impl Fn(u8) -> bool) -> (usize, usize) {
    let (mut length, mut lines) = (0, 0);
    while length <= SEPARATORS_BYTES_MAX {
        match &bytes[length..] {
            [b'\n' | b'\r', ..] => (length, lines) = (length + 1, lines + 1),
            [b'\\', b'n' | b'r', ..] => (length, lines) = (length + 2, lines + 1),
            [byte, ..] if is_one(*byte) => length += 1,
            [] | [_, ..] => break,
        }
    }
    (length, lines)
}
