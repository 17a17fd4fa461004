//! Known secret values and the forms in which they come out: as they are, in base64 and hex, also over several lines and with
//! something between the bytes; and with the escapes of JSON and URLs.

use super::digit_gaps::{self, Gap, Within};
use super::escapes::{self, Escape, Unit};
use super::redactor::BEHIND_BYTES;
use super::shapes::BytesBefore;
use super::{More, SECRET_BYTES_MIN};

/// A longer value is looked for in pieces, so that what is held back stays bounded.
const LITERAL_BYTES_MAX: usize = 16 * 1024;

/// How the first and the last line of a key begin.
const KEY_FRAME: &[u8] = b"-----";

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";
const HEX_LOWER: &[u8; 16] = b"0123456789abcdef";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Digits of base64 and hex before the first line break. What stands before an earlier one is too little to be known by; the rest
/// is looked for by itself.
const DIGITS_BEFORE_A_BREAK_MIN: usize = 4;
/// The same where they have a line of their own: there are fewer of these, so more of them can be waited for.
const DIGITS_OF_A_LINE_MIN: usize = 3;
/// Digits of a form that is looked for in lines of a few digits.
const SHORT_LINES_DIGITS_MAX: usize = 2048;
/// Digits of an encoded value, which is known by as few if its first ones stand on another line.
const ENCODED_DIGITS_MIN: usize = 7;

/// With all that may stand between its digits a form is at most so many times as long, and so many bytes longer.
const SPREAD_TIMES_MAX: usize = 4;
const SPREAD_BYTES_MAX: usize = 1024;
/// The first bytes of a form may be spread further: each of its letters has a colour of its own, or a line with margins.
const WIDE_BYTES_MAX: usize = 1024;
const WIDE_TIMES_MAX: usize = 28;

/// All forms of all values, sorted, so that those with the same beginning stand together.
pub(super) struct Literals {
    sorted: Vec<EncodedForm>,
}

/// A value as it is, or its digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EncodedForm {
    bytes: Vec<u8>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Any letter of it may be escaped.
    Text,
    /// Lines may be broken.
    Base64,
    /// Bytes may stand apart, and in the lines of a dump.
    Hex,
}

/// Where on its line a form begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinePlace {
    /// At the beginning, less blanks and the place that a dump has there.
    Beginning,
    Within,
}

