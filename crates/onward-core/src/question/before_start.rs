//! Questions before anything is started: whether an unfinished run goes on, and how.

use std::collections::BTreeSet;

use crate::id::{PhaseId, RunId};
use crate::input::Choice;
use crate::plan::Plan;
use crate::resume::{AnsweredBy, Finding, FindingKind, Offered, Verdict, Weight};
use crate::run::Run;

use super::commands::{archive, fresh, fresh_command, fresh_if_known, go_on, orphans, phase_offers, retry_all, show};
use super::{Offer, Question, TypedWords};

/// Phases that are offered one by one; the others are answered in the same way.
const PHASES_OFFERED_MAX: usize = 10;
/// Offers about phases: retry, adopt and skip for each.
const PHASE_OFFERS_MAX: usize = 3 * PHASES_OFFERED_MAX;
/// The words and the flag that keep everything else as it is.
const KEEPING: &str = ", and keep the rest as it is";
const ACCEPT: &str = " --accept-stale";
const FRESH: &str = "start fresh and keep this run in the archive";

/// The run cannot simply go on, by the plan as it was `edited` if it was: `open` is in the way of it, among all `findings`; by the plan that is kept with the run it would be
/// `by_kept_plan`. Where one command can answer all of it, no command is offered that leads to another question.
pub fn on_resume(
    run: &Run,
    findings: &[Finding],
    open: &[Finding],
    by_kept_plan: &[Finding],
    offered: &BTreeSet<Offered>,
    (typed, edited): (&TypedWords, Option<&Plan>),
) -> Question {
    // Without its file nothing goes on but by the plan that is kept, whatever else is answered.
    let plan_gone = open.iter().any(|finding| finding.kind == FindingKind::PlanGone);
    let again = format!("onward resume {}{}", run.id, typed.answers);
    let kept = if plan_gone { " --plan-from run" } else { "" };
    let left: Vec<&Finding> =
        if plan_gone { by_kept_plan } else { open }.iter().filter(|one| !is_answered(one)).collect();
    // About what the edited plan does not have any more nothing is to be said.
    let is_there = |finding: &&Finding| match (edited, &finding.phase) {
        (Some(plan), Some(phase)) => plan_gone || plan.phase(phase).is_some(),
        (None, _) | (_, None) => true,
    };
    let answerable: Vec<Finding> = open.iter().filter(is_there).cloned().collect();
    let mut choices = Vec::new();
    for offered in offered {
        match offered {
            // Going on by the plan that is kept is offered below, and so are the answers to what else is asked.
            Offered::GoOn if plan_gone || !left.is_empty() => {}
            Offered::GoOn => choices.push(go_on(go_on_words(open), &run.id, &typed.answers)),
            Offered::AcceptStale => choices
                .push(Offer::new("go on and keep what is done as it is", format!("{again}{kept} --accept-stale"))),
            Offered::Choice => choices.extend(about_phases(run, &answerable, &left, &format!("{again}{kept}"))),
            Offered::PlanFromRun => {
                let left: Vec<&Finding> = by_kept_plan.iter().filter(|one| !is_answered(one)).collect();
                let (words, flag) = match accepting(&left, None) {
                    StillAsked::Accepted => {
                        ("go on with the plan kept with the run, and keep what is done as it is", ACCEPT)
                    }
                    StillAsked::Nothing | StillAsked::Open => ("go on with the plan kept with the run", ""),
                };
                choices.push(Offer::new(words, format!("{again} --plan-from run{flag}")));
            }
            Offered::Orphan => choices.extend(orphans(&again, "wait until it has ended", "end it first")),
            Offered::Fresh => choices.extend(fresh_if_known(FRESH, typed)),
        }
    }
    choices.extend([show(&run.id), archive(&run.id)]);
    let of =
        |kind: FindingKind| open.iter().filter(move |finding| finding.kind == kind).filter_map(|f| f.phase.clone());
    Question {
        reasons: open.iter().flat_map(Finding::lines).chain(edits_behind(findings, open)).collect(),
        in_doubt: of(FindingKind::InDoubt).collect(),
        orphans: of(FindingKind::OrphanInTheWay).collect(),
        choices,
        findings: findings.to_vec(),
        stale: of(FindingKind::Stale).chain(of(FindingKind::Renamed)).collect(),
        offered: offered.clone(),
        ..Question::new(run.id.clone())
    }
}

/// How the plan was edited, where that is answered and a finished phase is asked about because of it.
fn edits_behind<'a>(findings: &'a [Finding], open: &[Finding]) -> impl Iterator<Item = String> + use<'a> {
    let asks = |kinds: &[FindingKind]| open.iter().any(|finding| kinds.contains(&finding.kind));
    let told = !asks(&[FindingKind::PlanChanged]) && asks(&[FindingKind::Stale, FindingKind::Renamed]);
    let edited = findings.iter().filter(move |finding| told && finding.kind == FindingKind::PlanChanged);
    edited.flat_map(Finding::lines)
}

fn go_on_words(open: &[Finding]) -> &'static str {
    if open.iter().any(|finding| finding.kind == FindingKind::PlanChanged) {
        "go on, with the edited plan for all that is not done"
    } else {
        "go on"
    }
}

/// The rest that is to be asked after an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StillAsked {
    Nothing,
    /// `--accept-stale` answers all of it.
    Accepted,
    Open,
}

/// Whether going on at all is the answer to it.
fn is_answered(finding: &Finding) -> bool {
    finding.kind.row().answered_by.contains(&AnsweredBy::Resume)
}

