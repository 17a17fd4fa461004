//! Asking a person. Questions go to stderr, answers come from stdin, a line each; `/dev/tty` is never opened.

use std::ffi::OsStr;
use std::io::{BufRead, IsTerminal, Read, StdinLock};

use onward_core::input::Choice;
use onward_engine::patient_io;
use rustix::termios::{QueueSelector, tcflush};

use crate::args::Damaged;
use crate::failure::Failure;
use crate::render;

/// No answer is longer; what is behind it is left unread and then makes no sense.
const ANSWER_BYTES_MAX: u64 = 4 * 1024;

/// How often something that is no answer is asked about again.
pub(crate) const TRIES_MAX: usize = 20;

/// The one who answers questions at this terminal, if there is anybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answerer {
    Person,
    Nobody,
}

impl Answerer {
    /// A person, if there are terminals to ask at and no CI job.
    pub(crate) fn here() -> Self {
        let terminals = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if terminals && !is_ci(std::env::var_os("CI").as_deref()) { Self::Person } else { Self::Nobody }
    }

    pub(crate) fn is_person(self) -> bool {
        self == Self::Person
    }
}

fn is_ci(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !["", "0", "false"].iter().any(|off| value.eq_ignore_ascii_case(off)))
}

/// Asks what others may answer in another place meanwhile: `wait` waits for a line, or gives what made the question void.
pub(crate) fn ask_until<T>(
    question: &str,
    wait: impl FnOnce(&StdinLock<'static>) -> Result<Waited<T>, Failure>,
) -> Result<Prompted<T>, Failure> {
    let _held = render::live::hide_while();
    render::say(question);
    render::drain();
    let stdin = std::io::stdin().lock();
    Ok(match wait(&stdin)? {
        Waited::Line => read_line(stdin).map_or(Prompted::Nobody, Prompted::Typed),
        Waited::Void(why) => {
            // What stands there was no question any more.
            render::say("\n");
            Prompted::TakenBack(why)
        }
        Waited::Nobody => Prompted::Nobody,
    })
}

/// The end of the wait for a line.
pub(crate) enum Waited<T> {
    Line,
    Void(T),
    Nobody,
}

/// The answer to a question that others may answer, too.
pub(crate) enum Prompted<T> {
    Typed(String),
    TakenBack(T),
    Nobody,
}

/// Asks and gives the answer without the space around it; none when there is nobody any more, or somebody wants out.
pub(crate) fn ask(question: &str) -> Option<String> {
    // The live view of a run comes back once there is an answer.
    let _held = render::live::hide_while();
    render::say(question);
    render::drain();
    let stdin = std::io::stdin().lock();
    if !patient_io::is_readable(&stdin) {
        return None;
    }
    read_line(stdin)
}

fn read_line(stdin: StdinLock<'static>) -> Option<String> {
    let mut line = Vec::new();
    let read = stdin.take(ANSWER_BYTES_MAX).read_until(b'\n', &mut line);
    match read {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8_lossy(&line).trim().to_owned()),
    }
}

/// Forgets what was typed so far: whoever typed while something was at work did not know of the question that comes now.
pub(crate) fn forget_what_was_typed() {
    let stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        let _ = tcflush(&stdin, QueueSelector::IFlush);
    }
}

/// An answer to the question whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResumeAnswer {
    Resume,
    Pick,
    View,
    Files,
    Fresh,
    Delete,
    /// The run is archived, and nothing is started.
    Abandon,
    /// Everything is left as it is.
    Quit,
    /// Not that, but what then?
    No,
    Unclear,
}

/// The letters, and the words that people type instead.
pub(crate) fn answer(text: &str) -> ResumeAnswer {
    match text.to_lowercase().as_str() {
        "" | "r" | "resume" | "y" | "yes" => ResumeAnswer::Resume,
        "p" | "pick" => ResumeAnswer::Pick,
        "v" | "view" => ResumeAnswer::View,
        "f" | "files" => ResumeAnswer::Files,
        "s" | "start" | "fresh" | "restart" => ResumeAnswer::Fresh,
        "d" | "delete" => ResumeAnswer::Delete,
        "a" | "abandon" => ResumeAnswer::Abandon,
        "q" | "quit" => ResumeAnswer::Quit,
        "n" | "no" => ResumeAnswer::No,
        _ => ResumeAnswer::Unclear,
    }
}

