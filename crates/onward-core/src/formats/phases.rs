//! Phases as files tell them, and how phases are numbered for files that count them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Number, Value};

use super::model::BadFile;
use crate::event::{ArtifactSeen, PhaseBack, PhaseError};
use crate::failure::FailureCode;
use crate::id::PhaseId;
use crate::plan::{Body, External, IfSilent, Need, Phase};
use crate::run::PhaseStatus;
use crate::view::PhaseRecord;

/// Phases of one file.
const PHASES_MAX: usize = 10_000;
const ID_CHARS_MAX: usize = 200;

/// A phase as a file tells it.
#[derive(Clone, Debug)]
pub(super) struct PhaseTold {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) needs: Vec<String>,
    pub(super) status: PhaseStatus,
    pub(super) started_at: Option<Timestamp>,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) duration_ms: Option<u64>,
    pub(super) note: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) commit_sha: Option<String>,
    pub(super) error: Option<String>,
    pub(super) artifacts: Vec<String>,
}

impl PhaseTold {
    pub(super) fn new(id: impl Into<String>, status: PhaseStatus) -> Self {
        Self {
            id: id.into(),
            name: None,
            needs: Vec::new(),
            status,
            started_at: None,
            ended_at: None,
            duration_ms: None,
            note: None,
            summary: None,
            commit_sha: None,
            error: None,
            artifacts: Vec::new(),
        }
    }
}

/// The phases of the plan and how each of them stands; refused where they are no graph.
pub(super) fn assembled(told: Vec<PhaseTold>) -> Result<(Vec<Phase>, Vec<PhaseBack>), BadFile> {
    let damaged = |why: String| Err(BadFile::Damaged(why));
    if told.len() > PHASES_MAX {
        return damaged(format!("it has {} phases, and {PHASES_MAX} are the most that are taken", told.len()));
    }
    let mut known = BTreeSet::new();
    for phase in &told {
        if phase.id.is_empty() || phase.id.chars().count() > ID_CHARS_MAX || phase.id.chars().any(char::is_control) {
            return damaged(format!("{:?} is no id of a phase", phase.id));
        }
        if !known.insert(phase.id.as_str()) {
            return damaged(format!("the phase `{}` stands in it twice", phase.id));
        }
    }
    for phase in &told {
        if let Some(need) = phase.needs.iter().find(|need| !known.contains(need.as_str())) {
            return damaged(format!("`dependencies` of `{}` name `{need}`, which is no phase of it", phase.id));
        }
    }
    if let Some(phase) = in_a_circle(&told) {
        return damaged(format!("`dependencies` of `{phase}` lead back to itself"));
    }
    Ok(told.into_iter().map(made).unzip())
}

/// A phase that waits for itself.
fn in_a_circle(told: &[PhaseTold]) -> Option<&str> {
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let mut needed_by: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for phase in told {
        let needs: BTreeSet<&String> = phase.needs.iter().collect();
        open.insert(phase.id.as_str(), needs.len());
        for need in needs {
            needed_by.entry(need.as_str()).or_default().push(phase.id.as_str());
        }
    }
    let mut free: Vec<&str> = open.iter().filter(|(_, left)| **left == 0).map(|(id, _)| *id).collect();
    while let Some(id) = free.pop() {
        open.remove(id);
        for after in needed_by.remove(id).into_iter().flatten() {
            if let Some(left) = open.get_mut(after) {
                *left -= 1;
                if *left == 0 {
                    free.push(after);
                }
            }
        }
    }
    open.into_keys().next()
}

