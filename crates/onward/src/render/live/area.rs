//! The live view as the reporter of a run sees it: told what there is to be shown, and out of the way when somebody is asked.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use onward_core::id::PhaseId;
use onward_core::run::Run;
use onward_core::tail;
use onward_core::view::durations::ExpectedTime;
use onward_core::view::live::{AttemptSeen, LiveView};
use onward_engine::AttemptOutput;

use super::super::writer_thread;
use super::terminal;

/// No more often is it looked what there is to be shown.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The live view of one run.
#[derive(Debug)]
pub(in crate::render) struct LiveArea {
    possible: bool,
    expected: BTreeMap<PhaseId, ExpectedTime>,
    since: Option<Timestamp>,
    looked: Option<Instant>,
}

impl LiveArea {
    pub(in crate::render) fn new() -> Self {
        Self { possible: false, expected: BTreeMap::new(), since: None, looked: None }
    }

    /// One that shows something where stderr is a terminal that can.
    pub(in crate::render) fn where_possible() -> Self {
        Self { possible: terminal::is_possible() && writer_thread::is_writing(), ..Self::new() }
    }

    pub(in crate::render) fn is_possible(&self) -> bool {
        self.possible
    }

    /// How long phases are expected to take.
    pub(in crate::render) fn expect(&mut self, expected: &BTreeMap<PhaseId, ExpectedTime>) {
        self.expected.clone_from(expected);
    }

    /// Shows the run as it is now, unless that was done a moment ago.
    pub(in crate::render) fn show(&mut self, run: &Run, output: &dyn AttemptOutput, now: Timestamp) {
        if !self.possible || self.looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        let since = *self.since.get_or_insert(now);
        let seen = run.running().map(|(phase, state)| {
            let attempt = state.attempt.as_ref().map(|attempt| attempt.number);
            let last = attempt.and_then(|attempt| output.last_lines(run, &phase.id, attempt, 1).pop());
            let last_line = last.map(|line| tail::plain_line(&line).trim().to_owned()).filter(|line| !line.is_empty());
            (phase.id.clone(), AttemptSeen { note: output.note(run, &phase.id), last_line })
        });
        let seen = seen.collect();
        writer_thread::show(LiveView::new(run, &seen, &self.expected, since, now));
    }

    /// Shows the run as it is now, whenever that was done last.
    pub(in crate::render) fn refresh(&mut self, run: &Run, output: &dyn AttemptOutput, now: Timestamp) {
        self.looked = None;
        self.show(run, output, now);
    }

    /// Takes the view away.
    pub(in crate::render) fn hide(&mut self) {
        if self.possible {
            writer_thread::hide();
            self.looked = None;
        }
    }
}

/// As long as there is one of these the live view is not on the screen.
#[derive(Debug)]
#[must_use = "the live view comes back when this is dropped"]
pub(crate) struct LiveHold(());

/// Takes the live view off the screen until the result is dropped, for whoever asks a person something meanwhile. When this returns
/// the view is gone, and what is said then is written where it was.
pub(crate) fn hide_while() -> LiveHold {
    writer_thread::hold();
    LiveHold(())
}

impl Drop for LiveHold {
    fn drop(&mut self) {
        writer_thread::release();
    }
}
