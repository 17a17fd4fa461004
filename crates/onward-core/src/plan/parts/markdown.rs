//! Where a plan in Markdown came from: how it was read, and how far its headings said it was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::revision::ReplanKeys;
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
    /// How the plan may be changed while it is carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan: Option<ReplanKeys>,
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
    /// How many boxes of each phase were ticked then; none of those that had no ticks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ticked: BTreeMap<PhaseId, u32>,
}

/// The marker in the heading of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseMark {
    pub phase: PhaseId,
    pub marker: Marker,
}
