//! Bytes that are changed at random, the same way for the same seed, for as long as is wanted.
#![expect(clippy::disallowed_methods, reason = "the tests take the time, and are told how long to go on")]
#![expect(clippy::print_stdout, reason = "a figure for whoever fuzzes for long")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// No text may take longer to read, also in a build without optimisation.
const READ_SECONDS_MAX: u64 = 10;
const CHANGES_MAX: usize = 6;
const COPIED_BYTES_MAX: usize = 60;
/// The figures so far are told that often: whoever ends it sooner has them.
const TOLD_EVERY: Duration = Duration::from_secs(10);

pub(crate) struct ByteDice(u64);

impl ByteDice {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (end.max(1) as u64)).expect("it is below a usize")
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, words: &[&[u8]]) {
        for _ in 0..=self.below(CHANGES_MAX) {
            let at = self.below(bytes.len() + 1);
            let any = u8::try_from(self.below(256)).expect("a byte");
            match self.below(8) {
                0 if at < bytes.len() => bytes[at] = any,
                1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                2 => bytes.truncate(at),
                3 => drop(bytes.drain(at..(at + self.below(20)).min(bytes.len()))),
                4 | 5 => drop(bytes.splice(at..at, words[self.below(words.len())].iter().copied())),
                6 => {
                    let word = words[self.below(words.len())].repeat(self.below(200));
                    bytes.splice(at..at, word);
                }
                _ => {
                    let copied: Vec<u8> = bytes.iter().skip(at).take(self.below(COPIED_BYTES_MAX)).copied().collect();
                    let to = self.below(bytes.len() + 1);
                    bytes.splice(to..to, copied);
                }
            }
        }
    }
}

/// Hands changed samples to a reader, which may take or refuse them (it says which) but neither fall over nor take long.
/// `ONWARD_FUZZ_SECONDS` and `ONWARD_FUZZ_SEED` make it longer and other.
pub(crate) fn fuzz(name: &str, samples: &[&[u8]], words: &[&[u8]], read: impl Fn(&[u8]) -> bool) {
    let number =
        |name: &str, otherwise: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (seconds, seed) = (number("ONWARD_FUZZ_SECONDS", 1), number("ONWARD_FUZZ_SEED", 1));
    let mut dice = ByteDice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (begun, mut tried, mut taken, mut longest) = (Instant::now(), 0_u64, 0_u64, Duration::ZERO);
    let figures = |tried: u64, taken: u64, longest: Duration| {
        let took = begun.elapsed().as_secs();
        println!("{name}: {tried} texts in {took} s, {taken} taken, the longest took {longest:?}, seed {seed}");
    };
    let mut told = begun;
    while begun.elapsed() < Duration::from_secs(seconds) {
        let mut bytes = samples[dice.below(samples.len())].to_vec();
        dice.mutate(&mut bytes, words);
        let from = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
        longest = longest.max(from.elapsed());
        let shown = || format!("{name}, seed {seed}, text {tried}: {:?}", String::from_utf8_lossy(&bytes));
        match done {
            Ok(is_taken) => taken += u64::from(is_taken),
            Err(why) => {
                println!("{}", shown());
                resume_unwind(why);
            }
        }
        assert!(from.elapsed() < Duration::from_secs(READ_SECONDS_MAX), "{:?} for {}", from.elapsed(), shown());
        tried += 1;
        if told.elapsed() >= TOLD_EVERY {
            told = Instant::now();
            figures(tried, taken, longest);
        }
    }
    figures(tried, taken, longest);
}
