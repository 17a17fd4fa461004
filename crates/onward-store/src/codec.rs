//! The envelope around every stored value: format, flags, checksum, payload.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | format, now 1; 0 has the same form and was written before the first release. A higher one was written by a later version and is refused, never guessed at |
//! | 1 | flags: 1 the payload is compressed, 2 the payload only names a blob |
//! | 8 | the first bytes of the BLAKE3 hash of format, flags and payload |
//! | rest | payload |
//!
//! These four parts are the same in every format to come, and the hash is taken over the format that stands there. So a
//! flipped bit in the format is damage, and only a value that fits its hash is of a later version.
//!
//! A compressed payload starts with the plain length as eight bytes, little end first. A payload that names a blob is
//! its id (32 bytes, the BLAKE3 hash of the plain value) and its plain length.

use std::{
    cell::RefCell,
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use zstd::bulk::{Compressor, Decompressor};

use onward_core::config::Compression;

use crate::{
    VALUE_BYTES_MAX,
    error::{Damage, StoreError},
};

pub(crate) const FORMAT: u8 = 1;
const COMPRESSED: u8 = 1;
const BLOB: u8 = 2;
const HEADER_BYTES: usize = 10;
/// For values that leave their row.
const COMPRESSION_LEVEL: i32 = 3;
/// For short ones, of which there are many: a higher level takes longer and saves nothing more.
const COMPRESSION_LEVEL_SHORT: i32 = 1;
/// A tool that is kept works three times as fast on a short value as a new one.
const SHORT_BYTES_MAX: usize = 16 * 1024;

thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// The BLAKE3 hash of a value, by which it is found again and shared.
pub(crate) type BlobId = [u8; 32];

/// The content of an envelope.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PackedContent {
    Plain(Vec<u8>),
    Blob { id: BlobId, bytes: u64 },
}

/// Wraps a value as it is.
pub(crate) fn plain(value: &[u8]) -> Vec<u8> {
    wrap(0, &[value])
}

/// Whether content is compressed from now on, in this process. What is stored already is read either way.
static COMPRESSING: AtomicBool = AtomicBool::new(true);

pub(crate) fn go_by(compression: Compression) {
    COMPRESSING.store(compression == Compression::On, Ordering::Relaxed);
}

/// The form of content of which nobody says anything else.
pub(crate) fn compression() -> Compression {
    if COMPRESSING.load(Ordering::Relaxed) { Compression::On } else { Compression::Off }
}

/// Wraps a value compressed, if that saves at least an eighth; otherwise as it is.
pub(crate) fn compressed(value: &[u8]) -> Vec<u8> {
    match compress(value) {
        Ok(small) if small.len() + 8 < value.len() - value.len() / 8 => {
            wrap(COMPRESSED, &[&(value.len() as u64).to_le_bytes(), &small])
        }
        Ok(_) | Err(_) => plain(value),
    }
}

fn compress(value: &[u8]) -> io::Result<Vec<u8>> {
    if value.len() > SHORT_BYTES_MAX {
        return zstd::bulk::compress(value, COMPRESSION_LEVEL);
    }
    COMPRESSOR.with_borrow_mut(|kept| match kept {
        Some(kept) => kept.compress(value),
        None => kept.insert(Compressor::new(COMPRESSION_LEVEL_SHORT)?).compress(value),
    })
}

/// Names a blob that is kept elsewhere.
pub(crate) fn blob(id: &BlobId, bytes: usize) -> Vec<u8> {
    wrap(BLOB, &[id, &(bytes as u64).to_le_bytes()])
}

fn wrap(flags: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut envelope = Vec::with_capacity(HEADER_BYTES + parts.iter().map(|part| part.len()).sum::<usize>());
    envelope.extend([FORMAT, flags]);
    envelope.extend(checksum([FORMAT, flags], parts));
    for part in parts {
        envelope.extend_from_slice(part);
    }
    envelope
}

fn checksum(format_and_flags: [u8; 2], parts: &[&[u8]]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&format_and_flags);
    for part in parts {
        hasher.update(part);
    }
    let mut short = [0; 8];
    short.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    short
}

