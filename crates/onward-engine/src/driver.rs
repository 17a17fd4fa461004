//! The loop: input, decide, append, report, start what is wanted and not in flight, wait. Read this second, after
//! `event.rs`.
//!
//! There is no other way to go on with a run: a first start, a resume after Ctrl+C and a resume after a power cut all
//! come through [`Driver::drive`].

use std::time::Duration;

use onward_core::effect::Effect;
use onward_core::event::{Event, Report};
use onward_core::input::{Begin, Input, Posted, Reply};
use onward_core::mutant::{self, Mutant};
use onward_core::run::{self, Ending, Run, Stepped};
use onward_store::{Consumed, Lease, Store};

use crate::error::Result;
use crate::journal;
use crate::keeper::Keep;
use crate::kill_point::reached;
use crate::replan;
use crate::reporter::{Reporter, Update};
use crate::world::{Urgency, World};

/// How long the driver sleeps at most before it looks at the inbox by itself.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Inputs that share one commit at most.
const INPUTS_PER_APPEND_MAX: usize = 64;
const INBOX_ITEMS_PER_LOOK_MAX: usize = 64;

/// A run in the hands of one process.
pub struct Driver<'a> {
    pub store: &'a mut dyn Store,
    pub lease: &'a Lease,
    pub world: &'a mut dyn World,
    pub reporter: &'a mut dyn Reporter,
    pub keep: &'a mut dyn Keep,
    pub actor: String,
    pub run: Run,
}

/// An input, and the inbox item it came from, if it came from one.
struct Arrived {
    input: Input,
    item: Option<String>,
}

impl From<Input> for Arrived {
    fn from(input: Input) -> Self {
        Self { input, item: None }
    }
}

