//! Names of files that hold a secret, as they are kept: cut, with a keyed hash of the whole name behind the cut. So they are
//! told apart, and known again by whoever has the key of the store, also where the secret is not known any more.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blake3::Hash;
use onward_core::evidence::Evidence;

use super::distinct_marks::{DIGITS, SIGN};
use super::input_key::{keep_key, key_of};
use super::{MARK, Secrets, secrets};

/// Whether names are looked up only, or are to be put on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamesFor {
    /// Nothing is written.
    Comparison,
    /// The key is kept, so that the names are known tomorrow.
    Record,
}

pub(crate) struct FileNames {
    secrets: Arc<Secrets>,
    store: PathBuf,
    names_for: NamesFor,
    /// None where it cannot be had.
    key: OnceCell<Option<Hash>>,
    /// Names on record that were cut, by their digits.
    on_record: BTreeMap<String, String>,
}

impl FileNames {
    pub(crate) fn new(store: &Path, names_for: NamesFor) -> Self {
        let (store, key, on_record) = (store.to_owned(), OnceCell::new(), BTreeMap::new());
        Self { secrets: secrets(), store, names_for, key, on_record }
    }

    /// The same, to be compared with names that are on record.
    pub(crate) fn beside<'a>(self, names: impl Iterator<Item = &'a String>) -> Self {
        let on_record = names.filter_map(|name| Some((digits_in(name)?.to_owned(), name.clone()))).collect();
        Self { on_record, ..self }
    }

    /// A name as it is kept; none where it holds a secret and there is no key to tell it by.
    pub(crate) fn kept<'a>(&self, name: &'a str) -> Option<Cow<'a, str>> {
        if !self.on_record.is_empty()
            && let Some(known) = self.digits(name).and_then(|digits| self.on_record.get(&digits))
        {
            return Some(Cow::Owned(known.clone()));
        }
        let Cow::Owned(cut) = self.secrets.text(name) else { return Some(Cow::Borrowed(name)) };
        Some(Cow::Owned(cut.replacen(MARK, &format!("{MARK}{SIGN}{}", self.digits(name)?), 1)))
    }

    fn digits(&self, name: &str) -> Option<String> {
        let key = self.key.get_or_init(|| {
            if self.names_for == NamesFor::Record {
                keep_key(&self.store).ok()?;
            }
            key_of(&self.store).ok()
        });
        let digest = blake3::keyed_hash(key.as_ref()?.as_bytes(), &[b"file", name.as_bytes()].join(&0)).to_hex();
        Some(digest[..DIGITS].to_owned())
    }
}

/// Whether there are names in it that are known again by the key of the store only.
pub(crate) fn are_cut_in(seen: &Evidence) -> bool {
    let names = [&seen.reads, &seen.writes].into_iter().flatten().flat_map(|files| files.files.keys());
    names.into_iter().any(|name| digits_in(name).is_some())
}

fn digits_in(name: &str) -> Option<&str> {
    let (_, behind) = name.split_once(MARK)?;
    let digits = behind.strip_prefix(SIGN)?.get(..DIGITS)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(digits)
}
