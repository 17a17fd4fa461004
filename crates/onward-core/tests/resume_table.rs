//! The decision whether a run may go on, against a second one that was written from the contract and not from the code:
//! every combination of what can be found, of what was answered, and of how the run stands.

use std::collections::BTreeSet;

use onward_core::id::PhaseId;
use onward_core::resume::{
    Accept, Answers, Finding, FindingKind, Offered, RunStanding, Verdict, Weight, Wording, decide, table,
};

/// Kinds that can stand in the way. Of those about a phase, the phase may have got an answer of its own.
const ABOUT_A_PHASE: [FindingKind; 5] =
    [FindingKind::Renamed, FindingKind::Stale, FindingKind::WorkChanged, FindingKind::InDoubt, FindingKind::Failed];
const OTHERS: [FindingKind; 11] = [
    FindingKind::BranchGone,
    FindingKind::WorldStops,
    FindingKind::BranchUnknown,
    FindingKind::WorldAsks,
    FindingKind::PlanGone,
    FindingKind::PlanChanged,
    FindingKind::ApprovalTaken,
    FindingKind::AutoResumeDisabled,
    FindingKind::Old,
    FindingKind::ClockWentBack,
    FindingKind::OrphanInTheWay,
];
/// A kind that weighs what another one does and is answered by the same: whatever holds of that one holds of it.
const THE_SAME: [(FindingKind, FindingKind); 4] = [
    (FindingKind::WorldUnknown, FindingKind::WorldAsks),
    (FindingKind::MarkerDiffers, FindingKind::Stale),
    (FindingKind::WorktreeGone, FindingKind::BranchGone),
    (FindingKind::RequirementUnmet, FindingKind::WorldStops),
];
const HARMLESS: [FindingKind; 12] = [
    FindingKind::WorldWarns,
    FindingKind::BranchElsewhere,
    FindingKind::HeadMoved,
    FindingKind::PlanTouched,
    FindingKind::StaleReruns,
    FindingKind::DependentsKept,
    FindingKind::OutputChanged,
    FindingKind::CheckpointDamaged,
    FindingKind::ArtifactRestored,
    FindingKind::Orphan,
    FindingKind::FilesCameIn,
    FindingKind::WorktreeLeft,
];

/// A finding about a phase, and whether the phase got an answer.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Absent,
    Open,
    Answered,
}

/// One combination.
struct Case {
    others: u32,
    phases: [Of; 5],
    harmless: bool,
}

impl Case {
    fn has(&self, kind: FindingKind) -> bool {
        OTHERS.iter().position(|other| *other == kind).is_some_and(|at| self.others & (1 << at) != 0)
    }

    fn of(&self, kind: FindingKind) -> Of {
        ABOUT_A_PHASE.iter().position(|other| *other == kind).map_or(Of::Absent, |at| self.phases[at])
    }

    /// `about` has the findings about phases, open and answered: to make them anew each time takes longer than to decide.
    fn findings(&self, about: &[[Finding; 2]]) -> Vec<Finding> {
        let plain = |kind: &FindingKind| Finding::new(*kind, "");
        let mut all: Vec<Finding> = if self.harmless { HARMLESS.iter().map(plain).collect() } else { Vec::new() };
        all.extend(OTHERS.iter().filter(|kind| self.has(**kind)).map(plain));
        for ([open, answered], of) in about.iter().zip(self.phases) {
            match of {
                Of::Absent => {}
                Of::Open => all.push(open.clone()),
                Of::Answered => all.push(answered.clone()),
            }
        }
        all
    }
}

/// The contract in its own words, one sentence after the other.
fn oracle(case: &Case, said: Answers<'_>) -> Verdict {
    // Branch gone, or a probe with stop: refused, whatever else is answered.
    if case.has(FindingKind::BranchGone) || case.has(FindingKind::WorldStops) {
        return Verdict::Refuse;
    }
    // An outward effect of unknown outcome wants an answer of its own, and so does a phase that is in the way.
    let mut asks = case.of(FindingKind::InDoubt) == Of::Open;
    asks |= case.has(FindingKind::OrphanInTheWay) && said.orphans == Accept::No;
    // A plan that is gone is never silently continued.
    asks |= case.has(FindingKind::PlanGone);
    // `--accept-stale` answers every finding about the world that asks, and only that or the phase's own answer does.
    if said.accept == Accept::No {
        asks |= case.has(FindingKind::BranchUnknown)
            || case.has(FindingKind::WorldAsks)
            // That somebody wants to go on says nothing about an approval that is gone.
            || case.has(FindingKind::ApprovalTaken);
        asks |= case.of(FindingKind::Stale) == Of::Open || case.of(FindingKind::Renamed) == Of::Open;
        // Files that the attempt to be continued writes: ask.
        asks |= case.of(FindingKind::WorkChanged) == Of::Open;
    }
    // `--resume` answers "go on?": a failed phase, the age, the configuration, an edited plan.
    if said.wording == Wording::Plain {
        asks |= case.of(FindingKind::Failed) == Of::Open;
        asks |= case.has(FindingKind::AutoResumeDisabled)
            || case.has(FindingKind::Old)
            || case.has(FindingKind::ClockWentBack);
    }
    // An answer to an approval is none about another plan.
    asks |= said.wording != Wording::Resume && case.has(FindingKind::PlanChanged);
    if asks { Verdict::Ask } else { Verdict::GoOn }
}

