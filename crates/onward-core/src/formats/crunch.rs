//! A folder of `CP-*.yaml` with `index.yaml`: each file a checkpoint with issue, team, messages, knowledge and a graph of tasks.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::model::{BadFile, TakenRun};
use super::phases::{PhaseTold, assembled, current, one_after_the_other};
use super::read::{ReadFile, taken};
use super::workflow::into_map;
use crate::checkpoint::{
    AgentConflict, AgentMessage, AgentOutput, Checkpoint, FileFormat, FileModified, IssueSnapshot, KnowledgeEntry,
    KnowledgeState, Sections, Team, TeamMember, ToldRecovery, Trigger,
};
use crate::event::RunResult;
use crate::evidence::{IssueSeen, ProbeSeen, WorldSeen};
use crate::id::{CheckpointId, PhaseId};
use crate::lookup::is_reserved;
use crate::plan::Issue;
use crate::run::PhaseStatus;
use crate::view::PhaseRecord;

const KIND: &str = "crunch";
const VERSION: &str = "1.0";
/// The phases of the workflow where a file has no graph.
const WORKFLOW: [&str; 5] = ["enrich", "ready", "implementing", "validation", "docs"];

pub(super) fn read(document: Map<String, Value>, file: &str) -> Result<TakenRun, BadFile> {
    let top = Fields::new(&document);
    let id = top.text("checkpoint_id")?.to_owned();
    if id.chars().any(|c| c.is_control() || c.is_whitespace() || c == '/') || is_reserved(&id) {
        return Err(BadFile::Damaged(format!("`checkpoint_id` is no id: {id:?}")));
    }
    let version = known_version(top.value("version")?)?;
    let created_at = top.time("created_at")?;
    let work = top.object("workflow_state")?;
    let recovery = top.object("recovery_info")?;
    let (phases, warnings) = graph(top, work)?;
    let issue = top.maybe_object("issue_snapshot");
    let number =
        top.get("issue_number").map(|number| number.as_str().map_or_else(|| number.to_string(), str::to_owned));
    let branch = issue.as_ref().and_then(|issue| issue.maybe_text("branch")).map(str::to_owned);
    let snapshot = issue.map(|issue| snapshot(issue, number.clone(), branch.clone()));
    let forbidden = recovery.get("can_resume") == Some(&Value::Bool(false));
    let mut sections = sections(top);
    sections.label = work.maybe_text("current_state_label").map(str::to_owned);
    sections.issue.clone_from(&snapshot);
    sections.recovery = ToldRecovery {
        forbidden,
        resume_from: recovery.get("resume_from").map(|at| at.as_str().map_or_else(|| at.to_string(), str::to_owned)),
        prerequisites: Vec::new(),
        warnings: recovery.maybe_texts("warnings"),
        last_error: None,
    };
    let done = |phase: &PhaseTold| matches!(phase.status, PhaseStatus::Completed | PhaseStatus::Skipped);
    let result = match () {
        () if phases.iter().any(|phase| phase.status == PhaseStatus::Failed) => Some(RunResult::Failed),
        () if phases.iter().all(done) => Some(RunResult::Completed),
        () => None,
    };
    let title = snapshot.as_ref().map(|issue| issue.title.clone()).filter(|title| !title.is_empty());
    let title = title.or_else(|| number.as_ref().map(|number| format!("issue {number}")));
    let (plan, standing) = assembled(phases)?;
    let world = WorldSeen { branch: branch.clone(), issue: snapshot.as_ref().map(seen), ..WorldSeen::default() };
    Ok(taken(ReadFile {
        version: Some(version),
        phases: plan,
        standing,
        branch,
        issue: number.map(|number| Issue { number, provider: None, states: Vec::new(), sync: None, if_ahead: None }),
        world: Some(world),
        sections,
        result,
        warnings,
        checkpoint: Some(CheckpointId::new(id)),
        triggers: trigger(document.get("trigger")).into_iter().collect(),
        phase: work.maybe_text("current_phase").map(PhaseId::new),
        document,
        ..ReadFile::new(
            FileFormat::Crunch,
            (KIND.to_owned(), title.unwrap_or_else(|| KIND.to_owned())),
            created_at,
            file,
        )
    }))
}

fn known_version(value: &Value) -> Result<String, BadFile> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let major = text.split('.').next().and_then(|major| major.parse::<u64>().ok());
    match major {
        _ if text == VERSION || text == "1" => Ok(text),
        Some(_) => Err(BadFile::Newer(text)),
        None => Err(BadFile::Damaged(format!("`version` is {text}"))),
    }
}

