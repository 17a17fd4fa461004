//! Requests that other processes posted to the holder of the lease.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::begin::choose_all;
use super::{Refusal, external_phases, messages_and_knowledge, replan};
use crate::checkpoint::Trigger;
use crate::data_limits;
use crate::event::{Adoption, Event, RunResult};
use crate::id::{PhaseId, Seq};
use crate::ids_and_keys::checkpoint_id;
use crate::input::{Choice, Posted};
use crate::patch::{self, Op};
use crate::run::state::Run;
use crate::words;

pub(super) fn posted(run: &Run, posted: &Posted, now: Timestamp) -> Result<Vec<Event>, Refusal> {
    if run.archived {
        return Err(Refusal::Archived);
    }
    match posted {
        Posted::Checkpoint { name } => {
            data_limits::text_fits("its name", name.as_deref().unwrap_or_default())?;
            Ok(vec![checkpoint(run, 1, name.clone(), now)])
        }
        Posted::SessionEnd => Ok(session_end(run, now).into_iter().collect()),
        Posted::Choose { phase, choice, by, reason } => {
            data_limits::text_fits("its reason", reason.as_deref().unwrap_or_default())?;
            demand_no_attempt_at_work(run, phase, *choice)?;
            let word = Adoption { by: by.clone(), reason: reason.as_deref().and_then(words::summary) };
            let events = choose_all(run, phase, *choice, &word)?;
            if events.is_empty() { Ok(events) } else { Ok(external_phases::open_for_others_again(run, events)) }
        }
        Posted::Replan { phase, reason, plan } => replan::reported(run, phase, reason, plan.as_deref()),
        Posted::SettleReplan { phase, answer } => replan::settled(run, phase, *answer),
        Posted::Pause => super::pause::pause(run),
        Posted::Cancel => super::pause::cancel(run),
        Posted::Archive => match run.files_on_their_way() {
            Some(phase) => Err(Refusal::FilesOnTheirWay(phase.clone())),
            None => Ok(vec![Event::RunArchived]),
        },
        Posted::Share { fact } => messages_and_knowledge::share(run, fact, now),
        Posted::Answer { phase, choice, by, reason, call } => {
            data_limits::text_fits("its reason", reason.as_deref().unwrap_or_default())?;
            let reason = reason.as_deref().and_then(words::summary);
            let said = external_phases::PersonSaid { choice, by, reason: reason.as_deref(), call: call.as_deref() };
            external_phases::answer(run, phase, said)
        }
        Posted::GiveCallAnswer { phase, attempt } => external_phases::give_call_answer(run, phase, *attempt),
        Posted::Report { phase, by, says, complexity } => {
            let mut events = external_phases::report(run, phase, by, says, now)?;
            events.extend(complexity.and_then(|figure| replan::too_complex(run, phase, says, figure)));
            Ok(events)
        }
        Posted::Merge { patch } => {
            let ops = patch::merge_ops(&run.state, patch);
            demand_it_fits(run, &ops)?;
            Ok(changed(ops).into_iter().collect())
        }
        Posted::Change { ops, ends } => {
            patch::fits(&run.state, ops)?;
            demand_it_fits(run, ops)?;
            Ok(with_checkpoint(run, change_and_end(run, ops.clone(), *ends), now))
        }
        Posted::Save { state } => {
            let ops = patch::diff(&run.state, &Value::Object(state.clone()));
            demand_it_fits(run, &ops)?;
            Ok(with_checkpoint(run, change_and_end(run, ops, ends_with(state)), now))
        }
    }
}

/// A retry is for what has ended. While somebody drives the run, an attempt on record is at work and would go on as it is; where
/// nobody does, the answer is for whatever becomes of it.
fn demand_no_attempt_at_work(run: &Run, phase: &PhaseId, choice: Choice) -> Result<(), Refusal> {
    let at_work = run.phase_state(phase).is_some_and(|state| state.attempt.is_some());
    match choice {
        Choice::Retry | Choice::RetryClean if at_work && run.ending().is_none() => Err(Refusal::at_work(phase)),
        Choice::Retry | Choice::RetryClean | Choice::Skip | Choice::Adopt => Ok(()),
    }
}

/// Whether the state can be kept as it would be: not only what comes counts, but what comes of it.
fn demand_it_fits(run: &Run, ops: &[Op]) -> Result<(), Refusal> {
    data_limits::changes_fit(ops)?;
    let grown = patch::growth_of(&run.state, ops)?;
    data_limits::state_fits(run.derived.state_size.grown(grown), grown)?;
    Ok(())
}

/// The end of the run that a saved state declares.
pub fn ends_with(state: &Map<String, Value>) -> Option<RunResult> {
    match state.get("status").and_then(Value::as_str) {
        Some("completed") => Some(RunResult::Completed),
        Some("failed") => Some(RunResult::Failed),
        Some(_) | None => None,
    }
}

fn changed(ops: Vec<Op>) -> Option<Event> {
    (!ops.is_empty()).then_some(Event::StateChanged { ops })
}

fn change_and_end(run: &Run, ops: Vec<Op>, result: Option<RunResult>) -> Vec<Event> {
    // A run with phases ends when they do, whatever a script says of its state.
    let ends = result.filter(|_| run.phases_total() == 0 && run.result.is_none());
    changed(ops).into_iter().chain(ends.map(|result| Event::RunEnded { result })).collect()
}

fn with_checkpoint(run: &Run, mut events: Vec<Event>, now: Timestamp) -> Vec<Event> {
    let place = events.len() as u64 + 1;
    events.push(checkpoint(run, place, None, now));
    events
}

/// The checkpoint for an agent that is about to lose what it knows; none where the last one says the same, or nobody wants any.
fn session_end(run: &Run, now: Timestamp) -> Option<Event> {
    let wanted = run.started.triggers.contains(&Trigger::SessionEnd) && run.is_changed_since_checkpoint();
    wanted.then(|| taken(run, 1, Trigger::SessionEnd, None, now))
}

fn checkpoint(run: &Run, place: u64, name: Option<String>, now: Timestamp) -> Event {
    taken(run, place, Trigger::Manual, name, now)
}

/// A checkpoint that somebody asks for is about the phase in hand; `place` is its place among the events of this decision.
pub(super) fn taken(run: &Run, place: u64, trigger: Trigger, name: Option<String>, now: Timestamp) -> Event {
    let phase = run.in_hand().cloned();
    let id = checkpoint_id(&run.id, phase.as_ref(), Seq(run.seq.0 + place), now, run.ids);
    Event::CheckpointTaken { id, triggers: vec![trigger], phase, name }
}
