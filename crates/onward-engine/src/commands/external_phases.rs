//! External phases: answers to approvals, reports of whoever does a phase, and the next work for those who ask.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use onward_core::brief::brief;
use onward_core::data_limits::text_fits;
use onward_core::id::{PhaseId, RunId};
use onward_core::input::{CommitIs, DoneSaid, Posted, Reply, Says};
use onward_core::markdown::{PhaseTask, PhaseWork};
use onward_core::plan::{Body, DeclaredArtifact, Phase};
use onward_core::run::agent_calls;
use onward_core::run::replans::Stage;
use onward_core::run::{PhaseStatus, Run};
use onward_core::view;
use serde::Serialize;
use serde_json::{Value, json};

use crate::Onward;
use crate::attendant::{logs, notes};
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::kill_point;
use crate::markdown_file;
use crate::probe::phase;
use crate::probe::verification::Looking;
use crate::project::Project;
use crate::queries::runs::require_phase;
use crate::redact::collisions::demand_outputs_apart;
use crate::redact::secrets;
use crate::start::starting::actor;
use crate::sys::stop;
use crate::vcs::working_tree::WorkingTree;

/// The brief that comes with the next phase.
const BRIEF_TOKENS: usize = 1_000;

/// A report about an external phase.
#[derive(Clone, Debug)]
pub enum PhaseReport {
    Start,
    Progress { note: Option<String> },
    Done(DoneClaim),
    Fail { reason: String },
}

impl PhaseReport {
    /// All that is said in it.
    fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let (note, reason, done) = match self {
            Self::Start => (None, None, None),
            Self::Progress { note } => (note.as_deref(), None, None),
            Self::Done(done) => (None, None, Some(done)),
            Self::Fail { reason } => (None, Some(reason.as_str()), None),
        };
        let claims = done.into_iter().flat_map(|done| {
            let given = [("its summary", done.summary.as_deref()), ("its commit", done.commit.as_deref())];
            let given = given.into_iter().filter_map(|(what, text)| Some((what, text?)));
            let artifacts = done.artifacts.iter().map(|path| ("the path of its artifact", path.as_str()));
            given.chain([("what remains of it", done.remaining.as_str())]).chain(artifacts)
        });
        note.map(|text| ("its note", text)).into_iter().chain(reason.map(|text| ("its reason", text))).chain(claims)
    }
}

/// A claim that a phase is done.
#[derive(Clone, Debug, Default)]
pub struct DoneClaim {
    pub summary: Option<String>,
    pub artifacts: Vec<String>,
    pub outputs: BTreeMap<String, String>,
    pub commit: Option<String>,
    pub remaining: String,
}

/// A person's answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct PersonsAnswer<'a> {
    pub choice: &'a str,
    pub reason: Option<&'a str>,
    /// The tool call that was shown, by its id; else it is the one that waits when this is looked at.
    pub call: Option<&'a str>,
}

/// An answer that is on record.
#[derive(Clone, Debug)]
pub struct Answered {
    pub run: RunId,
    /// The tool call that was answered, in words.
    pub call: Option<String>,
}

/// The result of a report.
#[derive(Clone, Debug, Serialize)]
pub struct Reported {
    pub accepted: bool,
    pub reason: Option<String>,
    pub next: NextWork,
}

/// The next work for whoever asks.
#[derive(Clone, Debug, Serialize)]
pub struct NextWork {
    pub run: RunId,
    pub phase: Option<NextPhase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    pub remaining: usize,
    /// Why nothing is handed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// The command that brings it on, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct NextPhase {
    pub id: PhaseId,
    pub name: String,
    pub instructions: String,
    pub needs: Vec<PhaseId>,
    pub note: Option<String>,
    pub attempts: u32,
    pub tasks: Vec<PhaseTask>,
    /// Earlier attempts that failed, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_attempts: Vec<view::FailedAttempt>,
}

impl Onward {
    /// Records a person's answer to an approval, to a tool call, or to a plan that waits for one.
    pub fn answer(&mut self, name: Option<&str>, phase: &str, answer: &PersonsAnswer<'_>) -> Result<Answered> {
        let PersonsAnswer { choice, reason, call } = *answer;
        text_fits("the choice", choice)?;
        text_fits("the reason", reason.unwrap_or_default())?;
        text_fits("the call", call.unwrap_or_default())?;
        let run = self.find_run(name)?;
        let known = self.load(&run)?;
        let phase = require_phase(&known, phase)?;
        if let Some(Stage::Proposed(_)) = known.replans.asked_by(&phase).map(|asked| &asked.stage) {
            return self.answer_for_a_plan(&run, phase, choice).map(|()| Answered { run, call: None });
        }
        // Whatever becomes of the run from here on: the call that waits now is the one that is meant, or the one that was named.
        let waits = known.phase_state(&phase).and_then(agent_calls::waiting_call);
        let call = call.or(waits.map(|call| call.id.as_str())).map(str::to_owned);
        let about = waits.filter(|waits| call.as_ref() == Some(&waits.id));
        let about = about.map(|call| format!("{} (call {})", call.in_words(), call.id));
        kill_point::reached("answer.before-post");
        let (choice, reason) = (choice.to_owned(), reason.map(str::to_owned));
        match self.post(&run, Posted::Answer { phase, choice, by: actor(&self.project), reason, call }) {
            Err(Error::RequestRefused { reason, .. }) => Err(Error::Declined { reason }),
            other => other.map(|_| Answered { run, call: about }),
        }
    }

