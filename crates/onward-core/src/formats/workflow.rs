//! `{workflow_id}.json`: a plan with numbered phases, their records, and where its files lie.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::model::{BadFile, TakenRun};
use super::numbered::{position, replan_counts, replan_history, revisions, told};
use super::phases::assembled;
use super::read::{ReadFile, taken};
use crate::checkpoint::{Checkpoint, FileFormat, Sections, ToldContext};
use crate::event::RunResult;
use crate::run::PhaseStatus;

/// The type of a run whose file is named by the md5 sum of its plan's path.
const NAMELESS: &str = "workflow";

pub(super) fn read(document: Map<String, Value>, file: &str, fallback: Timestamp) -> Result<TakenRun, BadFile> {
    let top = Fields::new(&document);
    let name = top.text("workflow_id")?.to_owned();
    let plan_path = top.text("plan_path")?.to_owned();
    top.nullable("current_phase")?;
    let context = top.maybe_object("context_metadata");
    let metadata = context.as_ref().and_then(|context| context.get("plan_metadata"));
    let total = metadata.and_then(|metadata| metadata.get("phases"));
    let (phases, warnings) = told(top, total)?;
    let ended = top.get("current_phase").is_none();
    let failed = phases.iter().any(|phase| phase.status == PhaseStatus::Failed);
    let times = phases
        .iter()
        .filter_map(|phase| phase.ended_at)
        .chain(top.maybe_objects("replan_history").into_iter().filter_map(|entry| entry.maybe_time("timestamp")));
    let times: Vec<Timestamp> = times.collect();
    let created_at = top.maybe_time("created_at").or_else(|| times.iter().min().copied()).unwrap_or(fallback);
    let updated_at = top.maybe_time("updated_at").or_else(|| times.iter().max().copied()).unwrap_or(created_at);
    let (kind, project) = named(&name, &plan_path);
    let (history, earlier) = revisions(top, "replan_count", updated_at);
    let title = metadata.and_then(|metadata| metadata.get("title")).and_then(Value::as_str);
    let sections = Sections {
        context: ToldContext {
            research_reports: context.as_ref().map(|it| it.maybe_texts("research_reports")).unwrap_or_default(),
            plan: metadata.cloned(),
            ..ToldContext::default()
        },
        artifact_paths: texts(top, "artifact_paths"),
        earlier_revisions: earlier,
        ..Sections::default()
    };
    let (plan, standing) = assembled(phases)?;
    let result = match (ended, failed) {
        (true, _) => Some(RunResult::Completed),
        (false, true) => Some(RunResult::Failed),
        (false, false) => None,
    };
    let title = title.unwrap_or(&name).to_owned();
    Ok(taken(ReadFile {
        name: Some(name),
        project: Some(project),
        updated_at: updated_at.max(created_at),
        phases: plan,
        standing,
        plan_path: Some(plan_path),
        sections,
        revisions: history,
        result,
        warnings,
        document,
        ..ReadFile::new(FileFormat::Workflow, (kind, title), created_at, file)
    }))
}

/// The members of an object that are texts.
pub(super) fn texts(top: Fields<'_>, key: &'static str) -> BTreeMap<String, String> {
    let entries = top.maybe_object(key).into_iter().flat_map(Fields::entries);
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// Type and project, as the name has them.
fn named(name: &str, plan_path: &str) -> (String, String) {
    let is_a_sum = name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let file = plan_path.rsplit('/').next().unwrap_or(plan_path);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned();
    match name.split_once('_') {
        _ if is_a_sum => (NAMELESS.to_owned(), stem),
        Some((kind, project)) if !kind.is_empty() && !project.is_empty() => (kind.to_owned(), project.to_owned()),
        Some(_) | None => (NAMELESS.to_owned(), name.to_owned()),
    }
}

pub(super) fn write(checkpoint: &Checkpoint) -> Map<String, Value> {
    let at = position(checkpoint);
    let name = checkpoint.imported.as_ref().filter(|imported| imported.format == FileFormat::Workflow);
    let name = name.and_then(|imported| imported.name.as_deref()).unwrap_or(checkpoint.run.as_str());
    let context = &checkpoint.context;
    let metadata = context.plan_metadata.clone();
    let metadata = metadata.unwrap_or_else(
        || json!({"title": context.plan.name, "phases": checkpoint.phases_total, "digest": context.plan.digest}),
    );
    let document = json!({
        "workflow_id": name,
        "plan_path": if context.plan.path.is_empty() { checkpoint.run.as_str() } else { &context.plan.path },
        "current_phase": at.current,
        "completed_phases": at.completed,
        "phase_metadata": at.metadata,
        "replan_history": replan_history(checkpoint),
        "replan_count": replan_counts(checkpoint, ""),
        "artifact_paths": checkpoint.artifact_paths,
        "context_metadata": {
            "research_reports": context.research_reports,
            "plan_metadata": metadata,
        },
        "created_at": checkpoint.run_created_at,
        "updated_at": checkpoint.updated_at,
    });
    into_map(document)
}

pub(super) fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
