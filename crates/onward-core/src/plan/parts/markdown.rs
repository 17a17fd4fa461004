//! Where a plan in Markdown came from: how it was read, and how far its headings said it was.

use serde::{Deserialize, Serialize};

use crate::document::word::words;
use crate::id::PhaseId;
use crate::markdown::Marker;

/// How plans in Markdown are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkdownSettings {
    /// The agent that does the phases; none: somebody else does and reports in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub unsaid: UnsaidNeeds,
}

words! {
    /// The needs of a phase that says nothing about them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum UnsaidNeeds {
        #[default]
        Earlier = "earlier",
        None = "none",
    }
}

/// The part of a plan that only one in Markdown has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkdownOrigin {
    pub settings: MarkdownSettings,
    /// The markers when the plan was read, of all phases that are not pending. In the plan of a run: when the run
    /// was started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<PhaseMark>,
}

/// The marker in the heading of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseMark {
    pub phase: PhaseId,
    pub marker: Marker,
}
