//! The end of an attempt, as the client's last frame has it.

use jiff::Timestamp;
use serde_json::Value;

/// All that the frames of one process say of its end.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentResult {
    /// The latest one.
    pub session: Option<String>,
    /// The agent's last word.
    pub text: String,
    /// The answer in the form of the schema.
    pub structured: Option<Value>,
    pub turns: Option<u32>,
    pub tokens: Option<Tokens>,
    pub usage_of: UsageOf,
    pub cost_usd: Option<f64>,
    /// It was used, and ended before it said what that cost: all that is told of it is what is known at least.
    pub is_part: bool,
    /// Tool calls that the client refused.
    pub denials: Vec<ToolUse>,
    /// The tool call that waits for a person, with all of its input as far as it is kept.
    pub deferred: Option<ToolUse>,
    pub model: Option<String>,
    pub how: AgentEnd,
}

/// How the attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEnd {
    /// The client says so.
    Done,
    /// The client says that it is done, and that it refused tool calls: artifacts or `verify` have to prove the work.
    Refused,
    /// A tool call waits for a person.
    Deferred,
    /// A limit; none: nobody said until when.
    Limited {
        until: Option<Timestamp>,
        said: String,
    },
    /// The service has no capacity or cannot be reached: the same again, a little later.
    Overloaded {
        said: String,
    },
    /// The context is full: only a new session goes on.
    Exhausted,
    MaxTurns,
    Budget,
    NotLoggedIn {
        said: String,
    },
    /// The session that was to be continued is not known.
    UnknownSession,
    /// Another process writes in this session.
    SessionInUse,
    /// A signal.
    Interrupted,
    Failed {
        message: String,
    },
    /// The process ended and no frame says how.
    NoResult {
        said: String,
    },
}

/// Tokens that were used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Cached ones included.
    pub input: u64,
    pub output: u64,
}

impl Tokens {
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// The part that came after `earlier`, of counts that go on over the whole session.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { input: self.input.saturating_sub(earlier.input), output: self.output.saturating_sub(earlier.output) }
    }
}

/// The reach of `tokens`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageOf {
    /// This process: attempts are added up.
    Process,
    /// The whole session with all earlier processes: the latest counts, and an attempt is the difference.
    Session,
}

/// A tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUse {
    pub tool: String,
    /// The command, the file or the input, on one line.
    pub about: String,
    /// The client's name for this one call.
    pub id: Option<String>,
    /// Of a call that waits: the digest of what is shown of it.
    pub digest: Option<String>,
}

impl AgentEnd {
    /// The word for it in records and JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Deferred => "deferred",
            Self::Limited { .. } => "limited",
            Self::Overloaded { .. } => "overloaded",
            Self::Exhausted => "exhausted",
            Self::MaxTurns => "max-turns",
            Self::Budget => "budget",
            Self::NotLoggedIn { .. } => "not-logged-in",
            Self::UnknownSession => "unknown-session",
            Self::SessionInUse => "session-in-use",
            Self::Interrupted => "interrupted",
            Self::Failed { .. } => "failed",
            Self::NoResult { .. } => "no-result",
        }
    }
}
