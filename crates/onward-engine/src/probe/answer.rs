//! How much of a probe's answer is kept.

use onward_core::evidence::ProbeSeen;

use crate::redact;

/// Characters of a probe's answer that are kept.
const EXCERPT_CHARS_MAX: usize = 120;

/// Only a hash is kept, and enough of the beginning to tell a person what it is about.
pub(super) fn answer(output: &[u8]) -> ProbeSeen {
    let hash = blake3::hash(output).to_hex().to_string();
    ProbeSeen { hash: Some(hash), excerpt: excerpt(&String::from_utf8_lossy(output)) }
}

pub(super) fn excerpt(text: &str) -> String {
    let clean = redact::secrets().text(text.trim()).into_owned();
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = line.chars().take(EXCERPT_CHARS_MAX).collect();
    if line.chars().count() > EXCERPT_CHARS_MAX {
        short.push('…');
    }
    short
}
