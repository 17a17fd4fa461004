//! Escapes in which any letter of a known value may be written: those of JSON and of URLs. And what a terminal obeys between the
//! letters of a value, which nobody sees.

/// A longer sequence for a terminal, such as a link, is none.
const SEQUENCE_BYTES_MAX: usize = 1024;

/// A way to write letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// `\n`, `\"`, `\/`, `\u00e4`, also in halves beyond the first 65536; and `\xe4`, as other languages have it.
    Json,
    /// `%e4`.
    Percent,
    /// Colours, cursor moves, titles and other control characters: they stand for nothing.
    Terminal,
}

/// The beginning of some bytes, read as an escape or a plain letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// A byte that means itself.
    Plain(u8),
    /// An escape: so many bytes that mean the first so many of these.
    Escaped { length: usize, means: [u8; 4], count: usize },
    /// The bytes end before it can be told.
    Open,
}

impl Unit {
    fn byte(length: usize, byte: u8) -> Self {
        Self::Escaped { length, means: [byte, 0, 0, 0], count: 1 }
    }

    fn letter(length: usize, letter: char) -> Self {
        let mut means = [0; 4];
        let count = letter.encode_utf8(&mut means).len();
        Self::Escaped { length, means, count }
    }
}

impl Escape {
    pub(super) const ALL: [Self; 3] = [Self::Json, Self::Percent, Self::Terminal];

    /// Whether a text may be written in this way: it has the byte with which its escapes begin.
    pub(super) fn may_be_in(self, bytes: &[u8]) -> bool {
        match self {
            Self::Json => bytes.contains(&b'\\'),
            Self::Percent => bytes.iter().any(|byte| matches!(byte, b'%' | b'+')),
            // What stands before the first letter is left to the text around the value.
            Self::Terminal => bytes.iter().skip(1).any(|&byte| is_unseen(byte)) && !is_unseen(bytes[0]),
        }
    }

    /// Whether a byte that means itself elsewhere may stand for this one: forms that are sent by browsers have `+` for a blank.
    pub(super) fn may_stand_for(self, byte: u8, wanted: u8) -> bool {
        byte == wanted || (self == Self::Percent && (byte, wanted) == (b'+', b' '))
    }

    pub(super) fn unit(self, bytes: &[u8]) -> Unit {
        match (self, bytes) {
            (_, []) | (Self::Json, [b'\\']) => Unit::Open,
            (Self::Json, [b'\\', kind, rest @ ..]) => json(*kind, rest),
            (Self::Percent, [b'%', rest @ ..]) => match hex(rest, 2) {
                Number::Is(value) => Unit::byte(3, low(value)),
                Number::Open => Unit::Open,
                Number::None => Unit::Plain(b'%'),
            },
            (Self::Terminal, _) => unseen(bytes),
            (Self::Json | Self::Percent, [byte, ..]) => Unit::Plain(*byte),
        }
    }

    /// The first three bytes of every way to write a text that begins with these, apart from the plain one.
    pub(super) fn starts([first, second, third]: [u8; 3]) -> Vec<[u8; 3]> {
        let any = |one: u8, two: u8| (0..=u8::MAX).map(move |three| [one, two, three]);
        let mut starts: Vec<[u8; 3]> = HEX.iter().map(|digit| [b'\\', b'u', *digit]).collect();
        for way in written(first) {
            match way[..] {
                [one, two, three, ..] => starts.push([one, two, three]),
                [one, two] => starts.extend(any(one, two)),
                [_] | [] => {}
            }
        }
        starts.push([first, b'\\', b'u']);
        starts.extend(written(second).into_iter().map(|way| [first, way[0], way[1]]));
        starts.extend([[first, second, b'\\'], [first, second, b'%']]);
        starts.extend((0..=u8::MAX).filter(|&byte| is_unseen(byte)).map(|byte| [first, second, byte]));
        match (first, second, third) {
            (b' ', _, _) => starts.extend([second, b'%', b'+'].into_iter().flat_map(|two| any(b'+', two))),
            (_, b' ', _) => starts.extend(any(first, b'+')),
            (_, _, b' ') => starts.push([first, second, b'+']),
            (_, _, _) => {}
        }
        starts
    }
}

