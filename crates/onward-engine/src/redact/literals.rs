//! Known secret values and the forms in which they come out: as they are, in base64, in URLs, in JSON, in hex.

use super::{More, SECRET_BYTES_MIN};

/// A longer value is looked for in pieces, so that what is held back stays bounded.
const LITERAL_BYTES_MAX: usize = 16 * 1024;

/// How the first and the last line of a key begin.
const KEY_FRAME: &[u8] = b"-----";

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// What stays as it is in a URL, beside letters and digits: by the standard, for browsers, for what writes paths.
const URL_PLAIN: [&[u8]; 3] = [b"-._~", b"-._~!'()*", b"-._~/"];
const HEX_UPPER: &[u8; 16] = b"0123456789ABCDEF";
const HEX_LOWER: &[u8; 16] = b"0123456789abcdef";
const BASE64_URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// All forms of all values, sorted, so that those with the same beginning stand together.
pub(super) struct Literals {
    sorted: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Nothing,
    /// The bytes end within what may become one of the values.
    Undecided,
    /// The longest value that stands here.
    Whole(usize),
}

impl Literals {
    pub(super) fn new(values: &[Vec<u8>]) -> Self {
        let mut sorted = Vec::new();
        for value in values.iter().filter(|value| value.len() >= SECRET_BYTES_MIN) {
            let whole = value.chunks(LITERAL_BYTES_MAX).flat_map(forms);
            sorted.extend(whole.chain(lines(value)).filter(|form| form.len() >= SECRET_BYTES_MIN));
        }
        sorted.sort_unstable();
        sorted.dedup();
        Self { sorted }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The first two bytes of each form.
    pub(super) fn starts(&self) -> impl Iterator<Item = [u8; 2]> {
        self.sorted.iter().map(|form| [form[0], form[1]])
    }

    /// Whether one of the values stands at the beginning of these bytes. A longer one that is still possible is waited for.
    pub(super) fn look(&self, bytes: &[u8], more: More) -> Look {
        if bytes.is_empty() {
            return Look::Nothing;
        }
        let first = &bytes[..bytes.len().min(2)];
        let from = self.sorted.partition_point(|form| form.as_slice() < first);
        let mut found = Look::Nothing;
        for form in self.sorted[from..].iter().take_while(|form| form.starts_with(first)) {
            if bytes.starts_with(form) {
                // Sorted order puts a longer form with the same beginning later.
                found = Look::Whole(form.len());
            } else if more == More::Yes && form.starts_with(bytes) {
                return Look::Undecided;
            }
        }
        found
    }
}

/// The lines of a value that has several, in all forms: programs print such values line by line. The frame of a key is no secret.
fn lines(value: &[u8]) -> Vec<Vec<u8>> {
    if !value.contains(&b'\n') {
        return Vec::new();
    }
    let lines = value.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.starts_with(KEY_FRAME));
    let pieces = lines.flat_map(|line| line.chunks(LITERAL_BYTES_MAX));
    pieces.filter(|piece| piece.len() >= SECRET_BYTES_MIN).flat_map(forms).collect()
}

fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    for alphabet in [BASE64, BASE64_URL] {
        forms.extend((0..3).map(|shift| base64_inside(value, shift, alphabet)));
    }
    for digits in [HEX_UPPER, HEX_LOWER] {
        forms.push(hex(value, digits));
        for plain in URL_PLAIN {
            forms.extend([percent(value, b"%20", digits, plain), percent(value, b"+", digits, plain)]);
        }
    }
    if let Ok(text) = std::str::from_utf8(value)
        && let Ok(quoted) = serde_json::to_string(text)
    {
        forms.push(quoted.as_bytes()[1..quoted.len() - 1].to_vec());
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

/// The value as it stands in a URL; what `space`, `digits` and `plain` say differs between the programs that write URLs.
fn percent(value: &[u8], space: &[u8], digits: &[u8; 16], plain: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            b' ' => text.extend_from_slice(space),
            _ if byte.is_ascii_alphanumeric() || plain.contains(&byte) => text.push(byte),
            _ => {
                text.push(b'%');
                text.extend(two_digits(byte, digits));
            }
        }
    }
    text
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
        let known = |text: &str| matches!(literals.look(text.as_bytes(), More::No), Look::Whole(_));
        let encoded = ["c2Vjb25kLWxpbmUtNDcxMg==", "7365636f6e642d6c696e652d34373132"];
        assert!(["first-line-4711", "second-line-4712"].into_iter().chain(encoded).all(known));
        assert!(known(value) && !known("-----BEGIN OWN KEY-----") && !known("short"));
    }

    /// One value is the beginning of another. The longer one is waited for, and the shorter one counts if it does not come.
    #[test]
    fn the_longest_value_counts() {
        let literals = Literals::new(&[b"abcdefgh".to_vec(), b"abcdefghijkl".to_vec()]);
        assert_eq!(literals.look(b"abcdefghij", More::Yes), Look::Undecided);
        assert_eq!(literals.look(b"abcdefghij", More::No), Look::Whole(8));
        assert_eq!(literals.look(b"abcdefghijklm", More::Yes), Look::Whole(12));
        assert_eq!(literals.look(b"abcdefgx", More::Yes), Look::Nothing);
    }
}
