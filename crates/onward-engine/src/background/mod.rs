//! A driver without a terminal: it goes on alone, and keeps the machine awake where it was asked to.

mod awake;
mod hand_over;
pub mod timer;
pub(crate) mod waiting_runs;

pub use awake::Awake;
pub(crate) use hand_over::log_path;
pub use hand_over::{Detached, HandOver, detach};
pub use waiting_runs::WaitingRun;
