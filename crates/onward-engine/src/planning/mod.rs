//! Plans that an agent writes: for a task of a person, or for a run whose phase wants another one.
//!
//! A client is a process like that of an attempt: an attendant stays with it, keeps what it prints, watches the time and ends all
//! that it started. It is told what is wrong with its plan in the same session, at most
//! [`onward_core::planning::CORRECTIONS_MAX`] times.

mod client_turn;
mod conversation;
mod error;
mod replan;
mod task;

pub use client_turn::PlanningNews;
pub use conversation::PlanningCost;
pub use error::{PlanningError, WrongPlan};
pub(crate) use replan::{AgentReplan, ReplanDone, ReplanMade};
pub use task::{PlanTarget, PlannedTask, TaskRequest, plan_task};
