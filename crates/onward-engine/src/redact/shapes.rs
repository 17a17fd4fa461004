//! Tokens that are known by their shape, with few false hits: a sha, a uuid or a long word is none.

use super::key_material::KeyMaterial;
use super::{BEHIND_BYTES, Follow, More, PlaceMatch, Secrets};

/// How far a token is looked at for its proof.
const TOKEN_BYTES_LOOKED_AT_MAX: usize = 40;
/// The header of a JSON web token is a few dozen bytes.
const JWT_HEADER_BYTES_MAX: usize = 256;
const URL_USER_BYTES_MAX: usize = 128;
const URL_PASSWORD_BYTES_MAX: usize = 512;

/// Sets of bytes that tokens are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters and digits.
    Word,
    /// Letters, digits and `_`.
    Name,
    /// Letters, digits, `-` and `_`.
    Dashed,
    /// Capital letters and digits.
    Capital,
    /// The characters of a JSON web token.
    Dotted,
}

impl Class {
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Word => byte.is_ascii_alphanumeric(),
            Self::Name => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Dashed => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
        }
    }
}

/// The test that makes a token more than a word with the same beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenProof {
    Length,
    /// A digit, or a long stretch of mixed letters, which words that are joined by dashes do not have.
    Random,
}

struct TokenShape {
    prefix: &'static str,
    class: Class,
    /// Bytes behind the prefix.
    length_min: usize,
    proof: TokenProof,
    place: PrefixPlace,
}

/// Where a prefix counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PrefixPlace {
    Anywhere,
    /// Only where a word could begin: the prefix is the end of common words.
    WordBorder,
}

const fn token(prefix: &'static str, class: Class, length_min: usize) -> TokenShape {
    TokenShape { prefix, class, length_min, proof: TokenProof::Length, place: PrefixPlace::Anywhere }
}

const fn random(prefix: &'static str, class: Class, length_min: usize, place: PrefixPlace) -> TokenShape {
    TokenShape { prefix, class, length_min, proof: TokenProof::Random, place }
}

const TOKENS: [TokenShape; 22] = [
    token("ghp_", Class::Word, 20),
    token("gho_", Class::Word, 20),
    token("ghu_", Class::Word, 20),
    token("ghs_", Class::Word, 20),
    token("ghr_", Class::Word, 20),
    token("github_pat_", Class::Name, 22),
    token("glpat-", Class::Dashed, 20),
    random("sk-", Class::Dashed, 20, PrefixPlace::WordBorder),
    token("sk_live_", Class::Word, 16),
    token("rk_live_", Class::Word, 16),
    random("xoxa-", Class::Dashed, 10, PrefixPlace::Anywhere),
    random("xoxb-", Class::Dashed, 10, PrefixPlace::Anywhere),
    random("xoxe-", Class::Dashed, 10, PrefixPlace::Anywhere),
    random("xoxp-", Class::Dashed, 10, PrefixPlace::Anywhere),
    random("xoxr-", Class::Dashed, 10, PrefixPlace::Anywhere),
    random("xoxs-", Class::Dashed, 10, PrefixPlace::Anywhere),
    token("AKIA", Class::Capital, 16),
    random("ASIA", Class::Capital, 16, PrefixPlace::WordBorder),
    token("AIza", Class::Dashed, 35),
    token("npm_", Class::Word, 36),
    random("hf_", Class::Word, 30, PrefixPlace::WordBorder),
    token("pypi-AgE", Class::Dashed, 30),
];

const KEY_BLOCK_BEGIN: &[u8] = b"-----BEGIN ";
const KEY_BLOCK_NAME: &[u8] = b"PRIVATE KEY";
const KEY_BLOCK_NAME_BYTES_MAX: usize = 48;
const KEY_BLOCK_END: &[u8] = b"-----END ";
const KEY_BLOCK_DASHES: &[u8] = b"-----";
const JWT_BEGIN: &[u8] = b"eyJ";
const URL_BEGIN: &[u8] = b"://";

