//! Ids that people read: made from what they name, unique even within one second.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::id::{Attempt, CheckpointId, Generation, PhaseId, RunId, Seq};

const HASH_CHARS: usize = 8;
/// By how many characters the hash grows each time an id was found taken.
const HASH_CHARS_MORE: usize = 4;
const WORD_CHARS_MAX: usize = 40;

/// `{type}_{project}_{YYYYMMDD_HHMMSS}`; from the second try on with `_2`, `_3`, … so that no two runs share an id.
pub fn run_id(kind: &str, project: &str, now: Timestamp, try_number: u32) -> RunId {
    let time = now.to_zoned(TimeZone::UTC).strftime("%Y%m%d_%H%M%S").to_string();
    let base = format!("{}_{}_{time}", word(kind), snake(project));
    RunId::new(if try_number <= 1 { base } else { format!("{base}_{try_number}") })
}

/// How often the ids of an append were found taken. A short hash is easy to type and may be taken; every further try
/// takes another and longer one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdTry(u8);

impl IdTry {
    pub const FIRST: Self = Self(0);
    /// Tries that are worth making: then the hash has so many characters that something else must be wrong.
    const LAST: Self = Self(8);

    /// The next try; none where there is no point in it.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        (self != Self::LAST).then_some(Self(self.0 + 1))
    }
}

/// `CP-{phase}-{timestamp}-{hash}`; the hash is of the run and the position, and of the try where that is not the first.
pub fn checkpoint_id(run: &RunId, phase: Option<&PhaseId>, seq: Seq, now: Timestamp, ids: IdTry) -> CheckpointId {
    let time = now.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%S").to_string();
    let place = format!("{run}\n{seq}");
    let place = if ids == IdTry::FIRST { place } else { format!("{place}\n{}", ids.0) };
    let hash = blake3::hash(place.as_bytes()).to_hex();
    let phase = phase.map_or_else(|| "run".to_owned(), |phase| word(phase.as_str()));
    let chars = HASH_CHARS + HASH_CHARS_MORE * usize::from(ids.0);
    CheckpointId::new(format!("CP-{phase}-{time}-{}", &hash[..chars]))
}

/// The idempotency key of a phase: the same for every attempt until it is deliberately done anew.
pub fn attempt_key(run: &RunId, phase: &PhaseId, generation: Generation) -> String {
    blake3::hash(format!("{run}\n{phase}\n{generation}").as_bytes()).to_hex()[..32].to_owned()
}

/// The session that an agent is told to begin: a UUID (version 8), so that it is on record before the agent starts.
pub fn session_id(run: &RunId, phase: &PhaseId, attempt: Attempt) -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&blake3::hash(format!("session\n{run}\n{phase}\n{attempt}").as_bytes()).as_bytes()[..16]);
    (bytes[6], bytes[8]) = (bytes[6] & 0x0f | 0x80, bytes[8] & 0x3f | 0x80);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The key of "the same work": the plan at this path with these inputs.
pub fn work_key<'a>(plan_path: &str, inputs: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut field = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    field(plan_path);
    for (name, value) in inputs {
        field(name);
        field(value);
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// A name as it stands in the id of a run: lower case, words joined by `_`; never empty.
fn snake(text: &str) -> String {
    let word = word(text).to_lowercase();
    let parts: Vec<&str> = word.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { word } else { parts.join("_") }
}

/// A name as part of an id: letters, digits, `.` and `-`, the rest as `-`; never empty.
pub fn word(text: &str) -> String {
    let mut word: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' })
        .take(WORD_CHARS_MAX)
        .collect();
    while word.contains("..") {
        word = word.replace("..", ".");
    }
    while word.starts_with(['.', '-']) {
        word.remove(0);
    }
    if word.is_empty() { "x".to_owned() } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> Timestamp {
        "2026-11-15T12:00:00Z".parse().expect("a time")
    }

    #[test]
    fn a_run_id_is_type_project_time_and_differs_within_a_second() {
        assert_eq!(run_id("implement", "auth", noon(), 1).as_str(), "implement_auth_20261115_120000");
        assert_eq!(run_id("implement", "auth", noon(), 2).as_str(), "implement_auth_20261115_120000_2");
    }

    #[test]
    fn a_project_with_an_odd_name_still_gives_an_id() {
        assert_eq!(run_id("run", "../my project", noon(), 1).as_str(), "run_my_project_20261115_120000");
        assert_eq!(word("…"), "x");
    }

    #[test]
    fn checkpoints_of_one_second_differ() {
        let run = RunId::new("run_x_1");
        let (a, b) = [1, 2].map(|seq| checkpoint_id(&run, None, Seq(seq), noon(), IdTry::FIRST)).into();
        assert!(a != b && a.as_str().starts_with("CP-run-20261115T120000-"), "{a} {b}");
    }

    #[test]
    fn the_key_changes_with_run_phase_and_generation_only() {
        let key = |run: &str, phase: &str, generation| {
            attempt_key(&RunId::new(run), &PhaseId::new(phase), Generation(generation))
        };
        assert_eq!(key("r", "a", 1), key("r", "a", 1));
        assert!(
            key("r", "a", 1) != key("r", "a", 2)
                && key("r", "a", 1) != key("r", "b", 1)
                && key("r", "a", 1) != key("q", "a", 1)
        );
    }
}
