//! Configuration files as people write them, right and wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use onward_core::checkpoint::Trigger;
use onward_core::config::{self, Config, ConfigValue, Layer};
use onward_core::diagnostic::{Code, Diagnostic, Place};
use onward_core::plan::{MayEdit, ReplanWhen, parse_markdown};
use onward_core::resume::Auto;
use onward_core::retention::KeepCount;
use serde_json::{Value, json};

/// The block that people bring along from elsewhere, as it stands there.
const BROUGHT: &str = r#"checkpoint:
  enabled: true
  auto_checkpoint: true
  checkpoint_triggers:
    phase_transition: true
    batch_complete: true
    agent_complete: false
    conflict_events: true
  retention:
    phase_transition: -1
    batch_complete: 3
    agent_complete: 1
    conflict_resolved: -1
    user_interrupt: 1
    manual: -1
  storage:
    location: ".claude/crunch/{issue}/checkpoints"
    compress: false
    max_size_mb: 50
"#;

#[track_caller]
fn layer(text: &str) -> Layer {
    let parsed = config::parse(text);
    assert!(!parsed.diagnostics.iter().any(Diagnostic::is_error), "{:#?}", parsed.diagnostics);
    parsed.layer
}

#[track_caller]
fn only(text: &str) -> Config {
    config::merge(&[("config.yaml".to_owned(), layer(text))])
}

#[track_caller]
fn value(config: &Config, key: &str) -> ConfigValue {
    config.values().into_iter().find(|value| value.key == key).unwrap_or_else(|| panic!("no {key}"))
}

#[track_caller]
fn fault(text: &str) -> Diagnostic {
    let parsed = config::parse(text);
    assert_eq!(parsed.diagnostics.len(), 1, "{:#?}", parsed.diagnostics);
    assert_eq!(parsed.layer, Layer::default(), "a file with an error sets nothing");
    parsed.diagnostics.into_iter().next().expect("there is one")
}

#[test]
fn a_file_that_sets_nothing_is_right() {
    for text in [
        "",
        "\n",
        "# only a remark\n",
        "---\n",
        "{}",
        "null\n",
        "\u{feff}",
        "checkpoint:\n",
        "checkpoint:\n  retention:\n",
    ] {
        let parsed = config::parse(text);
        assert_eq!(parsed.diagnostics, [], "{text:?}");
        assert_eq!(parsed.layer, Layer::default(), "{text:?}");
    }
}

/// The whole block is taken. What nothing acts on yet is said, once for each thing, and none of it is an error.
#[test]
fn the_block_that_people_bring_is_taken_as_it_stands() {
    let parsed = config::parse(BROUGHT);
    let warned: Vec<(u32, &str)> = parsed
        .diagnostics
        .iter()
        .map(|warning| {
            assert_eq!((warning.code, warning.is_error()), (Code::NotYetSupported, false));
            (warning.place.expect("it has a place").line, warning.message.split('`').nth(1).expect("it names a key"))
        })
        .collect();
    assert_eq!(warned, [], "all of it is acted on");
    let config = config::merge(&[("a/config.yaml".to_owned(), parsed.layer)]);
    let set = |key: &str, expected: Value, line: u32| {
        let found = value(&config, &format!("checkpoint.{key}"));
        assert_eq!((found.value, found.origin), (expected, format!("a/config.yaml:{line}")), "{key}");
    };
    set("enabled", json!(true), 2);
    set("checkpoint_triggers.agent_complete", json!(false), 7);
    set("retention.phase_transition", json!(-1), 10);
    set("retention.batch_complete", json!(3), 11);
    set("storage.location", json!(".claude/crunch/{issue}/checkpoints"), 17);
    set("storage.compress", json!(false), 18);
    set("storage.max_size_mb", json!(50), 19);
    assert_eq!(value(&config, "checkpoint.retention.run_start").origin, "default");
}

