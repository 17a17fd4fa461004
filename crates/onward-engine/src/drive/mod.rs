//! Going on with a run: the one place where facts are decided and made durable, and the loop around it.

pub(crate) mod committer;
mod driver;
pub(crate) mod inbox;
#[cfg(test)]
mod tests;

pub use committer::{Arrived, Committer};
pub use driver::Driver;
