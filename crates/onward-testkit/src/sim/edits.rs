//! Authors: between two drivers somebody edits the plan's file, and a person starts the run with it. Phases get other names, go, come
//! back and become other work, while attempts at them are over and not on record, outlive their driver, or left no trace.

use std::collections::BTreeMap;

use onward_core::event::{Event, Orphans, Outcome, PlanRevised, Recorded};
use onward_core::evidence::Evidence;
use onward_core::expression::Condition;
use onward_core::id::PhaseId;
use onward_core::input::{AttemptEnd, Begin, Choice, EndFound, Input, Resumption};
use onward_core::plan::{self, Axis, Body, Effects, Matrix, Phase, Plan, expand};
use onward_core::resume::{self, FindingKind, stale};
use onward_core::run::{self, PhaseStatus, Run};
use onward_engine::{Committer, KeepNothing, Result, World, integration_steps};
use onward_store::Lease;

use super::dice::Dice;
use super::store::FaultyStore;
use super::world::{ALONE, Eyes, Machine, SharedMachine, SimulatedLook};
use super::{ACTOR, compound, plans, replans};

/// After so many epochs nobody edits any more, or a world would never end.
const EDITED_EPOCHS_MAX: u64 = 25;
/// So often a person is asked about what an edit leaves behind, before the plan of the run is kept.
const QUESTIONS_MAX: u32 = 20;

/// Whoever edits the file of the plan. The dice are of their own: where nothing is edited a world is as it was.
pub(super) struct Author {
    dice: Dice,
    /// Phases that were taken out, to be put back.
    taken_out: Vec<Phase>,
}

/// The file after an edit, and the names in it that are new.
struct EditedFile {
    written: Plan,
    renamed: Vec<(PhaseId, PhaseId)>,
}

impl Author {
    pub(super) fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed.wrapping_add(1 << 48)), taken_out: Vec::new() }
    }
}

/// Perhaps the file was edited meanwhile. The start is then as a person makes it who is asked what has to be asked.
pub(super) fn maybe(
    machine: &SharedMachine,
    store: &mut FaultyStore,
    lease: &Lease,
    world: &mut Eyes,
    (mut run, begin): (Run, Begin),
) -> Result<(Run, Begin)> {
    if let Some(revised) = begin.resumption.revised.clone() {
        let ends = ends(&machine.lock().expect(ALONE), &run, &revised.plan);
        let resumption = Resumption { ends, ..begin.resumption.clone() };
        let with_ends = Begin { resumption, ..begin };
        return Ok((run, with_ends));
    }
    if run.epoch == 0 || run.epoch > EDITED_EPOCHS_MAX || !machine.lock().expect(ALONE).is_edited(&run) {
        return Ok((run, begin));
    }
    {
        let (now, mut keep) = (machine.lock().expect(ALONE).now, KeepNothing);
        let mut hand = Committer::new(store, lease, &mut keep, &mut run, ACTOR);
        integration_steps::end(&mut hand, world.tree(), now)?;
    }
    let mut machine = machine.lock().expect(ALONE);
    let begin = machine.with_the_edit(&run, &begin).unwrap_or(begin);
    Ok((run, begin))
}

impl Machine {
    /// Mostly where something is left over: an author who waits for it edits meanwhile.
    fn is_edited(&mut self, run: &Run) -> bool {
        let unknown = run.in_doubt().next().is_some();
        let left = run.running().next().is_some();
        self.author.dice.percent(if unknown { 60 } else { 6 + 24 * u64::from(left) })
    }

