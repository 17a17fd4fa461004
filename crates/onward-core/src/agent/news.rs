//! News: one thing that an agent did or said, for logs and the live view.

use std::fmt;

/// Read from one frame.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// The session that works from now on; it may change in the middle.
    Session(String),
    /// The agent says something.
    Text(String),
    /// A tool is called; `about` is the command, the file or the input, on one line.
    ToolCall { name: String, about: String },
    /// The call came to its end; `about` is the first line of its result.
    ToolResult { outcome: ToolOutcome, about: String },
    /// The client waits for its service before it asks again.
    Waiting { why: String },
    /// Anything else that is worth a line: a warning, a compaction, output that is no frame.
    Note(String),
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    Fine,
    Failed,
}

/// As it stands in a log. Only text has more than one line.
impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(id) => write!(f, "session {id}"),
            Self::Text(text) => f.write_str(text),
            Self::ToolCall { name, about } if about.is_empty() => write!(f, "> {name}"),
            Self::ToolCall { name, about } => write!(f, "> {name}: {about}"),
            Self::ToolResult { outcome: ToolOutcome::Fine, about } => write!(f, "  {about}"),
            Self::ToolResult { outcome: ToolOutcome::Failed, about } => write!(f, "  failed: {about}"),
            Self::Waiting { why } => write!(f, "waiting: {why}"),
            Self::Note(text) => write!(f, "({text})"),
        }
    }
}
