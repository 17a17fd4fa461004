//! The fold cache: a run as bytes, so that opening it costs the cache and the events behind it, not the whole journal.
//!
//! Private and dispensable: it may be dropped at any time, and what does not fit this version exactly is as good as
//! none. Nothing derived is in it; that is worked out anew. All but the start of the run is told apart by
//! place alone, so nothing of it may leave a field out when it is written.

use super::state::Run;
use crate::mutant::{self, Mutant};

/// Raised with every change of the fold or of what is kept here.
pub const FOLD_VERSION: u32 = 32;

/// A run as bytes.
pub fn encode(run: &Run) -> Vec<u8> {
    rmp_serde::to_vec(run).expect("plain data")
}

/// The run that the bytes hold; none if they are not exactly what [`encode`] of this version gives.
pub fn decode(bytes: &[u8]) -> Option<Run> {
    let mut run: Run = rmp_serde::from_slice(bytes).ok()?;
    if run.phases.len() != run.started.plan.phases.len() {
        return None;
    }
    if mutant::is(Mutant::ForgetWhatIsDirty) {
        run.dirty = super::state::Dirty::default();
    }
    run.derive();
    Some(run)
}

/// The start of a run. Its fields are told apart by name, since a plan leaves out what it does not say.
pub(super) mod by_name {
    use std::sync::Arc;

    use serde::de::{Deserializer, Error as _};
    use serde::ser::{Error as _, Serializer};

    use crate::event::RunStarted;

    pub(in super::super) fn serialize<S: Serializer>(started: &RunStarted, into: S) -> Result<S::Ok, S::Error> {
        into.serialize_bytes(&rmp_serde::to_vec_named(started).map_err(S::Error::custom)?)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<RunStarted>, D::Error> {
        let bytes: &[u8] = serde::Deserialize::deserialize(from)?;
        rmp_serde::from_slice(bytes).map(Arc::new).map_err(D::Error::custom)
    }
}