    /// The start with the edited plan; none where a person keeps the plan of the run, or the start is refused.
    fn with_the_edit(&mut self, run: &Run, begin: &Begin) -> Option<Begin> {
        let known: Vec<PhaseId> = self.oracle.known_ids().cloned().collect();
        let edited = edited(run, &known, &mut self.author)?;
        let plan = prepared(&edited.written, run)?;
        let plan_digest = plan::digest(&edited.written);
        let after = self.asked_about_orphans(run, &plan)?;
        let revised = PlanRevised { plan, plan_digest, plan_text: String::new(), renamed: Vec::new() };
        let begin = answered(&after, revised, begin, &mut self.author.dice);
        let revised = begin.resumption.revised.as_ref().expect("it was just put there");
        let ends = ends(self, run, &revised.plan);
        let begin = Begin { resumption: Resumption { ends, ..begin.resumption }, ..begin };
        run::preview(run, &begin, self.now).ok()?;
        self.oracle.an_edit_comes(edited.renamed);
        Some(begin)
    }

    /// The run once all that ended is told, and nothing is at work that the edited plan leaves behind; none where a person keeps the
    /// plan of the run instead.
    fn asked_about_orphans(&mut self, run: &Run, plan: &Plan) -> Option<Run> {
        for _ in 0..QUESTIONS_MAX {
            let told = run.running().filter_map(|(phase, state)| {
                let attempt = state.attempt.as_ref()?.number;
                match self.found(run, &phase.id, attempt) {
                    SimulatedLook::Over(end) => {
                        Some(Input::AttemptEnded { phase: phase.id.clone(), attempt, end: *end })
                    }
                    SimulatedLook::AtWork | SimulatedLook::NeverRan => None,
                }
            });
            let told: Vec<Input> = told.collect();
            let after = run::preview_inputs(run.clone(), &told, self.now);
            let left = after.running().find_map(|(phase, state)| {
                let attempt = state.attempt.as_ref()?.number;
                let lives = self.is_at_work(&phase.id, attempt);
                (lives && resume::left_behind(&after, &phase.id, plan).is_some()).then(|| (phase.id.clone(), attempt))
            });
            let Some((phase, attempt)) = left else { return Some(after) };
            match self.author.dice.below(10) {
                0..=2 => return None,
                3..=7 => self.see_the_end_of(&phase, attempt, Orphans::Wait),
                _ => self.see_the_end_of(&phase, attempt, Orphans::Kill),
            }
        }
        None
    }
}

/// The names of a phase, the present one first.
pub(super) fn names_of(journal: &[Recorded], phase: &PhaseId) -> Vec<PhaseId> {
    let mut names = vec![phase.clone()];
    for recorded in journal.iter().rev() {
        let Event::PlanRevised(revised) = &recorded.event else { continue };
        let before = revised.renamed.iter().find(|(_, new)| names.last() == Some(new));
        names.extend(before.map(|(old, _)| old.clone()));
    }
    names
}

/// Attempts that are over, in full. One that never ran is started anew where the edited plan still has its phase.
fn ends(machine: &Machine, run: &Run, plan: &Plan) -> Vec<EndFound> {
    let found = run.running().filter_map(|(phase, state)| {
        let attempt = state.attempt.as_ref()?.number;
        let end = match machine.found(run, &phase.id, attempt) {
            SimulatedLook::Over(end) => *end,
            SimulatedLook::NeverRan if plan.phase(&phase.id).is_none() => AttemptEnd::bare(Outcome::NeverRan),
            SimulatedLook::NeverRan | SimulatedLook::AtWork => return None,
        };
        Some(EndFound { phase: phase.id.clone(), attempt, end })
    });
    found.collect()
}

