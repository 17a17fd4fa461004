//! Recordings of the real clients, read as onward reads them: Claude Code 2.1.197 and Codex 0.166.0 against a scripted service.
//! `frames/index.json` has the exit code and standard error of each.

mod any_bytes;
mod declared;
mod invocations;
mod recorded;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use onward_core::agent::{Adapter, AgentEnd, AgentExit, AgentResult, FrameReader, News};

/// Two hours before the limits of the recordings end.
fn now() -> Timestamp {
    "2026-11-16T05:52:00Z".parse().expect("a time")
}

fn finish(reader: FrameReader, code: Option<i32>, errors: &str) -> AgentResult {
    reader.finish(&AgentExit { code, errors: errors.as_bytes(), local: &TimeZone::UTC }, now())
}

/// All lines of one process, and its end.
fn played(adapter: &Adapter, lines: &str, code: Option<i32>, errors: &str) -> (Vec<News>, AgentResult) {
    let mut reader = FrameReader::new(adapter);
    let news = lines.lines().flat_map(|line| reader.line(line.as_bytes())).collect();
    (news, finish(reader, code, errors))
}

/// The end in a few words, for tables.
fn word(how: &AgentEnd) -> String {
    match how {
        AgentEnd::Limited { until: Some(until), .. } => format!("limited until {until}"),
        other => other.word().to_owned(),
    }
}
