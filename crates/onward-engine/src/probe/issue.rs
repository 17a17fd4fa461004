//! The issue that the work belongs to, through the program that knows it.

use std::time::Duration;

use onward_core::evidence::{IssueSeen, ProbeSeen};
use onward_core::id::PhaseId;
use onward_core::input::LabelsSet;
use onward_core::plan::Issue;
use onward_core::run::{LabelRule, Run};

use super::answer::{answer, excerpt};
use super::command;
use super::issue_provider::{IssueProvider, IssueTold};
use crate::executor::shell;
use crate::project::Project;
use crate::redact;

/// So much of an issue's text is kept in checkpoints.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// How long the end of an attempt waits for a look at the issue.
const WATCH_TIME_MAX: Duration = Duration::from_secs(5);

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
    let mut labels = told.labels.clone();
    labels.sort_unstable();
    let mut body = redact::inputs::text(told.body.clone());
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
        assignees: told.assignees.clone(),
    }
}

fn text_of(told: &IssueTold) -> ProbeSeen {
    answer(format!("{}\n{}", told.title, told.body).as_bytes())
}

fn told(project: &Project, run: &Run, provider: Option<&str>, number: &str) -> Result<IssueTold, String> {
    let number = shell::fill(run, number).ok_or("its number cannot be filled in")?;
    IssueProvider::new(&project.top, provider, &number).view(command::TIME_MAX)
}

/// An issue that is looked at again when an attempt ends.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    provider: IssueProvider,
    number: String,
}

impl Watched {
    pub(super) fn new(project: &Project, run: &Run) -> Option<Self> {
        let issue = run.plan().issue.as_ref()?;
        let number = shell::fill(run, &issue.number)?;
        Some(Self { provider: IssueProvider::new(&project.top, issue.provider.as_deref(), &number), number })
    }

    /// Text and labels, unless that takes long: the driver waits for it.
    pub(super) fn now(&self) -> Option<IssueSeen> {
        let told = self.provider.view(WATCH_TIME_MAX).ok()?;
        Some(as_seen(&told, Some(self.number.clone())))
    }
}

/// The issue is to say by its labels that a phase has started.
pub(crate) struct Labelling {
    rule: LabelRule,
    /// None where its number cannot be filled in.
    provider: Option<IssueProvider>,
    time_max: Duration,
}

/// How long each call of a provider may take: beside a driver, and while somebody waits for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LabelPatience {
    Beside,
    InTheWay,
}

impl Labelling {
    pub(crate) fn new(project: &Project, run: &Run, phase: &PhaseId, patience: LabelPatience) -> Self {
        let issue = run.plan().issue.as_ref();
        let number = issue.and_then(|issue| shell::fill(run, &issue.number));
        let named = issue.and_then(|issue| issue.provider.as_deref());
        let provider = number.map(|number| IssueProvider::new(&project.top, named, &number));
        let time_max = match patience {
            LabelPatience::Beside => command::TIME_MAX,
            LabelPatience::InTheWay => WATCH_TIME_MAX,
        };
        Self { rule: run.label_rule(phase), provider, time_max }
    }

    /// The issue is asked first and afterwards: what is there was set before, by somebody who died before that could be written
    /// down, and what is not there then was not set.
    pub(crate) fn set(self) -> Result<LabelsSet, String> {
        let Self { rule, provider, time_max } = self;
        let provider = provider.ok_or("the number of the issue cannot be filled in")?;
        let set = rule.change(&provider.view(time_max)?.labels);
        if set.changes_nothing() {
            return Ok(set);
        }
        provider.set_labels(&set, time_max)?;
        let labels = provider.view(time_max)?.labels;
        match rule.change(&labels).added.first() {
            Some(missing) => Err(format!("the issue was told, and does not have the label {missing} now")),
            None => Ok(LabelsSet { labels, ..set }),
        }
    }
}
