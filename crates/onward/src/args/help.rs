//! The help: verbs in groups, and examples for each.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::Command;

/// The widest line of the help; clap breaks longer ones.
pub(super) const HELP_WIDTH_MAX: usize = 100;

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
            ("onward plan 'Fix the login page'", "have an agent write onward.yaml; nothing is saved before you agree"),
            ("onward plan - --output plans/login.yaml", "read a longer task from stdin, and save the plan elsewhere"),
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
    (
        "status",
        [("onward status", "show the newest run"), ("onward status --watch", "refresh whenever the run changes")],
    ),
    ("list", [("onward list", "list the runs of this project"), ("onward list --all", "include archived runs")]),
    ("log", [("onward log", "list the checkpoints of the newest run"), ("onward log @ --events", "list every event")]),
    (
        "show",
        [("onward show @", "show the newest run"), ("onward show CP-build --json", "show one checkpoint as JSON")],
    ),
    (
        "logs",
        [
            ("onward logs", "show all output of the newest run"),
            ("onward logs build --follow", "follow the output of one phase"),
        ],
    ),
    (
        "why",
        [("onward why deploy", "explain why deploy waits"), ("onward why @- deploy", "the same of the run before")],
    ),
    ("graph", [("onward graph", "draw the newest run"), ("onward graph onward.yaml --format mermaid", "draw a plan")]),
    (
        "summary",
        [
            ("onward summary", "print the newest run as one page"),
            ("onward summary --format html > run.html", "write it as a file to send to somebody"),
        ],
    ),
    (
        "diff",
        [
            ("onward diff @- @", "compare the last two checkpoints"),
            ("onward diff @- @ --stat", "show only how much changed"),
        ],
    ),
    (
        "approve",
        [
            ("onward approve release --resume", "approve the phase release, and go on"),
            ("onward approve release --choice later", "answer with another choice of the plan"),
        ],
    ),
    (
        "reject",
        [
            ("onward reject release", "reject the phase release"),
            ("onward reject build --reason 'use the staging host'", "reject a tool call of its agent, and say why"),
        ],
    ),
    (
        "retry",
        [
            ("onward retry build", "run build again at the next `onward resume`"),
            ("onward retry 'fetch[2026-11-14]'", "run one child of a matrix again"),
        ],
    ),
    (
        "skip",
        [
            ("onward skip docs", "skip docs in the newest run"),
            ("onward skip run_shop_20261114_101530 docs", "skip it in another run"),
        ],
    ),
    (
        "adopt",
        [
            ("onward adopt deploy", "count deploy as done"),
            ("onward adopt deploy --reason 'done by hand'", "the same, with the reason on record"),
        ],
    ),
    (
        "pause",
        [("onward pause", "pause the newest run"), ("onward pause 101530", "pause the run whose id ends in 101530")],
    ),
    (
        "cancel",
        [
            ("onward cancel", "cancel the newest run"),
            ("onward cancel 101530", "cancel the run whose id ends in 101530"),
        ],
    ),
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
    (
        "undo",
        [("onward undo", "undo the last rewind"), ("onward undo --yes", "undo it even where work was done since")],
    ),
    (
        "fork",
        [
            ("onward fork @-", "start a new run from the checkpoint before the newest"),
            ("onward fork CP-build --worktree ../try", "start it in a git worktree of its own"),
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
            ("onward hook SessionStart", "print the state of the unfinished run, once a session"),
            ("onward hook PreCompact", "take a checkpoint, print nothing"),
        ],
    ),
    (
        "mcp",
        [
            ("onward mcp", "serve one client; clients start it themselves"),
            ("onward mcp --http --read-only", "serve over HTTP, with the tools that change nothing"),
        ],
    ),
    (
        "brief",
        [
            ("onward brief", "print a briefing of the newest run in 2,000 tokens"),
            ("onward brief @ --tokens 500 --json", "print a shorter one, for a program"),
        ],
    ),
    (
        "message",
        [
            (
                "onward message send --from coder --to tester --type request --body 'Please test the parser'",
                "ask another agent",
            ),
            ("onward message inbox tester --json", "show what the tester has not acknowledged yet"),
        ],
    ),
    ("team", [("onward team", "show the team of the newest run"), ("onward team --json", "the same, for a program")]),
    (
        "knowledge",
        [
            (
                "onward knowledge add --id KE-1 --type pattern --title Retries --body 'Calls are idempotent'",
                "record what was learned",
            ),
            ("onward knowledge list --json", "list all of it"),
        ],
    ),
    (
        "decision",
        [
            ("onward decision add 'REST, not GraphQL'", "record a decision"),
            ("onward decision add 'REST, not GraphQL' --by architect", "record who took it, too"),
        ],
    ),
    (
        "conflict",
        [
            (
                "onward conflict start CONF-1 --between architect,coder --topic 'Sessions or tokens'",
                "record that two disagree",
            ),
            ("onward conflict resolve CONF-1 --resolution 'Tokens'", "record how it was settled"),
        ],
    ),
    (
        "state",
        [
            ("onward state merge notes.json", "merge a JSON object into the state of the run"),
            ("onward state get /decisions/0", "print one part of the state"),
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
        [
            ("onward load implement", "print the newest state of a type"),
            ("onward load implement shop", "print the newest of this type and project"),
        ],
    ),
    (
        "demo",
        [
            ("onward demo", "watch a run that is killed twice and finishes"),
            ("onward demo | less", "read it at leisure"),
        ],
    ),
    (
        "export",
        [
            ("onward export @ --output run.onward", "write the newest run into a file"),
            ("onward export @ --with-files --output run.onward", "include the snapshots of its files"),
        ],
    ),
    (
        "import",
        [
            ("onward import run.onward", "import a run that onward exported"),
            ("onward import .claude/pipeline-state.json", "import the run of another tool"),
        ],
    ),
    ("init", [("onward init", "create a project here"), ("onward init --plan", "write a commented plan, too")]),
    ("check", [("onward check onward.yaml", "check a plan"), ("onward check onward.yaml --json", "for an editor")]),
    ("config", [("onward config", "show every value"), ("onward config --origin", "show which file sets each value")]),
    ("schema", [("onward schema", "list the schemas"), ("onward schema plan", "print the schema of plan files")]),
    (
        "doctor",
        [
            ("onward doctor", "check everything, change nothing"),
            ("onward doctor --repair", "rebuild what can be rebuilt, set the rest aside"),
        ],
    ),
    ("keep", [("onward keep", "install the timer"), ("onward keep --off", "remove the timer")]),
    (
        "trust",
        [("onward trust", "trust the store of this project"), ("onward trust --json", "the same, for a program")],
    ),
    (
        "prune",
        [
            ("onward prune --dry-run", "list what would be deleted, and why"),
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
            ("onward delete run_shop_20261114_101530", "delete a run, after asking you"),
            ("onward delete run_shop_20261114_101530 --yes", "delete it without asking"),
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
        [
            ("onward man | man -l -", "read the manual page"),
            ("onward man run > onward-run.1", "write the page of one verb"),
        ],
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

/// Examples side by side with their purpose, or above it where that is wider than the help may be.
fn laid_out(examples: &[(&str, &str); 2]) -> Vec<String> {
    let width = examples.iter().map(|(line, _)| line.len()).max().unwrap_or_default();
    let beside: Vec<String> = examples.iter().map(|(line, what)| format!("  {line:<width$}   {what}")).collect();
    if beside.iter().all(|line| line.len() <= HELP_WIDTH_MAX) {
        return beside;
    }
    examples.iter().map(|(line, what)| format!("  {line}\n      {what}")).collect()
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
         `onward help VERB` shows examples, `onward help CODE` explains an error or an exit code.\nA bare `onward` shows the unfinished runs of this project.\n"
    );
    for (verb, examples) in EXAMPLES {
        let text = format!("Examples:\n{}", laid_out(examples).join("\n"));
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
                assert!(parse(&as_a_shell_splits(typed)).is_ok(), "{line}");
            }
        }
    }

    /// Words between blanks; single quotes keep blanks together.
    fn as_a_shell_splits(line: &str) -> Vec<OsString> {
        let mut words = vec![String::new()];
        for (at, part) in line.split('\'').enumerate() {
            let pieces: Vec<&str> = if at % 2 == 0 { part.split(' ').collect() } else { vec![part] };
            let mut pieces = pieces.into_iter();
            words.last_mut().expect("there is one from the start").push_str(pieces.next().unwrap_or_default());
            words.extend(pieces.map(str::to_owned));
        }
        words.into_iter().map(OsString::from).collect()
    }

    /// The help of every verb is read in a terminal. No line of its examples is broken.
    #[test]
    fn examples_are_not_broken_across_lines() {
        for (verb, examples) in EXAMPLES {
            for line in laid_out(examples).iter().flat_map(|text| text.lines()) {
                assert!(line.len() <= HELP_WIDTH_MAX, "{verb}: {line}");
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

    /// Behind the name of the verb, in a terminal of 80 columns.
    const ABOUT_WIDTH_MAX: usize = 80 - 15;

    /// Help is read in a terminal of 80 columns, a line for each verb.
    #[test]
    fn help_of_a_verb_fits_a_line_and_starts_with_a_verb() {
        for verb in visible() {
            let about = command().find_subcommand(&verb).and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_default();
            assert!(
                about.len() <= ABOUT_WIDTH_MAX && !about.starts_with("The ") && !about.starts_with("What"),
                "{verb}: {about}"
            );
        }
    }
}
