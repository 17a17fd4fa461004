//! The loop: input, decide, append, report, start what is wanted and not in flight, wait. Read this second, after
//! `event.rs`.
//!
//! There is no other way to go on with a run: a first start, a resume after Ctrl+C and a resume after a power cut all
//! come through [`Driver::drive`].

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use onward_core::effect::Effect;
use onward_core::event::{Event, StopReason, StopRequest};
use onward_core::input::{Begin, Input};
use onward_core::mutant::{self, Mutant};
use onward_core::run::{self, Ending, Run, Stepped};
use onward_store::StoreError;

use super::committer::{Arrived, Committer};
use super::inbox;
use crate::drive::reporter::{Reporter, Update};
use crate::drive::world::{World, keep};
use crate::error::{Error, Result};

/// How long the driver sleeps at most before it looks at the inbox by itself.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long the end of a run waits for its notices, and how long a stop that a person or the machine wants.
const NOTICES_TIME_MAX: SignedDuration = SignedDuration::from_secs(5);
const NOTICES_STOP_TIME_MAX: SignedDuration = SignedDuration::from_secs(3);
const NOTICE_LOOK_EVERY: Duration = Duration::from_millis(20);

fn notices_time_max(ending: Ending) -> SignedDuration {
    match ending {
        Ending::Stopped(StopReason::Interrupt | StopReason::SessionEnd | StopReason::Hangup) => NOTICES_STOP_TIME_MAX,
        Ending::Completed | Ending::Failed | Ending::Stopped(_) => NOTICES_TIME_MAX,
    }
}

/// A run in the hands of one process.
pub struct Driver<'a> {
    pub committer: Committer<'a>,
    pub world: &'a mut dyn World,
    pub reporter: &'a mut dyn Reporter,
}

impl Driver<'_> {
    /// Drives the run until there is nothing more to do for this process.
    pub fn drive(mut self, begin: Begin) -> Result<Ending> {
        // With the project its store is in another place, too: that is no loss, and what is at work goes on.
        let driven = self.drive_to_the_end(begin).map_err(|why| match self.world.demand_in_place() {
            Err(moved) if is_without_a_store(&why) => moved,
            _ => why,
        });
        if let Err(why) = &driven {
            // Nobody would ever take the results of what goes on without a store.
            let by = is_without_a_store(why).then_some(StopRequest::SessionEnd);
            if by.is_some() {
                self.reporter
                    .update(&Update::Note(&format!("{why}: nothing more is started, and what is at work is ended")));
            }
            self.world.end_all(by);
        }
        driven
    }

    fn drive_to_the_end(&mut self, begin: Begin) -> Result<Ending> {
        self.answer_what_waits()?;
        self.take(vec![Input::Begin(begin).into()])?;
        loop {
            if let Some(ending) = self.committer.run().ending() {
                self.keep_the_tree()?;
                self.mirror()?;
                self.tell_people(ending)?;
                return Ok(ending);
            }
            let at_once = self.make_it_so()?;
            let inputs = if at_once.is_empty() { self.wait()? } else { self.stop_first(at_once) };
            self.take(inputs)?;
        }
    }

    /// Answers what was posted before this driver began, ahead of all that follows: the poster may be dead, and the driver that should
    /// have answered is.
    fn answer_what_waits(&mut self) -> Result<()> {
        if mutant::is(Mutant::ForgetWhatWaits) {
            return Ok(());
        }
        let now = self.world.now();
        let stepped = inbox::answer_all(&mut self.committer, self.world.tree(), now)?;
        self.tell_of(&stepped);
        Ok(())
    }

    /// A stop goes before all else that came, so that nothing more follows from that.
    fn stop_first(&mut self, others: Vec<Arrived>) -> Vec<Arrived> {
        let asked = self.world.signals().into_iter().map(Arrived::from);
        let (stops, others): (Vec<Arrived>, Vec<Arrived>) =
            asked.chain(others).partition(|one| matches!(one.asked, Ok(Input::StopAsked { .. })));
        stops.into_iter().chain(others).collect()
    }

    /// Takes the snapshot that a checkpoint waits for, where one was left together with the end.
    fn keep_the_tree(&mut self) -> Result<()> {
        if !self.committer.run().tree_is_awaited() {
            return Ok(());
        }
        let kept = keep(self.world.tree(), self.committer.run())?;
        self.take(kept.into_iter().map(Arrived::from).collect())
    }

    /// The files of other tools as the run stands at its end.
    fn mirror(&mut self) -> Result<()> {
        let told = self.world.tree().mirror(self.committer.run());
        if told.is_empty() { Ok(()) } else { self.take(told.into_iter().map(Arrived::from).collect()) }
    }

    /// Sends the notices that are due. The run is at its end, and that is on record; whatever hangs, this is over soon.
    fn tell_people(&mut self, ending: Ending) -> Result<()> {
        let until = self.world.now().saturating_add(notices_time_max(ending)).expect("no calendar unit is added");
        loop {
            let now = self.world.now();
            if self.committer.run().notices_due().next().is_none() || now >= until {
                break;
            }
            let run = self.committer.run();
            if let Some(due) = run.notice_wanted(now)
                && let Some(sent) = self.world.tree().notify(run, due)?
            {
                self.take(vec![sent.into()])?;
                continue;
            }
            let happened = self.world.wait(NOTICE_LOOK_EVERY)?;
            if happened.inputs.iter().any(|input| matches!(input, Input::StopAsked { .. })) {
                break;
            }
        }
        let ended = self.world.tree().end_notices();
        ended.map_or(Ok(()), |ended| self.take(vec![ended.into()]))
    }

    /// Makes durable what came, and only then tells anybody.
    fn take(&mut self, arrived: Vec<Arrived>) -> Result<()> {
        let now = self.world.now();
        if mutant::is(Mutant::ActBeforeTheAppend) {
            return self.act_before_the_append(arrived, now);
        }
        let begun = Instant::now();
        let stepped = self.committer.take(arrived, now)?;
        if !stepped.events.is_empty() {
            tracing::debug!(events = stepped.events.len(), ms = begun.elapsed().as_millis(), "appended");
        }
        self.tell_of(&stepped);
        Ok(())
    }

    fn tell_of(&mut self, stepped: &Stepped) {
        let run = self.committer.run();
        for recorded in &stepped.events {
            if let Event::LimitHit(hit) = &recorded.event {
                self.world.limit_hit(run, hit);
            }
            tracing::debug!(seq = recorded.seq.0, kind = recorded.event.kind(), "event");
            let output = self.world.output();
            self.reporter.update(&Update::Event { recorded, run, output });
        }
    }

    /// Starts what is wanted and not in flight. Some of it is known at once and comes back as inputs.
    fn make_it_so(&mut self) -> Result<Vec<Arrived>> {
        self.world.demand_in_place()?;
        let at_once = act(self.world, self.committer.run())?;
        self.world.demand_in_place()?;
        Ok(at_once)
    }

    /// A deliberate mistake, which the simulator must notice.
    fn act_before_the_append(&mut self, arrived: Vec<Arrived>, now: Timestamp) -> Result<()> {
        let mut ahead = self.committer.run().clone();
        for input in arrived.iter().filter_map(|one| one.asked.as_ref().ok()) {
            let _ = run::step(&mut ahead, input, "", now);
        }
        act(self.world, &ahead)?;
        let stepped = self.committer.take(arrived, now)?;
        self.tell_of(&stepped);
        Ok(())
    }

    /// Sleeps until something happens and says what it was.
    fn wait(&mut self) -> Result<Vec<Arrived>> {
        let happened = self.world.wait(self.sleep())?;
        self.world.demand_in_place()?;
        // First, so that nothing of what else came is started against a limit that is closed.
        let closed = self.world.limits_elsewhere(self.committer.run());
        let group = self.world.group(self.committer.run());
        let heard = closed.into_iter().chain(happened.inputs).chain(group);
        let mut arrived = self.stop_first(heard.map(Arrived::from).collect());
        if happened.status_asked {
            let view = self.world.status(self.committer.run());
            self.reporter.update(&Update::Status(&view));
        }
        if happened.posted || self.committer.store().changed()? {
            arrived.extend(inbox::waiting(&mut self.committer, self.world.tree())?);
        }
        if arrived.is_empty() {
            let (now, output) = (self.world.now(), self.world.output());
            self.reporter.update(&Update::Tick { run: self.committer.run(), now, output });
            arrived.push(Input::Tick.into());
        }
        Ok(arrived)
    }

    fn sleep(&self) -> Duration {
        let now = self.world.now();
        let due = run::wanted(self.committer.run(), now).into_iter().filter_map(|effect| match effect {
            Effect::WakeAt(time) => Duration::try_from(time.duration_since(now)).ok(),
            Effect::Perform { .. }
            | Effect::Recover { .. }
            | Effect::Probe { .. }
            | Effect::Replan { .. }
            | Effect::Require { .. }
            | Effect::LabelIssue { .. }
            | Effect::Stop { .. }
            | Effect::MarkPhase { .. }
            | Effect::Notify { .. }
            | Effect::Snapshot
            | Effect::Mirror
            | Effect::Integrate { .. }
            | Effect::RemoveWorktree { .. }
            | Effect::Commit { .. } => None,
        });
        due.chain([LOOK_EVERY]).min().unwrap_or(LOOK_EVERY)
    }
}

