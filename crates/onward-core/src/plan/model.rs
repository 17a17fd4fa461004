//! The plan as the rest of onward sees it: checked, with defaults filled in, immutable.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::checkpoint::Trigger;
use crate::document::word::words;

use super::freshness::{Freshness, Issue};
use crate::expression::Condition;
use crate::id::PhaseId;
use crate::retention::RunRetention;

use super::keys::BUILT_IN_AGENTS;
use super::parts::{
    Approval, Concurrency, DeclaredArtifact, External, Limit, MarkdownOrigin, Matrix, NoticeRule, ReplanKeys,
    ReplanRules, Requirement, Situation, Uses,
};

/// Phases that run side by side where neither plan nor command line says otherwise.
pub const MAX_PARALLEL_DEFAULT: u32 = 4;

/// The word of a plan on a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    On,
    Off,
}

/// A checked plan. Serialised as part of the journal: a field added here needs `#[serde(default)]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub name: String,
    pub run_name: Option<String>,
    pub description: Option<String>,
    /// The workflow type of run ids: `run` where nothing is said.
    #[serde(rename = "type")]
    pub kind: String,
    pub inputs: BTreeMap<String, InputSpec>,
    /// Variables of every phase, in the order written; values may hold `${{ }}`.
    pub env: Vec<(String, String)>,
    pub max_parallel: u32,
    pub on_failure: PlanFailure,
    /// In the order written. `needs` of every phase name phases that are here, without cycles.
    pub phases: Vec<Phase>,
    /// Phases for the end of the run, whatever happened. No id is also one of `phases`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finally: Vec<Phase>,
    /// Commits along the way, where the plan has a word on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<GitCommit>,
    /// Pools that phases draw on, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Limit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan: Option<ReplanKeys>,
    /// The plans that phases use, by path, those that these use included: read once, when the run starts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub used: BTreeMap<String, Plan>,
    /// The checks made on every resume.
    #[serde(default, skip_serializing_if = "Freshness::is_empty")]
    pub freshness: Freshness,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<Issue>,
    /// Of a plan in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<Box<MarkdownOrigin>>,
    /// Named folders.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, String>,
    /// Formats of other tools that are kept alongside, where the plan says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror: Option<Vec<String>>,
    /// Triggers of checkpoints that the plan switches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub triggers: BTreeMap<Trigger, Switch>,
    /// How long its runs and their checkpoints are kept, as far as the plan says it.
    #[serde(default, skip_serializing_if = "RunRetention::is_empty")]
    pub keep: RunRetention,
    /// Whether what its runs store is compressed, where the plan says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compress: Option<Switch>,
    /// Agents that work on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub team: Vec<NamedMember>,
    /// Which events people are told of, and how.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<NoticeRule>,
    /// Verified before a run starts, and before it goes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Requirement>,
    /// The agent that phases share: it makes another plan for a phase that is not an agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_agent: Option<serde_json::Value>,
    /// The runs beside which one of this plan is not at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
}

/// A member of the team as the plan names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedMember {
    pub agent: String,
    pub role: Option<String>,
}

/// Settings for mini-commits; the project's configuration fills in the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitCommit {
    pub every: Option<u32>,
    pub message: Option<String>,
    pub trailers: Option<Vec<String>>,
    pub hooks: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    pub id: PhaseId,
    pub name: Option<String>,
    pub description: Option<String>,
    pub needs: Vec<Need>,
    pub body: Body,
    pub env: Vec<(String, String)>,
    /// Relative to the top of the project.
    pub working_directory: Option<String>,
    pub timeout: Option<Duration>,
    pub retry: Retry,
    /// Names of outputs and what they are for.
    pub outputs: BTreeMap<String, String>,
    /// Globs, relative to the top of the project.
    pub writes: Vec<String>,
    pub effects: Effects,
    pub priority: Priority,
    pub value: Option<LossKind>,
    pub on_interrupt: Option<OnInterrupt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Matrix>,
    /// The children this phase was expanded into: it is done when they are, and never attempted itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children: Option<Vec<PhaseId>>,
    #[serde(default, skip_serializing_if = "Situation::is_plain")]
    pub situation: Situation,
    /// In the plan of a run: it is one of `finally`, and its turn comes when all others are at their end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closing: bool,
    /// Globs, relative to the top of the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<DeclaredArtifact>,
    /// Commands that prove the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<String>,
    /// Commands that tell whether the effect is there: 0 yes, 1 no, anything else cannot tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done_when: Vec<String>,
    /// Commands whose output joins the digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fingerprint: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<String>,
    /// Names of limits it draws on, as written; [`Phase::pools`] has all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
    /// After the last retry; none: as the plan says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<PhaseFailure>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_change: Option<OnChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replan: Option<ReplanKeys>,
    /// The parts of its work, as its author lists them; in a plan in Markdown its check boxes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<String>,
    /// Verified before each attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Requirement>,
}

