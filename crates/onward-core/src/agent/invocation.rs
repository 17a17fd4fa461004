//! The command line and environment with which a client is started.

use super::calls::CallHook;

/// A program and a subcommand come before the flags.
const FLAGS_AT: usize = 2;

/// The start of one attempt.
#[derive(Clone, Copy, Debug)]
pub struct InvocationStart<'a> {
    pub session: SessionStart<'a>,
    /// By the earlier attempts of the phase: it comes off `max-turns` and `budget`.
    pub spent: Spent,
    /// The JSON Schema of the answer, where one is wanted.
    pub schema: Option<AnswerSchema<'a>>,
    /// The hook that asks before calls which a person approves, where the plan names any.
    pub calls: Option<&'a CallHook>,
}

/// A JSON Schema: some clients want the text, others a file.
#[derive(Clone, Copy, Debug)]
pub struct AnswerSchema<'a> {
    pub text: &'a str,
    pub path: &'a str,
}

/// The session in which an attempt works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStart<'a> {
    /// A new one. The id is a UUID of our choosing; clients that choose their own pay no heed to it.
    New {
        id: &'a str,
    },
    Continue {
        id: &'a str,
    },
}

/// Turns and cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub turns: u32,
    pub usd: f64,
    pub tokens: u64,
}

/// How a client is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The program and its arguments, without the prompt.
    pub argv: Vec<String>,
    pub prompt: PromptBy,
    pub env_set: Vec<(String, String)>,
    /// Variables that the client must not inherit.
    pub env_removed: Vec<String>,
}

/// The way of the prompt to the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptBy {
    #[default]
    Stdin,
    /// As the last argument. The kernel takes 128 KiB at most.
    Argument,
}

impl Invocation {
    /// Puts flags of the client itself behind its subcommand: later words may belong to another one.
    pub fn add_flags(&mut self, flags: Vec<String>) {
        let at = self.argv.len().min(FLAGS_AT);
        self.argv.splice(at..at, flags);
    }

    /// The whole command line, and the text for standard input; none: give it the null device.
    pub fn with_prompt(&self, prompt: &str) -> (Vec<String>, Option<String>) {
        let mut argv = self.argv.clone();
        match self.prompt {
            PromptBy::Stdin => (argv, Some(prompt.to_owned())),
            PromptBy::Argument => {
                argv.push(prompt.to_owned());
                (argv, None)
            }
        }
    }
}