/// A person answers what is asked about the edit, and only that.
fn answered(after: &Run, mut revised: PlanRevised, begin: &Begin, dice: &mut Dice) -> Begin {
    let there = |phase: &PhaseId| revised.plan.phase(phase).is_some();
    let mut chosen: BTreeMap<PhaseId, Choice> = begin.choices.iter().filter(|(id, _)| there(id)).cloned().collect();
    let (mut rerun, mut accepted) = (Vec::new(), Vec::new());
    let accepts = dice.percent(60);
    let any = |dice: &mut Dice| *dice.pick(&[Choice::Retry, Choice::Retry, Choice::Adopt, Choice::Skip]);
    for finding in stale::findings(after, Some(&revised.plan), &BTreeMap::new(), &[]) {
        let Some(phase) = finding.phase.filter(|phase| !chosen.contains_key(phase)) else { continue };
        match finding.kind {
            FindingKind::StaleReruns => rerun.push(phase),
            FindingKind::Stale | FindingKind::OutputChanged if accepts => accepted.push((phase, Evidence::default())),
            FindingKind::Stale => drop(chosen.insert(phase, Choice::Retry)),
            FindingKind::Renamed if accepts => {}
            FindingKind::Renamed | FindingKind::InDoubt => drop(chosen.insert(phase, any(dice))),
            _ => {}
        }
    }
    let pairs = stale::renamed(after, &revised.plan).into_iter();
    let goes = |old: &PhaseId, new: &PhaseId| stale::is_in_doubt(after, old) || (accepts && !chosen.contains_key(new));
    revised.renamed = pairs.filter(|(old, new)| goes(old, new)).collect();
    let ahead = run::preview_revised(after, &revised);
    let doubts = ahead.phases().map(|(phase, _)| phase.id.clone()).filter(|phase| stale::is_in_doubt(&ahead, phase));
    for phase in doubts {
        chosen.entry(phase).or_insert_with(|| any(dice));
    }
    let choices = chosen.into_iter().map(|(phase, choice)| {
        let at_work = ahead.phase_state(&phase).is_some_and(|state| state.status == PhaseStatus::Running);
        let legal = run::is_legal(&ahead, &phase, choice) && !at_work;
        (phase, if legal { choice } else { Choice::Retry })
    });
    let (choices, told) = (choices.collect(), begin.resumption.clone());
    let resumption = Resumption {
        revised: Some(Box::new(revised)),
        accepted,
        rerun,
        from: None,
        only: None,
        marks: Vec::new(),
        ..told
    };
    Begin { choices, resumption, ..begin.clone() }
}

/// The plan of the file as a start of this run prepares it; none where it is no plan.
fn prepared(written: &Plan, run: &Run) -> Option<Plan> {
    let (closing, phases) = written.phases.iter().cloned().partition(|phase| phase.closing);
    let finally = Vec::into_iter(closing).map(|phase: Phase| Phase { closing: false, ..phase }).collect();
    let file = Plan { phases, finally, ..written.clone() };
    let expanded = expand::at_start(&file, &BTreeMap::new()).ok()?;
    Some(expand::carried_over(expand::joined(expanded), run.plan()))
}

/// One edit of the file; none where it changes nothing.
fn edited(run: &Run, known: &[PhaseId], author: &mut Author) -> Option<EditedFile> {
    let written = replans::as_written(run.plan());
    let target = target(run, &mut author.dice);
    let is_unknown = run.phase_state(&target).is_some_and(|state| state.in_doubt);
    let leaf = target.as_str().rsplit_once('/').map(|(_, leaf)| PhaseId::new(leaf));
    let inner = leaf.filter(|_| author.dice.percent(60));
    let top = compound::ancestors(run.plan(), &target).pop().unwrap_or(target);
    // Of what nobody knows mostly the name is another one.
    let throw = author.dice.below(100) / if is_unknown { 2 } else { 1 };
    match (throw, inner) {
        (0..=44, Some(leaf)) => rename_inside(run, written, &leaf),
        (_, Some(leaf)) => change_inside(written, &leaf, &mut author.dice),
        (0..=44, None) if has_parts_of_parts(run, &top) => change(written, &top, &mut author.dice),
        (0..=44, None) => Some(rename(run, written, &top, &another_name(known, run, &top, &mut author.dice))),
        (45..=59, None) => take_out(written, &top, author),
        (60..=89, None) => change(written, &top, &mut author.dice),
        (_, None) => put_back(written, author),
    }
}

/// Whether a phase has parts that have parts: under another name nothing tells yet which of those is which.
fn has_parts_of_parts(run: &Run, top: &PhaseId) -> bool {
    run.plan().phases.iter().any(|phase| {
        let above = compound::ancestors(run.plan(), &phase.id);
        above.len() > 1 && above.last() == Some(top)
    })
}

