//! One run as one file: its journal, its checkpoints, kept artifacts, and, where they are wanted, its snapshots as a git bundle.
//!
//! `docs/export.md` describes the form byte by byte. A file is written whole and read whole, and what [`read`] gives back is checked:
//! every byte is covered by a checksum, the version included; sizes are compared with limits before anything is unpacked; names are
//! names and no paths that lead out. What the journal says nobody here knows.

mod artifact;
mod model;
mod read;
mod section;
#[cfg(test)]
mod tests;
mod write;

pub use artifact::digest;
pub use model::{ArtifactEntry, ArtifactEntryKind, PortableArtifact, PortableCheckpoint, PortableHead, PortableRun};
pub use read::read;
pub use section::{FILE_BYTES_MAX, FORMAT, MAGIC, is_one};
pub use write::write;
