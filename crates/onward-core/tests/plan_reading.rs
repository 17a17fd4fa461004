//! Reading a right plan: values as written, defaults filled in, waves in order.

use std::collections::BTreeMap;
use std::time::Duration;

use onward_core::diagnostic::{Diagnostic, render};
use onward_core::expression::Condition;
use onward_core::id::PhaseId;
use onward_core::plan::{
    Axis, Body, Budget, Effects, InputKind, LossKind, MayEdit, OnChange, OnInterrupt, PhaseFailure, Plan, PlanFailure,
    Priority, Rate, ReplanWhen, RetryWhen, Scope, WhenLimited, digest, graph, parse, phase_digest,
};

fn plan(text: &str) -> Plan {
    let parsed = parse(text);
    parsed.plan.unwrap_or_else(|| panic!("{}", render("plan.yaml", text, &parsed.diagnostics)))
}

/// Ids such as 1.10 and values such as no are written without quotes. They stay what was written.
#[test]
fn words_stay_as_written() {
    let text = "onward: 1
phases:
  1.1: { env: { A: no, B: on, C: 0x10, D: 1.10, E: , F: ~ }, run: x }
  1.10: { needs: [1.1], run: x }
  no: { needs: 1.10, run: x }
  0123: { needs: [no], run: 'true' }
";
    let plan = plan(text);
    let ids: Vec<&str> = plan.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, ["1.1", "1.10", "no", "0123"]);
    let values: Vec<&str> = plan.phases[0].env.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["no", "on", "0x10", "1.10", "", "~"]);
    assert_eq!(plan.phases[2].needs[0].phase.as_str(), "1.10");
}

#[test]
fn what_is_not_said_has_a_default() {
    let plan = plan("onward: 1\nphases:\n  a: { run: x }\n");
    assert_eq!((plan.kind.as_str(), plan.max_parallel, plan.on_failure), ("run", 4, PlanFailure::Finish));
    let phase = &plan.phases[0];
    assert_eq!(phase.body, Body::Run { script: "x".into(), shell: vec!["sh".into(), "-e".into()] });
    assert_eq!(
        (phase.effects, phase.priority, phase.value, phase.timeout),
        (Effects::Files, Priority::Normal, None, None)
    );
    assert_eq!(
        (phase.retry.max, phase.retry.when.len(), phase.retry.backoff.factor.to_bits()),
        (0, 3, 2.0_f64.to_bits())
    );
    assert_eq!(
        (phase.retry.backoff.initial, phase.retry.backoff.max),
        (Duration::from_secs(10), Duration::from_mins(5))
    );
    assert_eq!(phase.title(), "a");
}

#[test]
fn defaults_fill_in_what_a_phase_does_not_say() {
    let text = "onward: 1
defaults:
  shell: bash -euo pipefail
  timeout: 1h 30m
  on-interrupt: rerun
  working-directory: sub
  env: { A: shared, B: shared }
  retry: { max: 3, when: [failed], backoff: { initial: 5s, jitter: false } }
phases:
  plain: { run: x }
  own: { run: x, shell: zsh, timeout: 300ms, on-interrupt: ask, env: { B: mine, C: mine }, retry: { max: 1, backoff: { max: 1m } } }
";
    let plan = plan(text);
    let (bare, own) = (&plan.phases[0], &plan.phases[1]);
    assert_eq!(bare.timeout, Some(Duration::from_mins(90)));
    assert_eq!(bare.working_directory.as_deref(), Some("sub"));
    assert_eq!(bare.on_interrupt, Some(OnInterrupt::Rerun));
    assert!(matches!(&bare.body, Body::Run { shell, .. } if shell.join(" ") == "bash -euo pipefail"));
    assert_eq!(own.timeout, Some(Duration::from_millis(300)));
    assert_eq!(own.on_interrupt, Some(OnInterrupt::Ask));
    let env: Vec<String> = own.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["A=shared", "B=mine", "C=mine"]);
    assert_eq!((own.retry.max, own.retry.when.as_slice()), (1, [RetryWhen::Failed].as_slice()));
    assert_eq!((own.retry.backoff.initial, own.retry.backoff.max), (Duration::from_secs(5), Duration::from_mins(1)));
    assert!(!own.retry.backoff.jitter);
}

