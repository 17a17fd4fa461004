//! Each fact of a run as a line for people, or as none where the next one says it better.

use std::collections::BTreeMap;

use onward_core::event::{Event, LeftRunning, Outcome, PhaseError, ProbeAnswer, Recorded, StopRequest, Urgency};
use onward_core::id::PhaseId;
use onward_core::resume::{Finding, FindingKind, Weight};
use onward_core::run::Run;
use onward_core::view::{self, AgentRecord};

use super::{
    agents, artifacts, compound, external_phases, limits, markers, messages_and_knowledge, paint, replan, requirements,
    run, safe, status, time, vcs, worktrees,
};

/// The lines said so far, as far as the next one depends on them.
#[derive(Debug, Default)]
pub(super) struct ChangeLines {
    greeted: bool,
    /// How the last attempt at a phase ended, until it is clear what follows from it.
    ends: BTreeMap<PhaseId, String>,
}

impl ChangeLines {
    pub(super) fn line(&mut self, recorded: &Recorded, run: &Run) -> Option<String> {
        if !self.greeted
            && let Some(greeting) = run::greeting(&recorded.event, run)
        {
            self.greeted = true;
            return Some(greeting);
        }
        self.told(recorded, run).map(|text| format!("{text}\n"))
    }

    #[expect(clippy::too_many_lines, reason = "a table: one entry for each event")]
    fn told(&mut self, recorded: &Recorded, run: &Run) -> Option<String> {
        let name = |phase: &PhaseId| safe::line(phase.as_str());
        match &recorded.event {
            Event::AttemptStarted { phase, attempt, .. } => {
                let attempt = if attempt.0 > 1 { format!(", attempt {attempt}") } else { String::new() };
                Some(format!("{} {} started{attempt}", paint::busy("▸"), name(phase)))
            }
            Event::AttemptAdopted { phase, alive: true, .. } => {
                Some(format!("{} {} is still at work, waiting for it", paint::busy("▸"), name(phase)))
            }
            Event::AttemptEnded { phase, outcome, left_running, agent, damage, .. } => {
                let lines: Vec<String> = self
                    .ended(phase, outcome, damage.as_deref())
                    .into_iter()
                    .chain(left(phase, left_running))
                    .collect();
                if let Some(told) = agent.as_deref().and_then(agents::end) {
                    self.ends.insert(phase.clone(), told);
                }
                (!lines.is_empty()).then(|| lines.join("\n"))
            }
            Event::PhaseCompleted { .. } => completed(&recorded.event, run),
            Event::PhaseFailed { phase, error } => {
                Some(format!("{} {} failed: {}", paint::bad("✗"), name(phase), safe::line(&error.message)))
            }
            Event::RetryScheduled { phase, not_before } => {
                let why = self.ends.remove(phase).unwrap_or_else(|| "it failed".to_owned());
                let later = *not_before > recorded.at;
                let again = || format!("is tried again in {}", time::span(recorded.at, *not_before));
                let does = if later { again() } else { "goes on".to_owned() };
                Some(format!("{} {} {does}: {why}", paint::doubtful("↻"), name(phase)))
            }
            Event::PhaseInDoubt { phase } => {
                Some(format!("{} {} nobody knows whether its effect happened", paint::doubtful("?"), name(phase)))
            }
            Event::PhaseReopened { phase, .. } => {
                Some(format!("{} {} is to be done again", paint::busy("↻"), name(phase)))
            }
            Event::PhaseSkipped { .. } | Event::PhaseExpanded { .. } | Event::MainPartEnded { .. } => {
                compound::line(&recorded.event, run)
            }
            Event::StopAsked { by, urgency } => stop(*by, *urgency, run),
            Event::WorldSeen { findings, .. } => findings_said(findings),
            Event::PlanRevised(_) => Some(format!("{} the edited plan counts from here on", paint::busy("↻"))),
            Event::StaleAccepted { phase, .. } => {
                Some(format!("{} {} is kept as it is", paint::doubtful("~"), name(phase)))
            }
            Event::ReplanAsked { .. }
            | Event::ReplanAllowed
            | Event::ReplanProposed { .. }
            | Event::ReplanRefused { .. }
            | Event::Replanned(_) => replan::line(&recorded.event, run),
            Event::PhaseProbed { phase, answer, error } => self.proven(phase, *answer, error.as_ref()),
            Event::ApprovalAsked { .. }
            | Event::ApprovalAnswered { .. }
            | Event::CallAsked { .. }
            | Event::CallAnswered { .. }
            | Event::CallAnswerGiven { .. }
            | Event::Reported { .. } => external_phases::line(&recorded.event, run),
            Event::SnapshotTaken(_)
            | Event::SnapshotMissed { .. }
            | Event::CommitBegun { .. }
            | Event::CommitMade { .. }
            | Event::CommitLeft { .. }
            | Event::RewindBegun(_)
            | Event::RunRewound(_)
            | Event::RewindFailed { .. }
            | Event::RunForked { .. }
            | Event::CheckpointTaken { .. } => vcs::line(&recorded.event, run),
            Event::WorktreeChanged { phase, fact } => worktrees::line(phase, fact, run),
            Event::MarkersTaken { .. }
            | Event::PhaseMarked { .. }
            | Event::PhaseNotMarked { .. }
            | Event::MarkersSettled { .. } => markers::line(&recorded.event, run),
            Event::Shared { fact } => Some(messages_and_knowledge::line(fact)),
            Event::NoticeFailed { reason, retry_at: None, .. } => {
                Some(format!("{} people were not told: {}", paint::doubtful("!"), safe::line(reason)))
            }
            Event::GroupAwaited { .. } | Event::GroupEntered { .. } => limits::group(&recorded.event, run),
            Event::RequirementsSeen { phase, seen } => requirements::line(phase.as_ref(), seen),
            Event::IssueLabelled { .. } | Event::IssueNotLabelled { .. } => requirements::of_the_issue(&recorded.event),
            Event::LimitHit(hit) => Some(limits::hit(hit, recorded.at)),
            Event::RunPaused { .. }
            | Event::AttemptAdopted { alive: false, .. }
            | Event::RunStarted(_)
            | Event::DriverStarted { .. }
            | Event::BatchCompleted { .. }
            | Event::RunStopped { .. }
            | Event::RunEnded { .. }
            | Event::RunArchived
            | Event::RunImported(_)
            | Event::FilesModified { .. }
            | Event::NoticeSent { .. }
            | Event::NoticeFailed { .. }
            | Event::PlanningPaid { .. }
            | Event::StateChanged { .. } => None,
            Event::MirrorTroubled { path, what } => {
                Some(format!("{} the mirror {} {}", paint::doubtful("~"), safe::line(path), safe::line(what)))
            }
        }
    }

