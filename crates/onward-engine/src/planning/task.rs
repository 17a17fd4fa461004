//! A plan for a task of a person: an agent writes it, the checker of plans reads it, and nothing is kept before the person says so.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use onward_core::agent::{AGENT_DEFAULT, AgentWork};
use onward_core::plan;
use onward_core::planning::{CORRECTIONS_MAX, for_a_task};
use onward_store::private;
use serde_json::json;

use super::client_turn::{LeaveTurn, PlanningClient, PlanningNews};
use super::conversation::{NoPlan, Objection, PlanningCost, PlanningPlace, converse};
use super::error::{PlanningError, WrongPlan};
use crate::Onward;
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::markdown_file;
use crate::plan_files::Checked;
use crate::project::Project;
use crate::redact::secrets;
use crate::start::{agent_files, prepared_plan};
use crate::sys::stop;

/// The plan of a project where no other path is named.
const FILE: &str = "onward.yaml";
/// The last text that an agent gave, in the folder of the conversation. It may be no plan, and is not called one.
const LAST_MESSAGE: &str = "last-message.txt";
const TASK_BYTES_MAX: usize = 256 << 10;

/// A task, and what is to become of its plan.
#[derive(Clone, Debug)]
pub struct TaskRequest {
    pub task: String,
    /// None: as the configuration says.
    pub agent: Option<String>,
    pub target: PlanTarget,
    pub time_max: Duration,
}

/// Where the plan is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanTarget {
    /// The file that `run` takes by itself.
    Project,
    File(PathBuf),
    /// It is printed, and kept nowhere.
    Printed,
}

/// A plan that passed the checks. It is nowhere but in a folder of its own until it is saved.
#[derive(Debug)]
pub struct PlannedTask {
    pub checked: Checked,
    /// None where it is to be printed.
    pub path: Option<PathBuf>,
    pub agent: String,
    pub cost: PlanningCost,
    /// The folder of the conversation.
    folder: PathBuf,
}

/// Has an agent write a plan. Nothing is made in the project.
pub fn plan_task(from: &Path, request: &TaskRequest, heard: &mut dyn FnMut(PlanningNews)) -> Result<PlannedTask> {
    let onward = Onward::look_or_new(from)?;
    let path = target(from, &onward.project, &request.target)?;
    let task = request.task.trim();
    if task.is_empty() {
        return Err(PlanningError::NoTask.into());
    }
    if task.len() > TASK_BYTES_MAX {
        let why = format!("the task has {} bytes, and {TASK_BYTES_MAX} are the most", task.len());
        return Err(Error::Unfit { why });
    }
    let agent = request.agent.clone().or_else(|| onward.config.planning_agent()).unwrap_or(AGENT_DEFAULT.to_owned());
    let client = PlanningClient::new(&onward.project, AgentWork::read(&json!({ "use": agent })))
        .ok_or_else(|| PlanningError::NoSuchAgent { agent: agent.clone() })?;
    stop::demand_none()?;
    let folder = own_folder().map_err(Error::io("making a folder for what the agent says"))?;
    let place = PlanningPlace {
        // Levels as they are below a store.
        folder: folder.join("attempts").join("plan").join("task").join("turn"),
        working_directory: onward.project.top.clone(),
        env: shell::inherited(),
        time_max: request.time_max,
        leave: LeaveTurn::BySignals,
    };
    let shown = path.as_deref().map_or(FILE.to_owned(), |path| onward.project.relative(path));
    let check = |text: &str| check(&onward.project, &shown, text);
    // Secrets do not leave the machine with the task either.
    let prompt = for_a_task(&secrets().text(task));
    let (planned, cost) = converse(&client, &place, &prompt, check, heard);
    match planned {
        Ok(checked) => Ok(PlannedTask { checked, path, agent, cost, folder }),
        Err(no_plan) => {
            let error = refusal(no_plan, agent, request.time_max, &folder);
            if !matches!(error, Error::Planning(PlanningError::Wrong { .. })) {
                let _ = fs::remove_dir_all(&folder);
            }
            Err(error)
        }
    }
}

