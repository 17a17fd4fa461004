//! The invariants, written down a second time and independently: the oracle reads only the journal that is durable and
//! what the machine really did. It panics with the number of the invariant.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use onward_core::event::{Event, LimitHit, Recorded, RestoredState};
use onward_core::failure::FailureCode;
use onward_core::id::{Attempt, Generation, PhaseId, Seq};
use onward_core::plan::{Body, Effects, Phase, Plan, globs};
use onward_core::run::{PhaseStatus, Run};
use onward_store::{Lease, Record};

use self::agents::{AgentFacts, CallForgotten, Purse};
use self::calls::CallFacts;
use self::edits::Deeds;
use self::worktrees::{TreeFacts, works_apart};
use super::compound::{Composed, ancestors, is_whole, judges};
use super::facts::{PhaseFacts, Unprobed};
use super::limits::ClosedLimits;
use super::markers::MarkerFacts;
use super::messages_and_knowledge::SharedIds;
use super::notices::NoticeFacts;
use super::replans::Revisions;
use super::silence::Silence;
use super::surroundings::SurroundingsFacts;

mod agents;
mod calls;
mod comparison;
mod edits;
mod effects;
mod ends;
mod external_phases;
mod phases;
mod settled;
mod worktrees;

/// How often each kind of event and each change of a phase's status was seen.
pub type Coverage = BTreeMap<String, u64>;

pub(super) struct Oracle {
    plan: Plan,
    /// The durable journal, decoded.
    pub(super) journal: Vec<Recorded>,
    /// The fold of the durable journal, event by event.
    replayed: Option<Run>,
    epoch: u64,
    facts: BTreeMap<PhaseId, PhaseFacts>,
    /// Processes that were started, by attempt.
    spawned: BTreeMap<(PhaseId, Attempt), u32>,
    pub(super) answered: BTreeSet<String>,
    composed: Composed,
    /// Commits that were begun.
    commits: BTreeSet<u32>,
    jobs: Option<u32>,
    /// Phases that consist of others, are over, and of which nobody wanted anything when the driver began.
    settled: BTreeSet<PhaseId>,
    replans: Revisions,
    closed: ClosedLimits,
    silence: Silence,
    shared: SharedIds,
    pub(super) markers: MarkerFacts,
    pub(super) notices: NoticeFacts,
    pub(super) surroundings: SurroundingsFacts,
    agents: BTreeMap<PhaseId, AgentFacts>,
    purse: Purse,
    calls: BTreeMap<PhaseId, CallFacts>,
    trees: BTreeMap<PhaseId, TreeFacts>,
    /// Phases that are no agent's any more, with what an agent did for them in a worktree.
    disowned: BTreeSet<PhaseId>,
    /// Attempts whose files are really in the project.
    really_integrated: BTreeSet<(PhaseId, Attempt)>,
    /// The commit that was begun and has not ended.
    committing: Option<u32>,
    deeds: Deeds,
    pub(super) coverage: Coverage,
    /// Tells every event as it becomes durable.
    pub(super) trace: Option<fn(&str)>,
}

impl Oracle {
    pub(super) fn new(plan: &Plan) -> Self {
        let facts =
            plan.phases.iter().map(|p| (p.id.clone(), PhaseFacts { generation: 1, ..PhaseFacts::default() })).collect();
        Self {
            plan: plan.clone(),
            journal: Vec::new(),
            replayed: None,
            epoch: 0,
            facts,
            spawned: BTreeMap::new(),
            answered: BTreeSet::new(),
            composed: Composed::default(),
            commits: BTreeSet::new(),
            jobs: None,
            settled: BTreeSet::new(),
            replans: Revisions::default(),
            closed: ClosedLimits::default(),
            silence: Silence::default(),
            shared: SharedIds::default(),
            markers: MarkerFacts::default(),
            notices: NoticeFacts::default(),
            surroundings: SurroundingsFacts::default(),
            agents: BTreeMap::new(),
            purse: Purse::default(),
            calls: BTreeMap::new(),
            trees: BTreeMap::new(),
            disowned: BTreeSet::new(),
            really_integrated: BTreeSet::new(),
            committing: None,
            deeds: Deeds::default(),
            coverage: Coverage::new(),
            trace: None,
        }
    }