/// Whether a byte may be the first of what a terminal obeys and nobody sees. Line breaks and tabs are seen.
pub(super) fn is_unseen(byte: u8) -> bool {
    byte == C1 || (byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n'))
}

/// The first byte of the control characters beyond ASCII, and of some letters.
const C1: u8 = 0xc2;
const ESCAPE: u8 = 0x1b;
const BELL: u8 = 7;

/// The beginning of some bytes as a terminal takes them.
fn unseen(bytes: &[u8]) -> Unit {
    match *bytes {
        [] | [ESCAPE | C1] => Unit::Open,
        [ESCAPE, b'[', ..] | [C1, 0x9b, ..] => sequence(bytes, |rest| match rest {
            [b'@'..=b'~', ..] => Some(1),
            _ => None,
        }),
        // A title, a link, or another text for the terminal itself.
        [ESCAPE, b']' | b'P' | b'X' | b'^' | b'_', ..] | [C1, 0x90 | 0x98 | 0x9d..=0x9f, ..] => {
            sequence(bytes, |rest| match rest {
                [BELL, ..] => Some(1),
                [ESCAPE, b'\\', ..] | [C1, 0x9c, ..] => Some(2),
                _ => None,
            })
        }
        [ESCAPE, b' '..=b'/', ..] => sequence(bytes, |rest| match rest {
            [b'0'..=b'~', ..] => Some(1),
            _ => None,
        }),
        [ESCAPE, b'0'..=b'~', ..] | [C1, 0x80..=0x9f, ..] => nothing(2),
        [byte, ..] if byte != C1 && is_unseen(byte) => nothing(1),
        [byte, ..] => Unit::Plain(byte),
    }
}

/// Of a sequence that begins with two bytes: the rest of it up to its end.
fn sequence(bytes: &[u8], end_here: impl Fn(&[u8]) -> Option<usize>) -> Unit {
    let seen = &bytes[..bytes.len().min(SEQUENCE_BYTES_MAX)];
    match (2..seen.len()).find_map(|at| end_here(&seen[at..]).map(|length| at + length)) {
        Some(length) => nothing(length),
        None if seen.len() < SEQUENCE_BYTES_MAX => Unit::Open,
        None => Unit::Plain(bytes[0]),
    }
}

/// So many bytes that stand for no letter.
fn nothing(length: usize) -> Unit {
    Unit::Escaped { length, means: [0; 4], count: 0 }
}

/// The ways to write one byte, apart from `\u`.
fn written(byte: u8) -> Vec<Vec<u8>> {
    let digit = |four: u8| char::from_digit(u32::from(four), 16).expect("four bits are one digit");
    let cases = |four: u8| [digit(four), digit(four).to_ascii_uppercase()].map(|digit| digit as u8);
    let numbers = cases(byte >> 4).into_iter().flat_map(|high| cases(byte & 15).map(|low| [high, low]));
    let ways = numbers.flat_map(|[high, low]| [vec![b'%', high, low], vec![b'\\', b'x', high, low]]);
    let short = SHORT.iter().filter(|(_, means)| *means == byte).map(|(letter, _)| vec![b'\\', *letter]);
    ways.chain(short).collect()
}

const HEX: &[u8; 22] = b"0123456789abcdefABCDEF";

/// The escapes of JSON that have a letter of their own.
const SHORT: [(u8, u8); 8] =
    [(b'"', b'"'), (b'\\', b'\\'), (b'/', b'/'), (b'b', 8), (b'f', 12), (b'n', b'\n'), (b'r', b'\r'), (b't', b'\t')];

fn json(kind: u8, rest: &[u8]) -> Unit {
    if let Some((_, means)) = SHORT.iter().find(|(letter, _)| *letter == kind) {
        return Unit::byte(2, *means);
    }
    let number = match kind {
        b'u' => hex(rest, 4),
        b'x' => hex(rest, 2),
        _ => Number::None,
    };
    match number {
        Number::Is(value) if kind == b'x' => Unit::byte(4, low(value)),
        Number::Is(value) => letter(value, &rest[4..]),
        Number::Open => Unit::Open,
        Number::None => Unit::Plain(b'\\'),
    }
}

/// A letter by its number, or by two halves of it.
fn letter(value: u32, rest: &[u8]) -> Unit {
    if let Some(letter) = char::from_u32(value) {
        return Unit::letter(6, letter);
    }
    let expected = b"\\u";
    if !rest.starts_with(expected) {
        return if expected.starts_with(rest) { Unit::Open } else { Unit::Plain(b'\\') };
    }
    match hex(&rest[2..], 4) {
        Number::Is(second @ 0xdc00..=0xdfff) if value < 0xdc00 => {
            let number = 0x1_0000 + ((value - 0xd800) << 10) + (second - 0xdc00);
            char::from_u32(number).map_or(Unit::Plain(b'\\'), |letter| Unit::letter(12, letter))
        }
        Number::Open => Unit::Open,
        Number::Is(_) | Number::None => Unit::Plain(b'\\'),
    }
}

enum Number {
    Is(u32),
    None,
    Open,
}

fn hex(bytes: &[u8], digits: usize) -> Number {
    let seen = &bytes[..bytes.len().min(digits)];
    let value = seen.iter().try_fold(0, |sum, &byte| Some(sum << 4 | char::from(byte).to_digit(16)?));
    match value {
        Some(value) if seen.len() == digits => Number::Is(value),
        Some(_) => Number::Open,
        None => Number::None,
    }
}

fn low(value: u32) -> u8 {
    u8::try_from(value).expect("two digits fit into a byte")
}
