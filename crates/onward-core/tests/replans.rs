//! Revisions of a plan: which are allowed, what kind they are, and what is kept.

use std::collections::{BTreeMap, BTreeSet};

use onward_core::id::PhaseId;
use onward_core::plan::expand::at_start;
use onward_core::plan::graph;
use onward_core::plan::{MayEdit, Plan, digest_of_all, parse};
use onward_core::replan::{
    PhaseProgress, Refused, ReplanLimits, ReplanStanding, Revision, RevisionKind, judge, may_ask,
};

use proptest::prelude::*;

fn plan(phases: &str) -> Plan {
    let parsed = parse(&format!("onward: 1\nreplan: {{ max: 9, max-per-phase: 2 }}\nphases:\n{phases}"));
    parsed.plan.unwrap_or_else(|| panic!("{:?}", parsed.diagnostics))
}

fn id(text: &str) -> PhaseId {
    PhaseId::new(text)
}

const FIRST: &str =
    "  a: { run: a }\n  b: { needs: a, run: b }\n  c: { needs: b, run: c }\n  side: { needs: a, run: side }\n";

/// `a` is finished and `b` asks.
struct World {
    plan: Plan,
    asked_by: PhaseId,
    progress: BTreeMap<PhaseId, PhaseProgress>,
    tried: BTreeSet<String>,
    made: u32,
    made_for_phase: u32,
    limits: ReplanLimits,
}

impl World {
    fn new() -> Self {
        let plan = plan(FIRST);
        Self {
            asked_by: id("b"),
            progress: [(id("a"), PhaseProgress::Finished)].into(),
            tried: [digest_of_all(&plan)].into(),
            made: 0,
            made_for_phase: 0,
            limits: ReplanLimits::Hold,
            plan,
        }
    }

    fn standing(&self) -> ReplanStanding<'_> {
        ReplanStanding {
            plan: &self.plan,
            asked_by: Some(&self.asked_by),
            progress: &self.progress,
            made: self.made,
            made_for_phase: self.made_for_phase,
            tried: &self.tried,
            limits: self.limits,
        }
    }

    fn judge(&self, proposed: &Plan, may_edit: MayEdit) -> Result<Revision, Refused> {
        let mut rules = may_ask(&self.standing())?;
        rules.may_edit = may_edit;
        judge(&self.standing(), proposed, &rules)
    }

    fn propose(&self, phases: &str) -> Result<Revision, Refused> {
        self.judge(&plan(phases), MayEdit::Downstream)
    }
}

#[test]
fn kinds_of_revisions() {
    let world = World::new();
    for (phases, kind) in [
        // another phase stands between the one that asked and the next
        (
            "  a: { run: a }\n  b: { needs: a, run: b2 }\n  b2: { needs: b, run: x }\n  c: { needs: b2, run: c }\n  side: { needs: a, run: side }\n",
            RevisionKind::Expand,
        ),
        (
            "  a: { run: a }\n  pre: { needs: a, run: x }\n  b: { needs: pre, run: b }\n  c: { needs: b, run: c }\n  side: { needs: a, run: side }\n",
            RevisionKind::Expand,
        ),
        // one beside it
        (
            "  a: { run: a }\n  b: { needs: a, run: b2 }\n  x: { needs: a, run: x }\n  c: { needs: b, run: c }\n  side: { needs: a, run: side }\n",
            RevisionKind::Add,
        ),
        (
            "  a: { run: a }\n  b1: { needs: a, run: x }\n  b2: { needs: b1, run: y }\n  c: { needs: b2, run: c }\n  side: { needs: a, run: side }\n",
            RevisionKind::Split,
        ),
        (
            "  a: { run: a }\n  b: { needs: a, run: other }\n  c: { needs: b, run: c }\n  side: { needs: a, run: side }\n",
            RevisionKind::Update,
        ),
        ("  a: { run: a }\n  b: { needs: a, run: b and c }\n  side: { needs: a, run: side }\n", RevisionKind::Collapse),
    ] {
        let revision = world.propose(phases).unwrap_or_else(|why| panic!("{why}\n{phases}"));
        assert_eq!(revision.kind, kind, "{phases}");
    }
}

