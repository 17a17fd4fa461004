//! Bytes that are changed at random, the same way for the same seed.

use std::time::{Duration, Instant};

/// The figures so far are told that often: whoever ends it sooner has them.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// How long is wanted, and the dice of the seed: `ONWARD_FUZZ_SECONDS` and `ONWARD_FUZZ_SEED`.
pub(crate) fn asked() -> (Duration, FuzzDice) {
    let number =
        |name: &str, otherwise: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let seed = number("ONWARD_FUZZ_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (Duration::from_secs(number("ONWARD_FUZZ_SECONDS", 1)), FuzzDice(seed))
}

pub(crate) struct FuzzDice(u64);

/// The count of what was tried, told along the way and at the end.
pub(crate) struct FuzzCount {
    of: &'static str,
    length: Duration,
    begun: Instant,
    told: Instant,
    tried: u64,
    taken: u64,
}

impl FuzzCount {
    pub(crate) fn new(of: &'static str, length: Duration) -> Self {
        let begun = Instant::now();
        Self { of, length, begun, told: begun, tried: 0, taken: 0 }
    }

    /// Whether there is time for another one.
    pub(crate) fn goes_on(&mut self) -> bool {
        if self.told.elapsed() >= TOLD_EVERY {
            self.told = Instant::now();
            self.tell();
        }
        self.begun.elapsed() < self.length
    }

    pub(crate) fn tried(&mut self, is_taken: u64) {
        self.tried += 1;
        self.taken += is_taken;
    }

    pub(crate) fn tell(&self) {
        println!("{}: {} in {} s, {} taken", self.of, self.tried, self.begun.elapsed().as_secs(), self.taken);
    }
}

impl FuzzDice {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (end.max(1) as u64)).unwrap_or(0)
    }

    pub(crate) fn byte(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap_or(0)
    }

    pub(crate) fn mutate(&mut self, bytes: &mut Vec<u8>) {
        const WORDS: [&[u8]; 8] =
            [b"18446744073709551615", b"-1", b"\"", b"[[[[[[[[", b"../", b"\n", b"null", b"1e999"];
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(6) {
                0 if !bytes.is_empty() => bytes[at] = self.byte(),
                1 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                2 => bytes.truncate(at),
                3 => drop(bytes.drain(at..(at + self.below(20)).min(bytes.len()))),
                4 => drop(bytes.splice(at..at, WORDS[self.below(WORDS.len())].iter().copied())),
                _ => {
                    let copied: Vec<u8> = bytes.iter().skip(at).take(self.below(40)).copied().collect();
                    bytes.splice(at..at, copied);
                }
            }
        }
    }
}
