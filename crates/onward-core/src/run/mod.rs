//! A run: the fold of its journal.
//!
//! [`step`] is the one way forward: what happened is decided into events, the events are folded, and what follows from
//! the new state is recorded too. Nothing here acts; the caller makes the events durable first and only then looks at
//! [`wanted`].

pub mod admission;
pub mod agent_calls;
pub mod agents;
mod apply;
pub mod budgets;
pub mod cache;
pub mod commit_text;
mod compound;
pub mod context;
pub mod counting;
pub mod deadline;
mod decide;
mod derived_state;
mod external_phases;
mod failed_attempts;
pub mod groups;
mod index;
mod issue_labels;
pub mod iteration;
pub mod limits;
mod lost_effects;
mod messages_and_knowledge;
mod never_ready;
pub mod notices;
pub mod order;
mod plan_change;
mod plan_marks;
pub mod readiness;
mod readiness_upkeep;
mod redacted_values;
pub mod replans;
mod requirements;
mod resume_ahead;
mod resume_reason;
pub mod schedule;
mod sections;
mod settle;
mod skip_and_expand;
mod state;
mod step;
mod team;
pub mod transient;
pub mod transitions;
pub mod vcs;
pub mod verification;
pub mod wait_limits;
mod wanted;
mod work_since;
pub mod worktrees;

pub use decide::{Refusal, clean_retry, ends_with, is_legal, preview_revised};
pub use external_phases::{ExternalState, NoNext};
pub use issue_labels::{IssueLabels, LabelRule};
pub use plan_marks::PlanMarks;
pub use redacted_values::MARK;
pub use requirements::RequirementState;
pub use resume_ahead::ResumeAhead;
pub(crate) use resume_ahead::{NotReached, left_out_by_its_past};
pub use state::{
    AdoptedPhase, Before, EarlierKey, Ending, PhaseState, PhaseStatus, ProbeDue, Run, RunStatus, RunningAttempt,
};
pub use step::{
    Stepped, as_stored, checkpoint_at, fold, is_settled, preview, preview_inputs, start, start_with_ids, step,
};
pub use wanted::wanted;
pub use work_since::worked_on_since_rewind;
