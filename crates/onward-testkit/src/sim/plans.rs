//! Random plans: every shape that the scheduler can meet, and every policy that it must obey.

use std::time::Duration;

use onward_core::id::PhaseId;
use onward_core::plan::{
    Backoff, Body, Effects, Need, OnInterrupt, Phase, PhaseFailure, Plan, PlanFailure, Priority, Retry, RetryWhen,
    Value,
};

use super::dice::Dice;
use super::limits;
use super::replans;

const PHASES_MAX: u64 = 9;

pub(super) fn random_plan(dice: &mut Dice) -> Plan {
    let size = 1 + dice.below(PHASES_MAX);
    let phases = (0..size).map(|number| random_phase(dice, number)).collect();
    Plan {
        max_parallel: 1 + u32::try_from(dice.below(4)).expect("small"),
        on_failure: *dice.pick(&[PlanFailure::Finish, PlanFailure::Continue, PlanFailure::Continue, PlanFailure::Stop]),
        phases,
        replan: Some(replans::random_keys(dice)),
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
        on_failure: dice.percent(5).then_some(PhaseFailure::Replan),
        done_when: if dice.percent(25) { vec!["probe".to_owned()] } else { Vec::new() },
        ..Phase::new(id(number), Body::Run { script: "work".to_owned(), shell: vec!["sh".to_owned()] })
    };
    limits::random_claims(dice, phase)
}

/// A phase that the plan has not had, and that needs nothing but what is there.
pub(super) fn another_phase(dice: &mut Dice, plan: &Plan) -> Phase {
    let number = |phase: &Phase| phase.id.as_str()[1..].parse::<u64>().expect("the plans of the simulator");
    let next = plan.phases.iter().map(number).max().map_or(0, |last| last + 1);
    let mut phase = random_phase(dice, next);
    phase.needs.retain(|need| plan.phase(&need.phase).is_some());
    phase
}

pub(super) fn id(number: u64) -> PhaseId {
    PhaseId::new(format!("p{number}"))
}
