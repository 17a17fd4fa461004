//! Random plans: every shape that the scheduler can meet, and every policy that it must obey.

use std::collections::BTreeMap;
use std::time::Duration;

use onward_core::id::PhaseId;
use onward_core::plan::{
    Approval, Artifact, Axis, Backoff, Body, Effects, External, IfExpired, IfSilent, Keep, Matrix, Need, OnInterrupt,
    Phase, PhaseFailure, Plan, PlanFailure, Priority, Retry, RetryWhen, Uses, Value, expand,
};

use super::dice::Dice;
use super::limits;

const PHASES_MAX: u64 = 9;

pub(super) fn random_plan(dice: &mut Dice) -> Plan {
    let size = 1 + dice.below(PHASES_MAX);
    let mut phases: Vec<Phase> = (0..size).map(|number| random_phase(dice, number)).collect();
    // A world has people, or phases that are taken apart; both together are not played yet.
    if phases.iter().any(is_special) {
        phases.iter_mut().for_each(without_people);
    }
    let plan = Plan {
        max_parallel: 1 + u32::try_from(dice.below(4)).expect("small"),
        on_failure: *dice.pick(&[PlanFailure::Finish, PlanFailure::Continue, PlanFailure::Continue, PlanFailure::Stop]),
        phases,
        used: BTreeMap::from([(INNER.to_owned(), inner(dice))]),
        limits: limits::random_limits(dice),
        ..Plan::new("sim", "run")
    };
    let expanded = expand::at_start(&plan, &BTreeMap::new()).expect("the plans of the simulator can be taken apart");
    expand::joined(expanded)
}

/// The plan that phases use.
const INNER: &str = "inner.yaml";

fn inner(dice: &mut Dice) -> Plan {
    let mut last = plain(dice, PhaseId::new("last"));
    last.needs = vec![Need::new(PhaseId::new("first"))];
    let finally = if dice.percent(50) { vec![plain(dice, PhaseId::new("close"))] } else { Vec::new() };
    let phases = vec![plain(dice, PhaseId::new("first")), last, plain(dice, PhaseId::new("beside"))];
    let on_failure = *dice.pick(&[PlanFailure::Finish, PlanFailure::Continue]);
    Plan { on_failure, phases, finally, ..Plan::new("inner", "run") }
}

fn plain(dice: &mut Dice, id: PhaseId) -> Phase {
    let mut phase = Phase { id, ..simple_phase(dice, 0) };
    without_people(&mut phase);
    phase
}

/// A phase that comes into a plan later: nothing special about it.
pub(super) fn another_phase(dice: &mut Dice, number: u64) -> Phase {
    let mut phase = simple_phase(dice, number);
    without_people(&mut phase);
    phase
}

fn is_special(phase: &Phase) -> bool {
    let composed = phase.matrix.is_some() || matches!(phase.body, Body::Uses(_));
    composed || phase.condition.is_some() || phase.on_failure.is_some()
}

fn without_people(phase: &mut Phase) {
    if matches!(phase.body, Body::Approval(_) | Body::External(_)) {
        phase.body = Body::Run { script: "work".to_owned(), shell: vec!["sh".to_owned()] };
    }
}

/// A phase that may be taken apart, left out, or mean something special by its failure.
fn random_phase(dice: &mut Dice, number: u64) -> Phase {
    let mut phase = simple_phase(dice, number);
    let need = phase.needs.first().map(|need| need.phase.clone());
    if dice.percent(15) {
        let about = need.as_ref().map_or("success()".to_owned(), |need| format!("phases.{need}.status == 'completed'"));
        phase.condition = Some(
            dice.pick(&["always()".to_owned(), "failure()".to_owned(), "run.type == 'other'".to_owned(), about])
                .clone(),
        );
    }
    if dice.percent(10) {
        phase.on_failure = Some(*dice.pick(&[PhaseFailure::Stop, PhaseFailure::Skip, PhaseFailure::Ask]));
    }
    if dice.percent(15) {
        let axis = match need {
            Some(need) if dice.percent(60) => Axis::From(format!("${{{{ phases.{need}.outputs.list }}}}")),
            Some(_) | None => Axis::Values(vec!["x".to_owned(), "y".to_owned(), "z".to_owned()]),
        };
        let max_parallel = dice.percent(30).then_some(1);
        phase.matrix = Some(Matrix { axes: vec![("n".to_owned(), axis)], max_parallel, fail_fast: dice.percent(40) });
    }
    if dice.percent(8) {
        phase.body = Body::Uses(Uses { path: INNER.to_owned(), with: Vec::new() });
    }
    phase
}

fn simple_phase(dice: &mut Dice, number: u64) -> Phase {
    let mut needs = Vec::new();
    for earlier in 0..number {
        if dice.percent(25) {
            let must_be_completed = dice.percent(20);
            needs.push(Need { must_be_completed, ..Need::new(id(earlier)) });
        }
    }
    let effects = *dice.pick(&[Effects::Files, Effects::Files, Effects::None, Effects::External]);
    let phase = Phase {
        needs,
        retry: Retry {
            max: u32::try_from(dice.below(3)).expect("small"),
            when: vec![RetryWhen::Failed, RetryWhen::TimedOut, RetryWhen::Infra],
            backoff: Backoff {
                initial: Duration::from_secs(dice.below(20)),
                factor: 2.0,
                max: Duration::from_mins(1),
                jitter: dice.percent(50),
            },
            output_matches: None,
        },
        writes: if dice.percent(30) { vec![format!("out{}/**", dice.below(2))] } else { Vec::new() },
        effects,
        priority: *dice.pick(&[Priority::Critical, Priority::High, Priority::Normal, Priority::Low]),
        value: dice.percent(40).then(|| *dice.pick(&[Value::Issue, Value::Commit, Value::Code, Value::Docs])),
        on_interrupt: dice.percent(20).then(|| *dice.pick(&[OnInterrupt::Rerun, OnInterrupt::Ask])),
        done_when: if dice.percent(25) { vec!["probe".to_owned()] } else { Vec::new() },
        verify: if dice.percent(15) { vec!["check".to_owned()] } else { Vec::new() },
        artifacts: if dice.percent(15) { vec![artifact(dice)] } else { Vec::new() },
        ..Phase::new(id(number), body(dice))
    };
    limits::random_claims(dice, phase)
}

/// Mostly work of our own; now and then somebody else's.
fn body(dice: &mut Dice) -> Body {
    let patience = dice.percent(30).then(|| Duration::from_secs(dice.below(600)));
    match dice.below(100) {
        0..=11 => Body::Approval(Approval {
            message: "go on?".to_owned(),
            show: Vec::new(),
            choices: Vec::new(),
            who: Vec::new(),
            expires: patience,
            if_expired: *dice.pick(&[IfExpired::Approve, IfExpired::Reject, IfExpired::Pause]),
        }),
        12..=29 => Body::External(External {
            instructions: "do it".to_owned(),
            heartbeat: patience,
            if_silent: *dice.pick(&[IfSilent::Wait, IfSilent::Pause, IfSilent::Fail, IfSilent::Ask]),
        }),
        _ => Body::Run { script: "work".to_owned(), shell: vec!["sh".to_owned()] },
    }
}

fn artifact(dice: &mut Dice) -> Artifact {
    Artifact {
        name: "made".to_owned(),
        path: "made".to_owned(),
        required: dice.percent(70),
        keep: Keep::No,
        max_bytes: None,
    }
}

pub(super) fn id(number: u64) -> PhaseId {
    PhaseId::new(format!("p{number}"))
}
