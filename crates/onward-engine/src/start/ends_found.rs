//! Attempts that ended while nobody drove their run, and whose plan was edited since: they are judged by the plan under which they
//! were started, and what the edit means is asked after that.

use jiff::Timestamp;
use onward_core::event::{Orphans, Outcome, PlanRevised};
use onward_core::input::{AttemptEnd, EndFound, Input};
use onward_core::run::{self, Run};

use crate::Onward;
use crate::attendant::{self, end_attempt};
use crate::drive::running_attempt::{Flight, Landed, end_told};
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::probe::phase::ProofLook;
use crate::start::findings::Unfinished;
use crate::sys::file_lock::LOCK_LOOK_EVERY;
use crate::sys::stop;
use crate::trust;

impl Onward {
    /// The run as it will stand once these ends are recorded. Nothing is written, and no file of the project is read.
    pub(super) fn with_ends_told(&self, run: Run) -> Run {
        if trust::doubt(&self.project).is_some() {
            return run;
        }
        let told = run.running().filter_map(|(phase, state)| {
            let attempt = state.attempt.as_ref()?;
            let folder = shell::folder(&self.project, &run, &phase.id, attempt.number);
            let look = ProofLook::new(&self.project, &run, phase).without_files();
            let end = end_told(&folder, &attempt.boot, &look)?;
            Some(Input::AttemptEnded { phase: phase.id.clone(), attempt: attempt.number, end })
        });
        let told: Vec<Input> = told.collect();
        run::preview_inputs(run, &told, Timestamp::now())
    }

    /// The ends in full, for whoever has the lease. One that never ran is started anew where the edited plan still has its phase.
    pub(super) fn ends_before_the_edit(
        &self,
        run: &Run,
        revised: &PlanRevised,
        head: Option<&str>,
    ) -> Result<Vec<EndFound>> {
        let mut ends = Vec::new();
        for (phase, state) in run.running() {
            let attempt = state.attempt.as_ref().expect("a running phase has its attempt");
            let folder = shell::folder(&self.project, run, &phase.id, attempt.number);
            let look = ProofLook::new(&self.project, run, phase);
            let is_gone = revised.plan.phase(&phase.id).is_none();
            let end = match Flight::recovered(folder, attempt.number, &attempt.boot, look) {
                Landed::Ended(end) => AttemptEnd { head: head.map(str::to_owned), ..end },
                Landed::NeverStarted if is_gone => AttemptEnd::bare(Outcome::NeverRan),
                Landed::Flying(_) if is_gone => {
                    return Err(Error::PhaseLives { run: run.id.clone(), phase: phase.id.clone() });
                }
                Landed::NeverStarted | Landed::Flying(_) => continue,
            };
            ends.push(EndFound { phase: phase.id.clone(), attempt: attempt.number, end });
        }
        Ok(ends)
    }

    /// Waits until phases are over that the edited plan leaves behind, or ends them.
    pub(super) fn see_the_end_of_left_behind(&self, one: &Unfinished, orphans: Orphans) -> Result<()> {
        for phase in one.left_behind().filter_map(|finding| finding.phase) {
            let number = one.run.phase_state(&phase).and_then(|state| state.attempt.as_ref()).map(|one| one.number);
            let Some(number) = number else { continue };
            let folder = shell::folder(&self.project, &one.run, &phase, number);
            let held = || attendant::is_at_work(&folder).unwrap_or(false);
            if orphans == Orphans::Kill && held() {
                end_attempt(&folder).map_err(|why| Error::Refused { run: one.run.id.clone(), reasons: vec![why] })?;
            }
            while held() {
                stop::demand_none()?;
                std::thread::sleep(LOCK_LOOK_EVERY);
            }
        }
        Ok(())
    }
}