/// The trigger of an entry of the index, or of a file.
pub(super) fn trigger(value: Option<&Value>) -> Option<Trigger> {
    let word = value.and_then(Value::as_str)?;
    Trigger::ALL.into_iter().find(|trigger| trigger.as_str() == word)
}

fn graph(top: Fields<'_>, work: Fields<'_>) -> Result<(Vec<PhaseTold>, Vec<String>), BadFile> {
    let nodes = top.maybe_object("execution_graph").and_then(|graph| graph.maybe_object("node_states"));
    let entries: Vec<(&String, &Value)> = nodes.as_ref().map(|nodes| nodes.entries().collect()).unwrap_or_default();
    if entries.is_empty() {
        let now = work.maybe_text("current_phase").unwrap_or(WORKFLOW[0]);
        let odd = work.odd_time("phase_started_at").map(|odd| format!("phase {now}: {odd}"));
        return Ok((workflow(work), odd.into_iter().collect()));
    }
    let mut warnings = Vec::new();
    let mut phases = Vec::new();
    for (id, value) in &entries {
        let node = value.as_object().ok_or_else(|| BadFile::Damaged(format!("the node `{id}` is no object")))?;
        let node = Fields::new(node);
        let standing = node.maybe_text("status").unwrap_or("pending");
        let mut told = PhaseTold::new(id.as_str(), status(standing));
        told.name = node.maybe_text("name").map(str::to_owned);
        (told.started_at, told.ended_at) = (node.maybe_time("started_at"), node.maybe_time("completed_at"));
        let odd = ["started_at", "completed_at"].into_iter().filter_map(|key| node.odd_time(key));
        warnings.extend(odd.map(|odd| format!("phase {id}: {odd}")));
        told.summary = node.maybe_text("result").or_else(|| node.maybe_text("summary")).map(str::to_owned);
        told.note = node.maybe_text("note").map(str::to_owned);
        told.commit_sha = node.maybe_text("commit_sha").map(str::to_owned);
        told.artifacts = node.maybe_texts("artifacts");
        if told.status == PhaseStatus::Failed {
            told.error = Some(node.maybe_text("error").unwrap_or("it failed").to_owned());
        }
        told.needs = node.maybe_texts("needs");
        phases.push(told);
    }
    if !entries.iter().any(|(_, value)| value.get("needs").is_some()) {
        by_their_batches(&mut phases);
    }
    Ok((phases, warnings))
}

fn status(word: &str) -> PhaseStatus {
    match word {
        "complete" | "completed" | "done" => PhaseStatus::Completed,
        "skipped" => PhaseStatus::Skipped,
        "failed" => PhaseStatus::Failed,
        "running" | "in_progress" | "interrupted" => PhaseStatus::Interrupted,
        _ => PhaseStatus::Pending,
    }
}

/// Tasks are called `batch_N_task_M`: those of a batch need all of the one before. Where they are called otherwise each needs the
/// one that stands before it.
fn by_their_batches(phases: &mut [PhaseTold]) {
    let batch = |id: &str| -> Option<u64> { id.strip_prefix("batch_")?.split_once("_task_")?.0.parse().ok() };
    let numbers: Option<Vec<u64>> = phases.iter().map(|phase| batch(&phase.id)).collect();
    let Some(numbers) = numbers else { return one_after_the_other(phases) };
    let mut batches: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (phase, number) in phases.iter().zip(&numbers) {
        batches.entry(*number).or_default().push(phase.id.clone());
    }
    for (phase, number) in phases.iter_mut().zip(&numbers) {
        phase.needs = batches.range(..number).next_back().map(|(_, before)| before.clone()).unwrap_or_default();
    }
}

/// The phases of the workflow, as far as the one in hand says.
fn workflow(work: Fields<'_>) -> Vec<PhaseTold> {
    let now = work.maybe_text("current_phase").unwrap_or(WORKFLOW[0]);
    let mut ids: Vec<&str> = WORKFLOW.to_vec();
    if !ids.contains(&now) {
        ids.push(now);
    }
    let at = ids.iter().position(|id| *id == now).unwrap_or_default();
    let status = |place: usize| match place.cmp(&at) {
        std::cmp::Ordering::Less => PhaseStatus::Completed,
        std::cmp::Ordering::Equal => PhaseStatus::Interrupted,
        std::cmp::Ordering::Greater => PhaseStatus::Pending,
    };
    let mut phases: Vec<PhaseTold> =
        ids.iter().enumerate().map(|(place, id)| PhaseTold::new(*id, status(place))).collect();
    phases[at].started_at = work.maybe_time("phase_started_at");
    one_after_the_other(&mut phases);
    phases
}

