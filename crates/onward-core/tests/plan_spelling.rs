//! Keys and triggers with hyphens and with underscores, and the triggers that a plan switches.

use std::collections::BTreeMap;

use onward_core::checkpoint::Trigger;
use onward_core::config::{self, Config};
use onward_core::diagnostic::Code;
use onward_core::plan::{Plan, parse};
use onward_core::retention::{KeepAge, KeepCount, RunRetention};

const HYPHENS: &str = r#"onward: 1
name: spelled
run-name: one-run
max-parallel: 2
on-failure: continue
checkpoint: { git-commit: { every: 2 }, triggers: { phase-transition: false, agent-complete: true }, mirror: [pipeline-state] }
freshness: { git: { branch: b, if-branch-gone: stop } }
replan: { max-per-phase: 1, may-edit: pending, run: ./again.sh, tasks-max: 5 }
limits: { api-calls: { max-parallel: 1, when-limited: pause, max-wait: 1h } }
defaults: { working-directory: sub-folder, on-interrupt: rerun }
env: { A_B: a-b }
phases:
  a-b: { run: make on-failure, done-when: "true", on-change: keep, retry: { max: 1, output-matches: max-wait }, limits: [api-calls] }
  a_b: { needs: a-b, approval: { message: on-failure, if-expired: reject, expires: 1h } }
finally: { last-one: { run: x, on-failure: skip } }
"#;

fn plan(text: &str) -> Plan {
    let parsed = parse(text);
    parsed.plan.unwrap_or_else(|| panic!("{:#?}", parsed.diagnostics))
}

/// Every key of ours with underscores: the text before a colon, but no name of the author's choosing.
fn with_underscores() -> String {
    let keys = "run-name max-parallel on-failure git-commit phase-transition agent-complete if-branch-gone max-per-phase may-edit tasks-max \
                when-limited max-wait working-directory on-interrupt done-when on-change output-matches if-expired";
    keys.split_whitespace()
        .fold(HYPHENS.to_owned(), |text, key| text.replace(&format!("{key}:"), &format!("{}:", key.replace('-', "_"))))
}

/// A plan is written with underscores in all its keys. It is the same plan; names, values and texts are as written.
#[test]
fn keys_in_either_spelling_are_one_plan() {
    let text = with_underscores();
    assert!(text.contains("max_parallel: 2") && !text.contains("on-failure:"), "{text}");
    assert_eq!(plan(&text), plan(HYPHENS));
    let twice = parse("onward: 1\non-failure: stop\non_failure: stop\nphases: { a: { run: x } }");
    assert!(twice.plan.is_none());
    assert_eq!(twice.diagnostics.iter().map(|fault| fault.code).collect::<Vec<_>>(), [Code::DuplicateKey]);
    let parsed = config::parse("checkpoint: { git_commit: { every: 3 } }\nresume: { max-age: 2d }\n");
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let one = config::merge(&[("x".to_owned(), parsed.layer)]);
    assert_eq!(one.resume_max_age(), std::time::Duration::from_hours(48));
}

/// A plan says how many checkpoints are kept: one count for all triggers, or a mapping in either spelling, with the ages of its runs.
#[test]
fn a_plan_says_what_is_kept() {
    let kept =
        |value: &str| plan(&format!("onward: 1\ncheckpoint: {{ keep: {value} }}\nphases: {{ a: {{ run: x }} }}")).keep;
    for (value, count) in
        [("3", KeepCount::Newest(3)), ("all", KeepCount::All), ("-1", KeepCount::All), ("none", KeepCount::Newest(0))]
    {
        let expected = Trigger::ALL.into_iter().map(|trigger| (trigger, count)).collect();
        assert_eq!(kept(value), RunRetention { checkpoints: expected, ..RunRetention::default() }, "{value}");
    }
    let day = |count: u64| KeepAge::For(std::time::Duration::from_hours(24 * count));
    let expected = RunRetention {
        checkpoints: [(Trigger::PhaseTransition, KeepCount::All), (Trigger::BatchComplete, KeepCount::Newest(2))]
            .into(),
        succeeded: Some(day(7)),
        failed: Some(KeepAge::Forever),
    };
    assert_eq!(kept("{ phase-transition: all, batch-complete: 2, succeeded-run: 7d, failed-run: forever }"), expected);
    assert_eq!(kept("{ phase_transition: -1, batch_complete: 2, succeeded_run: 1w, failed_run: forever }"), expected);
    for wrong in ["{ manual: 7d }", "{ succeeded-run: 10 }", "{ phase-end: 1 }", "-2", "some"] {
        let parsed = parse(&format!("onward: 1\ncheckpoint: {{ keep: {wrong} }}\nphases: {{ a: {{ run: x }} }}"));
        assert!(parsed.plan.is_none(), "{wrong} is taken");
    }
}

/// A plan lists the triggers that take a checkpoint, or switches some of them. It counts over the configuration; where that wants no
/// checkpoints by themselves there are none, and what a person asks for is always taken.
#[test]
fn a_plan_switches_triggers() {
    let of = |value: &str| {
        plan(&format!("onward: 1\ncheckpoint: {{ triggers: {value} }}\nphases: {{ a: {{ run: x }} }}")).triggers
    };
    let with = |value: &str, text: &str| {
        let layer = config::parse(text).layer;
        config::merge(&[("x".to_owned(), layer)]).triggers(&of(value))
    };
    for listed in ["[phase-transition, user-interrupt]", "[phase_transition, user_interrupt]"] {
        let expected = [Trigger::PhaseTransition, Trigger::UserInterrupt, Trigger::Manual];
        assert_eq!(with(listed, ""), expected, "{listed}");
        assert_eq!(with(listed, "checkpoint: { checkpoint_triggers: { phase_transition: false } }"), expected);
        assert_eq!(with(listed, "checkpoint: { enabled: false }"), [Trigger::Manual]);
    }
    assert_eq!(with("[]", ""), [Trigger::Manual]);
    let usual = Config::default().triggers(&BTreeMap::new());
    for switched in ["{ agent-complete: true, run-start: false }", "{ agent_complete: true, run_start: false }"] {
        let expected: Vec<Trigger> = Trigger::ALL.into_iter().filter(|trigger| *trigger != Trigger::RunStart).collect();
        assert_eq!(with(switched, ""), expected, "{switched}");
    }
    assert_eq!(with("{ manual: false }", ""), usual);
    let wrong = parse("onward: 1\ncheckpoint: { triggers: [phase-end] }\nphases: { a: { run: x } }");
    assert!(wrong.plan.is_none());
}