/// The first three bytes of every shape.
pub(super) fn starts() -> impl Iterator<Item = [u8; 3]> {
    let others = [KEY_BLOCK_BEGIN, JWT_BEGIN, URL_BEGIN];
    TOKENS.iter().map(|token| token.prefix.as_bytes()).chain(others).map(|prefix| [prefix[0], prefix[1], prefix[2]])
}

/// The bytes before the place that is looked at, across pieces.
#[derive(Clone, Copy)]
pub(super) struct BytesBefore<'a> {
    earlier: &'a [u8; BEHIND_BYTES],
    here: &'a [u8],
}

impl<'a> BytesBefore<'a> {
    pub(super) const fn new(earlier: &'a [u8; BEHIND_BYTES], here: &'a [u8]) -> Self {
        Self { earlier, here }
    }

    /// The byte so many places before, from 1.
    pub(super) fn byte(self, back: usize) -> u8 {
        match self.here.len().checked_sub(back) {
            Some(at) => self.here[at],
            None => self.earlier.get(BEHIND_BYTES + self.here.len() - back).copied().unwrap_or(b'\n'),
        }
    }

    /// Whether a word may begin here: behind anything but a letter or digit, and behind the escapes that look like one (`\n` in
    /// JSON, `%3D` in a URL, the `m` that ends a colour).
    fn is_word_border(self) -> bool {
        if !self.byte(1).is_ascii_alphanumeric() {
            return true;
        }
        let in_url = self.byte(3) == b'%' && self.byte(2).is_ascii_hexdigit() && self.byte(1).is_ascii_hexdigit();
        self.byte(2) == b'\\' || in_url || self.ends_a_colour()
    }

    fn ends_a_colour(self) -> bool {
        let parameters = |byte: u8| byte.is_ascii_digit() || byte == b';';
        let bracket = (2..BEHIND_BYTES).find(|&back| !parameters(self.byte(back)));
        self.byte(1) == b'm' && bracket.is_some_and(|back| self.byte(back) == b'[' && self.byte(back + 1) == 0x1b)
    }
}

/// Whether one of the shapes begins here.
pub(super) fn shape_here(secrets: &Secrets, bytes: &[u8], behind: BytesBefore<'_>, more: More) -> PlaceMatch {
    let looks = [
        look_for_token(bytes, behind, more),
        look_for_key_block(bytes, more),
        look_for_jwt(bytes, more),
        look_for_url(secrets, bytes, more),
    ];
    looks.into_iter().find(|look| *look != PlaceMatch::Nothing).unwrap_or(PlaceMatch::Nothing)
}

/// Matches a fixed text at the beginning of the bytes.
fn begins(bytes: &[u8], prefix: &[u8], more: More) -> PlaceMatch {
    if bytes.starts_with(prefix) {
        PlaceMatch::Secret { keep: 0, cut: prefix.len(), follow: Follow::Nothing }
    } else if more == More::Yes && prefix.starts_with(bytes) {
        PlaceMatch::Undecided
    } else {
        PlaceMatch::Nothing
    }
}

fn look_for_token(bytes: &[u8], behind: BytesBefore<'_>, more: More) -> PlaceMatch {
    for token in &TOKENS {
        let prefix = token.prefix.as_bytes();
        let look = match begins(bytes, prefix, more) {
            PlaceMatch::Nothing => continue,
            PlaceMatch::Undecided | PlaceMatch::Secret { .. }
                if token.place == PrefixPlace::WordBorder && !behind.is_word_border() =>
            {
                continue;
            }
            PlaceMatch::Undecided => PlaceMatch::Undecided,
            PlaceMatch::Secret { .. } => prove(token, &bytes[prefix.len()..], more),
        };
        if look != PlaceMatch::Nothing {
            return look;
        }
    }
    PlaceMatch::Nothing
}