    /// Records became durable.
    pub(super) fn appended(&mut self, lease: &Lease, records: &[Record], consumed: &[String]) {
        assert!(lease.epoch() >= self.epoch, "I4: a driver that lost its lease appended");
        self.epoch = lease.epoch();
        for record in records {
            let event: OracleRecord = serde_json::from_slice(&record.body).expect("our own bytes");
            let recorded = Recorded { seq: record.seq, at: record.at, actor: record.actor.clone(), event: event.event };
            let expected = self.journal.last().map_or(Seq(1), |last| last.seq.next());
            assert_eq!(recorded.seq, expected, "the journal has no gaps");
            if let Some(tell) = self.trace {
                let text = serde_json::to_string(&recorded.event).expect("plain data");
                tell(&format!("{} {} {text}", recorded.seq, recorded.at).chars().take(300).collect::<String>());
            }
            self.end_is_true(&recorded.event);
            self.fold(&recorded);
            self.deeds_after(&recorded.event);
            self.replay(&recorded);
            self.journal.push(recorded);
        }
        for id in consumed {
            assert!(self.answered.insert(id.clone()), "a message was answered twice");
        }
    }

    /// Replays one event and notes which phases it moved from where to where.
    fn replay(&mut self, recorded: &Recorded) {
        let Some(run) = &mut self.replayed else {
            self.replayed = onward_core::run::fold([recorded]);
            return;
        };
        let before: BTreeMap<PhaseId, PhaseStatus> =
            run.phases().map(|(phase, state)| (phase.id.clone(), state.status)).collect();
        run.apply(recorded);
        let event =
            serde_json::to_value(&recorded.event).expect("plain data")["type"].as_str().expect("a tag").to_owned();
        for (phase, after) in run.phases() {
            let Some(before) = before.get(&phase.id).filter(|before| **before != after.status) else { continue };
            let moved = format!("{} to {}", before.as_str(), after.status.as_str());
            *self.coverage.entry(format!("phase: {moved}")).or_default() += 1;
            *self.coverage.entry(format!("phase: {moved} by {event}")).or_default() += 1;
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table: one entry for each event")]
    fn fold(&mut self, recorded: &Recorded) {
        self.note(recorded);
        match &recorded.event {
            Event::DriverStarted { jobs, bounds, .. } => {
                self.jobs = *jobs;
                self.probes_are_asked_again();
                self.purse.most_nano_usd = bounds.budget_nano_usd.or(self.purse.most_nano_usd);
            }
            Event::AttemptStarted { phase, attempt, generation, agent, .. } => {
                self.attempt_started(phase, *attempt, *generation, recorded.at);
                let definition = self.plan.phase(phase).expect("of the plan").clone();
                self.agent_started(&definition, *attempt, agent.as_deref());
                self.worktree_of_an_attempt(&definition, *attempt);
            }
            Event::AttemptEnded { phase, attempt, outcome, error, ended_at, agent, answer_given, .. } => {
                let calls = self.calls.entry(phase.clone()).or_default();
                let end = calls::EndOfACall { outcome, ended: agent.as_deref(), given: *answer_given };
                let forgotten = calls.ended(&end);
                let forgotten = if forgotten { CallForgotten::Yes } else { CallForgotten::No };
                let agent = agent.as_deref().map(|ended| (ended, forgotten));
                self.attempt_ended(phase, *attempt, outcome, *ended_at, agent);
                if let Some(error) = error.as_ref().filter(|error| error.code == FailureCode::BadOutputs) {
                    self.gave_out_nonsense(phase, error);
                }
            }
            event @ (Event::PhaseCompleted { .. }
            | Event::PhaseSkipped { .. }
            | Event::PhaseFailed { .. }
            | Event::PhaseReopened { .. }) => self.fold_of_phases(event),
            Event::RetryScheduled { phase, .. } => self.retried(phase),
            Event::RunEnded { .. } => self.nothing_is_at_work(),
            Event::LimitHit(hit) => self.limit_hit(hit),
            Event::PhaseProbed { phase, answer, error } => self.probed(phase, *answer, error.as_ref()),
            Event::PhaseInDoubt { phase } => self.in_doubt(phase),
            event @ (Event::ApprovalAsked { .. } | Event::ApprovalAnswered { .. } | Event::Reported { .. }) => {
                self.fold_of_external_phases(event);
            }
            Event::RewindBegun(_) => self.nothing_is_halfway("the run is rewound"),
            Event::RunArchived => self.nothing_is_halfway("the run is put away"),
            Event::PlanRevised(revised) => {
                self.nothing_is_halfway("the edited plan counts");
                self.edit_counts(revised);
                self.revised(&revised.plan);
            }
            Event::CommitBegun { number, .. } => self.commit_begun(*number),
            Event::CommitMade { .. } | Event::CommitLeft { .. } => self.committing = None,
            Event::CallAsked { phase } => self.call_asked(phase),
            Event::CallAnswered { phase, answer, .. } => self.call_answered(phase, *answer),
            Event::WorktreeChanged { phase, fact } => self.worktree_changed(phase, fact),
            Event::RunRewound(rewound) => self.rewound(rewound.restored.as_ref()),
            Event::PhaseExpanded { phase, children } => self.expanded(phase, children),
            Event::MainPartEnded { .. } => self.composed.main_ended = true,
            Event::Replanned(replanned) => self.replanned(&replanned.phase, &replanned.plan),
            Event::MarkersTaken { completed, skipped } => self.markers_taken(completed, skipped),
            Event::RunStarted(_)
            | Event::PhaseMarked { .. }
            | Event::PhaseNotMarked { .. }
            | Event::MarkersSettled { .. }
            | Event::ReplanAsked { .. }
            | Event::ReplanAllowed
            | Event::ReplanProposed { .. }
            | Event::ReplanRefused { .. }
            | Event::PlanningPaid { .. }
            | Event::CallAnswerGiven { .. }
            | Event::WorldSeen { .. }
            | Event::StaleAccepted { .. }
            | Event::SnapshotTaken(_)
            | Event::SnapshotMissed { .. }
            | Event::RewindFailed { .. }
            | Event::RunForked { .. }
            | Event::RunImported(_)
            | Event::FilesModified { .. }
            | Event::MirrorTroubled { .. }
            | Event::Shared { .. }
            | Event::NoticeSent { .. }
            | Event::NoticeFailed { .. }
            | Event::RequirementsSeen { .. }
            | Event::IssueLabelled { .. }
            | Event::GroupAwaited { .. }
            | Event::GroupEntered { .. }
            | Event::IssueNotLabelled { .. }
            | Event::AttemptAdopted { .. }
            | Event::BatchCompleted { .. }
            | Event::StopAsked { .. }
            | Event::RunStopped { .. }
            | Event::RunPaused { .. }
            | Event::StateChanged { .. }
            | Event::CheckpointTaken { .. } => {}
        }
    }

    fn commit_begun(&mut self, number: u32) {
        assert!(self.commits.insert(number), "commit {number} was begun twice");
        self.committing = Some(number);
    }

    fn nothing_is_at_work(&self) {
        let open: Vec<_> = self.facts.iter().filter(|(_, f)| f.open.is_some()).map(|(p, _)| p).collect();
        assert!(open.is_empty(), "the run ended while {open:?} were at work");
    }

    /// The books that are kept of each event beside those of its phase.
    fn note(&mut self, recorded: &Recorded) {
        let name =
            serde_json::to_value(&recorded.event).expect("plain data")["type"].as_str().expect("a tag").to_owned();
        *self.coverage.entry(name).or_default() += 1;
        let done = |id: &PhaseId| self.facts.get(id).is_some_and(|facts| facts.finished_as.is_some());
        self.replans.fold(&recorded.event, &self.plan, done);
        self.silence.fold(&recorded.event, &self.plan);
        self.shared.fold(&recorded.event);
        let complete =
            |id: &PhaseId| self.facts.get(id).is_some_and(|facts| facts.finished_as == Some(PhaseStatus::Completed));
        self.markers.fold(&recorded.event, &self.plan, complete);
        self.notices.fold(&recorded.event, &self.plan);
        self.surroundings.fold(&recorded.event, &self.plan);
    }

    fn rewound(&mut self, restored: Option<&RestoredState>) {
        self.composed.main_ended &= restored.is_none();
        self.committing = None;
        self.settled.clear();
        for back in restored.iter().flat_map(|restored| &restored.phases) {
            self.put_back(back);
        }
    }

    fn markers_taken(&mut self, completed: &[PhaseId], skipped: &[PhaseId]) {
        for (phases, status) in [(completed, PhaseStatus::Completed), (skipped, PhaseStatus::Skipped)] {
            for phase in phases {
                self.finished(phase, status);
            }
        }
    }

    fn replanned(&mut self, phase: &PhaseId, plan: &Plan) {
        if let Some(facts) = self.facts.get_mut(phase) {
            (facts.failures, facts.unknowns, facts.parked) = (0, 0, false);
            // Somebody who took it up meanwhile is to look at it anew.
            facts.begun = false;
            self.calls.entry(phase.clone()).or_default().waits = false;
        }
        self.what_is_halfway_stays_as_it_is(plan);
        self.revised(plan);
    }

    fn attempt_started(&mut self, phase: &PhaseId, attempt: Attempt, generation: Generation, at: Timestamp) {
        let plan = self.plan.phase(phase).expect("of the plan").clone();
        assert!(matches!(plan.body, Body::Run { .. } | Body::Agent(_)), "{phase} is for others to do");
        self.composed.may_start(&self.plan, phase);
        self.was_asked_about(phase);
        self.needs_are_met(phase);
        for whole in ancestors(&self.plan, phase) {
            self.needs_are_met(&whole);
        }
        let open: Vec<PhaseId> = self.facts.iter().filter(|(_, f)| f.open.is_some()).map(|(p, _)| p.clone()).collect();
        let limit = self.jobs.unwrap_or(self.plan.max_parallel).max(1) as usize;
        assert!(open.len() < limit, "more than {limit} phases side by side");
        let taken: Vec<PhaseId> = open.into_iter().chain(self.at_work_elsewhere()).collect();
        for other in &taken {
            let other_plan = self.plan.phase(other).expect("of the plan");
            // What is written in a worktree of one's own is in nobody's way.
            let apart = works_apart(&plan) || works_apart(other_plan);
            let writes = &other_plan.writes;
            let collide = !apart && plan.writes.iter().any(|a| writes.iter().any(|b| globs::may_overlap(a, b)));
            assert!(!collide, "{phase} and {other} write the same files side by side");
        }
        self.closed.started(&self.plan, &plan, &taken, at);
        let facts = self.facts.get_mut(phase).expect("of the plan");
        assert_eq!(facts.open, None, "I5: a second attempt at {phase} beside the first");
        assert!(facts.started.insert(attempt), "I5: attempt {attempt} of {phase} was recorded twice");
        assert_eq!(facts.finished_as, None, "I3: {phase} is finished and was started again");
        assert!(facts.finished_generation < Some(generation), "I3: generation {generation} of {phase} was done before");
        assert!(!facts.parked, "{phase} is parked and was started by itself");
        assert_eq!(generation.0, facts.generation, "6.5: {phase} goes by another key than was recorded");
        assert!(
            plan.effects != Effects::External || !facts.rewound_since || facts.key == Some(generation),
            "6.5: the key of {phase} is another after a rewind, and its effect is out there"
        );
        (facts.key, facts.rewound_since, facts.need_not_ask) = (Some(generation), false, false);
        assert!(facts.unprobed.is_none(), "A8: {phase} is started again before its probe was asked");
        facts.open = Some(attempt);
        self.disowned.remove(phase);
    }

    /// Phases that others have said to be at work on. A probe may have seen meanwhile that one of them is done.
    fn at_work_elsewhere(&self) -> impl Iterator<Item = PhaseId> {
        let external = |id: &PhaseId| self.plan.phase(id).is_some_and(|phase| matches!(phase.body, Body::External(_)));
        let at_work =
            move |(id, facts): &(&PhaseId, &PhaseFacts)| facts.begun && facts.finished_as.is_none() && external(id);
        self.facts.iter().filter(at_work).map(|(id, _)| id.clone())
    }

    fn needs_are_met(&self, phase: &PhaseId) {
        let plan = self.plan.phase(phase).expect("of the plan");
        for need in &plan.needs {
            let facts = &self.facts[&need.phase];
            let met = match facts.finished_as {
                Some(PhaseStatus::Completed) => true,
                Some(PhaseStatus::Skipped) => !need.must_be_completed || judges(plan),
                // One that asks for a failure runs after it, but not beside what it needs.
                _ => judges(plan) && facts.open.is_none(),
            };
            // In the end it is only said in which order, not what must be done.
            assert!(met || plan.closing, "{phase} was started before {} was done", need.phase);
        }
    }

    fn expanded(&mut self, phase: &PhaseId, children: &[Phase]) {
        self.composed.expanded(&mut self.plan, phase, children);
        for child in children {
            self.facts.entry(child.id.clone()).or_insert_with(|| PhaseFacts { generation: 1, ..PhaseFacts::default() });
        }
        // A child that an agent did before the plan was revised may be a command's now.
        let plan = self.plan.clone();
        self.agents_become_others(&plan);
        for child in children.iter().filter(|child| self.disowned.contains(&child.id)) {
            self.facts.get_mut(&child.id).expect("it was just made").unprobed = None;
        }
    }

    fn parts<'a>(&'a self, phase: &PhaseId) -> impl Iterator<Item = &'a PhaseId> {
        self.plan.phase(phase).and_then(|phase| phase.children.as_ref()).into_iter().flatten()
    }

