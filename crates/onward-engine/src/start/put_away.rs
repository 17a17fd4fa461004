//! Archiving an unfinished run that a fresh start leaves behind, once nothing of it is at work any more.

use onward_core::event::Orphans;
use onward_core::run::Run;

use crate::Onward;
use crate::attendant::{self, end_attempt};
use crate::drive::reporter::Reporter;
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::start::findings::Unfinished;
use crate::sys::file_lock::LOCK_LOOK_EVERY;
use crate::sys::stop;

impl Onward {
    /// Waits until nothing of a run is at work any more, or ends it.
    pub(super) fn see_the_end_of(
        &mut self,
        old: &Unfinished,
        orphans: Option<Orphans>,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        let held = |folder: &attendant::AttemptFolder| attendant::is_at_work(folder).unwrap_or(false);
        for folder in self.at_work(&old.run).iter().filter(|folder| held(folder)) {
            if orphans == Some(Orphans::Kill) {
                end_attempt(folder).map_err(|why| Error::Refused { run: old.run.id.clone(), reasons: vec![why] })?;
                continue;
            }
            let note = format!("run {} has a phase at work, and its end is waited for", old.run.id);
            reporter.update(&crate::Update::Note(&note));
            while held(folder) {
                stop::demand_none()?;
                std::thread::sleep(LOCK_LOOK_EVERY);
            }
        }
        let said = self.notices.len();
        self.end_integration_of(&old.run.id)?;
        for note in self.notices.split_off(said) {
            reporter.update(&crate::Update::Note(&note));
        }
        Ok(())
    }

    /// Archives an unfinished run and starts nothing; phases that are still at work are waited for or ended first.
    pub fn put_away_unfinished(
        &mut self,
        one: &Unfinished,
        orphans: Option<Orphans>,
        reporter: &mut dyn Reporter,
    ) -> Result<()> {
        self.see_the_end_of(one, orphans, reporter)?;
        self.put_away(one)?;
        self.learn_newest();
        Ok(())
    }

    fn at_work(&self, run: &Run) -> Vec<attendant::AttemptFolder> {
        let attempts = run.running().filter_map(|(phase, state)| Some((&phase.id, state.attempt.as_ref()?.number)));
        attempts.map(|(phase, number)| shell::folder(&self.project, run, phase, number)).collect()
    }

    /// Archives a run that a fresh start leaves behind. Somebody may have gone on with it while its end was waited for.
    pub(super) fn put_away(&mut self, old: &Unfinished) -> Result<()> {
        self.archive(&old.run.id)
    }
}
