//! Another plan for a run, by an agent: it is asked in a thread of its own, and asked again where its driver was killed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;
use onward_core::agent::AgentWork;
use onward_core::brief::brief;
use onward_core::event::{PlanningBill, nano_usd};
use onward_core::id::{Attempt, PhaseId};
use onward_core::plan::{self, Budget, MarkdownSettings, Plan};
use onward_core::planning::{ReplanTold, for_a_replan};
use onward_core::run::{PhaseStatus, Run};

use super::client_turn::{LeaveTurn, PlanningClient};
use super::conversation::{NoPlan, Objection, PlanningCost, PlanningPlace, converse};
use crate::attendant::AttemptFolder;
use crate::error::Error;
use crate::executor::shell;
use crate::plan_files;
use crate::probe::probe_lock::ProbePlace;
use crate::project::Project;
use crate::redact::secrets;
use crate::start::agent_files;
use crate::start::prepared_plan::{is_known_by, revision};

/// Of the run so far in the prompt.
const BRIEF_TOKENS: usize = 1_500;
/// Turns of one request: corrections, each of them asked again where the service had no capacity.
const TURNS_MAX: u32 = 100;
/// Folders of earlier requests of one phase that are looked past.
const FOLDERS_MAX: u32 = 10_000;
/// The file that the new plan is read as: agents are told to write YAML, whatever the present plan is written in.
const READ_AS: &str = "onward.yaml";

/// All that is needed to ask for another plan.
pub(crate) struct AgentReplan {
    project: Project,
    /// As it stood when the plan was asked for.
    run: Run,
    phase: PhaseId,
    work: AgentWork,
    env: Result<Vec<(OsString, OsString)>, String>,
    place: ProbePlace,
    time_max: Duration,
}

/// The outcome of a replan, and the bill of the agent that was asked for it.
pub(crate) struct ReplanDone {
    pub(crate) made: ReplanMade,
    pub(crate) bill: Option<PlanningBill>,
}

impl From<ReplanMade> for ReplanDone {
    fn from(made: ReplanMade) -> Self {
        Self { made, bill: None }
    }
}

/// The fate of a wish for another plan.
pub(crate) enum ReplanMade {
    Plan(Box<Plan>),
    /// It was rate-limited.
    Limited {
        agent: String,
        until: Option<Timestamp>,
        said: String,
    },
    Nothing(String),
}

impl AgentReplan {
    pub(crate) fn new(
        project: &Project,
        run: &Run,
        (phase, work): (&PhaseId, AgentWork),
        (place, time_max): (ProbePlace, Duration),
    ) -> Self {
        // The budget of the phase is for its attempts.
        let work = AgentWork { budget: Budget { usd: run.left_for_a_plan(), tokens: None }, ..work };
        let (work, env) = match filled(run, phase, &work) {
            Ok(env) => (AgentWork { env, ..work }, environment(project, run, phase, &place)),
            Err(why) => (work, Err(why)),
        };
        Self { project: project.clone(), run: run.clone(), phase: phase.clone(), work, env, place, time_max }
    }

    /// Asks and waits. Whoever gives it up has everything ended that was started for it.
    pub(crate) fn make(self, given_up: &AtomicBool) -> ReplanDone {
        self.asked(given_up).unwrap_or_else(|why| ReplanMade::Nothing(why).into())
    }

