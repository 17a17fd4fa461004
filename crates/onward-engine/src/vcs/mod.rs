//! Everything that onward does with git: snapshots of the working tree, bringing them back, and mini-commits.
//!
//! The git program does the work. A repository may come from anywhere, so nothing that it brings is started: hooks and the file
//! system monitor are off, and snapshots are taken without its filters. What a user sees of git (HEAD, branches, index, stash,
//! reflog) changes only by a mini-commit that was asked for.

mod branch;
pub(crate) mod bundle;
mod call;
mod changes;
mod commit;
mod compare;
pub(crate) mod exclude;
mod filters;
mod head;
mod held_up;
mod journal_copy;
pub(crate) mod journal_piece;
mod leftover_processes;
mod linked_tree;
mod merge;
pub(crate) mod own_worktree;
mod phases_apart;
mod place;
mod plain_file;
mod repository;
mod restore;
mod run_claim;
mod scan;
mod shadow;
mod shadow_folder;
mod snapshot;
mod snapshot_refs;
pub(crate) mod tree_lock;
mod trouble;
mod why_left_out;
pub(crate) mod working_tree;
mod worktree;

pub(crate) use branch::{ask, branch, branch_fact, dirty, is_repository, lines, top};
pub use changes::{ChangeKind, PathChange};
pub use commit::{CommitRequest, Committed, Hooks, IndexAfter, NotCommitted, Whose};
pub(crate) use compare::TEXT_BYTES_MAX;
pub(crate) use filters::Filters;
pub use head::CheckedOut;
pub(crate) use journal_copy::{CopyOrigin, PACKED_BYTES_MAX, noted_end};
pub(crate) use linked_tree::linked_tree;
pub use place::KeptFile;
use plain_file::{create_anew, path_of};
pub use repository::{Repository, Without};
pub use restore::{Brought, NotRestored, RestoreTarget, RestoredTree};
pub(crate) use run_claim::RunClaim;
pub use snapshot::TreeSnapshot;
pub use trouble::GitTrouble;
pub use why_left_out::{FILE_BYTES_MAX, LeftOut, WhyLeftOut};
