//! Finished phases that are out of date: through what they need, through what they left behind, through probes.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use common::now;
use onward_core::event::{ArtifactSeen, Outcome};
use onward_core::evidence::{Evidence, FileSeen, Files, ProbeSeen, WorldSeen};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Begin, Input, Resumption};
use onward_core::plan::{self, Plan};
use onward_core::resume::{Finding, FindingKind, count_lines, stale, world};
use onward_core::run::verification::{ArtifactCopied, ArtifactFound, ArtifactState, Proof};
use onward_core::run::{self, PhaseStatus, Run};
use proptest::prelude::*;

fn parsed(text: &str) -> Plan {
    common::plan(&format!("onward: 1\nname: demo\n{text}"))
}

fn files(of: &[(&str, &str)]) -> Files {
    let file = |hash: &str| FileSeen { hash: hash.to_owned(), size: 1, modified_ns: 1, inode: 1 };
    let files = of.iter().map(|(path, hash)| ((*path).to_owned(), file(hash))).collect();
    Files { files, too_many: false }
}

/// A run of which a driver has seen the world and begun.
fn begun(plan: &Plan, world: Option<WorldSeen>) -> Run {
    let mut run = run::start(common::started(plan.clone()), "ada", now()).0;
    let begin = Begin {
        jobs: Some(100),
        resumption: Resumption { world: world.map(Box::new), ..Resumption::default() },
        ..common::begin(1)
    };
    run::step(&mut run, &Input::Begin(begin), "ada", now()).expect("a driver may begin");
    run
}

/// The phase ends well, having read and written this.
fn done(run: &mut Run, phase: &str, seen: Evidence) {
    let end = AttemptEnd { seen: Some(Box::new(seen)), ..AttemptEnd::bare(Outcome::Exited { code: 0 }) };
    let ended_at = Some(run.updated_at);
    let end = AttemptEnd { ended_at, ..end };
    let later = run.updated_at + jiff::SignedDuration::from_secs(1);
    let ended = Input::AttemptEnded { phase: PhaseId::new(phase), attempt: Attempt(1), end };
    run::step(run, &ended, "ada", later).expect("it was at work");
}

fn told(findings: &[Finding]) -> Vec<(FindingKind, &str)> {
    findings.iter().map(|finding| (finding.kind, finding.phase.as_ref().map_or("", PhaseId::as_str))).collect()
}

/// The evidence of a phase of the random plans, changed or not.
fn seen(number: usize, reads: &str, writes: &str) -> Evidence {
    let (read, written) = (format!("r{number}"), format!("w{number}"));
    Evidence {
        reads: Some(files(&[(&read, reads)])),
        writes: Some(files(&[(&written, writes)])),
        ..Evidence::default()
    }
}

