//! Phases that want another plan, and the plans that came of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::agents;
use super::external_phases::ExternalState;
use super::limits::Who;
use super::state::{Before, PhaseState, PhaseStatus, Run};
use crate::agent::AgentWork;
use crate::event::{Event, PhaseError, PlanRevised, PlanningBill, usd};
use crate::failure::FailureCode;
use crate::id::PhaseId;
use crate::plan::{Budget, MayEdit, Plan, ReplanRules, digest_of_all};
use crate::replan::{
    Because, PhaseProgress, PlanChanges, Refused, ReplanCause, ReplanLimits, ReplanStanding, Replanned, Revision,
    RevisionRecord, judge, loosened, may_ask,
};
use crate::resume::plan_edits_in_full;

/// The part of a run that is about its plan being another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replans {
    /// Phases that wait for another plan.
    pub(super) asked: BTreeMap<PhaseId, Asked>,
    /// Every revision, the oldest first.
    history: Vec<RevisionRecord>,
    /// Every plan that this run had before the present one, and every one that was proposed and taken.
    tried: BTreeSet<String>,
    /// A person lets one more through.
    waived: bool,
    /// Phases with too many tasks that a person wants done as they are.
    as_they_are: BTreeSet<PhaseId>,
    /// The agents that were asked for plans, all together.
    paid: PlanningPaid,
    /// Revisions by phase that were made before the run was taken over, and of which only the number is known.
    earlier: BTreeMap<String, u32>,
}

/// The sum of what plans by agents have cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanningPaid {
    pub cost_nano_usd: u64,
    pub tokens: u64,
    /// More was used than is known.
    pub is_part: bool,
    /// The last request of each phase that is in it.
    billed: BTreeMap<PhaseId, u32>,
}

/// A request of a phase for another plan, and its stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub reason: String,
    pub cause: ReplanCause,
    pub stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Stage {
    /// Nobody has made a plan yet.
    Open,
    /// A plan is there and waits for a person.
    Proposed(#[serde(with = "as_text")] Box<Plan>),
    /// None came of it; only a person can go on from here.
    Refused { because: Because, why: String },
}

/// The script or agent that makes another plan.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanMaker {
    /// The command of the plan's author prints it.
    Command(String),
    /// The agent of the phase that asks, else the one that phases share, writes it.
    Agent(Box<AgentWork>),
}

/// The reason that keeps an agent from making another plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplanHold {
    /// It was hit, and opens at this time.
    Limit(Timestamp),
    /// The budget of the run is used up: no further agent is started.
    Money,
}

/// The effect on other phases while one waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    NothingElseStarts,
    TheRestGoesOn,
}

impl Replans {
    /// Phases that wait for another plan, and what for.
    pub fn asked(&self) -> impl Iterator<Item = (&PhaseId, &Asked)> {
        self.asked.iter()
    }

    /// Whether all that is to be said about other plans is a person's yes or no.
    pub(super) fn only_wait_for_approval(&self) -> bool {
        !self.asked.is_empty() && self.asked.values().all(|asked| matches!(asked.stage, Stage::Proposed(_)))
    }

    pub fn asked_by(&self, phase: &PhaseId) -> Option<&Asked> {
        self.asked.get(phase)
    }

    /// The cost of all plans by agents; none where no agent was asked for one.
    pub fn paid(&self) -> Option<&PlanningPaid> {
        Some(&self.paid).filter(|paid| !paid.billed.is_empty())
    }

    /// The last request of a phase whose cost is known.
    pub fn billed(&self, phase: &PhaseId) -> u32 {
        self.paid.billed.get(phase).copied().unwrap_or_default()
    }

    /// Every revision of the plan, the oldest first.
    pub fn history(&self) -> &[RevisionRecord] {
        &self.history
    }

    /// Whether this is a plan that the run had before phases asked for others, and nobody has edited it since.
    pub fn has_replaced(&self, plan: &Plan) -> bool {
        let last_was_asked_for = self.history.last().is_some_and(|record| record.phase.is_some());
        last_was_asked_for && self.tried.contains(&digest_of_all(plan))
    }

    /// How many revisions each phase has had made.
    pub fn counts(&self) -> BTreeMap<String, u32> {
        let mut counts = self.earlier.clone();
        for phase in self.history.iter().filter_map(|record| record.phase.as_ref()) {
            *counts.entry(phase.to_string()).or_default() += 1;
        }
        counts
    }