    fn asked(self, given_up: &AtomicBool) -> Result<ReplanDone, String> {
        let agent = self.work.agent.clone();
        let failed = |why: String| format!("{agent} made no other plan: {why}");
        let client = PlanningClient::new(&self.project, self.work.clone())
            .ok_or_else(|| failed("there is no agent of this name".to_owned()))?;
        // One at a time: the client of a driver that was killed is ended first.
        let turn = self.place.take(given_up).map_err(|why| failed(why.to_string()))?;
        let _turn = turn.ok_or_else(|| failed("nobody waits for it any more".to_owned()))?;
        let (request, folder) = self.folder().ok_or_else(|| failed("it was asked too often".to_owned()))?;
        let place = PlanningPlace {
            folder: folder.clone(),
            working_directory: shell::top(&self.project, &self.run),
            env: self.env.clone().map_err(failed)?,
            time_max: self.time_max,
            leave: LeaveTurn::ByFlag(given_up),
        };
        let (made, cost) = converse(&client, &place, &self.prompt(), |text| self.check(text), &mut |_| {});
        let bill = self.bill(&client, request, &cost);
        let made = match made {
            Ok(plan) => ReplanMade::Plan(plan),
            Err(NoPlan::Limited { until, said }) => ReplanMade::Limited { agent, until, said },
            Err(no_plan) => ReplanMade::Nothing(failed(self.words(no_plan, &folder))),
        };
        Ok(ReplanDone { made, bill: Some(bill) })
    }

    /// With what was asked for by drivers that were killed before they could say what it cost.
    fn bill(&self, client: &PlanningClient, request: u32, cost: &PlanningCost) -> PlanningBill {
        let mut costs = vec![cost.clone()];
        for earlier in self.run.replans.billed(&self.phase) + 1..request {
            let mut lost = PlanningCost::default();
            let turns = (1..=TURNS_MAX).map_while(|turn| self.turn_folder(earlier, turn));
            for result in turns.filter_map(|folder| client.account_of(&folder)) {
                lost.add(&result);
            }
            costs.push(lost);
        }
        let sum = |of: fn(&PlanningCost) -> u64| costs.iter().map(of).fold(0, u64::saturating_add);
        PlanningBill {
            agent: self.work.agent.clone(),
            turns: sum(|cost| cost.turns),
            tokens: sum(|cost| cost.tokens),
            cost_nano_usd: sum(|cost| cost.cost_usd.map_or(0, nano_usd)),
            is_part: costs.iter().any(|cost| cost.is_part),
            request,
        }
    }

    fn words(&self, no_plan: NoPlan, folder: &std::path::Path) -> String {
        match no_plan {
            NoPlan::GivenUp => "it was given up".to_owned(),
            NoPlan::TooLong => format!("it took longer than {} s", self.time_max.as_secs()),
            NoPlan::NotInstalled(program) => format!("there is no program {program} on the PATH"),
            NoPlan::Limited { said, .. } | NoPlan::Overloaded { said } => said,
            NoPlan::NotLoggedIn { said } => format!("it is not logged in: {said}"),
            NoPlan::Failed(why) => why,
            NoPlan::Wrong(objection) => {
                let place = self.project.relative(folder);
                format!(
                    "what it wrote cannot be used, also after corrections: {} (it lies in {place}-*)",
                    objection.in_short()
                )
            }
        }
    }

    /// The number of this request, and its folder beside those of the attempts: the next one that is free.
    fn folder(&self) -> Option<(u32, PathBuf)> {
        let beside = self.beside()?;
        // The first turn is always made.
        let number = (1..=FOLDERS_MAX).find(|number| self.turn_folder(*number, 1).is_none())?;
        Some((number, beside.join(format!("replan-{number}"))))
    }

    fn beside(&self) -> Option<PathBuf> {
        let attempt = shell::folder(&self.project, &self.run, &self.phase, Attempt(1));
        attempt.path().parent().map(Path::to_owned)
    }

    /// The folder of one turn, where it was made.
    fn turn_folder(&self, request: u32, turn: u32) -> Option<AttemptFolder> {
        let path = self.beside()?.join(format!("replan-{request}-{turn}"));
        fs::symlink_metadata(&path).is_ok().then(|| AttemptFolder::at(path))
    }

