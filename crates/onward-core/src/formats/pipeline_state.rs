//! `pipeline-state.json`: what is done, what is in hand, what remains.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::model::{BadFile, TakenRun};
use super::numbered::is_finished;
use super::phases::{PhaseTold, assembled, current};
use super::read::{ReadFile, taken};
use super::workflow::into_map;
use crate::checkpoint::{Checkpoint, FileFormat, KeyDecision, Sections, ToldContext};
use crate::event::RunResult;
use crate::evidence::WorldSeen;
use crate::run::PhaseStatus;
use crate::view::PhaseRecord;

const KIND: &str = "pipeline";

pub(super) fn read(document: Map<String, Value>, file: &str, fallback: Timestamp) -> Result<TakenRun, BadFile> {
    let top = Fields::new(&document);
    let mut warnings = Vec::new();
    let (began, changed) = (top.run_time("created_at", &mut warnings)?, top.run_time("updated_at", &mut warnings)?);
    let created_at = began.or(changed).unwrap_or(fallback);
    let updated_at = changed.unwrap_or(created_at);
    let (mut phases, odd) = completed(top)?;
    warnings.extend(odd);
    let done: Vec<String> = phases.iter().map(|phase| phase.id.clone()).collect();
    let in_hand = top.nullable("current_phase")?.is_some().then(|| top.object("current_phase")).transpose()?;
    if let Some(entry) = &in_hand {
        let mut told = PhaseTold::new(entry.text("id")?, PhaseStatus::Interrupted);
        told.name = Some(entry.text("name")?.to_owned());
        told.note = entry.maybe_text("progress_description").filter(|note| !note.is_empty()).map(str::to_owned);
        told.needs = done;
        phases.push(told);
    }
    let remaining = top.objects("remaining_phases")?;
    for entry in &remaining {
        let mut told = PhaseTold::new(entry.text("id")?, PhaseStatus::Pending);
        told.name = Some(entry.text("name")?.to_owned());
        let needs = entry.list("dependencies")?.iter();
        let needs: Option<Vec<String>> = needs.map(|need| need.as_str().map(str::to_owned)).collect();
        told.needs = needs.ok_or_else(|| BadFile::Damaged(format!("`dependencies` of `{}` are no ids", told.id)))?;
        phases.push(told);
    }
    let context = top.object("context_summary")?;
    let decisions = context.maybe_texts("key_decisions");
    let branch = context.maybe_text("branch").filter(|branch| !branch.is_empty()).map(str::to_owned);
    let sections = Sections {
        decisions: decisions.into_iter().map(|text| KeyDecision { text, at: None, by: None }).collect(),
        context: ToldContext { files: context.maybe_texts("file_paths"), ..ToldContext::default() },
        ..Sections::default()
    };
    let result = (in_hand.is_none() && remaining.is_empty()).then_some(RunResult::Completed);
    let title = phases.first().and_then(|phase| phase.name.clone()).unwrap_or_else(|| KIND.to_owned());
    let (plan, standing) = assembled(phases)?;
    let world = branch.clone().map(|branch| WorldSeen { branch: Some(branch), ..WorldSeen::default() });
    Ok(taken(ReadFile {
        updated_at: updated_at.max(created_at),
        phases: plan,
        standing,
        branch,
        world,
        sections,
        result,
        warnings,
        document,
        ..ReadFile::new(FileFormat::PipelineState, (KIND.to_owned(), title), created_at, file)
    }))
}

fn completed(top: Fields<'_>) -> Result<(Vec<PhaseTold>, Vec<String>), BadFile> {
    let (mut phases, mut warnings) = (Vec::new(), Vec::new());
    for entry in top.objects("completed_phases")? {
        let mut told = PhaseTold::new(entry.text("id")?, PhaseStatus::Completed);
        told.name = Some(entry.text("name")?.to_owned());
        entry.value("timestamp")?;
        told.ended_at = entry.maybe_time("timestamp");
        warnings.extend(entry.odd_time("timestamp").map(|odd| format!("phase {}: {odd}", told.id)));
        told.commit_sha = entry.maybe_text("commit_sha").map(str::to_owned);
        phases.push(told);
    }
    Ok((phases, warnings))
}