fn cases() -> impl Iterator<Item = Case> {
    let states = [Of::Absent, Of::Open, Of::Answered];
    (0..1_u32 << OTHERS.len()).flat_map(move |others| {
        (0..243_u32).map(move |code| {
            let phases = [1, 3, 9, 27, 81].map(|digit| states[code as usize / digit % 3]);
            // What is harmless decides nothing: that it is there or not alternates.
            Case { others, phases, harmless: (others.count_ones() + code) % 2 == 0 }
        })
    })
}

/// Every way to word a start, with every answer that goes with it.
fn answers(chosen: &BTreeSet<PhaseId>) -> Vec<Answers<'_>> {
    let mut all = Vec::new();
    for wording in [Wording::Plain, Wording::Resume, Wording::Answer] {
        for accept in [Accept::No, Accept::Yes] {
            all.extend([Accept::No, Accept::Yes].map(|orphans| Answers { wording, accept, chosen, orphans }));
        }
    }
    all
}

/// Every combination is decided twice. The two agree, nothing that is settled is asked, and what is offered would help.
#[test]
fn the_table_against_the_contract() {
    let chosen: BTreeSet<PhaseId> =
        ABOUT_A_PHASE.iter().map(|kind| PhaseId::new(format!("{}-answered", kind.as_str()))).collect();
    let of =
        |kind: &FindingKind, how: &str| Finding::about(*kind, &PhaseId::new(format!("{}-{how}", kind.as_str())), "");
    let about: Vec<[Finding; 2]> = ABOUT_A_PHASE.iter().map(|kind| [of(kind, "open"), of(kind, "answered")]).collect();
    let mut states = 0_u64;
    for case in cases() {
        let findings = case.findings(&about);
        for answers in answers(&chosen) {
            if answers.orphans == Accept::Yes && !case.has(FindingKind::OrphanInTheWay) {
                // An answer to what nobody asked.
                continue;
            }
            let decision = decide(RunStanding::Open, &findings, answers);
            states += 1;
            assert_eq!(decision.verdict, oracle(&case, answers), "{findings:?} {answers:?}");
            assert_eq!(decision.open.is_empty(), decision.verdict == Verdict::GoOn);
            let offered = &decision.offered;
            let (accepts, resumes) = (answers.accept == Accept::Yes, answers.wording == Wording::Resume);
            assert!(!(accepts && offered.contains(&Offered::AcceptStale)), "what was said is not offered again");
            assert!(!(resumes && offered.contains(&Offered::GoOn)), "what was said is not offered again");
            match decision.verdict {
                Verdict::Refuse => assert!(offered.iter().all(|one| *one == Offered::Fresh), "no way round a refusal"),
                Verdict::Ask => assert!(offered.iter().any(|one| *one != Offered::Fresh), "a question has an answer"),
                Verdict::GoOn => assert!(offered.is_empty()),
                Verdict::Complete | Verdict::Driven | Verdict::NoPhases => unreachable!("the run is open"),
            }
            assert_eq!(
                offered.contains(&Offered::Fresh),
                !case.has(FindingKind::PlanGone) && !decision.open.is_empty()
            );
        }
    }
    for standing in [RunStanding::Driven, RunStanding::NoPhases, RunStanding::Archived, RunStanding::Complete] {
        for resume in [Wording::Plain, Wording::Resume, Wording::Answer] {
            let findings: Vec<Finding> = FindingKind::ALL.iter().map(|kind| Finding::new(*kind, "")).collect();
            let answers = Answers { wording: resume, accept: Accept::Yes, chosen: &chosen, orphans: Accept::Yes };
            let verdict = decide(standing, &findings, answers).verdict;
            let expected = match standing {
                RunStanding::Driven => Verdict::Driven,
                RunStanding::NoPhases => Verdict::NoPhases,
                RunStanding::Archived => Verdict::Refuse,
                RunStanding::Complete | RunStanding::Open => Verdict::Complete,
            };
            assert_eq!(verdict, expected, "how a run stands goes before all that is found");
            states += 1;
        }
    }
    println!("{states} states decided twice");
    assert!(states > 2_900_000, "{states}");
}

/// Every kind of finding is in one of the lists above, and weighs what its list says.
#[test]
fn no_finding_is_left_out() {
    let same = THE_SAME.iter().map(|(kind, other)| {
        let (row, known) = (kind.row(), other.row());
        assert_eq!((row.weight, row.answered_by), (known.weight, known.answered_by), "{kind:?} is not as {other:?}");
        kind
    });
    let asking: BTreeSet<FindingKind> = ABOUT_A_PHASE.iter().chain(&OTHERS).chain(same).copied().collect();
    let harmless: BTreeSet<FindingKind> = HARMLESS.into_iter().collect();
    for kind in FindingKind::ALL {
        assert_ne!(asking.contains(&kind), harmless.contains(&kind), "{kind:?}");
        assert_eq!(asking.contains(&kind), kind.row().weight >= Weight::Ask, "{kind:?}");
    }
}

/// The page in the documents is the table that decides. Where they differ, the right one is printed below.
#[test]
fn the_page_is_the_table() {
    let page = include_str!("../../../docs/resume.md");
    let (start, end) = ("<!-- table: start -->\n", "<!-- table: end -->");
    let from = page.find(start).expect("the table begins") + start.len();
    let to = page.find(end).expect("the table ends");
    assert!(page[from..to] == table(), "docs/resume.md is not what is decided, which is:\n{}", table());
}
