//! The commands that the documents show.

use super::{Breach, TextFile};

/// The verbs of this version, as documents may show them.
const VERBS: &[&str] = &[
    "adopt",
    "approve",
    "archive",
    "brief",
    "cancel",
    "check",
    "checkpoint",
    "completions",
    "config",
    "conflict",
    "decision",
    "delete",
    "demo",
    "diff",
    "doctor",
    "export",
    "fork",
    "graph",
    "help",
    "hook",
    "import",
    "init",
    "keep",
    "knowledge",
    "list",
    "load",
    "log",
    "logs",
    "man",
    "mcp",
    "message",
    "next",
    "pause",
    "plan",
    "prune",
    "reject",
    "report",
    "resume",
    "retry",
    "rewind",
    "run",
    "save",
    "schema",
    "show",
    "skip",
    "state",
    "status",
    "summary",
    "team",
    "trust",
    "undo",
    "why",
];

/// Other programs that a document may call.
const PROGRAMS: &[&str] = &["cargo", "cat", "cd", "echo", "git", "printf", "scripts/test", "tail", "timeout"];

/// How the binary itself is called.
const BINARY: [&str; 2] = ["onward", "target/release/onward"];

/// A command of a `console` block and what the document says it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleCommand {
    /// From 1.
    pub line: usize,
    /// Without the prompt; lines that end with a backslash are joined.
    pub command: String,
    /// The lines below it, up to the next prompt or the end of the block.
    pub output: String,
}

/// The commands of all `console` blocks of a Markdown text, in order. A command starts with `$ `.
pub fn console_commands(markdown: &str) -> Vec<ConsoleCommand> {
    let mut commands: Vec<ConsoleCommand> = Vec::new();
    let (mut inside, mut goes_on) = (false, false);
    for (index, line) in markdown.lines().enumerate() {
        let text = line.trim_start();
        if text.starts_with("```") {
            inside = !inside && text == "```console";
            goes_on = false;
        } else if inside && let Some(command) = text.strip_prefix("$ ") {
            commands.push(ConsoleCommand { line: index + 1, command: String::new(), output: String::new() });
            goes_on = extend(&mut commands, command);
        } else if inside && goes_on {
            goes_on = extend(&mut commands, text);
        } else if inside && let Some(last) = commands.last_mut() {
            last.output.push_str(line);
            last.output.push('\n');
        }
    }
    commands
}

/// Adds a line to the last command; true if the next line belongs to it too.
fn extend(commands: &mut [ConsoleCommand], line: &str) -> bool {
    let last = commands.last_mut().expect("a command was begun");
    let (text, goes_on) = line.strip_suffix('\\').map_or((line, false), |start| (start, true));
    last.command.push_str(text);
    goes_on
}

/// Every command shown calls a program that is known here, and onward with a verb that exists.
pub fn check_console(document: &TextFile) -> Vec<Breach> {
    console_commands(&document.text)
        .into_iter()
        .filter_map(|shown| {
            let message = unknown(&shown.command)?;
            Some(Breach::at(&document.path, shown.line, message))
        })
        .collect()
}

/// The unknown verb or flag of a command; none if all is well.
fn unknown(command: &str) -> Option<String> {
    let mut words = command.split_whitespace().map(|word| word.trim_start_matches('(')).peekable();
    if words.peek() == Some(&"timeout") {
        // `timeout -s KILL 6 COMMAND`: the command is what counts.
        words.next();
        while words.next_if(|word| !BINARY.contains(word)).is_some() {}
    }
    let program = words.next()?;
    if program == "cargo" && command.contains(" -p onward -- ") {
        return unknown_verb(command.split_once(" -- ")?.1.split_whitespace().next());
    }
    if BINARY.contains(&program) {
        return unknown_verb(words.next());
    }
    (!PROGRAMS.contains(&program)).then(|| format!("`{program}` is none of {PROGRAMS:?} or onward"))
}

fn unknown_verb(verb: Option<&str>) -> Option<String> {
    let verb = verb.filter(|verb| !verb.starts_with('-'))?;
    (!VERBS.contains(&verb)).then(|| format!("`onward {verb}`: this version has no such verb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_from_console_blocks_only() {
        let text = "```sh\n$ not this\n```\n```console\n$ cargo a \\\n    b\nprinted\n$ cat c\n```\n$ nor this\n";
        let commands = console_commands(text);
        assert_eq!(commands.len(), 2);
        assert_eq!(commands[0].line, 5);
        assert_eq!(commands[0].command, "cargo a b");
        assert_eq!(commands[0].output, "printed\n");
        assert_eq!(commands[1].command, "cat c");
    }

    #[test]
    fn a_verb_is_found_behind_cargo_and_timeout_too() {
        assert_eq!(unknown("onward run a.yaml"), None);
        assert_eq!(unknown("cargo run --release -p onward -- run a.yaml"), None);
        assert_eq!(unknown("timeout -s KILL 6 onward run a.yaml"), None);
        assert_eq!(unknown("(target/release/onward run a.yaml & sleep 1; kill -9 $!)"), None);
        assert!(unknown("onward frobnicate").is_some());
        assert!(unknown("cargo run --release -p onward -- frobnicate").is_some());
        assert!(unknown("timeout -s KILL 6 onward frobnicate").is_some());
        assert!(unknown("frobnicate").is_some());
    }
}
