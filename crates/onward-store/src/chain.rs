//! The hashes that tie each record to all records before it, and each patch to what it changes.

use onward_core::id::{RunId, Seq};

pub(crate) type Hash = [u8; 32];

/// The hash that the first record of a run is chained to: made of the run id, so that a journal cannot pass for another
/// run's.
pub(crate) fn start(run: &RunId) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"onward journal 0\n");
    hasher.update(run.as_str().as_bytes());
    *hasher.finalize().as_bytes()
}

/// The hash of one record. The length of the actor stands before it, so that no byte can move from one field to the
/// next without being noticed.
pub(crate) fn next(previous: &Hash, seq: Seq, at_micros: i64, actor: &str, body: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous);
    hasher.update(&seq.0.to_le_bytes());
    hasher.update(&at_micros.to_le_bytes());
    hasher.update(&(actor.len() as u64).to_le_bytes());
    hasher.update(actor.as_bytes());
    hasher.update(body);
    *hasher.finalize().as_bytes()
}

/// The hash of a whole checkpoint document.
pub(crate) fn whole(bytes: &[u8]) -> Hash {
    *blake3::hash(bytes).as_bytes()
}

/// The hash of a patch: over itself and everything that it changes.
pub(crate) fn patch(previous: &Hash, bytes: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous);
    hasher.update(bytes);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_changes_the_hash() {
        let first = start(&RunId::new("a"));
        let plain = next(&first, Seq(1), 7, "ab", b"c");
        let others = [
            next(&start(&RunId::new("b")), Seq(1), 7, "ab", b"c"),
            next(&first, Seq(2), 7, "ab", b"c"),
            next(&first, Seq(1), 8, "ab", b"c"),
            next(&first, Seq(1), 7, "a", b"bc"),
            next(&first, Seq(1), 7, "ab", b"d"),
        ];
        assert!(others.iter().all(|other| *other != plain), "a change went unnoticed");
    }
}
