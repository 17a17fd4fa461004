//! A phase wants another plan, and one is there, or is not.

use jiff::Timestamp;

use super::Refusal;
use super::begin::reopened;
use super::undo_phases::raised;
use crate::event::{Event, LimitHit, PlanningBill};
use crate::failure::FailureCode;
use crate::id::PhaseId;
use crate::input::{Choice, Consent, LastWords, Says};
use crate::mutant::{self, Mutant};
use crate::plan::{self, Body, Phase, PhaseFailure, Plan};
use crate::rate_limit::{RESET_AWAY_MAX, RecognisedLimit, Response, guess, respond, shortest};
use crate::replan::{Because, ReplanCause, Replanned, Revision};
use crate::run::limits::Who;
use crate::run::replans::{Stage, refusal};
use crate::run::state::{PhaseStatus, Run};
use crate::tail;

/// The phase ended with the code that asks for another plan.
pub(super) fn asked(phase: &Phase, last_words: Option<&LastWords>) -> Event {
    let reason = last_words.and_then(|words| tail::last_line(words.text.as_bytes()));
    let reason = reason.unwrap_or_else(|| "it gives no reason".to_owned());
    Event::ReplanAsked { phase: phase.id.clone(), reason, cause: ReplanCause::Asked }
}

/// A final failure asks for another plan where the plan says so: `on-failure: replan` of the phase, or `when`.
pub(super) fn instead_of_failing(run: &Run, phase: &Phase, code: FailureCode, message: &str) -> Option<Event> {
    let cause = ReplanCause::of_failure(code);
    let rules = run.plan().replan_rules(Some(phase));
    let asks = phase.on_failure == Some(PhaseFailure::Replan) || cause.when().is_some_and(|w| rules.when.contains(&w));
    asks.then(|| Event::ReplanAsked { phase: phase.id.clone(), reason: message.to_owned(), cause })
}

/// Decides about the plan that was made, or that there is none. Somebody may have answered for the phase meanwhile.
pub(super) fn made(run: &Run, phase: &PhaseId, made: &Result<Box<Plan>, String>) -> Vec<Event> {
    let Some(asked) = run.replans.asked_by(phase).filter(|asked| asked.stage == Stage::Open) else { return Vec::new() };
    match made {
        Err(why) => vec![refusal(phase, Because::NoPlan, why.clone())],
        Ok(plan) => judged(run, phase, (&asked.reason, asked.cause), plan, Consent::No),
    }
}

/// The bill of an agent is put on record once, whatever it was asked for and whatever came of it.
pub(super) fn paid(run: &Run, phase: &PhaseId, bill: &PlanningBill) -> Option<Event> {
    run.phase_state(phase)?;
    let is_new = bill.request > run.replans.billed(phase);
    let (phase, bill) = (phase.clone(), bill.clone());
    (is_new && !mutant::is(Mutant::PlanForNothing)).then_some(Event::PlanningPaid { phase, bill })
}

/// The agent that was to make a plan was rate-limited. The request stays, and is made again once the limit is open.
pub(super) fn limited(
    run: &Run,
    phase: &PhaseId,
    agent: &str,
    (told, said): (Option<Timestamp>, &str),
    now: Timestamp,
) -> Option<Event> {
    run.replans.asked_by(phase).filter(|asked| asked.stage == Stage::Open)?;
    let row = run.limits.row(&Who::Limit(agent.to_owned()));
    let (hits_before, since) = row.map_or((0, now), |row| (row.hits, row.since));
    let told = told.filter(|until| *until > now && until.duration_since(now) <= RESET_AWAY_MAX);
    let until = told.unwrap_or(now + guess(hits_before)).max(now + shortest(since, now));
    let (limits, said) = ([agent.to_owned()].into(), said.to_owned());
    let hit = RecognisedLimit { limits, until, told: told.is_some(), said };
    match respond(&hit, run.plan().limits.get(agent), run.limits.patience(), since, now) {
        Response::Fail => Some(refusal(phase, Because::NoPlan, hit.said)),
        Response::Wait { until } | Response::Pause { until } => Some(Event::LimitHit(Box::new(LimitHit {
            phase: None,
            limits: hit.limits,
            until,
            told: hit.told,
            said: hit.said,
            replan: Some(phase.clone()),
        }))),
    }
}

