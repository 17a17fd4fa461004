//! Coding agents as they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::usd;
use crate::run::agents::AgentState;

/// The coding agent of one phase, with what all its attempts have taken together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRecord {
    #[serde(rename = "use")]
    pub agent: String,
    /// The session in which it works, or worked last.
    pub session: Option<String>,
    pub model: Option<String>,
    pub turns: u64,
    pub tokens: u64,
    pub cost_usd: f64,
}

/// The git worktree in which a phase works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeRecord {
    /// From the top of the project.
    pub place: String,
    /// Files of which another version lies in the project, where a person is asked about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

impl AgentRecord {
    pub fn new(agent: &AgentState) -> Self {
        Self {
            agent: agent.agent.clone(),
            session: agent.session.clone(),
            model: agent.model.clone(),
            turns: agent.turns,
            tokens: agent.tokens,
            cost_usd: usd(agent.cost_nano_usd),
        }
    }
}
