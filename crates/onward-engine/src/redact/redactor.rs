//! The search for secrets in a stream: known values and shapes.
//!
//! A [`Redactor`] works on pieces of any size: where a piece ends in what may become a secret, that end is held back until the next
//! piece decides. What is held is bounded by the longest secret, with all that may stand between the digits of its encoded forms,
//! and the longest shape.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, LazyLock};

use super::first_bytes::FirstBytes;
use super::key_material::KeyMaterial;
use super::secret_forms::{self, Literals};
use super::shapes::{self, BytesBefore, Class, KeyBlockLine};
use super::{MARK, SecretNames};

/// Shorter values are no secrets: cutting them out would cut words out of every text.
pub const SECRET_BYTES_MIN: usize = 8;

/// How far a shape may look back to tell whether it stands alone.
pub(super) const BEHIND_BYTES: usize = 16;

/// The secrets to cut out: known values, ready for searching, and all shapes. Cheap to share, and it never shows what
/// it holds.
pub struct Secrets {
    /// The values as they are, without those that are too short.
    pub(super) values: Vec<Vec<u8>>,
    literals: Literals,
    starts: FirstBytes,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({} forms)", self.literals.len())
    }
}

/// Shapes alone, for texts of which no environment is known.
static SHAPES_ONLY: LazyLock<Secrets> = LazyLock::new(|| Secrets::new(&[]));

/// Cuts out what has the shape of a token, without knowing any values.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    SHAPES_ONLY.text(text)
}

impl Secrets {
    /// From secret values as they are; their encoded forms are added here. Values that are too short are left out.
    pub fn new(values: &[Vec<u8>]) -> Self {
        let values: Vec<_> = values.iter().filter(|value| value.len() >= SECRET_BYTES_MIN).cloned().collect();
        let literals = Literals::new(&values);
        let starts = FirstBytes::new(literals.starts().chain(shapes::starts()));
        Self { values, literals, starts }
    }

    /// The secrets of an environment: values of variables whose names say so or are listed, and passwords inside URLs.
    pub fn from_env<'a>(variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>, names: &SecretNames) -> Self {
        Self::from_env_and(variables, names, &[])
    }

    /// The same with values that were learnt in another way.
    pub fn from_env_and<'a>(
        variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
        names: &SecretNames,
        more: &[Vec<u8>],
    ) -> Self {
        let mut values = values_of(variables, names);
        values.extend(more.iter().cloned());
        Self::new(&values.into_iter().collect::<Vec<_>>())
    }

    /// Cuts secrets out of a whole text.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(clean) => Cow::Owned(String::from_utf8_lossy(&clean).into_owned()),
        }
    }

    /// Cuts secrets out of whole bytes; borrowed if there was nothing to cut.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut clean = Vec::with_capacity(bytes.len());
        let mut scan = Scan::default();
        let rest = scan.run(self, bytes, More::No, &mut clean);
        assert_eq!(rest, bytes.len(), "nothing is held back at the end");
        if scan.count == 0 { Cow::Borrowed(bytes) } else { Cow::Owned(clean) }
    }
}

/// The secret values of an environment. A variable that the configuration takes out has none.
pub(super) fn values_of<'a>(
    variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
    names: &SecretNames,
) -> BTreeSet<Vec<u8>> {
    let mut values = BTreeSet::new();
    for (name, value) in variables {
        let (name, value) = (name.as_bytes(), value.as_bytes().trim_ascii());
        if names.take_out(name) {
            continue;
        }
        if names.mean(name) {
            values.insert(value.to_vec());
        }
        values.extend(shapes::url_passwords(value));
    }
    values
}

/// Cuts secrets out of a stream.
#[derive(Debug)]
pub struct Redactor {
    secrets: Arc<Secrets>,
    scan: Scan,
    held: Vec<u8>,
}

impl Redactor {
    pub fn new(secret_values: &[Vec<u8>]) -> Self {
        Self::with(Arc::new(Secrets::new(secret_values)))
    }

    pub fn with(secrets: Arc<Secrets>) -> Self {
        Self { secrets, scan: Scan::default(), held: Vec::new() }
    }

    /// Takes the next piece and adds to `out` what is decided by it.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        self.advance(chunk, More::Yes, out);
    }

    /// The stream has ended: what was held back is no secret, or was a whole one.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.advance(&[], More::No, out);
    }

    /// How many secrets were cut out so far.
    pub fn count(&self) -> u64 {
        self.scan.count
    }

    fn advance(&mut self, chunk: &[u8], more: More, out: &mut Vec<u8>) {
        if self.held.is_empty() {
            let rest = self.scan.run(&self.secrets, chunk, more, out);
            self.held.extend_from_slice(&chunk[rest..]);
        } else {
            self.held.extend_from_slice(chunk);
            let rest = self.scan.run(&self.secrets, &self.held, more, out);
            self.held.drain(..rest);
        }
    }
}

/// Whether more bytes may follow those at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    Yes,
    No,
}

/// The result of matching at a place in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceMatch {
    Nothing,
    /// The bytes at hand may be the beginning of a secret.
    Undecided,
    /// A secret: so many bytes are kept, so many cut, and then all that follows in this manner.
    Secret {
        keep: usize,
        cut: usize,
        follow: Follow,
    },
}

/// How a secret goes on behind the part that proved it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    Nothing,
    /// As long as bytes of this class come.
    Class(Class),
    /// Until the end line of a key block, or what is no key any more.
    KeyBlock(KeyMaterial),
}

