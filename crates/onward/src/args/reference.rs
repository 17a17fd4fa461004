//! The pages of `docs/reference` that are made from the program itself: verbs, events, exit codes. `UPDATE_REFERENCE=1` writes them.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, Command};
use serde_json::Value;

use super::command;
use crate::args::SchemaName;
use crate::schema;

const MADE: &str = "<!-- Made from the program: UPDATE_REFERENCE=1 writes it anew. -->\n\n";

/// A verb, an event or a code is added, and whoever looks it up finds it.
#[test]
fn pages_are_those_of_the_program() {
    page("verbs.md", &format!("# Verbs\n\n{MADE}{}", verbs()));
    page("events.md", &format!("# Events of a journal\n\n{MADE}{}", events()));
    page("exit-codes.md", &format!("# Exit codes\n\n{MADE}{}", exit_codes()));
}

fn page(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, made).expect("the page can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, made, "docs/reference/{name} is out of date: run the tests with UPDATE_REFERENCE=1");
}

fn verbs() -> String {
    let mut out = String::from(
        "`onward help VERB` says the same at the terminal, `onward man VERB` as a manual page. Every verb \
         takes `--color auto|always|never` and `-v`: with `-v` it tells its own steps on stderr, with `-vv` every event, wait and \
         call of git.\n",
    );
    let mut command = command();
    command.build();
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        verb_section(&mut out, verb, "onward");
    }
    out
}

fn verb_section(out: &mut String, verb: &Command, above: &str) {
    let name = format!("{above} {}", verb.get_name());
    let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = write!(out, "\n## `{name}`\n\n{about}.\n");
    let shown =
        |arg: &&Arg| !arg.is_hide_set() && !["help", "color", "verbose", "version"].contains(&arg.get_id().as_str());
    let args: Vec<&Arg> = verb.get_arguments().filter(shown).collect();
    if !args.is_empty() {
        out.push_str("\n| argument | meaning |\n|---|---|\n");
        for arg in &args {
            row(out, arg);
        }
    }
    for inner in verb.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
        verb_section(out, inner, &name);
    }
}

fn row(out: &mut String, arg: &Arg) {
    let names = arg.get_value_names().unwrap_or_default();
    let values: Vec<&str> = names.iter().map(clap::builder::Str::as_str).collect();
    let takes = arg.get_action().takes_values();
    let value = if takes { values.join(" ") } else { String::new() };
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    let flags: Vec<String> = short.into_iter().chain(long).collect();
    let shown = format!("{} {value}", flags.join(", ")).trim().replace('|', "\\|");
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default().replace('|', "\\|").replace('\n', " ");
    let _ = writeln!(out, "| `{shown}` | {help} |");
}

fn events() -> String {
    let schema: Value = serde_json::from_str(&schema::written(SchemaName::Event)).expect("a schema is JSON");
    let mut out = String::from(
        "`onward log RUN --events --json` prints them, each with `seq`, `at`, `actor` and `type`. Fields may be added, never renamed; \
         `onward schema event` has their types.\n\n| `type` | means | fields |\n|---|---|---|\n",
    );
    for variant in schema["oneOf"].as_array().expect("a schema of tagged variants") {
        let name = variant["properties"]["type"]["const"].as_str().expect("a tag");
        let means = variant["description"].as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
        let referred = variant["$ref"].as_str().and_then(|at| schema.pointer(at.trim_start_matches('#')));
        let own = variant["properties"].as_object().into_iter().flatten();
        let more = referred.and_then(|schema| schema["properties"].as_object()).into_iter().flatten();
        let fields: Vec<String> = own
            .chain(more)
            .map(|(name, _)| name)
            .filter(|name| *name != "type")
            .map(|name| format!("`{name}`"))
            .collect();
        let _ = writeln!(out, "| `{name}` | {means} | {} |", fields.join(", "));
    }
    out
}

fn exit_codes() -> String {
    let source = include_str!("../../../onward-core/src/exit.rs");
    let mut out = String::from("| code | means |\n|---|---|\n");
    let mut means: Vec<&str> = Vec::new();
    for line in source.lines() {
        if let Some(text) = line.strip_prefix("/// ") {
            means.push(text);
        } else if let Some((_, code)) = line.split_once(": u8 = ") {
            let code = code.trim_end_matches(';');
            let shown = if code == "128" { "128 + N" } else { code };
            let _ = writeln!(out, "| {shown} | {} |", means.join(" "));
            means.clear();
        }
    }
    out.push_str("\nThe exit codes of a phase are others: 0 done, 75 rate-limited, 79 wants another plan, anything else failed.\n");
    out
}
