//! Named points in the write path where a test may step in, most often to kill the process.

use std::sync::RwLock;

static PROBE: RwLock<Option<fn(&'static str)>> = RwLock::new(None);

/// Calls `probe` at every named point from now on, in every handle of this process; `None` ends that.
///
/// The points are `append.before-begin`, `append.before-commit`, `append.after-commit`, `head.before-write`,
/// `head.after-write`, `lease.after-lock`, `lease.after-row`, `blob.before-rename` and `blob.after-rename`. Where an
/// append passes `append.…`, a keyframe that is added passes `keyframe.…`, and every other write `other.…`. A salvage
/// passes `salvage.before-copy`, `salvage.after-copy`, `salvage.before-swap`, `salvage.after-swap` and
/// `salvage.after-head`.
pub fn set_probe(probe: Option<fn(&'static str)>) {
    *PROBE.write().unwrap_or_else(std::sync::PoisonError::into_inner) = probe;
}

pub(crate) fn probe(point: &'static str) {
    let probe = *PROBE.read().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(probe) = probe {
        probe(point);
    }
}