    /// Revisions that phases asked for; what people edit is not counted.
    pub(super) fn made(&self) -> u32 {
        let earlier: u32 = self.earlier.values().fold(0, |sum, number| sum.saturating_add(*number));
        count(self.history.iter().filter(|record| record.phase.is_some()).count()).saturating_add(earlier)
    }

    fn made_for(&self, phase: &PhaseId) -> u32 {
        let earlier = self.earlier.get(phase.as_str()).copied().unwrap_or_default();
        count(self.history.iter().filter(|record| record.phase.as_ref() == Some(phase)).count()).saturating_add(earlier)
    }

    /// Revisions that were made before the run was taken over from a file.
    pub(super) fn imported(&mut self, history: &[RevisionRecord], earlier: &BTreeMap<String, u32>) {
        self.history = history.to_vec();
        self.earlier.clone_from(earlier);
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The rules about revisions.
impl Run {
    pub(super) fn asks_for_a_plan(&self, at: usize) -> bool {
        !self.replans.asked.is_empty() && self.replans.asked.contains_key(&self.plan().phases[at].id)
    }

    /// Whether any phase still waits for another plan.
    pub(super) fn a_plan_is_awaited(&self) -> bool {
        !self.replans.asked.is_empty()
    }

    fn replan_rules(&self, phase: &PhaseId) -> ReplanRules {
        self.plan().replan_rules(self.plan().phase(phase))
    }

    /// The phase for which a plan should be made now. One at a time: each is made on what the one before gave.
    pub(super) fn replan_wanted(&self) -> Option<&PhaseId> {
        let is_open = |(phase, asked): &(&PhaseId, &Asked)| {
            asked.stage == Stage::Open
                && self.phase_state(phase).is_none_or(|state| state.attempt.is_none() && !state.is_being_integrated())
        };
        self.replans.asked.iter().find(is_open).map(|(phase, _)| phase)
    }

    /// Whether a phase waits for a person who has to say something about its plan.
    pub(super) fn replan_waits_for_a_person(&self, waits: Waits) -> bool {
        self.replans.asked.values().any(|asked| match asked.stage {
            Stage::Open => false,
            Stage::Proposed(_) => waits == Waits::TheRestGoesOn,
            Stage::Refused { .. } => waits == Waits::NothingElseStarts,
        })
    }

    /// Nothing is started now: a person has to speak first, or the plan to come may change what would be started.
    pub(super) fn replan_comes_first(&self) -> bool {
        self.replans.asked.iter().any(|(phase, asked)| match asked.stage {
            Stage::Refused { .. } => true,
            Stage::Open | Stage::Proposed(_) => self.replan_rules(phase).may_edit != MayEdit::Downstream,
        })
    }

    /// A phase whose turn it is has more open tasks than one phase should have: it wants another plan before it starts.
    pub(super) fn too_many_tasks(&self) -> Option<Event> {
        let many = &self.derived.index.too_many_tasks;
        if many.is_empty() || self.epoch == 0 || self.stop.is_some() || self.vcs.rewinding.is_some() {
            return None;
        }
        let quiet = self.derived.in_doubt.is_empty() && !self.replan_comes_first() && self.failure_allows();
        let begins = |at: &&usize| {
            let (phase, state) = (&self.plan().phases[**at], &self.phases[**at]);
            let fresh = state.status == PhaseStatus::Pending && state.attempts == 0;
            fresh
                && self.is_its_turn(**at)
                && self.is_the_one_wanted(**at)
                && !self.replans.as_they_are.contains(&phase.id)
        };
        let at = *many.iter().find(begins).filter(|_| quiet && self.awaited_group().is_none())?;
        let phase = &self.plan().phases[at];
        let (open, most) = (self.plan().open_tasks(phase), self.replan_rules(&phase.id).tasks_max);
        let reason = format!("it has {open} open tasks, and {most} are the most");
        Some(Event::ReplanAsked { phase: phase.id.clone(), reason, cause: ReplanCause::TooComplex })
    }

    fn is_its_turn(&self, at: usize) -> bool {
        let (rank, derived) = (self.derived.index.rank[at], &self.derived);
        derived.for_others.contains(&at)
            || derived.to_open.contains(&at)
            || derived.ready.contains(&(rank.0, rank.1, at))
    }

    /// The refusal of a plan that nobody can make, before anybody tries.
    pub(super) fn replan_is_hopeless(&self) -> Option<Event> {
        let phase = self.replan_wanted().filter(|_| self.epoch > 0)?;
        match self.may_ask_for_a_plan(phase) {
            Err(refused) => Some(refusal(phase, Because::from(&refused), refused.to_string())),
            Ok(_) if self.plan_maker(phase).is_none() => {
                let why = "the plan names no command and no agent that makes another one".to_owned();
                Some(refusal(phase, Because::NoCommand, why))
            }
            Ok(_) => None,
        }
    }

    /// The maker of another plan for a phase; none where nobody can.
    pub fn plan_maker(&self, phase: &PhaseId) -> Option<PlanMaker> {
        if let Some(script) = self.replan_rules(phase).run {
            return Some(PlanMaker::Command(script));
        }
        if self.plan().markdown.is_some() {
            // Agents are told to write YAML, and nothing of the text in the file would be left.
            return None;
        }
        let own = self.plan().phase(phase).and_then(agents::work);
        let shared = || self.plan().default_agent.as_ref().map(AgentWork::read);
        own.or_else(shared).map(|work| PlanMaker::Agent(Box::new(work)))
    }

    /// The reason why the agent that is to make the next plan is not asked now.
    pub(super) fn replan_is_held(&self, now: Timestamp) -> Option<ReplanHold> {
        let agent = self.planning_agent()?;
        if self.budget().is_some_and(|budget| budget.is_used_up()) {
            return Some(ReplanHold::Money);
        }
        let closed = self.limits.usage.get(&agent)?.closed_until;
        closed.filter(|until| *until > now).map(ReplanHold::Limit)
    }

    /// The agent that is to make the next plan.
    pub(super) fn planning_agent(&self) -> Option<String> {
        match self.plan_maker(self.replan_wanted()?)? {
            PlanMaker::Agent(work) => Some(work.agent),
            PlanMaker::Command(_) => None,
        }
    }

    /// The reason that keeps a proposed plan from taking the place of the present one, as the run stands.
    pub fn refuses(&self, phase: &PhaseId, proposed: &Plan) -> Option<Refused> {
        self.judge_proposal(phase, proposed).err()
    }

    /// Ends the row of limits of the plan maker of a phase: it has answered.
    fn plan_maker_answered(&mut self, phase: &PhaseId) {
        if !self.limits.rows.is_empty()
            && let Some(PlanMaker::Agent(work)) = self.plan_maker(phase)
        {
            self.limits.rows.remove(&Who::Limit(work.agent));
        }
    }

    pub(super) fn may_ask_for_a_plan(&self, phase: &PhaseId) -> Result<ReplanRules, Refused> {
        may_ask(&self.standing(phase, &BTreeMap::new(), &BTreeSet::new()))
    }

    /// Holds a proposal against the run as it stands.
    pub(super) fn judge_proposal(&self, phase: &PhaseId, proposed: &Plan) -> Result<(Revision, ReplanRules), Refused> {
        let rules = self.may_ask_for_a_plan(phase)?;
        let progress = self.phases().map(|(phase, state)| {
            let progress = match state.status {
                PhaseStatus::Completed | PhaseStatus::Skipped => PhaseProgress::Finished,
                PhaseStatus::Running => PhaseProgress::AtWork,
                PhaseStatus::Pending | PhaseStatus::Failed | PhaseStatus::Interrupted | PhaseStatus::Waiting => {
                    PhaseProgress::Open
                }
            };
            (phase.id.clone(), progress)
        });
        let mut tried = self.replans.tried.clone();
        tried.insert(digest_of_all(self.plan()));
        let revision = judge(&self.standing(phase, &progress.collect(), &tried), proposed, &rules)?;
        // Its files are on their way into the project: that is as good as an attempt at work.
        let mut halfway = revision.changed.iter().chain(&revision.removed);
        match halfway.find(|id| self.files_on_their_way() == Some(id)) {
            Some(phase) => Err(Refused::ChangesAtWork { phase: phase.clone() }),
            None => Ok((revision, rules)),
        }
    }

    /// The changes of the proposed plan that waits for a person: finished phases that it leaves out are kept.
    pub fn proposed_changes(&self, phase: &PhaseId) -> Option<PlanChanges> {
        let Stage::Proposed(plan) = &self.replans.asked_by(phase)?.stage else { return None };
        Some(match self.judge_proposal(phase, plan) {
            Ok((Revision { added, removed, changed, .. }, _)) => PlanChanges { added, removed, changed },
            Err(_) => PlanChanges::between(self.plan(), plan),
        })
    }

    /// All that a plan would take away of what only a person grants.
    pub(super) fn loosened_by(&self, plan: &Plan) -> Vec<String> {
        loosened(self.plan(), plan, &|id| self.phase_state(id).is_some_and(PhaseState::is_finished))
    }

    /// The proposed plan that waits for a person, beside the present one: what it takes away of what a person grants, then every
    /// difference with what stood there before.
    pub fn proposed_edits(&self, phase: &PhaseId) -> Vec<String> {
        let Some(Stage::Proposed(plan)) = self.replans.asked_by(phase).map(|asked| &asked.stage) else {
            return Vec::new();
        };
        let judged = self.judge_proposal(phase, plan).map(|(revision, _)| revision.plan);
        let plan = judged.as_ref().unwrap_or(plan);
        let granted = self.loosened_by(plan).into_iter().map(|what| format!("a person has to grant: it {what}"));
        granted.chain(plan_edits_in_full(self.plan(), plan)).collect()
    }

    fn standing<'a>(
        &'a self,
        phase: &'a PhaseId,
        progress: &'a BTreeMap<PhaseId, PhaseProgress>,
        tried: &'a BTreeSet<String>,
    ) -> ReplanStanding<'a> {
        ReplanStanding {
            plan: self.plan(),
            asked_by: Some(phase),
            progress,
            made: self.replans.made(),
            made_for_phase: self.replans.made_for(phase),
            tried,
            limits: if self.replans.waived { ReplanLimits::Waived } else { ReplanLimits::Hold },
        }
    }
}