#[test]
fn a_misspelt_key_is_told_with_its_place_and_the_nearest_key() {
    let found = fault("checkpoint:\n  retention:\n    batch_compleet: 8\n");
    assert_eq!((found.code, found.place), (Code::UnknownKey, Some(Place { line: 3, column: 5 })));
    assert!(found.message.contains("`batch_compleet`") && found.help.contains("`batch_complete`"), "{found:?}");
    assert!(fault("chekpoint:\n  enabled: true\n").help.contains("`checkpoint`"));
    assert!(fault("store:\n  netwrok: allow\n").help.contains("`network`"));
    assert_eq!(fault("checkpoint:\n  retention:\n    x-mine: 1\n").code, Code::UnknownKey);
}

#[test]
fn a_wrong_value_is_told_with_its_place_and_its_key() {
    let cases = [
        ("checkpoint:\n  retention:\n    batch_complete: lots\n", "batch_complete", (3, 21)),
        ("checkpoint:\n  retention:\n    manual: -2\n", "manual", (3, 13)),
        ("checkpoint:\n  retention:\n    manual: 1.5\n", "manual", (3, 13)),
        ("checkpoint:\n  retention:\n    manual: \"1\"\n", "manual", (3, 13)),
        ("checkpoint:\n  retention:\n    manual: [1]\n", "manual", (3, 13)),
        ("checkpoint:\n  enabled: yes\n", "enabled", (2, 12)),
        ("checkpoint:\n  enabled:\n", "enabled", (2, 10)),
        ("checkpoint: true\n", "checkpoint", (1, 13)),
        ("checkpoint:\n  mirror: [workflow, other]\n", "mirror", (2, 22)),
        ("checkpoint:\n  storage: { max_size_mb: 0 }\n", "max_size_mb", (2, 27)),
        ("checkpoint:\n  git-commit: { every: 0 }\n", "every", (2, 24)),
        ("resume:\n  auto: always\n", "auto", (2, 9)),
        ("resume: { max_age: 7 }\n", "max_age", (1, 20)),
        ("resume: { max_age: week }\n", "max_age", (1, 20)),
        ("store: ''\n", "store", (1, 8)),
        ("store: { network: maybe }\n", "network", (1, 19)),
        ("executors: { gpu: big }\n", "gpu", (1, 19)),
        ("markdown:\n  needs: later\n", "needs", (2, 10)),
    ];
    for (text, key, (line, column)) in cases {
        let found = fault(text);
        assert!(found.is_error() && found.message.contains(&format!("`{key}`")), "{text}: {found:?}");
        assert_eq!(found.place, Some(Place { line, column }), "{text}: {found:?}");
    }
}

#[test]
fn every_fault_is_told_at_once_in_order() {
    let found = config::parse("resume: { auto: x, max_age: y }\nblob: z\nblobs: a\nblobs: b\n").diagnostics;
    let lines: Vec<(Code, u32)> =
        found.iter().map(|fault| (fault.code, fault.place.map_or(0, |place| place.line))).collect();
    let expected = [(Code::BadValue, 1), (Code::BadDuration, 1), (Code::UnknownKey, 2), (Code::DuplicateKey, 4)];
    assert_eq!(lines, expected);
}

#[test]
fn the_limits_of_plans_hold() {
    assert_eq!(fault(&"#".repeat((4 << 20) + 1)).code, Code::TooLarge);
    assert_eq!(
        fault(&format!("executors: {{ a: {{ b: {}{} }} }}", "[".repeat(70), "]".repeat(70))).code,
        Code::TooDeep
    );
    assert_eq!(fault("a: 1\n---\nb: 2\n").code, Code::MultipleDocuments);
    assert_eq!(fault("store: !secret x\n").code, Code::TagRefused);
    assert_eq!(fault("resume: [\n").code, Code::Syntax);
    assert_eq!(fault("- a\n- b\n").code, Code::WrongType);
    let many = config::parse(&(0..2_000).fold(String::new(), |text, n| text + &format!("k{n}: 1\n"))).diagnostics;
    assert_eq!((many.len(), many.last().map(|fault| fault.code)), (501, Some(Code::MoreFaults)));
}

