//! Sections: what the file is made of. Each one's checksum covers the version of the file and the checksum of the section before it,
//! so nothing can be left out, added, moved or changed without being noticed.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | kind |
//! | 8 | length of the content, little end first |
//! | 8 | length of what is stored |
//! | 32 | BLAKE3 hash over the checksum before, the version, the three fields above and what is stored |
//! | rest | what is stored: the content, compressed by zstd |

use std::io::{self, Read, Write};

use crate::error::{Damage, StoreError};

/// The first bytes of a file.
pub const MAGIC: [u8; 8] = *b"onward\x1a\n";
/// The version of the form, which stands behind them.
pub const FORMAT: u16 = 1;
/// No file is larger.
pub const FILE_BYTES_MAX: u64 = 1 << 30;
/// All contents together, unpacked.
const CONTENT_BYTES_MAX: u64 = 1 << 30;
const HEADER_BYTES: usize = 4 + 8 + 8 + 32;
const LEVEL: i32 = 6;
/// How far back a compressed content may refer, as a power of two: 128 MiB of memory.
const WINDOW_LOG_MAX: u32 = 27;
/// An unpacked content is asked for from the system in pieces of this size, whatever length is claimed.
const ROOM_BYTES: u64 = 1 << 20;

pub(super) type SectionKind = [u8; 4];

pub(super) const HEAD: SectionKind = *b"HEAD";
pub(super) const JOURNAL: SectionKind = *b"JRNL";
pub(super) const CHECKPOINTS: SectionKind = *b"CKPT";
pub(super) const ARTIFACT: SectionKind = *b"ARTF";
pub(super) const BUNDLE: SectionKind = *b"BNDL";
/// Nothing stands behind it.
pub(super) const DONE: SectionKind = *b"DONE";

/// Whether bytes begin like an exported run.
pub fn is_one(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

fn checksum(before: &[u8; 32], version: u16, kind: SectionKind, lengths: [u64; 2], stored: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before).update(&version.to_le_bytes()).update(&kind);
    for length in lengths {
        hasher.update(&length.to_le_bytes());
    }
    *hasher.update(stored).finalize().as_bytes()
}

/// Writes sections, one after the other.
pub(super) struct SectionWriter<'a> {
    into: &'a mut dyn Write,
    before: [u8; 32],
}

impl<'a> SectionWriter<'a> {
    pub(super) fn begin(into: &'a mut dyn Write) -> io::Result<Self> {
        into.write_all(&MAGIC)?;
        into.write_all(&FORMAT.to_le_bytes())?;
        Ok(Self { into, before: [0; 32] })
    }

    pub(super) fn section(&mut self, kind: SectionKind, content: &[u8]) -> io::Result<()> {
        let stored = zstd::bulk::compress(content, LEVEL)?;
        let lengths = [content.len() as u64, stored.len() as u64];
        let sum = checksum(&self.before, FORMAT, kind, lengths, &stored);
        self.into.write_all(&kind)?;
        for length in lengths {
            self.into.write_all(&length.to_le_bytes())?;
        }
        self.into.write_all(&sum)?;
        self.into.write_all(&stored)?;
        self.before = sum;
        Ok(())
    }
}

/// Reads sections, each one checked before it is unpacked.
pub(super) struct SectionReader<'a> {
    rest: &'a [u8],
    version: u16,
    before: [u8; 32],
    content_left: u64,
}

/// A section that fits its checksum.
pub(super) struct Section<'a> {
    pub(super) kind: SectionKind,
    length: u64,
    stored: &'a [u8],
}

impl<'a> SectionReader<'a> {
    pub(super) fn begin(bytes: &'a [u8]) -> Result<Self, StoreError> {
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(damaged(format!("it is larger than {FILE_BYTES_MAX} bytes")));
        }
        let rest = bytes.strip_prefix(&MAGIC).ok_or_else(|| damaged("it does not begin like an exported run"))?;
        let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
        let version = u16::from_le_bytes(*version);
        let mut reader = Self { rest, version, before: [0; 32], content_left: CONTENT_BYTES_MAX };
        if (1..=FORMAT).contains(&version) {
            return Ok(reader);
        }
        // Only what fits its checksum is of a later version; everything else is damaged.
        reader.next()?;
        Err(if version > FORMAT {
            newer(version)
        } else {
            damaged(format!("there is no version {version} of this form"))
        })
    }

    pub(super) fn next(&mut self) -> Result<Section<'a>, StoreError> {
        let (header, rest) = self.rest.split_at_checked(HEADER_BYTES).ok_or_else(cut)?;
        let mut kind = [0; 4];
        kind.copy_from_slice(&header[..4]);
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&header[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let (length, stored_length) = (number(4), number(12));
        let stored_length_here = usize::try_from(stored_length).map_err(|_| cut())?;
        let (stored, rest) = rest.split_at_checked(stored_length_here).ok_or_else(cut)?;
        let sum = checksum(&self.before, self.version, kind, [length, stored_length], stored);
        if sum != header[20..] {
            return Err(damaged("a part of it does not match its checksum"));
        }
        (self.rest, self.before) = (rest, sum);
        Ok(Section { kind, length, stored })
    }

    /// The content of a section, never more than it claims to be and than all of them may have.
    pub(super) fn content(&mut self, section: &Section<'_>) -> Result<Vec<u8>, StoreError> {
        let left = self.content_left.checked_sub(section.length);
        self.content_left = left.ok_or_else(|| damaged(format!("it holds more than {CONTENT_BYTES_MAX} bytes")))?;
        let bad = |why: io::Error| damaged(format!("a part of it cannot be unpacked: {why}"));
        let mut decoder = zstd::stream::read::Decoder::new(section.stored).map_err(bad)?;
        decoder.window_log_max(WINDOW_LOG_MAX).map_err(bad)?;
        let room = usize::try_from(section.length.min(ROOM_BYTES)).unwrap_or_default();
        let mut content = Vec::with_capacity(room);
        decoder.take(section.length.saturating_add(1)).read_to_end(&mut content).map_err(bad)?;
        if content.len() as u64 != section.length {
            return Err(damaged("a part of it has another length than it says"));
        }
        Ok(content)
    }

    /// Refuses bytes behind the last section.
    pub(super) fn end(&self) -> Result<(), StoreError> {
        if self.rest.is_empty() { Ok(()) } else { Err(damaged("something stands behind its end")) }
    }
}

pub(super) fn damaged(what: impl Into<String>) -> StoreError {
    Damage::new(what).into()
}

fn cut() -> StoreError {
    damaged("it is cut off")
}

pub(super) fn newer(version: u16) -> StoreError {
    StoreError::Newer { what: "an exported run", found: version.into(), known: FORMAT.into() }
}
