//! A driver takes the run in hand, with a person's answers if there were any.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::ended::seen;
use super::undo_phases::{again, demand_it_can_be_the_only_one, from, raised};
use super::{Refusal, limited, plan_marks, revise};
use crate::event::{Adoption, Event, SkippedBy};
use crate::id::{Generation, PhaseId};
use crate::input::{Begin, Choice, Resumption};
use crate::mutant::{self, Mutant};
use crate::plan::Body;
use crate::replan::ReplanLimits;
use crate::run::groups;
use crate::run::state::{PhaseState, PhaseStatus, Run};
use crate::run::worktrees::works_apart;

pub(super) fn begin(run: &Run, begin: &Begin, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    if run.archived {
        return Err(Refusal::Archived);
    }
    let told = &begin.resumption;
    if let Some(phase) = run.files_on_their_way()
        && (told.revised.is_some() || told.from.is_some())
    {
        return Err(Refusal::FilesOnTheirWay(phase.clone()));
    }
    let mut events = vec![Event::DriverStarted {
        epoch: begin.epoch,
        host: begin.host.clone(),
        pid: begin.pid,
        boot: begin.boot.clone(),
        jobs: begin.jobs,
        orphans: begin.orphans,
        head: begin.head.clone(),
        only: told.only.clone(),
        bounds: begin.bounds,
        environment: begin.environment.clone(),
    }];
    events.extend(begin.busy.as_deref().map(groups::awaited));
    events.extend(begin.closed.iter().filter_map(|closed| limited::elsewhere(run, closed, now)));
    if told.replan_limits == ReplanLimits::Waived {
        events.push(Event::ReplanAllowed);
    }
    if let Some(world) = &told.world {
        events.push(Event::WorldSeen { world: world.clone(), findings: told.findings.clone() });
    }
    if !told.requirements.is_empty() {
        events.push(Event::RequirementsSeen { phase: None, seen: told.requirements.clone() });
    }
    events.extend(plan_marks::settled(told));
    let Some(revised) = &told.revised else {
        events.extend(answers(run, begin, |_| false)?);
        return Ok(events);
    };
    let (before, ends) = revise::ends_before(revise::ahead(run, events.iter(), now), &told.ends, now);
    events.extend(ends);
    let revision = revise::revise(&before, revised);
    // All other answers are about the new plan.
    let ahead = revise::ahead(&before, revision.iter(), now);
    events.extend(revision);
    let added = revise::added_to_what_is_done(run, &ahead);
    let ahead = revise::ahead(&ahead, added.iter(), now);
    events.extend(added);
    let failed_now = |id: &PhaseId| told.ends.iter().any(|one| one.phase == *id);
    events.extend(answers(&ahead, begin, failed_now)?);
    Ok(events)
}

