//! The page of `prune`.

use std::fmt::Write as _;

use onward_core::retention::{PruneItem, PruneLine, PrunePlan};
use onward_engine::PruneDone;
use serde::Serialize;

use super::{paint, safe};

/// `prune --json`, with or without `--dry-run`.
#[derive(Debug, Serialize)]
pub(crate) struct PruneAnswer<'a> {
    /// To be deleted, or deleted.
    delete: &'a [PruneLine],
    keep: &'a [PruneLine],
    bytes_freed: u64,
    /// Not deleted, although it should be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed: Vec<NotPruned<'a>>,
}

#[derive(Debug, Serialize)]
struct NotPruned<'a> {
    id: &'a str,
    reason: &'a str,
}

pub(crate) fn answer(plan: &PrunePlan) -> PruneAnswer<'_> {
    PruneAnswer { delete: &plan.delete, keep: &plan.keep, bytes_freed: plan.bytes_freed(), failed: Vec::new() }
}

pub(crate) fn answer_done<'a>(done: &'a PruneDone, plan: &'a PrunePlan) -> PruneAnswer<'a> {
    let failed = done.failed.iter().map(|(line, why)| NotPruned { id: &line.id, reason: why });
    PruneAnswer { delete: &done.deleted, keep: &plan.keep, bytes_freed: done.bytes_freed, failed: failed.collect() }
}

/// `onward prune --dry-run`.
pub(crate) fn would(plan: &PrunePlan) -> String {
    let mut out = String::new();
    plan.delete.iter().for_each(|line| row(&mut out, &paint::bad("would go"), &line.id, &line.reason));
    plan.keep.iter().for_each(|line| row(&mut out, &paint::good("stays   "), &line.id, &line.reason));
    let (gone, kept) = (plan.delete.len(), plan.keep.len());
    let _ = writeln!(
        out,
        "{gone} would go, with {} bytes of content; {kept} stay; nothing was deleted",
        plan.bytes_freed()
    );
    out
}

pub(crate) fn question(plan: &PrunePlan) -> String {
    format!("Delete {}? This cannot be taken back. [y/N]: ", counted(&plan.delete))
}

/// `onward prune`.
pub(crate) fn done(done: &PruneDone) -> String {
    let mut out = String::new();
    done.deleted.iter().for_each(|line| row(&mut out, "deleted ", &line.id, &line.reason));
    done.failed.iter().for_each(|(line, why)| row(&mut out, &paint::bad("not deleted"), &line.id, why));
    let _ = writeln!(out, "{} deleted, with {} bytes of content", counted(&done.deleted), done.bytes_freed);
    out
}

/// The line about what was deleted without anybody's order.
pub(crate) fn kept_house(done: &PruneDone) -> String {
    let mut out = format!("housekeeping: {} past their time deleted", counted(&done.deleted));
    if let Some((line, why)) = done.failed.first() {
        let _ = write!(out, "; {} could not be: {}", safe::line(&line.id), safe::line(why));
    }
    out + "; how long things are kept:  onward config\n"
}

fn row(out: &mut String, word: &str, id: &str, reason: &str) {
    let _ = writeln!(out, "{word}  {}   {}", safe::line(id), safe::line(reason));
}

fn counted(lines: &[PruneLine]) -> String {
    let count = |item: PruneItem, one: &str, many: &str| {
        let number = lines.iter().filter(|line| line.item == item).count();
        (number > 0).then(|| format!("{number} {}", if number == 1 { one } else { many }))
    };
    let parts = [
        count(PruneItem::Run, "run", "runs"),
        count(PruneItem::Checkpoint, "checkpoint", "checkpoints"),
        count(PruneItem::Output, "output", "outputs"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}
