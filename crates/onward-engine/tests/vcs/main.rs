//! Version control on real repositories with the real program.

mod commits;
mod keeping;
mod kills;
mod random;
mod restores;
mod snapshots;
mod world;
