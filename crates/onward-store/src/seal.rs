//! A short checksum over the columns of a row.
//!
//! `SQLite` notices a flipped bit in its page structure, but not one in a value. Values of the callers have a checksum in
//! their envelope; the seal is for the narrow columns beside them, such as a status or a position.

pub(crate) struct Seal(blake3::Hasher);

pub(crate) const SEAL_BYTES: usize = 8;

impl Seal {
    /// The name of the table goes in first, so that a row cannot pass for one of another table.
    pub(crate) fn new(table: &str) -> Self {
        Self(blake3::Hasher::new()).text(table)
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(crate) fn number(mut self, number: i64) -> Self {
        self.0.update(&number.to_le_bytes());
        self
    }

    pub(crate) fn finish(self) -> [u8; SEAL_BYTES] {
        let mut short = [0; SEAL_BYTES];
        short.copy_from_slice(&self.0.finalize().as_bytes()[..SEAL_BYTES]);
        short
    }

    pub(crate) fn fits(self, stored: &[u8]) -> bool {
        self.finish() == *stored
    }
}
