//! Files of other tools that hold the state of some work: read into a run, and written from one.
//!
//! Pure: [`read`] makes a [`TakenRun`] of a document, [`export`] a document of a checkpoint. What a file says beyond what is
//! understood stays in the run as it was; [`export`] puts what has changed since back into that very document.

mod checkpoint_form;
mod crunch;
mod export;
mod fields;
mod merge;
mod model;
mod numbered;
mod phases;
mod pipeline_state;
mod read;
mod schema_versions;
mod schemas;
mod summary;
mod validate;
mod workflow;
mod yaml;

pub use crunch::{IndexEntry, crunch_entry, crunch_index};
pub use export::{as_it_stands, export, skeleton};
pub use model::{BadFile, TakenRun};
pub(crate) use numbered::counted_fields;
pub use read::{FILE_BYTES_MAX, document, is_index, read, recognise};
pub use schema_versions::{SCHEMA_VERSIONS, upgraded};
pub use schemas::{schema, schema_names};
pub use summary::summary;
pub use yaml::to_yaml;
