//! Notices to people: an outbox that is part of the run. A notice is due from the event that it tells, so it survives a kill; it is
//! due until it is on record as sent, or as given up.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::agent_calls::{self, AgentCall};
use super::state::Run;
use crate::event::{Event, Recorded, RunResult, StopReason};
use crate::id::PhaseId;
use crate::mutant::{self, Mutant};
use crate::plan::{Body, NoticeWay, Occasion};
use crate::view;

/// Notices that may be due at once; what comes on top of them is counted and not sent.
pub const NOTICES_DUE_MAX: usize = 200;
/// Times that a notice is tried; a driver that died while it may have been under way counts as one.
pub const NOTICE_TRIES_MAX: u32 = 4;
/// The wait after the first failure; each further one is four times as long.
const NOTICE_BACKOFF: Duration = Duration::from_millis(500);
/// Notices that were given up and are remembered.
const NOTICES_LOST_MAX: usize = 20;
/// The longest text of a notice.
const NOTICE_CHARACTERS_MAX: usize = 500;

/// The notices of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbox {
    /// The oldest first; they are sent one after the other.
    due: VecDeque<DueNotice>,
    lost: VecDeque<LostNotice>,
    /// Those that found the outbox full.
    left_out: u32,
    /// The number of the last one.
    last: u32,
}

/// A notice that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueNotice {
    pub number: u32,
    pub way: NoticeWay,
    pub occasion: Occasion,
    pub phase: Option<PhaseId>,
    pub text: String,
    /// The time of the event.
    pub at: Timestamp,
    pub tries: u32,
    not_before: Option<Timestamp>,
    last_error: Option<String>,
}

/// A notice that was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostNotice {
    pub occasion: Occasion,
    pub reason: String,
}

impl Outbox {
    fn give_up(&mut self, number: u32, reason: &str) {
        let Some(at) = self.due.iter().position(|notice| notice.number == number) else { return };
        let notice = self.due.remove(at).expect("it was just found");
        if self.lost.len() == NOTICES_LOST_MAX {
            self.lost.pop_front();
        }
        self.lost.push_back(LostNotice { occasion: notice.occasion, reason: reason.to_owned() });
    }
}

impl Run {
    /// The notice that is to be sent now.
    pub fn notice_wanted(&self, now: Timestamp) -> Option<&DueNotice> {
        self.outbox.due.front().filter(|notice| notice.not_before.is_none_or(|time| time <= now))
    }

    /// The time at which the next one is to be sent.
    pub(super) fn notice_wakes(&self, now: Timestamp) -> Option<Timestamp> {
        self.outbox.due.front().and_then(|notice| notice.not_before).filter(|time| *time > now)
    }

    /// All that are still to be sent.
    pub fn notices_due(&self) -> impl Iterator<Item = &DueNotice> {
        self.outbox.due.iter()
    }

    /// Warnings about notices that were not sent.
    pub fn notices_not_sent(&self) -> Vec<String> {
        let lost = self
            .outbox
            .lost
            .iter()
            .map(|lost| format!("people were not told of {}: {}", lost.occasion.as_str(), lost.reason));
        // They are sent in order: behind one that could not be sent the others wait.
        let over = self.ending().is_some();
        let stuck = over && self.outbox.due.front().is_some_and(|first| first.last_error.is_some());
        let late = self.outbox.due.iter().filter(|_| stuck).map(|notice| {
            let reason = notice.last_error.as_deref().unwrap_or("it waits behind another one");
            format!("people were not told of {} yet: {reason}", notice.occasion.as_str())
        });
        let full = (self.outbox.left_out > 0)
            .then(|| format!("{} notices were not sent: more than {NOTICES_DUE_MAX} were due", self.outbox.left_out));
        lost.chain(late).chain(full).collect()
    }

    pub(super) fn notice_is_due(&self, number: u32) -> Option<&DueNotice> {
        self.outbox.due.iter().find(|notice| notice.number == number)
    }

    pub(super) fn notice_sent(&mut self, notice: u32) {
        self.outbox.due.retain(|due| due.number != notice);
    }

    pub(super) fn notice_failed(&mut self, notice: u32, reason: &str, retry_at: Option<Timestamp>) {
        if retry_at.is_none() {
            self.outbox.give_up(notice, reason);
        } else if let Some(due) = self.outbox.due.iter_mut().find(|due| due.number == notice) {
            due.tries += 1;
            (due.not_before, due.last_error) = (retry_at, Some(reason.to_owned()));
        }
    }

    /// The notices that follow from an event that was just folded.
    pub(super) fn notices_become_due(&mut self, recorded: &Recorded) {
        if matches!(recorded.event, Event::DriverStarted { .. }) {
            self.a_notice_may_have_been_under_way();
        }
        if self.plan().notices.is_empty() || mutant::is(Mutant::ForgetTheNotices) {
            return;
        }
        let Some((occasion, phase)) = self.occasion(&recorded.event) else { return };
        let text = self.notice_text(occasion, phase.as_ref(), &recorded.event);
        let rules = self.plan().notices.iter().filter(|rule| rule.when.contains(&occasion));
        let ways: Vec<NoticeWay> = rules.map(|rule| rule.way.clone()).collect();
        for way in ways {
            if self.outbox.due.len() == NOTICES_DUE_MAX {
                self.outbox.left_out += 1;
                continue;
            }
            self.outbox.last += 1;
            self.outbox.due.push_back(DueNotice {
                number: self.outbox.last,
                way,
                occasion,
                phase: phase.clone(),
                text: text.clone(),
                at: recorded.at,
                tries: 0,
                not_before: None,
                last_error: None,
            });
        }
    }

