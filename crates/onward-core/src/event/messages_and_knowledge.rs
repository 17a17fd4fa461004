//! Facts that agents share: messages, knowledge, decisions and conflicts. The same form is posted by them and recorded.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checkpoint::KnowledgeState;

/// The receiver of a message to everybody.
pub const EVERYBODY: &str = "*";

/// One thing that an agent shares with the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SharedFact {
    MessageSent(MessageText),
    /// Each of them was read by this agent; none is named where it is the one that the message is for.
    MessagesAcknowledged {
        ids: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    KnowledgeAdded {
        id: String,
        kind: String,
        title: String,
        body: String,
        state: KnowledgeState,
    },
    DecisionMade {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    ConflictStarted {
        id: String,
        between: Vec<String>,
        topic: String,
    },
    /// One side of a conflict has spoken, or somebody has for it.
    ConflictRound {
        id: String,
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    ConflictResolved {
        id: String,
        resolution: String,
    },
}

/// A message as it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageText {
    /// The same id again is the same message.
    pub id: String,
    pub kind: MessageKind,
    pub from: String,
    /// An agent, or [`EVERYBODY`].
    pub to: String,
    pub body: String,
    #[serde(default, skip_serializing_if = "MessagePriority::is_normal")]
    pub priority: MessagePriority,
    /// The message that it belongs to: the request that a response answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    Request,
    Response,
    Handoff,
    Escalate,
    Broadcast,
    Vote,
}

impl MessageKind {
    pub const ALL: [Self; 6] =
        [Self::Request, Self::Response, Self::Handoff, Self::Escalate, Self::Broadcast, Self::Vote];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Handoff => "handoff",
            Self::Escalate => "escalate",
            Self::Broadcast => "broadcast",
            Self::Vote => "vote",
        }
    }

    /// The kind of this name, in small letters or capitals, with or without a hyphen.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.to_lowercase().replace(['-', '_'], "");
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessagePriority {
    Critical,
    High,
    #[default]
    Normal,
    Low,
}

impl MessagePriority {
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Normal, Self::Low];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|priority| priority.as_str() == word.to_lowercase())
    }

    pub fn is_normal(&self) -> bool {
        *self == Self::Normal
    }
}

impl SharedFact {
    /// Every text in it, for whoever has to cut secrets out of it.
    pub fn texts_mut(&mut self) -> Vec<&mut String> {
        match self {
            Self::MessageSent(letter) => {
                let always = [&mut letter.id, &mut letter.from, &mut letter.to, &mut letter.body];
                always.into_iter().chain(letter.correlation.as_mut()).collect()
            }
            Self::MessagesAcknowledged { ids, by } => ids.iter_mut().chain(by.as_mut()).collect(),
            Self::KnowledgeAdded { id, kind, title, body, .. } => vec![id, kind, title, body],
            Self::DecisionMade { text, by } => [text].into_iter().chain(by.as_mut()).collect(),
            Self::ConflictStarted { id, between, topic } => between.iter_mut().chain([id, topic]).collect(),
            Self::ConflictRound { id, text, by } => [id, text].into_iter().chain(by.as_mut()).collect(),
            Self::ConflictResolved { id, resolution } => vec![id, resolution],
        }
    }
}