/// Facts from the answers of people and the findings, for the phases of the plan that counts. A failure of which this very start
/// has learned is not tried again by it.
fn answers(run: &Run, begin: &Begin, failed_now: impl Fn(&PhaseId) -> bool) -> Result<Vec<Event>, Refusal> {
    let Resumption { accepted, rerun, from: start, only, .. } = &begin.resumption;
    // What is said of a whole is said of its parts.
    let said = |id: &PhaseId, of: &dyn Fn(Choice) -> bool| {
        let named = |id: &PhaseId| begin.choices.iter().any(|(phase, choice)| phase == id && of(*choice));
        named(id) || run.is_part_of(id).any(named)
    };
    let chosen = |id: &PhaseId| said(id, &|_| true);
    let retried = |id: &PhaseId| said(id, &|choice| matches!(choice, Choice::Retry | Choice::RetryClean));
    let undone = match start {
        Some(phase) => from_unless_settled(run, phase, &begin.choices)?,
        None => Vec::new(),
    };
    // Of what is made undone a person may say that it is left out, or done as it is: then it keeps all that it has.
    let (kept, choices) = kept_as_done(run, &undone, &begin.choices);
    let stays = |id: &PhaseId| retried(id) || kept.contains(id) || run.is_part_of(id).any(|whole| kept.contains(whole));
    let undone: Vec<Event> = undone.into_iter().filter(|event| !phase_of(event).is_some_and(stays)).collect();
    let mut events = if undone.is_empty() {
        chosen_events(run, &choices)?
    } else {
        chosen_events(&revise::ahead(run, undone.iter(), run.updated_at), &choices)?
    };
    let is_undone = |id: &PhaseId| chosen(id) || undone.iter().any(|event| phase_of(event) == Some(id));
    events.extend(rerun.iter().filter(|phase| !is_undone(phase)).filter_map(|phase| again(run, phase)));
    for (phase, found) in accepted.iter().filter(|(phase, _)| !is_undone(phase)) {
        let definition = run.plan().phase(phase).ok_or_else(|| Refusal::NoSuchPhase(phase.clone()))?;
        events.push(Event::StaleAccepted { phase: phase.clone(), seen: Box::new(seen(run, definition, Some(found))) });
    }
    if begin.renew {
        let failed = run.phases().filter(|(p, s)| s.status == PhaseStatus::Failed && !s.parked && !is_undone(&p.id));
        let failed = failed.filter(|(p, _)| !is_settled_with_its_whole(run, &p.id) && !failed_now(&p.id));
        // Where one phase alone is wanted the failures of the others stay what they are.
        let meant =
            |id: &PhaseId, only: &PhaseId| run.is_within(id, only) || run.is_part_of(only).any(|whole| whole == id);
        let failed = failed.filter(|(p, _)| only.as_ref().is_none_or(|only| meant(&p.id, only)));
        events.extend(failed.map(|(p, s)| reopened(&p.id, s.generation, Choice::Retry)));
    }
    if let Some(only) = only {
        let reopened = |id: &PhaseId| events.iter().chain(&undone).any(|event| phase_of(event) == Some(id));
        demand_it_can_be_the_only_one(run, only, reopened)?;
    }
    Ok(undone.into_iter().chain(events).collect())
}

/// Completed phases that would be undone and are to count as done all the same, and what is said of all others.
fn kept_as_done(
    run: &Run,
    undone: &[Event],
    choices: &[(PhaseId, Choice)],
) -> (BTreeSet<PhaseId>, Vec<(PhaseId, Choice)>) {
    let is_done = |id: &PhaseId| run.phase_state(id).is_some_and(|state| state.status == PhaseStatus::Completed);
    let is_kept = |id: &PhaseId| is_done(id) && undone.iter().any(|event| phase_of(event) == Some(id));
    let (kept, others): (Vec<_>, Vec<_>) =
        choices.iter().cloned().partition(|(id, choice)| *choice == Choice::Adopt && is_kept(id));
    (kept.into_iter().map(|(id, _)| id).collect(), others)
}

/// `--from` of a phase that is to be left out, or taken as done, says two things at once.
fn from_unless_settled(run: &Run, phase: &PhaseId, choices: &[(PhaseId, Choice)]) -> Result<Vec<Event>, Refusal> {
    let is_meant = |named: &PhaseId| named == phase || run.is_part_of(phase).any(|whole| whole == named);
    let settled =
        choices.iter().find(|(named, choice)| is_meant(named) && matches!(choice, Choice::Skip | Choice::Adopt));
    match settled {
        Some((_, choice)) => {
            let flag = if *choice == Choice::Skip { "--skip" } else { "--adopt" };
            let why = format!("--from {phase} does it again; --from a phase that needs it goes on behind it");
            Err(Refusal::Illegal(flag, phase.clone(), why))
        }
        None => from(run, phase),
    }
}

/// Whether what a phase is a part of is over: a person left it out or took it as done, and with it all its parts.
fn is_settled_with_its_whole(run: &Run, phase: &PhaseId) -> bool {
    let over = run.is_part_of(phase).any(|whole| run.phase_state(whole).is_some_and(PhaseState::is_finished));
    over && !mutant::is(Mutant::ReviveSettledParts)
}