#[test]
fn a_plan_tried_before_is_refused() {
    // The very plan that was just tried, also under another name. With anything that could end differently it is another plan.
    let mut world = World::new();
    assert_eq!(world.propose(FIRST).expect_err("tried"), Refused::TriedBefore);
    let renamed = FIRST.replace("b: { needs: a,", "b: { name: B, needs: a,");
    assert_eq!(world.propose(&renamed).expect_err("tried"), Refused::TriedBefore);
    let longer = FIRST.replace("b: { needs: a,", "b: { timeout: 2h, needs: a,");
    let revision = world.propose(&longer).expect("another try");
    world.tried.insert(revision.digest);
    assert_eq!(world.propose(&longer).expect_err("tried"), Refused::TriedBefore);
}

#[test]
fn limits_per_phase_and_per_run() {
    let mut world = World::new();
    let again =
        "  a: { run: a }\n  b: { needs: a, run: again }\n  c: { needs: b, run: c }\n  side: { needs: a, run: side }\n";
    world.made_for_phase = 2;
    let refused = world.propose(again).expect_err("the limit");
    assert!(refused.is_limit() && matches!(refused, Refused::LimitOfPhase { made: 2, .. }));
    world.limits = ReplanLimits::Waived;
    assert!(world.propose(again).is_ok());
    (world.limits, world.made_for_phase, world.made) = (ReplanLimits::Hold, 0, 9);
    assert_eq!(world.propose(again).expect_err("the limit"), Refused::LimitOfRun { made: 9 });
}

#[test]
fn what_is_finished_stays() {
    // The new plan leaves out the finished phase: it stays on the books. One that would change it is refused, unless the plan
    // allows everything; then it is done anew.
    let world = World::new();
    let revision =
        world.propose("  b: { run: b2 }\n  c: { needs: b, run: c }\n  side: { run: side }\n").expect("allowed");
    assert_eq!(revision.kept, [id("a")]);
    assert_eq!(revision.plan.phases[0].id, id("a"));
    assert!(revision.removed.is_empty() && revision.plan.replan == world.plan.replan);
    let changed = plan(&FIRST.replace("a: { run: a }", "a: { run: other }"));
    let refused = world.judge(&changed, MayEdit::Pending).expect_err("it is finished");
    assert_eq!(refused, Refused::ChangesFinished { phase: id("a") });
    assert_eq!(world.judge(&changed, MayEdit::All).expect("all may change").redone, [id("a")]);
}

#[test]
fn only_what_comes_after_may_change() {
    let mut world = World::new();
    let other = plan(&FIRST.replace("run: side", "run: other"));
    assert_eq!(
        world.judge(&other, MayEdit::Downstream).expect_err("beside"),
        Refused::NotDownstream { phase: id("side") }
    );
    assert!(world.judge(&other, MayEdit::Pending).is_ok());
    world.progress.insert(id("side"), PhaseProgress::AtWork);
    assert_eq!(world.judge(&other, MayEdit::All).expect_err("at work"), Refused::ChangesAtWork { phase: id("side") });
    world.progress.insert(id("b"), PhaseProgress::AtWork);
    let own = plan(&FIRST.replace("run: b", "run: better"));
    assert!(world.judge(&own, MayEdit::Downstream).is_ok(), "the phase that asks is still at work");
}

#[test]
fn a_revision_does_not_lift_its_own_limits() {
    let world = World::new();
    let text = "onward: 1\nreplan: { max: 100, max-per-phase: 100, approval: false }\nphases:\n  a: { run: a }\n  b: { needs: a, run: x }\n  c: { needs: b, run: c }\n  side: { needs: a, run: side }\n";
    let revision = world.judge(&parse(text).plan.expect("right"), MayEdit::Downstream).expect("allowed");
    let rules = revision.plan.replan_rules(None);
    assert_eq!((rules.max, rules.max_per_phase, rules.approval), (9, 2, true));
}

