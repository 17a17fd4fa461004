//! Phases that become several: matrices and plans inside plans.

use std::collections::BTreeMap;

use onward_core::diagnostic::Code;
use onward_core::expression::{Condition, Past, Reference};
use onward_core::id::PhaseId;
use onward_core::plan::expand::{
    DEPTH_MAX, ExpandError, at_start, carried_over, children, combinations, insert, is_compound, outputs, read_used,
};
use onward_core::plan::{Plan, definition_digest, digest, parse, phase_digest};
use onward_core::run::readiness::NeedOutcome::{self, Completed, Failed, Open, Skipped, Unreachable};
use onward_core::run::readiness::{Readiness, is_cut_short, readiness, readiness_of_finally, whole};

fn plan(text: &str) -> Plan {
    let parsed = parse(text);
    parsed.plan.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics))
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.phases.iter().map(|phase| phase.id.as_str()).collect()
}

fn texts<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn nothing(_: &Reference) -> Option<String> {
    None
}

#[test]
fn a_matrix_over_known_values() {
    // Two topics, one of them an input. The phase stays and waits for its two children; their ids come from their values alone.
    let plan = plan(
        "onward: 1
inputs: { second: { type: string, default: two } }
phases:
  research:
    name: Research (${{ matrix.topic }})
    matrix: { topic: [one, '${{ inputs.second }}'], max-parallel: 2 }
    env: { TOPIC: '${{ matrix.topic }}' }
    writes: ['notes/${{ matrix.topic }}.md']
    run: x
  after: { needs: research, run: x }
",
    );
    let expanded = at_start(&plan, &texts([("second", "two*")])).expect("it can be taken apart");
    let [parent, one, two, after] = expanded.phases.as_slice() else { panic!("{:?}", ids(&expanded)) };
    assert_eq!(parent.children, Some(vec![one.id.clone(), two.id.clone()]));
    assert_eq!((parent.id.as_str(), after.needs[0].phase.as_str()), ("research", "research"));
    assert!(one.id.as_str().starts_with("research@") && one.id.as_str().len() == "research@".len() + 8);
    assert_eq!(one.name.as_deref(), Some("Research (one)"));
    assert_eq!((one.writes[0].as_str(), two.writes[0].as_str()), ("notes/one.md", "notes/two[*].md"));
    assert_eq!(one.env, [("TOPIC".to_owned(), "${{ matrix.topic }}".to_owned())], "filled in when it is tried");
    assert_eq!(one.situation.value(&Reference::Matrix("topic".into()), &nothing).as_deref(), Some("one"));
    assert_eq!(one.situation.parent.as_ref(), Some(&parent.id));
    assert!(one.matrix.is_none() && !is_compound(one) && !is_compound(parent));
    let again = at_start(&plan, &texts([("second", "other")])).expect("it can be taken apart");
    assert_eq!((&again.phases[1].id, again.phases[2].id == two.id), (&one.id, false));
}

#[test]
fn every_combination_once_in_order() {
    let plan = plan("onward: 1\nphases:\n  a: { matrix: { x: [1, 2, 1], y: [b, a] }, run: x }\n");
    let all = combinations(plan.phases[0].matrix.as_ref().expect("a matrix"), &nothing).expect("known");
    let shown: Vec<String> = all.iter().map(|one| format!("{}{}", one["x"], one["y"])).collect();
    assert_eq!(shown, ["1b", "1a", "2b", "2a"]);
}

const OVER_OUTPUTS: &str = "onward: 1
phases:
  days: { run: x, outputs: { days: JSON array } }
  fetch:
    needs: days
    matrix: { day: '${{ phases.days.outputs.days }}', kind: [x, y] }
    run: x
  join: { needs: fetch, run: x }
";

