//! Queries: everything that is read and shown. Nothing here writes.

pub(crate) mod answers;
pub(crate) mod by_age;
pub(crate) mod checkpoints;
pub(crate) mod damaged;
mod driving;
pub(crate) mod follow;
mod list_items;
pub(crate) mod runs;
pub(crate) mod short_names;
mod why;
