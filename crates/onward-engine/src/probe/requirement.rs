//! Whether what a plan or a phase requires is there: each command is run, and how it ends is what counts.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use onward_core::evidence::RequirementSeen;
use onward_core::plan::{Phase, Plan, Requirement};
use onward_core::run::Run;

use super::command::{self, CommandBounds, Flood};
use super::phase::shell_of;
use super::probe_lock::{ProbePlace, ProbePurpose};
use crate::executor::shell;
use crate::project::Project;
use crate::redact;

/// Characters of the last line of a command that are kept.
const SAID_CHARS_MAX: usize = 200;

/// All that is needed to look, so that it can be done beside everything else.
pub(crate) struct RequirementLook {
    folder: PathBuf,
    shell: Vec<String>,
    env: Result<Vec<(OsString, OsString)>, String>,
    requires: Vec<Requirement>,
    /// None where there is no run yet of which a later one could find what was left.
    place: Option<ProbePlace>,
}

impl RequirementLook {
    /// The requirements of the plan as a whole.
    pub(crate) fn of_plan(project: &Project, run: &Run, plan: &Plan) -> Self {
        Self {
            folder: shell::top(project, run),
            shell: command::default_shell(),
            env: shell::plan_environment(run),
            requires: plan.requires.clone(),
            place: None,
        }
    }

    /// The requirements of one phase.
    pub(crate) fn of_phase(project: &Project, run: &Run, phase: &Phase) -> Self {
        let place = ProbePlace::new(project, &run.id, &phase.id, ProbePurpose::Requirement);
        let (mark, marked) = place.variable();
        let top = shell::top(project, run);
        let folder = shell::working_directory(project, &top, phase);
        let env = shell::probe_environment(project, run, phase).map(|mut env| {
            env.push((mark.into(), marked.into()));
            env
        });
        // Nothing is run where there is no environment to run it in.
        let env = env.and_then(|env| folder.as_ref().map(|_| env).map_err(Clone::clone));
        Self {
            folder: folder.unwrap_or(top),
            shell: shell_of(phase),
            env,
            requires: phase.requires.clone(),
            place: Some(place),
        }
    }

    /// Looks at all of it: whoever has to see to it is told everything at once.
    pub(crate) fn check_all(&self, given_up: &AtomicBool) -> Vec<RequirementSeen> {
        let turn = self.place.as_ref().map(|place| place.take(given_up));
        if let Some(Err(why)) = &turn {
            let said = format!("it was not looked at, since nothing can be written about it: {why}");
            return self.requires.iter().map(|one| seen(one, Some(said.clone()))).collect();
        }
        self.requires.iter().map(|one| seen(one, self.trouble(one, given_up))).collect()
    }

    /// Why it is not met; none where it is.
    fn trouble(&self, one: &Requirement, given_up: &AtomicBool) -> Option<String> {
        let env = match &self.env {
            Ok(env) => env.clone(),
            Err(why) => return Some(why.clone()),
        };
        let patience = CommandBounds {
            time_max: command::TIME_MAX,
            bytes_max: command::OUTPUT_BYTES_MAX,
            given_up,
            tag: self.place.as_ref().map(ProbePlace::tag),
            flood: Flood::ReadOn,
        };
        let ran = command::run_and_hear(&self.folder, &self.shell, &one.run, env, patience);
        let text = String::from_utf8_lossy(&redact::secrets().bytes(&ran.output)).into_owned();
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).map(str::trim).unwrap_or_default();
        match ran.code {
            Some(0) => None,
            Some(code) if last.is_empty() => Some(format!("it ended with code {code}")),
            Some(_) => Some(last.chars().take(SAID_CHARS_MAX).collect()),
            None => Some(ran.why),
        }
    }
}

fn seen(one: &Requirement, trouble: Option<String>) -> RequirementSeen {
    let name = redact::secrets().text(one.words()).into_owned();
    RequirementSeen { name, met: trouble.is_none(), said: trouble.unwrap_or_default() }
}