#[test]
fn a_matrix_over_outputs() {
    // Nothing is known at the start. Once the outputs are, every combination has its phase, and what needs the whole still does.
    let plan = plan(OVER_OUTPUTS);
    assert_eq!(ids(&at_start(&plan, &BTreeMap::new()).expect("nothing to do")), ["days", "fetch", "join"]);
    let fetch = &plan.phases[1];
    assert!(is_compound(fetch));
    let given = |json: &'static str| {
        move |reference: &Reference| (reference.to_string() == "phases.days.outputs.days").then(|| json.to_owned())
    };
    let parts = children(fetch, &plan.used, &given(r#"["mon", 2, true, "mon"]"#)).expect("it can be taken apart");
    let values: Vec<String> =
        parts.iter().map(|part| part.situation.matrix.values().cloned().collect::<Vec<_>>().join("-")).collect();
    assert_eq!(values, ["mon-x", "mon-y", "2-x", "2-y", "true-x", "true-y"]);
    let longer = insert(&plan, &fetch.id, parts).expect("the phase is there");
    assert_eq!(longer.phases.len(), 9);
    assert_eq!(longer.phases[1].children.as_ref().map(Vec::len), Some(6));
    assert_eq!(longer.phases[8].id.as_str(), "join");
    assert_eq!(children(fetch, &plan.used, &given("[]")).expect("no combination"), []);
    for bad in ["mon", "{}", r#"["a", ["b"]]"#, "[null]", ""] {
        let answer = children(fetch, &plan.used, &given(bad));
        assert!(matches!(answer, Err(ExpandError::Matrix { .. })), "{bad}: {answer:?}");
    }
    let many: String = serde_json::to_string(&(0..10_001).collect::<Vec<_>>()).expect("JSON");
    let answer = children(fetch, &plan.used, &move |_| Some(many.clone()));
    assert!(matches!(answer, Err(ExpandError::Matrix { .. })));
}

#[test]
fn outputs_of_the_parts_become_lists() {
    let plan = plan(OVER_OUTPUTS);
    let parts = [texts([("size", "1"), ("note", "a\"b")]), texts([("size", "2")])];
    assert_eq!(outputs(&plan.phases[1], &parts), texts([("note", r#"["a\"b"]"#), ("size", r#"["1","2"]"#)]));
    assert_eq!(
        outputs(&plan.phases[0], &parts),
        texts([("note", "a\"b"), ("size", "2")]),
        "of another plan: the last one"
    );
}

const PUBLISH: &str = "onward: 1
inputs: { target: { type: string, required: true } }
env: { SHARED: yes, OVER: plan }
limits: { outer: { max-parallel: 9 }, inner: { max-parallel: 2 } }
phases:
  build: { env: { TARGET: '${{ inputs.target }}', OVER: own }, run: x, outputs: { n: count } }
  send: { needs: build, if: inputs.target == 'prod', env: { N: '${{ phases.build.outputs.n }}' }, run: x }
finally:
  sweep: { run: x }
";

fn shelf(path: &str) -> Result<String, String> {
    match path {
        "plans/publish.yaml" => Ok(PUBLISH.to_owned()),
        "plans/outer.yaml" => {
            Ok("onward: 1\nphases:\n  deep: { uses: ./plans/publish.yaml, with: { target: inner } }\n".into())
        }
        "plans/round.yaml" => Ok("onward: 1\nphases:\n  a: { uses: plans/round.yaml }\n".into()),
        "plans/broken.yaml" => Ok("onward: 1\nphases:\n  a: { runs: x }\n".into()),
        _ => match path.strip_prefix("chain/").and_then(|number| number.parse::<u32>().ok()) {
            Some(number) => Ok(format!("onward: 1\nphases:\n  a: {{ uses: chain/{} }}\n", number + 1)),
            None => Err("no such file".to_owned()),
        },
    }
}

#[test]
fn a_plan_inside_a_plan() {
    // A phase uses a plan with an input. The phases of that plan stand below it with their own inputs and needs; what that plan
    // does at its end comes after all of them.
    let plan = plan(
        "onward: 1
inputs: { target: { type: string, default: prod } }
limits: { outer: { max-parallel: 1 } }
phases:
  a: { run: x }
  publish: { needs: a, uses: ./plans/publish.yaml, with: { target: '${{ inputs.target }}' } }
  z: { needs: publish, run: x }
",
    );
    let (plan, _) = read_used(&plan, &mut shelf).expect("the file is there");
    let expanded = at_start(&plan, &texts([("target", "${{ env.HOME }}")])).expect("all is known");
    let most: Vec<Option<u32>> = expanded.limits.values().map(|limit| limit.max_parallel).collect();
    assert_eq!(most, [Some(2), Some(1)], "limits of both plans; the outer one's word counts");
    let (edited, _) = read_used(&plan, &mut |_| Ok(PUBLISH.replace("run: x", "run: y"))).expect("it is there");
    assert_ne!(digest(&edited), digest(&plan), "another plan inside is other work");
    let of = |plan: &Plan| phase_digest(plan, &plan.phases[1], &[]);
    assert_ne!(of(&edited), of(&plan));
    assert_eq!(ids(&expanded), ["a", "publish", "publish/build", "publish/send", "publish/sweep", "z"]);
    let [_, publish, build, send, sweep, _] = expanded.phases.as_slice() else { panic!("six") };
    assert_eq!(publish.children.as_ref().map(Vec::len), Some(3));
    assert_eq!((build.needs.len(), send.needs[0].phase.as_str()), (0, "publish/build"));
    let names: Vec<&str> = build.env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["SHARED", "TARGET", "OVER"]);
    let outer = |reference: &Reference| Some(format!("<{reference}>"));
    let value = |text: &str| build.situation.value(&Reference::parse(text).expect("a reference"), &outer);
    assert_eq!(value("inputs.target").as_deref(), Some("${{ env.HOME }}"), "a value is not looked at again");
    assert_eq!(value("phases.build.outputs.n").as_deref(), Some("<phases.publish/build.outputs.n>"));
    assert_eq!((value("inputs.other"), value("matrix.x")), (None, None));
    let before: Vec<&str> = sweep.needs.iter().map(|need| need.phase.as_str()).collect();
    assert_eq!(
        (before, sweep.condition.as_ref().map(Condition::as_str)),
        (vec!["publish/build", "publish/send"], Some("always()"))
    );
}

#[test]
fn work_keeps_the_digest_it_always_had() {
    // Runs that were stored by an earlier build hold the digests of their finished phases. Where a digest comes out otherwise,
    // all that they have done is out of date.
    let outer = "onward: 1
env: { B: shared, A: 'über \"x\"' }
phases:
  script: { run: 'printf \"a\\tb\"', shell: bash -eu, env: { Z: '1', B: own }, working-directory: sub, outputs: { z: z, a: a } }
  marked: { run: x, fingerprint: [cat y, cat x] }
  each: { matrix: { z: [1, 2], a: ['${{ inputs.n }}'] }, run: x }
  publish: { uses: plans/publish.yaml, with: { target: b } }
inputs: { n: { type: string, default: m } }
";
    let expanded = |text: &str| {
        let (whole, _) = read_used(&plan(text), &mut shelf).expect("the file is there");
        at_start(&whole, &texts([("n", "q"), ("ticket", "7")])).expect("all is known")
    };
    let fixtures =
        [include_str!("../../../fixtures/plans/feature.yaml"), include_str!("../../../fixtures/plans/nightly.yaml")];
    let plans = [expanded(outer), plan(fixtures[0]), plan(fixtures[1])];
    let short = |digest: String| digest[..8].to_owned();
    let told = |plan: &Plan| {
        let of = |phase| [definition_digest(plan, phase), phase_digest(plan, phase, &plan.env)].map(short).join("-");
        plan.phases.iter().map(of).chain([short(digest(plan))]).collect::<Vec<_>>().join(" ")
    };
    let expected = [
        "49a3cc29-78f1d98c 2333ae15-2333ae15 d358467d-d358467d 0921cc0e-0921cc0e 32891c72-32891c72 de8cfe0e-9e9475c3 \
         bc9b58c8-ef3dd91e 4e6dc429-d95015fb 44650a7d-d95015fb 6f8c9751",
        "880f0381-880f0381 ef3b99b1-ef3b99b1 72440a3d-72440a3d 48075472-48075472 c8749898-c8749898 a399b482-a399b482 \
         ade8f96f-ade8f96f 0379aa11-0379aa11 24c7e0d5-24c7e0d5 cbe8d5bc-c9cdf83e 175f0307",
        "fa2f3f8c-fa2f3f8c 3658a25c-2865fe60 5dee779b-5dee779b 3685554a-770c423a 6f9b09ae-6f9b09ae 41573263-41573263 \
         8f97a586-8f97a586 0449fd28",
    ];
    assert_eq!(plans.each_ref().map(told), expected);
}

#[test]
fn plans_inside_plans_inside_a_matrix() {
    let plan = plan(
        "onward: 1
phases:
  each: { matrix: { n: [1, 2] }, uses: plans/outer.yaml }
",
    );
    let (plan, _) = read_used(&plan, &mut shelf).expect("the files are there");
    let expanded = at_start(&plan, &BTreeMap::new()).expect("all is known");
    assert_eq!(expanded.phases.len(), 1 + 2 * (1 + 1 + 3));
    let last = expanded.phases.last().expect("phases");
    assert!(last.id.as_str().starts_with("each@") && last.id.as_str().ends_with("/deep/sweep"), "{}", last.id);
    assert_eq!(last.situation.inputs, Some(texts([("target", "inner")])));
}

#[test]
fn plans_that_cannot_be_used() {
    for (uses, code, words) in [
        ("uses: plans/gone.yaml", Code::BadValue, "no such file"),
        ("uses: plans/round.yaml", Code::Cycle, "plans/round.yaml -> plans/round.yaml"),
        ("uses: chain/1", Code::TooDeep, "more than 8"),
        ("uses: plans/broken.yaml", Code::UnknownKey, "runs"),
        ("uses: plans/publish.yaml", Code::BadInput, "`target` is required"),
        ("uses: plans/publish.yaml, with: { target: x, more: y }", Code::BadInput, "no input `more`"),
        ("uses: plans/publish.yaml, with: { target: x, more: '${{ run.id }}' }", Code::BadInput, "no input `more`"),
    ] {
        let plan = plan(&format!("onward: 1\nphases:\n  p: {{ {uses} }}\n"));
        let faults = read_used(&plan, &mut shelf).expect_err(uses);
        let found = faults.iter().flat_map(|fault| &fault.diagnostics).find(|found| found.code == code);
        assert!(found.is_some_and(|found| found.message.contains(words)), "{uses}: {faults:?}");
    }
    assert_eq!(DEPTH_MAX, 8);
}

#[test]
fn what_counts_only_at_the_top() {
    // A plan says for itself what is checked on a resume and how many phases run side by side, and another plan uses it. There it
    // is the outer plan that says so, and whoever checks the plans is told.
    let text = "onward: 1\nmax-parallel: 1\nfreshness: { probes: { p: { command: x } } }\nreplan: { max: 0 }\nphases: { a: { run: x } }\n";
    let plan = plan("onward: 1\nphases:\n  p: { uses: b.yaml }\n");
    let (_, told) = read_used(&plan, &mut |_| Ok(text.to_owned())).expect("it can be used");
    let told: Vec<&str> =
        told.iter().flat_map(|fault| &fault.diagnostics).map(|found| found.message.as_str()).collect();
    assert_eq!(told, ["`max-parallel`, `freshness`, `replan` of b.yaml have no effect where phase `p` uses it"]);
    assert_eq!(
        read_used(&plan, &mut |_| Ok("onward: 1\nphases: { a: { run: x } }\n".to_owned())).expect("it can be used").1,
        []
    );
}

#[test]
fn whose_turn_it_is() {
    let plan = plan(
        "onward: 1
inputs: { target: { type: string, default: staging } }
phases:
  a: { run: x }
  b: { run: x }
  plain: { needs: [a, b], run: x }
  live: { needs: [a, b], if: inputs.target == 'prod', run: x }
  mend: { needs: [a, b], if: failure(), run: x }
  sweep: { needs: [a, b], if: always(), run: x }
  strict: { needs: [a, { phase: b, state: completed }], run: x }
",
    );
    let of = |id: &str, needs: &[NeedOutcome], target: &'static str| {
        let phase = plan.phase(&PhaseId::new(id)).expect("a phase");
        readiness(phase, needs, &move |reference| matches!(reference, Reference::Input(_)).then(|| target.to_owned()))
    };
    for (id, needs, expected) in [
        ("plain", [Completed, Completed], Readiness::Run),
        ("plain", [Completed, Skipped], Readiness::Run),
        ("plain", [Completed, Open], Readiness::NotYet),
        ("plain", [Open, Failed], Readiness::Never),
        ("plain", [Unreachable, Completed], Readiness::Never),
        ("strict", [Completed, Skipped], Readiness::Never),
        ("strict", [Skipped, Completed], Readiness::Run),
        ("live", [Completed, Completed], Readiness::Skip),
        ("live", [Completed, Open], Readiness::NotYet),
        ("mend", [Completed, Completed], Readiness::Skip),
        ("mend", [Completed, Failed], Readiness::Run),
        ("mend", [Open, Failed], Readiness::NotYet),
        ("sweep", [Unreachable, Failed], Readiness::Run),
        ("sweep", [Completed, Completed], Readiness::Run),
        ("sweep", [Open, Completed], Readiness::NotYet),
    ] {
        assert_eq!(of(id, &needs, "staging"), expected, "{id} after {needs:?}");
    }
    assert_eq!(of("live", &[Completed, Completed], "prod"), Readiness::Run);
    assert_eq!((whole(&[]), whole(&[Completed, Open])), (Some(Completed), None));
    assert_eq!((whole(&[Skipped, Skipped]), whole(&[Skipped, Completed])), (Some(Skipped), Some(Completed)));
    assert_eq!(whole(&[Completed, Unreachable]), Some(Failed));
}

#[test]
fn what_comes_at_the_end() {
    // A run has failed, and another has not. What stands in `finally` comes after both, unless its condition says otherwise.
    let plan = plan(
        "onward: 1
inputs: { keep: { type: boolean, default: false } }
phases: { a: { run: x } }
finally:
  clean: { run: x, if: '!inputs.keep' }
  tell: { needs: clean, run: x, if: failure() }
  plain: { needs: clean, run: x }
",
    );
    let of = |at: usize, needs: &[NeedOutcome], main| {
        readiness_of_finally(&plan.finally[at], needs, main, &|_| Some("false".to_owned()))
    };
    for (main, tells) in [(Past::Good, Readiness::Skip), (Past::Failed, Readiness::Run)] {
        assert_eq!(
            (of(0, &[], main), of(1, &[Completed], main), of(2, &[Completed], main)),
            (Readiness::Run, tells, Readiness::Run)
        );
        assert_eq!(
            (of(1, &[Failed], main), of(2, &[Failed], main), of(2, &[Open], main)),
            (Readiness::Run, Readiness::Never, Readiness::NotYet)
        );
    }
}

#[test]
fn one_failure_may_be_enough() {
    let of = |fast: bool| {
        plan(&format!("onward: 1\nphases:\n  a: {{ matrix: {{ n: [1, 2], fail-fast: {fast} }}, run: x }}\n"))
    };
    let (fast, slow) = (of(true), of(false));
    assert!(is_cut_short(&fast.phases[0], &[Failed, Open]) && !is_cut_short(&fast.phases[0], &[Completed, Open]));
    assert!(!is_cut_short(&slow.phases[0], &[Failed, Open]));
}

/// A matrix over a list that a phase gave out was taken apart, and gets another id. What it was taken apart into goes with it, with all
/// that is below it: otherwise nobody would know of what was done there.
#[test]
fn parts_go_with_a_phase_that_gets_another_id() {
    let text = "onward: 1\nphases:\n  a: { run: x }\n  m: { needs: a, matrix: { n: '${{ phases.a.outputs.list }}' }, run: x }\n";
    let before = plan(text);
    let list = |_: &Reference| Some("[\"1\", \"2\"]".to_owned());
    let parts = children(before.phase(&PhaseId::new("m")).expect("it"), &BTreeMap::new(), &list).expect("a list");
    let before = insert(&before, &PhaseId::new("m"), parts).expect("it is there");
    let [_, _, one, two] = ids(&before)[..] else { panic!("{:?}", ids(&before)) };
    let renamed = carried_over(plan(&text.replace("  m:", "  fetch:")), &before);
    let expected = [one.replace("m@", "fetch@"), two.replace("m@", "fetch@")];
    assert_eq!(ids(&renamed), ["a", "fetch", &expected[0], &expected[1]]);
    let fetch = PhaseId::new("fetch");
    let parents: Vec<_> = renamed.phases[2..].iter().map(|part| part.situation.parent.as_ref()).collect();
    assert_eq!(parents, [Some(&fetch), Some(&fetch)]);
    let (then, now) = (before.phase(&PhaseId::new(one)).expect("it"), &renamed.phases[2]);
    assert_eq!(definition_digest(&before, then), definition_digest(&renamed, now));
    let other = carried_over(plan(&text.replace("  m:", "  fetch:").replace("}, run: x", "}, run: y")), &before);
    assert_eq!(ids(&other), ["a", "fetch"], "other work has no part in it");
}
