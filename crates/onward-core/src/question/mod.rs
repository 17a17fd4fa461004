//! Questions that only a person can answer: the reasons, and every legal answer as a command that can be typed.
//!
//! Every question about a run is built here, so that the same answer has the same words wherever it is offered, and an answer
//! that would be refused is offered nowhere. Front ends render them.

mod after_stop;
mod approval;
mod before_start;
mod commands;
mod pick;
mod types;

pub use after_stop::{FailedPhase, after_stop, asks, failed, of_doubts};
pub use approval::{ApprovalReply, DueApproval, due_approvals};
pub use before_start::{fresh_start, fresh_start_after_a_loss, on_resume, unanswered, undo_takes_work, which_run};
pub use commands::{TypedWords, quoted};
pub use pick::{pickable, picked};
pub use types::{Offer, Question};