/// Where phases consist of others, what is said of one bears on what is said of the next.
fn chosen_events(run: &Run, choices: &[(PhaseId, Choice)]) -> Result<Vec<Event>, Refusal> {
    let mut ahead: Option<Run> = None;
    let mut events = Vec::new();
    for (phase, choice) in choices {
        let before = ahead.as_ref().unwrap_or(run);
        let next = choose_all(before, phase, *choice, &Adoption::default())?;
        if !run.derived.index.with_parts.is_empty() {
            ahead = Some(revise::ahead(before, next.iter(), run.updated_at));
        }
        events.extend(next);
    }
    Ok(events)
}

fn phase_of(event: &Event) -> Option<&PhaseId> {
    match event {
        Event::PhaseReopened { phase, .. } => Some(phase),
        _ => None,
    }
}

/// Applies a person's choice to a phase and to its children. A parent is retried by retrying its children: those that
/// failed, or all where it was finished.
pub(super) fn choose_all(run: &Run, phase: &PhaseId, choice: Choice, word: &Adoption) -> Result<Vec<Event>, Refusal> {
    let state = run.phase_state(phase).ok_or_else(|| Refusal::NoSuchPhase(phase.clone()))?;
    let own = choose(run, phase, (state, state.status), (choice, word))?;
    // What failed for this part is looked at again.
    let above = run.is_part_of(phase).filter_map(|id| Some((id, run.phase_state(id)?)));
    let answered = own.is_some();
    let above = above.filter(|(_, state)| answered && state.status == PhaseStatus::Failed);
    let above = above.map(|(id, state)| reopened(id, state.generation, Choice::Retry));
    let own: Vec<Event> = above.chain(own).collect();
    let parts = run.parts(run.at(phase));
    if parts.is_empty() {
        return Ok(own);
    }
    let at_work = parts.iter().any(|&part| run.phases[part].attempt.is_some());
    if at_work && choice != Choice::Retry {
        let why = "one of its parts may still be at work".to_owned();
        return Err(Refusal::Illegal("this", phase.clone(), why));
    }
    if matches!(choice, Choice::Skip | Choice::Adopt) {
        let settled = parts_left_out(run, &parts).into_iter().filter(|_| answered);
        return Ok(own.into_iter().chain(settled).collect());
    }
    let finished = run.phase_state(phase).is_some_and(PhaseState::is_finished);
    let again = parts.into_iter().filter_map(|part| {
        let (id, state) = (&run.plan().phases[part].id, &run.phases[part]);
        let retries = match state.status {
            PhaseStatus::Failed => true,
            PhaseStatus::Completed | PhaseStatus::Skipped => finished,
            PhaseStatus::Pending | PhaseStatus::Waiting | PhaseStatus::Running | PhaseStatus::Interrupted => false,
        };
        let generation = if state.is_finished() { raised(state) } else { state.generation };
        (retries && choice == Choice::Retry).then(|| reopened(id, generation, choice))
    });
    Ok(own.into_iter().chain(again).collect())
}

/// Open parts of a phase that a person settled are left out with it, at once: nobody may be there to do it later.
fn parts_left_out(run: &Run, parts: &[usize]) -> Vec<Event> {
    let open = |part: &&usize| {
        let state = &run.phases[**part];
        !state.is_finished() && state.status != PhaseStatus::Running && !state.is_being_integrated()
    };
    let id = |part: &usize| run.plan().phases[*part].id.clone();
    let left = parts.iter().filter(open).map(|part| Event::PhaseSkipped { phase: id(part), by: SkippedBy::Parent });
    left.filter(|_| !mutant::is(Mutant::ReviveSettledParts)).collect()
}

/// Whether an answer about a phase is legal once nobody drives the run: an attempt that was at work is over by then.
pub fn is_legal(run: &Run, phase: &PhaseId, choice: Choice) -> bool {
    let Some(state) = run.phase_state(phase) else { return false };
    let status = match state.status {
        PhaseStatus::Running => PhaseStatus::Interrupted,
        other => other,
    };
    choose(run, phase, (state, status), (choice, &Adoption::default())).is_ok()
}

