//! Coding agents that onward drives: how a client is called, and what its output says.
//!
//! An [`AgentWork`] is the `agent` block of a phase, an [`Adapter`] knows one client: it gives the [`Invocation`], and a
//! [`FrameReader`] of it reads the client's output line by line into [`News`] and at the end into an [`AgentResult`]. Whether the
//! work is done is what the frames say, never the exit code alone.

mod adapter;
mod calls;
mod claude_code;
mod codex;
mod declared;
mod failure_messages;
mod frames;
mod invocation;
mod news;
mod outcome;
mod shell_text;
mod tool_pattern;
mod work;

pub use adapter::{Adapter, co_author, codex_retries};
pub use calls::{
    CallHook, CallOrders, CallVerdict, ProposedCall, RejectedCall, argument_against_asking, call_digest, judge,
};
pub use declared::{DeclaredAgent, DeclaredLimit, FrameForm, gemini};
pub use frames::{AgentExit, FRAME_BYTES_MAX, FrameReader};
pub use invocation::{AnswerSchema, Invocation, InvocationStart, PromptBy, SessionStart, Spent};
pub use news::{News, ToolOutcome};
pub use outcome::{AgentEnd, AgentResult, Tokens, ToolUse, UsageOf};
pub use tool_pattern::{CallPlace, ToolPattern};
pub use work::{AGENT_DEFAULT, AgentWork, AgentWorktree, SessionPolicy};
