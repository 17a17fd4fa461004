//! Plans: what the author wrote, turned into [`Plan`] or into diagnostics.

mod model;

pub use model::*;
