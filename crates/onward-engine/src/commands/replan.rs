//! Making another plan: the command of the author runs in the top folder of the project and prints one, or an agent writes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use onward_core::data_limits::text_fits;
use onward_core::diagnostic::Severity;
use onward_core::event::Event;
use onward_core::id::{PhaseId, RunId};
use onward_core::input::{Consent, Input, Posted, Reply};
use onward_core::plan::{self, APPROVE, MarkdownSettings, Plan, REJECT, TEXT_BYTES_MAX};
use onward_core::replan::Because;
use onward_core::run::replans::PlanMaker;
use onward_core::run::{Run, Stepped};

use crate::Onward;
use crate::commands::external_phases::{Reported, next_of};
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::plan_files;
use crate::planning::{AgentReplan, ReplanDone, ReplanMade};
use crate::probe::command::{self, CommandBounds, Flood};
use crate::probe::probe_lock::{ProbePlace, ProbePurpose};
use crate::project::Project;
use crate::queries::runs::require_phase;
use crate::redact::secrets;
use crate::start::prepared_plan::revision;
use crate::sys::threads;

/// The longest that the making of a plan may take: it may need thought, or an answer of somebody.
const TIME_MAX: Duration = Duration::from_hours(1);

/// A plan that is being made. When nobody waits for it any more, what makes it ends.
pub(crate) struct Replanning {
    phase: PhaseId,
    unwanted: Arc<AtomicBool>,
    made: Option<JoinHandle<ReplanDone>>,
}

impl Replanning {
    /// Starts whoever makes it in a thread of its own: whoever drives must not stand still for it.
    pub(crate) fn start(project: &Project, run: &Run, id: &PhaseId) -> Self {
        let unwanted = Arc::new(AtomicBool::new(false));
        let given_up = unwanted.clone();
        let place = ProbePlace::new(project, &run.id, id, ProbePurpose::Replan);
        let made = match run.plan_maker(id) {
            Some(PlanMaker::Agent(work)) => {
                let replan = AgentReplan::new(project, run, (id, *work), (place, TIME_MAX));
                threads::spawn(move || replan.make(&given_up))
            }
            Some(PlanMaker::Command(script)) => Self::by_command(project, run, id, (script, place), given_up),
            None => threads::spawn(|| {
                ReplanMade::Nothing("the plan names no command and no agent that makes another one".to_owned()).into()
            }),
        };
        Self { phase: id.clone(), unwanted, made: Some(made) }
    }

    fn by_command(
        project: &Project,
        run: &Run,
        id: &PhaseId,
        (script, place): (String, ProbePlace),
        given_up: Arc<AtomicBool>,
    ) -> JoinHandle<ReplanDone> {
        let phase = run.plan().phase(id).expect("wanted phases are in the plan");
        let reason = run.replans.asked_by(id).map(|asked| asked.reason.clone()).unwrap_or_default();
        let (mark, marked) = place.variable();
        let env = shell::probe_environment(project, run, phase).map(|mut env| {
            env.push(("ONWARD_REPLAN_REASON".into(), reason.into()));
            env.push((mark.into(), marked.into()));
            env
        });
        let (project, given) = (project.clone(), run.started.given.clone());
        // Another plan in Markdown is read as this one was.
        let settings = run.plan().markdown.as_ref().map(|origin| origin.settings.clone()).unwrap_or_default();
        let plan_path = project.top.join(&run.started.plan_path);
        let printed = move || {
            // One at a time: the command of a driver that was killed is ended first.
            let turn = place.take(&given_up).map_err(|why| format!("the replan command cannot be started: {why}"))?;
            let turn = turn.ok_or_else(|| "nobody waits for another plan any more".to_owned())?;
            let patience = CommandBounds {
                time_max: TIME_MAX,
                bytes_max: TEXT_BYTES_MAX as u64 + 1,
                given_up: &given_up,
                tag: Some(place.tag()),
                flood: Flood::End,
            };
            let ran = command::run_within(&project.top, &command::default_shell(), &script, env?, patience);
            drop(turn);
            match ran.code {
                Some(0) => {}
                Some(code) => return Err(format!("the replan command ended with code {code}")),
                None => return Err(format!("the replan command gave no answer: {}", ran.why)),
            }
            let text = String::from_utf8(ran.output).map_err(|_| "what the replan command printed is no text")?;
            read(&project, (&plan_path, &settings), text, &given)
        };
        threads::spawn(move || printed().map_or_else(ReplanMade::Nothing, ReplanMade::Plan).into())
    }
}

impl Drop for Replanning {
    fn drop(&mut self) {
        self.unwanted.store(true, Ordering::Relaxed);
        // It looks every few milliseconds, and ends then what it has started.
        let _ = self.made.take().map(JoinHandle::join);
    }
}