pub(super) fn write(checkpoint: &Checkpoint) -> Map<String, Value> {
    let phases = &checkpoint.phases;
    let in_hand = current(phases);
    let completed = phases.iter().filter(|phase| is_finished(phase.status)).map(|phase| done(checkpoint, phase));
    let remaining = phases.iter().enumerate().filter(|(at, phase)| !is_finished(phase.status) && Some(*at) != in_hand);
    let remaining =
        remaining.map(|(_, phase)| json!({"id": phase.id, "name": phase.name, "dependencies": phase.needs}));
    let in_hand = in_hand.map(|at| &phases[at]).map(|phase| {
        json!({"id": phase.id, "name": phase.name, "progress_description": phase.note.as_deref().unwrap_or_default()})
    });
    let context = &checkpoint.context;
    let decisions: Vec<&String> = context.decisions.iter().map(|decision| &decision.text).collect();
    into_map(json!({
        "completed_phases": completed.collect::<Vec<_>>(),
        "current_phase": in_hand,
        "remaining_phases": remaining.collect::<Vec<_>>(),
        "context_summary": {
            "branch": context.branch.as_deref().unwrap_or_default(),
            "key_decisions": decisions,
            "file_paths": context.files,
        },
        "created_at": checkpoint.run_created_at,
        "updated_at": checkpoint.updated_at,
    }))
}

fn done(checkpoint: &Checkpoint, phase: &PhaseRecord) -> Value {
    let ended_at = phase.ended_at.unwrap_or(checkpoint.run_created_at);
    let mut entry = json!({"id": phase.id, "name": phase.name, "timestamp": ended_at});
    let is_sha = |sha: &&String| (7..=40).contains(&sha.len()) && sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(sha) = phase.commit_sha.as_ref().filter(is_sha) {
        entry["commit_sha"] = json!(sha.to_ascii_lowercase());
    }
    entry
}

/// Members that the format knows: any other goes with its phase, from list to list.
const KNOWN: [&str; 6] = ["id", "name", "timestamp", "commit_sha", "dependencies", "progress_description"];

/// Puts what a file says of a phase beyond what is known to where that phase stands now.
pub(super) fn carry(document: &mut Map<String, Value>, imported: &Map<String, Value>) {
    let listed = |from: &Map<String, Value>| -> Vec<Value> {
        let lists = ["completed_phases", "remaining_phases"].into_iter();
        let listed = lists.filter_map(|key| from.get(key)?.as_array().cloned()).flatten();
        listed.chain(from.get("current_phase").cloned()).collect()
    };
    let before = listed(imported);
    let fill = |entry: &mut Value| {
        let Some(entry) = entry.as_object_mut() else { return };
        let same = before.iter().filter_map(Value::as_object).find(|old| old.get("id") == entry.get("id"));
        for (key, value) in same.into_iter().flatten().filter(|(key, _)| !KNOWN.contains(&key.as_str())) {
            entry.entry(key.clone()).or_insert_with(|| value.clone());
        }
    };
    for key in ["completed_phases", "remaining_phases"] {
        document.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().for_each(fill);
    }
    if let Some(entry) = document.get_mut("current_phase") {
        fill(entry);
    }
}

/// The state of a pipeline that has not begun.
pub(super) fn skeleton(branch: &str, now: Timestamp) -> Map<String, Value> {
    into_map(json!({
        "completed_phases": [],
        "current_phase": null,
        "remaining_phases": [],
        "context_summary": {"branch": branch, "key_decisions": [], "file_paths": []},
        "created_at": now,
        "updated_at": now,
    }))
}
