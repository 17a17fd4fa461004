//! The turn of a run among those of its group, asked for before it is driven.

use std::collections::BTreeMap;

use onward_core::id::RunId;
use onward_core::input::{BusyGroup, GroupSeen};
use onward_core::plan::{Plan, WhenBusy};

use crate::Onward;
use crate::drive::groups::GroupPlace;
use crate::error::{Error, Result};
use crate::sys::stop;

/// The run that a phase belongs to, in its environment.
const INSIDE_OF: &str = "ONWARD_RUN";

/// A place in a group, and who is in the way.
pub(super) struct AskedGroup {
    place: GroupPlace,
    seen: GroupSeen,
}

impl AskedGroup {
    /// The place as that of a run, which says who it is where it has the turn.
    pub(super) fn of_run(mut self, run: &RunId) -> Result<(GroupPlace, Option<BusyGroup>)> {
        self.place.is_of(run)?;
        let busy = match self.seen {
            GroupSeen::Entered => None,
            GroupSeen::Busy { by } => Some(BusyGroup { group: self.place.name.clone(), by }),
        };
        Ok((self.place, busy))
    }
}

impl Onward {
    /// Asks for the turn of a run in the group that its plan names. Where another one has it the plan says what follows: it is waited
    /// for, or the start is refused, or the other one is cancelled first.
    pub(super) fn enter_group(
        &mut self,
        plan: &Plan,
        inputs: &BTreeMap<String, String>,
        me: Option<&RunId>,
    ) -> Result<Option<AskedGroup>> {
        let Some(concurrency) = &plan.concurrency else { return Ok(None) };
        let mut place = GroupPlace::new(&self.project, concurrency.group_of(inputs));
        let mut seen = place.try_enter(&self.project, me)?;
        if let GroupSeen::Busy { by } = &seen {
            let (group, by) = (place.name.clone(), by.clone());
            match by.filter(|by| std::env::var(INSIDE_OF).is_ok_and(|run| run == by.as_str())) {
                Some(by) => return Err(Error::GroupOfItself { group, by }),
                None => seen = self.busy(concurrency.when_busy, &mut place, seen, me)?,
            }
        }
        Ok(Some(AskedGroup { place, seen }))
    }

    fn busy(
        &mut self,
        way: WhenBusy,
        place: &mut GroupPlace,
        seen: GroupSeen,
        me: Option<&RunId>,
    ) -> Result<GroupSeen> {
        let GroupSeen::Busy { by } = &seen else { return Ok(seen) };
        match (way, by) {
            (WhenBusy::Wait, _) | (WhenBusy::Cancel, None) => Ok(seen),
            (WhenBusy::Fail, by) => Err(Error::GroupBusy { group: place.name.clone(), by: by.clone() }),
            (WhenBusy::Cancel, Some(by)) => {
                let cancelled = self.cancel(Some(by.as_str()));
                stop::demand_none()?;
                // One that came to its end meanwhile, or does not answer, is waited for like any other.
                drop(cancelled);
                place.try_enter(&self.project, me)
            }
        }
    }
}
