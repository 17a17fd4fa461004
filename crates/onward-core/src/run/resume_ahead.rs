//! A resume before it is made: which phases it comes to where all that it starts goes well, and what keeps it from the others.

use jiff::Timestamp;

use super::Refusal;
use super::readiness::Readiness;
use super::readiness_upkeep::judges_the_past;
use super::settle::a_failure_asks;
use super::skip_and_expand::{closed_before, follows_at_once};
use super::state::{Before, PhaseState, PhaseStatus, Run};
use super::step::{fold_in, preview, preview_inputs};
use crate::expression::Past;
use crate::id::PhaseId;
use crate::input::{Begin, Input};
use crate::plan::Phase;

/// A run as a resume would find it.
#[derive(Debug)]
pub struct ResumeAhead {
    /// With the answers of people, and before anything is tried again.
    run: Run,
    /// The same once failures may be tried again, with what follows from that before anything is started.
    renewed: Run,
    /// By the place of a phase in the plan of both.
    kept: Vec<Option<KeptBy>>,
}

/// A phase that is not done keeps another from its turn, or a part its whole from its end.
#[derive(Clone, Copy, Debug)]
struct KeptBy {
    root: usize,
    leaves: Leaves,
    reached: Reached,
}

/// How that phase is left when all else is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaves {
    /// Failed: whoever asks for a failure has its turn, and so has the end of the run.
    Failed,
    /// Open: the run stops with it.
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    Itself,
    /// It comes after that phase.
    AsLater,
    /// That phase is a part of it: its other parts may be done all the same.
    AsWhole,
}

