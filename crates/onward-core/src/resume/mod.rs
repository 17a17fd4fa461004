//! Whether an unfinished run may simply go on, must be asked about, or must not go on.
//!
//! `finding` is the table: what can be found, how much it weighs, what answers it. `decide` applies it. The rest says
//! what was found: in the record of the run ([`observe`]), in the files of finished phases ([`stale`]) and in the world
//! around them ([`world`]).

mod age;
mod branch;
mod changed_outputs;
mod decide;
mod finding;
mod line_diff;
pub mod markers;
mod observe;
mod page;
mod plan_edit;
pub mod stale;
mod stale_dependents;
pub mod world;

pub use changed_outputs::{count_lines, has_lines, reworked};
pub use decide::{Accept, Answers, Decision, Offered, RunStanding, Verdict, Wording, decide};
pub use finding::{AnsweredBy, FileChanged, Finding, FindingKind, Weight};
pub use line_diff::lines_changed;
pub use observe::{Auto, BranchFact, HeadMoved, PlanFact, ResumeFacts, files_came_in, observe, worktrees_left};
pub use page::table;
pub use plan_edit::{approvals_taken, left_behind, plan_edits, plan_edits_in_full, tell_plan_edits};