/// Whether the files that a phase writes can be put back before it is retried, or why not.
pub fn clean_retry(run: &Run, phase: &PhaseId) -> Result<(), &'static str> {
    if run.plan().phase(phase).is_some_and(works_apart) {
        return Ok(());
    }
    let writes = run.plan().phase(phase).is_some_and(|phase| !phase.writes.is_empty());
    let base = run.phase_state(phase).and_then(|state| state.base.as_ref());
    match (writes, base) {
        (false, _) => Err("it does not say what it writes"),
        (true, None) => Err("no snapshot was taken before it"),
        (true, Some(_)) => Ok(()),
    }
}

/// The event by which a person's answer changes one phase in this status, or why it is not possible.
fn choose(
    run: &Run,
    phase: &PhaseId,
    (state, status): (&PhaseState, PhaseStatus),
    (choice, word): (Choice, &Adoption),
) -> Result<Option<Event>, Refusal> {
    let illegal = |what, why: &str| Err(Refusal::Illegal(what, phase.clone(), why.to_owned()));
    if state.is_being_integrated() {
        return illegal("this", "its files are being put into the project; the next start ends that first");
    }
    if let (Choice::RetryClean, Err(why)) = (choice, clean_retry(run, phase)) {
        return illegal("a clean retry", why);
    }
    match (choice, status) {
        (Choice::Retry | Choice::RetryClean, PhaseStatus::Completed | PhaseStatus::Skipped) => {
            Ok(Some(reopened(phase, raised(state), choice)))
        }
        (
            Choice::Retry | Choice::RetryClean,
            PhaseStatus::Pending
            | PhaseStatus::Running
            | PhaseStatus::Waiting
            | PhaseStatus::Failed
            | PhaseStatus::Interrupted,
        ) => Ok(Some(reopened(phase, state.generation, choice))),
        (Choice::Skip, PhaseStatus::Completed) => illegal("skip", "it is completed"),
        (Choice::Adopt, PhaseStatus::Completed) => illegal("adopt", "it is completed"),
        (Choice::Skip, PhaseStatus::Running) => illegal("skip", "an attempt may still be at work"),
        (Choice::Adopt, PhaseStatus::Running) => illegal("adopt", "an attempt may still be at work"),
        (Choice::Skip, PhaseStatus::Skipped) => Ok(None),
        (
            Choice::Skip,
            PhaseStatus::Pending | PhaseStatus::Waiting | PhaseStatus::Failed | PhaseStatus::Interrupted,
        ) => Ok(Some(Event::PhaseSkipped { phase: phase.clone(), by: SkippedBy::Person })),
        (Choice::Adopt, _) if is_an_approval(run, phase) => illegal("adopt", "a person has to approve it"),
        (
            Choice::Adopt,
            PhaseStatus::Pending
            | PhaseStatus::Waiting
            | PhaseStatus::Failed
            | PhaseStatus::Interrupted
            | PhaseStatus::Skipped,
        ) => Ok(Some(adopted(run, phase, state, word))),
    }
}

fn is_an_approval(run: &Run, phase: &PhaseId) -> bool {
    matches!(run.plan().phases[run.at(phase)].body, Body::Approval(_))
}

pub(super) fn reopened(phase: &PhaseId, generation: Generation, choice: Choice) -> Event {
    Event::PhaseReopened { phase: phase.clone(), generation, clean: choice == Choice::RetryClean }
}

fn adopted(run: &Run, phase: &PhaseId, state: &PhaseState, word: &Adoption) -> Event {
    // What the agent claims holds for what a person has brought together by hand.
    let claimed = state.claimed_before_a_conflict();
    Event::PhaseCompleted {
        phase: phase.clone(),
        summary: claimed.map_or(&state.summary, |claimed| &claimed.summary).clone(),
        outputs: claimed.map_or(&state.outputs, |claimed| &claimed.outputs).clone(),
        adopted: true,
        adoption: Some(Box::new(word.clone())).filter(|word| **word != Adoption::default()),
        artifacts: state.artifacts.clone(),
        seen: run.plan().phase(phase).map(|definition| Box::new(seen(run, definition, None))),
    }
}
