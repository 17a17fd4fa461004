//! Coding agents as they are shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::usd;
use crate::plan::Phase;
use crate::run::agent_calls::{self, AgentCall};
use crate::run::agents::AgentState;
use crate::run::{PhaseState, Run};
use crate::view::Driven;

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
    /// An attempt ended before it could tell all that it used: turns, tokens and cost are what is known at least.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_is_part: bool,
    /// The tool call that waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallRecord>,
}

/// A tool call that waits for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRecord {
    /// The name by which `approve --call` and `reject --call` answer this call and no other.
    #[serde(default)]
    pub id: String,
    pub tool: String,
    /// All of its input, as far as it is kept.
    pub input: String,
    /// The agent's last words before it.
    pub reason: Option<String>,
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
            cost_is_part: agent.is_part,
            call: None,
        }
    }
}

/// The agent of a phase, with the call that waits.
pub(super) fn record(state: &PhaseState) -> Option<AgentRecord> {
    let call = agent_calls::waiting_call(state).map(CallRecord::new);
    state.agent.as_deref().map(|agent| AgentRecord { call, ..AgentRecord::new(agent) })
}

/// Why a phase that waits for a person is not run.
pub(super) fn why_it_waits(run: &Run, phase: &Phase, state: &PhaseState) -> String {
    match agent_calls::waiting_call(state) {
        Some(call) => {
            let how = super::answer_call_command(&run.id, &phase.id, &call.id, Driven::Now);
            format!("a person has to decide whether it may use {}   {how}", call.in_words())
        }
        None => "a person has to decide".to_owned(),
    }
}

impl CallRecord {
    pub fn new(call: &AgentCall) -> Self {
        Self { id: call.id.clone(), tool: call.tool.clone(), input: call.input.clone(), reason: call.reason.clone() }
    }
}
