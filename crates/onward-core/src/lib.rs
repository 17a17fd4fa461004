//! The words of onward and every decision it takes. Pure: no files, no clock, no randomness, no threads.

pub mod id;
pub mod plan;
