//! Reporters: the terminal, a program that reads lines, a page. Told only what is durable.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use onward_core::event::Recorded;
use onward_core::id::{Attempt, PhaseId};
use onward_core::run::Run;
use onward_core::view::StatusView;
use onward_core::view::durations::ExpectedTime;

/// Something to show.
#[derive(Debug)]
pub enum Update<'a> {
    /// A fact was recorded; the run is as it stands after the whole commit that it came in.
    Event { recorded: &'a Recorded, run: &'a Run, output: &'a dyn AttemptOutput },
    /// How long phases of this plan took before.
    Expected(&'a BTreeMap<PhaseId, ExpectedTime>),
    /// Something a person should know that is no fact of the run.
    Note(&'a str),
    /// Somebody asked how far it is.
    Status(&'a StatusView),
    /// Nothing happened for a while.
    Tick { run: &'a Run, now: Timestamp, output: &'a dyn AttemptOutput },
}

/// The files of attempts, as far as they are shown while a run is driven. They are read when somebody asks, a few KiB at most.
pub trait AttemptOutput {
    /// The latest note of a phase at work.
    fn note(&self, run: &Run, phase: &PhaseId) -> Option<String>;

    /// The last lines that an attempt printed, the newest last, as they were printed.
    fn last_lines(&self, run: &Run, phase: &PhaseId, attempt: Attempt, lines_max: usize) -> Vec<String>;

    /// The last lines that the checks of an attempt printed.
    fn last_lines_of_checks(&self, run: &Run, phase: &PhaseId, attempt: Attempt, lines_max: usize) -> Vec<String>;
}

impl fmt::Debug for dyn AttemptOutput + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AttemptOutput")
    }
}

/// The output of attempts that leave no files.
#[derive(Debug)]
pub struct NoOutput;

impl AttemptOutput for NoOutput {
    fn note(&self, _: &Run, _: &PhaseId) -> Option<String> {
        None
    }

    fn last_lines(&self, _: &Run, _: &PhaseId, _: Attempt, _: usize) -> Vec<String> {
        Vec::new()
    }

    fn last_lines_of_checks(&self, _: &Run, _: &PhaseId, _: Attempt, _: usize) -> Vec<String> {
        Vec::new()
    }
}

pub trait Reporter {
    fn update(&mut self, update: &Update<'_>);
}

/// Tells nobody.
#[derive(Debug)]
pub struct Silent;

impl Reporter for Silent {
    fn update(&mut self, _: &Update<'_>) {}
}