pub(super) fn refusal(phase: &PhaseId, because: Because, why: String) -> Event {
    Event::ReplanRefused { phase: phase.clone(), because, why }
}

/// The fold.
impl Run {
    /// Settles open requests for a plan when something else happens to the phase or the run.
    pub(super) fn asks_are_answered(&mut self, event: &Event, at: Timestamp) {
        if let Event::PlanRevised(revised) = event {
            self.edited(&revised.plan, &revised.plan_digest, at);
        }
        if matches!(event, Event::DriverStarted { .. }) {
            self.replans.waived = false;
            // Whoever goes on wants it tried again.
            for asked in self.replans.asked.values_mut().filter(|asked| matches!(asked.stage, Stage::Refused { .. })) {
                asked.stage = Stage::Open;
            }
        }
        if let Event::PhaseReopened { phase, .. }
        | Event::PhaseSkipped { phase, .. }
        | Event::PhaseCompleted { phase, .. } = event
        {
            let asked = self.replans.asked.remove(phase);
            let retried = matches!(event, Event::PhaseReopened { .. });
            if retried && asked.is_some_and(|asked| asked.cause == ReplanCause::TooComplex) {
                self.replans.as_they_are.insert(phase.clone());
            }
        }
        if matches!(event, Event::PlanRevised(_) | Event::RunRewound(_)) {
            for phase in std::mem::take(&mut self.replans.asked).into_keys() {
                self.refresh(self.at(&phase));
            }
        }
    }

