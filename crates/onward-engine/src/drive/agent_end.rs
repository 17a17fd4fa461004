//! The end of an agent's attempt: its frames are read once more, from what was kept of them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use onward_core::agent::{Adapter, AgentEnd, AgentExit, AgentResult, FRAME_BYTES_MAX, FrameReader, ToolUse};
use onward_core::event::{AgentEnded, AgentHow, usd};
use onward_core::id::PhaseId;
use onward_core::plan::Phase;
use onward_core::run::{Run, agents};
use onward_core::tail::TAIL_BYTES_MAX;

use crate::attendant::{AttemptFolder, ExitRecord, ProcessEnd};
use crate::executor::tool_calls::CallsLeft;
use crate::executor::{agent, tool_calls};
use crate::markdown_file::tasks_left_open;
use crate::project::Project;

/// The sign for a secret that was cut out begins like this.
const REDACTED: &str = "[redacted";
/// Said where the frames are not those that the attendant has written.
const FORGED: &str = "what its client printed was changed or removed while it worked, in the folder of the attempt: it counts for nothing";

/// The way to read the frames of an attempt.
#[derive(Clone, Debug)]
pub(crate) struct AgentReading {
    adapter: Adapter,
    /// The session that it was told to go on with.
    continued: Option<String>,
    wants_answer: bool,
    /// The file of a plan in Markdown, where the agent may tick the boxes of its phase.
    boxes: Option<(PathBuf, PhaseId)>,
}

impl AgentReading {
    pub(crate) fn new(project: &Project, run: &Run, phase: &Phase) -> Option<Self> {
        let work = agents::work(phase)?;
        let adapter = agent::client(project, &work.agent).adapter()?;
        let known = run.phase_state(&phase.id).and_then(|state| state.agent.as_deref());
        let continued = known.filter(|agent| agent.named).and_then(|agent| agent.session.clone());
        let in_markdown = run.plan().markdown.is_some();
        let boxes = in_markdown.then(|| (project.top.join(&run.started.plan_path), phase.id.clone()));
        Some(Self { adapter, continued, wants_answer: work.schema.is_some(), boxes })
    }

    /// For a process that was started to write a plan.
    pub(crate) fn for_planning(adapter: Adapter, continued: Option<String>) -> Self {
        Self { adapter, continued, wants_answer: false, boxes: None }
    }

    /// The agent's own account; where its attendant died before the end, as far as it is there.
    pub(crate) fn account(&self, folder: &AttemptFolder, exit: Option<&ExitRecord>) -> Box<AgentEnded> {
        let mut result = self.result(folder, exit);
        let left = tool_calls::left(folder);
        // A person said no, or it was put off: the client only did what it was told.
        result.denials.retain(|call| call.id.as_ref().is_none_or(|id| !left.refused.contains(id)));
        let redacted = exit.map_or(0, |exit| exit.redacted);
        let asked = result.deferred.as_ref().and_then(|call| digest_of(call, &left, redacted));
        let mut ended = AgentEnded::from(result);
        if let AgentHow::Deferred { digest, .. } = &mut ended.how {
            *digest = asked;
        }
        if ended.session.is_none() {
            ended.session = folder.session();
        }
        if let Some((plan, phase)) = self.boxes.as_ref().filter(|_| ended.how == AgentHow::Done) {
            let open = tasks_left_open(plan, phase);
            ended.remaining = (!open.is_empty()).then(|| format!("left open in the plan: {}", open.join("; ")));
        }
        Box::new(ended)
    }

    /// All that its frames say.
    pub(crate) fn result(&self, folder: &AttemptFolder, exit: Option<&ExitRecord>) -> AgentResult {
        let mut reader = FrameReader::new(&self.adapter);
        if let Some(session) = &self.continued {
            reader = reader.continuing(session);
        }
        if self.wants_answer {
            reader = match folder.schema() {
                Some(schema) => reader.fitting(schema),
                None => reader.expecting_json(),
            };
        }
        let seal = exit.and_then(|exit| exit.frames.as_ref());
        let forged = seal.filter(|seal| !folder.frames_are(seal));
        if let (None, Ok(frames)) = (forged, folder.read_frames()) {
            let mut frames = BufReader::new(frames);
            let mut line = Vec::new();
            while matches!(next_line(&mut frames, &mut line), Ok(true)) {
                reader.line(&line);
            }
        }
        let errors = folder.errors_end(TAIL_BYTES_MAX as u64).unwrap_or_default();
        let code = exit.and_then(|exit| match &exit.outcome {
            ProcessEnd::Code(code) => Some(*code),
            ProcessEnd::Signal(_) | ProcessEnd::CouldNotStart(_) => None,
        });
        let now = exit.map_or_else(Timestamp::now, |exit| exit.ended_at);
        let local = TimeZone::system();
        let result = reader.finish(&AgentExit { code, errors: &errors, local: &local }, now);
        let never_ran = exit.is_some_and(|exit| matches!(exit.outcome, ProcessEnd::CouldNotStart(_)));
        if let Some(seal) = forged {
            let how = AgentEnd::Failed { message: FORGED.to_owned() };
            return AgentResult { how, is_part: true, cost_usd: seal.cost_nano_usd.map(usd), ..result };
        }
        AgentResult { is_part: result.is_part && !never_ran, ..result }
    }
}

/// The digest of a call that waits. What the hook left could have been written by the agent: an answer to one call must not be good
/// for another, so it counts only where it is that of what is shown. Where a secret was cut out of that there is no other.
fn digest_of(call: &ToolUse, left: &CallsLeft, redacted: u64) -> Option<String> {
    let asked = left.asked.get(call.id.as_deref()?)?;
    let was_cut = redacted > 0 && call.about.contains(REDACTED);
    (was_cut || call.digest.as_ref() == Some(asked)).then(|| asked.clone())
}

/// The next line, or as much of it as a frame may have.
fn next_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let count = std::io::Read::take(&mut *from, FRAME_BYTES_MAX as u64).read_until(b'\n', line)?;
    Ok(count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The agent has put the digest of another call beside the one that is shown: an answer to what is shown is not good for that one.
    #[test]
    fn the_digest_of_another_call_does_not_count() {
        let call = |digest: &str, about: &str| ToolUse {
            id: Some("t1".to_owned()),
            digest: Some(digest.to_owned()),
            about: about.to_owned(),
            ..ToolUse::default()
        };
        let mut left = CallsLeft::default();
        left.asked.insert("t1".to_owned(), "d1".to_owned());
        assert_eq!(digest_of(&call("d1", "echo ok"), &left, 0).as_deref(), Some("d1"));
        assert_eq!(digest_of(&call("d2", "echo ok"), &left, 1), None);
        assert_eq!(digest_of(&call("d2", "echo [redacted]"), &left, 0), None);
        assert_eq!(digest_of(&call("d2", "echo [redacted]"), &left, 1).as_deref(), Some("d1"));
    }
}
