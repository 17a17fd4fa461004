//! The issue that the work belongs to, through the program that knows it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use onward_core::evidence::{IssueSeen, ProbeSeen};
use onward_core::plan::Issue;
use onward_core::run::Run;
use serde::Deserialize;

use super::answer::{answer, excerpt};
use super::command;
use crate::executor::shell;
use crate::project::Project;
use crate::redact;

/// The program that is asked where the plan names none.
const PROVIDER_DEFAULT: &str = "gh";
/// So much of an issue's text is kept in checkpoints.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// How long the end of an attempt waits for a look at the issue.
const WATCH_TIME_MAX: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct IssueTold {
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    assignees: Vec<Assignee>,
}

#[derive(Deserialize)]
struct Assignee {
    login: String,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

/// Text and labels of an issue.
pub(super) fn issue_seen(project: &Project, run: &Run, issue: &Issue) -> IssueSeen {
    match told(project, run, issue.provider.as_deref(), &issue.number) {
        Ok(told) => as_seen(&told, shell::fill(run, &issue.number)),
        Err(why) => IssueSeen { text: ProbeSeen { hash: None, excerpt: excerpt(&why) }, ..IssueSeen::default() },
    }
}

/// The text of an issue that a probe names.
pub(super) fn text(project: &Project, run: &Run, number: &str) -> ProbeSeen {
    let provider = run.plan().issue.as_ref().and_then(|issue| issue.provider.as_deref());
    told(project, run, provider, number)
        .map_or_else(|why| ProbeSeen { hash: None, excerpt: excerpt(&why) }, |told| text_of(&told))
}

fn as_seen(told: &IssueTold, number: Option<String>) -> IssueSeen {
    let mut labels: Vec<String> = told.labels.iter().map(|label| label.name.clone()).collect();
    labels.sort_unstable();
    let mut body = redact::inputs::text(told.body.clone().unwrap_or_default());
    if body.len() > BODY_BYTES_MAX {
        body.truncate(body.floor_char_boundary(BODY_BYTES_MAX));
        body.push('…');
    }
    IssueSeen {
        text: text_of(told),
        labels,
        number,
        title: redact::inputs::text(told.title.clone()),
        body,
        assignees: told.assignees.iter().map(|assignee| assignee.login.clone()).collect(),
    }
}

fn text_of(told: &IssueTold) -> ProbeSeen {
    answer(format!("{}\n{}", told.title, told.body.as_deref().unwrap_or_default()).as_bytes())
}

fn told(project: &Project, run: &Run, provider: Option<&str>, number: &str) -> Result<IssueTold, String> {
    let number = shell::fill(run, number).ok_or("its number cannot be filled in")?;
    asked(&project.top, provider, &number, command::TIME_MAX)
}

fn asked(top: &Path, provider: Option<&str>, number: &str, time_max: Duration) -> Result<IssueTold, String> {
    if number.starts_with('-') {
        return Err(format!("{number} is no number of an issue"));
    }
    let provider = provider.unwrap_or(PROVIDER_DEFAULT);
    let mut command = Command::new(provider);
    command.args(["issue", "view", number, "--json", "title,body,labels,assignees"]).current_dir(top);
    let ran = command::program_output_within(command, time_max);
    match ran.code {
        Some(0) => serde_json::from_slice(&ran.output).map_err(|why| format!("{provider}: {why}")),
        Some(code) => Err(format!("{provider} ended with code {code}")),
        None => Err(format!("{provider}: {}", ran.why)),
    }
}

/// An issue that is looked at again when an attempt ends.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    top: PathBuf,
    provider: Option<String>,
    number: String,
}

impl Watched {
    pub(super) fn of(project: &Project, run: &Run) -> Option<Self> {
        let issue = run.plan().issue.as_ref()?;
        let number = shell::fill(run, &issue.number)?;
        Some(Self { top: project.top.clone(), provider: issue.provider.clone(), number })
    }

    /// Text and labels, unless that takes long: the driver waits for it.
    pub(super) fn now(&self) -> Option<IssueSeen> {
        let told = asked(&self.top, self.provider.as_deref(), &self.number, WATCH_TIME_MAX).ok()?;
        Some(as_seen(&told, Some(self.number.clone())))
    }
}
