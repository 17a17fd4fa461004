//! Pausing a run, and giving it up.

use onward_core::event::StopRequest;
use onward_core::id::RunId;
use onward_core::input::Posted;

use crate::Onward;
use crate::attendant::{self, end_attempt};
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::sys::file_lock::LOCK_LOOK_EVERY;
use crate::sys::stop;

/// How long phases without a driver are given to end by themselves: what their attendants take to ask, to insist and to
/// kill, and two seconds more.
const ORPHAN_LOOKS_MAX: u32 = 500;

impl Onward {
    /// Nothing more is started; what is at work comes to its end, and then the run is paused.
    pub fn pause(&mut self, name: Option<&str>) -> Result<RunId> {
        let run = self.find_run(name)?;
        self.post(&run, Posted::Pause)?;
        Ok(run)
    }

    /// Ends what is at work and puts the run away.
    pub fn cancel(&mut self, name: Option<&str>) -> Result<RunId> {
        let run = self.find_run(name)?;
        if self.driver(&run)?.is_none() {
            self.end_orphans(&run)?;
            self.end_integration_of(&run)?;
        }
        self.post(&run, Posted::Cancel)?;
        Ok(run)
    }

    /// Phases that outlived their driver are asked to end, and then made to.
    fn end_orphans(&mut self, id: &RunId) -> Result<()> {
        let run = self.load(id)?;
        let at_work = run.running().filter_map(|(phase, state)| Some((&phase.id, state.attempt.as_ref()?.number)));
        let folders: Vec<_> = at_work.map(|(id, number)| shell::folder(&self.project, &run, id, number)).collect();
        let held = |folder: &&attendant::AttemptFolder| attendant::is_at_work(folder).unwrap_or(false);
        for folder in folders.iter().filter(held) {
            // An attendant that cannot be reached is gone, and what it left is ended below.
            let _ = attendant::ask_to_stop(folder, StopRequest::Cancel);
        }
        for _ in 0..ORPHAN_LOOKS_MAX {
            if !folders.iter().any(|folder| held(&folder)) {
                return Ok(());
            }
            if let Some(signal) = stop::asked() {
                let done = "the phases at work were asked to end; the run itself is as it was";
                return Err(Error::HalfDone { signal, run: id.clone(), done });
            }
            std::thread::sleep(LOCK_LOOK_EVERY);
        }
        for folder in &folders {
            end_attempt(folder).map_err(|why| Error::Refused { run: id.clone(), reasons: vec![why] })?;
        }
        Ok(())
    }
}
