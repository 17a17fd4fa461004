//! From a checked tree to the model. Values that the checker refused are left out, so that the rest can still be looked at.

mod freshness;
mod layers;
mod parts;
mod phase;
mod plan;

pub(super) use layers::texts;
pub(super) use parts::matrix;
pub(super) use phase::{Draft, drafts};
pub(super) use plan::{input, plan};
