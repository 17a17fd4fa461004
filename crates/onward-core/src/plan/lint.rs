//! Plans that are right and still risk more than they must: warnings, never errors.

use std::collections::BTreeMap;

use crate::diagnostic::{Code, Diagnostic};
use crate::expression::Reference;
use crate::id::PhaseId;

use super::globs::{GLOB_CHARS_MAX, may_overlap};
use super::graph::Ancestors;
use super::model::{Body, Effects, LossKind, Priority};
use super::parts::{CHOICE, REJECT};
use super::read::Draft;
use crate::document::check::{ExpressionOwner, ReferenceUse};
use crate::run::worktrees::works_apart;

/// Pairs of phases that are compared; a plan with more is too large for this kindness.
const PAIRS_MAX: usize = 200_000;
/// Characters that are compared with characters, over all pairs of globs.
const GLOB_STEPS_MAX: usize = 5_000_000;

pub(super) fn check(
    drafts: &[Draft],
    ancestors: &mut Ancestors<'_>,
    uses: &[ReferenceUse],
    faults: &mut Vec<Diagnostic>,
) {
    without_probe(drafts, faults);
    low_before_high(drafts, uses, faults);
    choices_without_effect(drafts, uses, faults);
    if ancestors.complete() {
        overlapping_writes(drafts, ancestors, faults);
        two_committers(drafts, ancestors, faults);
    }
}

fn without_probe(drafts: &[Draft], faults: &mut Vec<Diagnostic>) {
    // Neither a person who says yes nor a plan inside this one is asked whether it happened: its phases are.
    let acts = |draft: &&Draft| !matches!(draft.kind, "approval" | "uses") && draft.phase.effects == Effects::External;
    for draft in drafts.iter().filter(acts).filter(|draft| !draft.probed) {
        let message = format!(
            "`{}` has effects outside and no `done-when`: after a crash nobody can tell whether it happened",
            draft.id()
        );
        let help = "add `done-when` with a command that ends with 0 if the effect is there and with 1 if it is not";
        faults.push(Diagnostic::warning(Code::EffectWithoutProbe, message).at(draft.place).help(help));
    }
}

/// Choices of an approval that nothing asks for. Every answer but `reject` lets what follows begin, so a reader of `[ship, hold]`
/// would be wrong to think that `hold` holds something.
fn choices_without_effect(drafts: &[Draft], uses: &[ReferenceUse], faults: &mut Vec<Diagnostic>) {
    for draft in drafts {
        let Body::Approval(approval) = &draft.phase.body else { continue };
        let goes_on: Vec<&str> = approval.choices.iter().map(String::as_str).filter(|word| *word != REJECT).collect();
        let choice = Reference::Output { phase: draft.phase.id.clone(), output: CHOICE.to_owned() };
        if goes_on.len() > 1 && !uses.iter().any(|usage| usage.reference == choice) {
            let id = draft.id();
            let message = format!(
                "`{}` all let what follows `{id}` begin, and nothing asks which of them was chosen",
                goes_on.join("`, `")
            );
            let help =
                format!("read `phases.{id}.outputs.{CHOICE}` where it matters, or let `{REJECT}` be the only no");
            faults.push(Diagnostic::warning(Code::ChoiceWithoutEffect, message).at(draft.place).help(help));
        }
    }
}

fn side_by_side(a: usize, b: usize, ancestors: &mut Ancestors<'_>) -> bool {
    !ancestors.may_come_before(a, b) && !ancestors.may_come_before(b, a)
}

