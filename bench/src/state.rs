//! The state of an agent as it looks in practice: nested maps and lists of messages, of any size, changing a little
//! with every step.

use std::collections::BTreeSet;
use std::fmt::Write;

use onward_core::patch::{self, Op};
use serde_json::{Map, Value, json};

/// Bytes of one agent's part of a large state.
const AGENT_BYTES: usize = 4 * 1024;
const MESSAGE_BYTES: usize = 240;
/// One part in so many changes with every step.
const CHANGED_PART: usize = 100;
/// The size of an entry of a growing log as JSON.
const LOG_ENTRY_BYTES: usize = 1024;

const WORDS: [&str; 24] = [
    "the", "phase", "reads", "source", "and", "writes", "tests", "for", "module", "error", "review", "of", "branch",
    "merge", "schema", "request", "token", "plan", "issue", "after", "before", "result", "cache", "retry",
];

/// Numbers that are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).expect("it is below a usize")
    }

    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            text.push_str(WORDS[self.below(WORDS.len())]);
            // Some of it is as in identifiers and digests, which do not compress.
            if self.below(8) == 0 {
                let _ = write!(text, "-{:08x}", self.below(1 << 32));
            }
            text.push(' ');
        }
        text.truncate(bytes);
        text
    }
}

/// A state and the way it changes.
pub(crate) struct Agents {
    pub(crate) whole: Value,
    random: Random,
    count: usize,
    messages: usize,
    bytes: usize,
    step: u64,
}

impl Agents {
    /// About so many bytes as JSON.
    pub(crate) fn new(bytes: usize) -> Self {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let agents = (bytes / AGENT_BYTES).max(1);
        let messages = ((bytes / agents).saturating_sub(400) / (MESSAGE_BYTES + 60)).max(1);
        let mut all = Map::new();
        for agent in 0..agents {
            let said: Vec<Value> = (0..messages).map(|at| message(&mut random, at)).collect();
            let memory: Map<String, Value> =
                (0..4).map(|note| (format!("note-{note}"), json!(random.text(40)))).collect();
            let tools = json!({ "read": random.below(90), "edit": random.below(40), "shell": random.below(30) });
            let part =
                json!({ "role": "coder", "status": "working", "memory": memory, "tools": tools, "messages": said });
            all.insert(format!("agent-{agent:05}"), part);
        }
        let whole = json!({ "goal": random.text(60), "step": 0, "agents": all });
        Self { whole, random, count: agents, messages, bytes, step: 0 }
    }

    /// One step: a hundredth of the state is different afterwards.
    pub(crate) fn change(&mut self) -> Vec<Op> {
        self.step += 1;
        let mut ops = vec![Op::Set { path: "/step".to_owned(), value: json!(self.step) }];
        let (mut left, mut seen) = (self.bytes / CHANGED_PART, BTreeSet::new());
        while left >= MESSAGE_BYTES {
            let place = (self.random.below(self.count), self.random.below(self.messages));
            left -= MESSAGE_BYTES;
            if seen.insert(place) {
                let path = format!("/agents/agent-{:05}/messages/{}/content", place.0, place.1);
                ops.push(Op::Set { path, value: json!(self.random.text(MESSAGE_BYTES)) });
            }
        }
        patch::apply(&mut self.whole, &ops).expect("the places are there");
        ops
    }
}

fn message(random: &mut Random, at: usize) -> Value {
    let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
    json!({ "role": role, "at": 1_700_000_000 + at, "content": random.text(MESSAGE_BYTES) })
}

/// A log that gets one entry more with every step.
pub(crate) struct Log {
    pub(crate) whole: Value,
    random: Random,
    pub(crate) steps: usize,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self { whole: json!({ "log": [] }), random: Random(0x2545_f491_4f6c_dd1d), steps: 0 }
    }

    pub(crate) fn change(&mut self) -> Vec<Op> {
        let content = self.random.text(LOG_ENTRY_BYTES - 40);
        let entry = json!({ "step": self.steps, "content": content });
        let ops = vec![Op::Splice { path: "/log".to_owned(), at: self.steps, remove: 0, insert: vec![entry] }];
        patch::apply(&mut self.whole, &ops).expect("it goes on at its end");
        self.steps += 1;
        ops
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A state of a given size changes by a hundredth. The size of it and of the change must be what the goals speak of.
    #[test]
    fn a_state_has_its_size_and_changes_by_a_hundredth() {
        for bytes in [1_000, 100_000, 1_000_000] {
            let mut state = Agents::new(bytes);
            let before = state.whole.to_string().len();
            assert!((bytes * 7 / 10..bytes * 13 / 10).contains(&before), "{bytes} wanted, {before} made");
            let old = state.whole.clone();
            let changed = serde_json::to_vec(&state.change()).expect("ops are JSON").len();
            assert!(changed < bytes / CHANGED_PART * 2 + 100, "{changed} of {bytes} changed");
            assert_ne!(state.whole, old);
        }
    }

    /// A log got ten entries. It holds ten, of a kilobyte each.
    #[test]
    fn a_log_grows_by_a_kilobyte_a_step() {
        let mut log = Log::new();
        for _ in 0..10 {
            log.change();
        }
        let bytes = log.whole.to_string().len();
        assert!((10_000..10_700).contains(&bytes), "{bytes}");
    }
}