    /// Records what whoever does an external phase says about it. A claim to be done is looked into first.
    /// `complexity` is how hard it turned out to be.
    pub fn report(
        &mut self,
        name: Option<&str>,
        phase: &str,
        report: &PhaseReport,
        complexity: Option<u32>,
    ) -> Result<Reported> {
        report.texts().try_for_each(|(what, text)| text_fits(what, text))?;
        let id = self.find_run(name)?;
        let run = self.load(&id)?;
        let phase = require_phase(&run, phase)?;
        self.demand_own_phase(&run.id, Some(&phase))?;
        if let Some(reported) = self.of_the_attempt_at_work(&run, &phase, report)? {
            return Ok(reported);
        }
        if let PhaseReport::Done(done) = report
            && let Err(why) = logs::outputs_fit(&done.outputs)
        {
            return Ok(Reported { accepted: false, reason: Some(why.to_string()), next: next_of(&self.project, &run) });
        }
        if let PhaseReport::Done(done) = report {
            demand_outputs_apart(&done.outputs).map_err(|why| Error::Unfit { why })?;
        }
        let says = self.says(&run, &phase, report);
        // What was given up proves nothing, for or against.
        stop::demand_none()?;
        let says = says?;
        let refused = match self.post(&id, Posted::Report { phase, by: actor(&self.project), says, complexity }) {
            Ok(Reply::Overruled { reason } | Reply::Refused { reason } | Reply::Unfit { reason })
            | Err(Error::RequestRefused { reason, .. }) => Some(reason),
            Ok(Reply::Done | Reply::Checkpoint { .. }) => None,
            Ok(Reply::NotReplanned { .. }) => unreachable!("nothing was said about another plan"),
            Err(other) => return Err(other),
        };
        let run = self.load(&id)?;
        let next = next_of(&self.project, &run);
        Ok(Reported { accepted: refused.is_none(), reason: refused, next })
    }

    /// The next work for whoever asks.
    pub fn next(&mut self, name: Option<&str>) -> Result<NextWork> {
        let id = self.find_run(name)?;
        let run = self.load(&id)?;
        Ok(next_of(&self.project, &run))
    }

    fn says(&self, run: &Run, id: &PhaseId, report: &PhaseReport) -> Result<Says> {
        let clean = |text: &str| secrets().text(text).into_owned();
        Ok(match report {
            PhaseReport::Start => Says::Start,
            PhaseReport::Progress { note } => {
                Says::Progress { note: note.as_deref().map(clean).as_deref().and_then(notes::reported_note) }
            }
            PhaseReport::Fail { reason } => Says::Fail { reason: notes::cut_to_note(&clean(reason)).to_owned() },
            PhaseReport::Done(done) => {
                let phase = run.plan().phase(id).expect("the phase was found in this run");
                let open = run.phase_state(id).is_some_and(|state| !state.is_finished());
                // Of what is not theirs, or is done, nothing is looked at: the answer is known.
                let looks = open && matches!(phase.body, Body::External(_)) && !run.is_blocked(id);
                let looking = looks.then(|| Looking::at(&self.project, run, phase, &done.artifacts));
                let proof = looking.map(|looking| looking.prove(&AtomicBool::new(false))).transpose();
                let blind = |why| Error::NoRoom { what: format!("whether phase {id} is done cannot be seen: {why}") };
                let proof = proof.map_err(blind)?.unwrap_or_default();
                let (commit, commit_is) = match &done.commit {
                    Some(named) if looks => {
                        commit(&WorkingTree::of(&self.project, run.started.worktree.as_deref()), named)
                    }
                    other => (other.clone(), CommitIs::Known),
                };
                Says::Done(Box::new(DoneSaid {
                    summary: done.summary.as_deref().map(clean),
                    outputs: done.outputs.iter().map(|(key, value)| (key.clone(), clean(value))).collect(),
                    commit,
                    commit_is,
                    remaining: notes::cut_to_note(&clean(&done.remaining)).to_owned(),
                    proof,
                    seen: if looks { phase::as_it_is(&self.project, run, phase) } else { None },
                }))
            }
        })
    }
}

