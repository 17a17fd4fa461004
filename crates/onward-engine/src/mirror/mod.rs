//! Files of other tools that are kept as the run stands.

mod mirrors;

pub(crate) use mirrors::{KnownMirrors, Mirrors, edited, is_as_written, is_ours, written};