impl LinePlace {
    fn behind(before: BytesBefore<'_>) -> Self {
        let mut bytes = (1..=BEHIND_BYTES).map(|back| before.byte(back));
        match bytes.find(|byte| !matches!(byte, b' ' | b'\t')) {
            None | Some(b'\n' | b'\r' | b':') => Self::Beginning,
            Some(_) => Self::Within,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiteralMatch {
    Nothing,
    /// The bytes end within what may become one of the values.
    Undecided,
    /// The longest value that stands here.
    Whole(usize),
}

impl LiteralMatch {
    fn open(more: More) -> Self {
        match more {
            More::Yes => Self::Undecided,
            More::No => Self::Nothing,
        }
    }

    /// The longer of two; one that is not decided is waited for.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Undecided, _) | (_, Self::Undecided) => Self::Undecided,
            (Self::Whole(one), Self::Whole(two)) => Self::Whole(one.max(two)),
            (Self::Whole(length), Self::Nothing) | (Self::Nothing, Self::Whole(length)) => Self::Whole(length),
            (Self::Nothing, Self::Nothing) => Self::Nothing,
        }
    }
}

impl Literals {
    pub(super) fn new(values: &[Vec<u8>]) -> Self {
        let mut sorted = Vec::new();
        for value in values.iter().filter(|value| value.len() >= SECRET_BYTES_MIN) {
            let whole = value.chunks(LITERAL_BYTES_MAX).flat_map(forms);
            sorted.extend(whole.chain(lines(value)).filter(EncodedForm::is_long_enough));
        }
        sorted.sort_unstable();
        sorted.dedup();
        Self { sorted }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The first three bytes of each form, in all the ways in which it may be written.
    pub(super) fn starts(&self) -> impl Iterator<Item = [u8; 3]> {
        // For its first two: what follows on something that a terminal obeys is looked at whatever it is.
        let unseen =
            |first: u8| (0..=u8::MAX).filter(|&byte| escapes::is_unseen(byte)).map(move |byte| [first, byte, 0]);
        let texts = self.sorted.iter().filter(|form| form.kind == Kind::Text);
        let over_unseen = texts.flat_map(move |form| unseen(form.bytes[0]));
        let starts = |form: &EncodedForm| {
            let plain = [form.bytes[0], form.bytes[1], form.bytes[2]];
            let others = match form.kind {
                Kind::Text => Escape::starts(plain),
                Kind::Base64 => Vec::new(),
                Kind::Hex => digit_gaps::AFTER_A_BYTE.iter().map(|&byte| [plain[0], plain[1], byte]).collect(),
            };
            std::iter::once(plain).chain(others)
        };
        self.sorted.iter().flat_map(starts).chain(over_unseen)
    }

    /// Whether one of the values stands at the beginning of these bytes. A longer one that is still possible is waited for.
    pub(super) fn literal_here(&self, bytes: &[u8], before: BytesBefore<'_>, more: More) -> LiteralMatch {
        let first = &bytes[..bytes.len().min(2)];
        if first.is_empty() {
            return LiteralMatch::Nothing;
        }
        let mut found = LiteralMatch::Nothing;
        for form in self.beginning_with(first) {
            found = found.or(form.literal_here(bytes, before, more));
            if found == LiteralMatch::Undecided {
                return found;
            }
        }
        Escape::ALL.into_iter().filter(|escape| escape.may_be_in(first)).fold(found, |found, escape| {
            let looks = match first_two(bytes, escape) {
                Some(two) => self.look_escaped(two, bytes, escape, more),
                None => LiteralMatch::open(more),
            };
            found.or(looks)
        })
    }

    fn beginning_with<B: AsRef<[u8]>>(&self, first: B) -> impl Iterator<Item = &EncodedForm> {
        let from = self.sorted.partition_point(|form| form.bytes.as_slice() < first.as_ref());
        self.sorted[from..].iter().take_while(move |form| form.bytes.starts_with(first.as_ref()))
    }

    /// The same for values of which the first or the second letter is escaped.
    fn look_escaped(&self, two: [u8; 2], bytes: &[u8], escape: Escape, more: More) -> LiteralMatch {
        let also = if escape == Escape::Percent { two.map(|byte| if byte == b'+' { b' ' } else { byte }) } else { two };
        let blank = if also == two { None } else { Some(also) };
        let forms = std::iter::once(two).chain(blank).flat_map(|two| self.beginning_with(two));
        let texts = forms.filter(|form| form.kind == Kind::Text);
        texts.fold(LiteralMatch::Nothing, |found, form| found.or(unescape(&form.bytes, bytes, escape, more)))
    }
}

/// The letter that the beginning of the bytes means; none if they end too early.
fn first_two(bytes: &[u8], escape: Escape) -> Option<[u8; 2]> {
    let (mut at, mut two, mut filled) = (0, [0; 2], 0);
    while filled < 2 {
        let (length, means, count) = match escape.unit(&bytes[at..]) {
            Unit::Plain(byte) => (1, [byte, 0, 0, 0], 1),
            Unit::Escaped { length, means, count } => (length, means, count),
            Unit::Open => return None,
        };
        for &byte in means[..count].iter().take(2 - filled) {
            two[filled] = byte;
            filled += 1;
        }
        at += length;
    }
    Some(two)
}

impl EncodedForm {
    fn is_long_enough(&self) -> bool {
        let least = match self.kind {
            Kind::Text => SECRET_BYTES_MIN,
            Kind::Base64 | Kind::Hex => ENCODED_DIGITS_MIN,
        };
        self.bytes.len() >= least
    }

