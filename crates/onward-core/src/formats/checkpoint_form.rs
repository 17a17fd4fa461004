//! `{type}_{project}_{time}.json`: a workflow with numbered phases and a state of its own, in its newest schema version.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::model::{BadFile, TakenRun};
use super::numbered::{is_finished, name_beside, number_of, position, replan_counts, replan_history, revisions, told};
use super::phases::{assembled, minutes, number};
use super::read::{ReadFile, taken};
use super::schema_versions::{state_of, upgraded, version};
use super::workflow::into_map;
use crate::checkpoint::{Checkpoint, FileFormat, Sections, ToldContext};
use crate::event::RunResult;
use crate::id::RunId;
use crate::lookup::is_reserved;
use crate::run::{PhaseStatus, RunStatus};
use crate::view::PhaseRecord;

const ID_CHARS_MAX: usize = 200;

/// The words for how such a run stands.
const STATUSES: [&str; 4] = ["in_progress", "completed", "complete", "failed"];

pub(super) fn read(document: Map<String, Value>, file: &str, fallback: Timestamp) -> Result<TakenRun, BadFile> {
    let version = version(&document)?;
    let document = upgraded(document)?;
    let top = Fields::new(&document);
    let id = run_id(top)?;
    let kind = top.text("workflow_type")?.to_owned();
    let mut warnings = Vec::new();
    let began = top.run_time("created_at", &mut warnings)?;
    let changed = match top.maybe_text("updated_at") {
        Some(_) => top.run_time("updated_at", &mut warnings)?,
        None => None,
    };
    let created_at = began.or(changed).unwrap_or(fallback);
    let status = top.text("status")?;
    let state = top.maybe_object("workflow_state");
    let project = project_name(top, state.as_ref())?;
    let mut base = document.clone();
    base.entry("completed_phases").or_insert_with(|| json!([]));
    let (mut phases, odd) = told(Fields::new(&base), top.get("total_phases"))?;
    warnings.extend(odd);
    if !STATUSES.contains(&status) {
        warnings.push(format!("`status` is {status:?}, which is none that is known; the work counts as unfinished"));
    }
    if let Some(odd) = top.get("current_phase").filter(|current| state_of(current).is_none()) {
        warnings.push(format!("`current_phase` is {odd}, for which the form has no state: `current_state` is null"));
    }
    let last_error = top.get("last_error").map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
    let over = matches!(status, "completed" | "complete");
    let in_hand = top.get("current_phase").and_then(super::phases::id_of);
    if let (Some(error), false) = (&last_error, over) {
        let at = phases.iter().position(|phase| Some(&phase.id) == in_hand.as_ref() && !is_finished(phase.status));
        if let Some(at) = at {
            (phases[at].status, phases[at].error) = (PhaseStatus::Failed, Some(error.clone()));
        }
    }
    let failed = status == "failed" || last_error.is_some() || phases.iter().any(|it| it.status == PhaseStatus::Failed);
    let all_done = !phases.is_empty() && phases.iter().all(|phase| is_finished(phase.status));
    let result = match (over, failed) {
        (true, _) => Some(RunResult::Completed),
        (false, true) => Some(RunResult::Failed),
        (false, false) => all_done.then_some(RunResult::Completed),
    };
    let updated_at = changed.unwrap_or(created_at);
    let (history, earlier) = revisions(top, "replan_phase_counts", updated_at);
    let description = top.maybe_text("workflow_description").map(str::to_owned);
    let plan_path =
        top.maybe_text("plan_path").or_else(|| state.as_ref().and_then(|state| state.maybe_text("plan_path")));
    let plan_path = plan_path.map(str::to_owned);
    let mut sections = Sections { earlier_revisions: earlier, context: ToldContext::default(), ..Sections::default() };
    sections.recovery.last_error = last_error;
    let workflow_state = document.get("workflow_state").and_then(Value::as_object).cloned();
    let (assembled_phases, standing) = assembled(phases)?;
    let title = description.clone().unwrap_or_else(|| project.clone());
    Ok(taken(ReadFile {
        run: Some(id),
        version: Some(version),
        project: Some(project),
        description,
        updated_at: updated_at.max(created_at),
        phases: assembled_phases,
        standing,
        plan_path,
        sections,
        revisions: history,
        result,
        warnings,
        state: workflow_state,
        document,
        ..ReadFile::new(FileFormat::Checkpoint, (kind, title), created_at, file)
    }))
}

