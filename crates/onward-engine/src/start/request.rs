//! The request for a start, as a front end states it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use onward_core::event::Orphans;
use onward_core::id::PhaseId;
use onward_core::input::{Begin, Bounds, Choice, Resumption};
use onward_core::replan::ReplanLimits;
use onward_core::resume::Accept;
use onward_core::view::RunQuery;

/// The request for a start.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub want: Want,
    pub plan: Option<PathBuf>,
    /// The run is to go on from here: it is judged as it would stand there, and brought back by whoever asks.
    pub checkpoint: Option<String>,
    pub inputs: BTreeMap<String, String>,
    pub choices: Vec<(String, Choice)>,
    pub orphans: Option<Orphans>,
    pub jobs: Option<u32>,
    pub plan_from: PlanFrom,
    /// Changes of the world are taken as they are.
    pub accept_stale: Accept,
    /// This phase and all that needs it is to be done again.
    pub from: Option<String>,
    /// No other phase is to be started.
    pub only: Option<String>,
    /// Whether one revision is let through that the limits forbid.
    pub replan_limits: ReplanLimits,
    /// How long limits are waited for at most; none: as the plan says.
    pub wait_limit: Option<Duration>,
    /// How long the run may take.
    pub deadline: Option<Duration>,
    /// The largest cost of all its agents; none: as an earlier start said.
    pub budget_nano_usd: Option<u64>,
    /// The agent that does the phases of a plan in Markdown.
    pub agent: Option<String>,
    /// Whether this start follows from an answer to something else.
    pub after: After,
    /// Where no run is named, those that are meant by what they are about.
    pub query: RunQuery,
}

/// Something that was said before the start, and is no answer to what it asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum After {
    #[default]
    Nothing,
    /// `approve --resume`.
    AnAnswer,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Want {
    /// `run`: start, or go on where that is safe.
    #[default]
    Plain,
    /// `run --resume`, perhaps with a run.
    Resume(Option<String>),
    /// `resume`, perhaps with a run: no plan file is named.
    ResumeRun(Option<String>),
    /// `run --fresh`.
    Fresh,
}

/// Which plan counts when the file was edited since the run was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanFrom {
    #[default]
    File,
    Run,
}

/// A begin as far as a request says what it is to be.
pub(crate) fn begin_told(request: &Request, epoch: u64, resumption: Resumption) -> Begin {
    Begin {
        epoch,
        environment: BTreeMap::new(),
        host: String::new(),
        pid: 0,
        boot: String::new(),
        jobs: request.jobs,
        orphans: request.orphans.unwrap_or_default(),
        renew: false,
        choices: request.choices.iter().map(|(phase, choice)| (PhaseId::new(phase), *choice)).collect(),
        head: None,
        resumption,
        bounds: Bounds { budget_nano_usd: request.budget_nano_usd, ..Bounds::default() },
        closed: Vec::new(),
        busy: None,
    }
}