/// Decides about a plan that came with a report. One that is refused changes nothing: the phase stays as it is.
pub(super) fn reported(run: &Run, phase: &PhaseId, reason: &str, plan: Option<&Plan>) -> Result<Vec<Event>, Refusal> {
    let state = run.phase_state(phase).ok_or_else(|| Refusal::NoSuchPhase(phase.clone()))?;
    let illegal = |why: &str| Err(Refusal::Illegal("a replan", phase.clone(), why.to_owned()));
    if state.is_finished() {
        return illegal("it is finished");
    }
    if state.attempt.is_some() {
        // The client of an agent ends with a code of its own: the agent asks while it works, and is heard when it has ended.
        let is_an_agents = run.plan().phase(phase).is_some_and(|phase| matches!(phase.body, Body::Agent(_)));
        if !is_an_agents {
            return illegal("it is at work, and asks by ending with code 79");
        }
        if plan.is_some() {
            return illegal("it is at work: ask without a plan, and one is made when it has ended");
        }
        if run.replans.asked_by(phase).is_some() {
            return Ok(Vec::new());
        }
    }
    let cause = ReplanCause::Reported;
    let Some(plan) = plan else {
        return match run.may_ask_for_a_plan(phase) {
            Ok(_) if run.plan_maker(phase).is_none() => {
                illegal("the plan names no command and no agent that makes another one: bring one along")
            }
            Ok(_) => Ok(vec![Event::ReplanAsked { phase: phase.clone(), reason: reason.to_owned(), cause }]),
            Err(refused) => Ok(vec![refusal(phase, Because::from(&refused), refused.to_string())]),
        };
    };
    let events = judged(run, phase, (reason, cause), plan, Consent::No);
    let taken = !matches!(events.first(), Some(Event::ReplanRefused { .. }));
    let asked = Event::ReplanAsked { phase: phase.clone(), reason: reason.to_owned(), cause };
    Ok(taken.then_some(asked).into_iter().chain(events).collect())
}

/// Asks for a replan of a phase that was reported to be harder than one should be. It is not asked for one that is done or failed.
pub(super) fn too_complex(run: &Run, phase: &PhaseId, says: &Says, figure: u32) -> Option<Event> {
    let goes_on = matches!(says, Says::Start | Says::Progress { .. });
    let rules = run.plan().replan_rules(run.plan().phase(phase));
    let asks = goes_on && run.replans.asked_by(phase).is_none() && rules.too_complex(Some(figure), None);
    let reason = format!("its complexity is {figure}, and {} is the most", rules.complexity_max);
    asks.then(|| Event::ReplanAsked { phase: phase.clone(), reason, cause: ReplanCause::TooComplex })
}

/// A person has looked at the plan that was proposed.
pub(super) fn settled(run: &Run, phase: &PhaseId, answer: Consent) -> Result<Vec<Event>, Refusal> {
    run.phase_state(phase).ok_or_else(|| Refusal::NoSuchPhase(phase.clone()))?;
    let nothing = || Refusal::Illegal("an answer", phase.clone(), "no plan of it waits for one".to_owned());
    let asked = run.replans.asked_by(phase).ok_or_else(nothing)?;
    let Stage::Proposed(plan) = &asked.stage else { return Err(nothing()) };
    if let (Consent::Yes, Some(phase)) = (answer, run.files_on_their_way()) {
        return Err(Refusal::FilesOnTheirWay(phase.clone()));
    }
    Ok(match answer {
        Consent::Yes => judged(run, phase, (&asked.reason, asked.cause), plan, answer),
        Consent::No => vec![refusal(phase, Because::Rejected, "the plan was rejected".to_owned())],
    })
}

/// The revision, the wait for a person, or the refusal.
fn judged(
    run: &Run,
    phase: &PhaseId,
    (reason, cause): (&str, ReplanCause),
    plan: &Plan,
    consent: Consent,
) -> Vec<Event> {
    let (revision, rules) = match run.judge_proposal(phase, plan) {
        Ok(judged) => judged,
        Err(refused) => return vec![refusal(phase, Because::from(&refused), refused.to_string())],
    };
    // What a person granted is theirs to take back, also where other plans wait for nobody.
    let waits = rules.approval || !run.loosened_by(&revision.plan).is_empty();
    if waits && consent == Consent::No {
        return vec![Event::ReplanProposed { phase: phase.clone(), plan: Box::new(plan.clone()) }];
    }
    let Revision { kind, plan, digest, added, removed, changed, kept, redone } = revision;
    let undone = redone.iter().filter_map(|id| Some(reopened(id, raised(run.phase_state(id)?), Choice::Retry)));
    let failed = |id: &&PhaseId| run.phase_state(id).is_some_and(|state| state.status == PhaseStatus::Failed);
    let renewed = changed.iter().filter(failed).filter(|id| *id != phase);
    let renewed = renewed.filter_map(|id| Some(reopened(id, run.phase_state(id)?.generation, Choice::Retry)));
    let follow: Vec<Event> = undone.chain(renewed).collect();
    let replanned = Replanned {
        number: run.replans.made() + 1,
        phase: phase.clone(),
        reason: reason.to_owned(),
        cause,
        kind,
        plan_digest: plan::digest(&plan),
        plan,
        tried: digest,
        added,
        removed,
        changed,
        kept,
    };
    let parts = parts_of(run, &replanned.changed, phase);
    parts.into_iter().chain([Event::Replanned(Box::new(replanned))]).chain(follow).collect()
}

/// Undoes the children of a phase whose work has changed: it is expanded anew, and then its children are other work
/// too.
fn parts_of(run: &Run, changed: &[PhaseId], asks: &PhaseId) -> Vec<Event> {
    let is_part = |id: &PhaseId| *id != *asks && run.is_part_of(id).any(|whole| changed.contains(whole));
    let parts = run.phases().filter(|(part, _)| is_part(&part.id));
    parts.map(|(part, state)| reopened(&part.id, raised(state), Choice::Retry)).collect()
}
