//! A driver without a terminal: it goes on alone, and keeps the machine awake where it was asked to.

mod awake;
mod hand_over;
pub(crate) mod keep;
pub mod timer;

pub use awake::Awake;
pub(crate) use hand_over::log_path;
pub use hand_over::{Detached, HandOver, detach};
pub use keep::Kept;
