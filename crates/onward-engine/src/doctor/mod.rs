//! Looking everything over: what is wrong, where, what is kept all the same, and what to do. Changes nothing, unless
//! [`Onward::repair`](crate::Onward::repair) is asked for.

mod attempts;
mod checkpoints;
mod checkup;
mod code;
mod findings;
mod foreign;
mod places;
mod put_store_aside;
mod rebuild;
mod recover;
mod remotes;
mod repair;
mod repair_folder;
mod runs;
mod stored_form;

pub(crate) use crate::vcs::journal_piece::CopiedJournal;
pub use code::{DoctorCode, DoctorSeverity};
pub use findings::{DoctorFinding, Findings, Soundness, StoreFacts};
pub(crate) use rebuild::replay;
pub(crate) use recover::{Copies, copies, lost_project, repository};
pub use repair::{Repair, Repaired};
pub(crate) use repair_folder::{RepairFolder, notes};
