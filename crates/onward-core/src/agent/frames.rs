//! A client's output, read line by line while it comes. Nothing in it is trusted: unknown frames, lines that are no frames and
//! lines without end are passed over.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::adapter::Adapter;
use super::claude_code::ClaudeCodeFrames;
use super::codex::CodexFrames;
use super::declared::{DeclaredAgent, FrameForm};
use super::failure_messages;
use super::news::News;
use super::outcome::{AgentEnd, AgentResult, Tokens, ToolUse, UsageOf};
use crate::data_limits::{Unfit, is_exact, member_is_exact};
use crate::result_schema::ResultSchema;
use crate::tail;

/// A longer line is not read as a frame.
pub const FRAME_BYTES_MAX: usize = 16 << 20;
/// Of the agent's last word.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Of one piece of news.
const NEWS_BYTES_MAX: usize = 32 << 10;
/// Of a tool's input or result.
const ABOUT_CHARS_MAX: usize = 200;
/// Of the input of a call that waits for a person.
pub(crate) const WHOLE_BYTES_MAX: usize = 256 << 10;
const SESSION_CHARS_MAX: usize = 200;
/// Of `\ud83d` and its like.
const ESCAPE_BYTES: usize = 6;
/// Of the last frame of Claude Code.
const ANSWER_MEMBER: &str = "structured_output";
/// Refused tool calls that are kept.
const DENIALS_MAX: usize = 50;

/// How the process ended.
#[derive(Clone, Copy, Debug)]
pub struct AgentExit<'a> {
    /// None where it was ended by a signal.
    pub code: Option<i32>,
    /// The end of its standard error.
    pub errors: &'a [u8],
    /// For clock times without a zone.
    pub local: &'a TimeZone,
}

/// Reads what one process of a client prints.
#[derive(Clone, Debug)]
pub struct FrameReader {
    client: Client,
    facts: FrameFacts,
    /// The session that was to be continued.
    continued: Option<String>,
    answer: ExpectedAnswer,
    /// The form that the answer must fit.
    schema: Option<ResultSchema>,
}

#[derive(Clone, Debug)]
enum Client {
    ClaudeCode(ClaudeCodeFrames),
    Codex(CodexFrames),
    Declared(DeclaredAgent),
}

/// The form of answer that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedAnswer {
    Text,
    Json,
}

/// All clients have these.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameFacts {
    pub session: Option<String>,
    pub model: Option<String>,
    pub text: String,
    pub structured: Option<Value>,
    /// Why the answer, as it is written, would not come back as it is.
    pub unfit: Option<Unfit>,
    pub turns: Option<u32>,
    pub tokens: Option<Tokens>,
    pub cost_usd: Option<f64>,
    pub denials: Vec<ToolUse>,
    pub deferred: Option<ToolUse>,
    /// The end of the output as it came.
    pub raw: Vec<u8>,
}

impl FrameReader {
    pub fn new(adapter: &Adapter) -> Self {
        let client = match adapter {
            Adapter::ClaudeCode => Client::ClaudeCode(ClaudeCodeFrames::default()),
            Adapter::Codex => Client::Codex(CodexFrames::default()),
            Adapter::Declared(agent) => Client::Declared(agent.clone()),
        };
        Self { client, facts: FrameFacts::default(), continued: None, answer: ExpectedAnswer::Text, schema: None }
    }

    /// For a process that was told to go on in this session.
    #[must_use]
    pub fn continuing(mut self, session: &str) -> Self {
        self.continued = Some(session.to_owned());
        self
    }

    /// For work that has `result.schema`: done without an answer in that form is not done.
    #[must_use]
    pub fn expecting_json(mut self) -> Self {
        self.answer = ExpectedAnswer::Json;
        self
    }

    /// The same, with the form that the answer must fit.
    #[must_use]
    pub fn fitting(self, schema: ResultSchema) -> Self {
        Self { schema: Some(schema), ..self.expecting_json() }
    }

