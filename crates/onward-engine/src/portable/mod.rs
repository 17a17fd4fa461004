//! A run as one file: what goes into it, and what of a file is taken. `onward_store::portable` knows the form; what the journal in it
//! says is known here.

mod artifacts;
mod checks;
mod consent;
mod export;
mod import;

pub use export::{ExportParts, Exported, Redacted, Snapshots};
pub use import::{ImportedRun, Lineage};