    fn literal_here(&self, bytes: &[u8], before: BytesBefore<'_>, more: More) -> LiteralMatch {
        let same = self.bytes.iter().zip(bytes).take_while(|(one, other)| one == other).count();
        if same == self.bytes.len() {
            return LiteralMatch::Whole(same);
        }
        if same == bytes.len() {
            return LiteralMatch::open(more);
        }
        match self.kind {
            Kind::Text => {
                let escapes = Escape::ALL.into_iter().filter(|escape| escape.may_be_in(&bytes[..=same]));
                escapes
                    .fold(LiteralMatch::Nothing, |found, escape| found.or(unescape(&self.bytes, bytes, escape, more)))
            }
            Kind::Base64 if self.may_break_behind(same, before) => self.over_lines(bytes, same, more),
            Kind::Hex if same >= 2 => self.apart(bytes, same / 2 * 2, self.line_place(before), more),
            Kind::Base64 | Kind::Hex => LiteralMatch::Nothing,
        }
    }

    /// Whether a line of base64 may be broken behind so many digits.
    fn may_break_behind(&self, digits: usize, before: BytesBefore<'_>) -> bool {
        digits >= DIGITS_BEFORE_A_BREAK_MIN
            || (digits >= DIGITS_OF_A_LINE_MIN && self.line_place(before) == LinePlace::Beginning)
    }

    /// Long forms are not looked for in very short lines: each place at which they seem to begin would be followed far.
    fn line_place(&self, before: BytesBefore<'_>) -> LinePlace {
        if self.bytes.len() > SHORT_LINES_DIGITS_MAX { LinePlace::Within } else { LinePlace::behind(before) }
    }

    fn bytes_max(&self) -> usize {
        spread_bytes_max(self.bytes.len())
    }

    /// Base64 with line breaks, of which the first so many digits are there. A digit of its own may be escaped, as `/` is.
    fn over_lines(&self, bytes: &[u8], same: usize, more: More) -> LiteralMatch {
        let mut at = same;
        for &digit in &self.bytes[same..] {
            if bytes.get(at) != Some(&digit) {
                match digit_gaps::line_break(&bytes[at..]) {
                    Gap::Length(length) | Gap::Margins(length) => at += length,
                    Gap::Open => return LiteralMatch::open(more),
                    Gap::None => {}
                }
            }
            at += match digit_length(&bytes[at..], digit) {
                Gap::Length(length) | Gap::Margins(length) => length,
                Gap::Open => return LiteralMatch::open(more),
                Gap::None => return LiteralMatch::Nothing,
            };
            if at > self.bytes_max() {
                return LiteralMatch::Nothing;
            }
        }
        LiteralMatch::Whole(at)
    }