/// How a phase is done. Exactly one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// A shell script; `shell` is the words before `-c SCRIPT`.
    Run { script: String, shell: Vec<String> },
    /// A coding agent: the block as written and checked, with `defaults` filled in.
    Agent(serde_json::Value),
    /// A person who says yes.
    Approval(Approval),
    /// Someone else, who reports in.
    External(External),
    /// Another plan and its inputs.
    Uses(Uses),
}

impl Body {
    /// The key that says how the phase is done.
    pub fn kind(&self) -> &'static str {
        match self {
            Body::Run { .. } => "run",
            Body::Agent(_) => "agent",
            Body::Approval(_) => "approval",
            Body::External(_) => "external",
            Body::Uses(_) => "uses",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    pub phase: PhaseId,
    /// A skipped need counts as met unless this is set.
    pub must_be_completed: bool,
    /// Left out where nothing is said, so that a plan keeps the digest it always had.
    #[serde(default, skip_serializing_if = "Staleness::is_default")]
    pub staleness: Staleness,
}

impl Need {
    /// A need of which nothing more is said.
    pub fn new(phase: PhaseId) -> Self {
        Self { phase, must_be_completed: false, staleness: Staleness::default() }
    }
}

words! {
    /// When a finished phase is out of date because of one that it needs; the strictest first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Staleness {
        /// Whenever the other one is, for whatever reason.
        Inherit = "inherit",
        /// When what the other one left behind is not what it was.
        #[default]
        Outputs = "outputs",
        /// Never.
        Ignore = "ignore",
    }
}

impl Staleness {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// Retries, not attempts: 2 is three attempts.
    pub max: u32,
    pub when: Vec<RetryWhen>,
    pub backoff: Backoff,
    /// Only if the end of the output matches this regular expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_matches: Option<String>,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    /// A kind of failure after which a phase is tried again.
    pub enum RetryWhen {
        /// The network or an overloaded service is to blame, by what the attempt said last.
        Transient = "transient",
        Failed = "failed",
        TimedOut = "timed-out",
        /// It could not be started, was killed by a signal that was not ours, or its executor is lost.
        Infra = "infra",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backoff {
    pub initial: Duration,
    pub factor: f64,
    pub max: Duration,
    pub jitter: bool,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PlanFailure {
        /// Ends the phases at work.
        Stop = "stop",
        /// Lets them end and starts no other.
        Finish = "finish",
        /// Does all that does not need the failed one.
        Continue = "continue",
    }
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Effects {
        None = "none",
        Files = "files",
        External = "external",
    }
}

words! {
    /// Highest first, so that the derived order is the order of starting.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Priority {
        Critical = "critical",
        High = "high",
        Normal = "normal",
        Low = "low",
    }
}

words! {
    /// The kind of loss, hardest to reconstruct first: the key `kind` of a phase.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum LossKind {
        Issue = "issue",
        Commit = "commit",
        Code = "code",
        Docs = "docs",
    }
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OnInterrupt {
        Continue = "continue",
        Rerun = "rerun",
        RerunClean = "rerun-clean",
        Ask = "ask",
    }
}

words! {
    /// The consequence of a phase that has failed for good.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PhaseFailure {
        Stop = "stop",
        Replan = "replan",
        Skip = "skip",
        Ask = "ask",
    }
}

words! {
    /// The consequence where a phase is done and its definition changed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OnChange {
        Ask = "ask",
        Rerun = "rerun",
        Keep = "keep",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputSpec {
    #[serde(rename = "type")]
    pub kind: InputKind,
    pub required: bool,
    pub default: Option<String>,
    pub description: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    String,
    Integer,
    Number,
    Boolean,
    Date,
    Choice { choices: Vec<String> },
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max: 0,
            when: vec![RetryWhen::Transient, RetryWhen::Failed, RetryWhen::TimedOut],
            backoff: Backoff::default(),
            output_matches: None,
        }
    }
}

