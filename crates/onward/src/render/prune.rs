//! The page of `prune`.

use std::fmt::Write as _;

use onward_core::retention::{PruneLine, PrunePlan};
use serde::Serialize;

use super::{paint, safe};

/// `prune --dry-run --json`.
#[derive(Debug, Serialize)]
pub(crate) struct PruneAnswer<'a> {
    delete: &'a [PruneLine],
    keep: &'a [PruneLine],
    bytes_freed: u64,
}

pub(crate) fn answer(plan: &PrunePlan) -> PruneAnswer<'_> {
    PruneAnswer { delete: &plan.delete, keep: &plan.keep, bytes_freed: plan.bytes_freed() }
}

/// `onward prune --dry-run`.
pub(crate) fn prune(plan: &PrunePlan) -> String {
    let mut out = String::new();
    let mut row = |word: String, line: &PruneLine| {
        let _ = writeln!(out, "{word}  {}   {}", safe::line(&line.id), safe::line(&line.reason));
    };
    plan.delete.iter().for_each(|line| row(paint::bad("would go"), line));
    plan.keep.iter().for_each(|line| row(paint::good("stays   "), line));
    let (gone, kept) = (plan.delete.len(), plan.keep.len());
    let _ = writeln!(out, "{gone} would go ({} bytes), {kept} stay; nothing was deleted", plan.bytes_freed());
    out
}