fn snapshot(issue: Fields<'_>, number: Option<String>, branch: Option<String>) -> IssueSnapshot {
    IssueSnapshot {
        number,
        title: issue.maybe_text("title").unwrap_or_default().to_owned(),
        body: issue.maybe_text("body").unwrap_or_default().to_owned(),
        labels: issue.maybe_texts("labels"),
        assignees: issue.maybe_texts("assignees"),
        branch,
    }
}

/// The issue as a later look compares it.
fn seen(issue: &IssueSnapshot) -> IssueSeen {
    let text = format!("{}\n{}", issue.title, issue.body);
    let mut labels = issue.labels.clone();
    labels.sort_unstable();
    IssueSeen {
        text: ProbeSeen {
            hash: Some(blake3::hash(text.as_bytes()).to_hex().to_string()),
            excerpt: issue.title.clone(),
        },
        labels,
        number: issue.number.clone(),
        title: issue.title.clone(),
        body: issue.body.clone(),
        assignees: issue.assignees.clone(),
    }
}

fn sections(top: Fields<'_>) -> Sections {
    let member = |entry: Fields<'_>| {
        let count = |key: &str| entry.get(key).and_then(Value::as_u64).unwrap_or_default();
        let text = |key: &str| entry.maybe_text(key).map(str::to_owned);
        let (tasks_completed, tasks_pending) = (count("tasks_completed"), count("tasks_pending"));
        Some(TeamMember {
            agent: text("agent")?,
            role: text("role"),
            status: text("status"),
            tasks_completed,
            tasks_pending,
        })
    };
    let team = top.maybe_object("team_state").map(|team| Team {
        id: team.maybe_text("team_id").map(str::to_owned),
        members: team.maybe_objects("members").into_iter().filter_map(member).collect(),
    });
    let file = |entry: Fields<'_>| {
        let path = entry.maybe_text("path")?.to_owned();
        let status = entry.maybe_text("status").unwrap_or("modified").to_owned();
        let staged = entry.get("staged") == Some(&Value::Bool(true));
        let digest = entry.maybe_text("digest").map(str::to_owned);
        Some((path.clone(), FileModified { path, status, staged, digest }))
    };
    let (messages, conflicts) = top.maybe_object("acp_state").map(exchanged).unwrap_or_default();
    Sections {
        session: top.maybe_text("session_id").map(str::to_owned),
        team: team.unwrap_or_default(),
        agents: top.maybe_object("agent_outputs").map(outputs).unwrap_or_default(),
        messages,
        conflicts,
        knowledge: top.maybe_object("knowledge_context").map(knowledge).unwrap_or_default(),
        decisions: told(top, "decisions"),
        files_modified: top.maybe_objects("files_modified").into_iter().filter_map(file).collect(),
        ..Sections::default()
    }
}

/// Entries that onward itself has written beside the ids. An entry that cannot be understood is left out.
fn told<T: DeserializeOwned>(of: Fields<'_>, key: &str) -> Vec<T> {
    let entries = of.get(key).and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| serde_json::from_value(entry.clone()).ok()).collect()
}

/// The id of something that is named by it, or that has it.
fn id_of(value: &Value) -> Option<String> {
    let named = value.as_str().or_else(|| value.get("id").and_then(Value::as_str));
    named.filter(|id| !id.is_empty()).map(str::to_owned)
}

fn ids(of: Fields<'_>, key: &str) -> Vec<String> {
    of.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(id_of).collect()
}

fn exchanged(acp: Fields<'_>) -> (Vec<AgentMessage>, Vec<AgentConflict>) {
    let (pending, awaiting) = (ids(acp, "pending_messages"), ids(acp, "awaiting_response"));
    let mut messages: Vec<AgentMessage> = told(acp, "messages");
    for id in pending.iter().chain(&awaiting) {
        if messages.iter().all(|message| message.id != *id) {
            let (waits, awaited) = (pending.contains(id), awaiting.contains(id));
            messages.push(AgentMessage {
                id: id.clone(),
                pending: waits,
                awaits_response: awaited,
                ..AgentMessage::default()
            });
        }
    }
    let mut conflicts: Vec<AgentConflict> = told(acp, "conflicts");
    for id in ids(acp, "conflicts_in_progress") {
        if conflicts.iter().all(|known| known.id != id) {
            conflicts.push(AgentConflict { id, ..AgentConflict::default() });
        }
    }
    (messages, conflicts)
}