#[derive(Clone, Debug)]
struct Node {
    needs: Vec<(usize, &'static str)>,
    reads_changed: bool,
    writes_changed: bool,
}

/// A random node: whom it needs and how, and what was changed.
type Drawn = (Vec<(prop::sample::Index, &'static str)>, bool, bool);

fn node(at: usize, (needs, reads_changed, writes_changed): Drawn) -> Node {
    let needs = needs.into_iter().filter(|_| at > 0).map(|(index, word)| (index.index(at), word));
    let needs: BTreeMap<usize, &str> = needs.collect();
    Node { needs: needs.into_iter().collect(), reads_changed, writes_changed }
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let words = prop::sample::select(vec!["inherit", "outputs", "ignore", ""]);
    let needs = prop::collection::vec((any::<prop::sample::Index>(), words), 0..3);
    let drawn = (needs, prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    let all = prop::collection::vec(drawn, 1..9);
    all.prop_map(|all| all.into_iter().enumerate().map(|(at, drawn)| node(at, drawn)).collect())
}

/// The contract in its own words: a phase is out of date by itself, or because a need that is inherited from is or was changed, or
/// because what a need left behind was changed and the need does not say that this is to be ignored.
fn is_stale(nodes: &[Node], at: usize) -> bool {
    nodes[at].reads_changed
        || nodes[at].needs.iter().any(|&(need, word)| match word {
            "inherit" => is_stale(nodes, need) || nodes[need].writes_changed,
            "ignore" => false,
            _ => nodes[need].writes_changed,
        })
}

proptest! {
    /// In any plan, whatever was changed: out of date is what the contract says, and nothing else.
    #[test]
    fn staleness_goes_by_the_needs(nodes in nodes()) {
        let mut text = String::from("phases:\n");
        for (at, node) in nodes.iter().enumerate() {
            let need = |(need, word): &(usize, &str)| match *word {
                "" => format!("p{need}"),
                word => format!("{{ phase: p{need}, staleness: {word} }}"),
            };
            let needs: Vec<String> = node.needs.iter().map(need).collect();
            let needs = needs.join(", ");
            writeln!(text, "  p{at}: {{ run: x, needs: [{needs}], reads: r{at}, writes: w{at} }}").expect("a text grows");
        }
        let mut run = begun(&parsed(&text), None);
        for at in 0..nodes.len() {
            done(&mut run, &format!("p{at}"), seen(at, "then", "then"));
        }
        let word = |changed: bool| if changed { "now" } else { "then" };
        let now: BTreeMap<PhaseId, Evidence> = nodes.iter().enumerate().map(|(at, node)| {
            (PhaseId::new(format!("p{at}")), seen(at, word(node.reads_changed), word(node.writes_changed)))
        }).collect();
        let found = stale::findings(&run, None, &now, &[]);
        let of = |kind: FindingKind| -> BTreeSet<String> {
            found.iter().filter(|finding| finding.kind == kind).filter_map(|finding| Some(finding.phase.as_ref()?.to_string())).collect()
        };
        let expected = |is: &dyn Fn(usize) -> bool| -> BTreeSet<String> {
            (0..nodes.len()).filter(|at| is(*at)).map(|at| format!("p{at}")).collect()
        };
        prop_assert_eq!(of(FindingKind::Stale), expected(&|at| is_stale(&nodes, at)));
        prop_assert_eq!(of(FindingKind::OutputChanged), expected(&|at| nodes[at].writes_changed));
    }
}

/// A matrix of two read something else now. Whoever inherits from the whole is out of date, and is done again where that is
/// harmless; a phase that is kept as it is passes nothing on.
#[test]
fn through_the_parts_of_a_phase() {
    let plan = parsed(
        "phases:
  m: { matrix: { x: [1, 2] }, run: x, reads: r, on-change: ask }
  harmless: { needs: [{ phase: m, staleness: inherit }], run: x, effects: none }
  kept: { needs: [{ phase: m, staleness: inherit }], run: x, on-change: keep }
  last: { needs: [{ phase: kept, staleness: inherit }], run: x }
",
    );
    let plan = plan::expand::at_start(&plan, &BTreeMap::new()).expect("it can be taken apart");
    let mut run = begun(&plan, None);
    let reads = |hash: &str| Evidence { reads: Some(files(&[("r", hash)])), ..Evidence::default() };
    let parts: Vec<PhaseId> = run
        .plan()
        .phases
        .iter()
        .filter(|phase| phase.situation.parent.is_some())
        .map(|phase| phase.id.clone())
        .collect();
    for part in &parts {
        done(&mut run, part.as_str(), reads("then"));
    }
    for phase in ["harmless", "kept", "last"] {
        done(&mut run, phase, Evidence::default());
    }
    let now = BTreeMap::from([(parts[1].clone(), reads("now"))]);
    let found = stale::findings(&run, None, &now, &[]);
    assert_eq!(told(&found), [(FindingKind::Stale, parts[1].as_str()), (FindingKind::StaleReruns, "harmless")]);
}

/// A harmless phase is done again, and two finished ones need it. The one that inherits is done again too; the other is named and
/// kept, since nobody knows yet whether anything will be different for it.
#[test]
fn dependents_that_are_kept_are_named() {
    let plan = parsed(
        "phases:
  a: { run: x, effects: none, reads: r }
  with: { needs: [{ phase: a, staleness: inherit }], run: x, effects: none }
  kept: { needs: a, run: x }
  last: { needs: [{ phase: a, staleness: ignore }], run: x }
",
    );
    let mut run = begun(&plan, None);
    let reads = |hash: &str| Evidence { reads: Some(files(&[("r", hash)])), ..Evidence::default() };
    done(&mut run, "a", reads("then"));
    for phase in ["with", "kept", "last"] {
        done(&mut run, phase, Evidence::default());
    }
    let found = stale::findings(&run, None, &BTreeMap::from([(PhaseId::new("a"), reads("now"))]), &[]);
    assert_eq!(
        told(&found),
        [(FindingKind::StaleReruns, "a"), (FindingKind::StaleReruns, "with"), (FindingKind::DependentsKept, "a")]
    );
    assert!(found[2].message.contains("kept") && found[2].message.contains("--from a"), "{}", found[2].message);
    assert!(!found[2].message.contains("last"), "{}", found[2].message);
}

/// Two phases write the same file, one after the other, and then somebody edits it. It is said once, of the one that wrote it
/// last; what the second did to the file of the first is nothing from outside.
#[test]
fn what_a_later_phase_wrote_is_no_edit() {
    let plan = parsed(
        "phases:\n  a: { run: x, writes: f }\n  b: { needs: a, run: x, writes: f }\n  c: { needs: b, run: x, writes: g }\n",
    );
    let mut run = begun(&plan, None);
    let writes = |hash: &str| Evidence { writes: Some(files(&[("f", hash)])), ..Evidence::default() };
    done(&mut run, "a", writes("first"));
    done(&mut run, "b", writes("second"));
    let look = |run: &Run, hash: &str| {
        stale::findings(run, None, &["a", "b"].map(|phase| (PhaseId::new(phase), writes(hash))).into(), &[])
    };
    assert_eq!(told(&look(&run, "second")), []);
    let mut found = look(&run, "by hand");
    assert_eq!(told(&found), [(FindingKind::OutputChanged, "b")]);
    count_lines(&mut found[0], |path| (path == "f").then_some((3, 1)));
    assert!(found[0].message.contains("f (+3 -1)"), "{}", found[0].message);
    assert_eq!((found[0].files[0].lines_added, found[0].files_total), (Some(3), 1));
}

/// One artifact is gone and one is another one. The first makes the phase out of date, the second is named and left as it is;
/// what was accepted is not found again.
#[test]
fn artifacts_on_resume() {
    let plan =
        parsed("phases:\n  a: { run: x, artifacts: { one: one.txt, two: two.txt } }\n  b: { needs: a, run: x }\n");
    let mut run = begun(&plan, None);
    done(&mut run, "a", Evidence::default());
    let there =
        |digest: &str| ArtifactState::There { bytes: 1, digest: digest.to_owned(), copy: ArtifactCopied::NotWanted };
    let artifacts = [("one", "one.txt"), ("two", "two.txt")].map(|(name, path)| ArtifactFound {
        name: name.to_owned(),
        path: path.to_owned(),
        state: there("then"),
    });
    let proof = Box::new(Proof { artifacts: artifacts.into(), ..Proof::default() });
    run::step(&mut run, &Input::Probed { phase: PhaseId::new("a"), proof }, "ada", now()).expect("it was to be proven");
    assert_eq!(run.phase_state(&PhaseId::new("a")).expect("a phase").status, PhaseStatus::Completed);
    let seen = |name: &str, digest: &str| ArtifactSeen {
        name: name.to_owned(),
        path: format!("{name}.txt"),
        bytes: 1,
        digest: digest.to_owned(),
        report: false,
        kept: false,
        kept_until: None,
        not_kept: None,
    };
    let look = |run: &Run, artifacts: Vec<ArtifactSeen>| {
        let now = Evidence { artifacts: Some(artifacts), ..Evidence::default() };
        stale::findings(run, None, &BTreeMap::from([(PhaseId::new("a"), now)]), &[])
    };
    assert_eq!(told(&look(&run, vec![seen("one", "then"), seen("two", "then")])), []);
    let found = look(&run, vec![seen("two", "now")]);
    assert_eq!(told(&found), [(FindingKind::Stale, "a"), (FindingKind::OutputChanged, "a")]);
    assert!(found[0].message.contains("one.txt") && found[1].message.contains("two.txt"), "{found:?}");
    let accepted = onward_core::event::Recorded {
        seq: run.seq.next(),
        at: now(),
        actor: "ada".to_owned(),
        event: onward_core::event::Event::StaleAccepted {
            phase: PhaseId::new("a"),
            seen: Box::new(Evidence { artifacts: Some(vec![seen("two", "now")]), ..Evidence::default() }),
        },
    };
    run.apply(&accepted);
    assert_eq!(told(&look(&run, vec![seen("two", "now")])), []);
}

/// A probe with if-changed: rerun sees a change. One of files means the phases that read them, any other means all; an outward
/// effect is asked about.
#[test]
fn a_probe_that_wants_it_again() {
    let of = |probe: &str| {
        let plan = parsed(&format!(
            "freshness: {{ probes: {{ it: {{ {probe}, if-changed: rerun }} }} }}
phases:
  reads: {{ run: x, reads: conf/map.csv }}
  other: {{ run: x, reads: src }}
  outward: {{ run: x, effects: external }}
"
        ));
        let world = |hash: &str| {
            let seen = ProbeSeen { hash: Some(hash.to_owned()), excerpt: hash.to_owned() };
            WorldSeen { probes: BTreeMap::from([("it".to_owned(), seen)]), ..WorldSeen::default() }
        };
        let mut run = begun(&plan, Some(world("then")));
        for phase in ["reads", "other", "outward"] {
            done(&mut run, phase, Evidence::default());
        }
        let look = |world: &WorldSeen| stale::findings(&run, None, &BTreeMap::new(), &world::again(&run, world));
        assert_eq!(told(&look(&world("then"))), []);
        assert_eq!(told(&world::findings(&run, &world("now"))), [(FindingKind::WorldWarns, "")]);
        let found = look(&world("now"));
        told(&found).into_iter().map(|(kind, phase)| (kind, phase.to_owned())).collect::<Vec<_>>()
    };
    let named = |kind, phase: &str| (kind, phase.to_owned());
    assert_eq!(of("files: [conf/*.csv]"), [named(FindingKind::StaleReruns, "reads")]);
    let all = [
        named(FindingKind::StaleReruns, "reads"),
        named(FindingKind::StaleReruns, "other"),
        named(FindingKind::Stale, "outward"),
    ];
    assert_eq!(of("command: date"), all);
}

/// A plan is used twice, and one of its phases gets another id. What was done in the second place is not taken for the first.
#[test]
fn a_record_stays_at_its_place_when_both_get_another_id() {
    let used = |id: &str| {
        let inner = common::plan(&format!("onward: 1\nname: inner\nphases:\n  {id}: {{ run: x }}\n"));
        let mut plan = parsed("phases:\n  one: { uses: i.yaml }\n  two: { uses: i.yaml }\n");
        plan.used.insert("i.yaml".to_owned(), inner);
        plan::expand::at_start(&plan, &BTreeMap::new()).expect("all is known")
    };
    let mut run = begun(&used("build"), None);
    done(&mut run, "two/build", Evidence::default());
    let pair = |old: &str, new: &str| (PhaseId::new(old), PhaseId::new(new));
    assert_eq!(stale::renamed(&run, &used("make")), [pair("two/build", "two/make")]);
}