/// How far a decision goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecidedTo {
    /// All before this place is done.
    To(usize),
    /// The same, and what begins here cannot be decided yet.
    HoldFrom(usize),
}

/// Where in a secret or out of it the stream stands.
#[derive(Debug)]
struct Scan {
    /// The last bytes before the ones at hand, newest last.
    behind: [u8; BEHIND_BYTES],
    /// Bytes still to be cut before anything else.
    cut: usize,
    follow: Follow,
    count: u64,
}

impl Default for Scan {
    fn default() -> Self {
        Self { behind: [b'\n'; BEHIND_BYTES], cut: 0, follow: Follow::Nothing, count: 0 }
    }
}

impl Scan {
    /// Goes through the bytes and gives the place from which they must be held back.
    fn run(&mut self, secrets: &Secrets, bytes: &[u8], more: More, out: &mut Vec<u8>) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let step = if self.inside() {
                self.step_inside(secrets, bytes, at, more)
            } else {
                self.step_outside(secrets, bytes, at, more, out)
            };
            match step {
                DecidedTo::To(next) => at = next,
                DecidedTo::HoldFrom(place) => {
                    at = place;
                    break;
                }
            }
        }
        self.remember(&bytes[..at]);
        at
    }

    fn inside(&self) -> bool {
        self.cut > 0 || self.follow != Follow::Nothing
    }

    /// Copies what is plain up to the next place that may be a secret, and decides about that place.
    fn step_outside(
        &mut self,
        secrets: &Secrets,
        bytes: &[u8],
        from: usize,
        more: More,
        out: &mut Vec<u8>,
    ) -> DecidedTo {
        let at = secrets.starts.next(bytes, from, more);
        out.extend_from_slice(&bytes[from..at]);
        if at == bytes.len() {
            return DecidedTo::To(at);
        }
        match self.secret_here(secrets, bytes, at, more) {
            // The candidate stays as it is; the next look begins behind its first byte.
            PlaceMatch::Nothing => {
                out.push(bytes[at]);
                DecidedTo::To(at + 1)
            }
            PlaceMatch::Undecided => DecidedTo::HoldFrom(at),
            PlaceMatch::Secret { keep, cut, follow } => {
                out.extend_from_slice(&bytes[at..at + keep]);
                out.extend_from_slice(MARK.as_bytes());
                self.count += 1;
                (self.cut, self.follow) = (cut, follow);
                DecidedTo::To(at + keep)
            }
        }
    }

    /// Drops one byte of a secret, unless the secret is over. Another known value may begin inside it and reach beyond it.
    fn step_inside(&mut self, secrets: &Secrets, bytes: &[u8], at: usize, more: More) -> DecidedTo {
        match secrets.literals.literal_here(&bytes[at..], BytesBefore::new(&self.behind, &bytes[..at]), more) {
            secret_forms::LiteralMatch::Nothing => {}
            secret_forms::LiteralMatch::Undecided => return DecidedTo::HoldFrom(at),
            secret_forms::LiteralMatch::Whole(length) => self.cut = self.cut.max(length),
        }
        if self.cut > 0 {
            self.cut -= 1;
            return DecidedTo::To(at + 1);
        }
        match self.follow {
            Follow::Nothing => DecidedTo::To(at),
            Follow::Class(class) if class.has(bytes[at]) => DecidedTo::To(at + 1),
            Follow::Class(_) => {
                self.follow = Follow::Nothing;
                DecidedTo::To(at)
            }
            Follow::KeyBlock(material) => self.step_key_block(bytes, at, more, material),
        }
    }

    fn step_key_block(&mut self, bytes: &[u8], at: usize, more: More, material: KeyMaterial) -> DecidedTo {
        match shapes::key_block_end(&bytes[at..], more) {
            KeyBlockLine::Undecided => DecidedTo::HoldFrom(at),
            KeyBlockLine::Here(length) => {
                (self.cut, self.follow) = (length, Follow::Nothing);
                DecidedTo::To(at)
            }
            KeyBlockLine::NotHere => {
                let goes_on = material.with(bytes[at]);
                self.follow = goes_on.map_or(Follow::Nothing, Follow::KeyBlock);
                DecidedTo::To(if goes_on.is_some() { at + 1 } else { at })
            }
        }
    }

    /// Known values first, since they may be longer than what a shape proves; where both fit, the longer cut counts.
    fn secret_here(&self, secrets: &Secrets, bytes: &[u8], at: usize, more: More) -> PlaceMatch {
        let literal = secrets.literals.literal_here(&bytes[at..], BytesBefore::new(&self.behind, &bytes[..at]), more);
        let shape = shapes::shape_here(secrets, &bytes[at..], BytesBefore::new(&self.behind, &bytes[..at]), more);
        match (literal, shape) {
            (secret_forms::LiteralMatch::Undecided, _) | (_, PlaceMatch::Undecided) => PlaceMatch::Undecided,
            (secret_forms::LiteralMatch::Nothing, shape) => shape,
            (secret_forms::LiteralMatch::Whole(length), PlaceMatch::Secret { keep: 0, cut, follow }) => {
                PlaceMatch::Secret { keep: 0, cut: cut.max(length), follow }
            }
            (secret_forms::LiteralMatch::Whole(length), _) => {
                PlaceMatch::Secret { keep: 0, cut: length, follow: Follow::Nothing }
            }
        }
    }

    fn remember(&mut self, done: &[u8]) {
        let fresh = &done[done.len().saturating_sub(BEHIND_BYTES)..];
        self.behind.rotate_left(fresh.len());
        self.behind[BEHIND_BYTES - fresh.len()..].copy_from_slice(fresh);
    }
}