    /// Hex with something between the bytes, of which the first so many digits are there.
    fn apart(&self, bytes: &[u8], same: usize, place: LinePlace, more: More) -> LiteralMatch {
        let (mut at, mut in_a_dump) = (same, false);
        for (number, digits) in self.bytes[same..].chunks_exact(2).enumerate() {
            let digits = [digits[0], digits[1]];
            let within = match (place, same + number * 2) {
                (LinePlace::Within, 0..DIGITS_BEFORE_A_BREAK_MIN) => Within::TheBeginning,
                (LinePlace::Within, DIGITS_BEFORE_A_BREAK_MIN..) | (LinePlace::Beginning, _) => Within::TheRest,
            };
            if !bytes[at..].starts_with(&digits) {
                match digit_gaps::before_digits(&bytes[at..], digits, within) {
                    Gap::Length(length) => at += length,
                    Gap::Margins(length) => (at, in_a_dump) = (at + length, true),
                    Gap::Open => return LiteralMatch::open(more),
                    Gap::None => return LiteralMatch::Nothing,
                }
            }
            at += digits.len();
            if at > self.bytes_max() {
                return LiteralMatch::Nothing;
            }
        }
        // The text at the end of the last line has the last letters of the value.
        match (in_a_dump, digit_gaps::end_of_line(&bytes[at..])) {
            (true, Gap::Length(rest) | Gap::Margins(rest)) => LiteralMatch::Whole(at + rest),
            (true, Gap::Open) if more == More::Yes => LiteralMatch::Undecided,
            (true, Gap::Open) => LiteralMatch::Whole(bytes.len()),
            (true, Gap::None) | (false, _) => LiteralMatch::Whole(at),
        }
    }
}

/// How long a form of so many bytes is at most, with all that may stand between them.
fn spread_bytes_max(bytes: usize) -> usize {
    bytes * SPREAD_TIMES_MAX + SPREAD_BYTES_MAX + bytes.min(WIDE_BYTES_MAX) * WIDE_TIMES_MAX
}

/// How many bytes stand for one digit of base64.
fn digit_length(bytes: &[u8], digit: u8) -> Gap {
    if bytes.first() == Some(&digit) {
        return Gap::Length(1);
    }
    for escape in Escape::ALL {
        match escape.unit(bytes) {
            Unit::Escaped { length, means, count: 1 } if means[0] == digit => return Gap::Length(length),
            Unit::Open => return Gap::Open,
            Unit::Escaped { .. } | Unit::Plain(_) => {}
        }
    }
    Gap::None
}

/// Whether the bytes begin with a text in which letters may be escaped.
fn unescape(text: &[u8], bytes: &[u8], escape: Escape, more: More) -> LiteralMatch {
    let (mut at, mut done) = (0, 0);
    while done < text.len() {
        match escape.unit(&bytes[at..]) {
            Unit::Plain(byte) if escape.may_stand_for(byte, text[done]) => (at, done) = (at + 1, done + 1),
            Unit::Escaped { length, means, count } if text[done..].starts_with(&means[..count]) => {
                (at, done) = (at + length, done + count);
            }
            Unit::Plain(_) | Unit::Escaped { .. } => return LiteralMatch::Nothing,
            Unit::Open => return LiteralMatch::open(more),
        }
        if at > spread_bytes_max(text.len()) {
            return LiteralMatch::Nothing;
        }
    }
    LiteralMatch::Whole(at)
}

/// The lines of a value that has several, in all forms: programs print such values line by line. The frame of a key is no secret.
fn lines(value: &[u8]) -> Vec<EncodedForm> {
    if !value.contains(&b'\n') {
        return Vec::new();
    }
    let lines = value.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.starts_with(KEY_FRAME));
    let pieces = lines.flat_map(|line| line.chunks(LITERAL_BYTES_MAX));
    pieces.filter(|piece| piece.len() >= SECRET_BYTES_MIN).flat_map(forms).collect()
}

fn forms(value: &[u8]) -> Vec<EncodedForm> {
    let mut forms = vec![EncodedForm { bytes: value.to_vec(), kind: Kind::Text }];
    let mut add = |bytes: &[u8], kind: Kind| forms.push(EncodedForm { bytes: bytes.to_vec(), kind });
    for alphabet in [BASE64, BASE64_URL] {
        for shift in 0..3 {
            let digits = base64_inside(value, shift, alphabet);
            // The value may begin with the last digits of a line.
            for on_the_line_before in 0..DIGITS_BEFORE_A_BREAK_MIN {
                add(&digits[digits.len().min(on_the_line_before)..], Kind::Base64);
            }
        }
    }
    for alphabet in [HEX_UPPER, HEX_LOWER] {
        let digits = hex(value, alphabet);
        add(&digits, Kind::Hex);
        // The same where the first byte stands alone at the end of a line.
        add(&digits[2..], Kind::Hex);
    }
    forms
}

/// The part of a base64 text that depends on the value alone, if the value stands `shift` bytes after a border of three in a longer
/// text, as a password does behind `user:`.
fn base64_inside(value: &[u8], shift: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let mut padded = vec![0; shift];
    padded.extend_from_slice(value);
    // Each byte is eight bits; a digit counts if all of its six bits are the value's own.
    let (first_bit, end_bit) = (shift * 8, padded.len() * 8);
    let digits = first_bit.div_ceil(6)..end_bit / 6;
    digits.map(|digit| alphabet[usize::from(six_bits(&padded, digit * 6))]).collect()
}

fn six_bits(bytes: &[u8], from_bit: usize) -> u8 {
    let (byte, within) = (from_bit / 8, from_bit % 8);
    let two = u16::from(bytes[byte]) << 8 | u16::from(bytes.get(byte + 1).copied().unwrap_or(0));
    u8::try_from(two >> (10 - within) & 0x3f).expect("six bits fit into a byte")
}

/// Every byte as two digits, as dumps and signatures have it.
fn hex(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    value.iter().flat_map(|&byte| two_digits(byte, digits)).collect()
}

fn two_digits(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING_BEFORE: BytesBefore<'static> = BytesBefore::new(&[b'~'; BEHIND_BYTES], b"");

    /// `user:correct-horse-battery` goes out as Basic authentication. The digits that stem from the password alone are known.
    #[test]
    fn base64_is_known_at_every_shift() {
        // base64 of "correct-horse-battery", "x:correct-horse-battery" and "u:correct…" with one more byte before it.
        let whole =
            ["Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5", "eDpjb3JyZWN0LWhvcnNlLWJhdHRlcnk=", "OmNvcnJlY3QtaG9yc2UtYmF0dGVyeQ=="];
        for (shift, text) in [(0, whole[0]), (2, whole[1]), (1, whole[2])] {
            let inside =
                String::from_utf8(base64_inside(b"correct-horse-battery", shift, BASE64)).expect("base64 digits");
            assert!(inside.len() >= 26 && text.contains(&inside), "shift {shift}: {inside} is not in {text}");
        }
    }

    /// A key of several lines is printed line by line. Each of them is known, in base64 and hex too, but not its frame.
    #[test]
    fn every_line_of_a_value_is_known() {
        let value = "-----BEGIN OWN KEY-----\r\nfirst-line-4711\r\n  second-line-4712\nshort\n-----END OWN KEY-----";
        let literals = Literals::new(&[value.as_bytes().to_vec()]);
        let known = |text: &str| {
            matches!(literals.literal_here(text.as_bytes(), NOTHING_BEFORE, More::No), LiteralMatch::Whole(_))
        };
        let encoded = ["c2Vjb25kLWxpbmUtNDcxMg==", "7365636f6e642d6c696e652d34373132"];
        assert!(["first-line-4711", "second-line-4712"].into_iter().chain(encoded).all(known));
        assert!(known(value) && !known("-----BEGIN OWN KEY-----") && !known("short"));
    }

    /// One value is the beginning of another. The longer one is waited for, and the shorter one counts if it does not come.
    #[test]
    fn the_longest_value_counts() {
        let literals = Literals::new(&[b"abcdefgh".to_vec(), b"abcdefghijkl".to_vec()]);
        assert_eq!(literals.literal_here(b"abcdefghij", NOTHING_BEFORE, More::Yes), LiteralMatch::Undecided);
        assert_eq!(literals.literal_here(b"abcdefghij", NOTHING_BEFORE, More::No), LiteralMatch::Whole(8));
        assert_eq!(literals.literal_here(b"abcdefghijklm", NOTHING_BEFORE, More::Yes), LiteralMatch::Whole(12));
        assert_eq!(literals.literal_here(b"abcdefgx", NOTHING_BEFORE, More::Yes), LiteralMatch::Nothing);
    }
}
