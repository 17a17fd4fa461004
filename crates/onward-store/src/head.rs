//! The head file: how far the store has come, kept outside the database.
//!
//! A database that lost its last commits is whole and consistent; nothing inside it can tell. So after each commit the
//! number of the commit and the hash of the last record are written here. Being behind is normal, since the write is
//! not flushed; being ahead means that acknowledged commits are gone.
//!
//! Two slots of [`SLOT_BYTES`], used in turn by commit number, so that a torn write leaves the older one whole:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `onwhead` and the version |
//! | 16 | id of the store |
//! | 8 | commits so far, little end first |
//! | 32 | hash of the last record |
//! | 16 | the first bytes of the BLAKE3 hash of the above |

use std::{fs::File, io, os::unix::fs::FileExt, path::Path, thread, time::Duration};

use crate::{
    chain::Hash,
    folder,
    kill_point::reached,
    lock::{self, Hold},
    private,
};

const MAGIC: &[u8; 7] = b"onwhead";
/// 0 has the same form and was written before the first release.
pub(crate) const VERSION: u8 = 1;
const BODY_BYTES: usize = 64;
const SLOT_BYTES: usize = 512;
const SLOTS: usize = 2;
/// How long to wait for another writer of this file. After that the head stays behind, which is allowed.
const WAIT_STEPS_MAX: u32 = 200;
const WAIT_STEP: Duration = Duration::from_millis(1);
/// The others hold it for a few writes only, so the first times are short.
const WAIT_STEPS_SHORT: u32 = 20;
const WAIT_STEP_SHORT: Duration = Duration::from_micros(50);

