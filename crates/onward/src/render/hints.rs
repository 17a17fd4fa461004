//! Commands that are offered: a run that is the newest one is `@` in them, which is shorter to read and to type.

use std::sync::{Mutex, PoisonError};

use onward_core::id::RunId;

/// The run that `@` means, as far as this process knows.
static NEWEST: Mutex<Option<String>> = Mutex::new(None);

/// A command begins with this.
const COMMAND: &str = "onward ";
/// Verbs that want the whole id.
const WHOLE: &str = "onward delete ";

/// From now on this run is `@`.
pub(crate) fn newest_is(run: Option<&RunId>) {
    *NEWEST.lock().unwrap_or_else(PoisonError::into_inner) = run.map(|run| run.as_str().to_owned());
}

/// The text with `@` for the newest run in all commands.
pub(super) fn shortened(text: &str) -> String {
    let newest = NEWEST.lock().unwrap_or_else(PoisonError::into_inner);
    newest.as_deref().map_or_else(|| text.to_owned(), |run| with_at(text, run))
}

fn with_at(text: &str, run: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let Some(begin) = line.find(COMMAND) else {
            out.push_str(line);
            continue;
        };
        let (before, mut rest) = line.split_at(begin);
        out.push_str(before);
        while let Some(at) = rest.find(run) {
            let (head, tail) = rest.split_at(at);
            let after = &tail[run.len()..];
            let is_whole = !after.starts_with(is_of_a_name) && !head.ends_with(is_of_a_name);
            out.push_str(head);
            let of_delete = head.rfind(COMMAND).is_some_and(|at| head[at..].starts_with(WHOLE));
            out.push_str(if is_whole && !of_delete { "@" } else { run });
            rest = after;
        }
        out.push_str(rest);
    }
    out
}

fn is_of_a_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_run_is_at_in_commands_only() {
        let short = |text| with_at(text, "run_a_1");
        assert_eq!(
            short("run run_a_1 failed; go on with  onward resume run_a_1\n"),
            "run run_a_1 failed; go on with  onward resume @\n"
        );
        assert_eq!(
            short("onward logs run_a_1 a   or   onward retry run_a_1 a"),
            "onward logs @ a   or   onward retry @ a"
        );
        assert_eq!(short("onward run --resume=run_a_1 --from b"), "onward run --resume=@ --from b");
        assert_eq!(short("onward show run_a_12, run_a_1-2, xrun_a_1"), "onward show run_a_12, run_a_1-2, xrun_a_1");
        assert_eq!(short("onward delete run_a_1"), "onward delete run_a_1");
    }
}