    /// One line of standard output, with or without its line break.
    pub fn line(&mut self, line: &[u8]) -> Vec<News> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Vec::new();
        }
        self.facts.keep_raw(line);
        if let Client::Declared(DeclaredAgent { frames: FrameForm::Text, .. }) = &self.client {
            let text = String::from_utf8_lossy(&line[..line.len().min(NEWS_BYTES_MAX)]);
            self.facts.more_text("\n", &text);
            return vec![News::Text(tail::shown_line(&text))];
        }
        if line.len() > FRAME_BYTES_MAX {
            return vec![News::Note(format!("a line of {} bytes was not read", line.len()))];
        }
        let Some(frame) = object(line) else {
            let start = &line[..line.len().min(ABOUT_CHARS_MAX)];
            return vec![News::Note(about(&String::from_utf8_lossy(start)))];
        };
        match &mut self.client {
            Client::ClaudeCode(client) => {
                let news = client.frame(&frame, &mut self.facts);
                if frame["type"] == "result" {
                    self.facts.unfit = member_is_exact(line, ANSWER_MEMBER).err();
                }
                news
            }
            Client::Codex(client) => client.frame(&frame, &mut self.facts),
            Client::Declared(agent) => declared_frame(agent, &frame, &mut self.facts),
        }
    }

    /// Dollars, as the client has told them.
    pub fn cost_usd(&self) -> Option<f64> {
        self.facts.cost_usd
    }

    /// The session that works, as far as the frames have named it.
    pub fn session(&self) -> Option<&str> {
        self.facts.session.as_deref()
    }

    /// Turns so far, for clients that cannot be told a number.
    pub fn turns(&self) -> u32 {
        self.facts.turns.unwrap_or_default()
    }

    /// The process has ended, and all that it printed was read.
    pub fn finish(mut self, exit: &AgentExit<'_>, now: Timestamp) -> AgentResult {
        let how = match &self.client {
            Client::ClaudeCode(client) => client.end(&mut self.facts, exit, now),
            Client::Codex(client) => client.end(&mut self.facts, exit, self.continued.as_deref(), now),
            Client::Declared(agent) => declared_end(agent, &self.facts, exit, now),
        };
        let mut facts = self.facts;
        let usage_of = match self.client {
            Client::Codex(_) => UsageOf::Session,
            Client::ClaudeCode(_) | Client::Declared(_) => UsageOf::Process,
        };
        let is_json = matches!(self.client, Client::Codex(_)) && self.answer == ExpectedAnswer::Json;
        if is_json && facts.structured.is_none() {
            let answer = facts.text.trim();
            facts.structured = serde_json::from_str(answer).ok();
            facts.unfit = facts.structured.as_ref().and_then(|_| is_exact(answer.as_bytes()).err());
        }
        // Another answer than was given is none.
        let structured = facts.structured.filter(|_| facts.unfit.is_none());
        let how = match how {
            AgentEnd::Done | AgentEnd::Refused if self.answer == ExpectedAnswer::Json && facts.unfit.is_some() => {
                let why = facts.unfit.map(|why| why.to_string()).unwrap_or_default();
                AgentEnd::Failed { message: format!("the agent's answer cannot be kept: {why}") }
            }
            AgentEnd::Done | AgentEnd::Refused if self.answer == ExpectedAnswer::Json && structured.is_none() => {
                AgentEnd::Failed { message: "the agent gave no answer in the form of the schema".to_owned() }
            }
            AgentEnd::Done | AgentEnd::Refused => match misfit(self.schema.as_ref(), structured.as_ref()) {
                Some(why) => {
                    AgentEnd::Failed { message: format!("the agent's answer does not fit result.schema: {why}") }
                }
                None => how,
            },
            other => other,
        };
        let tells_its_cost = match &self.client {
            Client::ClaudeCode(_) => true,
            Client::Codex(_) => false,
            Client::Declared(agent) => agent.cost.is_some(),
        };
        AgentResult {
            is_part: tells_its_cost && facts.cost_usd.is_none() && (!facts.raw.is_empty() || exit.code.is_none()),
            session: facts.session,
            text: facts.text,
            structured,
            turns: facts.turns,
            tokens: facts.tokens,
            usage_of,
            cost_usd: facts.cost_usd,
            denials: facts.denials,
            deferred: facts.deferred,
            model: facts.model,
            how,
        }
    }
}

