//! A run that waits for the person at the terminal of its driver: it stays in that driver's hand. What others say meanwhile is
//! answered and written down, and once it changes what is asked, or what could be started, the prompt is taken back.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use onward_core::event::Event;
use onward_core::id::{PhaseId, RunId};
use onward_core::question::{DueApproval, due_approvals};
use onward_core::run::{Ending, PhaseStatus, Run};
use onward_store::LeaseKind;

use crate::Onward;
use crate::drive::keyframes::KeepNothing;
use crate::drive::{Committer, inbox};
use crate::error::Result;
use crate::journal;
use crate::start::starting::actor;
use crate::sys::patient_io::{self, Readable};
use crate::vcs::working_tree::WorkingTree;

/// How often it is looked whether others have said something.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The end of a wait for a line.
#[derive(Debug)]
pub enum AtThePrompt {
    /// There is something to read.
    Typed,
    /// The run is another one than it was when the person was asked.
    Moved(Vec<AnsweredElsewhere>),
    /// Somebody wants out.
    GivenUp,
}

/// An answer that somebody gave in another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredElsewhere {
    pub phase: PhaseId,
    pub choice: String,
    pub by: String,
}

/// All on which the question depends, and whether something can be started.
#[derive(PartialEq)]
struct Standing {
    due: Vec<DueApproval>,
    statuses: Vec<PhaseStatus>,
    ending: Option<Ending>,
    archived: bool,
}

impl Standing {
    fn new(run: &Run) -> Self {
        let statuses = run.phases().map(|(_, state)| state.status).collect();
        Self { due: due_approvals(run), statuses, ending: run.ending(), archived: run.archived }
    }
}

impl Onward {
    /// Holds a run that waits for a person, until a line can be read or the run has moved on without it.
    pub fn hold_at_the_prompt(&mut self, id: &RunId, typed: &impl AsFd) -> Result<AtThePrompt> {
        let lease = self.take_lease(id, LeaseKind::Driving)?;
        let run = self.load(id)?;
        let mut run = self.demand_no_files_halfway(run, &lease)?;
        let (asked, since) = (Standing::new(&run), run.seq);
        let mut tree = WorkingTree::of(&self.project, run.started.worktree.as_deref());
        let (actor, mut keep) = (actor(&self.project), KeepNothing);
        let mut committer = Committer::new(self.store()?, &lease, &mut keep, &mut run, &actor);
        loop {
            inbox::answer_all(&mut committer, &mut tree, Timestamp::now())?;
            if Standing::new(committer.run()) != asked {
                inbox::tell_people(&mut committer, &mut tree)?;
                // Whoever answered asks in a moment who drives the run.
                let _ = patient_io::readable_until(typed, Instant::now() + LOOK_EVERY);
                break;
            }
            match patient_io::readable_until(typed, Instant::now() + LOOK_EVERY) {
                Readable::Yes => return Ok(AtThePrompt::Typed),
                Readable::NotYet => {}
                Readable::GivenUp => return Ok(AtThePrompt::GivenUp),
            }
        }
        drop(lease);
        let told = journal::events(self.store()?, id, since)?;
        Ok(AtThePrompt::Moved(told.iter().filter_map(|recorded| answered(&recorded.event)).collect()))
    }
}

fn answered(event: &Event) -> Option<AnsweredElsewhere> {
    let (phase, choice, by) = match event {
        Event::ApprovalAnswered { phase, choice, by } => (phase, choice.clone(), by),
        Event::CallAnswered { phase, answer, by, .. } => (phase, answer.as_str().to_owned(), by),
        _ => return None,
    };
    Some(AnsweredElsewhere { phase: phase.clone(), choice, by: by.clone() })
}
