//! Reporters: the terminal, a program that reads lines, a page. Told only what is durable.

use jiff::Timestamp;
use onward_core::event::Recorded;
use onward_core::run::Run;
use onward_core::view::StatusView;

/// Something to show.
#[derive(Debug)]
pub enum Update<'a> {
    /// A fact was recorded; the run is as it stands after the whole commit that it came in.
    Event { recorded: &'a Recorded, run: &'a Run },
    /// Something a person should know that is no fact of the run.
    Note(&'a str),
    /// Somebody asked how far it is.
    Status(&'a StatusView),
    /// Nothing happened for a while.
    Tick { run: &'a Run, now: Timestamp },
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
