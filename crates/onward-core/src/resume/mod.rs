//! Whether an unfinished run may simply go on, must be asked about, or must not go on.
//!
//! `finding` is the table: what can be found, how much it weighs, what answers it. `decide` applies it. The rest says
//! what was found: in the record of the run ([`observe`]), in the files of finished phases ([`stale`]) and in the world
//! around them ([`world`]).

mod age;
mod branch;
mod decide;
mod edges;
mod finding;
mod lines;
pub mod markers;
mod observe;
mod outside;
mod page;
mod plan_edit;
pub mod stale;
pub mod world;

pub use decide::{Accept, Answers, Decision, Offered, RunStanding, Verdict, Wording, decide};
pub use finding::{AnsweredBy, FileChanged, Finding, FindingKind, Weight};
pub use lines::lines_changed;
pub use observe::{Auto, BranchFact, HeadMoved, PlanFact, ResumeFacts, observe};
pub use outside::{count_lines, has_lines, reworked};
pub use page::table;
pub use plan_edit::{plan_edits, tell_plan_edits};