#[test]
fn what_is_kept_stands_in_front() {
    // Two phases are finished and one of them is left out. It stays with what it needs, and the plan still has an order.
    let mut world = World::new();
    world.plan = plan("  z: { run: z }\n  a: { needs: z, run: a }\n  b: { needs: a, run: b }\n");
    world.progress = [(id("a"), PhaseProgress::Finished), (id("z"), PhaseProgress::Finished)].into();
    let revision = world.propose("  z: { run: z }\n  b: { needs: z, run: b2 }\n").expect("z stays");
    let all: Vec<&str> = revision.plan.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!((all, revision.kept), (vec!["a", "z", "b"], vec![id("a")]));
}

#[test]
fn what_is_left_out_and_kept_is_no_other_plan() {
    // The proposal differs from the present plan only in a finished phase that it leaves out. That one is kept, so nothing would be
    // different.
    let mut world = World::new();
    world.plan = plan("  z: { run: z }\n  b: { run: b }\n");
    world.tried = [digest_of_all(&world.plan)].into();
    world.progress = [(id("z"), PhaseProgress::Finished)].into();
    assert_eq!(world.propose("  b: { run: b }\n").expect_err("the same"), Refused::TriedBefore);
}

#[test]
fn a_whole_is_as_far_as_its_parts() {
    // One part of a phase asks for another plan. It is not in its own way, but a part that is at work is, and so is one that is
    // finished, unless everything may change.
    let text = "  days: { matrix: { day: [mon, tue] }, run: x }\n  b: { needs: days, run: b }\n";
    let mut world = World::new();
    world.plan = at_start(&plan(text), &BTreeMap::new()).expect("known");
    let (one, two) = (world.plan.phases[1].id.clone(), world.plan.phases[2].id.clone());
    world.asked_by = one.clone();
    let other = plan(&text.replace("run: x", "run: y"));
    world.progress = [(one.clone(), PhaseProgress::AtWork)].into();
    assert!(world.judge(&other, MayEdit::Pending).is_ok(), "it asks itself");
    for (progress, refused) in [
        (PhaseProgress::AtWork, Refused::ChangesAtWork { phase: id("days") }),
        (PhaseProgress::Finished, Refused::ChangesFinished { phase: id("days") }),
    ] {
        world.progress = [(one.clone(), PhaseProgress::AtWork), (two.clone(), progress)].into();
        assert_eq!(world.judge(&other, MayEdit::Pending).expect_err("the other part"), refused);
    }
    assert_eq!(world.judge(&other, MayEdit::All).expect("all may change").redone, [id("days")]);
}

#[test]
fn phases_that_were_taken_apart_stay_so() {
    let text = "  days: { matrix: { day: [mon, tue] }, run: x }\n  b: { needs: days, run: b }\n";
    let mut world = World::new();
    world.plan = at_start(&plan(text), &BTreeMap::new()).expect("known");
    world.progress = world.plan.phases[..3].iter().map(|phase| (phase.id.clone(), PhaseProgress::Finished)).collect();
    let revision = world.propose(&text.replace("run: b", "run: b2")).expect("allowed");
    assert_eq!((revision.kind, revision.plan.phases.len()), (RevisionKind::Update, 4));
    assert_eq!(revision.plan.phases[0].children, world.plan.phases[0].children);
    let first = format!("  new: {{ run: n }}\n{}", text.replace("day: [mon, tue] }", "day: [mon, tue] }, needs: new"));
    let revision = world.propose(&first).expect("needs are no other work");
    assert_eq!(revision.plan.phases[2].needs[0].phase, id("new"), "the parts need what the whole needs");
    let other = plan(&text.replace("[mon, tue]", "[mon, wed]"));
    assert_eq!(
        world.judge(&other, MayEdit::Pending).expect_err("finished"),
        Refused::ChangesFinished { phase: id("days") }
    );
}

#[test]
fn figures_that_ask_for_a_revision() {
    let parsed = parse("onward: 1\nphases:\n  a: { run: a, replan: { max: 1, when: [too-complex], tasks-max: 3 } }\n");
    let plan = parsed.plan.expect("right");
    let rules = plan.replan_rules(plan.phases.first());
    assert_eq!((rules.max, rules.max_per_phase, rules.complexity_max), (4, 1, 8));
    assert_eq!((rules.too_complex(Some(8), Some(3)), rules.too_complex(Some(9), None)), (false, true));
    assert!(rules.too_complex(None, Some(4)) && !plan.replan_rules(None).too_complex(Some(99), None));
}

