//! The page on a terminal.

use std::fmt::Write as _;

use super::page::{PhaseRow, SummaryPage};
use crate::render::{paint, status};

pub(crate) fn text(page: &SummaryPage) -> String {
    let mut out = format!("{}  {}\n{}\n\n", status::run_status(page.status), paint::bold(&page.title), page.lead);
    let width = page.facts.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in &page.facts {
        let _ = writeln!(out, "  {name:<width$}  {value}");
    }
    out.push_str("\nPhases\n");
    let ids = page.phases.iter().map(|row| row.id.chars().count()).max().unwrap_or(0);
    for row in &page.phases {
        out.push_str(&line(row, ids));
    }
    for section in &page.sections {
        let _ = writeln!(out, "\n{}", section.heading);
        for line in &section.lines {
            let _ = writeln!(out, "  {line}");
        }
    }
    out
}

fn line(row: &PhaseRow, ids: usize) -> String {
    let mut told = vec![row.word.clone()];
    if !row.took.is_empty() {
        told.push(row.took.clone());
    }
    if row.attempts > 1 {
        told.push(format!("{} attempts", row.attempts));
    }
    let name = if row.name == row.id { String::new() } else { format!("  {}", row.name) };
    let more = if row.told.is_empty() { String::new() } else { format!("\n      {}", row.told) };
    format!("  {} {:<ids$}  {}{name}{more}\n", paint::sign(row.status), row.id, told.join(", "))
}
