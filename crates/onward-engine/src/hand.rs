//! A run in the hands of a process that does not drive it: it writes down what it was told, and starts nothing.

use jiff::Timestamp;
use onward_core::input::Input;
use onward_core::run::{self, Run, Stepped};
use onward_store::{Consumed, Lease, Store};

use crate::error::Result;
use crate::journal;
use crate::kill_point::reached;

/// The right to write, and what is written about.
pub struct Hand<'a> {
    pub store: &'a mut dyn Store,
    pub lease: &'a Lease,
    pub run: Run,
    pub actor: String,
    pub now: Timestamp,
}

impl Hand<'_> {
    /// Decides all of it and makes it durable in one commit.
    pub fn tell(&mut self, inputs: &[Input], consumed: Vec<Consumed>) -> Result<Stepped> {
        let before = self.run.seq;
        let mut all = Stepped::default();
        for input in inputs {
            let stepped = run::step(&mut self.run, input, &self.actor, self.now)?;
            all.events.extend(stepped.events);
            all.checkpoints.extend(stepped.checkpoints);
        }
        if all.events.is_empty() && consumed.is_empty() {
            return Ok(all);
        }
        let mut entry = journal::entry(&self.run, &all);
        entry.consumed = consumed;
        reached("hand.before-append");
        self.store.append(self.lease, before, entry)?;
        reached("hand.after-append");
        Ok(all)
    }
}
