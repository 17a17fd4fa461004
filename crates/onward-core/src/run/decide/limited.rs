//! A failed attempt that was rate-limited has not failed.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::event::{AgentHow, Event, LimitHit, Outcome};
use crate::input::{AttemptEnd, ClosedElsewhere, LastWords};
use crate::plan::{Body, Limit, Phase};
use crate::rate_limit::{
    FailureEvidence, RESET_AWAY_MAX, RecognisedLimit, Response, Speaker, guess, recognise, respond, shortest,
};
use crate::run::limits::Who;
use crate::run::state::Run;

/// The hit behind a failure, unless there is none or the plan says that it counts as a failure.
pub(super) fn limited(run: &Run, phase: &Phase, end: &AttemptEnd, now: Timestamp) -> Option<Event> {
    let exit_code = match &end.outcome {
        Outcome::Exited { code } => Some(*code),
        Outcome::Killed { .. } | Outcome::TimedOut => None,
        Outcome::CouldNotStart { .. } | Outcome::NeverRan | Outcome::Stopped { .. } | Outcome::Unknown => return None,
    };
    let speaker = match &phase.body {
        Body::Agent(_) => Speaker::Agent,
        Body::Run { .. } | Body::Approval(_) | Body::External(_) | Body::Uses(_) => Speaker::Program,
    };
    let nothing = LastWords { text: String::new(), local: TimeZone::UTC };
    let LastWords { text, local } = end.last_words.as_deref().unwrap_or(&nothing);
    let told = agent_told(end);
    let text = told.as_ref().map_or(text.as_str(), |told| told.said.as_str());
    let standard = Limit::default();
    let drawn: Vec<(&str, &Limit)> =
        phase.pools().into_iter().map(|name| (name, run.plan().limits.get(name).unwrap_or(&standard))).collect();
    let rows = drawn.iter().map(|(name, _)| Who::Limit((*name).to_owned())).chain([Who::Phase(phase.id.clone())]);
    let rows: Vec<_> = rows.filter_map(|who| run.limits.row(&who)).collect();
    let hits_before = rows.iter().map(|row| row.hits).max().unwrap_or(0);
    let evidence = FailureEvidence { speaker, exit_code, text: text.as_bytes(), hits_before, local };
    let since = rows.iter().map(|row| row.since).min().unwrap_or(now);
    let plan_says =
        drawn.iter().any(|(_, limit)| limit.detect.as_ref().is_some_and(|detect| detect.reset_at.is_some()));
    // A result may be taken hours after it was said, and by then 5:30am would be tomorrow's.
    let said_at = end.ended_at.map_or(now, |ended_at| ended_at.min(now));
    let mut hit = match (recognise(&evidence, drawn.iter().copied(), said_at), told.filter(|told| told.is_limit)) {
        // The plan knows better; else the client's own number does, which its words give without the seconds.
        (Some(hit), _) if hit.told && plan_says => hit,
        (Some(hit), told) => with_the_time(hit, told.and_then(|told| told.until), said_at),
        (None, Some(told)) => {
            let limits = drawn.iter().map(|(name, _)| (*name).to_owned()).collect();
            let until = now + guess(hits_before);
            let hit = RecognisedLimit { limits, until, told: false, said: told.said };
            with_the_time(hit, told.until, said_at)
        }
        (None, None) => return None,
    };
    hit.until = hit.until.max(now + shortest(since, now));
    let closed = drawn.iter().filter(|(name, _)| hit.limits.contains(*name)).map(|(_, limit)| *limit);
    match respond(&hit, closed, run.limits.patience(), since, now) {
        Response::Fail => None,
        Response::Wait { until } | Response::Pause { until } => Some(Event::LimitHit(Box::new(LimitHit {
            phase: Some(phase.id.clone()),
            limits: hit.limits,
            until,
            told: hit.told,
            said: hit.said,
            replan: None,
        }))),
    }
}

/// The words of an agent about its end, and whether its client says that they are about a limit.
struct AgentTold {
    said: String,
    is_limit: bool,
    until: Option<Timestamp>,
}

fn agent_told(end: &AttemptEnd) -> Option<AgentTold> {
    let told = |said: &str, is_limit, until| Some(AgentTold { said: said.to_owned(), is_limit, until });
    let how = &end.agent.as_deref()?.how;
    if let AgentHow::Limited { until, said } = how {
        return told(said, true, *until);
    }
    // Other ends name no limit, and only a failure has words in which one may be recognised.
    told(if let AgentHow::Failed { message } = how { message } else { "" }, false, None)
}

/// A time that the client gives as a number is better than one read from its words, or guessed.
fn with_the_time(hit: RecognisedLimit, until: Option<Timestamp>, said_at: Timestamp) -> RecognisedLimit {
    match until.filter(|until| *until > said_at) {
        Some(until) => RecognisedLimit { until, told: true, ..hit },
        None => hit,
    }
}

/// A limit that another run has hit is closed for this one too, if that is news and it draws on it.
pub(super) fn elsewhere(run: &Run, closed: &ClosedElsewhere, now: Timestamp) -> Option<Event> {
    let ClosedElsewhere { limit, until, told } = closed.clone();
    let drawn =
        run.plan().limits.contains_key(&limit) || run.plan().phases.iter().any(|p| p.pools().contains(&&*limit));
    let known = run.limits.usage.get(&limit).and_then(|usage| usage.closed_until);
    let news = if told { known != Some(until) } else { known.is_none_or(|known| known < until) };
    let hit = LimitHit { phase: None, limits: [limit].into(), until, told, said: String::new(), replan: None };
    // Further away than any limit opens: the clock of whoever wrote it was wrong.
    let believable = until > now && until.duration_since(now) <= RESET_AWAY_MAX;
    (drawn && news && believable).then(|| Event::LimitHit(Box::new(hit)))
}