fn is_without_a_store(why: &Error) -> bool {
    matches!(why, Error::Store(StoreError::Gone { .. }))
}

fn act(world: &mut dyn World, run: &Run) -> Result<Vec<Arrived>> {
    let mut at_once = Vec::new();
    for effect in run::wanted(run, world.now()) {
        let input = match effect {
            Effect::Perform { phase, attempt } => world.perform(run, &phase, attempt)?,
            Effect::Recover { phase, attempt } => Some(world.recover(run, &phase, attempt)?),
            Effect::Stop { phase, attempt, by, urgency } => world.stop(&phase, attempt, by, urgency)?,
            Effect::Probe { phase } => world.probe(run, &phase)?,
            Effect::Replan { phase } => world.replan(run, &phase)?,
            Effect::Require { phase } => world.require(run, &phase)?,
            Effect::LabelIssue { phase } => world.label_issue(run, &phase)?,
            Effect::MarkPhase { phase } => Some(world.tree().mark(run, &phase)?),
            Effect::Notify { .. } => match run.notice_wanted(world.now()) {
                Some(due) => world.tree().notify(run, due)?,
                None => None,
            },
            Effect::Snapshot | Effect::Commit { .. } if world.tree_is_busy() => None,
            Effect::Snapshot => {
                at_once.extend(keep(world.tree(), run)?.into_iter().map(Arrived::from));
                None
            }
            Effect::Mirror => {
                at_once.extend(world.tree().mirror(run).into_iter().map(Arrived::from));
                None
            }
            Effect::Integrate { phase } => world.integrate(run, &phase)?,
            Effect::RemoveWorktree { phase } => world.remove_worktree(run, &phase)?,
            Effect::Commit { number } => Some(world.tree().commit(run, number)?),
            Effect::WakeAt(_) => None,
        };
        at_once.extend(input.map(Arrived::from));
    }
    Ok(at_once)
}