fn outputs(agents: Fields<'_>) -> BTreeMap<String, BTreeMap<String, AgentOutput>> {
    let mut all: BTreeMap<String, BTreeMap<String, AgentOutput>> = BTreeMap::new();
    for (agent, tasks) in agents.entries() {
        let tasks = tasks.as_object().into_iter().flatten();
        let task = |(name, value): (&String, &Value)| {
            let output = Fields::new(value.as_object()?);
            let text = |key: &str| output.maybe_text(key).map(str::to_owned);
            let (summary, location) = (text("output_summary"), text("output_location"));
            Some((name.clone(), AgentOutput { completed_at: output.maybe_time("completed_at"), summary, location }))
        };
        all.insert(agent.clone(), tasks.filter_map(task).collect());
    }
    all
}

fn knowledge(context: Fields<'_>) -> Vec<KnowledgeEntry> {
    let states = [
        ("injected_entries", KnowledgeState::Injected),
        ("captured_entries", KnowledgeState::Captured),
        ("pending_captures", KnowledgeState::Pending),
    ];
    let entry = |id: String, state| KnowledgeEntry { id, kind: None, title: None, body: None, added_at: None, state };
    let named = states.into_iter().flat_map(|(key, state)| ids(context, key).into_iter().map(move |id| (id, state)));
    let mut entries: Vec<KnowledgeEntry> = told(context, "entries");
    for (id, state) in named {
        if entries.iter().all(|known| known.id != id) {
            entries.push(entry(id, state));
        }
    }
    entries
}

pub(super) fn write(checkpoint: &Checkpoint) -> Map<String, Value> {
    let now = current(&checkpoint.phases).map(|at| &checkpoint.phases[at]);
    let phase = checkpoint.phase.as_ref().or(now.map(|phase| &phase.id));
    let issue = checkpoint.issue.clone().unwrap_or_default();
    let completed: Vec<u64> = (1..).take(checkpoint.graph.batches_completed).collect();
    let open: Vec<&String> =
        checkpoint.messages.conflicts.iter().filter(|it| it.resolution.is_none()).map(|it| &it.id).collect();
    let mut document = into_map(json!({
        "checkpoint_id": checkpoint.id,
        "version": VERSION,
        "created_at": checkpoint.created_at,
        "issue_number": number(issue.number.as_deref()),
        "session_id": checkpoint.session,
        "workflow_state": {
            "current_phase": phase,
            "current_state_label": checkpoint.label,
            "phase_started_at": now.and_then(|phase| phase.started_at),
            "phase_attempt": now.map_or(0, |phase| phase.attempts),
        },
        "issue_snapshot": {
            "title": issue.title,
            "body": issue.body,
            "labels": issue.labels,
            "assignees": issue.assignees,
            "branch": checkpoint.context.branch.as_ref().or(issue.branch.as_ref()),
        },
        "team_state": {"team_id": checkpoint.team.id, "members": checkpoint.team.members.iter().map(member).collect::<Vec<_>>()},
        "execution_graph": {
            "graph_id": format!("GRAPH-{}", checkpoint.run),
            "completed_batches": completed,
            "current_batch": checkpoint.graph.batches_completed + 1,
            "node_states": checkpoint.phases.iter().map(|it| (it.id.to_string(), node(it))).collect::<Map<_, _>>(),
        },
        "agent_outputs": agents(checkpoint),
        "acp_state": {
            "pending_messages": checkpoint.messages.pending,
            "awaiting_response": checkpoint.messages.awaiting,
            "conflicts_in_progress": open,
        },
        "knowledge_context": {
            "injected_entries": checkpoint.knowledge.injected,
            "captured_entries": checkpoint.knowledge.captured,
            "pending_captures": checkpoint.knowledge.pending,
        },
        "files_modified": checkpoint.files_modified.iter().map(file).collect::<Vec<_>>(),
        "recovery_info": {
            "can_resume": checkpoint.recovery.can_resume,
            "resume_from": now.map(|phase| &phase.id),
            "prerequisites_met": checkpoint.recovery.prerequisites_met,
            "warnings": checkpoint.recovery.warnings,
        },
    }));
    with_content(&mut document, checkpoint);
    document
}

