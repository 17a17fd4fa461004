//! Regular expressions that authors of plans write. Matching takes time in proportion to text and pattern, never more.

use regex_lite::{Error, Regex, RegexBuilder};

/// Memory that a compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 256 << 10;

pub(crate) fn compile(pattern: &str) -> Result<Regex, Error> {
    RegexBuilder::new(pattern).size_limit(COMPILED_BYTES_MAX).build()
}

/// Whether the text matches. Plans are checked when they are read; what does not compile matches nothing.
pub fn matches(pattern: &str, text: &str) -> bool {
    compile(pattern).is_ok_and(|regex| regex.is_match(text))
}

/// The last thing that the first group of the pattern caught, or all of the match where it has no group.
pub(crate) fn last_caught<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
    let found = compile(pattern).ok()?.captures_iter(text).last()?;
    found.get(1).or_else(|| found.get(0)).map(|value| value.as_str())
}
