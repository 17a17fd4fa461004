//! The help: verbs in groups, and examples for each.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::Command;

/// The verbs in the order in which a newcomer meets them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["plan", "run", "resume"]),
    ("Look", &["status", "list", "log", "show", "logs", "why", "graph", "summary", "diff"]),
    ("Steer", &["approve", "reject", "retry", "skip", "adopt", "pause", "cancel"]),
    ("Go back", &["checkpoint", "rewind", "undo", "fork"]),
    ("Agents", &["brief", "message", "team", "knowledge", "decision", "conflict"]),
    ("Scripts", &["next", "report", "hook", "mcp", "state", "save", "load", "export", "import"]),
    (
        "Set-up",
        &[
            "demo",
            "init",
            "check",
            "config",
            "schema",
            "doctor",
            "keep",
            "trust",
            "archive",
            "prune",
            "delete",
            "completions",
            "man",
        ],
    ),
];

/// Two examples for each verb.
const EXAMPLES: &[(&str, [(&str, &str); 2])] = &[
    (
        "plan",
        [
            ("onward plan 'Fix-the-login'", "an agent plans the task, you decide, and it is in onward.yaml"),
            ("onward plan - --output plans/login.yaml", "a task of a page, from standard input, and another place"),
        ],
    ),
    (
        "run",
        [
            ("onward run", "start onward.yaml, or go on with its unfinished run"),
            ("onward run nightly.yaml --input day=2026-11-14", "start a plan with an input"),
        ],
    ),
    (
        "resume",
        [
            ("onward resume", "go on with the newest unfinished run"),
            ("onward resume --retry deploy", "go on, and run a failed phase again"),
        ],
    ),
    ("status", [("onward status", "show the newest run"), ("onward status @ --json", "the same, for a program")]),
    ("list", [("onward list", "list the runs of this project"), ("onward list --all", "archived runs too")]),
    ("log", [("onward log", "list the checkpoints of the newest run"), ("onward log @ --events", "list every event")]),
    ("show", [("onward show @", "show the newest run"), ("onward show CP-build --json", "one checkpoint as JSON")]),
    (
        "logs",
        [("onward logs", "show all output of the newest run"), ("onward logs @ build", "the output of one phase")],
    ),
    ("why", [("onward why @ deploy", "explain why deploy waits"), ("onward why @ deploy --json", "for a program")]),
    ("graph", [("onward graph", "draw the newest run"), ("onward graph onward.yaml --format mermaid", "draw a plan")]),
    (
        "summary",
        [
            ("onward summary", "tell the newest run as one page"),
            ("onward summary --format html > run.html", "as a file to send to somebody"),
        ],
    ),
    ("diff", [("onward diff @- @", "compare the last two checkpoints"), ("onward diff @- @ --stat", "only how much")]),
    (
        "approve",
        [
            ("onward approve @ release", "approve the phase release"),
            ("onward approve @ release --choice later", "answer with another choice of the plan"),
        ],
    ),
    (
        "reject",
        [
            ("onward reject @ release", "reject the phase release"),
            ("onward reject @ release --json", "the same, for a program"),
        ],
    ),
    (
        "retry",
        [
            ("onward retry @ build", "run build again when the run goes on"),
            ("onward retry @ build --json", "the same, for a program"),
        ],
    ),
    (
        "skip",
        [
            ("onward skip @ docs", "skip docs; phases that need it go on"),
            ("onward skip @ docs --json", "the same, for a program"),
        ],
    ),
    (
        "adopt",
        [
            ("onward adopt @ deploy", "deploy was done by hand: count it as done"),
            ("onward adopt deploy --reason by-hand", "the same, with the reason on record"),
        ],
    ),
    (
        "pause",
        [("onward pause @", "let the phases at work end, then stop"), ("onward pause @ --json", "for a program")],
    ),
    ("cancel", [("onward cancel @", "end the run and archive it"), ("onward cancel @ --json", "for a program")]),
    (
        "checkpoint",
        [
            ("onward checkpoint", "take a checkpoint of the newest run"),
            ("onward checkpoint --name before-upgrade", "take one that is never pruned"),
        ],
    ),
    (
        "rewind",
        [
            ("onward rewind @-", "go back one checkpoint, files included"),
            ("onward rewind CP-build --state-only", "leave the files as they are"),
        ],
    ),
    ("undo", [("onward undo", "undo the last rewind"), ("onward undo --yes", "also what was done since then")]),
    (
        "fork",
        [
            ("onward fork @-", "start a new run from the checkpoint before the newest"),
            ("onward fork CP-build --worktree ../try", "with a git worktree of its own"),
        ],
    ),
    ("next", [("onward next", "print the next phase to be done"), ("onward next --json", "the same, for an agent")]),
    (
        "report",
        [
            ("onward report start docs", "begin the phase docs"),
            ("onward report done docs --commit HEAD", "report it as done"),
        ],
    ),
    (
        "hook",
        [
            ("onward hook SessionStart", "tell an agent's session of the unfinished run, once"),
            ("onward hook PreCompact", "take a checkpoint and say nothing"),
        ],
    ),
    (
        "mcp",
        [
            ("onward mcp", "serve one client; clients start it themselves"),
            ("onward mcp --http --read-only", "over HTTP, and only to look"),
        ],
    ),
    (
        "brief",
        [
            ("onward brief", "tell the newest run in 2,000 tokens"),
            ("onward brief @ --tokens 500 --json", "shorter, and for a program"),
        ],
    ),
    (
        "message",
        [
            (
                "onward message send --from coder --to tester --type request --id MSG-1 --body ready",
                "ask another agent",
            ),
            ("onward message inbox tester --json", "what it has not acknowledged"),
        ],
    ),
    ("team", [("onward team", "show the team of the newest run"), ("onward team @ --json", "the same, for a program")]),
    (
        "knowledge",
        [
            (
                "onward knowledge add --id KE-1 --type pattern --title Retries --body idempotent",
                "capture what was learned",
            ),
            ("onward knowledge list --json", "list all of it"),
        ],
    ),
    (
        "decision",
        [
            ("onward decision add REST-over-GraphQL", "note a decision"),
            ("onward decision add tokens --by architect", "and the agent that took it"),
        ],
    ),
    (
        "conflict",
        [
            ("onward conflict start CONF-1 --between architect,coder --topic sessions", "note that two disagree"),
            ("onward conflict resolve CONF-1 --resolution tokens", "note how it was settled"),
        ],
    ),
    (
        "state",
        [
            ("onward state merge notes.json", "merge a JSON object into the state of the run"),
            ("onward state get /decisions/0", "print a part of it"),
        ],
    ),
    (
        "save",
        [
            ("onward save implement shop --state state.json", "save a state"),
            ("onward save implement shop", "read the state from stdin"),
        ],
    ),
    (
        "load",
        [("onward load implement", "print the newest state of a type"), ("onward load implement shop", "and project")],
    ),
    ("demo", [("onward demo", "watch a run that is killed and goes on"), ("onward demo | less", "read it at leisure")]),
    (
        "export",
        [
            ("onward export @ --output run.onward", "write the newest run into a file"),
            ("onward export @ --with-files --output run.onward", "with the snapshots of its files"),
        ],
    ),
    (
        "import",
        [
            ("onward import run.onward", "bring a run in"),
            ("onward import .claude/pipeline-state.json", "the run of another tool"),
        ],
    ),
    ("init", [("onward init", "make a project here"), ("onward init --plan", "with a commented plan to begin with")]),
    ("check", [("onward check onward.yaml", "check a plan"), ("onward check onward.yaml --json", "for an editor")]),
    ("config", [("onward config", "show every value"), ("onward config --origin", "and the file that sets it")]),
    ("schema", [("onward schema", "list the schemas"), ("onward schema plan", "print the one of plans")]),
    (
        "doctor",
        [
            ("onward doctor", "check everything, change nothing"),
            ("onward doctor --repair", "rebuild what can be rebuilt, set the rest aside"),
        ],
    ),
    ("keep", [("onward keep", "put the timer there"), ("onward keep --off", "take it away again")]),
    (
        "trust",
        [("onward trust", "write to the store of this project from now on"), ("onward trust --json", "for a program")],
    ),
    (
        "prune",
        [
            ("onward prune --dry-run", "show what would go, and why"),
            ("onward prune --older-than 14d --yes", "delete only what is older, without a question"),
        ],
    ),
    (
        "archive",
        [
            ("onward archive @", "archive the newest run"),
            ("onward archive run_shop_20261114_101530 --json", "the same by id, for a program"),
        ],
    ),
    (
        "delete",
        [
            ("onward delete run_shop_20261114_101530", "delete a run after a question"),
            ("onward delete run_shop_20261114_101530 --yes", "without one"),
        ],
    ),
    (
        "completions",
        [
            ("onward completions bash", "print the script for bash"),
            ("onward completions zsh", "print the script for zsh"),
        ],
    ),
    (
        "man",
        [("onward man | man -l -", "read the manual page"), ("onward man run > onward-run.1", "write one of a verb")],
    ),
];

