//! How attempts are performed.

pub(crate) mod shell;