/// The reason for which a resume does not come to a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotReached<'a> {
    /// Nobody knows whether the effect of this phase happened; nothing is started before.
    Doubt(&'a PhaseId),
    /// It comes after this one, which is not done.
    Behind(&'a PhaseId),
    /// This part of it is not done, and it has no other that is to be done.
    Part(&'a PhaseId),
    /// This one has failed, and by the plan nothing more is started then.
    AfterAFailure(&'a PhaseId),
    /// It belongs to the end of the run, and a person is asked before what becomes of this one.
    Asked(&'a PhaseId),
    /// Its `if` does not hold.
    Condition,
}

impl ResumeAhead {
    /// `ended` are attempts that are over and not on record.
    pub fn new(run: &Run, begin: &Begin, ended: &[Input], now: Timestamp) -> Result<Self, Refusal> {
        let told = |renew| preview(run, &Begin { renew, ..begin.clone() }, now);
        let (run, mut renewed) = (preview_inputs(told(false)?, ended, now), preview_inputs(told(true)?, ended, now));
        while let Some(event) = follows_at_once(&renewed).or_else(|| closed_before(&renewed)) {
            fold_in(&mut renewed, event);
        }
        let kept = kept(&renewed);
        Ok(Self { run, renewed, kept })
    }

    /// The run with the answers of people, and before anything is tried again.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The state of a phase once failures may be tried again.
    pub(crate) fn renewed(&self, phase: &PhaseId) -> &PhaseState {
        &self.renewed.phases[self.renewed.at(phase)]
    }

    pub(crate) fn why_never(&self, phase: &PhaseId) -> Option<String> {
        self.renewed.why_never(phase)
    }

    /// The reason that keeps an open phase from its turn, other than its own state.
    pub(crate) fn not_reached(&self, phase: &PhaseId) -> Option<NotReached<'_>> {
        let (run, at) = (&self.renewed, self.renewed.at(phase));
        let id = |at: usize| &run.plan().phases[at].id;
        if let Some(doubt) = run.in_doubt().next() {
            return Some(NotReached::Doubt(doubt));
        }
        let closing = run.derived.index.closing[at];
        if let Some(kept) = self.kept[at] {
            match kept.reached {
                Reached::AsWhole if self.has_a_part_to_do(at) => {}
                Reached::AsWhole => return Some(NotReached::Part(id(kept.root))),
                Reached::Itself => {}
                Reached::AsLater => return Some(NotReached::Behind(id(kept.root))),
            }
        }
        if !closing && run.a_failure_forbids() {
            return self.first_failed().map(|failed| NotReached::AfterAFailure(id(failed)));
        }
        if closing && run.main_ended.is_none() {
            if let Some(open) = self.main_is_left(Leaves::Open) {
                return Some(NotReached::Behind(id(open)));
            }
            if let Some(asked) = a_failure_asks(run) {
                return Some(NotReached::Asked(asked));
            }
        }
        self.is_left_out(at).then_some(NotReached::Condition)
    }

    fn first_failed(&self) -> Option<usize> {
        let counts = |at: &usize| self.renewed.derived.index.counts_for_the_plan(*at);
        let failed = |at: &usize| self.renewed.phases[*at].status == PhaseStatus::Failed;
        (0..self.renewed.phases.len()).filter(counts).find(failed)
    }

    /// The first phase before the end that is left like this.
    fn main_is_left(&self, leaves: Leaves) -> Option<usize> {
        let main = |at: &usize| !self.renewed.derived.index.closing[*at];
        let kept = |at: usize| self.kept[at].filter(|kept| kept.leaves == leaves).map(|kept| kept.root);
        (0..self.kept.len()).filter(main).find_map(kept)
    }

    fn has_a_part_to_do(&self, at: usize) -> bool {
        let to_do = |part: &usize| !self.renewed.phases[*part].is_finished() && self.kept[*part].is_none();
        self.renewed.parts(at).iter().any(to_do)
    }

    /// Whether its condition does not hold: it is its turn, or nothing but the outcome of others is asked for and that is known.
    fn is_left_out(&self, at: usize) -> bool {
        let (phase, state) = (&self.renewed.plan().phases[at], &self.renewed.phases[at]);
        if self.renewed.derived.readiness[at] == Readiness::Skip {
            return true;
        }
        let begun = state.opened || state.last_end.is_some_and(|end| end != Before::Redone);
        let due = self.renewed.derived.readiness[at] != Readiness::NotYet;
        if begun || due {
            return false;
        }
        let failed = |need: &usize| self.kept[*need].is_some_and(|kept| kept.leaves == Leaves::Failed);
        let of_main = || phase.closing && self.main_is_left(Leaves::Failed).is_some();
        let bad = self.renewed.derived.index.needs[at].iter().any(failed) || of_main();
        left_out_by_its_past(phase, if bad { Past::Failed } else { Past::Good })
    }
}

/// Whether the condition of a phase asks for nothing but the outcome of what was before, and does not hold after this one.
pub(crate) fn left_out_by_its_past(phase: &Phase, past: Past) -> bool {
    phase.condition.as_ref().is_some_and(|condition| {
        condition.judges_the_past() && condition.references().is_empty() && !condition.holds(&|_| None, past)
    })
}

/// Whether any budget could keep a phase from being started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Money {
    IsCounted,
    IsNot,
}

/// All phases that some phase keeps from being done, each with the first such one.
fn kept(run: &Run) -> Vec<Option<KeptBy>> {
    let mut kept: Vec<Option<KeptBy>> = vec![None; run.phases.len()];
    let money = if run.has_shared_budgets() { Money::IsCounted } else { Money::IsNot };
    // A whole that failed is told by its part.
    let (wholes, alone): (Vec<usize>, Vec<usize>) = (0..run.phases.len()).partition(|&at| run.is_whole(at));
    for at in alone.into_iter().chain(wholes) {
        if let Some(leaves) = stays_undone(run, at, money).filter(|_| kept[at].is_none()) {
            kept[at] = Some(KeptBy { root: at, leaves, reached: Reached::Itself });
            spread(run, &mut kept, at);
        }
    }
    // Where one part has failed the matrix may want no other.
    for (at, one) in kept.iter_mut().enumerate() {
        let cut_short = run.derived.readiness[at] == Readiness::Never && one.is_none() && is_open(run, at);
        let failed = |part: &&usize| run.phases[**part].status == PhaseStatus::Failed;
        let parts = run.derived.index.parent[at].map(|whole| &run.derived.index.children[whole]);
        let sibling = parts.and_then(|parts| parts.iter().find(failed));
        if let Some(&root) = sibling.filter(|_| cut_short) {
            *one = Some(KeptBy { root, leaves: Leaves::Failed, reached: Reached::AsLater });
        }
    }
    kept
}

fn is_open(run: &Run, at: usize) -> bool {
    let state = &run.phases[at];
    !state.is_finished() && state.attempt.is_none()
}

/// From a phase that is not done to all that it keeps from being done.
fn spread(run: &Run, kept: &mut [Option<KeptBy>], from: usize) {
    let index = &run.derived.index;
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        let Some(one) = kept[at] else { continue };
        let mut reach = |other: usize, reached: Reached| {
            let is_new =
                kept[other].is_none_or(|known| known.reached == Reached::AsWhole && reached == Reached::AsLater);
            if is_new && is_open(run, other) {
                kept[other] = Some(KeptBy { reached, ..one });
                next.push(other);
            }
        };
        if one.reached != Reached::AsWhole {
            index.children[at].iter().for_each(|&part| reach(part, Reached::AsLater));
        }
        let waits = |later: &usize| one.leaves == Leaves::Open || !judges_the_past(&run.plan().phases[*later]);
        index.dependents[at].iter().copied().filter(waits).for_each(|later| reach(later, Reached::AsLater));
        if let Some(whole) = index.parent[at] {
            reach(whole, Reached::AsWhole);
        }
    }
}

/// How a phase is left that is not done by any start of the resume.
fn stays_undone(run: &Run, at: usize, money: Money) -> Option<Leaves> {
    let state = &run.phases[at];
    if state.is_finished() || state.attempt.is_some() {
        return None;
    }
    if state.status == PhaseStatus::Failed || run.lacks(at).is_some() {
        return Some(Leaves::Failed);
    }
    let out_of_money = money == Money::IsCounted && run.out_of_money(&run.plan().phases[at]).is_some();
    out_of_money.then_some(Leaves::Open)
}
