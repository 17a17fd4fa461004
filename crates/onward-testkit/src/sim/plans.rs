//! Random plans: every shape that the scheduler can meet, and every policy that it must obey.

use std::collections::BTreeMap;
use std::time::Duration;

use onward_core::expression::Condition;
use onward_core::id::PhaseId;
use onward_core::plan::{
    Approval, Axis, Backoff, Body, DeclaredArtifact, Effects, External, IfExpired, IfSilent, KeepCopy, LossKind,
    Matrix, Need, OnInterrupt, Phase, PhaseFailure, Plan, PlanFailure, Priority, Retry, RetryWhen, Uses, expand,
};

use super::dice::Dice;
use super::{agents, limits, markers, notices, replans, surroundings};

const PHASES_MAX: u64 = 9;

pub(super) fn random_plan(dice: &mut Dice) -> Plan {
    let mut phases: Vec<Phase> = Vec::new();
    for number in 0..=dice.below(PHASES_MAX) {
        let earlier: Vec<PhaseId> = phases.iter().map(|phase| phase.id.clone()).collect();
        phases.push(random_phase(dice, id(number), &earlier));
    }
    let plan = Plan {
        max_parallel: 1 + u32::try_from(dice.below(4)).expect("small"),
        on_failure: *dice.pick(&[PlanFailure::Finish, PlanFailure::Continue, PlanFailure::Continue, PlanFailure::Stop]),
        phases,
        finally: if dice.percent(20) { finally(dice) } else { Vec::new() },
        used: BTreeMap::from([(INNER.to_owned(), inner(dice))]),
        replan: Some(replans::random_keys(dice)),
        limits: limits::random_limits(dice),
        default_agent: dice.percent(20).then(|| agents::random_block(dice)),
        ..Plan::new("sim", "run")
    };
    let expanded = expand::at_start(&plan, &BTreeMap::new()).expect("the plans of the simulator can be taken apart");
    let plan = expand::joined(expanded);
    let issue = surroundings::random_issue(dice, &plan);
    Plan { markdown: markers::random_origin(dice, &plan), notices: notices::random_rules(dice), issue, ..plan }
}

/// The plan that phases use.
pub(super) const INNER: &str = "inner.yaml";

fn inner(dice: &mut Dice) -> Plan {
    let first = simple_phase(dice, PhaseId::new("first"), &[]);
    let mut last = simple_phase(dice, PhaseId::new("last"), &[]);
    last.needs = vec![Need::new(first.id.clone())];
    let phases = vec![first, last, simple_phase(dice, PhaseId::new("beside"), &[])];
    let close = if dice.percent(50) { vec![simple_phase(dice, PhaseId::new("close"), &[])] } else { Vec::new() };
    let on_failure = *dice.pick(&[PlanFailure::Finish, PlanFailure::Continue]);
    Plan { on_failure, phases, finally: close, ..Plan::new("inner", "run") }
}

/// The `finally` phases of a random plan.
fn finally(dice: &mut Dice) -> Vec<Phase> {
    let first = random_phase(dice, PhaseId::new("f0"), &[]);
    let second = dice.percent(40).then(|| random_phase(dice, PhaseId::new("f1"), &[PhaseId::new("f0")]));
    std::iter::once(first).chain(second).collect()
}

/// A phase that the plan has not had, and that needs nothing but what is there.
pub(super) fn another_phase(dice: &mut Dice, plan: &Plan) -> Phase {
    let own = |phase: &&Phase| phase.situation.parent.is_none() && !phase.closing;
    let earlier: Vec<PhaseId> = plan.phases.iter().filter(own).map(|phase| phase.id.clone()).collect();
    let number = |id: &PhaseId| id.as_str()[1..].parse::<u64>().expect("the plans of the simulator");
    let next = earlier.iter().map(number).max().map_or(0, |last| last + 1);
    random_phase(dice, id(next), &earlier)
}

/// A phase that may be taken apart, left out, or mean something special by its failure.
fn random_phase(dice: &mut Dice, id: PhaseId, earlier: &[PhaseId]) -> Phase {
    let mut phase = simple_phase(dice, id, earlier);
    let need = phase.needs.first().map(|need| need.phase.clone());
    if dice.percent(15) {
        let about = need.as_ref().map_or("success()".to_owned(), |need| format!("phases.{need}.status == 'completed'"));
        let texts = ["always()".to_owned(), "failure()".to_owned(), "run.type == 'other'".to_owned(), about];
        let text: &String = dice.pick(&texts);
        phase.condition = Some(Condition::parse(text).expect("a condition"));
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

fn simple_phase(dice: &mut Dice, id: PhaseId, earlier: &[PhaseId]) -> Phase {
    let mut needs = Vec::new();
    for earlier in earlier {
        if dice.percent(25) {
            let must_be_completed = dice.percent(20);
            needs.push(Need { must_be_completed, ..Need::new(earlier.clone()) });
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
        value: dice
            .percent(40)
            .then(|| *dice.pick(&[LossKind::Issue, LossKind::Commit, LossKind::Code, LossKind::Docs])),
        on_interrupt: dice.percent(20).then(|| *dice.pick(&[OnInterrupt::Rerun, OnInterrupt::Ask])),
        on_failure: dice.percent(5).then_some(PhaseFailure::Replan),
        done_when: if dice.percent(25) { vec!["probe".to_owned()] } else { Vec::new() },
        verify: if dice.percent(15) { vec!["check".to_owned()] } else { Vec::new() },
        artifacts: if dice.percent(15) { vec![artifact(dice)] } else { Vec::new() },
        ..Phase::new(id, body(dice))
    };
    let phase = with_work_of_its_own(phase);
    let phase = limits::random_claims(dice, phase);
    if matches!(phase.body, Body::Run { .. } | Body::Agent(_)) {
        surroundings::random_requirements(dice, phase)
    } else {
        phase
    }
}

/// No two phases do the same.
fn with_work_of_its_own(mut phase: Phase) -> Phase {
    if let Body::Run { script, .. } = &mut phase.body {
        *script = format!("work {}", phase.id);
    }
    phase
}

/// Mostly work of our own; now and then somebody else's.
pub(super) fn body(dice: &mut Dice) -> Body {
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
        30..=49 => Body::Agent(agents::random_block(dice)),
        _ => Body::Run { script: "work".to_owned(), shell: vec!["sh".to_owned()] },
    }
}

fn artifact(dice: &mut Dice) -> DeclaredArtifact {
    DeclaredArtifact {
        name: "made".to_owned(),
        path: "made".to_owned(),
        required: dice.percent(70),
        report: false,
        keep: KeepCopy::No,
        max_bytes: None,
    }
}

pub(super) fn id(number: u64) -> PhaseId {
    PhaseId::new(format!("p{number}"))
}