/// The phase that is edited: mostly one that is at work by the record, or of which nobody knows.
fn target(run: &Run, dice: &mut Dice) -> PhaseId {
    let running: Vec<PhaseId> = run.running().map(|(phase, _)| phase.id.clone()).collect();
    let open = run.phases().filter(|(_, state)| state.in_doubt || state.probe.is_some());
    let open: Vec<PhaseId> = open.map(|(phase, _)| phase.id.clone()).collect();
    let done = run.phases().filter(|(_, state)| state.is_finished());
    let done: Vec<PhaseId> = done.map(|(phase, _)| phase.id.clone()).collect();
    let all: Vec<PhaseId> = run.phases().map(|(phase, _)| phase.id.clone()).collect();
    let first = usize::try_from(dice.below(5)).expect("small").saturating_sub(1);
    let tiers = [running, open, done, all];
    let tier = tiers[first..].iter().find(|tier| !tier.is_empty()).expect("a plan has phases");
    dice.pick(tier).clone()
}

/// A name that no phase ever had; now and then one that is free again.
fn another_name(known: &[PhaseId], run: &Run, old: &PhaseId, dice: &mut Dice) -> PhaseId {
    let letter = &old.as_str()[..1];
    let number = |id: &PhaseId| id.as_str().strip_prefix(letter)?.parse::<u64>().ok();
    let is_free = |id: &&PhaseId| run.plan().phase(id).is_none() && number(id).is_some();
    let free: Vec<&PhaseId> = known.iter().filter(is_free).collect();
    if !free.is_empty() && dice.percent(25) {
        return (*dice.pick(&free)).clone();
    }
    let next = known.iter().filter_map(number).max().map_or(0, |last| last + 1);
    PhaseId::new(format!("{letter}{next}"))
}

/// A phase gets another id, wherever the plan speaks of it.
fn rename(run: &Run, mut plan: Plan, old: &PhaseId, new: &PhaseId) -> EditedFile {
    let (then, now) = (format!("phases.{old}."), format!("phases.{new}."));
    for phase in &mut plan.phases {
        if phase.id == *old {
            phase.id = new.clone();
        }
        for need in phase.needs.iter_mut().filter(|need| need.phase == *old) {
            need.phase = new.clone();
        }
        if let Some(condition) = &phase.condition {
            let text = condition.as_str().replace(&then, &now);
            phase.condition = Some(Condition::parse(&text).expect("it was one before"));
        }
        for axis in phase.matrix.iter_mut().flat_map(|matrix| &mut matrix.axes) {
            if let Axis::From(text) = &mut axis.1 {
                *text = text.replace(&then, &now);
            }
        }
    }
    for (label, of) in plan.issue.iter_mut().flat_map(|issue| &mut issue.states).filter(|(_, of)| of == old) {
        (*label, *of) = (format!("state:{new}"), new.clone());
    }
    let below = |id: &PhaseId| {
        let rest = id.as_str().strip_prefix(old.as_str())?;
        (rest.is_empty() || rest.starts_with(['/', '@'])).then(|| PhaseId::new(format!("{new}{rest}")))
    };
    let renamed = run.plan().phases.iter().filter_map(|phase| Some((phase.id.clone(), below(&phase.id)?)));
    EditedFile { written: plan, renamed: renamed.collect() }
}

/// A phase of the plan that others use gets another id, in each of them.
fn rename_inside(run: &Run, mut plan: Plan, leaf: &PhaseId) -> Option<EditedFile> {
    let inner = plan.used.get_mut(plans::INNER)?;
    let new = PhaseId::new(format!("{leaf}x"));
    for phase in inner.phases.iter_mut().chain(&mut inner.finally) {
        if phase.id == *leaf {
            phase.id = new.clone();
        }
        for need in phase.needs.iter_mut().filter(|need| need.phase == *leaf) {
            need.phase = new.clone();
        }
    }
    let of = |id: &PhaseId| Some(PhaseId::new(format!("{}/{new}", id.as_str().strip_suffix(&format!("/{leaf}"))?)));
    let renamed = run.plan().phases.iter().filter_map(|phase| Some((phase.id.clone(), of(&phase.id)?))).collect();
    Some(EditedFile { written: plan, renamed })
}