    /// A person made another plan.
    fn edited(&mut self, plan: &Plan, plan_digest: &str, at: Timestamp) {
        let changes = PlanChanges::between(self.plan(), plan);
        self.replans.tried.insert(digest_of_all(self.plan()));
        self.remember(None, "the plan was edited", plan_digest, changes, at);
    }

    fn remember(
        &mut self,
        replanned: Option<&Replanned>,
        reason: &str,
        plan_digest: &str,
        changes: PlanChanges,
        at: Timestamp,
    ) {
        self.replans.history.push(RevisionRecord {
            revision: count(self.replans.history.len() + 1),
            at,
            phase: replanned.map(|replanned| replanned.phase.clone()),
            reason: reason.to_owned(),
            kind: replanned.map(|replanned| replanned.kind),
            plan_digest: plan_digest.to_owned(),
            added: changes.added,
            removed: changes.removed,
            changed: changes.changed,
        });
    }

    pub(super) fn replan_asked(&mut self, phase: &PhaseId, reason: &str, cause: ReplanCause) {
        self.replans.asked.insert(phase.clone(), Asked { reason: reason.to_owned(), cause, stage: Stage::Open });
        // Who was not heard for too long is not waited for any more.
        self.change(phase, |state| {
            state.external = state.external.take().filter(|who| *who != ExternalState::Silent);
        });
    }

    pub(super) fn replan_allowed(&mut self) {
        self.replans.waived = true;
    }

