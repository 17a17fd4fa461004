//! The kit that the tests of onward share. Nothing here is part of the product.
//!
//! [`TestProject`] is a folder of its own with the real binary in it, [`Running`] a command at work, [`Ran`] one that has
//! ended, [`Terminal`] a command in front of a person. [`tidy`] holds the house rules that a machine can check.
//!
//! A story reads like this:
//!
//! ```no_run
//! # use onward_testkit::TestProject;
//! # let binary = "onward";
//! // In a test of the binary's crate: TestProject::new(env!("CARGO_BIN_EXE_onward")).
//! let project = TestProject::new(binary);
//! project.plan(
//!     "
//!     onward: 1
//!     name: demo
//!     phases:
//!       a: { run: step a }
//!       b: { needs: a, run: step b hold }
//!     ",
//! );
//! let first = project.start(["run"]);
//! project.wait_ledger("begin", "b", 1);
//! project.kill_everything();
//! first.wait_code(137);
//! project.open("b");
//! project.command(["run", "--resume"]).expect(0);
//! project.ran_once(["a"]);
//! ```
//!
//! Nothing sleeps for luck: [`wait_until`] asks again and again until a condition holds or a limit is reached.

pub mod kept;
mod ledger;
mod process;
mod project;
mod ran;
pub mod rig;
mod running;
pub mod sim;
mod terminal;
pub mod tidy;
mod wait;
mod write_lock;

pub use ledger::{LedgerEntry, parse_ledger};
pub use nix::sys::signal::Signal;
pub use process::{is_alive, send};
pub use project::TestProject;
pub use ran::Ran;
pub use running::Running;
pub use terminal::Terminal;
pub use wait::{LIMIT, has_room, wait_until, wait_within};
pub use write_lock::WriteLock;
