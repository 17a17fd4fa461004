//! How long people and workers are waited for.

use std::time::Duration;

use jiff::Timestamp;

use super::deadline;
use crate::plan::{Approval, External, IfExpired, IfSilent};

/// Whether somebody is still waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait<T> {
    /// Until this time, if there is one: then ask again.
    Open { until: Option<Timestamp> },
    /// It has taken too long, and this is what the plan says about that.
    Over(T),
}

/// Whether the question of an approval, put at `asked_at`, still stands.
pub fn approval(approval: &Approval, asked_at: Timestamp, now: Timestamp) -> Wait<IfExpired> {
    patience(approval.expires, asked_at, now, approval.if_expired)
}

/// Whether whoever does an external phase has been silent for too long. `heard_at` is the last sign of life, or the start.
pub fn external(external: &External, heard_at: Timestamp, now: Timestamp) -> Wait<IfSilent> {
    patience(external.heartbeat.filter(|_| external.if_silent != IfSilent::Wait), heard_at, now, external.if_silent)
}

fn patience<T>(allowed: Option<Duration>, since: Timestamp, now: Timestamp, over: T) -> Wait<T> {
    match allowed.map(|allowed| deadline::after(since, allowed)) {
        Some(until) if until <= now => Wait::Over(over),
        until => Wait::Open { until },
    }
}
