//! Starting: find the unfinished run of the same work, gather what has changed since, and begin or go on.

pub(crate) mod agent_files;
pub(crate) mod changed_files;
pub(crate) mod dry_run;
mod ends_found;
pub(crate) mod findings;
mod groups;
pub(crate) mod lost_runs;
pub(crate) mod meant_work;
mod new_run;
pub(crate) mod offers;
pub(crate) mod open_question;
pub(crate) mod prepared_plan;
mod put_away;
pub(crate) mod request;
mod requirements;
pub(crate) mod starting;
mod unknown_costs;
