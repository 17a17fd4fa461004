//! Files of other tools that are kept as the run stands.

mod mirrors;

pub(crate) use mirrors::{Mirrors, edited, is_ours};