    /// That a phase is done is said by what follows; why it is not may be what the next line is about.
    fn proven(&mut self, phase: &PhaseId, answer: ProbeAnswer, error: Option<&PhaseError>) -> Option<String> {
        let name = safe::line(phase.as_str());
        match (answer, error) {
            (ProbeAnswer::Done, _) => None,
            (ProbeAnswer::NotDone, Some(error)) => {
                self.ends.insert(phase.clone(), safe::line(&error.message));
                None
            }
            (ProbeAnswer::NotDone, None) => {
                Some(format!("{} {name} its probe does not see the effect", paint::doubtful("?")))
            }
            (ProbeAnswer::CannotTell, _) => Some(format!("{} {name} its probe cannot tell", paint::doubtful("?"))),
        }
    }

    fn ended(&mut self, phase: &PhaseId, outcome: &Outcome, damage: Option<&str>) -> Option<String> {
        let name = safe::line(phase.as_str());
        let end = match outcome {
            Outcome::Stopped { .. } => return Some(format!("{} {name} interrupted", paint::doubtful("■"))),
            Outcome::NeverRan => return Some(format!("{} {name} was not executed", paint::doubtful("?"))),
            Outcome::Unknown if let Some(damage) = damage => {
                let damage = safe::line(damage);
                return Some(format!("{} {name} ended, and how is not known: {damage}", paint::doubtful("?")));
            }
            Outcome::Unknown => return Some(format!("{} {name} ended and left no record", paint::doubtful("?"))),
            Outcome::Exited { code } => format!("exit code {code}"),
            Outcome::Killed { signal } => format!("ended by signal {signal}"),
            Outcome::TimedOut => "it took too long".to_owned(),
            Outcome::CouldNotStart { reason } => format!("it could not be started: {}", safe::line(reason)),
        };
        self.ends.insert(phase.clone(), end);
        None
    }
}

