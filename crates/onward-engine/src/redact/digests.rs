//! Tells whether somebody knows a set of secrets, without saying what they are.
//!
//! Each attempt has a salt of its own, so that the digests of one say nothing about another. Whoever can read them can still try
//! guesses: they stay in the folder of the attempt, which is the user's alone.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};

use blake3::Hash;
use serde::{Deserialize, Serialize};

use super::Secrets;

/// More secrets than this are not told apart: the record that holds their digests stays small.
const DIGESTS_MAX: usize = 1_000;

/// Of a digest so many hexadecimal digits are kept.
const DIGEST_DIGITS: usize = 16;

/// The salted digests of all values of a set of secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    salt: String,
    values: BTreeSet<String>,
}

impl Digests {
    /// None where there are too many of them.
    pub(crate) fn new(secrets: &Secrets) -> io::Result<Option<Self>> {
        if secrets.values.len() > DIGESTS_MAX {
            return Ok(None);
        }
        let mut salt = [0; blake3::KEY_LEN];
        File::open("/dev/urandom")?.read_exact(&mut salt)?;
        let salt = Hash::from_bytes(salt);
        Ok(Some(Self { salt: salt.to_hex().to_string(), values: digests(&salt, secrets) }))
    }

    /// Whether each of the secrets behind the digests is one of these.
    pub(crate) fn are_known_to(&self, secrets: &Secrets) -> bool {
        let Ok(salt) = Hash::from_hex(&self.salt) else { return false };
        self.values.is_subset(&digests(&salt, secrets))
    }
}

fn digests(salt: &Hash, secrets: &Secrets) -> BTreeSet<String> {
    let digest = |value: &Vec<u8>| blake3::keyed_hash(salt.as_bytes(), value).to_hex()[..DIGEST_DIGITS].to_owned();
    secrets.values.iter().map(digest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(&values.iter().map(|value| value.as_bytes().to_vec()).collect::<Vec<_>>())
    }

    fn digests_of(secrets: &Secrets) -> Digests {
        Digests::new(secrets).expect("random bytes").expect("few secrets")
    }

    /// Somebody knows all secrets of an attempt, or more, or one too few. Only the last one does not know them; and no two attempts
    /// have the same digests.
    #[test]
    fn all_secrets_are_known_or_they_are_not() {
        let two = secrets(&["correct-horse", "battery-staple", "short"]);
        let digests = digests_of(&two);
        assert!(digests.are_known_to(&two));
        assert!(digests.are_known_to(&secrets(&["battery-staple", "something-else", "correct-horse"])));
        assert!(!digests.are_known_to(&secrets(&["correct-horse"])));
        assert!(digests_of(&secrets(&[])).are_known_to(&secrets(&[])));
        assert!(digests.values.is_disjoint(&digests_of(&two).values));
    }

    /// An environment has more secrets than are told apart. Nobody is said to know them.
    #[test]
    fn too_many_secrets_are_not_told_apart() {
        let many: Vec<Vec<u8>> = (0..=DIGESTS_MAX).map(|number| format!("secret-{number:06}").into_bytes()).collect();
        assert_eq!(Digests::new(&Secrets::new(&many)).expect("random bytes"), None);
    }
}