#[test]
fn everything_a_phase_can_say_arrives() {
    let text = "onward: 1
name: all of it
run-name: now
type: implement
description: |
  two
  lines
max-parallel: 7
on-failure: continue
inputs: { level: { type: choice, choices: [1, 2], default: 2, description: how much } }
phases:
  a: { name: First, description: d, run: x, outputs: { n: a number }, effects: none, priority: high, kind: code }
  b: { needs: [{ phase: a, state: completed }, a], run: x, writes: out, effects: external, priority: low, kind: issue }
  c: { needs: [a, { phase: b }], run: x, writes: [one, two/**] }
";
    let plan = plan(text);
    assert_eq!(
        (plan.name.as_str(), plan.run_name.as_deref(), plan.kind.as_str()),
        ("all of it", Some("now"), "implement")
    );
    assert_eq!((plan.max_parallel, plan.on_failure), (7, PlanFailure::Continue));
    assert_eq!(plan.inputs["level"].kind, InputKind::Choice { choices: vec!["1".into(), "2".into()] });
    assert_eq!(plan.inputs["level"].default.as_deref(), Some("2"));
    let [a, b, c] = plan.phases.as_slice() else { panic!("three phases") };
    assert_eq!(
        (a.title(), a.effects, a.priority, a.value),
        ("First", Effects::None, Priority::High, Some(LossKind::Code))
    );
    assert_eq!(a.outputs, BTreeMap::from([("n".to_owned(), "a number".to_owned())]));
    assert_eq!((b.needs.len(), b.needs[0].must_be_completed), (1, true));
    assert_eq!((b.writes.as_slice(), c.writes.len(), c.needs.len()), (["out".to_owned()].as_slice(), 2, 2));
}

/// The same plan as YAML in braces, as YAML in lines and as JSON with tabs, escapes and a character of two halves.
#[test]
fn json_and_yaml_are_one() {
    let block = "onward: 1\nname: \"k\u{1f511}y\"\nphases:\n  a:\n    run: \"echo \\\"x\\\"\\n\"\n";
    let flow = "{onward: 1, name: 'k\u{1f511}y', phases: {a: {run: \"echo \\\"x\\\"\\n\"}}}";
    let json = "\u{feff}{\r\n\t\"onward\": 1,\r\n\t\"name\": \"k\\uD83D\\udd11y\",\r\n\t\"phases\": { \"a\": { \"run\": \"echo \\\"x\\\"\\u000a\" } }\r\n}\r\n";
    assert_eq!(plan(block), plan(flow));
    assert_eq!(plan(block), plan(json));
}

#[test]
fn other_kinds_keep_their_block() {
    let text = "onward: 1
defaults: { agent: { use: coder, max-turns: 5 } }
phases:
  a: { agent: { prompt: go, max-turns: 9 } }
  b: { approval: { message: 'yes?', expires: 1h } }
  c: { external: { instructions: do it } }
  d: { uses: other.yaml, with: { n: 1.10 } }
";
    let parsed = parse(text);
    assert!(!parsed.unsupported());
    let kinds: Vec<&str> = parsed.phases.iter().map(|phase| phase.kind.as_str()).collect();
    assert_eq!(kinds, ["agent", "approval", "external", "uses"]);
    let plan = parsed.plan.expect("it is right");
    let Body::Agent(agent) = &plan.phases[0].body else { panic!("an agent") };
    assert_eq!((agent["use"].as_str(), agent["max-turns"].as_i64()), (Some("coder"), Some(9)));
    let Body::Uses(other) = &plan.phases[3].body else { panic!("another plan") };
    assert_eq!(
        (other.path.as_str(), other.with.as_slice()),
        ("other.yaml", &[("n".to_owned(), "1.10".to_owned())][..])
    );
}

#[test]
fn the_author_owns_x_keys() {
    let parsed = parse("onward: 1\nx-mine: [1]\nphases:\n  a: { run: x, x-also: { deep: true } }\n");
    assert_eq!(parsed.diagnostics, []);
    assert!(!parsed.unsupported() && !parsed.newer());
}

#[test]
fn batches_are_the_waves_of_the_graph() {
    let text = "onward: 1
phases:
  a: { run: x }
  b: { needs: a, run: x }
  c: { needs: [a], run: x }
  d: { needs: [b, c], run: x }
  z: { run: x }
";
    let plan = plan(text);
    let batches: Vec<String> = graph::batches(&plan)
        .iter()
        .map(|batch| batch.iter().map(PhaseId::as_str).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(batches, ["a z", "b c", "d"]);
    let dependents = graph::dependents(&plan);
    assert_eq!(dependents[&plan.phases[0].id], [plan.phases[1].id.clone(), plan.phases[2].id.clone()]);
    assert_eq!(dependents[&plan.phases[4].id], []);
}

/// One chain of a hundred thousand phases: nothing recurses, nothing is quadratic.
#[test]
fn a_very_long_chain_has_its_waves() {
    let one = plan("onward: 1\nphases:\n  a: { run: x }\n");
    let count = 100_000;
    let mut long = one.clone();
    long.phases = (0..count)
        .map(|index| {
            let mut phase = one.phases[0].clone();
            phase.id = PhaseId::new(format!("p{index}"));
            if index > 0 {
                let before = PhaseId::new(format!("p{}", index - 1));
                phase.needs = vec![onward_core::plan::Need::new(before)];
            }
            phase
        })
        .collect();
    assert_eq!(graph::batches(&long).len(), count);
    assert_eq!(graph::dependents(&long).len(), count);
}

/// A digest follows the work and nothing else.
#[test]
fn digests_follow_the_work() {
    let base = "onward: 1\nphases:\n  a: { run: x, env: { A: b } }\n  b: { needs: a, run: y }\n";
    let digest_of = |from: &str, to: &str| {
        let plan = plan(&base.replace(from, to));
        let env = plan.phases[0].env.clone();
        (digest(&plan), phase_digest(&plan, &plan.phases[0], &env))
    };
    let same = digest_of("", "");
    assert_eq!(same.0.len(), 64);
    for (from, to) in [
        ("onward: 1\n", "onward: 1\nname: other\ndescription: d\nmax-parallel: 9\n"),
        ("run: x", "run: x, name: n, description: d, timeout: 1m, retry: { max: 2 }, priority: low"),
        ("run: x", "run: x, verify: [t], artifacts: { r: r }, writes: out, kind: docs"),
    ] {
        assert_eq!(digest_of(from, to), same, "{to}");
    }
    for (from, to) in [
        ("run: x", "run: z"),
        ("A: b", "A: c"),
        ("run: x", "run: x, shell: bash"),
        ("run: x", "run: x, outputs: { n: m }"),
    ] {
        let other = digest_of(from, to);
        assert!(other.0 != same.0 && other.1 != same.1, "{to}");
    }
    let needs = digest_of("needs: a, ", "");
    assert!(needs.0 != same.0 && needs.1 == same.1, "needs are part of the plan, not of the work of a phase");
}

#[test]
fn a_plan_survives_being_stored() {
    let plan = plan(include_str!("../../../fixtures/plans/feature.yaml"));
    let text = serde_json::to_string(&plan).expect("a plan is JSON");
    assert_eq!(serde_json::from_str::<Plan>(&text).expect("and comes back"), plan);
}

/// People see of a fault: place, code, the line with a caret, the way out. Nothing a terminal would obey.
#[test]
fn faults_are_shown_with_their_line() {
    let text = "onward: 1\nphases:\n  a: { rum: \"\u{1b}[31mx\" }\n";
    let parsed = parse(text);
    let shown = render("plan.yaml", text, &parsed.diagnostics);
    let expected = "plan.yaml:3:8: error[unknown-key]: unknown key `rum` in a phase
  3 |   a: { rum: \"\\u{1b}[31mx\" }
    |        ^
  help: did you mean `run`?
";
    assert_eq!(shown, expected);
    let nowhere = render("plan.yaml", "", &[Diagnostic::error(onward_core::diagnostic::Code::TooLarge, "too large")]);
    assert_eq!(nowhere, "plan.yaml: error[too-large]: too large\n");
}

#[test]
fn the_parts_of_a_plan_are_read() {
    let text = "onward: 1
limits:
  api: { rate: 60/1m, max-parallel: 4, when-limited: pause, max-wait: 2h, budget: { usd: 2.5, tokens: 9 }, detect: { exit-codes: [75, 9], output-matches: 'HTTP 429', reset-at: 'at (.*)' } }
  claude-code: { scope: run }
  codex: {}
replan: { may-edit: pending, run: ./replan, approval: false }
defaults: { locks: [db], limits: [api], on-failure: skip, on-change: keep }
phases:
  a:
    matrix: { x: [1, two], y: '${{ phases.b.outputs.list }}', max-parallel: 2, fail-fast: true }
    needs: b
    run: x
    if: always()
    reads: in/**
    verify: [one, two]
    done-when: probe
    fingerprint: cc --version
    retry: { max: 1, output-matches: 'ECONN.*' }
    replan: { max: 1, when: failed }
  b: { run: x, locks: [], limits: [codex], on-failure: ask }
";
    let plan = plan(text);
    let api = &plan.limits["api"];
    assert_eq!(api.rate, Some(Rate { count: 60, window: Duration::from_mins(1) }));
    assert_eq!((api.max_parallel, api.when_limited, api.scope), (Some(4), WhenLimited::Pause, Scope::Project));
    assert_eq!((api.max_wait, api.budget), (Duration::from_hours(2), Some(Budget { usd: Some(2.5), tokens: Some(9) })));
    let detect = api.detect.as_ref().expect("it says how");
    assert_eq!((detect.exit_codes.as_slice(), detect.output_matches.as_deref()), (&[75, 9][..], Some("HTTP 429")));
    assert_eq!((plan.limits["claude-code"].scope, plan.limits["codex"].scope), (Scope::Run, Scope::User));
    assert_eq!(plan.limits["codex"].max_wait, Duration::from_hours(6));
    let [a, b] = plan.phases.as_slice() else { panic!("two phases") };
    let matrix = a.matrix.as_ref().expect("a matrix");
    assert_eq!((matrix.max_parallel, matrix.fail_fast, matrix.axes.len()), (Some(2), true, 2));
    assert_eq!(matrix.axes[0], ("x".to_owned(), Axis::Values(vec!["1".into(), "two".into()])));
    assert_eq!(matrix.axes[1], ("y".to_owned(), Axis::From("${{ phases.b.outputs.list }}".into())));
    assert_eq!(
        (a.condition.as_ref().map(Condition::as_str), a.reads.as_slice()),
        (Some("always()"), &["in/**".to_owned()][..])
    );
    assert_eq!((a.verify.len(), a.done_when.len(), a.fingerprint.len()), (2, 1, 1));
    assert_eq!((a.locks.as_slice(), a.pools()), (&["db".to_owned()][..], vec!["api"]));
    assert_eq!((b.locks.len(), b.pools()), (0, vec!["codex"]));
    assert_eq!((a.on_failure, b.on_failure), (Some(PhaseFailure::Skip), Some(PhaseFailure::Ask)));
    assert_eq!((a.on_change, a.retry.output_matches.as_deref()), (Some(OnChange::Keep), Some("ECONN.*")));
    let rules = plan.replan_rules(Some(a));
    assert_eq!((rules.max, rules.max_per_phase, rules.may_edit), (4, 1, MayEdit::Pending));
    assert_eq!((rules.run.as_deref(), rules.approval, rules.when), (Some("./replan"), false, vec![ReplanWhen::Failed]));
    let stored = serde_json::to_string(&plan).expect("a plan is stored as JSON");
    assert_eq!(serde_json::from_str::<Plan>(&stored).expect("it can be read back"), plan);
}

/// Plans stored before a phase could have conditions, limits and the like are still read, and have none of them.
#[test]
fn plans_of_earlier_records_are_read() {
    let mut stored = serde_json::to_value(plan("onward: 1\nphases: { a: { run: x } }\n")).expect("JSON");
    let phase = stored["phases"][0].as_object_mut().expect("a phase");
    let keys: Vec<&str> = phase.keys().map(String::as_str).collect();
    let known =
        ["id", "name", "description", "needs", "body", "env", "working_directory", "timeout", "retry", "outputs"];
    let more = ["writes", "effects", "priority", "value", "on_interrupt"];
    assert_eq!(keys, known.iter().chain(&more).copied().collect::<Vec<_>>(), "what is not said is not stored");
    assert!(serde_json::from_value::<Plan>(stored).is_ok());
}

/// Somebody copies a plan out of a document. It is read without an error.
#[test]
fn the_plans_of_the_documents_are_plans() {
    let documents =
        [(include_str!("../../../docs/external-phases.md"), 2), (include_str!("../../../docs/limits.md"), 3)];
    for (document, count) in documents {
        let blocks = document.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let plans: Vec<&str> = blocks.filter(|block| block.starts_with("onward: 1")).collect();
        assert_eq!(plans.len(), count, "plans of a document");
        for text in plans {
            let parsed = parse(text);
            assert!(parsed.plan.is_some(), "{text}{:?}", parsed.diagnostics);
        }
    }
}

/// Retries, a question and artifacts are written short. They mean what the long forms mean, over `defaults` as well.
#[test]
fn short_forms_mean_the_long_ones() {
    let short = plan(
        "onward: 1
defaults: { retry: 3 }
phases:
  a: { run: x, retry: 2, artifacts: [out/app, 'report ${{ run.id }}.md'] }
  b: { needs: a, approval: 'Release ${{ phases.a.status }}?' }
  c: { run: x }
  d: { run: x, retry: { when: infra } }
finally:
  e: { run: x, retry: 0, artifacts: [log.txt] }
",
    );
    let long = plan(
        "onward: 1
defaults: { retry: { max: 3 } }
phases:
  a:
    run: x
    retry: { max: 2 }
    artifacts: [out/app, 'report ${{ run.id }}.md']
  b: { needs: a, approval: { message: 'Release ${{ phases.a.status }}?' } }
  c: { run: x }
  d: { run: x, retry: { when: infra } }
finally:
  e: { run: x, retry: { max: 0 }, artifacts: [log.txt] }
",
    );
    assert_eq!(short, long);
    let retries: Vec<u32> = short.phases.iter().chain(&short.finally).map(|phase| phase.retry.max).collect();
    assert_eq!(retries, [2, 3, 3, 3, 0]);
    let artifacts: Vec<_> = short.phases[0].artifacts.iter().map(|it| (it.name.as_str(), it.path.as_str())).collect();
    assert_eq!(artifacts, [("out/app", "out/app"), ("report ${{ run.id }}.md", "report ${{ run.id }}.md")]);
    assert!(short.phases[0].artifacts.iter().all(|artifact| artifact.required));
    // In JSON too, and a file that is named twice is one artifact.
    let json = plan(r#"{"onward": 1, "phases": {"a": {"run": "x", "retry": 1, "artifacts": ["f", "f"]}}}"#);
    assert_eq!((json.phases[0].retry.max, json.phases[0].artifacts.len()), (1, 1));
}

/// A short form that is wrong is a fault with its place, as any other value.
#[test]
fn a_wrong_short_form_is_named_with_its_place() {
    for (line, word) in [("retry: often", "often"), ("artifacts: [../up]", "../up"), ("artifacts: [[a]]", "artifacts")]
    {
        let parsed = parse(&format!("onward: 1\nphases:\n  a: {{ run: x, {line} }}\n"));
        assert!(parsed.plan.is_none(), "{line}");
        let fault = parsed.diagnostics.iter().find(|fault| fault.is_error()).expect("it is wrong");
        assert!(fault.message.contains(word) && fault.place.is_some_and(|place| place.line == 3), "{fault:?}");
    }
}