fn run_id(top: Fields<'_>) -> Result<RunId, BadFile> {
    let id = top.text("checkpoint_id")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !id.chars().all(plain)
        || id.len() > ID_CHARS_MAX
        || id.contains("..")
        || id.starts_with(['.', '-'])
        || is_reserved(id)
    {
        return Err(BadFile::Damaged(format!("`checkpoint_id` is no id: {id:?}")));
    }
    Ok(RunId::new(id))
}

/// The name stands at the top, in older files in the state.
fn project_name(top: Fields<'_>, state: Option<&Fields<'_>>) -> Result<String, BadFile> {
    let name = match (top.get("project_name"), state) {
        (Some(_), _) | (None, None) => top.text("project_name")?,
        (None, Some(state)) => state.text("project_name").map_err(|why| match why {
            BadFile::Damaged(why) => BadFile::Damaged(format!("{why}, and so is `project_name`")),
            newer @ BadFile::Newer(_) => newer,
        })?,
    };
    Ok(name.to_owned())
}

pub(super) fn write(checkpoint: &Checkpoint) -> Map<String, Value> {
    let at = position(checkpoint);
    let mut state = checkpoint.state.clone();
    state.entry("project_name").or_insert_with(|| json!(checkpoint.project));
    if !checkpoint.context.plan.path.is_empty() {
        state.entry("plan_path").or_insert_with(|| json!(checkpoint.context.plan.path));
    }
    if !checkpoint.artifacts.is_empty() {
        let artifacts = checkpoint.artifacts.iter().map(|it| (format!("{}.{}", it.phase, it.name), json!(it.path)));
        state.entry("artifact_registry").or_insert_with(|| Value::Object(artifacts.collect()));
    }
    let history = replan_history(checkpoint);
    let counts = replan_counts(checkpoint, "phase_");
    let replans: u64 = counts.values().filter_map(Value::as_u64).sum();
    let reason = checkpoint.replans.history.iter().rev().find(|record| record.phase.is_some()).map(|it| &it.reason);
    let data = checkpoint.phases.iter().enumerate().map(|(place, phase)| {
        let number = number(&phase.id, place);
        (number.to_string(), record(checkpoint, phase))
    });
    let document = into_map(json!({
        "checkpoint_id": checkpoint.run,
        "workflow_type": checkpoint.kind,
        "project_name": checkpoint.project,
        "workflow_description": checkpoint.description.as_deref().unwrap_or(&checkpoint.context.plan.name),
        "created_at": checkpoint.run_created_at,
        "updated_at": checkpoint.updated_at,
        "status": status(checkpoint.status),
        "current_phase": at.current,
        "total_phases": checkpoint.phases_total,
        "completed_phases": at.completed,
        "phase_metadata": at.metadata,
        "workflow_state": state,
        "last_error": checkpoint.error.as_ref().map(|last| &last.error.message),
        "replanning_count": replans,
        "last_replan_reason": reason,
        "replan_phase_counts": counts,
        "replan_history": history,
        "phase_data": data.collect::<Map<_, _>>(),
    }));
    let mut document = upgraded(document).expect("it is of the oldest version, and has what that must have");
    if at.current.is_null() && checkpoint.status != RunStatus::Completed {
        // Nothing in hand is not all done.
        document["state_machine"]["current_state"] = Value::Null;
    }
    document
}

fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "completed",
        RunStatus::Failed => "failed",
        RunStatus::Running | RunStatus::Paused | RunStatus::Waiting | RunStatus::Interrupted | RunStatus::Archived => {
            "in_progress"
        }
    }
}

/// A phase as it stands, whatever that is.
fn record(checkpoint: &Checkpoint, phase: &PhaseRecord) -> Value {
    let needs: Vec<Value> = phase.needs.iter().map(|need| number_of(checkpoint, need)).collect();
    let mut record = json!({"status": phase.status, "needs": needs});
    let texts = [
        ("name", name_beside(phase)),
        ("note", phase.note.as_deref()),
        ("summary", phase.summary.as_deref()),
        ("commit_sha", phase.commit_sha.as_deref()),
        ("error", phase.error.as_deref()),
    ];
    for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text?))) {
        record[key] = json!(text);
    }
    for (key, time) in [("started_at", phase.started_at), ("completed_at", phase.ended_at)] {
        if let Some(time) = time {
            record[key] = json!(time);
        }
    }
    if let Some(ms) = phase.duration_ms {
        record["duration_minutes"] = minutes(ms);
    }
    if !phase.artifacts.is_empty() {
        record["artifacts"] = phase.artifacts.iter().map(|artifact| json!(artifact.path)).collect();
    }
    record
}
