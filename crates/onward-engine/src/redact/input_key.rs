//! How work with secret inputs is known again, and how texts of a plan are told apart that differ only in secrets: by a keyed hash of
//! each of them. The key is the store's own, so that whoever reads a journal elsewhere (a mirror of the snapshots, a copy of the
//! database) cannot try guesses.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use blake3::{Hash, KEY_LEN};
use jiff::Timestamp;
use onward_core::ids_and_keys;
use onward_store::private;

use crate::Onward;
use crate::error::{Error, Result};
use crate::project::RUNTIME;
use crate::redact::{self, MARK};
use crate::sys::file_lock::exclusive;

const FILE: &str = "inputs.key";
/// The key in hex.
const FILE_BYTES: u64 = 2 * KEY_LEN as u64;

/// Of a store that has no key yet: nothing in it was begun with a secret, so any key will do.
static NEW: OnceLock<Hash> = OnceLock::new();

impl Onward {
    /// By what the work of a plan with these inputs, as they are kept, is known. Nothing is written.
    pub(crate) fn work_key(&self, plan_path: &str, kept: &BTreeMap<String, String>) -> Result<String> {
        if !kept.values().any(|value| value.contains(MARK)) {
            return Ok(ids_and_keys::work_key(plan_path, kept));
        }
        let key = key_of(&self.project.store_folder())?;
        let known = |(name, value): (&String, &String)| {
            let known = if value.contains(MARK) { digest(&key, name, value) } else { value.clone() };
            (name.clone(), known)
        };
        Ok(ids_and_keys::work_key(plan_path, &kept.iter().map(known).collect::<BTreeMap<_, _>>()))
    }

    /// Whether the key by which a run's work was known may be gone: there is none, or it was made after the run.
    pub(crate) fn work_key_is_newer(&self, than: Timestamp) -> bool {
        let made = std::fs::symlink_metadata(key_path(&self.project.store_folder())).and_then(|found| found.modified());
        made.ok().and_then(|made| Timestamp::try_from(made).ok()).is_none_or(|made| made > than)
    }

    /// The same for work that begins now: the key is kept, so that the work is known tomorrow. Only for whoever keeps others from
    /// starting.
    pub(crate) fn work_key_to_keep(&self, plan_path: &str, kept: &BTreeMap<String, String>) -> Result<String> {
        if kept.values().any(|value| value.contains(MARK)) {
            keep_key(&self.project.store_folder())?;
        }
        self.work_key(plan_path, kept)
    }
}

/// The key of a store; one that is not kept yet where it has none. Nothing is written.
pub(crate) fn key_of(store: &Path) -> Result<Hash> {
    match stored_key(store)? {
        Some(key) => Ok(key),
        None => new_key(),
    }
}

/// Which key a store has in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeptKey {
    /// The one by which this process has known things so far.
    AsUsed,
    /// Somebody else was faster.
    Another,
}

/// Keeps the key that this process uses, unless the store has one.
pub(crate) fn keep_key(store: &Path) -> Result<KeptKey> {
    if let Some(stored) = stored_key(store)? {
        return Ok(as_used(stored));
    }
    // Of several that need one at once one makes it; the others must see it.
    let _alone = exclusive(&store.join(RUNTIME).join("key.lock"))?;
    if let Some(stored) = stored_key(store)? {
        return Ok(as_used(stored));
    }
    let path = key_path(store);
    let keep = |key: Hash| private::replace(&path, key.to_hex().as_bytes()).and_then(|()| private::open(&path));
    let flushed = keep(new_key()?).and_then(|file| file.sync_all());
    flushed.map_err(Error::io(format!("writing {}", path.display())))?;
    Ok(KeptKey::AsUsed)
}

fn as_used(stored: Hash) -> KeptKey {
    if NEW.get().is_none_or(|used| *used == stored) { KeptKey::AsUsed } else { KeptKey::Another }
}

/// None where there is none yet, or what is there is no key.
fn stored_key(store: &Path) -> Result<Option<Hash>> {
    let path = key_path(store);
    match private::read(&path, FILE_BYTES + 1) {
        Ok(text) => Ok(Hash::from_hex(text).ok()),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(Error::Io { what: format!("reading {}", path.display()), why }),
    }
}

fn key_path(store: &Path) -> PathBuf {
    store.join(FILE)
}

fn new_key() -> Result<Hash> {
    if let Some(key) = NEW.get() {
        return Ok(*key);
    }
    let mut bytes = [0; KEY_LEN];
    File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .map_err(Error::io("reading /dev/urandom"))?;
    Ok(*NEW.get_or_init(|| Hash::from_bytes(bytes)))
}

/// The whole input, as this process was given it, without saying what it is.
fn digest(key: &Hash, name: &str, kept: &str) -> String {
    let whole = redact::whole_input(name, kept);
    let parts = [name.as_bytes(), whole.as_bytes()].join(&0);
    format!("{kept} {}", blake3::keyed_hash(key.as_bytes(), &parts).to_hex())
}
