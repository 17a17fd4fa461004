//! Whether a phase that says it is done is done: its artifacts are there, its checks pass, its effect can be seen.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::worktrees::works_apart;
use crate::event::{ArtifactSeen, PhaseError};
use crate::failure::FailureCode;
use crate::plan::Phase;

/// The findings at the end of an attempt that said it was done. Only proofs that the plan asks for are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub artifacts: Vec<ArtifactFound>,
    /// As far as they were run: the first that fails ends it.
    pub checks: Vec<CheckEnd>,
    /// None if the phase has no `done-when`.
    pub effect: Option<EffectFound>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactFound {
    pub name: String,
    /// With its expressions filled in.
    pub path: String,
    pub state: ArtifactState,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArtifactState {
    There {
        bytes: u64,
        digest: String,
        #[serde(default)]
        copy: ArtifactCopied,
    },
    Missing,
    /// It lies outside the project, by name or through a link, or cannot be read.
    Refused {
        why: String,
    },
}

/// Whether a copy of an artifact was put into the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArtifactCopied {
    /// The plan does not ask for one.
    #[default]
    NotWanted,
    /// Until this time, or as long as the run is kept.
    Kept {
        until: Option<Timestamp>,
    },
    Not {
        why: String,
    },
}

impl Proof {
    /// The artifacts that are there.
    pub fn left_behind(&self) -> Vec<ArtifactSeen> {
        let there = self.artifacts.iter().filter_map(|found| match &found.state {
            ArtifactState::There { bytes, digest, copy } => Some(ArtifactSeen {
                name: found.name.clone(),
                path: found.path.clone(),
                bytes: *bytes,
                digest: digest.clone(),
                report: false,
                kept: matches!(copy, ArtifactCopied::Kept { .. }),
                kept_until: if let ArtifactCopied::Kept { until } = copy { *until } else { None },
                not_kept: if let ArtifactCopied::Not { why } = copy { Some(why.clone()) } else { None },
            }),
            ArtifactState::Missing | ArtifactState::Refused { .. } => None,
        });
        there.collect()
    }
}

/// Whether a phase that says it is done has to prove it.
pub fn is_wanted(phase: &Phase) -> bool {
    !(phase.artifacts.is_empty() && phase.verify.is_empty() && phase.done_when.is_empty())
}

/// Whether such a phase is looked at at all: what works in a worktree of its own comes into the project only by that.
pub fn is_looked_at(phase: &Phase) -> bool {
    is_wanted(phase) || works_apart(phase)
}

/// How a command of `verify` ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckEnd {
    pub command: String,
    /// None if it did not end by itself.
    pub code: Option<i32>,
    /// The last line it printed.
    pub said: String,
}

/// The answer of `done-when`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EffectFound {
    There,
    Absent,
    CannotTell,
}

/// The judgement on an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    Done,
    NotDone(PhaseError),
    /// Only a person can tell.
    Unclear,
}

/// The answer of `done-when`, going by the exit codes of its commands; none for one that did not end by itself. One that says
/// no settles it; otherwise one that cannot tell does.
pub fn effect(codes: &[Option<i32>]) -> EffectFound {
    if codes.contains(&Some(1)) {
        EffectFound::Absent
    } else if codes.iter().all(|code| *code == Some(0)) {
        EffectFound::There
    } else {
        EffectFound::CannotTell
    }
}

/// Artifacts first, since they cost nothing to look at; then the checks; then the effect.
pub fn judge(phase: &Phase, proof: &Proof) -> Judgement {
    if let Some(fault) = missing(phase, &proof.artifacts) {
        return Judgement::NotDone(fault);
    }
    if let Some(failed) = proof.checks.iter().find(|check| check.code != Some(0)) {
        let end = failed.code.map_or("did not end by itself".to_owned(), |code| format!("ended with code {code}"));
        let said = if failed.said.is_empty() { String::new() } else { format!(": {}", failed.said) };
        return Judgement::NotDone(error(
            FailureCode::VerifyFailed,
            format!("its verify command `{}` {end}{said}", failed.command),
        ));
    }
    match (proof.effect, phase.done_when.is_empty()) {
        (None, true) | (Some(EffectFound::There), _) if is_whole(phase, proof) => Judgement::Done,
        (None, true) | (Some(EffectFound::There), _) => {
            let message = "not all that is to prove it was looked at; say once more that it is done".to_owned();
            Judgement::NotDone(error(FailureCode::NotLookedAt, message))
        }
        (Some(EffectFound::Absent), _) => {
            let message = "it says it is done, but its `done-when` sees no effect".to_owned();
            Judgement::NotDone(error(FailureCode::EffectMissing, message))
        }
        (Some(EffectFound::CannotTell), _) | (None, false) => Judgement::Unclear,
    }
}

/// Whether all that the plan asks for was looked at: what nobody has seen proves nothing.
fn is_whole(phase: &Phase, proof: &Proof) -> bool {
    let seen = |name: &str| proof.artifacts.iter().any(|found| found.name == name);
    proof.checks.len() >= phase.verify.len() && phase.artifacts.iter().all(|artifact| seen(&artifact.name))
}

fn missing(phase: &Phase, found: &[ArtifactFound]) -> Option<PhaseError> {
    // What the plan does not name was named by whoever claims to be done, and is to be there too.
    let optional = |name: &str| phase.artifacts.iter().any(|artifact| artifact.name == name && !artifact.required);
    let faults = found.iter().filter_map(|artifact| match &artifact.state {
        ArtifactState::There { .. } => None,
        ArtifactState::Missing if optional(&artifact.name) => None,
        ArtifactState::Missing => Some(format!("its artifact {} ({}) is not there", artifact.name, artifact.path)),
        // Refused even if it is not required: nobody may point it elsewhere.
        ArtifactState::Refused { why } => {
            Some(format!("its artifact {} ({}) is refused: {why}", artifact.name, artifact.path))
        }
    });
    let all: Vec<String> = faults.collect();
    if all.is_empty() { None } else { Some(error(FailureCode::ArtifactMissing, all.join("; "))) }
}

fn error(code: FailureCode, message: String) -> PhaseError {
    PhaseError { code, message }
}
