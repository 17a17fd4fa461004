//! Folding one fact into the run, by theme. Facts about files, limits, notices and the like are folded where those are.

mod attempts;
mod checkpoints;
mod dispatch;
mod driver_and_stops;
mod phases;

pub(super) use phases::is_left_alone;
