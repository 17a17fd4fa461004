//! Proofs that a phase is done, waits and their lengths, and the end of loops.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use onward_core::plan::{IfExpired, IfSilent, KeepCopy, Phase, Plan, parse};
use onward_core::run::deadline;
use onward_core::run::iteration::{NextRound, next, nothing_remains};
use onward_core::run::verification::{
    ArtifactCopied, ArtifactFound, ArtifactState, CheckEnd, EffectFound, Judgement, Proof, effect, judge,
};
use onward_core::run::wait_limits::{Wait, approval, external};

fn plan(text: &str) -> Plan {
    let parsed = parse(text);
    parsed.plan.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics))
}

fn now() -> Timestamp {
    "2026-11-15T10:00:00Z".parse().expect("a time")
}

fn error(phase: &Phase, proof: &Proof) -> (String, String) {
    match judge(phase, proof) {
        Judgement::NotDone(error) => (error.code.as_str().to_owned(), error.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn done_means_verified() {
    let plan = plan("onward: 1
phases:
  a:
    run: x
    artifacts: { report: never.txt, log: { path: log.txt, required: false, keep: 30d, max-size: 2KB }, all: { path: x, keep: true } }
    verify: [make check, 'true']
    done-when: [test -e made]
");
    let phase = &plan.phases[0];
    let kept: Vec<KeepCopy> = phase.artifacts.iter().map(|artifact| artifact.keep).collect();
    assert_eq!(kept, [KeepCopy::No, KeepCopy::For(Duration::from_hours(30 * 24)), KeepCopy::Forever]);
    assert_eq!((phase.artifacts[1].max_bytes, phase.artifacts[1].required), (Some(2000), false));
    let there = || ArtifactState::There { bytes: 1, digest: "d".into(), copy: ArtifactCopied::NotWanted };
    let found = |name: &str, state| ArtifactFound { name: name.into(), path: format!("{name}.txt"), state };
    let passed = |code| CheckEnd { command: "make check".into(), code, said: "2 tests failed".into() };
    let good = Proof {
        artifacts: vec![found("report", there()), found("log", ArtifactState::Missing), found("all", there())],
        checks: vec![passed(Some(0)), passed(Some(0))],
        effect: Some(EffectFound::There),
    };
    assert_eq!(judge(phase, &good), Judgement::Done);
    let missing = Proof { artifacts: vec![found("report", ArtifactState::Missing)], ..good.clone() };
    let (code, message) = error(phase, &missing);
    assert!(code == "artifact-missing" && message.contains("report.txt"), "{message}");
    let linked =
        Proof { artifacts: vec![found("log", ArtifactState::Refused { why: "it is a link".into() })], ..good.clone() };
    assert_eq!(error(phase, &linked).0, "artifact-missing");
    let (code, message) = error(phase, &Proof { checks: vec![passed(Some(2))], ..good.clone() });
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("verify-failed", "its verify command `make check` ended with code 2: 2 tests failed")
    );
    assert_eq!(error(phase, &Proof { checks: vec![passed(None)], ..good.clone() }).0, "verify-failed");
    assert_eq!(error(phase, &Proof { effect: Some(EffectFound::Absent), ..good.clone() }).0, "effect-missing");
    assert_eq!(judge(phase, &Proof { effect: Some(EffectFound::CannotTell), ..good.clone() }), Judgement::Unclear);
    assert_eq!(judge(phase, &Proof { effect: None, ..good.clone() }), Judgement::Unclear, "it was not asked");
    for half in [Proof { artifacts: Vec::new(), ..good.clone() }, Proof { checks: vec![passed(Some(0))], ..good }] {
        assert_eq!(error(phase, &half).0, "not-looked-at");
    }
    let bare = Phase::new(phase.id.clone(), phase.body.clone());
    assert_eq!(judge(&bare, &Proof::default()), Judgement::Done);
}

#[test]
fn answers_of_a_probe() {
    for (codes, answer) in [
        (vec![Some(0)], EffectFound::There),
        (vec![Some(0), Some(0)], EffectFound::There),
        (vec![Some(0), Some(1)], EffectFound::Absent),
        (vec![Some(2), Some(1)], EffectFound::Absent),
        (vec![Some(0), Some(2)], EffectFound::CannotTell),
        (vec![Some(127)], EffectFound::CannotTell),
        (vec![None], EffectFound::CannotTell),
    ] {
        assert_eq!(effect(&codes), answer, "{codes:?}");
    }
}

#[test]
fn people_are_waited_for_as_long_as_the_plan_says() {
    let plan = plan(
        "onward: 1
phases:
  gate: { approval: { message: go?, expires: 1h, if-expired: reject, choices: ['yes', 'no'] } }
  open: { approval: { message: go? } }
  docs: { external: { instructions: write, heartbeat: 15m, if-silent: pause } }
  calm: { external: { instructions: write, heartbeat: 15m } }
",
    );
    let onward_core::plan::Body::Approval(gate) = &plan.phases[0].body else { panic!("an approval") };
    let onward_core::plan::Body::Approval(open) = &plan.phases[1].body else { panic!("an approval") };
    let onward_core::plan::Body::External(docs) = &plan.phases[2].body else { panic!("external") };
    let onward_core::plan::Body::External(calm) = &plan.phases[3].body else { panic!("external") };
    let ago = |minutes: i64| now() - SignedDuration::from_mins(minutes);
    let until = now() + SignedDuration::from_mins(1);
    assert_eq!(approval(gate, ago(59), now()), Wait::Open { until: Some(until) });
    assert_eq!(approval(gate, ago(60), now()), Wait::Over(IfExpired::Reject));
    assert_eq!(approval(open, ago(99_999), now()), Wait::Open { until: None });
    assert_eq!(external(docs, ago(14), now()), Wait::Open { until: Some(until) });
    assert_eq!(external(docs, ago(15), now()), Wait::Over(IfSilent::Pause));
    assert_eq!(external(calm, ago(99), now()), Wait::Open { until: None });
    assert_eq!((gate.choice("yes"), gate.choice("approve"), gate.choice("maybe")), (Some("yes"), Some("yes"), None));
    assert_eq!(
        (open.choice("approve"), open.choice("reject"), gate.choice("reject")),
        (Some("approve"), Some("reject"), Some("reject"))
    );
    assert_eq!(deadline::after(now(), Duration::from_hours(3)).to_string(), "2026-11-15T13:00:00Z");
    assert_eq!(deadline::after(now(), Duration::MAX), Timestamp::MAX);
}

#[test]
fn loops_end() {
    // What remains stays the same twice: stuck. Whoever says finished while work remains is overruled, so many times at most.
    let after = |words: &[&str]| {
        let all: Vec<String> = words.iter().map(|words| (*words).to_owned()).collect();
        next(&all, all.len(), 5)
    };
    let overruled = |remaining: &str| NextRound::Overruled { remaining: remaining.into() };
    assert_eq!(after(&[]), NextRound::Done);
    assert_eq!(after(&["4 5", "5"]), overruled("5"));
    assert_eq!(after(&["phase_4", " phase_4 "]), overruled("phase_4"), "unchanged once");
    let stuck = NextRound::Stuck { remaining: "Phase_4  phase_5".into() };
    assert_eq!(after(&["phase_4 phase_5", "phase_4\nphase_5", "Phase_4  phase_5"]), stuck);
    assert_eq!(after(&["a", "b", "a", "b"]), overruled("b"));
    assert_eq!(after(&["a", "b", "a", "b", "a"]), NextRound::LimitReached { remaining: "a".into() });
    assert_eq!(after(&["phase_4", " [] "]), NextRound::Done);
    for (text, nothing) in
        [("", true), (" 0 ", true), ("[]", true), ("None", true), ("null", true), ("Phase_4", false), ("00", false)]
    {
        assert_eq!(nothing_remains(text), nothing, "{text}");
    }
}
