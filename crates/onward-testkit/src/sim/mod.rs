//! The simulator: random plans on a simulated machine, driven by the real driver over the real core, killed between any
//! two steps. A seed gives a world; what goes wrong in it goes wrong again.

mod agents;
mod compound;
pub(crate) mod dice;
mod edits;
mod external_phases;
mod facts;
mod foretold;
mod git;
mod limits;
mod markers;
mod messages_and_knowledge;
mod notices;
mod oracle;
mod plans;
mod play;
mod replans;
mod rewind;
mod silence;
mod store;
mod surroundings;
mod worktrees;
mod world;

pub use foretold::FORETOLD_WRONGLY;
pub use oracle::Coverage;
use play::ACTOR;
pub use play::{SeedTold, play, play_and_tell};
