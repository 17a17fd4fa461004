//! Plans that an agent writes: what it is told, what it is told again where its plan is wrong, and where the plan stands in what
//! it says. Carrying out the conversation is the engine's.

mod answer;
mod format;
mod prompt;

pub use answer::{NoPlanText, plan_text};
pub use format::about_plans;
pub use prompt::{ReplanTold, correction, for_a_replan, for_a_task, no_plan, refused};

/// How often an agent is told what is wrong with its plan before it is given up.
pub const CORRECTIONS_MAX: u32 = 2;
