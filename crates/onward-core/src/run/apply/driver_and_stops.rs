//! Facts about the run as a whole: its drivers, stops, batches, its state document and its end.

use jiff::Timestamp;

use crate::checkpoint::Trigger;
use crate::event::{Event, RunResult, StopRequest, Urgency};
use crate::patch::{self, Op};
use crate::run::state::Run;

impl Run {
    pub(super) fn driver_started(&mut self, event: &Event) {
        let Event::DriverStarted { epoch, boot, jobs, orphans, head, only, bounds, environment, .. } = event else {
            return;
        };
        assert!(*epoch > self.epoch, "run {}: the epoch of a driver only rises", self.id);
        (self.epoch, self.jobs, self.orphans) = (*epoch, *jobs, *orphans);
        self.boot.clone_from(boot);
        (self.result, self.stop, self.stopped) = (None, None, None);
        self.only.clone_from(only);
        self.bounds_told(bounds);
        self.group = None;
        self.vcs.head.clone_from(head);
        (self.vcs.held, self.marks.held) = (false, false);
        self.labels.anew();
        self.probe_again();
        self.requirements_anew();
        if self.environment != *environment {
            self.environment.clone_from(environment);
            self.spread_to(self.derived.index.by_variables.clone());
        }
    }

    pub(super) fn batch_completed(&mut self, batch: u32) {
        self.batches_recorded.insert(batch);
        self.make_due(Trigger::BatchComplete, None);
    }

    pub(super) fn stop_asked(&mut self, by: StopRequest, urgency: Urgency, at: Timestamp) {
        self.stop_asked_at = Some(at);
        self.stop = Some((by, urgency));
        match by {
            StopRequest::Interrupt | StopRequest::Cancel => self.make_due(Trigger::UserInterrupt, None),
            StopRequest::SessionEnd | StopRequest::Hangup | StopRequest::Deadline => {
                self.make_due(Trigger::SessionEnd, None);
            }
            StopRequest::Failure | StopRequest::OrphanKill | StopRequest::Pause | StopRequest::Rewind => {}
        }
    }

    pub(super) fn run_ended(&mut self, result: RunResult) {
        assert!(self.derived.running.is_empty(), "run {} ends with phases at work", self.id);
        self.result = Some(result);
    }

    pub(in crate::run) fn change_state(&mut self, ops: &[Op]) {
        let grown = patch::apply_and_measure(&mut self.state, ops);
        let grown = grown.expect("a change was seen to fit before it was recorded");
        self.derived.state_size = self.derived.state_size.grown(grown);
        // A checkpoint that is whole has the state itself: a copy of what led to it would only take room.
        if self.last_checkpoint.is_some() && !self.whole_is_due {
            self.dirty.state.extend(ops.iter().cloned());
        }
    }
}
