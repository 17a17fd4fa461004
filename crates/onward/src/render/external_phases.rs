//! External phases: questions that a person has to answer, reports, and the work handed out next.

use onward_core::event::{Event, ExternalReport, StopReason};
use onward_core::id::PhaseId;
use onward_core::question::DueApproval;
use onward_core::run::Run;
use onward_core::view::{self, CallRecord, Driven};
use onward_engine::{AnsweredElsewhere, NextWork};

use super::{agents, paint, safe};

/// The line of an event that others caused.
pub(super) fn line(event: &Event, run: &Run) -> Option<String> {
    let name = |phase: &PhaseId| safe::line(phase.as_str());
    match event {
        // Where nothing else goes on it is asked, or said with the last words.
        Event::ApprovalAsked { .. } | Event::CallAsked { .. } if is_at_rest(run) => None,
        Event::ApprovalAsked { phase } => Some(asked(phase, run)),
        Event::ApprovalAnswered { phase, choice, by } => {
            Some(format!("{} {} {} says {}", paint::busy("?"), name(phase), safe::line(by), safe::line(choice)))
        }
        Event::CallAsked { phase } => {
            let call = run.calls().find(|(found, _)| found.id == *phase).map(|(_, call)| CallRecord::new(call));
            let call = call.unwrap_or_default();
            let asked =
                agents::asked(&name(phase), &call, &view::answer_call_command(&run.id, phase, &call.id, Driven::Now));
            Some(format!("{} {}", paint::doubtful("?"), asked.trim_end()))
        }
        Event::CallAnswered { phase, answer, by, reason } => {
            let reason = reason.as_ref().map(|reason| format!(": {}", safe::line(reason))).unwrap_or_default();
            let (by, answer) = (safe::line(by), answer.as_str());
            Some(format!("{} {} {by} has {answer} the call of its agent{reason}", paint::busy("?"), name(phase)))
        }
        Event::Reported { phase, by, report } => {
            let told = match report {
                ExternalReport::Started { .. } => format!("is begun by {}", safe::line(by)),
                ExternalReport::Progress { note } => note.as_deref().map(|note| format!("\"{}\"", safe::line(note)))?,
                ExternalReport::Overruled { reason, .. } => {
                    format!("is said to be done and is not: {}", safe::line(reason))
                }
                ExternalReport::Failed { .. } | ExternalReport::Done { .. } => return None,
                ExternalReport::Silent => "was not heard of for too long".to_owned(),
            };
            Some(format!("{} {} {told}", paint::busy("▸"), name(phase)))
        }
        _ => None,
    }
}

fn asked(phase: &PhaseId, run: &Run) -> String {
    let id = safe::line(phase.as_str());
    let found = run.approvals().find(|(found, _)| found.id == *phase);
    let Some((asks, approval)) = found else { return format!("{} {id} waits for an approval", paint::doubtful("?")) };
    let first =
        format!("{} {id} waits for an approval: {}", paint::doubtful("?"), safe::line(&run.question(asks, approval)));
    let shown = run.to_be_looked_at(asks, approval);
    let shown = shown.iter().map(|show| format!("    look at {}", safe::line(show)));
    let lines: Vec<String> =
        std::iter::once(first).chain(shown).chain([format!("    {}", how(run, phase, Driven::Now))]).collect();
    lines.join("\n")
}

/// Whether the run waits for nothing but people and reports, so that its driver leaves it.
fn is_at_rest(run: &Run) -> bool {
    run.stopped == Some(StopReason::Waiting)
}

/// How a person answers.
fn how(run: &Run, phase: &PhaseId, driven: Driven) -> String {
    safe::line(&view::approve_command(&run.id, phase, driven))
}

/// An approval that is due, with what is to be looked at first.
pub(crate) fn due(due: &DueApproval) -> String {
    let look_at: String = due.look_at.iter().map(|show| format!("    look at {}\n", safe::line(show))).collect();
    let phase = safe::line(due.phase.as_str());
    let message = safe::block(&due.message).replace('\n', "\n    ");
    format!("{} {phase} asks: {message}\n{look_at}", paint::doubtful("?"))
}

/// Why the person at this terminal is not asked any more.
pub(crate) fn answered_elsewhere(answers: &[AnsweredElsewhere]) -> String {
    let line = |one: &AnsweredElsewhere| {
        let [phase, choice, by] = [one.phase.as_str(), &one.choice, &one.by].map(safe::line);
        format!("{} {phase} was answered by {by} in another place: {choice}\n", paint::busy("▸"))
    };
    if answers.is_empty() {
        return format!("{} the run has moved on meanwhile\n", paint::busy("▸"));
    }
    answers.iter().map(line).collect()
}

/// The answers to an approval. Enter decides nothing.
pub(crate) fn choices(due: &DueApproval) -> String {
    if due.is_yes_or_no() {
        return "(a)pprove  (r)eject  (l)ater  [later]: ".to_owned();
    }
    let numbered = (1..).zip(&due.choices).map(|(number, choice)| format!("{number}) {}  ", safe::line(choice)));
    format!("{}(l)ater  [later]: ", numbered.collect::<String>())
}

/// The approvals and reports that a run waits for, a line each.
pub(super) fn awaited(run: &Run) -> String {
    let approvals = run.approvals().map(|(phase, approval)| {
        let (id, asks) = (safe::line(phase.id.as_str()), safe::line(&run.question(phase, approval)));
        let look_at = run.to_be_looked_at(phase, approval);
        let look_at: String = look_at.iter().map(|show| format!("    look at {}\n", safe::line(show))).collect();
        let how = how(run, &phase.id, Driven::ByNobody);
        format!("{} {id} asks: {asks}\n{look_at}answer with  {how}\n", paint::doubtful("?"))
    });
    let conflicts = run.phases().filter(|(_, state)| state.conflict().is_some()).map(|(phase, state)| {
        let (id, asks) = (safe::line(phase.id.as_str()), run.asks(phase, state).unwrap_or_default());
        let run = safe::line(run.id.as_str());
        format!("{id}: {}\nanswer with  onward retry {run} {id}  (or adopt, or skip)\n", safe::line(&asks))
    });
    let calls = run.calls().map(|(phase, call)| {
        let how = format!("answer with  {}", view::answer_call_command(&run.id, &phase.id, &call.id, Driven::ByNobody));
        agents::asked(&safe::line(phase.id.as_str()), &CallRecord::new(call), &how)
    });
    let mut text: String = approvals.chain(conflicts).chain(calls).collect();
    if text.is_empty() {
        text = format!("see the work that waits with  onward next --run {}\n", safe::line(run.id.as_str()));
    }
    text
}

/// `onward next`.
pub(crate) fn next(next: &NextWork) -> String {
    let run = safe::line(next.run.as_str());
    match (&next.phase, next.reason) {
        (Some(phase), _) => {
            let note = phase.note.as_ref().map(|note| format!("so far: {}\n", safe::line(note))).unwrap_or_default();
            let id = safe::line(phase.id.as_str());
            let name =
                if phase.name == phase.id.as_str() { String::new() } else { format!(" ({})", safe::line(&phase.name)) };
            format!(
                "{}{name}  of run {run}, phases that remain: {}\n{note}{}\nsay that it is done with  onward report done {id} --run {run}\n",
                paint::bold(&id),
                next.remaining,
                safe::block(&phase.instructions),
            )
        }
        (None, reason) => {
            let hint = next.hint.as_ref().map(|hint| format!("go on with  {}\n", safe::line(hint))).unwrap_or_default();
            format!("nothing is to be done now: run {run} is {}\n{hint}", reason.unwrap_or("waiting"))
        }
    }
}
