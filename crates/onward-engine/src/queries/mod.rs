//! Looking: everything that is read and shown. Nothing here writes.

pub(crate) mod damaged;
pub(crate) mod runs;