/// Opens an envelope. The checksum is compared before anything else is believed, the format included.
pub(crate) fn open(envelope: &[u8]) -> Result<PackedContent, StoreError> {
    let Some((header, payload)) = envelope.split_at_checked(HEADER_BYTES) else {
        return Err(damaged("a stored value is too short"));
    };
    let (format, flags) = (header[0], header[1]);
    if checksum([format, flags], &[payload]) != header[2..] {
        return Err(damaged("a stored value does not match its checksum"));
    }
    if format > FORMAT {
        return Err(StoreError::Newer { what: "a stored value", found: format.into(), known: FORMAT.into() });
    }
    match flags {
        0 => Ok(PackedContent::Plain(payload.to_vec())),
        COMPRESSED => decompress(payload).map(PackedContent::Plain),
        BLOB => blob_name(payload),
        other => Err(StoreError::Newer { what: "the flags of a stored value", found: other.into(), known: 2 }),
    }
}

/// The content of an envelope without checking it: to be shown, never to be used.
pub(crate) fn raw(envelope: &[u8]) -> PackedContent {
    let Some((header, payload)) = envelope.split_at_checked(HEADER_BYTES) else {
        return PackedContent::Plain(envelope.to_vec());
    };
    let as_it_is = || PackedContent::Plain(payload.to_vec());
    match header[1] {
        COMPRESSED => decompress(payload).map_or_else(|_| as_it_is(), PackedContent::Plain),
        BLOB => blob_name(payload).unwrap_or_else(|_| as_it_is()),
        _ => as_it_is(),
    }
}

fn expand(data: &[u8], length: usize) -> io::Result<Vec<u8>> {
    if length > SHORT_BYTES_MAX {
        return zstd::bulk::decompress(data, length);
    }
    DECOMPRESSOR.with_borrow_mut(|kept| match kept {
        Some(kept) => kept.decompress(data, length),
        None => kept.insert(Decompressor::new()?).decompress(data, length),
    })
}

fn decompress(payload: &[u8]) -> Result<Vec<u8>, StoreError> {
    let Some((length, data)) = payload.split_first_chunk::<8>() else {
        return Err(damaged("a compressed value is too short"));
    };
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    if length > VALUE_BYTES_MAX {
        return Err(damaged("a compressed value claims to be larger than any value may be"));
    }
    match expand(data, length) {
        Ok(value) if value.len() == length => Ok(value),
        Ok(_) => Err(damaged("a compressed value has the wrong length")),
        Err(error) => Err(damaged(&format!("a value cannot be decompressed: {error}"))),
    }
}