fn overlapping_writes(drafts: &[Draft], ancestors: &mut Ancestors<'_>, faults: &mut Vec<Diagnostic>) {
    let in_the_project = |index: &usize| !drafts[*index].phase.writes.is_empty() && !works_apart(&drafts[*index].phase);
    let writers: Vec<usize> = (0..drafts.len()).filter(in_the_project).collect();
    let globs: usize = writers.iter().map(|index| drafts[*index].phase.writes.len()).sum();
    if globs.saturating_mul(globs) / 2 > PAIRS_MAX {
        return;
    }
    let mut steps_left = GLOB_STEPS_MAX;
    for (at, late) in writers.iter().enumerate() {
        for early in &writers[..at] {
            if steps_left == 0 {
                return;
            }
            let (a, b) = (&drafts[*early], &drafts[*late]);
            let pairs = a.phase.writes.iter().flat_map(|x| b.phase.writes.iter().map(move |y| (x, y)));
            let meets = |(x, y): &(&String, &String)| {
                steps_left = steps_left.saturating_sub(x.len().min(GLOB_CHARS_MAX) * y.len().min(GLOB_CHARS_MAX));
                may_overlap(x, y)
            };
            let Some((x, y)) = pairs.into_iter().find(meets) else {
                continue;
            };
            if side_by_side(*early, *late, ancestors) {
                let message =
                    format!("`{}` (writes `{y}`) and `{}` (writes `{x}`) may write the same files", b.id(), a.id());
                let help = "they will take turns; let one need the other, or make what they write disjoint";
                faults.push(Diagnostic::warning(Code::WritesOverlap, message).at(b.place).help(help));
            }
        }
    }
}

/// Two that both hold the lock `git` cannot meet: their author has seen to it.
fn two_committers(drafts: &[Draft], ancestors: &mut Ancestors<'_>, faults: &mut Vec<Diagnostic>) {
    let locked = |draft: &Draft| draft.phase.locks.iter().any(|lock| lock == "git");
    let commits = |draft: &Draft| draft.phase.value == Some(LossKind::Commit) || locked(draft);
    let committers: Vec<usize> = (0..drafts.len()).filter(|index| commits(&drafts[*index])).collect();
    if committers.len().saturating_mul(committers.len()) / 2 > PAIRS_MAX {
        return;
    }
    for (at, late) in committers.iter().enumerate() {
        for early in &committers[..at] {
            let (a, b) = (&drafts[*early], &drafts[*late]);
            if !(locked(a) && locked(b)) && side_by_side(*early, *late, ancestors) {
                let message = format!("`{}` and `{}` both commit and could run at the same time", a.id(), b.id());
                let help = "let one need the other, or give both `locks: [git]`";
                faults.push(Diagnostic::warning(Code::TwoCommitters, message).at(b.place).help(help));
            }
        }
    }
}

/// Something cheap stands before something that is hard to get back, and nothing is handed over between them.
fn low_before_high(drafts: &[Draft], uses: &[ReferenceUse], faults: &mut Vec<Diagnostic>) {
    let low = |draft: &Draft| draft.phase.value == Some(LossKind::Docs) || draft.phase.priority == Priority::Low;
    let high = |draft: &Draft| draft.phase.value == Some(LossKind::Issue) || draft.phase.priority <= Priority::High;
    let lows: BTreeMap<&str, &Draft> =
        drafts.iter().filter(|draft| low(draft)).map(|draft| (draft.id(), draft)).collect();
    if lows.is_empty() {
        return;
    }
    let asked = asked_for(uses);
    for (own, draft) in drafts.iter().enumerate().filter(|(_, draft)| high(draft) && !low(draft)) {
        for (need, place) in draft.phase.needs.iter().zip(&draft.need_places) {
            let Some(before) = lows.get(need.phase.as_str()) else {
                continue;
            };
            if !hands_over(before, draft, asked.get(&own)) {
                let message = format!(
                    "`{}` is harder to get back than `{}`, yet waits for it and takes nothing from it",
                    draft.id(),
                    before.id()
                );
                let help = format!("let `{}` go first: take this need out", draft.id());
                faults.push(Diagnostic::warning(Code::LowBeforeHigh, message).at(*place).help(help));
            }
        }
    }
}

fn hands_over(before: &Draft, after: &Draft, asked: Option<&Vec<&PhaseId>>) -> bool {
    let asks = asked.is_some_and(|asked| asked.contains(&&before.phase.id));
    let reads = after.phase.reads.iter().any(|read| before.phase.writes.iter().any(|write| may_overlap(read, write)));
    asks || reads
}

/// By phase, the phases its expressions are about.
fn asked_for(uses: &[ReferenceUse]) -> BTreeMap<usize, Vec<&PhaseId>> {
    let mut asked: BTreeMap<usize, Vec<&PhaseId>> = BTreeMap::new();
    for usage in uses {
        if let (ExpressionOwner::Phase(own), Reference::Output { phase, .. } | Reference::Status(phase)) =
            (usage.owner, &usage.reference)
        {
            asked.entry(own).or_default().push(phase);
        }
    }
    asked
}
