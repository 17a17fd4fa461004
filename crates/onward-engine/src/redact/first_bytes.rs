//! Places at which a secret may begin, told by the next three bytes: almost all of a harmless stream is passed over here.

use super::More;
use super::escapes::is_unseen;

/// The bits of the set of threes, as a power of two. A three that shares its bit with another one is looked at in vain.
const THREES_BITS: u32 = 20;
const WORD_BITS: usize = 64;

/// The first bytes of everything that is looked for.
pub(super) struct FirstBytes {
    /// A set of three bytes, by a bit that follows from them.
    threes: Box<[u64]>,
    pairs: Box<[bool; 1 << 16]>,
    /// For the last byte of a piece, whose successors are not known yet.
    firsts: [bool; 256],
}

impl FirstBytes {
    pub(super) fn new(all: impl Iterator<Item = [u8; 3]>) -> Self {
        let mut threes = vec![0; (1 << THREES_BITS) / WORD_BITS].into_boxed_slice();
        let mut pairs = vec![false; 1 << 16].into_boxed_slice();
        let mut firsts = [false; 256];
        for [first, second, third] in all {
            let bit = three(first, second, third);
            threes[bit / WORD_BITS] |= 1 << (bit % WORD_BITS);
            pairs[pair(first, second)] = true;
            firsts[usize::from(first)] = true;
        }
        let pairs = pairs.try_into().expect("the slice was made with this length");
        Self { threes, pairs, firsts }
    }

    /// The next place where a secret may begin, or the end.
    pub(super) fn next(&self, bytes: &[u8], from: usize, more: More) -> usize {
        let mut from = from;
        while let Some(at) = bytes[from..].windows(2).position(|two| self.pairs[pair(two[0], two[1])]) {
            let at = from + at;
            // Of what a terminal obeys behind the first letter any byte may be the next.
            if is_unseen(bytes[at + 1])
                || bytes.get(at + 2).is_none_or(|&third| self.has(bytes[at], bytes[at + 1], third))
            {
                return at;
            }
            from = at + 1;
        }
        match bytes[from..].last() {
            Some(&last) if more == More::Yes && self.firsts[usize::from(last)] => bytes.len() - 1,
            Some(_) | None => bytes.len(),
        }
    }

    fn has(&self, first: u8, second: u8, third: u8) -> bool {
        let bit = three(first, second, third);
        self.threes[bit / WORD_BITS] >> (bit % WORD_BITS) & 1 == 1
    }
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

fn three(first: u8, second: u8, third: u8) -> usize {
    let number = u32::from_le_bytes([first, second, third, 0]);
    // By the golden ratio, so that bytes that are close to each other are spread.
    (number.wrapping_mul(0x9e37_79b1) >> (u32::BITS - THREES_BITS)) as usize
}
