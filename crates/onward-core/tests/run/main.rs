//! The rules of a run: inputs in, events out. Small stories in virtual time, told with one [`story::Story`].

mod agent_calls;
mod agents;
mod auto_resume;
mod brief;
mod budgets;
#[path = "../common/mod.rs"]
mod common;
mod compound;
mod cut_short;
mod external_phases;
mod failures;
mod foretold;
mod groups;
mod limits;
mod live_view;
#[cfg(feature = "mutants")]
mod mutants_of_agents;
mod notices;
mod orders;
mod replans;
mod rewinds;
mod rules;
mod sections;
mod shared;
mod stops;
mod story;
mod surroundings;
mod too_many_tasks;
mod tries;
mod waits_and_proofs;
mod worktrees;
