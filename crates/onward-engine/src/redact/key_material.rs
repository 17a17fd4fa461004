//! How far a block with a private key goes that may never end: as far as what follows looks like a key.

/// A block without an end is over here in any case.
const BLOCK_BYTES_MAX: usize = 32 * 1024;
/// So much may stand between two pieces of a key: the header of a block, a short last line, whatever a program puts before each line.
const OTHER_BYTES_MAX: usize = 1024;
/// Digits of base64 in a row that are a piece of a key, if they are as mixed as those of a key: a path or a hash is none.
const PIECE_DIGITS_MIN: usize = 12;

/// Where in a block the stream stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyMaterial {
    bytes: usize,
    /// Since the last piece of a key.
    others: usize,
    piece: KeyPiece,
}

/// Digits of base64 in a row, and which there are among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct KeyPiece {
    digits: usize,
    capitals: usize,
    small: usize,
    numbers: usize,
}

impl KeyMaterial {
    /// The place behind one more byte of the block; none where the block is over before it.
    pub(super) fn with(self, byte: u8) -> Option<Self> {
        let piece = self.piece.with(byte);
        let others = if piece.is_of_a_key() { 0 } else { self.others + 1 };
        let over = others > OTHER_BYTES_MAX || self.bytes == BLOCK_BYTES_MAX;
        (!over).then_some(Self { bytes: self.bytes + 1, others, piece })
    }
}

impl KeyPiece {
    fn with(self, byte: u8) -> Self {
        let Self { digits, capitals, small, numbers } = self;
        let digits = digits + 1;
        match byte {
            b'A'..=b'Z' => Self { digits, capitals: capitals + 1, ..self },
            b'a'..=b'z' => Self { digits, small: small + 1, ..self },
            b'0'..=b'9' => Self { digits, numbers: numbers + 1, ..self },
            b'+' | b'/' => Self { digits, ..self },
            _ => Self::default(),
        }
    }

    fn is_of_a_key(self) -> bool {
        self.digits >= PIECE_DIGITS_MIN && self.capitals > 0 && self.small > 0 && self.numbers > 0
    }
}
