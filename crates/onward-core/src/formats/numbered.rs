//! Forms that count their phases: which phases a file has, and the record of each.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::model::BadFile;
use super::phases::{PhaseTold, as_number, current, from_minutes, id_of, minutes, number, one_after_the_other};
use crate::checkpoint::Checkpoint;
use crate::id::PhaseId;
use crate::replan::RevisionRecord;
use crate::run::PhaseStatus;
use crate::view::PhaseRecord;

/// So many phases a count may name.
const COUNT_MAX: u64 = 10_000;
/// The times in the record of a phase.
const TIMES: [&str; 3] = ["timestamp", "started_at", "completed_at"];

/// The phases of a document that counts them, each after the one before it, and what is odd about them.
pub(super) fn told(top: Fields<'_>, total: Option<&Value>) -> Result<(Vec<PhaseTold>, Vec<String>), BadFile> {
    let damaged = |why: String| BadFile::Damaged(why);
    let mut warnings = Vec::new();
    let total = counted(total, &mut warnings)?;
    let completed: Vec<String> = top
        .list("completed_phases")?
        .iter()
        .map(|value| {
            id_of(value).ok_or_else(|| damaged(format!("`completed_phases` holds {value}, which is no phase")))
        })
        .collect::<Result<_, _>>()?;
    let current = match top.get("current_phase") {
        None => None,
        Some(value) => {
            Some(id_of(value).ok_or_else(|| damaged(format!("`current_phase` is {value}, which is no phase")))?)
        }
    };
    let records: BTreeMap<String, Fields<'_>> = ["phase_metadata", "phase_data"]
        .into_iter()
        .filter_map(|key| top.maybe_object(key))
        .flat_map(|all| all.entries().filter_map(move |(key, _)| Some((key.clone(), all.maybe_object(key)?))))
        .collect();
    let numbered = |id: &String| as_number(id).is_some();
    let mut ids: Vec<String> = Vec::new();
    if let Some(total) = total {
        // Ids that are no numbers take the places of theirs.
        let names = completed.iter().chain(&current).filter(|id| !numbered(id)).count() as u64;
        ids.extend((1..=total.saturating_sub(names)).map(|number| number.to_string()));
    }
    let beyond = |id: &String| total.is_some() && as_number(id).and_then(|n| n.as_u64()) > total;
    if let Some(odd) = current.as_ref().filter(|id| beyond(id)) {
        warnings.push(format!("`current_phase` is {odd}, and there are {} phases", total.unwrap_or_default()));
    }
    let named = records.keys().filter(|key| numbered(key));
    let named = completed.iter().chain(current.as_ref().filter(|id| !beyond(id))).chain(named);
    for id in named {
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
    let order = |id: &String| as_number(id).and_then(|number| number.as_f64()).unwrap_or(f64::MAX);
    ids.sort_by(|a, b| order(a).total_cmp(&order(b)));
    let mut all: Vec<PhaseTold> = ids.iter().map(|id| one(id, &completed, current.as_ref(), records.get(id))).collect();
    one_after_the_other(&mut all);
    for phase in &mut all {
        let Some(record) = records.get(&phase.id) else { continue };
        if record.get("needs").is_some() {
            let known = |need: &String| ids.contains(need);
            let needs = record.get("needs").and_then(Value::as_array).into_iter().flatten().filter_map(id_of);
            phase.needs = needs.filter(known).collect();
        }
        let odd = TIMES.into_iter().filter_map(|key| record.odd_time(key));
        warnings.extend(odd.map(|odd| format!("phase {}: {odd}", phase.id)));
    }
    for entry in top.maybe_objects("replan_history") {
        let phase = entry.get("phase").and_then(id_of).unwrap_or_default();
        warnings.extend(entry.odd_time("timestamp").map(|odd| format!("phase {phase}: the replan's {odd}")));
    }
    Ok((all, warnings))
}

/// So many phases there are, as far as that is told. With fewer of them than there are the last one known would end the work.
fn counted(total: Option<&Value>, warnings: &mut Vec<String>) -> Result<Option<u64>, BadFile> {
    let Some(told) = total else { return Ok(None) };
    let count = id_of(told).and_then(|text| as_number(&text)).and_then(|count| count.as_u64());
    match count {
        Some(count) if count > COUNT_MAX => {
            Err(BadFile::Damaged(format!("it has {count} phases, and {COUNT_MAX} are the most that are taken")))
        }
        Some(count) => Ok(Some(count)),
        None => {
            warnings.push(format!("the number of phases is {told}, which is no number of phases"));
            Ok(None)
        }
    }
}

fn one(id: &str, completed: &[String], current: Option<&String>, record: Option<&Fields<'_>>) -> PhaseTold {
    let word = record.and_then(|record| record.maybe_text("status"));
    let done = completed.iter().any(|one| one == id);
    let status = match word {
        Some("skipped") => PhaseStatus::Skipped,
        _ if done => PhaseStatus::Completed,
        Some("failed") => PhaseStatus::Failed,
        Some("running" | "in_progress" | "interrupted") => PhaseStatus::Interrupted,
        // What is in hand may have been begun; whatever is recorded of it says so.
        _ if current.is_some_and(|current| current == id)
            && record.is_some_and(|it| it.get("started_at").is_some()) =>
        {
            PhaseStatus::Interrupted
        }
        Some(_) | None => PhaseStatus::Pending,
    };
    let mut told = PhaseTold::new(id, status);
    let Some(record) = record else { return told };
    told.name = record.maybe_text("name").map(str::to_owned);
    told.started_at = record.maybe_time("started_at");
    told.ended_at = record.maybe_time("timestamp").or_else(|| record.maybe_time("completed_at"));
    told.duration_ms = record.get("duration_minutes").and_then(from_minutes);
    told.summary = record.maybe_text("summary").map(str::to_owned);
    told.note = record.maybe_text("note").map(str::to_owned);
    told.commit_sha = record.maybe_text("commit_sha").map(str::to_owned);
    told.artifacts = record.maybe_texts("artifacts");
    if told.status == PhaseStatus::Failed {
        let why = record.maybe_text("error").or_else(|| record.maybe_text("error_message"));
        told.error = Some(why.unwrap_or("it failed").to_owned());
    }
    told
}

/// The position of a checkpoint in numbers.
pub(super) struct Position {
    pub(super) current: Value,
    pub(super) completed: Vec<Value>,
    /// By number, as text: the records of finished phases.
    pub(super) metadata: Map<String, Value>,
}

pub(super) fn position(checkpoint: &Checkpoint) -> Position {
    let phases = &checkpoint.phases;
    let numbered = |at: usize| number(&phases[at].id, at);
    let finished = phases.iter().enumerate().filter(|(_, phase)| is_finished(phase.status));
    let metadata = finished.clone().map(|(at, phase)| (numbered(at).to_string(), record(checkpoint, phase)));
    Position {
        current: current(phases).map_or(Value::Null, |at| Value::Number(numbered(at))),
        completed: finished.clone().map(|(at, _)| Value::Number(numbered(at))).collect(),
        metadata: metadata.collect(),
    }
}

/// The fields at the top of a file that counts phases; none of a run that has no phases.
pub(crate) fn counted_fields(checkpoint: &Checkpoint) -> Map<String, Value> {
    if checkpoint.phases.is_empty() {
        return Map::new();
    }
    let at = position(checkpoint);
    let fields = [
        ("workflow_description", json!(checkpoint.description)),
        ("current_phase", at.current),
        ("total_phases", json!(checkpoint.phases_total)),
        ("completed_phases", json!(at.completed)),
        ("last_error", json!(checkpoint.error.as_ref().map(|last| &last.error.message))),
    ];
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

pub(super) fn is_finished(status: PhaseStatus) -> bool {
    matches!(status, PhaseStatus::Completed | PhaseStatus::Skipped)
}

/// The record of a finished phase.
fn record(checkpoint: &Checkpoint, phase: &PhaseRecord) -> Value {
    let artifacts: Vec<&String> = phase.artifacts.iter().map(|artifact| &artifact.path).collect();
    let mut record = json!({
        "status": phase.status,
        "artifacts": artifacts,
        "duration_minutes": phase.duration_ms.map_or(json!(0), minutes),
        "timestamp": phase.ended_at.unwrap_or(checkpoint.run_created_at),
    });
    if let Some(name) = name_beside(phase) {
        record["name"] = json!(name);
    }
    let more = [("summary", &phase.summary), ("note", &phase.note), ("commit_sha", &phase.commit_sha)];
    for (key, value) in more.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
        record[key] = json!(value);
    }
    if let Some(started_at) = phase.started_at {
        record["started_at"] = json!(started_at);
    }
    record
}

/// The name that goes beside a number: the id, where that is none.
pub(super) fn name_beside(phase: &PhaseRecord) -> Option<&str> {
    let is_number = as_number(phase.id.as_str()).is_some();
    let name = if is_number { phase.name.as_str() } else { phase.id.as_str() };
    (name != phase.id.as_str() || !is_number).then_some(name)
}

/// The number of a phase that may no longer be there.
pub(super) fn number_of(checkpoint: &Checkpoint, id: &PhaseId) -> Value {
    let place = checkpoint.phases.iter().position(|phase| phase.id == *id);
    match (as_number(id.as_str()), place) {
        (Some(number), _) => Value::Number(number),
        (None, Some(place)) => Value::from(place + 1),
        (None, None) => json!(id),
    }
}

/// Revisions by the phase that asked for them, by number.
pub(super) fn replan_counts(checkpoint: &Checkpoint, prefix: &str) -> Map<String, Value> {
    let counts = checkpoint.replans.counts.iter().map(|(id, count)| {
        let number = number_of(checkpoint, &PhaseId::new(id.as_str()));
        let key = number.as_str().map_or_else(|| number.to_string(), str::to_owned);
        (format!("{prefix}{key}"), json!(count))
    });
    counts.collect()
}

pub(super) fn replan_history(checkpoint: &Checkpoint) -> Vec<Value> {
    let asked = checkpoint.replans.history.iter().filter_map(|record| Some((record, record.phase.as_ref()?)));
    let entry = |(record, phase): (&RevisionRecord, &PhaseId)| json!({"phase": number_of(checkpoint, phase), "reason": record.reason, "timestamp": record.at});
    asked.map(entry).collect()
}

/// The revisions that a file tells of: one record for each that it describes, and how many more it counts.
pub(super) fn revisions(
    top: Fields<'_>,
    counts: &'static str,
    fallback: Timestamp,
) -> (Vec<RevisionRecord>, BTreeMap<String, u32>) {
    let history: Vec<RevisionRecord> = top
        .maybe_objects("replan_history")
        .into_iter()
        .filter_map(|entry| Some((id_of(entry.get("phase")?)?, entry)))
        .zip(1..)
        .map(|((phase, entry), revision)| RevisionRecord {
            revision,
            at: entry.maybe_time("timestamp").unwrap_or(fallback),
            phase: Some(PhaseId::new(phase)),
            reason: entry.maybe_text("reason").unwrap_or_default().to_owned(),
            kind: None,
            plan_digest: String::new(),
            added: Vec::new(),
            removed: Vec::new(),
            changed: Vec::new(),
        })
        .collect();
    let counted = top.maybe_object(counts).into_iter().flat_map(Fields::entries);
    let earlier = counted.filter_map(|(key, count)| {
        let id = key.strip_prefix("phase_").unwrap_or(key);
        let told = history.iter().filter(|record| record.phase.as_ref().is_some_and(|phase| phase.as_str() == id));
        let more = u32::try_from(count.as_u64()?).ok()?.checked_sub(u32::try_from(told.count()).ok()?)?;
        (more > 0).then(|| (id.to_owned(), more))
    });
    let earlier = earlier.collect();
    (history, earlier)
}
