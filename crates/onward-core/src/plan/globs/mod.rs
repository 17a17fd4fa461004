//! Globs: paths that a pattern means.

mod matching;
mod overlap;
mod tokens;

pub use matching::{Globs, NoGlob, fixed_part};
pub use overlap::may_overlap;
pub(in crate::plan) use tokens::GLOB_CHARS_MAX;