impl PlannedTask {
    /// Writes the plan to its place, which nobody may have taken meanwhile.
    pub fn save(&self) -> Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let written = OpenOptions::new().write(true).create_new(true).mode(0o644).open(path).and_then(|mut file| {
            file.write_all(self.checked.text.as_bytes())?;
            file.sync_all()
        });
        match written {
            Ok(()) => {
                self.forget();
                Ok(())
            }
            Err(why) => {
                let (path, kept, why) = (path.clone(), self.keep()?, why.to_string());
                Err(PlanningError::NotWritten { path, kept, why }.into())
            }
        }
    }

    /// The text in a file outside the project, for a person who did not want it saved.
    pub fn keep(&self) -> Result<PathBuf> {
        keep(&self.folder, &self.checked.text).map_err(Error::io("keeping the text of the plan"))
    }

    /// Nothing of the conversation is left.
    pub fn forget(&self) {
        // It lies where the system keeps what is of the moment.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The file that is to be written, which must not be there.
fn target(from: &Path, project: &Project, target: &PlanTarget) -> Result<Option<PathBuf>> {
    let path = match target {
        PlanTarget::Printed => return Ok(None),
        PlanTarget::Project => project.top.join(FILE),
        PlanTarget::File(path) => from.join(path),
    };
    if markdown_file::is_markdown(&path) {
        return Err(PlanningError::OtherFormat { path }.into());
    }
    if path.symlink_metadata().is_ok() {
        return Err(PlanningError::Exists { path }.into());
    }
    Ok(Some(path))
}

/// The text as `check` reads it, with all that would keep a run from it.
fn check(project: &Project, file: &str, text: &str) -> std::result::Result<Checked, Objection> {
    let mut checked = Checked { file: file.to_owned(), text: text.to_owned(), parsed: plan::parse(text) };
    let unsupported = checked.parsed.unsupported() || checked.parsed.newer();
    let missing = checked.parsed.plan.as_ref().map(|plan| agent_files::faults(project, plan));
    let is_fit = !unsupported && missing.as_ref().is_some_and(Vec::is_empty);
    if !is_fit {
        let all = checked.parsed.diagnostics.into_iter().chain(missing.unwrap_or_default());
        return Err(Objection::from_checker(text, all.collect()));
    }
    prepared_plan::look_at_used(Some(project), &mut checked);
    prepared_plan::look_for_secrets(Some(project), &mut checked);
    Ok(checked)
}

fn refusal(no_plan: NoPlan, agent: String, limit: Duration, folder: &Path) -> Error {
    let error = match no_plan {
        NoPlan::GivenUp => return stop::demand_none().err().unwrap_or(Error::Stopped { signal: libc::SIGINT }),
        NoPlan::TooLong => PlanningError::TooLong { agent, limit },
        NoPlan::NotInstalled(program) => PlanningError::NotInstalled { agent, program },
        NoPlan::Limited { until, said } => PlanningError::Limited { agent, until, said },
        NoPlan::Overloaded { said } => PlanningError::Overloaded { agent, said },
        NoPlan::NotLoggedIn { said } => PlanningError::NotLoggedIn { agent, said },
        NoPlan::Failed(why) => PlanningError::Failed { agent, why },
        NoPlan::Wrong(Objection { text, diagnostics, why, .. }) => match keep(folder, &text) {
            Ok(kept) => {
                let wrong = Box::new(WrongPlan { text, diagnostics, why, kept });
                PlanningError::Wrong { agent, tries: CORRECTIONS_MAX + 1, wrong }
            }
            Err(why) => return Error::io("keeping what the agent said")(why),
        },
    };
    error.into()
}

fn keep(folder: &Path, text: &str) -> io::Result<PathBuf> {
    let path = folder.join(LAST_MESSAGE);
    private::create_anew(&path)?.write_all(text.as_bytes())?;
    Ok(path)
}

/// A folder for this process alone, outside the project: nothing is made there before a plan is saved.
fn own_folder() -> io::Result<PathBuf> {
    let name = format!("onward-plan-{}-{}", std::process::id(), Timestamp::now().as_nanosecond());
    let path = std::env::temp_dir().join(name);
    DirBuilder::new().mode(0o700).create(&path)?;
    Ok(path)
}
