//! Retention: which runs, checkpoints and outputs may be deleted and which must stay, each with a reason; and whether the clock
//! can be relied on. Nothing is deleted here: the caller shows the plan, and does what it says.

mod clock;
mod model;
mod plan;
mod size;

pub use clock::{ClockNote, ClockReading, ClockVerdict, judge_clock};
pub use model::{
    CheckpointFacts, KeepAge, KeepCount, LOGS_KEPT, LogFacts, Moment, Policy, PruneConsent, PruneItem, PruneLine,
    PrunePlan, RunAges, RunFacts, RunRetention,
};
pub use plan::plan;
