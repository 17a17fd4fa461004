//! Runs and phases as people call them, wherever text is let out: in commands the newest run is `@`, and children of a matrix go by
//! their values.
//!
//! A command stands in a text as hints print it: at the beginning of a line, behind two blanks, a colon or a backtick, up to the
//! next two blanks, a backtick or the end of the line.

use std::borrow::Cow;
use std::ops::Range;

use onward_core::plan::with_shown_names;
use onward_core::question::quoted;
use onward_engine::names::ShortNames;

/// How every command begins.
const PROGRAM: &str = "onward ";
/// Signs in front of a command; at the beginning of a line blanks alone may.
const BEFORE: [&str; 3] = ["  ", ": ", "`"];
/// Signs behind it.
const BEHIND: [&str; 2] = ["  ", "`"];
/// The verbs to which `@` is no run: one wants the whole id, the other takes it for a checkpoint.
const WHOLE: [&str; 2] = ["onward delete ", "onward show "];

/// The text with runs and phases called as people call them.
pub(super) fn named(text: &str, names: &ShortNames) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut told = 0;
        for command in commands(line) {
            out.push_str(&shown(&line[told..command.start], names, str::to_owned));
            out.push_str(&short(&shown(&line[command.clone()], names, quoted), names));
            told = command.end;
        }
        out.push_str(&shown(&line[told..], names, str::to_owned));
    }
    out
}

fn shown<'a>(text: &'a str, names: &ShortNames, written: fn(&str) -> String) -> Cow<'a, str> {
    with_shown_names(text, &names.phases, written).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The newest run is `@`.
fn short(command: &str, names: &ShortNames) -> String {
    let Some(newest) = names.newest.as_ref().filter(|_| !WHOLE.iter().any(|verb| command.starts_with(verb))) else {
        return command.to_owned();
    };
    let whole = format!("--resume={newest}");
    let word = |word: &str| match word {
        run if run.trim_end() == newest.as_str() => format!("@{}", &run[newest.as_str().len()..]),
        flag if flag.trim_end() == whole => format!("--resume=@{}", &flag[whole.len()..]),
        other => other.to_owned(),
    };
    command.split_inclusive(' ').map(word).collect()
}

/// Where the commands of a line are.
fn commands(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = line[from..].find(PROGRAM).map(|at| from + at) {
        let before = &line[..at];
        if before.chars().all(|character| character == ' ') || BEFORE.iter().any(|sign| before.ends_with(sign)) {
            let rest = line[at..].trim_end();
            let end = BEHIND.iter().filter_map(|sign| rest.find(sign)).min().unwrap_or(rest.len());
            found.push(at..at + end);
            from = at + end;
        } else {
            from = at + PROGRAM.len();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use onward_core::id::RunId;

    use super::*;

    fn names() -> ShortNames {
        let phases = [("fetch@1a2b3c4d".to_owned(), "fetch[2026-11-14]".to_owned())].into();
        ShortNames { newest: Some(RunId::new("run_demo_1")), phases }
    }

    #[test]
    fn hints_call_the_newest_run_by_its_sign_and_prose_by_its_id() {
        let text =
            "run run_demo_1 failed\ngo on with  onward resume run_demo_1\n  onward run --resume=run_demo_1   (go on)\n";
        let shown = "run run_demo_1 failed\ngo on with  onward resume @\n  onward run --resume=@   (go on)\n";
        assert_eq!(named(text, &names()), shown);
        assert_eq!(named("  next: onward status run_demo_12\n", &names()), "  next: onward status run_demo_12\n");
        for kept in ["onward delete run_demo_1\n", "see  onward show run_demo_1\n"] {
            assert_eq!(named(kept, &names()), kept);
        }
        assert_eq!(named("type `onward undo run_demo_1` then", &names()), "type `onward undo @` then");
    }

    #[test]
    fn children_of_a_matrix_are_called_by_their_values() {
        let text = "✗ fetch@1a2b3c4d failed\nsee  onward logs run_demo_1 fetch@1a2b3c4d\n";
        assert_eq!(named(text, &names()), "✗ fetch[2026-11-14] failed\nsee  onward logs @ 'fetch[2026-11-14]'\n");
        assert_eq!(named("xfetch@1a2b3c4d a@b fetch@1a2b3c4de", &names()), "xfetch@1a2b3c4d a@b fetch@1a2b3c4de");
    }
}