    /// A driver that dies while it sends leaves no word about it. It is sent again, and that is counted, so that no chain of kills
    /// sends it for ever.
    fn a_notice_may_have_been_under_way(&mut self) {
        let Some(first) = self.outbox.due.front_mut() else { return };
        first.tries += 1;
        if first.tries >= NOTICE_TRIES_MAX {
            let number = first.number;
            self.outbox.give_up(number, "the driver died again and again while it was sent");
        }
    }

    fn occasion(&self, event: &Event) -> Option<(Occasion, Option<PhaseId>)> {
        let whole = |phase: &PhaseId| self.plan().phase(phase).is_some_and(|it| it.situation.parent.is_none());
        match event {
            Event::DriverStarted { epoch: 1, .. } => Some((Occasion::RunStarted, None)),
            Event::ApprovalAsked { phase } | Event::CallAsked { phase } => {
                Some((Occasion::ApprovalWanted, Some(phase.clone())))
            }
            Event::PhaseCompleted { phase, .. } if whole(phase) => {
                Some((Occasion::PhaseCompleted, Some(phase.clone())))
            }
            Event::PhaseFailed { phase, .. } if whole(phase) => Some((Occasion::PhaseFailed, Some(phase.clone()))),
            Event::ReplanAsked { phase, .. } => Some((Occasion::ReplanWanted, Some(phase.clone()))),
            Event::LimitHit(hit) if hit.phase.is_some() || hit.replan.is_some() => {
                Some((Occasion::RateLimited, hit.phase.clone().or(hit.replan.clone())))
            }
            Event::RunEnded { result: RunResult::Completed } => Some((Occasion::RunSucceeded, None)),
            Event::RunEnded { result: RunResult::Failed } => Some((Occasion::RunFailed, None)),
            Event::RunPaused { .. } => Some((Occasion::RunPaused, None)),
            Event::RunStopped { reason } => match reason {
                StopReason::Question => Some((Occasion::Question, None)),
                StopReason::Interrupt | StopReason::SessionEnd | StopReason::Hangup => {
                    Some((Occasion::RunInterrupted, None))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn notice_text(&self, occasion: Occasion, phase: Option<&PhaseId>, event: &Event) -> String {
        let done = view::progress(self);
        let phase = phase.map(PhaseId::as_str).unwrap_or_default();
        let happened = match (occasion, event) {
            (Occasion::ApprovalWanted, Event::CallAsked { phase }) => {
                let call = self.phase_state(phase).and_then(agent_calls::waiting_call);
                format!("{phase} waits for an approval: {}", call.map(AgentCall::in_words).unwrap_or_default())
            }
            (Occasion::ApprovalWanted, _) => {
                let body = self.plan().phase(&PhaseId::new(phase)).map(|it| &it.body);
                let asked = match body {
                    Some(Body::Approval(approval)) => approval.message.as_str(),
                    Some(_) | None => "",
                };
                format!("{phase} waits for an approval: {asked}")
            }
            (Occasion::PhaseCompleted, _) => format!("{phase} is done, {done}"),
            (Occasion::PhaseFailed, Event::PhaseFailed { error, .. }) => format!("{phase} failed: {}", error.message),
            (Occasion::ReplanWanted, Event::ReplanAsked { reason, .. }) => {
                format!("{phase} wants another plan: {reason}")
            }
            (Occasion::RateLimited, Event::LimitHit(hit)) => format!("{phase} is rate-limited until {}", hit.until),
            (Occasion::RunPaused, Event::RunPaused { until: Some(until), .. }) => {
                format!("paused until {until}, {done}")
            }
            (Occasion::RunStarted, _) => "started".to_owned(),
            (Occasion::Question, _) => format!("needs an answer, {done}"),
            (Occasion::RunSucceeded, _) => format!("complete, {done}"),
            (Occasion::RunFailed, _) => format!("failed, {done}"),
            (Occasion::RunInterrupted, _) => format!("interrupted, {done}"),
            (Occasion::RunPaused, _) => format!("paused, {done}"),
            (Occasion::PhaseFailed | Occasion::ReplanWanted | Occasion::RateLimited, _) => phase.to_owned(),
        };
        let text = format!("{}: {happened}", self.started.title);
        text.chars().take(NOTICE_CHARACTERS_MAX).collect()
    }
}

/// The time of the next try; none where there were enough.
pub(super) fn next_try(tries: u32, now: Timestamp) -> Option<Timestamp> {
    let failed = tries + 1;
    if failed >= NOTICE_TRIES_MAX {
        return None;
    }
    let wait = NOTICE_BACKOFF * 4_u32.pow(tries.min(NOTICE_TRIES_MAX));
    let wait = SignedDuration::try_from(wait).expect("a short wait");
    Some(now.saturating_add(wait).expect("no calendar unit is added"))
}
