//! Checkpoints: the run as it stood at a position of its journal, as a document for people and other tools.
//!
//! Taken, a checkpoint is a [`Kernel`], or a patch of the kernel before it: what changed, and no more. Read, it is a
//! [`Checkpoint`]: the kernel with everything that follows from it worked out.

mod assemble;
mod compare;
mod kernel;
mod model;
mod saved;
mod sections;

pub use assemble::{BadDocument, assemble, keyframe};
pub use compare::{Differences, PhaseChange, ValueChange, ValueOp, compare, values};
pub use kernel::{
    CheckpointBytes, CheckpointHead, Fixed, Kernel, NewCheckpointDocument, PatchDebt, reads_back, taken, whole,
};
pub use model::*;
pub use saved::saved_form;
pub use sections::*;
