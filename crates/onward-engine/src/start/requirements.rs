//! Requirements of a plan, before a run of it starts: nothing is made while it is not there.

use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use onward_core::event::RunStarted;
use onward_core::evidence::RequirementSeen;
use onward_core::id::RunId;
use onward_core::plan::Plan;
use onward_core::run::{self, Run};

use crate::Onward;
use crate::error::{Error, Result};
use crate::probe::requirement::RequirementLook;
use crate::redact;
use crate::start::findings::{Going, Unfinished, unmet as unmet_finding};
use crate::start::request::{Request, Want};
use crate::start::starting::{StartFound, StartablePlan};
use crate::sys::stop;
use crate::trust;

impl Onward {
    /// Looks at what the plan of a new run requires, and gives what was seen.
    pub(super) fn demand_requirements(&self, work: &StartablePlan, request: &Request) -> Result<Vec<RequirementSeen>> {
        // A store that came from elsewhere is refused in a moment, and nothing is executed in it before.
        if work.plan.requires.is_empty() || trust::doubt(&self.project).is_some() {
            return Ok(Vec::new());
        }
        redact::learn_inputs(&request.inputs);
        let run = self.run_to_be(work);
        let seen = RequirementLook::of_plan(&self.project, &run, &work.plan).check_all(&AtomicBool::new(false));
        // What was given up was not seen.
        stop::demand_none()?;
        let unmet: Vec<RequirementSeen> = seen.iter().filter(|one| !one.met).cloned().collect();
        if unmet.is_empty() { Ok(seen) } else { Err(Error::RequirementUnmet { unmet }) }
    }

    /// The run as it would begin; nothing of it is kept.
    fn run_to_be(&self, work: &StartablePlan) -> Run {
        let started = RunStarted {
            plan_path: work.plan_path.clone(),
            inputs: work.inputs.clone(),
            worktree: self.project.fork.as_ref().and_then(|fork| fork.to_str()).map(str::to_owned),
            ..RunStarted::bare(RunId::new(""), "", work.plan.clone(), "")
        };
        run::start(started, "", Timestamp::now()).0
    }

    /// All that is required, a line each. Of a run that would go on also whether it is there: its commands are asked, as its other
    /// probes are. Nothing of a plan that was never started is executed by a look at it.
    pub fn told_requirements(&self, request: &Request, found: &StartFound) -> Result<Vec<String>> {
        let new = matches!(request.want, Want::Fresh) || found.unfinished.is_empty();
        match (new, &found.work, found.unfinished.first()) {
            (true, Some(work), _) => Ok(all_of(&work.plan)),
            (_, _, Some(one)) if one.driver().is_none() && trust::doubt(&self.project).is_none() => {
                let told = self.requirements_now(one);
                // What was given up was not seen.
                stop::demand_none().map(|()| told)
            }
            (_, _, _) => Ok(Vec::new()),
        }
    }

    /// The edited plan counts now: what it requires and the run's own plan did not is looked at, too.
    pub(super) fn demand_what_the_edit_requires(&self, one: &Unfinished, going: &mut Going) -> Result<()> {
        let added = one.added_requirements();
        if added.is_empty() || trust::doubt(&self.project).is_some() {
            return Ok(());
        }
        let plan = Plan { requires: added, ..one.run.plan().clone() };
        let seen = RequirementLook::of_plan(&self.project, &one.run, &plan).check_all(&AtomicBool::new(false));
        stop::demand_none()?;
        let unmet: Vec<RequirementSeen> = seen.iter().filter(|one| !one.met).cloned().collect();
        if !unmet.is_empty() {
            let findings = unmet.iter().map(unmet_finding).collect();
            return Err(Error::Forbidden { run: one.run.id.clone(), findings });
        }
        going.resumption.requirements.extend(seen);
        Ok(())
    }

    fn requirements_now(&self, one: &Unfinished) -> Vec<String> {
        let never = AtomicBool::new(false);
        let of_the_plan = one.requirements.iter().map(|seen| told("the plan", seen));
        let open = one.run.phases().filter(|(phase, state)| !state.is_finished() && !phase.requires.is_empty());
        let of_phases = open.flat_map(|(phase, _)| {
            let seen = RequirementLook::of_phase(&self.project, &one.run, phase).check_all(&never);
            seen.iter().map(|seen| told(&format!("phase {}", phase.id), seen)).collect::<Vec<_>>()
        });
        let words = |text: &str| redact::secrets().text(text).into_owned();
        let added = one.added_requirements();
        let added =
            added.iter().map(|one| format!("the edited plan requires: {} (not looked at yet)", words(one.words())));
        of_the_plan.chain(added.collect::<Vec<_>>()).chain(of_phases).collect()
    }
}

fn told(who: &str, seen: &RequirementSeen) -> String {
    let RequirementSeen { name, met, said } = seen;
    if *met { format!("{who} requires: {name} (met)") } else { format!("{who} requires: {name} (not met: {said})") }
}

fn all_of(plan: &Plan) -> Vec<String> {
    let words = |text: &str| redact::secrets().text(text).into_owned();
    let of_the_plan = plan.requires.iter().map(|one| format!("the plan requires: {}", words(one.words())));
    let of_phases = plan.phases.iter().flat_map(|phase| {
        phase.requires.iter().map(move |one| format!("phase {} requires: {}", phase.id, words(one.words())))
    });
    of_the_plan.chain(of_phases).collect()
}