fn made(told: PhaseTold) -> (Phase, PhaseBack) {
    let id = PhaseId::new(&told.id);
    let external = External { instructions: instructions(&told), heartbeat: None, if_silent: IfSilent::Wait };
    let mut phase = Phase::new(id.clone(), Body::External(external));
    phase.name.clone_from(&told.name);
    let mut seen = BTreeSet::new();
    let needs = told.needs.iter().filter(|need| seen.insert(need.as_str()));
    phase.needs = needs.map(|need| Need::new(PhaseId::new(need.as_str()))).collect();
    let artifact = |path: String| ArtifactSeen {
        name: path.clone(),
        path,
        bytes: 0,
        digest: String::new(),
        report: false,
        kept: false,
        kept_until: None,
        not_kept: None,
    };
    let back = PhaseBack {
        attempts: None,
        phase: id,
        status: told.status,
        in_doubt: false,
        started_at: told.started_at,
        ended_at: told.ended_at,
        duration_ms: told.duration_ms,
        note: told.note,
        summary: told.summary,
        outputs: BTreeMap::new(),
        commit_sha: told.commit_sha,
        error: told.error.map(|message| PhaseError { code: FailureCode::Reported, message }),
        adopted: None,
        artifacts: told.artifacts.into_iter().map(artifact).collect(),
        generation: None,
    };
    (phase, back)
}

fn instructions(told: &PhaseTold) -> String {
    told.name.clone().unwrap_or_else(|| format!("phase {}", told.id))
}

/// A sequence in which each phase needs the one before it.
pub(super) fn one_after_the_other(told: &mut [PhaseTold]) {
    for at in 1..told.len() {
        let before = told[at - 1].id.clone();
        told[at].needs = vec![before];
    }
}

/// The number of a phase: its id where that is one, else its place from 1.
pub(super) fn number(id: &PhaseId, place: usize) -> Number {
    as_number(id.as_str()).unwrap_or_else(|| Number::from(place + 1))
}

/// The number that an id is, to the letter.
pub(super) fn as_number(id: &str) -> Option<Number> {
    let plain = id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && id.len() <= 15;
    let number: Number = serde_json::from_str(id).ok().filter(|_| plain)?;
    (number.to_string() == id).then_some(number)
}

/// The id that a number of a file stands for.
pub(super) fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.strip_prefix("phase_").unwrap_or(text).to_owned()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The phase in hand: of those at work the one that began first, else one that was begun, else the next that can begin.
pub(super) fn current(phases: &[PhaseRecord]) -> Option<usize> {
    let finished = |status| matches!(status, PhaseStatus::Completed | PhaseStatus::Skipped);
    let with = |wanted: &dyn Fn(&PhaseRecord) -> bool| {
        let found = phases.iter().enumerate().filter(|(_, phase)| wanted(phase));
        found.min_by_key(|(at, phase)| (phase.started_at.is_none(), phase.started_at, *at)).map(|(at, _)| at)
    };
    let done: BTreeSet<&PhaseId> = phases.iter().filter(|p| finished(p.status)).map(|p| &p.id).collect();
    let ready = |phase: &PhaseRecord| {
        phase.status == PhaseStatus::Pending && phase.needs.iter().all(|need| done.contains(need))
    };
    let begun = |phase: &PhaseRecord| {
        matches!(phase.status, PhaseStatus::Failed | PhaseStatus::Interrupted | PhaseStatus::Waiting)
    };
    with(&|phase| phase.status == PhaseStatus::Running)
        .or_else(|| with(&begun))
        .or_else(|| phases.iter().position(ready))
        .or_else(|| phases.iter().position(|phase| !finished(phase.status)))
}

/// Minutes as a number: whole where they are.
pub(super) fn minutes(ms: u64) -> Value {
    const MINUTE_MS: u64 = 60_000;
    #[expect(clippy::cast_precision_loss, reason = "a duration of so many years is not exact to the millisecond")]
    let fraction = || Value::from(ms as f64 / MINUTE_MS as f64);
    if ms.is_multiple_of(MINUTE_MS) { Value::from(ms / MINUTE_MS) } else { fraction() }
}

/// The milliseconds of so many minutes.
pub(super) fn from_minutes(value: &Value) -> Option<u64> {
    let ms = (value.as_f64()? * 60_000.0).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within these bounds")]
    (0.0..=1e15).contains(&ms).then_some(ms as u64)
}