    fn prompt(&self) -> String {
        let run = &self.run;
        let with = |wanted: fn(PhaseStatus) -> bool| -> Vec<PhaseId> {
            run.phases().filter(|(_, state)| wanted(state.status)).map(|(phase, _)| phase.id.clone()).collect()
        };
        let finished = with(|status| matches!(status, PhaseStatus::Completed | PhaseStatus::Skipped));
        let at_work = with(|status| status == PhaseStatus::Running);
        let reason = run.replans.asked_by(&self.phase).map(|asked| asked.reason.clone()).unwrap_or_default();
        let (plan, brief) = (self.present_plan(), brief(run, BRIEF_TOKENS).text);
        for_a_replan(&ReplanTold {
            phase: &self.phase,
            reason: &reason,
            may_edit: run.plan().replan_rules(run.plan().phase(&self.phase)).may_edit,
            plan: &plan,
            brief: &brief,
            finished: &finished,
            at_work: &at_work,
        })
    }

    /// The author's text, where the run still goes by it; else the plan as it is kept, which is another notation of the same.
    fn present_plan(&self) -> String {
        let run = &self.run;
        let path = self.project.top.join(&run.started.plan_path);
        let is_the_authors = run.replans.history().iter().all(|revision| revision.phase.is_none());
        let hash = |text: &String| blake3::hash(text.as_bytes()).to_hex().to_string();
        let is_known = |text: &String| is_known_by(&self.project, &run.started.plan_text, &hash(text));
        let text = plan_files::plan_text(&path).ok();
        if let Some(text) = text.filter(|text| is_the_authors && is_known(text)) {
            return format!("```yaml\n{}\n```", secrets().text(&text).trim_end());
        }
        let kept = serde_json::to_string_pretty(run.plan()).unwrap_or_default();
        format!("As it is kept, with all defaults filled in; write yours in the format below:\n\n```json\n{kept}\n```")
    }

    fn check(&self, text: &str) -> Result<Box<Plan>, Objection> {
        let path = self.project.top.join(READ_AS);
        let objection = |why: Error| match why {
            Error::PlanInvalid { diagnostics, .. }
            | Error::PlanUnsupported { diagnostics, .. }
            | Error::PlanNewer { diagnostics, .. }
                if !diagnostics.is_empty() =>
            {
                Objection::from_checker(text, diagnostics)
            }
            other => Objection::from_run(text, other.to_string()),
        };
        let settings = MarkdownSettings::default();
        let read = plan_files::plan_from_text(&self.project, &path, text.to_owned(), &settings).map_err(objection)?;
        let missing = agent_files::faults(&self.project, &read);
        if !missing.is_empty() {
            return Err(Objection::from_checker(text, missing));
        }
        let given: &BTreeMap<String, String> = &self.run.started.given;
        plan::inputs::resolve(&read, given).map_err(|faults| Objection::from_checker(text, faults))?;
        let revised = revision(&self.project, &read).map_err(objection)?;
        match self.run.refuses(&self.phase, &revised) {
            Some(refused) => Err(Objection::from_run(text, refused.to_string())),
            None => Ok(Box::new(revised)),
        }
    }
}

/// The variables that the agent is given beside those of the phase.
fn filled(run: &Run, id: &PhaseId, work: &AgentWork) -> Result<Vec<(String, String)>, String> {
    let phase = run.plan().phase(id).expect("wanted phases are in the plan");
    let fill = |(name, value): &(String, String)| {
        let filled = shell::fill_for(run, phase, value);
        let filled = filled.ok_or_else(|| format!("an expression in the variable {name} cannot be filled in"))?;
        Ok((name.clone(), filled))
    };
    work.env.iter().map(fill).collect()
}

/// The variables of the phase, and by which the client is known again.
fn environment(
    project: &Project,
    run: &Run,
    id: &PhaseId,
    place: &ProbePlace,
) -> Result<Vec<(OsString, OsString)>, String> {
    let phase = run.plan().phase(id).expect("wanted phases are in the plan");
    let mut env = shell::probe_environment(project, run, phase)?;
    let (mark, marked) = place.variable();
    shell::set(&mut env, mark, marked.into());
    Ok(env)
}