/// The full name of a commit, if there is a repository that knows it.
fn commit(tree: &WorkingTree, named: &str) -> (Option<String>, CommitIs) {
    let Ok(repository) = tree.repository() else { return (Some(named.to_owned()), CommitIs::NoRepository) };
    match repository.commit_named(named) {
        Some(commit) => (Some(commit), CommitIs::Known),
        None => (Some(named.to_owned()), CommitIs::Unknown),
    }
}

pub(crate) fn next_of(project: &Project, run: &Run) -> NextWork {
    let remaining = run.phases_total() - run.phases_finished();
    let nothing = NextWork { run: run.id.clone(), phase: None, context: None, remaining, reason: None, hint: None };
    match run.next_for_others(Timestamp::now()) {
        Ok(phase) => {
            NextWork { phase: Some(handed_out(project, run, phase)), context: Some(context(run, phase)), ..nothing }
        }
        Err(why) => NextWork { reason: Some(why.as_str()), hint: hint(run), ..nothing },
    }
}

fn handed_out(project: &Project, run: &Run, phase: &Phase) -> NextPhase {
    let state = run.phase_state(&phase.id).expect("the phase is one of this run");
    let instructions = match &phase.body {
        Body::External(external) => external.instructions.clone(),
        Body::Run { .. } | Body::Agent(_) | Body::Approval(_) | Body::Uses(_) => String::new(),
    };
    let filled = || shell::fill_for(run, phase, &instructions).unwrap_or(instructions.clone());
    let PhaseWork { text, tasks } =
        markdown_file::work(project, run, &phase.id).as_ref().map_or_else(|| kept(run, phase), cut);
    NextPhase {
        id: phase.id.clone(),
        name: phase.title().to_owned(),
        // The text of a plan in Markdown is no template.
        instructions: if text.is_empty() { filled() } else { text },
        needs: phase.needs.iter().map(|need| need.phase.clone()).collect(),
        note: state.note.clone(),
        attempts: state.attempts,
        tasks,
        failed_attempts: state.tries.iter().map(view::FailedAttempt::new).collect(),
    }
}

/// The run's own knowledge of the work, where the plan's file cannot tell it.
fn kept(run: &Run, phase: &Phase) -> PhaseWork {
    let tasks = phase.tasks.iter().map(|text| PhaseTask { text: text.clone(), done: false }).collect();
    // Only a plan in Markdown has no other instructions than its text.
    let text = phase.description.clone().filter(|_| run.plan().markdown.is_some() && !phase.tasks.is_empty());
    PhaseWork { text: text.unwrap_or_default(), tasks }
}

/// The work as it is handed out: without secrets.
fn cut(work: &PhaseWork) -> PhaseWork {
    let clean = |text: &str| secrets().text(text).into_owned();
    let tasks = work.tasks.iter().map(|task| PhaseTask { text: clean(&task.text), done: task.done }).collect();
    PhaseWork { text: clean(&work.text), tasks }
}

/// The earlier results, for somebody who begins with nothing.
fn context(run: &Run, phase: &Phase) -> Value {
    let needs = phase.needs.iter().filter_map(|need| {
        let state = run.phase_state(&need.phase)?;
        let told = json!({ "status": state.status, "summary": state.summary, "outputs": state.outputs, "artifacts": state.artifacts });
        Some((need.phase.to_string(), told))
    });
    let path = |it: &DeclaredArtifact| shell::fill_for(run, phase, &it.path).unwrap_or_else(|| it.path.clone());
    let artifacts: BTreeMap<&str, String> = phase.artifacts.iter().map(|it| (it.name.as_str(), path(it))).collect();
    json!({
        "plan": run.plan().name,
        "title": run.started.title,
        "description": run.plan().description,
        "branch": run.branch(),
        "inputs": run.started.inputs,
        "needs": needs.collect::<serde_json::Map<String, Value>>(),
        "artifacts": artifacts,
        "verify": phase.verify,
        "brief": brief(run, BRIEF_TOKENS).text,
    })
}

/// The command that a person could type, where somebody waits.
fn hint(run: &Run) -> Option<String> {
    let calls = run.calls().map(|(phase, call)| (phase, format!(" --call {}", call.id)));
    let awaited = run.approvals().map(|(phase, _)| (phase, String::new())).chain(calls).next();
    let approval = awaited.map(|(phase, call)| format!("onward approve {} {}{call}", run.id, phase.id));
    let startable = run.phases().any(|(_, state)| !state.is_finished() && state.status != PhaseStatus::Failed);
    approval.or_else(|| startable.then(|| format!("onward resume {}", run.id)))
}