/// The line about processes that a phase left running: nobody else ends them.
fn left(phase: &PhaseId, left_running: &[LeftRunning]) -> Option<String> {
    let said = safe::line(&view::left_running(phase, left_running));
    (!left_running.is_empty()).then(|| format!("{} {said}", paint::doubtful("!")))
}

/// The agent that did it, and its cost.
fn by_agent(phase: &PhaseId, run: &Run) -> String {
    let agent = run.phase_state(phase).and_then(|state| state.agent.as_deref());
    agent.map(|agent| format!(", {}", agents::cost(&AgentRecord::new(agent)))).unwrap_or_default()
}

fn completed(event: &Event, run: &Run) -> Option<String> {
    let Event::PhaseCompleted { phase, artifacts: left, .. } = event else { return None };
    let took = run.phase_state(phase).and_then(|state| state.duration_ms).map(time::milliseconds);
    let by = run.phase_state(phase).and_then(|state| state.adopted.as_ref());
    let how = match (by, took) {
        (Some(adopted), _) => status::taken_as_done(adopted),
        (None, Some(took)) => format!("done ({took}{})", by_agent(phase, run)),
        (None, None) => match run.parts_counted(phase) {
            Some(parts) => format!("done ({})", parts.words()),
            None => "done".to_owned(),
        },
    };
    let not_kept = artifacts::not_kept(phase, left);
    Some(format!("{} {} {how}{not_kept}", paint::good("✓"), safe::line(phase.as_str())))
}

/// The findings that are worth a line before anything runs.
fn findings_said(findings: &[Finding]) -> Option<String> {
    let worth = findings.iter().filter(|finding| finding.kind.row().weight >= Weight::Warn);
    let lines: Vec<String> = worth
        .flat_map(|finding| {
            let first = format!("{} {}", paint::doubtful("!"), safe::line(&finding.message));
            let edits = finding.details.iter().filter(|_| finding.kind == FindingKind::PlanChanged);
            std::iter::once(first).chain(edits.map(|edit| format!("    {}", safe::line(edit))))
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn stop(by: StopRequest, urgency: Urgency, run: &Run) -> Option<String> {
    let sign = paint::doubtful("■");
    let count = run.running().count();
    match (by, urgency) {
        (
            StopRequest::Interrupt | StopRequest::SessionEnd | StopRequest::Deadline | StopRequest::Cancel,
            Urgency::Kill,
        ) => Some(format!("{sign} ending the phases at work by force: {count}")),
        (StopRequest::Interrupt, Urgency::Ask) => {
            Some(format!("{sign} stopping: phases asked to end: {count}; a second Ctrl+C ends them by force"))
        }
        (StopRequest::SessionEnd, Urgency::Ask) => Some(format!("{sign} told to end: phases asked to end: {count}")),
        (StopRequest::Deadline | StopRequest::Cancel | StopRequest::Pause, _) => Some(limits::stop(by, count)),
        (StopRequest::Failure, _) => {
            Some(format!("{sign} a phase failed and the plan says stop: phases asked to end: {count}"))
        }
        (StopRequest::Hangup | StopRequest::OrphanKill | StopRequest::Rewind, _) => None,
    }
}
