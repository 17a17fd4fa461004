//! Offers: every answer that would be obeyed is offered, and none that would be refused.

mod common;

use onward_core::effect::Effect;
use onward_core::event::{Outcome, RunStarted, SnapshotRef};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Input};
use onward_core::question::{self, TypedWords};
use onward_core::resume::{Finding, FindingKind, Offered};
use onward_core::run::{self, Run};

const FAILED: Outcome = Outcome::Exited { code: 1 };

/// A run of these phases, driven once.
fn driven(phases: &str) -> Run {
    let plan = common::plan(&format!("onward: 1\nname: demo\non-failure: continue\nphases:\n{phases}"));
    let started = RunStarted { snapshots: true, ..common::started(plan) };
    let (mut run, _) = run::start(started, "ada", common::now());
    take(&mut run, &Input::Begin(common::begin(1)));
    while run::wanted(&run, common::now()).contains(&Effect::Snapshot) {
        let snapshot = SnapshotRef { commit: "c1".to_owned(), number: 1, left_out: Vec::new(), head: None };
        take(&mut run, &Input::Snapshotted(Ok(snapshot)));
    }
    run
}

fn take(run: &mut Run, input: &Input) {
    run::step(run, input, "ada", common::now()).expect("a legal input");
}

fn fail_a(run: &mut Run) {
    let end = AttemptEnd::bare(FAILED);
    take(run, &Input::AttemptEnded { phase: PhaseId::new("a"), attempt: Attempt(1), end });
}

/// The flags that are offered on a resume for a finding about phase `a`.
fn offered(run: &Run, kind: FindingKind) -> Vec<String> {
    let open = [Finding::about(kind, &PhaseId::new("a"), "found".to_owned())];
    let asked =
        question::on_resume(run, &open, &open, &open, &[Offered::Choice].into(), (&TypedWords::default(), None));
    let about_a = asked.choices.iter().filter_map(|offer| offer.command.split_once(" --"));
    about_a.map(|(_, flag)| flag.to_owned()).collect()
}

/// A phase failed and its files can be put back: that is one of the answers, after the stop and at the next start.
#[test]
fn a_clean_retry_is_offered_where_it_is_possible() {
    let mut run = driven("  a: { run: x, writes: [out], on-failure: ask }\n");
    fail_a(&mut run);
    let all = ["retry a", "retry a=clean", "adopt a", "skip a"];
    assert_eq!(offered(&run, FindingKind::Failed), all);
    let after = question::after_stop(&run);
    let flags: Vec<&str> = after.choices.iter().filter_map(|o| Some(o.command.split_once(" --")?.1)).collect();
    assert_eq!(flags, all);

    let mut run = driven("  a: { run: x, on-failure: ask }\n");
    fail_a(&mut run);
    assert_eq!(offered(&run, FindingKind::Failed), ["retry a", "adopt a", "skip a"]);
}

/// An input of the run was a secret, and only its place is known. A fresh start that would take the place for the input is not
/// offered.
#[test]
fn a_cut_input_is_not_offered_to_be_typed() {
    let run = driven("  a: { run: x }\n");
    let open = [Finding::about(FindingKind::InDoubt, &PhaseId::new("a"), "found".to_owned())];
    let fresh = |plan: &str| {
        let typed = TypedWords::new([plan], []);
        let asked = question::on_resume(&run, &open, &open, &open, &[Offered::Fresh].into(), (&typed, None));
        asked.choices.iter().any(|offer| offer.command.contains("--fresh"))
    };
    assert!(fresh("--input=token=sunday"));
    assert!(!fresh("--input=token=[redacted]"));
}

/// A person said no to an approval. Nobody may take it as done in its place, so that is not offered.
#[test]
fn an_approval_is_never_offered_as_done() {
    let run = driven("  a: { approval: Really? }\n");
    assert_eq!(offered(&run, FindingKind::Failed), ["retry a", "skip a"]);
}

/// A driver died while the phase was at work. By the time the answer counts the attempt is over: all answers are offered.
#[test]
fn a_phase_that_was_cut_off_has_all_answers() {
    let run = driven("  a: { run: x }\n");
    assert!(run.phase_state(&PhaseId::new("a")).expect("a phase").attempt.is_some(), "it is at work");
    assert_eq!(offered(&run, FindingKind::InDoubt), ["retry a", "adopt a", "skip a"]);
}

fn commands(run: &Run, open: &[Finding], by_kept_plan: &[Finding], offered: &[Offered]) -> Vec<String> {
    let asked = question::on_resume(
        run,
        open,
        open,
        by_kept_plan,
        &offered.iter().copied().collect(),
        (&TypedWords::default(), None),
    );
    let begin = format!("{} ", run.id);
    let after = |offer: &question::Offer| offer.command.split_once(&begin).map(|(_, flags)| flags.to_owned());
    asked.choices.iter().filter_map(after).collect()
}

/// The plan was edited and two finished phases are stale. Each answer that is offered is one after which nothing is asked: to go
/// on alone is none of them, and one phase is done again with the other kept.
#[test]
fn no_answer_leads_to_another_question() {
    let run = driven("  a: { run: x }\n  b: { run: x }\n");
    let of = |kind, phase: &str| Finding::about(kind, &PhaseId::new(phase), "found".to_owned());
    let edited = Finding::new(FindingKind::PlanChanged, "edited");
    let (a, b) = (of(FindingKind::Stale, "a"), of(FindingKind::Stale, "b"));
    let offered = [Offered::GoOn, Offered::AcceptStale, Offered::Choice, Offered::PlanFromRun];
    let both = [edited.clone(), a.clone(), b.clone()];
    assert_eq!(
        commands(&run, &both, std::slice::from_ref(&b), &offered),
        [
            "--accept-stale",
            "--retry a --accept-stale",
            "--retry b --accept-stale",
            "--retry a --retry b",
            "--plan-from run --accept-stale",
        ]
    );
    // One phase, stale by what was edited: the plan that is kept settles it, and so does doing it again.
    let one = [edited.clone(), a.clone()];
    assert_eq!(commands(&run, &one, &[], &offered), ["--accept-stale", "--retry a", "--plan-from run"]);
    // An effect that may have happened is answered for by itself, and what is stale beside it is kept.
    let doubt = of(FindingKind::InDoubt, "b");
    let beside = commands(&run, &[edited, a, doubt.clone()], &[doubt], &offered);
    assert!(beside.contains(&"--retry b --accept-stale".to_owned()), "{beside:?}");
    assert!(!beside.iter().any(String::is_empty), "{beside:?}");
}
