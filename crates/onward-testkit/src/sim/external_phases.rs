//! Those for whom a run waits: a person who says yes or no, a worker who reports. They speak beside the driver, and
//! where there is none they write it down themselves; both may be cut off anywhere.

use jiff::Timestamp;
use onward_core::id::PhaseId;
use onward_core::input::{Choice, DoneSaid, Input, Posted, Says};
use onward_core::plan::{Body, Phase};
use onward_core::run::agent_calls::waiting_call;
use onward_core::run::verification::{ArtifactCopied, ArtifactFound, ArtifactState, CheckEnd, EffectFound, Proof};
use onward_core::run::{PhaseState, PhaseStatus, Run};
use onward_engine::{Committer, Error, KeepNothing, Result, World};
use onward_store::Lease;

use super::ACTOR;
use super::dice::Dice;
use super::store::FaultyStore;
use super::world::{ALONE, Eyes, SharedMachine};

/// Limit of requests to a run without a driver, before the next driver comes.
const WORDS_MAX: u64 = 5;

/// A request about the run as it stands; sometimes about a phase that is not the sender's.
pub(super) fn word(run: &Run, dice: &mut Dice) -> Option<Posted> {
    // Of an agent's phase a person may be asked whether it may make a call.
    let theirs = |phase: &Phase| matches!(phase.body, Body::Approval(_) | Body::External(_) | Body::Agent(_));
    let ids: Vec<PhaseId> =
        run.phases().filter(|(phase, _)| theirs(phase)).map(|(phase, _)| phase.id.clone()).collect();
    let open: Vec<PhaseId> = run
        .phases()
        .filter(|(phase, state)| theirs(phase) && matches!(state.status, PhaseStatus::Waiting | PhaseStatus::Running))
        .filter(|(_, state)| state.attempt.is_none())
        .map(|(phase, _)| phase.id.clone())
        .chain(run.next_for_others(run.updated_at).ok().map(|phase| phase.id.clone()))
        .collect();
    if ids.is_empty() {
        return None;
    }
    let id = if open.is_empty() || dice.percent(10) { dice.pick(&ids).clone() } else { dice.pick(&open).clone() };
    let phase = run.plan().phase(&id).expect("of the plan");
    let by = "somebody".to_owned();
    Some(if let Body::Approval(_) | Body::Agent(_) = phase.body {
        let rejects = if let Body::Agent(_) = phase.body { 35 } else { 15 };
        let choice = if dice.percent(rejects) { "reject" } else { "approve" };
        // The call that was shown, which is now and then not the one that waits by now.
        let shown = run.phase_state(&id).and_then(waiting_call).map(|call| call.id.clone());
        let call = if dice.percent(10) { shown.map(|_| "another".to_owned()) } else { shown };
        Posted::Answer { phase: id, choice: choice.to_owned(), by, reason: None, call }
    } else {
        let complexity = dice.percent(10).then(|| u32::try_from(dice.below(12)).expect("small"));
        Posted::Report { says: says(phase, dice), phase: id, by, complexity }
    })
}

fn says(phase: &Phase, dice: &mut Dice) -> Says {
    match dice.below(100) {
        0..=19 => Says::Start,
        20..=34 => Says::Progress { note: Some(format!("{}/10", dice.below(10))) },
        35..=44 => Says::Fail { reason: format!("no luck {}", dice.below(3)) },
        _ => {
            let remaining = if dice.percent(10) { "the rest" } else { "none" };
            let said = DoneSaid { proof: proof(phase, dice), remaining: remaining.to_owned(), ..DoneSaid::default() };
            Says::Done(Box::new(said))
        }
    }
}

/// The proof found when a phase says it is done: mostly it is.
pub(super) fn proof(phase: &Phase, dice: &mut Dice) -> Proof {
    let there = ArtifactState::There { bytes: 1, digest: "d".to_owned(), copy: ArtifactCopied::NotWanted };
    let lacks = dice.percent(15);
    let artifact = |name: &String| ArtifactFound {
        name: name.clone(),
        path: "made".to_owned(),
        state: if lacks { ArtifactState::Missing } else { there.clone() },
    };
    let artifacts = phase.artifacts.iter().map(|artifact_| artifact(&artifact_.name)).collect();
    let fails = dice.percent(15);
    let check =
        |command: &String| CheckEnd { command: command.clone(), code: Some(i32::from(fails)), said: String::new() };
    let effect = *dice.pick(&[
        EffectFound::There,
        EffectFound::There,
        EffectFound::There,
        EffectFound::Absent,
        EffectFound::CannotTell,
    ]);
    Proof {
        artifacts,
        checks: phase.verify.iter().map(check).collect(),
        effect: (!phase.done_when.is_empty()).then_some(effect),
    }
}

