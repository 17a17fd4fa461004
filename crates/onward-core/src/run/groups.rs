//! Groups of runs that are not at work at the same time. The engine knows whose turn it is; what is on record here is that a
//! run waits, and that its turn has come. While it waits nothing is started; what is at work already comes to its end.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::Run;
use crate::event::Event;
use crate::id::RunId;
use crate::input::{BusyGroup, GroupSeen};

/// A group of which another run is at work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AwaitedGroup {
    pub group: String,
    /// The run that is at work, where it has said who it is.
    pub by: Option<RunId>,
    pub since: Timestamp,
}

impl AwaitedGroup {
    /// As it is told behind "waiting for".
    pub fn words(&self) -> String {
        let by = self.by.as_ref().map_or_else(|| "another run".to_owned(), |by| format!("run {by}"));
        format!("{by}, which is at work in the group {}", self.group)
    }
}

impl Run {
    /// The group that the present driver waits for.
    pub fn awaited_group(&self) -> Option<&AwaitedGroup> {
        self.group.as_ref()
    }

    /// The name of the run's group.
    pub fn group_name(&self) -> Option<String> {
        Some(self.plan().concurrency.as_ref()?.group_of(&self.started.inputs))
    }

    pub(super) fn group_awaited(&mut self, group: &str, by: Option<&RunId>, at: Timestamp) {
        let since = self.group.as_ref().map_or(at, |awaited| awaited.since);
        self.group = Some(AwaitedGroup { group: group.to_owned(), by: by.cloned(), since });
    }
}

pub(super) fn awaited(busy: &BusyGroup) -> Event {
    Event::GroupAwaited { group: busy.group.clone(), by: busy.by.clone() }
}

/// A look is a fact where it is news: the turn of the run has come, or it waits for another one than before.
pub(super) fn seen(run: &Run, seen: &GroupSeen) -> Option<Event> {
    let awaited = run.group.as_ref().filter(|_| run.ending().is_none())?;
    let group = awaited.group.clone();
    match seen {
        GroupSeen::Entered => Some(Event::GroupEntered { group }),
        GroupSeen::Busy { by } => {
            (by.is_some() && *by != awaited.by).then(|| Event::GroupAwaited { group, by: by.clone() })
        }
    }
}
