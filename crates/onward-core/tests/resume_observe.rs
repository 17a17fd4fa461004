//! Findings from the record of a run before it goes on, and the effect of an edited plan or a probe on it.

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::now;
use jiff::{SignedDuration, Timestamp};
use onward_core::event::{Event, Outcome, PlanRevised};
use onward_core::evidence::{Evidence, FileSeen, Files};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Begin, Choice, Input, Resumption};
use onward_core::plan::{self, Plan};
use onward_core::resume::{Auto, BranchFact, Finding, FindingKind, PlanFact, ResumeFacts, observe, stale};
use onward_core::run::verification::{EffectFound, Proof};
use onward_core::run::{self, Ending, PhaseStatus, Run, cache};

fn parsed(text: &str) -> Plan {
    common::plan(&format!("onward: 1\nname: demo\nphases:\n{text}"))
}

fn started(plan: &Plan) -> Run {
    run::start(common::started(plan.clone()), "ada", now()).0
}

/// The next driver, of a person who wants failed phases done anew, or of nobody.
#[derive(Clone, Copy, PartialEq)]
enum Failed {
    Renewed,
    Left,
}

fn begin(run: &mut Run, failed: Failed, choices: &[(&str, Choice)], resumption: Resumption) -> Vec<Event> {
    let begin = Begin {
        renew: failed == Failed::Renewed,
        choices: choices.iter().map(|(phase, choice)| (PhaseId::new(*phase), *choice)).collect(),
        resumption,
        ..common::begin(run.epoch + 1)
    };
    take(run, &Input::Begin(begin))
}

fn take(run: &mut Run, input: &Input) -> Vec<Event> {
    let stepped = run::step(run, input, "ada", run.updated_at).expect("a legal input");
    let again = cache::decode(&cache::encode(run)).expect("what was just written");
    assert_eq!(format!("{run:?}"), format!("{again:?}"), "the fold cache is the run");
    stepped.events.into_iter().map(|recorded| recorded.event).collect()
}

fn end(run: &mut Run, phase: &str, outcome: Outcome) {
    let attempt = Attempt(run.phase_state(&PhaseId::new(phase)).expect("a phase").attempts);
    take(run, &Input::AttemptEnded { phase: PhaseId::new(phase), attempt, end: AttemptEnd::bare(outcome) });
}

fn status(run: &Run, phase: &str) -> PhaseStatus {
    run.phase_state(&PhaseId::new(phase)).expect("a phase").status
}

fn kinds(findings: &[Finding]) -> Vec<FindingKind> {
    findings.iter().map(|finding| finding.kind).collect()
}

const DONE: Outcome = Outcome::Exited { code: 0 };

/// The clock went back behind the last event, or the run is older than it may be. Both are found, neither is guessed away.
#[test]
fn clock_went_backwards() {
    let run = started(&parsed("  a: { run: x }\n"));
    let found = |now: Timestamp| {
        let (plan, branch, auto, max_age) = (PlanFact::Same, BranchFact::None, Auto::Safe, Duration::from_hours(1));
        kinds(&observe(&ResumeFacts { run: &run, plan, branch, head: None, auto, max_age, now }))
    };
    assert_eq!(found(now()), []);
    assert_eq!(found(now() - SignedDuration::from_secs(1)), [FindingKind::ClockWentBack]);
    assert_eq!(found(now() + SignedDuration::from_hours(2)), [FindingKind::Old]);
}

/// A probe could not tell. The run stops for an answer; the next driver asks the probe again, and what it says counts.
#[test]
fn a_probe_that_cannot_tell_is_asked_again() {
    let mut run = started(&parsed("  a: { run: x, effects: external, done-when: probe }\n  b: { needs: a, run: x }\n"));
    begin(&mut run, Failed::Left, &[], Resumption::default());
    end(&mut run, "a", Outcome::Unknown);
    let probed = |effect| Input::Probed {
        phase: PhaseId::new("a"),
        proof: Box::new(Proof { artifacts: Vec::new(), checks: Vec::new(), effect: Some(effect) }),
    };
    take(&mut run, &probed(EffectFound::CannotTell));
    assert_eq!(run.ending(), Some(Ending::Stopped(onward_core::event::StopReason::Question)));
    begin(&mut run, Failed::Renewed, &[], Resumption::default());
    assert_eq!(run.ending(), None);
    take(&mut run, &probed(EffectFound::There));
    assert_eq!((status(&run, "a"), status(&run, "b")), (PhaseStatus::Completed, PhaseStatus::Running));
}