/// A plan over the ids `p0` to `p5`: each may be there, does one of three things, and needs some of those before it.
fn small_plan() -> impl Strategy<Value = Plan> {
    proptest::collection::vec((0..4_u8, any::<u8>(), any::<bool>()), 6).prop_map(|shapes| {
        let mut lines = vec!["  last: { run: x }\n".to_owned()];
        let mut there = Vec::new();
        for (number, (what, needs, many)) in shapes.into_iter().enumerate() {
            if what == 0 {
                continue;
            }
            let before: Vec<String> =
                there.iter().filter(|other| needs >> **other & 1 == 1).map(|other| format!("p{other}")).collect();
            let matrix = if many { "matrix: { n: [1, 2] }, " } else { "" };
            lines.push(format!("  p{number}: {{ {matrix}needs: [{}], run: r{what} }}\n", before.join(", ")));
            there.push(number);
        }
        plan(&lines.concat())
    })
}

proptest! {
    /// Whatever is proposed, and however far the run has come: nothing that is finished is lost, everything that is needed is
    /// there, and the plan has an order.
    #[test]
    fn a_revision_loses_nothing(old in small_plan(), new in small_plan(), fates in proptest::collection::vec(0..3_u8, 24), mode in 0..3_u8) {
        let old = at_start(&old, &BTreeMap::new()).expect("known");
        let mut progress: BTreeMap<PhaseId, PhaseProgress> = BTreeMap::new();
        for (phase, fate) in old.phases.iter().zip(&fates) {
            let ready = phase.needs.iter().all(|need| progress.get(&need.phase) == Some(&PhaseProgress::Finished));
            let fate = match (ready, fate) {
                (true, 0) => PhaseProgress::Finished,
                (true, 1) if phase.children.is_none() => PhaseProgress::AtWork,
                (true | false, _) => PhaseProgress::Open,
            };
            // A whole that is finished has finished parts.
            let whole = phase.situation.parent.as_ref().and_then(|parent| progress.get(parent));
            let fate = if whole == Some(&PhaseProgress::Finished) { PhaseProgress::Finished } else { fate };
            progress.insert(phase.id.clone(), fate);
        }
        let world = World { plan: old.clone(), asked_by: id("last"), progress: progress.clone(), ..World::new() };
        let may_edit = [MayEdit::Downstream, MayEdit::Pending, MayEdit::All][usize::from(mode)];
        if let Ok(revision) = world.judge(&new, may_edit) {
            let ids: BTreeSet<&PhaseId> = revision.plan.phases.iter().map(|phase| &phase.id).collect();
            prop_assert_eq!(ids.len(), revision.plan.phases.len(), "no phase twice");
            for phase in &revision.plan.phases {
                prop_assert!(phase.needs.iter().all(|need| ids.contains(&need.phase)), "{:?}", phase);
                prop_assert!(phase.children.iter().flatten().all(|child| ids.contains(child)), "{:?}", phase);
            }
            let placed: usize = graph::batches(&revision.plan).iter().map(Vec::len).sum();
            prop_assert_eq!(placed, revision.plan.phases.len());
            let changed = |id: &PhaseId| revision.changed.iter().any(|other| id.as_str().starts_with(other.as_str()));
            let finished = old.phases.iter().filter(|phase| progress[&phase.id] == PhaseProgress::Finished);
            for phase in finished.filter(|phase| !changed(&phase.id)) {
                prop_assert!(ids.contains(&phase.id), "{} was finished", phase.id);
            }
            let at_work = old.phases.iter().filter(|phase| progress[&phase.id] == PhaseProgress::AtWork);
            for phase in at_work.filter(|phase| phase.id.as_str() != "last") {
                prop_assert!(ids.contains(&phase.id) && !changed(&phase.id), "{} is at work", phase.id);
            }
        }
    }
}
