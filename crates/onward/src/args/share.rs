//! Verbs for what agents share: messages, knowledge, decisions, conflicts, the team.

use clap::{Args, Subcommand};
use onward_core::brief::BRIEF_TOKENS_MAX;
use onward_core::event::{MessageKind, MessagePriority};

use super::Json;

/// The run that something is shared through.
#[derive(Debug, Args)]
pub(crate) struct SharedRun {
    /// Run id or its beginning [default: inside a phase its own run, else the newest].
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MessageVerb {
    /// Send a message to an agent, or to all of them.
    Send(Box<MessageSend>),
    /// Show the messages that an agent has not acknowledged, the oldest first.
    Inbox(MessageInbox),
    /// Acknowledge messages, so that they are not shown again.
    Ack(MessageAck),
}

#[derive(Debug, Args)]
pub(crate) struct MessageSend {
    /// Agent that sends it.
    #[arg(long, value_name = "AGENT")]
    pub(crate) from: String,
    /// Agent that it is for, or * for all.
    #[arg(long, value_name = "AGENT|*")]
    pub(crate) to: String,
    /// Kind: request, response, handoff, escalate, broadcast or vote.
    #[arg(long = "type", value_name = "TYPE", value_parser = kind)]
    pub(crate) kind: MessageKind,
    /// Text of the message.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) body: String,
    /// Id; the same id again is the same message [default: a new one].
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Priority: critical, high, normal or low.
    #[arg(long, value_name = "PRIORITY", value_parser = priority, default_value = "normal")]
    pub(crate) priority: MessagePriority,
    /// Message that it answers or belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) correlation: Option<String>,
    #[command(flatten)]
    pub(crate) about: SharedRun,
}

#[derive(Debug, Args)]
pub(crate) struct MessageInbox {
    /// Agent whose messages are shown.
    pub(crate) agent: String,
    #[command(flatten)]
    pub(crate) about: SharedRun,
}

#[derive(Debug, Args)]
pub(crate) struct MessageAck {
    /// Ids of the messages.
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Agent that has read them; needed for messages to all [default: the one that each is for].
    #[arg(long = "as", value_name = "AGENT")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) about: SharedRun,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KnowledgeVerb {
    /// Record what was learned; an id is recorded once.
    Add(KnowledgeAdd),
    /// List what was recorded, the oldest first.
    List(SharedRun),
}

#[derive(Debug, Args)]
pub(crate) struct KnowledgeAdd {
    /// Id; the same id again changes nothing.
    #[arg(long, value_name = "ID")]
    pub(crate) id: String,
    /// Kind, such as decision, resolution, pattern, feedback or incident.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: String,
    /// Title, a line.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) title: String,
    /// Text of the entry.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) body: String,
    #[command(flatten)]
    pub(crate) about: SharedRun,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DecisionVerb {
    /// Record a decision; the same text again changes nothing.
    Add(DecisionAdd),
}

#[derive(Debug, Args)]
pub(crate) struct DecisionAdd {
    /// Text of the decision.
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: String,
    /// Agent that decided [default: the user].
    #[arg(long, value_name = "AGENT")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) about: SharedRun,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConflictVerb {
    /// Record a disagreement, and take a checkpoint.
    Start(ConflictStart),
    /// Record an argument of one side.
    Round(ConflictRound),
    /// Record how it was settled, and take a checkpoint.
    Resolve(ConflictResolve),
}

#[derive(Debug, Args)]
pub(crate) struct ConflictStart {
    /// Id of the conflict.
    pub(crate) id: String,
    /// Agents that disagree, separated by commas.
    #[arg(long, value_name = "AGENT,AGENT", value_delimiter = ',', required = true)]
    pub(crate) between: Vec<String>,
    /// Topic, a line.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) topic: String,
    #[command(flatten)]
    pub(crate) about: SharedRun,
}

#[derive(Debug, Args)]
pub(crate) struct ConflictRound {
    /// Id of the conflict.
    pub(crate) id: String,
    /// Argument that was made.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: String,
    /// Agent that made it.
    #[arg(long, value_name = "AGENT")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) about: SharedRun,
}

#[derive(Debug, Args)]
pub(crate) struct ConflictResolve {
    /// Id of the conflict.
    pub(crate) id: String,
    /// Outcome, a line.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) resolution: String,
    #[command(flatten)]
    pub(crate) about: SharedRun,
}

#[derive(Debug, Args)]
pub(crate) struct BriefArgs {
    /// Run id or its beginning [default: inside a phase its own run, else the newest].
    pub(crate) run: Option<String>,
    /// Maximum length, in tokens of four characters each.
    #[arg(long, value_name = "N", value_parser = tokens, default_value = "2000")]
    pub(crate) tokens: usize,
    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Args)]
pub(crate) struct TeamArgs {
    /// Run id or its beginning [default: inside a phase its own run, else the newest].
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) output: Json,
}

fn tokens(word: &str) -> Result<usize, String> {
    let count = word.parse().ok().filter(|count| (1..=BRIEF_TOKENS_MAX).contains(count));
    count.ok_or_else(|| format!("it is a whole number from 1 to {BRIEF_TOKENS_MAX}"))
}

fn kind(word: &str) -> Result<MessageKind, String> {
    let words = MessageKind::ALL.map(MessageKind::as_str).join(", ");
    MessageKind::parse(word).ok_or_else(|| format!("it is one of {words}"))
}

fn priority(word: &str) -> Result<MessagePriority, String> {
    let words = MessagePriority::ALL.map(MessagePriority::as_str).join(", ");
    MessagePriority::parse(word).ok_or_else(|| format!("it is one of {words}"))
}
