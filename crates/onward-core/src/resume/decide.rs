//! The decision: all findings are collected, and the worst that nothing answers is the verdict.

use std::collections::BTreeSet;

use crate::id::PhaseId;

use super::finding::{AnsweredBy, Finding, FindingKind, Weight};

/// The state of the run before anything is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStanding {
    /// Another live process has it.
    Driven,
    /// It holds saved state: there is nothing to go on with.
    NoPhases,
    /// It was put away.
    Archived,
    /// All is done, and nothing is to be done again.
    Complete,
    Open,
}

/// How the start was worded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wording {
    /// `onward run`: nothing was said about the unfinished run.
    Plain,
    /// `resume` or `--resume`: an answer to "go on?", and to no other question.
    Resume,
    /// `approve --resume`: an answer to an approval is none about a plan that is another one now.
    Answer,
}

/// Whether changes of the world are taken as they are: `--accept-stale`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accept {
    #[default]
    No,
    Yes,
}

/// The answers given so far.
#[derive(Clone, Copy, Debug)]
pub struct Answers<'a> {
    pub wording: Wording,
    pub accept: Accept,
    /// Phases with an answer of their own.
    pub chosen: &'a BTreeSet<PhaseId>,
    pub orphans: Accept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    GoOn,
    Ask,
    Refuse,
    Complete,
    Driven,
    NoPhases,
}

/// An answer that is legal and would help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Offered {
    GoOn,
    AcceptStale,
    /// For each open finding of a phase.
    Choice,
    PlanFromRun,
    Orphan,
    Fresh,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    pub verdict: Verdict,
    /// The findings that are still open, the worst first.
    pub open: Vec<&'a Finding>,
    pub offered: BTreeSet<Offered>,
}

impl Answers<'_> {
    fn settle(&self, finding: &Finding) -> bool {
        finding.kind.row().answered_by.iter().any(|by| match by {
            AnsweredBy::Resume => match self.wording {
                Wording::Plain => false,
                Wording::Resume => true,
                Wording::Answer => finding.kind != FindingKind::PlanChanged,
            },
            AnsweredBy::AcceptStale => self.accept == Accept::Yes,
            AnsweredBy::Choice => finding.phase.as_ref().is_some_and(|phase| self.chosen.contains(phase)),
            AnsweredBy::Orphan => self.orphans == Accept::Yes,
            // Where the plan kept with the run counts, nothing about the file is found.
            AnsweredBy::PlanFromRun => false,
        })
    }
}

pub fn decide<'a>(standing: RunStanding, findings: &'a [Finding], answers: Answers<'_>) -> Decision<'a> {
    let without = |verdict| Decision { verdict, open: Vec::new(), offered: BTreeSet::new() };
    match standing {
        RunStanding::Driven => without(Verdict::Driven),
        RunStanding::NoPhases => without(Verdict::NoPhases),
        RunStanding::Archived => without(Verdict::Refuse),
        RunStanding::Complete => without(Verdict::Complete),
        RunStanding::Open => of_findings(findings, answers),
    }
}

fn of_findings<'a>(findings: &'a [Finding], answers: Answers<'_>) -> Decision<'a> {
    let weight = |finding: &Finding| finding.kind.row().weight;
    let mut open: Vec<&Finding> =
        findings.iter().filter(|finding| weight(finding) >= Weight::Ask && !answers.settle(finding)).collect();
    open.sort_by_key(|finding| std::cmp::Reverse(weight(finding)));
    let verdict = match open.first().map(|worst| weight(worst)) {
        None | Some(Weight::Note | Weight::Warn) => Verdict::GoOn,
        Some(Weight::Ask) => Verdict::Ask,
        Some(Weight::Refuse) => Verdict::Refuse,
    };
    let offered = offered(verdict, findings, &open);
    Decision { verdict, open, offered }
}

/// The answers that are possible. A refusal leaves nothing but to start fresh, and that needs a plan.
fn offered(verdict: Verdict, findings: &[Finding], open: &[&Finding]) -> BTreeSet<Offered> {
    let mut offered = BTreeSet::new();
    let plan_is_gone = findings.iter().any(|finding| finding.kind == FindingKind::PlanGone);
    if verdict != Verdict::GoOn && !plan_is_gone {
        offered.insert(Offered::Fresh);
    }
    if verdict != Verdict::Ask {
        return offered;
    }
    offered.extend(open.iter().flat_map(|finding| finding.kind.row().answered_by).map(|by| match by {
        AnsweredBy::Resume => Offered::GoOn,
        AnsweredBy::AcceptStale => Offered::AcceptStale,
        AnsweredBy::Choice => Offered::Choice,
        AnsweredBy::PlanFromRun => Offered::PlanFromRun,
        AnsweredBy::Orphan => Offered::Orphan,
    }));
    offered
}
