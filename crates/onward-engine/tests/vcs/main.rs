//! What onward does with git, on real repositories with the real program.

mod commits;
mod pictures;
mod restores;
mod world;
