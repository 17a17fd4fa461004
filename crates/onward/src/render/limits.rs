//! Limits, pauses and deadlines, as people read them.

use jiff::Timestamp;
use onward_core::event::{Event, LimitHit, StopReason, StopRequest};
use onward_core::run::{Run, schedule};
use onward_core::{view, words};

use super::{paint, safe, time};

pub(super) fn hit(hit: &LimitHit, at: Timestamp) -> String {
    let names: Vec<String> = hit.limits.iter().map(|name| safe::line(name)).collect();
    let which = if names.is_empty() { String::new() } else { format!(" by the limit {}", names.join(", ")) };
    let guess = if hit.told { "" } else { " (a guess, no time was given)" };
    let said = if hit.said.is_empty() { String::new() } else { format!(": {}", safe::line(&hit.said)) };
    let when = words::countdown(hit.until, at);
    let who = match (&hit.phase, &hit.replan) {
        (Some(phase), _) => safe::line(phase.as_str()),
        (None, Some(phase)) => format!("whoever makes another plan for {}", safe::line(phase.as_str())),
        (None, None) => "another run".to_owned(),
    };
    let sign = paint::doubtful("◷");
    format!("{sign} {who} was rate-limited{which}; next attempt in {when}{guess}{said}")
}

pub(super) fn stop(by: StopRequest, count: usize) -> String {
    let sign = paint::doubtful("■");
    match by {
        StopRequest::Deadline => format!("{sign} the deadline is reached: phases asked to end: {count}"),
        StopRequest::Cancel => format!("{sign} cancelled: phases asked to end: {count}"),
        StopRequest::Pause => {
            format!("{sign} pausing: nothing more is started; phases that come to their end: {count}")
        }
        StopRequest::Interrupt
        | StopRequest::SessionEnd
        | StopRequest::Hangup
        | StopRequest::Failure
        | StopRequest::OrphanKill
        | StopRequest::Rewind => format!("{sign} stopping"),
    }
}

/// The run waits for its turn among those of its group, or has it.
pub(super) fn group(event: &Event, run: &Run) -> Option<String> {
    match (event, run.awaited_group()) {
        (Event::GroupAwaited { .. }, Some(group)) => {
            Some(format!("{} waiting for {}", paint::doubtful("◷"), safe::line(&group.words())))
        }
        (Event::GroupEntered { group }, _) => {
            Some(format!("{} nothing else is at work in the group {}", paint::busy("↻"), safe::line(group)))
        }
        _ => None,
    }
}

/// The wait, as a countdown where its end is known.
pub(super) fn waiting(run: &Run, now: Timestamp) -> Option<String> {
    if let Some(group) = run.awaited_group() {
        return Some(format!("waiting for {}", safe::line(&group.words())));
    }
    let awaited = schedule::awaited(run, now)?;
    Some(awaited_words(&awaited.words(), awaited.until, now))
}

/// `waiting for the limit api: 4 h 12 min left (until 15:00)`.
pub(super) fn awaited_words(what: &str, until: Timestamp, now: Timestamp) -> String {
    let (left, clock) = (words::countdown(until, now), time::clock(until, now));
    format!("waiting for {}: {left} left (until {clock})", safe::line(what))
}

pub(super) fn last_words(run: &Run, reason: StopReason) -> String {
    let id = safe::line(run.id.as_str());
    let done = view::progress(run);
    let sign = paint::doubtful("■");
    if reason == StopReason::Cancel {
        return format!("{sign} run {id} was cancelled and archived, {done}\n");
    }
    if reason == StopReason::Budget {
        return out_of_money(run);
    }
    let why = match (reason, run.retry_at()) {
        (StopReason::Deadline, _) => "its deadline is reached".to_owned(),
        (_, Some(until)) => format!("rate-limited until {}", time::clock(until, Timestamp::now())),
        (_, None) => "nothing more is started".to_owned(),
    };
    format!("{sign} run {id} is paused, {done}: {why}\ngo on with  {}\n", safe::line(&view::resume_command(&run.id)))
}

fn out_of_money(run: &Run) -> String {
    let id = safe::line(run.id.as_str());
    let used_up = run.used_up_budgets();
    let why: Vec<String> = used_up.iter().map(|budget| safe::line(&budget.words())).collect();
    let more = if used_up.iter().any(|budget| budget.limit.is_none()) { " --budget USD" } else { "" };
    let (sign, done) = (paint::doubtful("■"), view::progress(run));
    format!("{sign} run {id} is paused, {done}: {}\ngo on with  onward resume {id}{more}\n", why.join("; "))
}