/// Why an answer does not fit its form.
fn misfit(schema: Option<&ResultSchema>, answer: Option<&Value>) -> Option<String> {
    schema.zip(answer).and_then(|(schema, answer)| schema.check(answer).err())
}

impl FrameFacts {
    /// News if it is another one than before. An id becomes a word of a command line later, so not every text is one.
    pub(super) fn session_is(&mut self, id: Option<&Value>) -> Option<News> {
        let id = id?.as_str()?;
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        if id.is_empty() || id.len() > SESSION_CHARS_MAX || id.starts_with('-') || !id.chars().all(letter) {
            return None;
        }
        if self.session.as_deref() == Some(id) {
            return None;
        }
        self.session = Some(id.to_owned());
        Some(News::Session(id.to_owned()))
    }

    /// Keeps the highest cost of the process: a later frame that says less, or nothing, takes nothing back.
    pub(super) fn cost_is(&mut self, told: Option<&Value>) {
        let told = told.and_then(Value::as_f64).filter(|cost| cost.is_finite() && *cost >= 0.0);
        if let Some(cost) = told {
            self.cost_usd = Some(self.cost_usd.map_or(cost, |before| before.max(cost)));
        }
    }

    /// The same of tokens.
    pub(super) fn tokens_are(&mut self, told: Option<Tokens>) {
        if let Some(Tokens { input, output }) = told {
            let before = self.tokens.unwrap_or_default();
            self.tokens = Some(Tokens { input: before.input.max(input), output: before.output.max(output) });
        }
    }

    pub(super) fn denied(&mut self, tool: ToolUse) {
        if self.denials.len() < DENIALS_MAX {
            self.denials.push(tool);
        }
    }

    pub(super) fn text_is(&mut self, text: &str) {
        cut_bytes(text, TEXT_BYTES_MAX).clone_into(&mut self.text);
    }

