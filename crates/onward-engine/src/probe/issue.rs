//! The issue that the work belongs to, through the program that knows it.

use std::process::Command;

use onward_core::plan::Issue;
use onward_core::run::Run;
use onward_core::seen::{IssueSeen, ProbeSeen};
use serde::Deserialize;

use super::{answer, command, excerpt};
use crate::executor::shell;
use crate::project::Project;

/// The program that is asked where the plan names none.
const PROVIDER_DEFAULT: &str = "gh";

#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    labels: Vec<Label>,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

/// Text and labels of an issue.
pub(super) fn look(project: &Project, run: &Run, issue: &Issue) -> IssueSeen {
    match told(project, run, issue.provider.as_deref(), &issue.number) {
        Ok(told) => {
            let mut labels: Vec<String> = told.labels.iter().map(|label| label.name.clone()).collect();
            labels.sort_unstable();
            IssueSeen { text: text_of(&told), labels }
        }
        Err(why) => IssueSeen { text: ProbeSeen { hash: None, excerpt: excerpt(&why) }, labels: Vec::new() },
    }
}

/// The text of an issue that a probe names.
pub(super) fn text(project: &Project, run: &Run, number: &str) -> ProbeSeen {
    let provider = run.plan().issue.as_ref().and_then(|issue| issue.provider.as_deref());
    told(project, run, provider, number)
        .map_or_else(|why| ProbeSeen { hash: None, excerpt: excerpt(&why) }, |told| text_of(&told))
}

fn text_of(told: &Told) -> ProbeSeen {
    answer(format!("{}\n{}", told.title, told.body.as_deref().unwrap_or_default()).as_bytes())
}

fn told(project: &Project, run: &Run, provider: Option<&str>, number: &str) -> Result<Told, String> {
    let number = shell::fill(run, number).ok_or("its number cannot be filled in")?;
    if number.starts_with('-') {
        return Err(format!("{number} is no number of an issue"));
    }
    let provider = provider.unwrap_or(PROVIDER_DEFAULT);
    let mut command = Command::new(provider);
    command.args(["issue", "view", &number, "--json", "title,body,labels"]).current_dir(&project.top);
    let ran = command::program_output(command);
    match ran.code {
        Some(0) => serde_json::from_slice(&ran.output).map_err(|why| format!("{provider}: {why}")),
        Some(code) => Err(format!("{provider} ended with code {code}")),
        None => Err(format!("{provider}: {}", ran.why)),
    }
}
