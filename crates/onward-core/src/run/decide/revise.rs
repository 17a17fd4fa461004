//! The edited plan is to count.

use jiff::Timestamp;

use super::agents::has_an_answer;
use super::begin::reopened;
use super::ended;
use crate::event::{Event, Outcome, PlanRevised, Recorded};
use crate::input::{Choice, EndFound};
use crate::mutant::{self, Mutant};
use crate::run::agent_calls::was_given;
use crate::run::state::{PhaseStatus, Run};

/// The run once attempts that are over have ended by the plan under which they were started, and the facts of that. What became
/// another attempt or another end meanwhile is left out.
pub(super) fn ends_before(run: Run, ends: &[EndFound], now: Timestamp) -> (Run, Vec<Event>) {
    let (mut before, mut all) = (run, Vec::new());
    for EndFound { phase, attempt, end } in ends.iter().filter(|_| !mutant::is(Mutant::EditBeforeTheEnds)) {
        let at_work = before.phase_state(phase).and_then(|state| state.attempt.as_ref());
        if at_work.is_some_and(|running| running.number == *attempt) {
            let events = ended::ended(&before, phase, *attempt, end, now);
            before = ahead(&before, events.iter(), now);
            all.extend(events);
        }
    }
    (before, all)
}

/// The run as it would stand if the edited plan counted, before anything is answered.
pub fn preview_revised(run: &Run, revised: &PlanRevised) -> Run {
    ahead(run, revise(run, revised).iter(), run.updated_at)
}

/// The revision, and before it the ends of attempts at phases that are no longer in the plan. Whoever asks for the
/// revision has seen that none of them is at work.
pub(super) fn revise(run: &Run, revised: &PlanRevised) -> Vec<Event> {
    let stays = |id| revised.plan.phase(id).is_some() || revised.renamed.iter().any(|(old, _)| old == id);
    let ends = run.running().filter(|(phase, _)| !stays(&phase.id)).filter_map(|(phase, state)| {
        Some(Event::AttemptEnded {
            phase: phase.id.clone(),
            attempt: state.attempt.as_ref()?.number,
            outcome: Outcome::Unknown,
            ended_at: None,
            duration_ms: None,
            note: None,
            around: None,
            head: None,
            claimed: None,
            error: None,
            left_running: Vec::new(),
            answer_given: was_given(state) && has_an_answer(state),
            agent: None,
            said: None,
            damage: None,
        })
    });
    ends.chain([Event::PlanRevised(Box::new(revised.clone()))]).collect()
}

/// Reopens a completed parent that got new children: otherwise they would never be done.
pub(super) fn added_to_what_is_done(before: &Run, after: &Run) -> Vec<Event> {
    let done = |whole| after.phase_state(whole).is_some_and(|state| state.status == PhaseStatus::Completed);
    let added = after.phases().filter(|(phase, state)| {
        let new = state.status == PhaseStatus::Pending && before.plan().phase(&phase.id).is_none();
        new && after.is_part_of(&phase.id).any(done)
    });
    added.map(|(phase, state)| reopened(&phase.id, state.generation, Choice::Retry)).collect()
}

/// The run as it will be once these events are recorded.
pub(super) fn ahead<'a>(run: &Run, events: impl Iterator<Item = &'a Event>, now: Timestamp) -> Run {
    let mut ahead = run.clone();
    for event in events {
        let recorded = Recorded { seq: ahead.seq.next(), at: now, actor: String::new(), event: event.clone() };
        ahead.apply(&recorded);
    }
    ahead
}