    pub(super) fn replan_proposed(&mut self, phase: &PhaseId, plan: &Plan) {
        self.plan_maker_answered(phase);
        self.stage(phase, Stage::Proposed(Box::new(plan.clone())));
        // That there was none before does not matter any more.
        self.change(phase, |state| {
            state.error = state.error.take().filter(|error| error.code != FailureCode::NotReplanned);
        });
    }

    pub(super) fn replan_refused(&mut self, phase: &PhaseId, because: Because, why: &str) {
        self.plan_maker_answered(phase);
        let Some(asked) = self.replans.asked.get(phase) else { return };
        // What a person does not want is not brought before them again.
        if let (Stage::Proposed(plan), Because::Rejected) = (&asked.stage, because) {
            self.replans.tried.insert(digest_of_all(plan));
        }
        let message = format!("it wants another plan ({}), and does not get it: {why}", asked.reason);
        self.stage(phase, Stage::Refused { because, why: why.to_owned() });
        let error = PhaseError { code: FailureCode::NotReplanned, message };
        self.change(phase, |state| state.error = Some(error));
    }

    pub(super) fn planning_paid(&mut self, phase: &PhaseId, bill: &PlanningBill) {
        let paid = &mut self.replans.paid;
        paid.cost_nano_usd = paid.cost_nano_usd.saturating_add(bill.cost_nano_usd);
        paid.tokens = paid.tokens.saturating_add(bill.tokens);
        paid.is_part |= bill.is_part;
        paid.billed.insert(phase.clone(), bill.request);
        if self.started.plan.limits.contains_key(&bill.agent) {
            let cost = Budget { usd: Some(usd(bill.cost_nano_usd)), tokens: Some(bill.tokens) };
            self.limits.usage.entry(bill.agent.clone()).or_default().spend(cost);
        }
    }

    fn stage(&mut self, phase: &PhaseId, stage: Stage) {
        if let Some(asked) = self.replans.asked.get_mut(phase) {
            asked.stage = stage;
        }
    }

    pub(super) fn replanned(&mut self, replanned: &Replanned, at: Timestamp) {
        let Replanned { phase, plan, .. } = replanned;
        self.plan_maker_answered(phase);
        assert_eq!(replanned.number, self.replans.made() + 1, "revisions are numbered without gaps");
        self.replans.tried.insert(digest_of_all(self.plan()));
        let new = self.replans.tried.insert(replanned.tried.clone());
        assert!(new, "run {}: a plan that was tried before is not tried again", self.id);
        self.replans.waived = false;
        self.replans.asked.remove(phase);
        self.replans.as_they_are.retain(|id| id != phase && !replanned.changed.contains(id));
        self.replans.asked.retain(|id, _| plan.phase(id).is_some() && !replanned.changed.contains(id));
        let changes = PlanChanges {
            added: replanned.added.clone(),
            removed: replanned.removed.clone(),
            changed: replanned.changed.clone(),
        };
        self.remember(Some(replanned), &replanned.reason, &replanned.plan_digest, changes, at);
        self.plan_revised(&PlanRevised {
            plan: plan.clone(),
            plan_digest: replanned.plan_digest.clone(),
            // The file is as it was: it is not what the run goes by any more, and not an edit either.
            plan_text: self.started.plan_text.clone(),
            renamed: Vec::new(),
        });
        if plan.phase(phase).is_some() {
            self.change(phase, |state| renew(state, phase));
        } else if let Some(state) = self.removed.get_mut(phase) {
            renew(state, phase);
        }
    }
}

/// The phase that asked begins anew.
fn renew(state: &mut PhaseState, phase: &PhaseId) {
    assert!(!state.is_finished(), "{phase} is finished and asks for another plan");
    if state.attempt.is_none() {
        // Whoever was at work on it is to look at it anew.
        (state.status, state.external) = (PhaseStatus::Pending, None);
    }
    // What a probe still has to say is about what was done, and a limit is closed for other work too.
    (state.failures, state.error) = (0, None);
    // It is not what took its host down any more.
    (state.unknowns_in_a_row, state.parked) = (0, false);
    state.last_end = Some(Before::Replanned);
}

/// A plan leaves out what it does not say, so it cannot stand where fields are told apart by their place.
mod as_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::plan::Plan;

    pub(super) fn serialize<S: Serializer>(plan: &Plan, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&serde_json::to_string(plan).expect("a plan has only string keys"))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Box<Plan>, D::Error> {
        let text = String::deserialize(deserializer)?;
        serde_json::from_str(&text).map(Box::new).map_err(D::Error::custom)
    }
}