/// Somebody tells of a failure whose retry has not begun: the phase, and the failures that were counted.
fn told_again(run: &Run, said: &Posted, now: Timestamp) -> Option<(PhaseId, u32)> {
    let Posted::Report { phase, says: Says::Fail { .. }, .. } = said else { return None };
    let state = run.phase_state(phase)?;
    let early = state.failures > 0 && state.not_before.is_some_and(|time| now < time);
    (early && state.status != PhaseStatus::Running).then(|| (phase.clone(), state.failures))
}

/// Somebody answers a call that is not the one that waits: the phase.
fn about_another_call(run: &Run, said: &Posted) -> Option<PhaseId> {
    let Posted::Answer { phase, call: Some(named), .. } = said else { return None };
    let waits = run.phase_state(phase).and_then(waiting_call)?;
    (waits.id != *named).then(|| phase.clone())
}

/// Now and then a person leaves a phase out, or takes it as done: mostly one that consists of others, all of them at once.
fn settled_by_a_person(run: &Run, dice: &mut Dice) -> Option<Posted> {
    let open = |(_, state): &(&Phase, &PhaseState)| !state.is_finished() && state.status != PhaseStatus::Pending;
    let wholes: Vec<PhaseId> = run
        .phases()
        .filter(open)
        .filter(|(phase, _)| phase.children.is_some())
        .map(|(phase, _)| phase.id.clone())
        .collect();
    let others: Vec<PhaseId> = run.phases().filter(open).map(|(phase, _)| phase.id.clone()).collect();
    let of = if wholes.is_empty() { others } else { wholes };
    if of.is_empty() || !dice.percent(10) {
        return None;
    }
    let (phase, choice) = (dice.pick(&of).clone(), *dice.pick(&[Choice::Skip, Choice::Adopt]));
    Some(Posted::Choose { phase, choice, by: None, reason: None })
}

/// Nobody drives: some of them say something, and write it down themselves.
pub(super) fn speak(
    machine: &SharedMachine,
    store: &mut FaultyStore,
    lease: &Lease,
    world: &mut Eyes,
    mut run: Run,
) -> Result<Run> {
    let now = machine.lock().expect(ALONE).now;
    let mut keep = KeepNothing;
    let mut hand = Committer::new(store, lease, &mut keep, &mut run, ACTOR);
    let mut before = None;
    let steers = settled_by_a_person(hand.run(), &mut machine.lock().expect(ALONE).dice);
    if let Some(said) = steers {
        match hand.tell(vec![Input::Posted(said)], now) {
            // What cannot be left out, or taken as done, stays as it is.
            Ok(_) | Err(Error::Illegal(_)) => {}
            Err(other) => return Err(other),
        }
    }
    for _ in 0..WORDS_MAX {
        let said = {
            let dice = &mut machine.lock().expect(ALONE).dice;
            // Now and then somebody does not hear the answer and says the same again.
            before.take().filter(|_| dice.percent(40)).or_else(|| word(hand.run(), dice))
        };
        let Some(said) = said else { break };
        before = Some(said.clone());
        let counted = told_again(hand.run(), &said, now);
        let of_another = about_another_call(hand.run(), &said);
        match hand.tell(vec![Input::Posted(said)], now) {
            // Somebody who speaks out of turn is told so, and nothing changes.
            Ok(_) | Err(Error::Illegal(_)) => {}
            Err(other) => return Err(other),
        }
        if let Some((phase, failures)) = counted {
            let after = hand.run().phase_state(&phase).map(|state| state.failures);
            assert_eq!(after, Some(failures), "I6: a failure of {phase} is counted twice");
        }
        if let Some(phase) = of_another {
            let waits = hand.run().phase_state(&phase).and_then(waiting_call).is_some();
            assert!(waits, "J1: a call of {phase} is answered by what was said of another");
        }
        if hand.run().tree_is_awaited() {
            let kept = world.tree().snapshot(hand.run())?;
            hand.tell(vec![kept], now)?;
        }
    }
    Ok(run)
}