    /// The end before it was no failure after all.
    fn limit_hit(&mut self, hit: &LimitHit) {
        if let Some(phase) = &hit.phase {
            self.was_asked_about(phase);
            let facts = self.facts.get_mut(phase).expect("of the plan");
            assert!(facts.open.is_none() && facts.failures > 0, "{phase} hits a limit without an end");
            facts.failures -= 1;
            self.agent_was_limited(phase);
        }
        self.closed.hit(hit);
    }

    fn retried(&self, phase: &PhaseId) {
        self.was_asked_about(phase);
        self.agent_may_be_retried(phase);
        let max = self.plan.phase(phase).expect("of the plan").retry.max;
        let failures = self.facts[phase].failures;
        assert!(
            failures <= max || self.agent_goes_on(phase),
            "I6: {phase} is retried {failures} times, {max} are allowed"
        );
    }

    /// A person is asked, and the next driver asks the probe again before anybody has spoken.
    fn in_doubt(&mut self, phase: &PhaseId) {
        let has_probe = !self.plan.phase(phase).expect("of the plan").done_when.is_empty();
        let facts = self.facts.get_mut(phase).expect("of the plan");
        assert!(
            has_probe || !facts.need_not_ask,
            "{phase} is asked about again, though a person said what is to be done"
        );
        facts.unprobed = facts.unprobed.or(has_probe.then_some(Unprobed::NobodyKnows));
        (facts.must_ask, facts.in_doubt) = (false, true);
    }

