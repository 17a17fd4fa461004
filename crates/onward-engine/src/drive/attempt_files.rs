//! The files of attempts for whoever watches a run: notes and the ends of outputs.

use onward_core::id::{Attempt, PhaseId};
use onward_core::run::Run;
use onward_core::tail;

use crate::attendant::AttemptFolder;
use crate::drive::reporter::AttemptOutput;
use crate::drive::running_attempt;
use crate::executor::shell;
use crate::project::Project;

/// How much is read of an output for each line that is wanted of it.
const LINE_BYTES: u64 = 1 << 10;

/// The attempts of a project, in their folders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptFiles<'a> {
    pub(crate) project: &'a Project,
}

impl AttemptFiles<'_> {
    fn folder(self, run: &Run, phase: &PhaseId, attempt: Attempt) -> AttemptFolder {
        shell::folder(self.project, run, phase, attempt)
    }
}

impl AttemptOutput for AttemptFiles<'_> {
    fn note(&self, run: &Run, phase: &PhaseId) -> Option<String> {
        let attempt = run.phase_state(phase)?.attempt.as_ref()?;
        running_attempt::note_shown(&self.folder(run, phase, attempt.number))
    }

    fn last_lines(&self, run: &Run, phase: &PhaseId, attempt: Attempt, lines_max: usize) -> Vec<String> {
        let end = self.folder(run, phase, attempt).output_end(bytes_max(lines_max)).unwrap_or_default();
        tail::last_lines(&end, lines_max)
    }

    fn last_lines_of_checks(&self, run: &Run, phase: &PhaseId, attempt: Attempt, lines_max: usize) -> Vec<String> {
        let end = self.folder(run, phase, attempt).checks_end(bytes_max(lines_max)).unwrap_or_default();
        tail::last_lines(&end, lines_max)
    }
}

fn bytes_max(lines: usize) -> u64 {
    LINE_BYTES * lines as u64
}
