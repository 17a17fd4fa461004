//! Bringing a phase to an end that does not come by itself: first a request, then a firmer one, then force.
//!
//! The steps are decided here; [`super::attend`] performs them.

use std::time::{Duration, Instant};

use onward_core::event::{StopRequest, Urgency};

use super::record::{Spec, Stop};

/// Why a phase is being ended. The first reason stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndCause {
    TimedOut,
    Stopped(StopRequest),
    /// Its main process has ended by itself, and what it left behind is not to live on.
    Over,
}

/// The next step of ending the phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextAct {
    /// `SIGINT` to its group, as Ctrl+C would.
    Interrupt,
    /// `SIGTERM` to its group.
    Terminate,
    /// `SIGKILL` to all that it started.
    Kill,
}

/// An end under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndUnderWay {
    pub(super) cause: EndCause,
    act: NextAct,
    since: Instant,
}

impl EndUnderWay {
    /// The time of the phase is up: it is told firmly at once.
    pub(super) fn by_timeout(now: Instant) -> Self {
        Self { cause: EndCause::TimedOut, act: NextAct::Terminate, since: now }
    }

    /// The main process has ended and the rest is to go with it: it is told firmly at once.
    pub(super) fn of_the_rest(now: Instant) -> Self {
        Self { cause: EndCause::Over, act: NextAct::Terminate, since: now }
    }

    pub(super) fn by_request(stop: Stop, now: Instant) -> Self {
        let act = match stop.urgency {
            Urgency::Ask => NextAct::Interrupt,
            Urgency::Kill => NextAct::Kill,
        };
        Self { cause: EndCause::Stopped(stop.by), act, since: now }
    }

    /// The step that was taken last, or is to be taken first.
    pub(super) fn act(&self) -> NextAct {
        self.act
    }

    /// When the next step is due, if there is one.
    pub(super) fn next_deadline(&self, spec: &Spec) -> Option<Instant> {
        match self.act {
            NextAct::Interrupt => self.since.checked_add(Duration::from_millis(spec.grace_int_ms)),
            NextAct::Terminate => self.since.checked_add(Duration::from_millis(spec.grace_term_ms)),
            NextAct::Kill => None,
        }
    }

    /// Goes to the next step if it is due.
    pub(super) fn advance(&mut self, spec: &Spec, now: Instant) -> Option<NextAct> {
        if self.next_deadline(spec).is_none_or(|due| now < due) {
            return None;
        }
        self.act = match self.act {
            NextAct::Interrupt => NextAct::Terminate,
            NextAct::Terminate | NextAct::Kill => NextAct::Kill,
        };
        self.since = now;
        Some(self.act)
    }

    /// Somebody asked again and wants it to be now.
    pub(super) fn hurry(&mut self, now: Instant) -> Option<NextAct> {
        if self.act == NextAct::Kill {
            return None;
        }
        self.act = NextAct::Kill;
        self.since = now;
        Some(NextAct::Kill)
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::AfterSuccess;
    use super::*;

    fn spec() -> Spec {
        Spec {
            run: String::new(),
            phase: String::new(),
            attempt: 1,
            tag: String::new(),
            argv: Vec::new(),
            working_directory: "/".into(),
            timeout_ms: None,
            grace_int_ms: 5_000,
            grace_term_ms: 3_000,
            drain_ms: 0,
            output_head_bytes_max: 0,
            output_tail_bytes_max: 0,
            driver_pid: 0,
            secret_names: crate::redact::SecretNames::default(),
            secret_values: Vec::new(),
            folder: "/".into(),
            after_success: AfterSuccess::LetBe,
            stdin: None,
            client: None,
        }
    }

    /// A phase is asked to stop and does nothing. After five seconds it is told firmly, after three more it is killed.
    #[test]
    fn a_request_grows_firmer() {
        let (spec, start) = (spec(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut ending = EndUnderWay::by_request(Stop { by: StopRequest::Interrupt, urgency: Urgency::Ask }, start);
        assert_eq!((ending.act(), ending.advance(&spec, at(4))), (NextAct::Interrupt, None));
        assert_eq!((ending.advance(&spec, at(5)), ending.advance(&spec, at(7))), (Some(NextAct::Terminate), None));
        assert_eq!((ending.advance(&spec, at(8)), ending.advance(&spec, at(99))), (Some(NextAct::Kill), None));
        assert_eq!(ending.cause, EndCause::Stopped(StopRequest::Interrupt));
    }

    /// The time of a phase is up, and while it is given its grace somebody presses Ctrl+C twice. It is killed, because of the time.
    #[test]
    fn the_first_reason_stays() {
        let start = Instant::now();
        let mut ending = EndUnderWay::by_timeout(start);
        assert_eq!(
            (ending.act(), ending.hurry(start), ending.hurry(start)),
            (NextAct::Terminate, Some(NextAct::Kill), None)
        );
        assert_eq!(ending.cause, EndCause::TimedOut);
    }
}
