//! Changing a run from outside: what people, scripts and programs ask of it.

pub(crate) mod agent_session;
pub(crate) mod archive;
pub(crate) mod at_the_prompt;
pub(crate) mod external_phases;
pub(crate) mod fork;
pub(crate) mod housekeeping;
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod init_and_delete;
pub mod integration_steps;
pub(crate) mod own_phase;
mod pause;
pub(crate) mod plugin;
pub(crate) mod prune;
pub(crate) mod replan;
pub(crate) mod rewind;
pub mod rewind_steps;
pub(crate) mod saved_state;
pub(crate) mod share;
pub(crate) mod start_reported;
