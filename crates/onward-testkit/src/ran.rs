//! The result of a finished command.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::Value;

/// How much of an output is shown in a message: the end of it.
const SHOWN_CHARS_MAX: usize = 2_000;

/// A command that has ended: its exit code as a shell sees it (128+N for signal N), what it printed, how long it took.
#[derive(Clone, Debug)]
pub struct Ran {
    pub args: Vec<String>,
    pub code: i32,
    pub out: String,
    pub err: String,
    pub took: Duration,
}

#[expect(clippy::return_self_not_must_use, reason = "a demand is often the last thing a test says of a command")]
impl Ran {
    /// The one JSON value on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("stdout is not one JSON value ({error})\n{self}"))
    }

    /// The JSON lines on stdout, as `run --json` and `resume --json` print them.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        self.out
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("no JSON line: {line:?} ({error})\n{self}"))
            })
            .collect()
    }

    /// The last JSON line, which must be the exit object and agree with the exit code.
    #[track_caller]
    pub fn exit(&self) -> Value {
        let last = self.json_lines().pop().unwrap_or_else(|| panic!("no JSON line at all\n{self}"));
        assert_eq!(last["type"], "exit", "type of the last JSON line\n{self}");
        assert_eq!(last["code"], self.code, "code of the exit object against the exit code\n{self}");
        last
    }

    /// Demands an exit code; gives the command back.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code\n{self}");
        self
    }

    /// Demands that stderr names these ids, paths or flags; gives the command back.
    #[track_caller]
    pub fn err_names<'a>(self, words: impl IntoIterator<Item = &'a str>) -> Self {
        for word in words {
            assert!(self.err.contains(word), "stderr does not name {word:?}\n{self}");
        }
        self
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "`onward {}` ended with {} after {:.2} s",
            self.args.join(" "),
            self.code,
            self.took.as_secs_f32()
        )?;
        writeln!(f, "--- stdout\n{}", tail(&self.out))?;
        write!(f, "--- stderr\n{}", tail(&self.err))
    }
}

/// The exit code as a shell gives it.
pub(crate) fn shell_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).expect("a process ends by exit or by signal")
}

/// The end of a text, as much as a message should hold.
pub(crate) fn tail(text: &str) -> &str {
    let text = text.trim_end();
    let start = text.char_indices().rev().take(SHOWN_CHARS_MAX).last().map_or(0, |(at, _)| at);
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(code: i32, out: &str) -> Ran {
        Ran { args: vec!["run".to_owned()], code, out: out.to_owned(), err: String::new(), took: Duration::ZERO }
    }

    #[test]
    fn the_exit_object_is_the_last_line() {
        let ran = ran(3, "{\"type\":\"phase\"}\n\n{\"type\":\"exit\",\"code\":3}\n");
        assert_eq!(ran.json_lines().len(), 2);
        assert_eq!(ran.exit()["code"], 3);
    }

    #[test]
    #[should_panic(expected = "code of the exit object")]
    fn an_exit_object_that_lies_is_seen() {
        ran(0, "{\"type\":\"exit\",\"code\":3}\n").exit();
    }

    #[test]
    #[should_panic(expected = "`onward run` ended with 2")]
    fn a_wrong_exit_code_shows_the_command() {
        ran(2, "").expect(0);
    }

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        let text = "ä".repeat(SHOWN_CHARS_MAX + 5);
        assert_eq!(tail(&text).chars().count(), SHOWN_CHARS_MAX);
        assert_eq!(tail("short\n"), "short");
        assert_eq!(tail(""), "");
    }
}
