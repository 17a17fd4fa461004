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
