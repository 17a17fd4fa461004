//! What a phase may not do to runs: an agent never grants itself what a person must.

use crate::failure::Failure;

/// Whether this very command was started by a phase.
fn is_so() -> bool {
    std::env::var_os("ONWARD_RUN").is_some_and(|run| !run.is_empty())
}

/// Refuses what runs inside a phase to grant itself what a person has to.
pub(super) fn refuse(done: &str) -> Result<(), Failure> {
    if is_so() {
        Err(Failure::usage(format!("nothing is {done} from inside a phase: a person has to do it")))
    } else {
        Ok(())
    }
}
