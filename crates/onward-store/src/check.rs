//! Checks that every backend makes before it touches anything, so that all of them refuse the same.

use onward_core::id::{RunId, Seq};

use crate::{
    VALUE_BYTES_MAX,
    error::StoreError,
    types::{Entry, NewRun, StoredContent},
};

/// Ids become names of files, which may have 255 bytes, an ending included.
const NAME_BYTES_MAX: usize = 200;
/// Positions are stored beside the number of the run in one 64-bit key.
const SEQ_MAX: u64 = u32::MAX as u64;

pub(crate) fn new_run(new: &NewRun) -> Result<(), StoreError> {
    run_name(&new.run)?;
    value(&new.summary)
}

/// A run's id names its lock file, so it must be a name and not a path.
pub(crate) fn run_name(run: &RunId) -> Result<(), StoreError> {
    let text = run.as_str();
    let bad = text.is_empty()
        || text.len() > NAME_BYTES_MAX
        || text.starts_with('.')
        || text.chars().any(|letter| letter == '/' || letter == '\\' || letter.is_control());
    if bad { Err(StoreError::BadName { what: format!("{text:?}") }) } else { Ok(()) }
}

pub(crate) fn value(bytes: &[u8]) -> Result<(), StoreError> {
    if bytes.len() > VALUE_BYTES_MAX {
        return Err(StoreError::TooLarge { bytes: bytes.len(), max: VALUE_BYTES_MAX });
    }
    Ok(())
}

pub(crate) fn entry(entry: &Entry, expected: Seq) -> Result<(), StoreError> {
    if entry.events.is_empty() && entry.checkpoints.is_empty() && entry.consumed.is_empty() {
        return Err(StoreError::EmptyEntry);
    }
    let head = expected.0.saturating_add(entry.events.len() as u64);
    if head > SEQ_MAX {
        return Err(StoreError::BadEntry { what: format!("a journal ends at record {SEQ_MAX}") });
    }
    if let Some(checkpoint) = entry.checkpoints.iter().find(|checkpoint| checkpoint.seq.0 > head) {
        let what = format!("checkpoint {} stands at {}, behind the end at {head}", checkpoint.id, checkpoint.seq);
        return Err(StoreError::BadEntry { what });
    }
    let events = entry.events.iter().map(|event| event.body.as_slice());
    let checkpoints = entry.checkpoints.iter().flat_map(|new| [new.meta.as_slice(), new.content.bytes()]);
    let replies = entry.consumed.iter().map(|consumed| consumed.reply.as_slice());
    events.chain(checkpoints).chain(replies).chain([entry.summary.as_slice()]).try_for_each(value)
}

/// Checks the checkpoints of an entry: `stored` is the number that the run has already.
pub(crate) fn contents(entry: &Entry, stored: u32) -> Result<(), StoreError> {
    let Some(first) = entry.checkpoints.first() else { return Ok(()) };
    if let (StoredContent::Patch(_), 0) = (&first.content, stored) {
        let what = format!("checkpoint {} is a patch, and the run has nothing that it could change", first.id);
        return Err(StoreError::BadEntry { what });
    }
    let count = u32::try_from(entry.checkpoints.len()).unwrap_or(u32::MAX);
    if stored.checked_add(count).is_none() {
        return Err(StoreError::BadEntry { what: format!("a run has at most {} checkpoints", u32::MAX) });
    }
    Ok(())
}

/// A fold must stand at a record that is there.
pub(crate) fn fold(seq: Seq, head: Seq) -> Result<(), StoreError> {
    if seq == Seq(0) || seq > head {
        return Err(StoreError::BadEntry {
            what: format!("there is no record {seq} to fold, the journal ends at {head}"),
        });
    }
    Ok(())
}

/// The first text that sorts behind everything that starts with `prefix`; `None` if there is no end.
pub(crate) fn end_of_prefix(prefix: &str) -> Option<String> {
    let mut letters: Vec<char> = prefix.chars().collect();
    while let Some(last) = letters.pop() {
        // The one gap in the order of letters, and the last of them, have no direct successor.
        let next = match last {
            '\u{D7FF}' => Some('\u{E000}'),
            other => char::from_u32(u32::from(other) + 1),
        };
        if let Some(next) = next {
            letters.push(next);
            return Some(letters.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_is_no_name() {
        for bad in ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "a\nb", ".hidden", &"x".repeat(201)] {
            assert!(run_name(&RunId::new(bad)).is_err(), "{bad:?} was taken");
        }
        for good in ["build_onward_20260801_120000", "x.y-z", "läuft"] {
            assert!(run_name(&RunId::new(good)).is_ok(), "{good:?} was refused");
        }
    }

    proptest! {
        #[test]
        fn the_end_of_a_prefix_splits_the_order(prefix in any::<String>(), rest in any::<String>(), other in any::<String>()) {
            if let Some(end) = end_of_prefix(&prefix) {
                let inside = format!("{prefix}{rest}");
                prop_assert!(inside < end);
                prop_assert_eq!(other >= prefix && other < end, other.starts_with(&prefix));
            }
        }
    }
}
