//! Starting: find the unfinished run of the same work, gather what has changed since, and begin or go on.

pub(crate) mod agent_files;
pub(crate) mod changed_files;
pub(crate) mod findings;
mod groups;
pub(crate) mod lost_runs;
pub(crate) mod meant_work;
pub(crate) mod offers;
pub(crate) mod open_question;
pub(crate) mod prepared_plan;
mod requirements;
pub(crate) mod starting;
mod uncounted;