/// Retries of an agent's phase, where the plan says nothing: of transient failures alone.
const AGENT_RETRIES: u32 = 3;

impl Retry {
    /// Where the plan says nothing about a phase that is done like this.
    pub fn unsaid(body: &Body) -> Self {
        match body {
            Body::Agent(_) => Self { max: AGENT_RETRIES, when: vec![RetryWhen::Transient], ..Self::default() },
            Body::Run { .. } | Body::Approval(_) | Body::External(_) | Body::Uses(_) => Self::default(),
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial: Duration::from_secs(10), factor: 2.0, max: Duration::from_mins(5), jitter: true }
    }
}

impl Plan {
    /// The scope in which a hit of this limit is shared. An undeclared limit is that of a built-in agent, which is the
    /// user's.
    pub fn scope_of(&self, limit: &str) -> super::Scope {
        self.limits.get(limit).map_or(super::Scope::User, |limit| limit.scope)
    }

    /// A plan of which nothing else is said.
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            run_name: None,
            description: None,
            kind: kind.into(),
            inputs: BTreeMap::new(),
            env: Vec::new(),
            max_parallel: MAX_PARALLEL_DEFAULT,
            on_failure: PlanFailure::Finish,
            phases: Vec::new(),
            finally: Vec::new(),
            git_commit: None,
            limits: BTreeMap::new(),
            replan: None,
            used: BTreeMap::new(),
            freshness: Freshness::default(),
            issue: None,
            markdown: None,
            paths: BTreeMap::new(),
            mirror: None,
            triggers: BTreeMap::new(),
            keep: RunRetention::default(),
            compress: None,
            team: Vec::new(),
            notices: Vec::new(),
            requires: Vec::new(),
            default_agent: None,
            concurrency: None,
        }
    }

    pub fn phase(&self, id: &PhaseId) -> Option<&Phase> {
        self.phases.iter().find(|phase| &phase.id == id)
    }

    /// Whether it says anything under `checkpoint`.
    pub(crate) fn says_of_checkpoints(&self) -> bool {
        let kept = !self.keep.is_empty() || self.compress.is_some();
        kept || self.git_commit.is_some() || self.mirror.is_some() || !self.triggers.is_empty()
    }

    /// Tasks of a phase that were open when the plan was read.
    pub fn open_tasks(&self, phase: &Phase) -> u32 {
        let ticked =
            self.markdown.as_ref().and_then(|origin| origin.ticked.get(&phase.id)).copied().unwrap_or_default();
        u32::try_from(phase.tasks.len()).unwrap_or(u32::MAX).saturating_sub(ticked)
    }

    /// How one phase may change this plan.
    pub fn replan_rules(&self, phase: Option<&Phase>) -> ReplanRules {
        ReplanRules::merged(self.replan.as_ref(), phase.and_then(|phase| phase.replan.as_ref()))
    }
}

impl Phase {
    /// A phase of which nothing else is said.
    pub fn new(id: PhaseId, body: Body) -> Self {
        Self {
            id,
            name: None,
            description: None,
            needs: Vec::new(),
            retry: Retry::unsaid(&body),
            body,
            env: Vec::new(),
            working_directory: None,
            timeout: None,
            outputs: BTreeMap::new(),
            writes: Vec::new(),
            effects: Effects::Files,
            priority: Priority::Normal,
            value: None,
            on_interrupt: None,
            condition: None,
            matrix: None,
            children: None,
            situation: Situation::default(),
            closing: false,
            reads: Vec::new(),
            artifacts: Vec::new(),
            verify: Vec::new(),
            done_when: Vec::new(),
            fingerprint: Vec::new(),
            locks: Vec::new(),
            limits: Vec::new(),
            on_failure: None,
            on_change: None,
            replan: None,
            tasks: Vec::new(),
            requires: Vec::new(),
        }
    }

    /// All limits it draws on: those it names, and for a built-in agent the one of the agent's name.
    pub fn pools(&self) -> Vec<&str> {
        let mut pools: Vec<&str> = self.limits.iter().map(String::as_str).collect();
        if let Body::Agent(block) = &self.body
            && let Some(agent) = block.get("use").and_then(serde_json::Value::as_str)
            && BUILT_IN_AGENTS.contains(&agent)
            && !pools.contains(&agent)
        {
            pools.push(agent);
        }
        pools
    }

    /// The name for people: `name`, or the id where there is none.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(self.id.as_str())
    }
}