/// No message speaks of plans to a person who wrote none.
#[test]
fn faults_are_worded_for_configurations() {
    for text in ["a: 1\n---\nb: 2\n", "store: !x y\n", "resume: { <<: { auto: safe } }\n", "- a\n", "plan: x\n"] {
        let found = fault(text);
        let words = format!("{} {}", found.message, found.help).replace("`plan`", "");
        assert!(!words.contains("plan") && !words.contains("phases"), "{words}");
    }
}

#[test]
fn what_is_not_acted_on_yet_is_said_only_where_it_is_set() {
    let warned = |text: &str| config::parse(text).diagnostics.iter().map(|fault| fault.code).collect::<Vec<_>>();
    for text in ["store: postgres://host/db", "blobs: s3://bucket", "executors: { gpu: { submit: sbatch } }"] {
        assert_eq!(warned(text), [Code::NotYetSupported], "{text}");
    }
    for text in [
        "resume: { auto: never }",
        "store: { network: allow }",
        "checkpoint: { retention: { manual: all } }",
        "markdown: { agent: claude-code, needs: none }",
    ] {
        assert_eq!(warned(text), [], "{text}");
    }
}

#[test]
fn the_first_layer_counts_and_every_value_says_where_it_comes_from() {
    let project =
        layer("resume:\n  max_age: 1h 30m\ncheckpoint:\n  retention: { manual: 5 }\nexecutors:\n  gpu: { nodes: 2 }\n");
    let user = layer("resume: { max_age: 2d, auto: never }\nexecutors:\n  gpu: { nodes: 1 }\n  cpu: {}\n");
    let config = config::merge(&[("p.yaml".to_owned(), project), ("u.yaml".to_owned(), user)]);
    let told = |key: &str| {
        let found = value(&config, key);
        (found.value, found.origin)
    };
    assert_eq!(told("resume.max_age"), (json!("1h 30m"), "p.yaml:2".to_owned()));
    assert_eq!(told("resume.auto"), (json!("never"), "u.yaml:1".to_owned()));
    assert_eq!(told("checkpoint.retention.manual"), (json!(5), "p.yaml:4".to_owned()));
    assert_eq!(told("checkpoint.retention.run_start"), (json!(1), "default".to_owned()));
    assert_eq!(told("executors.gpu"), (json!({ "nodes": 2 }), "p.yaml:6".to_owned()));
    assert_eq!(told("executors.cpu"), (json!({}), "u.yaml:4".to_owned()));
    assert_eq!(config.resume_auto(), Auto::Never);
    assert_eq!(config.resume_max_age(), Duration::from_mins(90));
}

#[test]
fn every_known_key_is_shown_whatever_is_set() {
    let keys = |config: &Config| config.values().into_iter().map(|value| value.key).collect::<Vec<_>>();
    let all = keys(&Config::default());
    assert_eq!(all.len(), 48);
    assert!(Config::default().values().iter().all(|value| value.origin == "default"));
    assert_eq!(keys(&only(BROUGHT)), all);
    assert_eq!(keys(&only("store: { network: allow }\nresume: { auto: never }\n")), all);
}

#[test]
fn all_is_another_word_for_minus_one_and_one_value_for_a_list_of_it() {
    let config = only(
        "checkpoint: { retention: { batch_complete: all }, mirror: workflow, git-commit: { every: 3, trailers: 'A: b' } }",
    );
    assert_eq!(value(&config, "checkpoint.retention.batch_complete").value, json!(-1));
    assert_eq!(config.retention().keep[&Trigger::BatchComplete], KeepCount::All);
    assert_eq!(value(&config, "checkpoint.mirror").value, json!(["workflow"]));
    assert_eq!(value(&config, "checkpoint.git-commit.trailers").value, json!(["A: b"]));
}