/// The content of messages, conflicts and knowledge, and the decisions: in members of their own, which readers
/// of the format pass over. A document that has none of it stays as it is.
fn with_content(document: &mut Map<String, Value>, checkpoint: &Checkpoint) {
    let (messages, knowledge) = (&checkpoint.messages, &checkpoint.knowledge);
    let sent: Vec<&AgentMessage> = messages.sent.iter().filter(|message| message.body.is_some()).collect();
    let conflicts: Vec<&AgentConflict> =
        messages.conflicts.iter().filter(|conflict| conflict.topic.is_some()).collect();
    let entries: Vec<&KnowledgeEntry> = knowledge.entries.iter().filter(|entry| entry.title.is_some()).collect();
    let parts = [
        ("acp_state", "messages", sent.is_empty(), json!(sent)),
        ("acp_state", "conflicts", conflicts.is_empty(), json!(conflicts)),
        ("knowledge_context", "entries", entries.is_empty(), json!(entries)),
    ];
    for (section, key, is_empty, value) in parts {
        if let Some(Value::Object(section)) = document.get_mut(section)
            && !is_empty
        {
            section.insert(key.to_owned(), value);
        }
    }
    if !checkpoint.context.decisions.is_empty() {
        document.insert("decisions".to_owned(), json!(checkpoint.context.decisions));
    }
}

fn member(member: &TeamMember) -> Value {
    json!({
        "agent": member.agent,
        "role": member.role,
        "status": member.status,
        "tasks_completed": member.tasks_completed,
        "tasks_pending": member.tasks_pending,
    })
}

fn file(file: &FileModified) -> Value {
    let mut entry = json!({"path": file.path, "status": file.status, "staged": file.staged});
    if let Some(digest) = &file.digest {
        entry["digest"] = json!(digest);
    }
    entry
}

fn agents(checkpoint: &Checkpoint) -> Map<String, Value> {
    let output = |output: &AgentOutput| {
        let (summary, location) = (&output.summary, &output.location);
        json!({"completed_at": output.completed_at, "output_summary": summary, "output_location": location})
    };
    let tasks = |tasks: &BTreeMap<String, AgentOutput>| -> Map<String, Value> {
        tasks.iter().map(|(name, it)| (name.clone(), output(it))).collect()
    };
    checkpoint.agents.iter().map(|(agent, all)| (agent.clone(), Value::Object(tasks(all)))).collect()
}

fn number(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number)))
}

fn node(phase: &PhaseRecord) -> Value {
    let status = match phase.status {
        PhaseStatus::Completed => "complete",
        PhaseStatus::Waiting => "pending",
        PhaseStatus::Pending
        | PhaseStatus::Running
        | PhaseStatus::Failed
        | PhaseStatus::Skipped
        | PhaseStatus::Interrupted => phase.status.as_str(),
    };
    let mut node = json!({"status": status});
    for (key, time) in [("started_at", phase.started_at), ("completed_at", phase.ended_at)] {
        if let Some(time) = time {
            node[key] = json!(time);
        }
    }
    let texts = [
        ("result", phase.summary.as_ref()),
        ("note", phase.note.as_ref()),
        ("commit_sha", phase.commit_sha.as_ref()),
        ("error", phase.error.as_ref()),
        ("name", Some(&phase.name).filter(|name| name.as_str() != phase.id.as_str())),
    ];
    for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text?))) {
        node[key] = json!(text);
    }
    node["needs"] = json!(phase.needs);
    if !phase.artifacts.is_empty() {
        node["artifacts"] = phase.artifacts.iter().map(|artifact| json!(artifact.path)).collect();
    }
    node
}

/// A checkpoint as the index lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    pub id: String,
    pub created_at: jiff::Timestamp,
    pub trigger: String,
    pub phase: Option<String>,
    pub can_resume: bool,
}

/// The entry of a checkpoint.
pub fn crunch_entry(checkpoint: &Checkpoint) -> IndexEntry {
    let now = current(&checkpoint.phases).map(|at| checkpoint.phases[at].id.to_string());
    IndexEntry {
        id: checkpoint.id.to_string(),
        created_at: checkpoint.created_at,
        trigger: checkpoint.triggers.first().map_or("manual", |trigger| trigger.as_str()).to_owned(),
        phase: checkpoint.phase.as_ref().map(ToString::to_string).or(now),
        can_resume: checkpoint.recovery.can_resume,
    }
}

/// `index.yaml`; the entries stand from the oldest to the newest.
pub fn crunch_index(issue: Option<&str>, entries: &[IndexEntry]) -> Map<String, Value> {
    let entry = |entry: &IndexEntry| {
        json!({
            "checkpoint_id": entry.id,
            "created_at": entry.created_at,
            "trigger": entry.trigger,
            "phase": entry.phase,
            "can_resume": entry.can_resume,
        })
    };
    into_map(json!({
        "issue_number": number(issue),
        "checkpoints": entries.iter().map(entry).collect::<Vec<_>>(),
        "latest": entries.last().map(|entry| &entry.id),
        "total_checkpoints": entries.len(),
    }))
}
