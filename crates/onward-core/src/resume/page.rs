//! The table as it stands in the documents.

use std::fmt::Write as _;

use super::finding::{AnsweredBy, FindingKind, Weight};

/// The rows of [`FindingKind`] in Markdown. A test compares the page in the documents with this.
pub fn table() -> String {
    let mut out = String::from("| finding | what was found | weight | answered by |\n|---|---|---|---|\n");
    for kind in FindingKind::ALL {
        let row = kind.row();
        let answers: Vec<&str> = row.answered_by.iter().map(|by| words(*by)).collect();
        let answers = match (row.weight, answers.is_empty()) {
            (Weight::Note | Weight::Warn, _) => "needs no answer".to_owned(),
            _ if kind == FindingKind::RequirementUnmet => "nothing: once it succeeds, the run goes on".to_owned(),
            (Weight::Ask | Weight::Refuse, true) => "nothing: only a fresh start is left".to_owned(),
            (Weight::Ask | Weight::Refuse, false) => answers.join(", or "),
        };
        let _ = writeln!(out, "| `{}` | {} | {} | {answers} |", kind.as_str(), row.what, weight(row.weight));
    }
    out
}

fn weight(weight: Weight) -> &'static str {
    match weight {
        Weight::Note => "a line",
        Weight::Warn => "a warning",
        Weight::Ask => "a question",
        Weight::Refuse => "a refusal",
    }
}

fn words(by: AnsweredBy) -> &'static str {
    match by {
        AnsweredBy::Resume => "`resume`, `--resume`, `--yes`",
        AnsweredBy::AcceptStale => "`--accept-stale`",
        AnsweredBy::Choice => "`--retry`, `--adopt` or `--skip` of the phase",
        AnsweredBy::PlanFromRun => "`--plan-from run`",
        AnsweredBy::Orphan => "`--orphan wait` or `--orphan kill`",
    }
}