fn change_inside(mut plan: Plan, leaf: &PhaseId, dice: &mut Dice) -> Option<EditedFile> {
    let inner = plan.used.get_mut(plans::INNER)?;
    if dice.percent(30) && inner.phases.len() > 1 {
        inner.phases.retain(|phase| phase.id != *leaf);
        inner.phases.iter_mut().for_each(|phase| phase.needs.retain(|need| need.phase != *leaf));
    } else {
        let phase = inner.phases.iter_mut().chain(&mut inner.finally).find(|phase| phase.id == *leaf)?;
        other_work(phase, dice);
    }
    Some(EditedFile { written: plan, renamed: Vec::new() })
}

fn take_out(mut plan: Plan, id: &PhaseId, author: &mut Author) -> Option<EditedFile> {
    let gone = plan.phase(id)?.clone();
    if plan.phases.iter().filter(|phase| !phase.closing && phase.id != *id).count() == 0 {
        return None;
    }
    plan.phases.retain(|phase| phase.id != *id);
    plan.phases.iter_mut().for_each(|phase| forget(phase, id));
    plan.issue.iter_mut().for_each(|issue| issue.states.retain(|(_, of)| of != id));
    author.taken_out.push(gone);
    Some(EditedFile { written: plan, renamed: Vec::new() })
}

/// The phase no longer speaks of another one.
fn forget(phase: &mut Phase, other: &PhaseId) {
    let speaks = format!("phases.{other}.");
    phase.needs.retain(|need| need.phase != *other);
    phase.condition = phase.condition.take().filter(|condition| !condition.as_str().contains(&speaks));
    for axis in phase.matrix.iter_mut().flat_map(|matrix| &mut matrix.axes) {
        if matches!(&axis.1, Axis::From(text) if text.contains(&speaks)) {
            axis.1 = Axis::Values(vec!["x".to_owned()]);
        }
    }
}

fn put_back(mut plan: Plan, author: &mut Author) -> Option<EditedFile> {
    let mut phase = author.taken_out.pop().filter(|phase| plan.phase(&phase.id).is_none())?;
    let needs: Vec<PhaseId> = phase.needs.iter().map(|need| need.phase.clone()).collect();
    for gone in needs.iter().filter(|need| plan.phase(need).is_none()) {
        forget(&mut phase, gone);
    }
    let first_of_the_end = plan.phases.iter().position(|phase| phase.closing).unwrap_or(plan.phases.len());
    plan.phases.insert(if phase.closing { plan.phases.len() } else { first_of_the_end }, phase);
    Some(EditedFile { written: plan, renamed: Vec::new() })
}

fn change(mut plan: Plan, id: &PhaseId, dice: &mut Dice) -> Option<EditedFile> {
    let phase = plan.phases.iter_mut().find(|phase| phase.id == *id)?;
    if dice.percent(30) && !phase.needs.is_empty() {
        let need = dice.pick(&phase.needs).phase.clone();
        forget(phase, &need);
    } else {
        other_work(phase, dice);
    }
    Some(EditedFile { written: plan, renamed: Vec::new() })
}

/// Another command, other effects, or other values.
fn other_work(phase: &mut Phase, dice: &mut Dice) {
    if let Some(Matrix { axes, .. }) = phase.matrix.as_mut().filter(|_| dice.percent(50)) {
        for axis in axes {
            axis.1 = Axis::Values(vec!["y".to_owned(), "z".to_owned(), "w".to_owned()]);
        }
    } else if let (Body::Run { script, .. }, true) = (&mut phase.body, dice.percent(75)) {
        script.push_str(" otherwise");
    } else {
        phase.effects = *dice.pick(&[Effects::Files, Effects::None, Effects::External]);
    }
}