    fn more_text(&mut self, between: &str, text: &str) {
        if !self.text.is_empty() {
            self.text.push_str(between);
        }
        self.text.push_str(text);
        // The end is the answer.
        if self.text.len() > TEXT_BYTES_MAX {
            let from = self.text.len() - TEXT_BYTES_MAX / 2;
            let from = (from..=self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(from);
            self.text.drain(..from);
        }
    }

    fn keep_raw(&mut self, line: &[u8]) {
        let end = &line[line.len().saturating_sub(tail::TAIL_BYTES_MAX)..];
        self.raw.extend_from_slice(end);
        self.raw.push(b'\n');
        let over = self.raw.len().saturating_sub(tail::TAIL_BYTES_MAX);
        self.raw.drain(..over);
    }
}

/// The object that a line is, also where a text in it was cut in the middle of a character: such halves are no reason to lose a frame.
fn object(line: &[u8]) -> Option<Value> {
    let read = serde_json::from_slice::<Value>(line).or_else(|_| {
        let text = String::from_utf8_lossy(line);
        serde_json::from_str(&without_halves(&text))
    });
    read.ok().filter(Value::is_object)
}

/// A JSON text in which no half of a pair of escapes stands alone.
fn without_halves(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let taken = match (code_unit(escape), escape.get(ESCAPE_BYTES..).and_then(code_unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 2 * ESCAPE_BYTES,
            (Some(0xd800..=0xdfff), _) => 0,
            (Some(_), _) => ESCAPE_BYTES,
            (None, _) => escape.chars().take(2).map(char::len_utf8).sum(),
        };
        out.push_str(if taken == 0 { "\\ufffd" } else { &escape[..taken] });
        rest = &escape[if taken == 0 { ESCAPE_BYTES } else { taken }..];
    }
    out.push_str(rest);
    out
}

/// The unit of UTF-16 that an escape at the beginning of this text stands for.
fn code_unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

fn declared_frame(agent: &DeclaredAgent, frame: &Value, facts: &mut FrameFacts) -> Vec<News> {
    let at = |pointer: &Option<String>| pointer.as_ref().and_then(|pointer| frame.pointer(pointer));
    let mut news: Vec<News> = facts.session_is(at(&agent.session)).into_iter().collect();
    facts.cost_is(at(&agent.cost));
    // Clients repeat the prompt as a message of the user.
    let is_ours = frame.get("role").and_then(Value::as_str) == Some("user");
    if let Some(text) = at(&agent.text).and_then(Value::as_str).filter(|text| !text.is_empty() && !is_ours) {
        let goes_on = frame.get("delta").and_then(Value::as_bool) == Some(true);
        facts.more_text(if goes_on { "" } else { "\n" }, text);
        news.push(News::Text(readable(text)));
    }
    news
}

fn declared_end(agent: &DeclaredAgent, facts: &FrameFacts, exit: &AgentExit<'_>, now: Timestamp) -> AgentEnd {
    if exit.code == Some(0) {
        let nothing = facts.raw.is_empty() && agent.frames == FrameForm::JsonLines;
        return if nothing { failure_messages::no_result(exit, &facts.raw) } else { AgentEnd::Done };
    }
    let mut output = facts.raw.clone();
    output.extend_from_slice(exit.errors);
    if let Some(limit) =
        agent.limit.as_ref().and_then(|limit| failure_messages::declared_limit(limit, &output, exit, now))
    {
        return limit;
    }
    if exit.code.is_none() {
        return AgentEnd::Interrupted;
    }
    let last = tail::last_line(exit.errors).or_else(|| tail::last_line(&facts.raw)).unwrap_or_default();
    failure_messages::failure(&last, exit, now)
}

/// Text of several lines with what only a terminal understands in signs.
pub(super) fn readable(text: &str) -> String {
    let lines: Vec<String> = cut_bytes(text, NEWS_BYTES_MAX).lines().map(tail::shown_line).collect();
    lines.join("\n")
}

/// The first line that says something, and a sign where there is more.
pub(super) fn about(text: &str) -> String {
    let start = cut_bytes(text, NEWS_BYTES_MAX);
    let mut lines = start.lines().map(str::trim).filter(|line| !line.is_empty());
    let plain = tail::shown_line(lines.next().unwrap_or_default());
    let mut out: String = plain.chars().take(ABOUT_CHARS_MAX).collect();
    if out.len() < plain.len() {
        out.push('…');
    } else if lines.next().is_some() || start.len() < text.len() {
        out.push_str(" …");
    }
    out
}

/// The fields of a tool's input that tell a reader most, the best first.
const TELLING: [&str; 9] =
    ["command", "cmd", "file_path", "path", "notebook_path", "pattern", "url", "query", "description"];

/// All of a tool's input, byte by byte: what tells most, then the rest, a field a line. Whoever approves it has to see what it is, and
/// escaping it is for whoever shows it.
pub(super) fn whole_input(input: &Value) -> String {
    let Some(fields) = input.as_object() else {
        return input.as_str().map_or_else(|| input.to_string(), str::to_owned);
    };
    let first = TELLING.into_iter().find(|key| fields.get(*key).is_some_and(Value::is_string));
    let of_first = first.and_then(|key| fields[key].as_str()).map(str::to_owned);
    let rest = fields.iter().filter(|(name, _)| first != Some(name.as_str())).map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}: {value}")
    });
    let lines: Vec<String> = of_first.into_iter().chain(rest).collect();
    let text = lines.join("\n");
    let shown = cut_bytes(&text, WHOLE_BYTES_MAX);
    let more = text.len() - shown.len();
    if more == 0 {
        text
    } else {
        format!("{shown}\n… and {more} bytes more: they stand in the file frames in the folder of the attempt")
    }
}

/// The part of a tool's input that tells a reader most.
pub(super) fn about_input(input: &Value) -> String {
    let text = TELLING.iter().find_map(|key| input.get(*key).and_then(Value::as_str)).or_else(|| input.as_str());
    match (text, input) {
        (Some(text), _) => about(text),
        (None, Value::Null) => String::new(),
        (None, other) => about(&other.to_string()),
    }
}

fn cut_bytes(text: &str, bytes_max: usize) -> &str {
    let end = text.len().min(bytes_max);
    let end = (0..=end).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}
