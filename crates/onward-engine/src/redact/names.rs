//! Which variables hold secrets, by their names.

use serde::{Deserialize, Serialize};

/// A name that is one of these, or ends in one, is the name of a secret.
const ENDS: [&str; 11] =
    ["TOKEN", "SECRET", "KEY", "PASSWORD", "PASSWD", "_PASS", "_PWD", "_PAT", "_AUTH", "DSN", "CREDENTIALS"];

/// Names that the configuration adds to those that say it themselves, and names that it takes out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretNames {
    pub more: Vec<String>,
    pub except: Vec<String>,
}

impl SecretNames {
    /// Whether the value under this name is secret.
    pub fn mean(&self, name: &[u8]) -> bool {
        !self.take_out(name) && (names_a_secret(name) || has(&self.more, name))
    }

    /// Whether the configuration says that what stands under this name is no secret.
    pub(super) fn take_out(&self, name: &[u8]) -> bool {
        has(&self.except, name)
    }
}

fn has(names: &[String], name: &[u8]) -> bool {
    names.iter().any(|listed| listed.as_bytes().eq_ignore_ascii_case(name))
}

/// Whether a name says that the value under it is secret. The idempotency key of a phase is called a key and is none.
pub fn names_a_secret(name: &[u8]) -> bool {
    let name = name.to_ascii_uppercase();
    name != b"ONWARD_KEY" && ENDS.iter().any(|end| name.ends_with(end.as_bytes()))
}
