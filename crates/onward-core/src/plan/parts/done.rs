//! Proofs that a phase is done: artifacts, `verify`, `done-when`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredArtifact {
    pub name: String,
    /// Below the top of the project; may hold `${{ }}`.
    pub path: String,
    /// The phase is not done without it.
    pub required: bool,
    pub keep: KeepCopy,
    /// It is a research report, and has its place in the context of the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub report: bool,
    /// Size limit; a larger artifact is not kept.
    pub max_bytes: Option<u64>,
}

/// Whether a copy is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepCopy {
    No,
    /// As long as the run is.
    Forever,
    For(Duration),
}
