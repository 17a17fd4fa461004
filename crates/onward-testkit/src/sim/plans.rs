//! Random plans: every shape that the scheduler can meet, and every policy that it must obey.

use std::time::Duration;

use onward_core::id::PhaseId;
use onward_core::plan::{
    Approval, Artifact, Backoff, Body, Effects, External, IfExpired, IfSilent, Keep, Need, OnInterrupt, Phase, Plan,
    PlanFailure, Priority, Retry, RetryWhen, Value,
};

use super::dice::Dice;
use super::limits;

const PHASES_MAX: u64 = 9;

pub(super) fn random_plan(dice: &mut Dice) -> Plan {
    let size = 1 + dice.below(PHASES_MAX);
    let phases = (0..size).map(|number| random_phase(dice, number)).collect();
    Plan {
        max_parallel: 1 + u32::try_from(dice.below(4)).expect("small"),
        on_failure: *dice.pick(&[PlanFailure::Finish, PlanFailure::Continue, PlanFailure::Continue, PlanFailure::Stop]),
        phases,
        limits: limits::random_limits(dice),
        ..Plan::new("sim", "run")
    }
}

pub(super) fn random_phase(dice: &mut Dice, number: u64) -> Phase {
    let mut needs = Vec::new();
    for earlier in 0..number {
        if dice.percent(25) {
            let must_be_completed = dice.percent(20);
            needs.push(Need { phase: id(earlier), must_be_completed });
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