/// `help VERB` as the flag that it means. A verb that does not exist is refused as any other.
pub(super) fn asked_for(words: &[OsString]) -> Vec<OsString> {
    match words {
        [program, help, rest @ ..] if help == "help" => {
            let verb = rest.iter().take_while(|word| !word.to_string_lossy().starts_with('-'));
            [program].into_iter().chain(verb).cloned().chain([OsString::from("--help")]).collect()
        }
        other => other.to_vec(),
    }
}

/// The command with its verbs in groups and its examples.
pub(super) fn grouped(mut command: Command) -> Command {
    let about = |command: &Command, verb: &str| {
        let found = command.find_subcommand(verb).and_then(Command::get_about);
        found.map(ToString::to_string).unwrap_or_default()
    };
    let mut verbs = String::new();
    for (title, group) in GROUPS {
        let _ = write!(verbs, "\n{title}:\n");
        for verb in *group {
            let _ = writeln!(verbs, "  {verb:<12} {}", about(&command, verb));
        }
    }
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n{verbs}\nOptions:\n{{options}}\n\n\
         `onward help VERB` has examples, `onward help CODE` explains an error. A bare `onward` shows the unfinished runs of this project.\n"
    );
    for (verb, examples) in EXAMPLES {
        let width = examples.iter().map(|(line, _)| line.len()).max().unwrap_or_default();
        let lines: Vec<String> = examples.iter().map(|(line, what)| format!("  {line:<width$}   {what}")).collect();
        let text = format!("Examples:\n{}", lines.join("\n"));
        command = command.mut_subcommand(verb, |inner| inner.after_help(text));
    }
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{command, parse};

    fn visible() -> Vec<String> {
        let command = command();
        let mut verbs: Vec<String> = command
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(|verb| verb.get_name().to_owned())
            .collect();
        verbs.sort_unstable();
        verbs
    }

    /// A verb is added. It stands in one group of the help, and has its examples.
    #[test]
    fn every_verb_has_a_group_and_examples() {
        let mut grouped: Vec<String> =
            GROUPS.iter().flat_map(|(_, verbs)| *verbs).map(|verb| (*verb).to_owned()).collect();
        grouped.sort_unstable();
        let mut shown: Vec<String> = EXAMPLES.iter().map(|(verb, _)| (*verb).to_owned()).collect();
        shown.sort_unstable();
        assert_eq!((grouped, shown), (visible(), visible()));
    }

    /// An example is copied from the help. It is understood.
    #[test]
    fn every_example_is_understood() {
        for (verb, examples) in EXAMPLES {
            for (line, _) in examples {
                assert!(line.starts_with(&format!("onward {verb}")), "{line}");
                // The rest is for the shell.
                let typed = line.split(['>', '|']).next().unwrap_or_default().trim_end();
                let words: Vec<std::ffi::OsString> = typed.split(' ').map(std::ffi::OsString::from).collect();
                assert!(parse(&words).is_ok(), "{line}");
            }
        }
    }

    /// A program calls any verb and asks for JSON. The flag is understood. A hook's answer is for its client and never an error, and
    /// the MCP server speaks JSON as it is.
    #[test]
    fn every_verb_takes_json() {
        fn without_json(verb: &Command, path: &str) -> Vec<String> {
            let path = format!("{path} {}", verb.get_name());
            if verb.has_subcommands() {
                return verb.get_subcommands().flat_map(|inner| without_json(inner, &path)).collect();
            }
            let has_it = verb.get_arguments().any(|arg| arg.get_long() == Some("json"));
            if has_it { Vec::new() } else { vec![path] }
        }
        let command = command();
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let verbs = verbs.filter(|verb| !["hook", "mcp"].contains(&verb.get_name()));
        let missing: Vec<String> = verbs.flat_map(|verb| without_json(verb, "onward")).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// `help`, alone and with a verb, is the help; `help nosuch` is no verb.
    #[test]
    fn help_is_a_verb_too() {
        let typed = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            parse(&words).expect_err("it is told")
        };
        let (all, of_run) = (typed("onward help"), typed("onward help run"));
        assert!(all.exit_code() == 0 && all.to_string().contains("Steer:"), "{all}");
        assert!(of_run.exit_code() == 0 && of_run.to_string().contains("--fresh"), "{of_run}");
        assert!(typed("onward help report done").to_string().contains("--summary"));
        assert_eq!(typed("onward help nosuch").exit_code(), 2);
    }

    /// Help is read in a terminal of 80 columns, a line for each verb.
    #[test]
    fn help_of_a_verb_fits_a_line_and_starts_with_a_verb() {
        for verb in visible() {
            let about = command().find_subcommand(&verb).and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            assert!(about.len() <= 100 && !about.starts_with("The ") && !about.starts_with("What"), "{verb}: {about}");
        }
    }
}
