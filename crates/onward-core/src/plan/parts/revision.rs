//! How a plan may be changed while it is carried out.

use serde::{Deserialize, Serialize};

use crate::document::word::words;

/// Revisions in one run, where nothing is said.
const MAX_DEFAULT: u32 = 4;
const MAX_PER_PHASE_DEFAULT: u32 = 2;
const COMPLEXITY_MAX_DEFAULT: u32 = 8;
const TASKS_MAX_DEFAULT: u32 = 10;

/// The key `replan` as written, of the plan or of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplanKeys {
    pub max: Option<u32>,
    pub max_per_phase: Option<u32>,
    pub may_edit: Option<MayEdit>,
    pub approval: Option<bool>,
    /// A command that prints the new plan.
    pub run: Option<String>,
    pub when: Option<Vec<ReplanWhen>>,
    pub complexity_max: Option<u32>,
    pub tasks_max: Option<u32>,
}

/// The replan rules of one phase: its own, else the plan's, else the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplanRules {
    pub max: u32,
    pub max_per_phase: u32,
    pub may_edit: MayEdit,
    pub approval: bool,
    pub run: Option<String>,
    pub when: Vec<ReplanWhen>,
    pub complexity_max: u32,
    pub tasks_max: u32,
}

words! {
    /// The phases that a revision may touch, beside those it adds. What is completed or at work stays, unless it says `all`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MayEdit {
        /// The phase that asks, and all that needs it.
        Downstream = "downstream",
        /// All that has not begun.
        Pending = "pending",
        /// Completed phases too: those that change are done anew.
        All = "all",
    }
}

words! {
    /// The ends that ask for a revision by themselves.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReplanWhen {
        Failed = "failed",
        VerifyFailed = "verify-failed",
        TooComplex = "too-complex",
        AgentAsked = "agent-asked",
    }
}

impl ReplanKeys {
    fn names_figures(&self) -> bool {
        self.complexity_max.is_some() || self.tasks_max.is_some()
    }
}

impl ReplanRules {
    /// `max` of a phase is the number of revisions that this phase may ask for.
    pub fn merged(plan: Option<&ReplanKeys>, phase: Option<&ReplanKeys>) -> Self {
        fn first<T: Clone>(
            phase: Option<&ReplanKeys>,
            plan: Option<&ReplanKeys>,
            get: impl Fn(&ReplanKeys) -> Option<T>,
        ) -> Option<T> {
            phase.and_then(&get).or_else(|| plan.and_then(&get))
        }
        let own = phase.and_then(|keys| keys.max_per_phase.or(keys.max));
        let shared = plan.and_then(|keys| keys.max_per_phase);
        Self {
            max: plan.and_then(|keys| keys.max).unwrap_or(MAX_DEFAULT),
            max_per_phase: own.or(shared).unwrap_or(MAX_PER_PHASE_DEFAULT),
            may_edit: first(phase, plan, |keys| keys.may_edit).unwrap_or(MayEdit::Downstream),
            approval: first(phase, plan, |keys| keys.approval).unwrap_or(true),
            run: first(phase, plan, |keys| keys.run.clone()),
            when: first(phase, plan, |keys| keys.when.clone()).unwrap_or_else(|| {
                // Nobody writes a figure down that is to have no effect.
                let figures = [phase, plan].into_iter().flatten().any(ReplanKeys::names_figures);
                [ReplanWhen::AgentAsked].into_iter().chain(figures.then_some(ReplanWhen::TooComplex)).collect()
            }),
            complexity_max: first(phase, plan, |keys| keys.complexity_max).unwrap_or(COMPLEXITY_MAX_DEFAULT),
            tasks_max: first(phase, plan, |keys| keys.tasks_max).unwrap_or(TASKS_MAX_DEFAULT),
        }
    }

    /// Whether a figure that was reported, or the number of open tasks, asks for a revision.
    pub fn too_complex(&self, complexity: Option<u32>, tasks: Option<u32>) -> bool {
        let over = complexity.is_some_and(|figure| figure > self.complexity_max)
            || tasks.is_some_and(|count| count > self.tasks_max);
        over && self.when.contains(&ReplanWhen::TooComplex)
    }
}
