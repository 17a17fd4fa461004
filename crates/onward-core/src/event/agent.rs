//! Attempts that are made by a coding agent: how they begin, and the agent's own account of their end.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::{AgentEnd, AgentResult, Tokens, ToolUse, UsageOf};

/// Of the agent's own words that are kept on record.
const TEXT_BYTES_MAX: usize = 4_000;

/// A dollar in the unit in which costs are kept: whole numbers add up to the same sum in every order.
const NANO_USD: f64 = 1e9;

/// The agent that an attempt is given to, and the session in which it works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentBegun {
    #[serde(rename = "use")]
    pub agent: String,
    /// The session, where it is known before the agent has said anything: chosen for a new one, or the one that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// An earlier session goes on.
    #[serde(default)]
    pub continues: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The end of an attempt in the agent's own account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentEnded {
    /// The last session that it named; none where it named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Of this attempt alone.
    #[serde(default)]
    pub turns: u64,
    #[serde(default)]
    pub tokens: u64,
    /// Of the whole session, where its client counts like that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_tokens: Option<u64>,
    #[serde(default)]
    pub cost_nano_usd: u64,
    /// It ended before it could tell all that it used: turns, tokens and cost are what is known at least.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// Tools that the client did not let it use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    pub how: AgentHow,
    /// The fields of its answer, where the plan asks for a form.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answer: BTreeMap<String, String>,
    /// Its last words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The work that is left by its own word, whatever it says of being done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<String>,
}

/// How an agent says that its work ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum AgentHow {
    Done,
    /// It was rate-limited.
    Limited {
        until: Option<Timestamp>,
        said: String,
    },
    /// The service or the way to it failed.
    Overloaded {
        message: String,
    },
    /// Its context is full: this session cannot go on.
    Exhausted,
    /// The client does not know the session that was to go on.
    SessionUnknown,
    /// Another process writes in the session.
    SessionInUse,
    /// A signal ended it that was not ours.
    Interrupted,
    MaxTurns,
    Budget,
    NotLoggedIn {
        message: String,
    },
    /// A tool waits for a person's consent.
    Deferred {
        tool: String,
        /// All of its input, as far as it is kept.
        input: String,
        /// Of the exact input, by which the call is known again. None where somebody else than onward made it wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    Failed {
        message: String,
    },
    /// It ended without a word about how.
    #[default]
    NoResult,
}

impl AgentHow {
    /// The words of a service that turned the agent away, by a limit or because it failed itself: nothing is wrong with the
    /// work.
    pub fn turned_away(&self) -> Option<&str> {
        match self {
            Self::Limited { said: message, .. } | Self::Overloaded { message } => Some(message),
            Self::Done
            | Self::Exhausted
            | Self::SessionUnknown
            | Self::SessionInUse
            | Self::Interrupted
            | Self::MaxTurns
            | Self::Budget
            | Self::NotLoggedIn { .. }
            | Self::Deferred { .. }
            | Self::Failed { .. }
            | Self::NoResult => None,
        }
    }
}

/// The bill of an agent that was asked for another plan, whatever came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanningBill {
    #[serde(rename = "use")]
    pub agent: String,
    #[serde(default)]
    pub turns: u64,
    #[serde(default)]
    pub tokens: u64,
    #[serde(default)]
    pub cost_nano_usd: u64,
    /// More was used than is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_part: bool,
    /// The number of the request, among all that were made for the phase. What a killed driver had asked for is in the next bill.
    pub request: u32,
}

/// A person's answer to a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallAnswer {
    Approved,
    Rejected,
}

impl CallAnswer {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }
}

impl AgentEnded {
    pub fn cost_usd(&self) -> f64 {
        usd(self.cost_nano_usd)
    }
}

/// Dollars as they are kept.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cost is not negative, and no agent spends billions of dollars"
)]
pub fn nano_usd(usd: f64) -> u64 {
    if usd.is_finite() && usd > 0.0 { (usd * NANO_USD).round() as u64 } else { 0 }
}

/// Dollars as they are shown.
#[expect(clippy::cast_precision_loss, reason = "52 bits hold millions of dollars exactly")]
pub fn usd(nano: u64) -> f64 {
    nano as f64 / NANO_USD
}

impl From<AgentResult> for AgentEnded {
    fn from(result: AgentResult) -> Self {
        let AgentResult {
            session,
            text,
            structured,
            turns,
            tokens,
            usage_of,
            cost_usd,
            is_part,
            denials,
            deferred,
            model,
            how,
        } = result;
        let all = tokens.map(Tokens::total);
        let (tokens, session_tokens) = match usage_of {
            UsageOf::Process => (all.unwrap_or_default(), None),
            UsageOf::Session => (0, all),
        };
        let text = Some(cut(text)).filter(|text| !text.is_empty());
        let how = match how {
            AgentEnd::Done | AgentEnd::Refused => AgentHow::Done,
            AgentEnd::Deferred => {
                let call = deferred.unwrap_or_default();
                AgentHow::Deferred { tool: call.tool, input: call.about, digest: None }
            }
            AgentEnd::Limited { until, said } => AgentHow::Limited { until, said: cut(said) },
            AgentEnd::Overloaded { said } => AgentHow::Overloaded { message: cut(said) },
            AgentEnd::Exhausted => AgentHow::Exhausted,
            AgentEnd::MaxTurns => AgentHow::MaxTurns,
            AgentEnd::Budget => AgentHow::Budget,
            AgentEnd::NotLoggedIn { said } => AgentHow::NotLoggedIn { message: cut(said) },
            AgentEnd::UnknownSession => AgentHow::SessionUnknown,
            AgentEnd::SessionInUse => AgentHow::SessionInUse,
            AgentEnd::Interrupted => AgentHow::Interrupted,
            AgentEnd::Failed { message } => AgentHow::Failed { message: cut(message) },
            AgentEnd::NoResult { said } => {
                let text = Some(cut(said)).filter(|said| !said.is_empty()).or(text);
                return Self {
                    session,
                    model,
                    turns: turns.map_or(0, u64::from),
                    tokens,
                    session_tokens,
                    cost_nano_usd: cost_usd.map_or(0, nano_usd),
                    is_part,
                    text,
                    ..Self::default()
                };
            }
        };
        Self {
            session,
            model,
            turns: turns.map_or(0, u64::from),
            tokens,
            session_tokens,
            cost_nano_usd: cost_usd.map_or(0, nano_usd),
            is_part,
            denied: denials.into_iter().map(named).collect(),
            how,
            answer: structured.as_ref().map(fields).unwrap_or_default(),
            text,
            remaining: None,
        }
    }
}

fn named(call: ToolUse) -> String {
    if call.about.is_empty() { call.tool } else { format!("{} ({})", call.tool, call.about) }
}

/// The fields of an answer, as outputs of the phase have them: text as it is, everything else as JSON.
fn fields(answer: &Value) -> BTreeMap<String, String> {
    let as_text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let entries = answer.as_object().into_iter().flatten();
    entries.map(|(name, value)| (name.clone(), as_text(value))).collect()
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}
