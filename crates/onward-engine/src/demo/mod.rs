//! The demonstration: a plan of its own, in a folder of its own, run by real processes that are really killed.

mod stage;

pub use stage::{DemoCommand, DemoStage, Killed};
