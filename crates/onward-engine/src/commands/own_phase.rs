//! Inside a phase: a phase reports on itself, and on runs that it started. All else is for others to say.

use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use onward_core::id::{PhaseId, RunId};
use onward_core::plan::Body;
use onward_core::run::Run;
use onward_core::run::agents::REMAINING_OUTPUT;
use onward_core::run::iteration::nothing_remains;
use onward_store::private;

use super::external_phases::{PhaseReport, Reported, next_of};
use crate::Onward;
use crate::attendant::{AttemptFolder, notes};
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::journal;
use crate::start::starting::actor;
use crate::sys::caller_guard::{CallingPhase, calling_phase};

impl Onward {
    /// Refuses what a phase says about another one, or about a run that it has not started. Whoever is in no phase of this project
    /// may say it.
    pub(crate) fn demand_own_phase(&mut self, run: &RunId, about: Option<&PhaseId>) -> Result<()> {
        let Some(CallingPhase { run: own, phase }) = calling_phase(&self.project) else { return Ok(()) };
        let no = |reason: String| Err(Error::Declined { reason });
        if own == *run {
            return match about {
                Some(other) if *other != phase => no(format!(
                    "this command comes from phase {phase}, which reports on itself alone: somebody outside of the run's phases has to \
                     report on {other}"
                )),
                Some(_) | None => Ok(()),
            };
        }
        // The run of another project says nothing about this one.
        if self.find_run(Some(own.as_str())).is_err() || self.began_it(run)? {
            return Ok(());
        }
        no(format!(
            "this command comes from phase {phase} of run {own}, which says nothing about run {run}: somebody outside of the run's \
             phases has to"
        ))
    }

    /// Whether the phase that this command comes from started the run.
    fn began_it(&mut self, run: &RunId) -> Result<bool> {
        let own = actor(&self.project);
        Ok(journal::first_author(self.inspection()?, run)?.is_some_and(|author| author == own))
    }

    /// The answer to what the attempt at work at a phase says about itself, where the phase is no external one; none where something
    /// else is said.
    pub(crate) fn of_the_attempt_at_work(
        &mut self,
        run: &Run,
        id: &PhaseId,
        report: &PhaseReport,
    ) -> Result<Option<Reported>> {
        let own = calling_phase(&self.project).is_some_and(|calling| calling.run == run.id && calling.phase == *id);
        let attempt = run.phase_state(id).and_then(|state| state.attempt.as_ref()).map(|attempt| attempt.number);
        let (Some(phase), Some(number)) = (run.plan().phase(id), attempt.filter(|_| own)) else { return Ok(None) };
        let folder = shell::folder(&self.project, run, id, number);
        let reason = match &phase.body {
            Body::Agent(_) => said_by_an_agent(&folder, id, report)?,
            Body::Run { .. } => said_by_a_command(&folder, id, report)?,
            Body::Approval(_) | Body::External(_) | Body::Uses(_) => return Ok(None),
        };
        Ok(Some(Reported { accepted: reason.is_none(), reason, next: next_of(&self.project, run) }))
    }
}

/// The words of an agent about the attempt that it is in, as if it had written it itself; gives why it is not taken as it was said.
fn said_by_an_agent(folder: &AttemptFolder, id: &PhaseId, report: &PhaseReport) -> Result<Option<String>> {
    match report {
        PhaseReport::Start => Ok(None),
        PhaseReport::Progress { note } => note_progress(folder, note.as_deref()),
        PhaseReport::Done(done) => {
            let words = done.remaining.split_whitespace().collect::<Vec<_>>().join(" ");
            let remains = !nothing_remains(&words);
            let words = if remains { notes::cut_to_note(&words) } else { "" };
            add_line(&folder.result_path(), &format!("{REMAINING_OUTPUT}={words}"))?;
            Ok(Some(if remains {
                format!("it says it is done, but this remains: {words}; when this turn has ended, {id} goes on with it")
            } else {
                format!(
                    "{id} is done when its agent has ended its turn and the checks agree: end it, and report nothing"
                )
            }))
        }
        PhaseReport::Fail { .. } => Ok(Some(format!(
            "{id} is at work: say what remains with  onward report done {id} --remaining TEXT  or ask for another plan with  onward \
             report replan {id} --reason TEXT, and end the turn"
        ))),
    }
}

/// The same of a command.
fn said_by_a_command(folder: &AttemptFolder, id: &PhaseId, report: &PhaseReport) -> Result<Option<String>> {
    match report {
        PhaseReport::Start => Ok(None),
        PhaseReport::Progress { note } => note_progress(folder, note.as_deref()),
        PhaseReport::Done(_) => Ok(Some(format!(
            "{id} is not for others to do: it is done when its command ends with code 0, and ends with another one while work remains"
        ))),
        PhaseReport::Fail { .. } => Ok(Some(format!(
            "{id} is not for others to do: it fails when its command ends with another code than 0, and its last words are the reason"
        ))),
    }
}

fn note_progress(folder: &AttemptFolder, note: Option<&str>) -> Result<Option<String>> {
    if let Some(note) = note.and_then(notes::reported_note) {
        add_line(&folder.progress_path(), &note)?;
    }
    Ok(None)
}

/// Adds a line of its own to a file of the phase, whatever stands at its end.
fn add_line(path: &Path, line: &str) -> Result<()> {
    let written = private::open_to_write(path).and_then(|mut file| {
        file.seek(SeekFrom::End(0))?;
        file.write_all(format!("\n{line}\n").as_bytes())
    });
    written.map_err(Error::io(format!("writing {}", path.display())))
}
