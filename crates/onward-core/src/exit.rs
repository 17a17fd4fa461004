//! Exit codes: a contract with scripts.

/// All is done.
pub const DONE: u8 = 0;
/// The run ended with a failed phase.
pub const FAILED: u8 = 1;
/// The command line, the plan or the configuration is wrong.
pub const USAGE: u8 = 2;
/// `status --exit-code`: work is left.
pub const WORK_LEFT: u8 = 3;
/// No such project, run, phase or checkpoint.
pub const NOT_FOUND: u8 = 10;
/// Another live process drives this run.
pub const DRIVEN: u8 = 11;
/// Damaged data.
pub const DAMAGED: u8 = 12;
/// The resume is refused.
pub const REFUSED: u8 = 13;
/// An answer is needed and there is no terminal.
pub const ANSWER_NEEDED: u8 = 14;
/// An approval or a report is waited for.
pub const WAITING: u8 = 15;
/// The plan was revised as often as it may be.
pub const REPLAN_LIMIT: u8 = 16;
/// A format that is newer than this binary.
pub const NEWER: u8 = 17;
/// A bug in onward.
pub const BUG: u8 = 70;
/// The store cannot be written, and nothing was started; or the answer of a verb could not be written.
pub const STORE: u8 = 74;
/// Paused: run again.
pub const PAUSED: u8 = 75;
/// Added to the number of the signal that ended it.
pub const SIGNALS: u8 = 128;
/// The terminal was closed.
pub const HANGUP: u8 = 129;
/// Ctrl+C.
pub const INTERRUPT: u8 = 130;
/// SIGTERM.
pub const TERMINATED: u8 = 143;