fn blob_name(payload: &[u8]) -> Result<PackedContent, StoreError> {
    let name = payload.split_first_chunk::<32>().and_then(|(id, rest)| Some((id, rest.first_chunk::<8>()?)));
    match name {
        Some((id, bytes)) if payload.len() == 40 => {
            Ok(PackedContent::Blob { id: *id, bytes: u64::from_le_bytes(*bytes) })
        }
        _ => Err(damaged("the name of a blob has the wrong length")),
    }
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(Damage::new(what))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fuzz_dice;

    proptest! {
        #[test]
        fn what_goes_in_comes_out(value in prop::collection::vec(any::<u8>(), 0..5000)) {
            prop_assert_eq!(open(&plain(&value)).ok(), Some(PackedContent::Plain(value.clone())));
            prop_assert_eq!(open(&compressed(&value)).ok(), Some(PackedContent::Plain(value)));
        }

        #[test]
        fn no_flipped_bit_goes_unnoticed(value in prop::collection::vec(0u8..4, 0..600), bit in any::<prop::sample::Index>()) {
            for mut envelope in [plain(&value), compressed(&value), blob(&[7; 32], value.len())] {
                let bit = bit.index(envelope.len() * 8);
                envelope[bit / 8] ^= 1 << (bit % 8);
                prop_assert!(open(&envelope).is_err());
            }
        }

        #[test]
        fn no_bytes_at_all_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(open(&bytes));
            drop(raw(&bytes));
        }
    }

    #[test]
    fn a_later_format_is_refused_by_name() {
        let mut envelope = vec![2, 0];
        envelope.extend(checksum([2, 0], &[b"x"]));
        envelope.push(b'x');
        assert!(matches!(open(&envelope), Err(StoreError::Newer { found: 2, known: 1, .. })));
    }

    /// Each byte of each header becomes each other byte. That is damage and never a later version.
    #[test]
    fn a_changed_header_is_damage_and_nothing_newer() {
        let mut tried = 0;
        for envelope in [plain(b""), plain(b"onward"), compressed(&[b'a'; 9000]), blob(&[7; 32], 9000)] {
            for (at, by) in (0..HEADER_BYTES).flat_map(|at| (1..=u8::MAX).map(move |by| (at, by))) {
                let mut changed = envelope.clone();
                changed[at] ^= by;
                let opened = open(&changed);
                assert!(matches!(opened, Err(StoreError::Damaged(_))), "byte {at} changed by {by:#x}: {opened:?}");
                drop(raw(&changed));
                tried += 1;
            }
        }
        assert_eq!(tried, 4 * HEADER_BYTES * 255);
    }

    /// Envelopes with changed bytes, every other one with a checksum that fits again: damage, or a value that can be stored again. Only
    /// one whose checksum fits is ever of a later version.
    #[test]
    fn fuzz_codec() {
        let (length, mut dice) = fuzz_dice::asked();
        let samples = [plain(b"onward"), compressed(&[b'a'; 9000]), compressed(&[7; 40]), blob(&[7; 32], 9000)];
        let mut count = fuzz_dice::FuzzCount::new("codec", length);
        while count.goes_on() {
            let mut taken = 0;
            let mut envelope = samples[dice.below(samples.len())].clone();
            dice.mutate(&mut envelope);
            let fits = dice.below(2) == 0 && envelope.len() >= HEADER_BYTES;
            if fits {
                let short = checksum([envelope[0], envelope[1]], &[&envelope[HEADER_BYTES..]]);
                envelope[2..HEADER_BYTES].copy_from_slice(&short);
            }
            match open(&envelope) {
                Ok(PackedContent::Plain(value)) => {
                    assert_eq!(open(&compressed(&value)).ok(), Some(PackedContent::Plain(value)));
                    taken = 1;
                }
                Ok(PackedContent::Blob { .. }) => taken = 1,
                Err(StoreError::Newer { .. }) => assert!(fits, "{envelope:?} is called newer"),
                Err(_) => {}
            }
            drop(raw(&envelope));
            count.tried(taken);
        }
        count.tell();
    }

    #[test]
    fn what_was_stored_once_is_read_for_ever() {
        // Never adapted: a new format gets lines of its own.
        let stored = [
            ("0000fa3dcee8d235b4886f6e77617264", PackedContent::Plain(b"onward".to_vec())),
            (
                "0001018f299165303d8c282300000000000028b52ffd6028224d0000106161010023830758",
                PackedContent::Plain(vec![b'a'; 9000]),
            ),
            (
                "0002e68ff3a90970aeb807070707070707070707070707070707070707070707070707070707070707072823000000000000",
                PackedContent::Blob { id: [7; 32], bytes: 9000 },
            ),
        ];
        for (hex, content) in stored {
            let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16));
            let bytes: Vec<u8> = bytes.collect::<Result<_, _>>().expect("hexadecimal digits");
            assert_eq!(open(&bytes).expect("a format that is known"), content);
        }
    }

    #[test]
    fn compression_is_kept_only_where_it_helps() {
        assert!(compressed(&[b'a'; 10_000]).len() < 200, "a run of one letter must shrink");
        let noise: Vec<u8> =
            (0..10_000u32).flat_map(|n| blake3::hash(&n.to_le_bytes()).as_bytes()[..1].to_vec()).collect();
        assert_eq!(compressed(&noise), plain(&noise));
    }
}