/// The same of all that is left, but for this phase.
fn accepting(left: &[&Finding], phase: Option<&PhaseId>) -> StillAsked {
    let mut rest = left.iter().filter(|one| phase.is_none() || one.phase.as_ref() != phase).peekable();
    if rest.peek().is_none() {
        return StillAsked::Nothing;
    }
    let all = rest.all(|one| one.kind.row().answered_by.contains(&AnsweredBy::AcceptStale));
    if all { StillAsked::Accepted } else { StillAsked::Open }
}

/// Answers about single phases. With one of them the others are kept as they are, or all stale ones are done again.
fn about_phases(run: &Run, open: &[Finding], left: &[&Finding], again: &str) -> Vec<Offer> {
    let phases = open.iter().filter_map(|finding| Some((finding.phase.as_ref()?, finding.kind)));
    let mut offers: Vec<Offer> = Vec::new();
    for (phase, kind) in phases {
        let about = phase_offers(run, phase, wanted(kind), again);
        offers.extend(about.into_iter().map(|offer| match accepting(left, Some(phase)) {
            StillAsked::Accepted => Offer::new(offer.choice + KEEPING, offer.command + ACCEPT),
            StillAsked::Nothing | StillAsked::Open => offer,
        }));
    }
    offers.truncate(PHASE_OFFERS_MAX);
    let stale = |one: &&&Finding| [FindingKind::Stale, FindingKind::Renamed].contains(&one.kind);
    let all: Vec<&PhaseId> = left.iter().filter(stale).filter_map(|one| one.phase.as_ref()).collect();
    if all.len() > 1 && all.len() == left.len() && all.len() <= PHASES_OFFERED_MAX {
        offers.extend(retry_all(run, &all, again));
    }
    offers
}

/// Answers that help against a finding.
fn wanted(kind: FindingKind) -> &'static [Choice] {
    match kind {
        FindingKind::Failed => &[Choice::Retry, Choice::RetryClean, Choice::Adopt, Choice::Skip],
        FindingKind::InDoubt | FindingKind::MarkerDiffers => &[Choice::Retry, Choice::Adopt, Choice::Skip],
        FindingKind::Stale | FindingKind::Renamed => &[Choice::Retry],
        // Edited after it was cut off: a clean retry would take the edits away.
        FindingKind::WorkChanged => &[Choice::Retry, Choice::Skip],
        _ => &[],
    }
}

/// A fresh start is wanted while phases of the old run are still at work.
pub fn fresh_start(run: &RunId, at_work: Vec<PhaseId>, typed: &TypedWords) -> Question {
    let message = |phase: PhaseId| (format!("phase {phase} of the old run is still at work"), phase);
    beside_a_fresh_start(run, at_work.into_iter().map(message).collect(), typed)
}

/// The same where the store has lost the old run, and a process of each phase is all that is known.
pub fn fresh_start_after_a_loss(run: &RunId, at_work: Vec<(PhaseId, i32)>, typed: &TypedWords) -> Question {
    let words = "which the store does not know, is still at work: process";
    let message = |(phase, pid)| (format!("phase {phase} of run {run}, {words} {pid}"), phase);
    beside_a_fresh_start(run, at_work.into_iter().map(message).collect(), typed)
}

fn beside_a_fresh_start(run: &RunId, at_work: Vec<(String, PhaseId)>, typed: &TypedWords) -> Question {
    let finding = |(message, phase): (String, PhaseId)| Finding::about(FindingKind::OrphanInTheWay, &phase, message);
    let findings: Vec<Finding> = at_work.into_iter().map(finding).collect();
    let start = fresh_command(typed);
    Question {
        reasons: findings.iter().map(|finding| finding.message.clone()).collect(),
        orphans: findings.iter().filter_map(|finding| finding.phase.clone()).collect(),
        choices: orphans(&start, "start fresh when what is still at work has ended", "end it, then start fresh").into(),
        findings,
        ..Question::new(run.clone())
    }
}

/// The question about an unfinished run where a person was there and gave no answer.
pub fn unanswered(run: &Run, findings: &[Finding], verdict: Verdict, typed: &TypedWords) -> Question {
    let resume = (verdict != Verdict::Refuse).then(|| go_on("go on", &run.id, ""));
    let choices =
        resume.into_iter().chain(fresh_if_known(FRESH, typed)).chain([show(&run.id), archive(&run.id)]).collect();
    let worth = findings.iter().filter(|finding| finding.kind.row().weight > Weight::Note);
    Question {
        reasons: worth.flat_map(Finding::lines).collect(),
        in_doubt: run.in_doubt().cloned().collect(),
        choices,
        findings: findings.to_vec(),
        ..Question::new(run.id.clone())
    }
}

/// Phases were worked on since a rewind that is to be taken back.
pub fn undo_takes_work(run: &RunId, worked: &[PhaseId]) -> Question {
    let ids: Vec<&str> = worked.iter().map(PhaseId::as_str).collect();
    let reason = format!("since the rewind these were worked on: {}; an undo takes that back, too", ids.join(", "));
    let back = Offer::new("take it back, and keep it in a checkpoint", format!("onward undo {run} --yes"));
    Question { reasons: vec![reason], choices: vec![back, show(run)], ..Question::new(run.clone()) }
}

/// Several runs of the same work are unfinished: which one is meant.
pub fn which_run(first: &RunId, runs: &[RunId], reason: String, typed: &TypedWords) -> Question {
    let each = runs.iter().map(|run| go_on(&format!("go on with {run}"), run, ""));
    let choices = each.chain([fresh("start fresh and keep them in the archive", typed)]).collect();
    Question { reasons: vec![reason], choices, ..Question::new(first.clone()) }
}