/// The plan, once it is there, with the bill for it.
pub(crate) fn made(replanning: &mut Option<Replanning>) -> Option<Input> {
    let one = replanning.as_mut().filter(|one| one.made.as_ref().is_some_and(JoinHandle::is_finished))?;
    let made = one.made.take()?;
    let lost = || ReplanMade::Nothing("whoever made another plan could not be followed".to_owned()).into();
    let ReplanDone { made, bill } = made.join().unwrap_or_else(|_| lost());
    let phase = one.phase.clone();
    *replanning = None;
    let paid_for = phase.clone();
    let answer = match made {
        ReplanMade::Plan(plan) => Input::Replan { phase, plan: Ok(plan) },
        ReplanMade::Nothing(why) => Input::Replan { phase, plan: Err(why) },
        ReplanMade::Limited { agent, until, said } => Input::ReplanLimited { phase, agent, until, said },
    };
    Some(match bill {
        Some(bill) => Input::PlanningPaid { phase: paid_for, bill, answer: Box::new(answer) },
        None => answer,
    })
}

/// A plan that can take the place of the present one, or the first thing that stands in the way.
fn read(
    project: &Project,
    (path, settings): (&Path, &MarkdownSettings),
    text: String,
    given: &std::collections::BTreeMap<String, String>,
) -> std::result::Result<Box<Plan>, String> {
    let parsed = plan_files::parsed(path, &text, settings);
    let errors = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let first = errors.map(|diagnostic| diagnostic.message.clone()).next();
    let plan = plan_files::plan_from_text(project, path, text, settings).map_err(|why| {
        let what = first.unwrap_or_else(|| why.to_string());
        format!("what the replan command printed is no plan: {what}")
    })?;
    plan::inputs::resolve(&plan, given).map_err(|_| "the new plan wants inputs that the run was not given")?;
    revision(project, &plan).map(Box::new).map_err(|why| why.to_string())
}

/// The result of proposing or answering a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposed {
    /// It counts from now on.
    Taken,
    /// It waits for a person's approval.
    Waits,
    Refused {
        because: Because,
        why: String,
    },
}

impl Onward {
    /// Reports that another plan is wanted for a phase; without a plan the command that makes plans is asked for one.
    pub fn report_replan(
        &mut self,
        name: Option<&str>,
        phase: &str,
        reason: &str,
        file: Option<&Path>,
    ) -> Result<(Proposed, Reported)> {
        text_fits("its reason", reason)?;
        let run = self.find_run(name)?;
        let phase = require_phase(&self.load(&run)?, phase)?;
        self.demand_own_phase(&run, Some(&phase))?;
        let plan = file.map(|file| self.brought(file)).transpose()?;
        let reason = secrets().text(reason).into_owned();
        let proposed = match self.post(&run, Posted::Replan { phase, reason, plan }) {
            Ok(reply) => proposed(reply),
            Err(Error::RequestRefused { reason, .. }) => {
                Proposed::Refused { because: Because::NotAllowed, why: reason }
            }
            Err(other) => return Err(other),
        };
        let reason = match &proposed {
            Proposed::Taken => None,
            Proposed::Waits => Some("it waits for a person's approval".to_owned()),
            Proposed::Refused { why, .. } => Some(why.clone()),
        };
        let run = self.load(&run)?;
        let next = next_of(&self.project, &run);
        Ok((proposed, Reported { accepted: reason.is_none(), reason, next }))
    }

    fn brought(&self, file: &Path) -> Result<Box<Plan>> {
        let path: PathBuf = self.from.join(file);
        let settings = self.config.markdown();
        let written = plan_files::plan_from_text(&self.project, &path, plan_files::plan_text(&path)?, &settings)?;
        revision(&self.project, &written).map(Box::new)
    }

    /// A person's answer about a plan that waits for it.
    pub(crate) fn answer_for_a_plan(&mut self, run: &RunId, phase: PhaseId, choice: &str) -> Result<()> {
        let answer = match choice {
            APPROVE => Consent::Yes,
            REJECT => Consent::No,
            other => {
                let reason = format!("the plan of {phase} is approved or rejected, and nothing else: {other}");
                return Err(Error::Declined { reason });
            }
        };
        match self.post(run, Posted::SettleReplan { phase, answer }).map(proposed) {
            Ok(Proposed::Refused { because: Because::Rejected, .. } | Proposed::Taken | Proposed::Waits) => Ok(()),
            Ok(Proposed::Refused { why: reason, .. }) | Err(Error::RequestRefused { reason, .. }) => {
                Err(Error::Declined { reason })
            }
            Err(other) => Err(other),
        }
    }
}

fn proposed(reply: Reply) -> Proposed {
    match reply {
        Reply::Done | Reply::Checkpoint { .. } => Proposed::Taken,
        Reply::NotReplanned { because: None, .. } => Proposed::Waits,
        Reply::NotReplanned { because: Some(because), why } => Proposed::Refused { because, why },
        Reply::Refused { .. } | Reply::Unfit { .. } | Reply::Overruled { .. } => {
            unreachable!("a refusal of the message itself is an error")
        }
    }
}

/// The reply to whoever proposed a plan or answered for one; none where it was about something else or the plan counts.
pub(crate) fn reply(stepped: &Stepped) -> Option<Reply> {
    stepped.events.iter().find_map(|recorded| match &recorded.event {
        Event::ReplanProposed { .. } => {
            Some(Reply::NotReplanned { because: None, why: "it waits for a person's approval".to_owned() })
        }
        Event::ReplanRefused { because, why, .. } => {
            Some(Reply::NotReplanned { because: Some(*because), why: why.clone() })
        }
        _ => None,
    })
}
