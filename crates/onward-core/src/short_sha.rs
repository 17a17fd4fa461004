//! Commits as people read them.

const SHORT_SHA_CHARS: usize = 12;

/// The first characters of a commit's hash.
pub fn short_sha(commit: &str) -> String {
    commit.chars().take(SHORT_SHA_CHARS).collect()
}
