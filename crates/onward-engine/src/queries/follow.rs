//! Following a run while somebody drives it: what its phases print, and how far it is.

use std::collections::BTreeMap;

use onward_core::id::{Attempt, PhaseId, RunId};
use onward_core::run::Run;
use onward_store::private;

use super::runs::require_phase;
use crate::Onward;
use crate::attendant::{self, Follower};
use crate::error::Result;
use crate::executor::shell;

/// Pieces of output that are given out at once.
const PIECES_MAX: usize = 64;

/// A run whose output is followed.
#[derive(Debug)]
pub struct Followed {
    pub run: RunId,
    /// One phase, or all of them.
    phase: Option<String>,
    attempts: BTreeMap<(usize, PhaseId, Attempt), Follower>,
    loaded: Option<Box<Run>>,
    /// Everybody who could print has ended.
    over: bool,
}

/// A piece of the output of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    pub phase: PhaseId,
    pub attempt: Attempt,
    pub bytes: Vec<u8>,
}

impl Onward {
    /// Prepares to follow the output of a run from its beginning.
    pub fn follow(&mut self, name: Option<&str>, phase: Option<&str>) -> Result<Followed> {
        let run = self.find_run(name)?;
        if let Some(phase) = phase {
            require_phase(&self.load(&run)?, phase)?;
        }
        let phase = phase.map(str::to_owned);
        Ok(Followed { run, phase, attempts: BTreeMap::new(), loaded: None, over: false })
    }

    /// The output since the last call; none once nobody is at work any more and all was given out.
    pub fn printed(&mut self, followed: &mut Followed) -> Result<Option<Vec<Printed>>> {
        if !followed.over {
            // Asked first: what is printed until then is read below.
            followed.over = self.is_at_rest(&followed.run)?;
            if followed.loaded.is_none() || followed.over || self.store()?.changed()? {
                followed.loaded = Some(Box::new(self.load(&followed.run)?));
            }
            self.find_attempts(followed);
        }
        let mut all = Vec::new();
        for ((_, phase, attempt), follower) in &mut followed.attempts {
            while all.len() < PIECES_MAX {
                // What cannot be read is not shown; the others are.
                let bytes = follower.read().unwrap_or_default();
                if bytes.is_empty() {
                    break;
                }
                all.push(Printed { phase: phase.clone(), attempt: *attempt, bytes });
            }
        }
        Ok(if all.is_empty() && followed.over { None } else { Some(all) })
    }

    /// Whether nobody drives the run and nothing of it is at work.
    pub fn is_at_rest(&mut self, id: &RunId) -> Result<bool> {
        if self.driver(id)?.is_some() {
            return Ok(false);
        }
        let run = self.load(id)?;
        let at_work = run.running().any(|(phase, state)| {
            state.attempt.as_ref().is_some_and(|attempt| {
                attendant::is_at_work(&shell::folder(&self.project, &run, &phase.id, attempt.number)).unwrap_or(false)
            })
        });
        Ok(!at_work)
    }

    fn find_attempts(&self, followed: &mut Followed) {
        let Some(run) = followed.loaded.take() else { return };
        let meant = |id: &PhaseId| followed.phase.as_deref().is_none_or(|wanted| wanted == id.as_str());
        for (place, (phase, state)) in run.phases().enumerate().filter(|(_, (phase, _))| meant(&phase.id)) {
            for number in 1..=state.attempts {
                let key = (place, phase.id.clone(), Attempt(number));
                let folder = shell::folder(&self.project, &run, &phase.id, Attempt(number));
                // A link on the way may lead to what somebody else wants shown.
                if !followed.attempts.contains_key(&key)
                    && private::demand_folders(&self.project.store_folder(), folder.path()).is_ok()
                {
                    followed.attempts.insert(key, Follower::new(folder.path().to_owned()));
                }
            }
        }
        followed.loaded = Some(run);
    }
}