#[test]
fn defaults_are_those_of_the_documents() {
    let config = Config::default();
    assert_eq!((config.resume_auto(), config.resume_max_age()), (Auto::Safe, Duration::from_hours(7 * 24)));
    let without = |trigger: &Trigger| *trigger != Trigger::AgentComplete;
    assert_eq!(config.triggers(&BTreeMap::new()), Trigger::ALL.into_iter().filter(without).collect::<Vec<_>>());
    let policy = config.retention();
    let kept: Vec<(Trigger, KeepCount)> = policy.keep.into_iter().collect();
    assert_eq!(
        kept,
        [
            (Trigger::RunStart, KeepCount::Newest(1)),
            (Trigger::PhaseTransition, KeepCount::All),
            (Trigger::BatchComplete, KeepCount::Newest(3)),
            (Trigger::AgentComplete, KeepCount::Newest(1)),
            (Trigger::ConflictStart, KeepCount::All),
            (Trigger::ConflictResolved, KeepCount::All),
            (Trigger::UserInterrupt, KeepCount::Newest(1)),
            (Trigger::SessionEnd, KeepCount::Newest(1)),
            (Trigger::Manual, KeepCount::All),
        ]
    );
    assert_eq!(policy.runs.unfinished, Duration::from_hours(7 * 24));
    assert_eq!(policy.runs.ended, Duration::from_hours(30 * 24));
}

/// Switched off one by one or all at once, by either of the two switches; what a person asks for is always taken.
#[test]
fn triggers_can_be_switched_off() {
    let left = |text: &str| only(&format!("checkpoint:\n  {text}\n")).triggers(&BTreeMap::new());
    assert_eq!(left("enabled: false"), [Trigger::Manual]);
    assert_eq!(left("auto_checkpoint: false"), [Trigger::Manual]);
    assert_eq!(
        left("checkpoint_triggers: { phase_transition: false, batch_complete: false, conflict_events: false }"),
        [Trigger::RunStart, Trigger::UserInterrupt, Trigger::SessionEnd, Trigger::Manual]
    );
    assert_eq!(
        left("checkpoint_triggers: { run_start: false, user_interrupt: false, session_end: false }"),
        [
            Trigger::PhaseTransition,
            Trigger::BatchComplete,
            Trigger::ConflictStart,
            Trigger::ConflictResolved,
            Trigger::Manual,
        ]
    );
}

/// How plans in Markdown may be changed stands in the configuration. Nothing is said by itself; the plan has what is written, and
/// what lets something run waits for a person's trust.
#[test]
fn replans_of_markdown_plans() {
    assert_eq!(Config::default().markdown().replan, None);
    let text = "markdown:\n  replan: { max: 3, max-per-phase: 1, may-edit: pending, approval: false, run: ./again.sh, when: [failed, too-complex], complexity-max: 5, tasks-max: 6 }\n";
    let config = config::merge(&[("user".to_owned(), layer(text))]);
    let settings = config.markdown();
    let parsed = parse_markdown("## Phase 1: A\n- [x] a\n- [ ] b\n", &settings, &mut |_| Err(String::new()));
    let plan = parsed.plan.expect("right");
    assert_eq!(plan.open_tasks(&plan.phases[0]), 1);
    let rules = plan.replan_rules(plan.phases.first());
    assert_eq!((rules.max, rules.max_per_phase, rules.may_edit, rules.approval), (3, 1, MayEdit::Pending, false));
    assert_eq!((rules.run.as_deref(), rules.complexity_max, rules.tasks_max), (Some("./again.sh"), 5, 6));
    assert_eq!(rules.when, [ReplanWhen::Failed, ReplanWhen::TooComplex]);
    let mut project = layer(text);
    let taken = project.take_what_needs_trust();
    let keys: Vec<&str> = taken.settings().map(|(key, _)| key).collect();
    assert_eq!(keys, ["markdown.replan.approval", "markdown.replan.run"]);
    let one = config::merge(&[("user".to_owned(), layer("markdown: { replan: { tasks-max: 5 } }"))]).markdown();
    let plan = parse_markdown("## Phase 1: A\n", &one, &mut |_| Err(String::new())).plan.expect("right");
    let rules = plan.replan_rules(None);
    assert_eq!(rules.when, [ReplanWhen::AgentAsked, ReplanWhen::TooComplex], "nobody writes a figure for nothing");
    assert!(rules.approval && rules.tasks_max == 5 && rules.max == 4);
}