/// The edited plan has the phases in another order, one of them under another name, one more and one less. Records follow
/// the ids and the rename, and a phase that comes back gets its record back.
#[test]
fn records_follow_their_phases() {
    let before = "  a: { run: one }\n  b: { needs: a, run: two }\n  gone: { needs: a, run: three }\n  c: { needs: b, run: four }\n";
    let mut run = started(&parsed(before));
    begin(&mut run, Failed::Left, &[], Resumption::default());
    for phase in ["a", "b", "gone"] {
        end(&mut run, phase, DONE);
    }
    end(&mut run, "c", Outcome::Exited { code: 1 });
    let after = parsed(
        "  new: { run: five }\n  c: { needs: second, run: four }\n  second: { needs: a, run: two }\n  a: { run: one }\n",
    );
    let pairs = stale::renamed(&run, &after);
    assert_eq!(pairs, [(PhaseId::new("b"), PhaseId::new("second"))]);
    let revise = |plan: &Plan, renamed: &[(PhaseId, PhaseId)]| {
        let revised = PlanRevised {
            plan_digest: plan::digest(plan),
            plan: plan.clone(),
            plan_text: String::new(),
            renamed: renamed.to_vec(),
        };
        Resumption { revised: Some(Box::new(revised)), ..Resumption::default() }
    };
    begin(&mut run, Failed::Renewed, &[], revise(&after, &pairs));
    assert_eq!(status(&run, "second"), PhaseStatus::Completed, "the record went with the rename");
    assert_eq!((status(&run, "a"), status(&run, "new")), (PhaseStatus::Completed, PhaseStatus::Running));
    assert_eq!(status(&run, "c"), PhaseStatus::Running);
    end(&mut run, "c", Outcome::Exited { code: 1 });
    end(&mut run, "new", DONE);
    begin(&mut run, Failed::Renewed, &[], revise(&parsed(before), &[]));
    assert_eq!(status(&run, "gone"), PhaseStatus::Completed, "what was done is not done again");
}

/// A file that a finished phase read is another one now. With effects: none it is done again, otherwise it is asked
/// about, and on-change has the last word.
#[test]
fn what_was_read_has_changed() {
    let text = "  none: { run: x, effects: none, reads: f }\n  files: { run: x, reads: f }\n  keep: { run: x, reads: f, on-change: keep }\n";
    let mut run = started(&parsed(text));
    begin(&mut run, Failed::Left, &[], Resumption::default());
    let files = |hash: &str| {
        let file = FileSeen { hash: hash.to_owned(), size: 1, modified_ns: 1, inode: 1 };
        Some(Files { files: BTreeMap::from([("f".to_owned(), file)]), too_many: false })
    };
    for phase in ["none", "files", "keep"] {
        let seen = Some(Box::new(Evidence { reads: files("then"), ..Evidence::default() }));
        let end = AttemptEnd { seen, ..AttemptEnd::bare(DONE) };
        take(&mut run, &Input::AttemptEnded { phase: PhaseId::new(phase), attempt: Attempt(1), end });
    }
    let look = |hash: &str| -> Vec<FindingKind> {
        let seen = |phase: &str| (PhaseId::new(phase), Evidence { reads: files(hash), ..Evidence::default() });
        kinds(&stale::findings(&run, None, &["none", "files", "keep"].map(seen).into(), &[]))
    };
    assert_eq!(look("then"), []);
    assert_eq!(look("now"), [FindingKind::StaleReruns, FindingKind::Stale]);
}