    /// A new driver asks the probes again that could not tell.
    fn probes_are_asked_again(&mut self) {
        for (phase, facts) in &mut self.facts {
            facts.in_doubt &= self.plan.phase(phase).is_none_or(|phase| phase.done_when.is_empty());
        }
    }

    fn revised(&mut self, plan: &Plan) {
        self.settled.clear();
        self.agents_become_others(plan);
        for phase in &plan.phases {
            let new = || PhaseFacts { generation: 1, ..PhaseFacts::default() };
            let facts = self.facts.entry(phase.id.clone()).or_insert_with(new);
            // What is not for us to try any more has nothing to prove by a probe.
            let proves = match &phase.body {
                Body::Run { .. } | Body::Agent(_) => !is_whole(plan, &phase.id),
                Body::External(_) => {
                    let said = matches!(facts.unprobed, Some(Unprobed::SaysDone | Unprobed::SaysDoneLate));
                    !is_whole(plan, &phase.id) && !said
                }
                Body::Approval(_) | Body::Uses(_) => false,
            };
            // A probe that the plan no longer has is not asked; of an outward effect a person is, in its place.
            let no_probe = phase.done_when.is_empty() && phase.effects != Effects::External;
            let apart = self.trees.contains_key(&phase.id);
            let no_checks = phase.verify.is_empty() && phase.artifacts.is_empty() && !apart;
            let proves = proves && !(no_probe && (no_checks || facts.unprobed == Some(Unprobed::NobodyKnows)));
            facts.unprobed = facts.unprobed.filter(|_| proves && !self.disowned.contains(&phase.id));
            if !matches!(phase.body, Body::Agent(_))
                && let Some(calls) = self.calls.get_mut(&phase.id).filter(|calls| calls.waits)
            {
                calls.ask_no_more();
            }
        }
        self.plan = plan.clone();
        self.composed.revised(plan);
    }
}

/// Whether something keeps the run from completing.
pub(super) fn has_a_reason_to_fail(run: &Run) -> bool {
    run.phases().any(|(phase, state)| {
        let never_met = phase.needs.iter().any(|need| {
            need.must_be_completed && run.phase_state(&need.phase).is_some_and(|s| s.status == PhaseStatus::Skipped)
        });
        state.status == PhaseStatus::Failed || never_met
    })
}

#[derive(serde::Deserialize)]
struct OracleRecord {
    event: Event,
}
