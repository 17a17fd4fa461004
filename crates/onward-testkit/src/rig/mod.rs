//! Rigs over the real binary: a plan that has everything, a ledger of effects outside, and faults at moments that nobody chose.
//!
//! `kills` ends processes of the tree at random moments; `faults` has system calls fail, and knows the registers of x86-64
//! only. Both go on until the run is complete, then the judge holds ledger, journal and all that was acknowledged against each other.

mod book;
#[cfg(target_arch = "x86_64")]
mod calls;
mod deeds;
#[cfg(target_arch = "x86_64")]
pub mod faults;
mod judge;
pub mod kills;
mod lane;
mod patience;
mod post;
#[cfg(target_arch = "x86_64")]
mod tracer;
mod tree;

pub use book::{BookLine, read_book};
#[cfg(target_arch = "x86_64")]
pub use calls::CallFault;
pub use judge::Disturbed;
pub use patience::{give_up, is_given_up};
#[cfg(target_arch = "x86_64")]
pub use tracer::{Aim, CallHit, Role, SeenCall, Traced};