fn prove(token: &TokenShape, body: &[u8], more: More) -> PlaceMatch {
    let seen = &body[..body.len().min(TOKEN_BYTES_LOOKED_AT_MAX)];
    let length = seen.iter().position(|&byte| !token.class.has(byte)).unwrap_or(seen.len());
    let run = &seen[..length];
    let proven = length >= token.length_min && (token.proof == TokenProof::Length || looks_random(run));
    if proven {
        return PlaceMatch::Secret { keep: 0, cut: token.prefix.len() + length, follow: Follow::Class(token.class) };
    }
    let open = length == body.len() && length < TOKEN_BYTES_LOOKED_AT_MAX;
    if open && more == More::Yes { PlaceMatch::Undecided } else { PlaceMatch::Nothing }
}

fn looks_random(run: &[u8]) -> bool {
    let mixed = |part: &[u8]| {
        part.len() >= 20 && part.iter().any(u8::is_ascii_uppercase) && part.iter().any(u8::is_ascii_lowercase)
    };
    run.iter().any(u8::is_ascii_digit) || run.split(|byte| !byte.is_ascii_alphanumeric()).any(mixed)
}

/// `-----BEGIN … PRIVATE KEY-----` and all that follows up to its end line.
fn look_for_key_block(bytes: &[u8], more: More) -> PlaceMatch {
    match key_block_line(bytes, KEY_BLOCK_BEGIN, more) {
        KeyBlockLine::Here(length) if has_key_name(&bytes[..length]) => {
            PlaceMatch::Secret { keep: 0, cut: length, follow: Follow::KeyBlock(KeyMaterial::default()) }
        }
        KeyBlockLine::Here(_) | KeyBlockLine::NotHere => PlaceMatch::Nothing,
        KeyBlockLine::Undecided => PlaceMatch::Undecided,
    }
}

