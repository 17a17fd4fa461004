//! What onward does with git, on real repositories with the real program.

mod pictures;
mod restores;
mod world;
