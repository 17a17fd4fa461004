//! Verbs that a phase may not use on runs: an agent never grants itself what a person must.

use onward_engine::{Inside, Project, inside};

use super::here;
use crate::failure::Failure;

/// Refuses what runs inside a phase to grant itself what a person has to.
pub(super) fn refuse(done: &str) -> Result<(), Failure> {
    let from = here()?;
    let project = Project::find(&from).unwrap_or(Project::at(from));
    let Some(why) = inside(&project) else { return Ok(()) };
    let mut failure = Failure::usage(format!("nothing is {done} from inside a phase: a person has to do it"));
    failure.more.push(match why {
        Inside::Environment => "the environment of this command is that of a phase".to_owned(),
        Inside::Process(pid) => format!("process {pid} belongs to work on a run, and this command comes from it"),
        Inside::TooDeep => "this command has too many processes above it to tell where it comes from".to_owned(),
    });
    Err(failure)
}
