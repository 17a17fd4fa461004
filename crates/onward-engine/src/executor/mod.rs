//! How attempts are performed.

pub(crate) mod agent;
pub(crate) mod shell;
pub(crate) mod tool_calls;