pub(crate) type StoreId = [u8; 16];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreHead {
    pub(crate) store: StoreId,
    pub(crate) commits: u64,
    pub(crate) hash: Hash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadFound {
    Missing,
    Unreadable,
    /// A slot fits its checksum and has a version that this program does not know.
    Newer(u8),
    Head(StoreHead),
}

/// Reads the newer of the two slots. Call it before opening a transaction: a commit in between then makes the database
/// newer than the head, which is normal, and never the other way round.
pub(crate) fn read(path: &Path) -> HeadFound {
    match private::open(path) {
        Ok(file) => newest(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => HeadFound::Missing,
        Err(_) => HeadFound::Unreadable,
    }
}

/// Whether one of the two slots holds neither a head nor nothing at all: the other one hides it, so that only a check-up notices.
pub(crate) fn has_a_spoilt_slot(path: &Path) -> bool {
    let Ok(file) = private::open(path) else { return false };
    // Beside a writer a slot may be seen half written; one that keeps the file for long is not waited for.
    drop(wait_for_lock(&file, Hold::Shared));
    (0..SLOTS).any(|slot| {
        let mut part = [0; SLOT_BYTES];
        let read = file.read_at(&mut part, (slot * SLOT_BYTES) as u64).unwrap_or(0);
        is_spoilt(&part[..read])
    })
}

/// A slot that was never written has no bytes, or only zeros. Behind the checksum there are only zeros either.
fn is_spoilt(part: &[u8]) -> bool {
    let is_blank = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    match decode(part) {
        HeadFound::Head(_) => !is_blank(&part[BODY_BYTES + 16..]),
        HeadFound::Newer(_) => false,
        HeadFound::Missing | HeadFound::Unreadable => !is_blank(part),
    }
}

/// Moves the head forward, never back. Failing to is not an error: the commit it tells of is safe already.
pub(crate) fn advance(path: &Path, head: &StoreHead) {
    reached("head.before-write");
    if write(path, head, Overwrite::Older).is_ok() {
        reached("head.after-write");
    }
}

/// Makes the head say what the database says, even if that is less. Only for a person who has seen the alarm.
pub(crate) fn force(path: &Path, head: &StoreHead) -> io::Result<()> {
    write(path, head, Overwrite::Anything)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Overwrite {
    Older,
    Anything,
}

fn write(path: &Path, head: &StoreHead, overwrite: Overwrite) -> io::Result<()> {
    let file = open_for_writing(path)?;
    wait_for_lock(&file, Hold::Alone)?;
    if overwrite == Overwrite::Older {
        let stays = match newest(&file) {
            HeadFound::Head(old) => old.store != head.store || old.commits >= head.commits,
            HeadFound::Newer(_) => true,
            HeadFound::Missing | HeadFound::Unreadable => false,
        };
        if stays {
            return Ok(());
        }
    }
    let slot = encode(head);
    if overwrite == Overwrite::Anything {
        return file.write_all_at(&[slot, slot].concat(), 0);
    }
    let index = usize::from(head.commits % 2 == 1);
    file.write_all_at(&slot, (index * SLOT_BYTES) as u64)
}

fn open_for_writing(path: &Path) -> io::Result<File> {
    let open = || private::open_to_write(path);
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => folder::create_file(path).or_else(|_| open()),
        other => other,
    }
}

fn wait_for_lock(file: &File, hold: Hold) -> io::Result<()> {
    for step in 0..WAIT_STEPS_MAX {
        if lock::try_lock(file, hold)? {
            return Ok(());
        }
        thread::sleep(if step < WAIT_STEPS_SHORT { WAIT_STEP_SHORT } else { WAIT_STEP });
    }
    Err(io::ErrorKind::TimedOut.into())
}

fn newest(file: &File) -> HeadFound {
    let slots = (0..SLOTS).map(|slot| {
        let mut part = [0; SLOT_BYTES];
        // A slot that was never written is simply not there.
        let read = file.read_at(&mut part, (slot * SLOT_BYTES) as u64).unwrap_or(0);
        decode(&part[..read])
    });
    slots.fold(HeadFound::Unreadable, |best, slot| match (best, slot) {
        (HeadFound::Head(one), HeadFound::Head(other)) => {
            HeadFound::Head(if other.commits > one.commits { other } else { one })
        }
        (HeadFound::Newer(_), _) | (HeadFound::Head(_), HeadFound::Missing | HeadFound::Unreadable) => best,
        (HeadFound::Missing | HeadFound::Unreadable, _) | (HeadFound::Head(_), HeadFound::Newer(_)) => slot,
    })
}

fn encode(head: &StoreHead) -> [u8; SLOT_BYTES] {
    let mut slot = [0; SLOT_BYTES];
    slot[..7].copy_from_slice(MAGIC);
    slot[7] = VERSION;
    slot[8..24].copy_from_slice(&head.store);
    slot[24..32].copy_from_slice(&head.commits.to_le_bytes());
    slot[32..64].copy_from_slice(&head.hash);
    let check = blake3::hash(&slot[..BODY_BYTES]);
    slot[64..80].copy_from_slice(&check.as_bytes()[..16]);
    slot
}

/// The checksum is compared before the version is believed: a flipped bit in that is damage.
fn decode(slot: &[u8]) -> HeadFound {
    let (Some(body), Some(check)) = (slot.get(..BODY_BYTES), slot.get(BODY_BYTES..BODY_BYTES + 16)) else {
        return HeadFound::Unreadable;
    };
    if body[..7] != *MAGIC || blake3::hash(body).as_bytes()[..16] != *check {
        return HeadFound::Unreadable;
    }
    if body[7] > VERSION {
        return HeadFound::Newer(body[7]);
    }
    let mut head = StoreHead { store: [0; 16], commits: 0, hash: [0; 32] };
    head.store.copy_from_slice(&body[8..24]);
    let mut commits = [0; 8];
    commits.copy_from_slice(&body[24..32]);
    head.commits = u64::from_le_bytes(commits);
    head.hash.copy_from_slice(&body[32..64]);
    HeadFound::Head(head)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn head(commits: u64) -> StoreHead {
        StoreHead { store: [9; 16], commits, hash: [u8::try_from(commits).unwrap_or(0); 32] }
    }

    #[test]
    fn it_only_moves_forward() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("HEAD");
        assert_eq!(read(&path), HeadFound::Missing);
        for commits in [1, 2, 5, 3, 4] {
            advance(&path, &head(commits));
        }
        assert_eq!(read(&path), HeadFound::Head(head(5)));
        force(&path, &head(2)).expect("the file can be written");
        assert_eq!(read(&path), HeadFound::Head(head(2)));
    }

    #[test]
    fn a_torn_slot_leaves_the_other_one() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("HEAD");
        advance(&path, &head(4));
        advance(&path, &head(5));
        let mut bytes = fs::read(&path).expect("the head file");
        bytes[SLOT_BYTES + 30] ^= 1;
        fs::write(&path, &bytes).expect("the head file can be written");
        assert_eq!(read(&path), HeadFound::Head(head(4)));
        bytes[30] ^= 1;
        fs::write(&path, &bytes).expect("the head file can be written");
        assert_eq!(read(&path), HeadFound::Unreadable);
        advance(&path, &head(6));
        assert_eq!(read(&path), HeadFound::Head(head(6)));
    }

    /// A bit of every byte of both slots, one after the other: the other slot still says how far the store has come, and the check-up sees
    /// each of them. What was never written, or is of a later version, is not spoilt.
    #[test]
    fn a_spoilt_slot_is_seen_though_the_other_one_hides_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("HEAD");
        assert!(!has_a_spoilt_slot(&path));
        for commits in [5, 6] {
            advance(&path, &head(commits));
            assert!(!has_a_spoilt_slot(&path), "one slot may be empty");
        }
        let whole = fs::read(&path).expect("the head file");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, &bytes).expect("the head file can be written");
            assert!(has_a_spoilt_slot(&path), "byte {at}");
            assert!(matches!(read(&path), HeadFound::Head(_)), "byte {at}");
        }
        force(&path, &head(6)).expect("the file can be written");
        assert!(!has_a_spoilt_slot(&path));
    }

    /// Each byte of a slot becomes each other byte. It is never believed, and never taken for a later version.
    #[test]
    fn a_changed_slot_is_damage_and_nothing_newer() {
        let slot = encode(&head(5));
        for (at, by) in (0..BODY_BYTES + 16).flat_map(|at| (1..=u8::MAX).map(move |by| (at, by))) {
            let mut changed = slot;
            changed[at] ^= by;
            assert_eq!(decode(&changed), HeadFound::Unreadable, "byte {at} changed by {by:#x}");
        }
    }

    #[test]
    fn a_later_version_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("HEAD");
        advance(&path, &head(4));
        let mut later = encode(&head(5));
        later[7] = 3;
        let check = blake3::hash(&later[..BODY_BYTES]);
        later[64..80].copy_from_slice(&check.as_bytes()[..16]);
        let mut bytes = fs::read(&path).expect("the head file");
        bytes.resize(SLOT_BYTES, 0);
        bytes.extend(later);
        fs::write(&path, &bytes).expect("the head file can be written");
        assert_eq!(read(&path), HeadFound::Newer(3));
        advance(&path, &head(9));
        assert_eq!(fs::read(&path).expect("the head file"), bytes);
    }
}
