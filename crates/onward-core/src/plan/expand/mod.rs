//! Phases that become several: one for each combination of a matrix, or those of another plan.
//!
//! The phase itself stays, with `children`: it is never tried, it is done when they are, and what needs it waits for it. Its own
//! needs and its `if` are settled once, before any child starts. What is known when the run starts is taken apart by
//! [`at_start`]; what depends on outputs by [`children`] and [`insert`] when its turn comes.

mod carried;
mod children;
mod combinations;
mod error;
mod start;
mod used;

pub(crate) use carried::replaced;
pub use carried::{carried_over, joined};
pub use children::{children, insert, is_compound, outputs};
pub use combinations::{combinations, is_static};
pub use error::ExpandError;
pub use start::{PHASES_MAX, at_start, is_known};
pub(crate) use used::normal;
pub use used::{DEPTH_MAX, UsedFault, read_used};