/// An answer about a phase that failed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureAnswer {
    Choice(Choice),
    Abort,
    Quit,
    Log,
}

/// The words and their first letters. `a` is adopt: to give the run up has to be said in full.
pub(crate) fn after_failure(text: &str) -> Option<FailureAnswer> {
    Some(match text {
        "r" | "retry" => FailureAnswer::Choice(Choice::Retry),
        "c" | "clean" => FailureAnswer::Choice(Choice::RetryClean),
        "a" | "adopt" => FailureAnswer::Choice(Choice::Adopt),
        "s" | "skip" => FailureAnswer::Choice(Choice::Skip),
        "abort" => FailureAnswer::Abort,
        "q" | "quit" | "" => FailureAnswer::Quit,
        "l" | "log" | "logs" => FailureAnswer::Log,
        _ => return None,
    })
}

/// The choice for a phase whose outcome is unknown; none where nothing was decided.
pub(crate) fn about_a_doubt(text: &str) -> Option<Choice> {
    match text.to_lowercase().as_str() {
        "r" | "retry" => Some(Choice::Retry),
        "a" | "adopt" => Some(Choice::Adopt),
        "s" | "skip" => Some(Choice::Skip),
        _ => None,
    }
}

/// The choice for a damaged store; none where it is to be left as it is.
pub(crate) fn about_damage(text: &str) -> Option<Damaged> {
    match text.to_lowercase().as_str() {
        "r" | "repair" => Some(Damaged::Repair),
        "a" | "aside" => Some(Damaged::Aside),
        _ => None,
    }
}

/// Only an outspoken yes is one: what is asked this way cannot be taken back.
pub(crate) fn is_yes(text: &str) -> bool {
    matches!(text.to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_asked_in_a_ci_job() {
        assert!(!is_ci(None));
        for off in ["", "0", "false", "False"] {
            assert!(!is_ci(Some(OsStr::new(off))), "CI={off}");
        }
        for on in ["1", "true", "yes", "woodpecker"] {
            assert!(is_ci(Some(OsStr::new(on))), "CI={on}");
        }
    }

    #[test]
    fn letters_and_words_are_understood() {
        for text in ["", "r", "R", "y", "Yes", "resume"] {
            assert_eq!(answer(text), ResumeAnswer::Resume, "{text}");
        }
        for text in ["s", "restart", "fresh"] {
            assert_eq!(answer(text), ResumeAnswer::Fresh, "{text}");
        }
        assert_eq!(
            ["p", "v", "f", "d", "a", "q", "n"].map(answer),
            [
                ResumeAnswer::Pick,
                ResumeAnswer::View,
                ResumeAnswer::Files,
                ResumeAnswer::Delete,
                ResumeAnswer::Abandon,
                ResumeAnswer::Quit,
                ResumeAnswer::No
            ]
        );
        for text in ["x", "rr", "delete everything", "\u{1b}[A", "ja"] {
            assert_eq!(answer(text), ResumeAnswer::Unclear, "{text}");
        }
    }

    #[test]
    fn a_run_is_given_up_by_the_whole_word_only() {
        assert_eq!(after_failure("a"), Some(FailureAnswer::Choice(Choice::Adopt)));
        assert_eq!(after_failure("abort"), Some(FailureAnswer::Abort));
        assert_eq!(["", "l", "ab"].map(after_failure), [Some(FailureAnswer::Quit), Some(FailureAnswer::Log), None]);
    }

    #[test]
    fn nothing_but_yes_is_yes() {
        assert!(is_yes("y") && is_yes("YES"));
        for text in ["", "n", "d", "ok", "yess"] {
            assert!(!is_yes(text), "{text}");
        }
        assert_eq!(about_a_doubt(""), None);
    }
}