impl Driver<'_> {
    /// Drives the run until there is nothing more to do for this process.
    pub fn drive(mut self, begin: Begin) -> Result<(Run, Ending)> {
        self.take(vec![Input::Begin(begin).into()])?;
        loop {
            if let Some(ending) = self.run.ending() {
                self.keep_the_tree()?;
                return Ok((self.run, ending));
            }
            let at_once = self.make_it_so()?;
            let inputs = if at_once.is_empty() { self.wait()? } else { at_once };
            self.take(inputs)?;
        }
    }

    /// What others said together with the end may have left a checkpoint that waits for the working tree.
    fn keep_the_tree(&mut self) -> Result<()> {
        if !self.run.tree_is_awaited() {
            return Ok(());
        }
        let kept = self.world.tree().snapshot(&self.run)?;
        self.take(vec![kept.into()])
    }

    /// Decides what came, makes it durable in one commit, and only then tells anybody.
    fn take(&mut self, mut arrived: Vec<Arrived>) -> Result<()> {
        while !arrived.is_empty() {
            let rest = arrived.split_off(arrived.len().min(INPUTS_PER_APPEND_MAX));
            self.take_some(std::mem::replace(&mut arrived, rest))?;
        }
        Ok(())
    }

    fn take_some(&mut self, arrived: Vec<Arrived>) -> Result<()> {
        let before = self.run.seq;
        let mut all = Stepped::default();
        let mut consumed = Vec::new();
        for Arrived { input, item } in arrived {
            let stepped = run::step(&mut self.run, &input, &self.actor, self.world.now());
            match (stepped, item) {
                (Ok(stepped), item) => {
                    consumed.extend(item.map(|id| answered(id, &reply(&input, &stepped))));
                    all.events.extend(stepped.events);
                    all.checkpoints.extend(stepped.checkpoints);
                }
                (Err(why), Some(id)) => consumed.push(answered(id, &Reply::Refused { reason: why.to_string() })),
                (Err(why), None) => return Err(why.into()),
            }
        }
        if all.events.is_empty() && consumed.is_empty() {
            return Ok(());
        }
        let mut entry = journal::entry(&self.run, &all);
        entry.consumed = consumed;
        if mutant::is(Mutant::ActBeforeTheAppend) {
            self.make_it_so()?;
        }
        reached("driver.before-append");
        let appended = self.store.append(self.lease, before, entry)?;
        reached("driver.after-append");
        self.run.behind = journal::behind(&appended.chain);
        self.keep.appended(&self.run, &appended);
        for recorded in &all.events {
            if let Event::LimitHit(hit) = &recorded.event {
                self.world.limit_hit(&self.run, hit);
            }
            self.reporter.update(&Update::Event { recorded, run: &self.run });
        }
        Ok(())
    }

    /// Starts what is wanted and not in flight. Some of it is known at once and comes back as inputs.
    fn make_it_so(&mut self) -> Result<Vec<Arrived>> {
        let mut at_once = Vec::new();
        for effect in run::wanted(&self.run, self.world.now()) {
            let input = match effect {
                Effect::Perform { phase, attempt } => self.world.perform(&self.run, &phase, attempt)?,
                Effect::Recover { phase, attempt } => Some(self.world.recover(&self.run, &phase, attempt)?),
                Effect::Stop { phase, attempt, by, kill } => {
                    let urgency = if kill { Urgency::Kill } else { Urgency::Ask };
                    self.world.stop(&phase, attempt, by, urgency)?
                }
                Effect::Probe { phase } => self.world.probe(&self.run, &phase)?,
                Effect::Replan { phase } => self.world.replan(&self.run, &phase)?,
                Effect::Snapshot => Some(self.world.tree().snapshot(&self.run)?),
                Effect::Commit { number } => Some(self.world.tree().commit(&self.run, number)?),
                Effect::WakeAt(_) => None,
            };
            at_once.extend(input.map(Arrived::from));
        }
        Ok(at_once)
    }

    /// Sleeps until something happens and says what it was.
    fn wait(&mut self) -> Result<Vec<Arrived>> {
        let happened = self.world.wait(self.sleep())?;
        // First, so that nothing of what else came is started against a limit that is closed.
        let closed = self.world.limits_elsewhere(&self.run);
        let mut arrived: Vec<Arrived> = closed.into_iter().chain(happened.inputs).map(Arrived::from).collect();
        if happened.status_asked {
            let view = self.world.status(&self.run);
            self.reporter.update(&Update::Status(&view));
        }
        if happened.posted || self.store.changed()? {
            arrived.extend(self.inbox()?);
        }
        if arrived.is_empty() {
            self.reporter.update(&Update::Tick { run: &self.run, now: self.world.now() });
            arrived.push(Input::Tick.into());
        }
        Ok(arrived)
    }

    fn sleep(&self) -> Duration {
        let now = self.world.now();
        let due = run::wanted(&self.run, now).into_iter().filter_map(|effect| match effect {
            Effect::WakeAt(time) => Duration::try_from(time.duration_since(now)).ok(),
            Effect::Perform { .. }
            | Effect::Recover { .. }
            | Effect::Probe { .. }
            | Effect::Replan { .. }
            | Effect::Stop { .. }
            | Effect::Snapshot
            | Effect::Commit { .. } => None,
        });
        due.chain([LOOK_EVERY]).min().unwrap_or(LOOK_EVERY)
    }

    fn inbox(&mut self) -> Result<Vec<Arrived>> {
        let items = self.store.inbox(&self.run.id, INBOX_ITEMS_PER_LOOK_MAX)?;
        let inputs: Vec<Input> = items.iter().map(|item| understood(&item.body)).collect();
        let first = self.tree_for(&inputs)?.map(Arrived::from);
        let asked = inputs.into_iter().zip(items).map(|(input, item)| Arrived { input, item: Some(item.id) });
        Ok(first.into_iter().chain(asked).collect())
    }

    /// A checkpoint by hand comes with the working tree of this moment.
    fn tree_for(&mut self, inputs: &[Input]) -> Result<Option<Input>> {
        let wanted = self.run.started.snapshots && inputs.iter().any(wants_the_tree);
        if wanted { self.world.tree().snapshot(&self.run).map(Some) } else { Ok(None) }
    }
}

/// A message that cannot be read is answered all the same, or it would come again for ever.
pub(crate) fn understood(body: &[u8]) -> Input {
    serde_json::from_slice::<Posted>(body).map_or(Input::Tick, Input::Posted)
}

pub(crate) fn wants_the_tree(input: &Input) -> bool {
    matches!(input, Input::Posted(Posted::Checkpoint { .. }))
}

/// The answer to what was asked. What follows from it for others in the same step is no part of it.
pub(crate) fn reply(asked: &Input, stepped: &Stepped) -> Reply {
    let overruled = stepped.events.iter().find_map(|recorded| match &recorded.event {
        Event::Reported { report: Report::Overruled { reason, .. }, .. } => Some(reason.clone()),
        _ => None,
    });
    if let Some(reason) = overruled {
        return Reply::Overruled { reason };
    }
    let about_a_plan = matches!(asked, Input::Posted(Posted::Replan { .. } | Posted::SettleReplan { .. }));
    if let Some(reply) = replan::reply(stepped).filter(|_| about_a_plan) {
        return reply;
    }
    match stepped.checkpoints.first() {
        Some(checkpoint) => Reply::Checkpoint { id: checkpoint.id.to_string() },
        None => Reply::Done,
    }
}

pub(crate) fn answered(id: String, reply: &Reply) -> Consumed {
    let reply = if mutant::is(Mutant::LoseAnInboxReply) { &Reply::Done } else { reply };
    Consumed { id, reply: serde_json::to_vec(reply).expect("a reply has only string keys") }
}