fn has_key_name(line: &[u8]) -> bool {
    line.windows(KEY_BLOCK_NAME.len()).any(|part| part == KEY_BLOCK_NAME)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyBlockLine {
    /// The line, with its length.
    Here(usize),
    NotHere,
    Undecided,
}

/// Whether the end line of a key block stands here.
pub(super) fn key_block_end(bytes: &[u8], more: More) -> KeyBlockLine {
    key_block_line(bytes, KEY_BLOCK_END, more)
}

/// A beginning, a name in capitals, and five dashes.
fn key_block_line(bytes: &[u8], begin: &[u8], more: More) -> KeyBlockLine {
    let undecided =
        |look: PlaceMatch| if look == PlaceMatch::Undecided { KeyBlockLine::Undecided } else { KeyBlockLine::NotHere };
    match begins(bytes, begin, more) {
        PlaceMatch::Secret { .. } => {}
        other @ (PlaceMatch::Nothing | PlaceMatch::Undecided) => return undecided(other),
    }
    let name = &bytes[begin.len()..];
    let name = &name[..name.len().min(KEY_BLOCK_NAME_BYTES_MAX)];
    let end = name.iter().position(|&byte| !(byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '));
    let Some(end) = end else {
        let open = name.len() < KEY_BLOCK_NAME_BYTES_MAX && more == More::Yes;
        return if open { KeyBlockLine::Undecided } else { KeyBlockLine::NotHere };
    };
    match begins(&bytes[begin.len() + end..], KEY_BLOCK_DASHES, more) {
        PlaceMatch::Secret { .. } => KeyBlockLine::Here(begin.len() + end + KEY_BLOCK_DASHES.len()),
        other @ (PlaceMatch::Nothing | PlaceMatch::Undecided) => undecided(other),
    }
}

/// A JSON web token: two JSON objects in base64, which both begin with `eyJ`, and a signature.
fn look_for_jwt(bytes: &[u8], more: More) -> PlaceMatch {
    match begins(bytes, JWT_BEGIN, more) {
        PlaceMatch::Secret { .. } => {}
        other @ (PlaceMatch::Nothing | PlaceMatch::Undecided) => return other,
    }
    let seen = &bytes[..bytes.len().min(JWT_HEADER_BYTES_MAX)];
    let Some(dot) = seen.iter().position(|&byte| !Class::Dashed.has(byte)) else {
        let open = seen.len() < JWT_HEADER_BYTES_MAX && more == More::Yes;
        return if open { PlaceMatch::Undecided } else { PlaceMatch::Nothing };
    };
    match begins(&bytes[dot..], b".eyJ", more) {
        PlaceMatch::Secret { .. } => PlaceMatch::Secret { keep: 0, cut: dot, follow: Follow::Class(Class::Dotted) },
        other @ (PlaceMatch::Nothing | PlaceMatch::Undecided) => other,
    }
}

/// The password in `scheme://user:password@host`. The user stays readable, unless it is a secret itself.
fn look_for_url(secrets: &Secrets, bytes: &[u8], more: More) -> PlaceMatch {
    match begins(bytes, URL_BEGIN, more) {
        PlaceMatch::Secret { .. } => {}
        other @ (PlaceMatch::Nothing | PlaceMatch::Undecided) => return other,
    }
    match credentials(&bytes[URL_BEGIN.len()..]) {
        Credentials::Open if more == More::Yes => PlaceMatch::Undecided,
        Credentials::None | Credentials::Open => PlaceMatch::Nothing,
        Credentials::Found { user, password } => {
            let info = &bytes[URL_BEGIN.len()..URL_BEGIN.len() + user + 1 + password];
            if info[user + 1..] == *super::MARK.as_bytes() {
                // Cut before; cutting again would only count it twice.
                return PlaceMatch::Nothing;
            }
            let user_is_secret = !secrets.bytes(info).starts_with(&info[..=user]);
            let (keep, cut) = if user_is_secret { (0, user + 1 + password) } else { (user + 1, password) };
            PlaceMatch::Secret { keep: URL_BEGIN.len() + keep, cut, follow: Follow::Nothing }
        }
    }
}

enum Credentials {
    None,
    /// The bytes end before it can be told.
    Open,
    Found {
        user: usize,
        password: usize,
    },
}

/// The lengths of user and password before an `@`, at the beginning of what follows `://`.
fn credentials(bytes: &[u8]) -> Credentials {
    let ends =
        |byte: u8| matches!(byte, b'/' | b'?' | b'#' | b'@' | b'"' | b'\'' | b'<' | b'>' | b'\\' | 0..=b' ' | 0x7f);
    let seen = &bytes[..bytes.len().min(URL_USER_BYTES_MAX)];
    let Some(user) = seen.iter().position(|&byte| byte == b':' || ends(byte)) else {
        return if seen.len() < URL_USER_BYTES_MAX { Credentials::Open } else { Credentials::None };
    };
    if seen[user] != b':' {
        return Credentials::None;
    }
    let rest = &bytes[user + 1..];
    let seen = &rest[..rest.len().min(URL_PASSWORD_BYTES_MAX)];
    match seen.iter().position(|&byte| ends(byte)) {
        None if seen.len() < URL_PASSWORD_BYTES_MAX => Credentials::Open,
        Some(password) if seen[password] == b'@' && password > 0 => Credentials::Found { user, password },
        None | Some(_) => Credentials::None,
    }
}

/// The passwords in the URLs of a value, as they stand there and decoded.
pub(super) fn url_passwords(value: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let begins = value.windows(URL_BEGIN.len()).enumerate().filter(|(_, part)| *part == URL_BEGIN);
    for (at, _) in begins {
        let rest = &value[at + URL_BEGIN.len()..];
        if let Credentials::Found { user, password } = credentials(rest) {
            let password = &rest[user + 1..user + 1 + password];
            found.extend([password.to_vec(), percent_decoded(password)]);
        }
    }
    found
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let digits = text.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if text[at] == b'%' => {
                plain.push(byte);
                at += 3;
            }
            Some(_) | None => {
                plain.push(text[at]);
                at += 1;
            }
        }
    }
    plain
}
