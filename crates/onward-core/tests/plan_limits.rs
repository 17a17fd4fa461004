//! Texts made to hurt: too large, too deep, too many, bombs. Each is refused quickly, by name, and nothing overflows.

use std::ops::Range;

use onward_core::diagnostic::{Code, render};
use onward_core::plan::{DEPTH_MAX, NODES_MAX, TEXT_BYTES_MAX, parse};

fn codes(text: &str) -> Vec<Code> {
    let parsed = parse(text);
    assert!(parsed.plan.is_none(), "a hostile text became a plan");
    parsed.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

fn repeated(times: Range<usize>, line: impl Fn(usize) -> String) -> String {
    times.map(line).collect()
}

fn with(extra: &str) -> String {
    format!("onward: 1\nx-extra: {extra}\nphases:\n  a: {{ run: x }}\n")
}

#[test]
fn five_megabytes_are_not_even_looked_at() {
    assert_eq!(codes(&with(&"x".repeat(TEXT_BYTES_MAX))), [Code::TooLarge]);
}

#[test]
fn nesting_has_a_limit_in_every_notation() {
    let million = 1_000_000;
    assert_eq!(codes(&with(&"[".repeat(million))), [Code::TooDeep]);
    assert_eq!(codes(&with(&format!("{}{}", "[".repeat(20_000), "]".repeat(20_000)))), [Code::TooDeep]);
    assert_eq!(codes(&with(&"{a: ".repeat(200))), [Code::TooDeep]);
    assert_eq!(codes(&"- ".repeat(million)), [Code::TooDeep]);
    assert_eq!(codes(&format!("{{\"onward\": {}", "[".repeat(million))), [Code::TooDeep]);
    assert_eq!(codes(&"{\"a\":".repeat(500_000)), [Code::TooDeep]);
    let (inner, outer) = ("[".repeat(DEPTH_MAX - 1), "]".repeat(DEPTH_MAX - 1));
    assert!(parse(&with(&format!("{inner}{outer}"))).plan.is_some(), "the limit itself is allowed");
}

/// Nine aliases to nine aliases and so on, nine times over: a few lines that stand for hundreds of millions of values.
#[test]
fn aliases_count_for_what_they_stand_for() {
    let mut bomb = "onward: 1\nx-0: &l0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    bomb += &repeated(1..9, |level| {
        let aliases = vec![format!("*l{}", level - 1); 9].join(", ");
        format!("x-{level}: &l{level} [{aliases}]\n")
    });
    bomb.push_str("phases:\n  a: { run: x }\n");
    assert_eq!(codes(&bomb), [Code::TooManyNodes]);
    let long = format!(
        "onward: 1\nx-a: &a {}\nx-b: [{}]\nphases: {{ a: {{ run: x }} }}",
        "y".repeat(1 << 20),
        "*a, ".repeat(50)
    );
    assert_eq!(codes(&long), [Code::TooLarge]);
    let modest = "onward: 1\nx-env: &env { A: b }\nphases:\n  a: { run: x, env: *env }\n  b: { run: x, env: *env }\n";
    let plan = parse(modest).plan.expect("aliases as such are fine");
    assert_eq!(plan.phases[1].env, [("A".to_owned(), "b".to_owned())]);
}

/// Anchors inside anchors, each of which would keep a copy of all the rest.
#[test]
fn anchors_count_too() {
    let mut text = "onward: 1\nx-a: ".to_owned();
    text += &repeated(0..DEPTH_MAX - 2, |level| format!("&a{level} ["));
    text.push_str(&"y, ".repeat(NODES_MAX / 4));
    text.push_str(&"]".repeat(DEPTH_MAX - 2));
    assert_eq!(codes(&text), [Code::TooManyNodes]);
}

#[test]
fn values_have_a_limit() {
    assert_eq!(codes(&with(&format!("[{}]", "a,".repeat(3 * NODES_MAX)))), [Code::TooManyNodes]);
    assert_eq!(codes(&format!("{{\"x\": [{}1]}}", "1,".repeat(NODES_MAX))), [Code::TooManyNodes]);
}

/// A long text in `defaults` would be copied into every phase.
#[test]
fn defaults_are_counted_once_per_phase() {
    let mut text = format!("onward: 1\ndefaults: {{ env: {{ A: {} }} }}\nphases:\n", "y".repeat(1 << 20));
    text += &repeated(0..100, |index| format!("  p{index}: {{ run: x }}\n"));
    assert_eq!(codes(&text), [Code::TooLarge]);
}

#[test]
fn scripts_fit_on_a_command_line() {
    let script = "x".repeat((96 << 10) + 1);
    let parsed = parse(&format!("onward: 1\nphases:\n  a: {{ run: {script} }}\n"));
    assert_eq!(parsed.diagnostics[0].code, Code::ScriptTooLong);
    assert!(parsed.diagnostics[0].help.contains("put it in a file"));
}

/// Thousands of faults: the first hundreds are shown, errors before warnings, and the rest is counted.
#[test]
fn a_flood_of_faults_is_cut() {
    let mut text = "onward: 1\nphases:\n".to_owned();
    text += &repeated(0..1_000, |index| format!("  p{index}: {{ run: x, runs-on: x }}\n"));
    let parsed = parse(&text);
    assert!(parsed.plan.is_some() && parsed.unsupported());
    text.push_str("  last: { rum: x }\n");
    let parsed = parse(&text);
    assert!(parsed.plan.is_none());
    assert!(parsed.diagnostics.iter().any(|fault| fault.code == Code::UnknownKey), "the error got lost among warnings");
    let more = parsed.diagnostics.last().expect("there are some");
    assert_eq!((more.code, parsed.diagnostics.len()), (Code::MoreFaults, 501));
}

/// Thousands of unknown words, and one very long line: messages stay short and quick to make.
#[test]
fn messages_stay_short() {
    let mut text = "onward: 1\n".to_owned();
    text += &repeated(0..2_000, |index| format!("key{index}: x\n"));
    assert!(codes(&text).contains(&Code::UnknownKey));
    let long = format!("onward: 1\nphases: {{ a: {{ run: x, {} }} }}", "timeout: 5, ".repeat(5_000));
    let parsed = parse(&long);
    assert!(render("plan.yaml", &long, &parsed.diagnostics).len() < 500_000);
}
