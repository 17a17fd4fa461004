//! The attendant: the small process that stays with one attempt.
//!
//! It holds the attempt's lock, keeps its output and writes its outcome, and it outlives the driver. Everything that a driver needs
//! to know about an attempt can be read from the attempt's folder, by whichever driver comes next:
//!
//! | file | written by | means |
//! |---|---|---|
//! | `lock` | driver | held by the attendant and by all that the phase started and that did not close it, as long as one of them lives |
//! | `STARTED` | attendant | the phase is about to be executed |
//! | `../../.begun` | attendant | the same, a line for each attempt of the run: what a phase does to its own folder does not reach it |
//! | `MAIN` | attendant | the main process of the phase, by number and start time |
//! | `EXIT` | attendant | the outcome; it counts whatever else is or is not there |
//! | `STOP` | driver | who wants the phase to end, and how urgently |
//! | `output`, `tail.0`, `tail.1`, `dropped` | attendant | the beginning and the end of what was printed, and how much was left out |
//! | `SESSION` | attendant | the session that an agent named last |
//! | `frames…`, `errors…` | attendant | what an agent printed, as it came; `output` then has it for people |
//! | `result`, `progress`, `summary` | phase | its outputs, its notes, what it says about its work |
//! | `verify.log` | driver | what the checks of the phase printed |
//! | `attendant.log` | attendant | why it could not do its duty; absent when all is well |

mod agent_output;
mod attend;
mod begun;
mod capture;
mod end_attempt;
mod ending;
mod find;
mod folder;
mod follow;
mod gone_folder;
pub(crate) mod logs;
pub(crate) mod notes;
pub(crate) mod old_output;
mod record;
mod spawn;
mod survivors;
mod wake;

pub use agent_output::ClientOrders;
pub use attend::main;
pub(crate) use end_attempt::end_attempt;
pub use find::{Adopted, AttemptFound, StopReached, ask_to_stop, find, is_at_work, kill};
pub(crate) use find::{attendant_of, end_by_force, is_attended, tell_to_stop};
pub(crate) use folder::open_plain;
pub use folder::{AttemptFolder, FolderError};
pub use follow::Follower;
pub(crate) use logs::CHECKS;
pub use logs::{Output, OutputsError};
pub use record::{AfterSuccess, ExitRecord, ProcessEnd, RecordError, Spec, Started, Stop};
pub(crate) use spawn::Orders;
pub use spawn::{ARGUMENT, Attending, SpawnError, spawn, tree_value};
pub(crate) use survivors::{Survivor, survivors};
