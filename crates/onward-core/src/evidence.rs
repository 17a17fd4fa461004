//! Evidence: the state of files and surroundings at a moment, kept so that a later start can tell what has changed
//! since.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::ArtifactSeen;
use crate::resume::Finding;

/// The files and definition that a phase was done with, and the files it left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The digest of the phase's definition; empty where it is not known.
    #[serde(default)]
    pub definition: String,
    /// The hash over what the commands of `fingerprint` print.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// The files of `reads`, as they were when the attempt began.
    #[serde(default)]
    pub reads: Option<Files>,
    /// The files of `writes`, as they were when the phase was done.
    #[serde(default)]
    pub writes: Option<Files>,
    /// Its artifacts as they lie there, where they were looked at; missing ones are left out.
    #[serde(default)]
    pub artifacts: Option<Vec<ArtifactSeen>>,
}

/// Files that some globs named, by their path from the top of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Files {
    pub files: BTreeMap<String, FileSeen>,
    /// There were more than are looked at.
    #[serde(default)]
    pub too_many: bool,
}

/// One file. Size, time and inode are a short cut only: where they are the same it is not read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSeen {
    /// The BLAKE3 hash of the content; empty where it could not be read.
    pub hash: String,
    pub size: u64,
    pub modified_ns: i64,
    pub inode: u64,
}

impl Files {
    /// Paths whose content is not the same, there and not there included.
    pub fn differences<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let hash = |files: &'a Self, path: &str| files.files.get(path).map(|file| file.hash.as_str());
        let paths: BTreeSet<&str> = self.files.keys().chain(other.files.keys()).map(String::as_str).collect();
        paths.into_iter().filter(|path| hash(self, path) != hash(other, path)).collect()
    }
}

/// The world around a run, as a driver saw it when it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorldSeen {
    #[serde(default)]
    pub branch: Option<String>,
    #[serde(default)]
    pub head: Option<String>,
    /// The commit of the base that the plan names.
    #[serde(default)]
    pub base: Option<String>,
    /// The commit of the branch that the plan names as the work's own.
    #[serde(default)]
    pub work_branch: Option<String>,
    /// Files with changes that are not committed, where the plan wants to know.
    #[serde(default)]
    pub dirty: Option<Vec<String>>,
    /// The answer of each probe.
    #[serde(default)]
    pub probes: BTreeMap<String, ProbeSeen>,
    #[serde(default)]
    pub issue: Option<IssueSeen>,
}

/// The surroundings that a run may have changed itself, as they were when an attempt ended: its branch, its issue with
/// the labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Around {
    /// None where HEAD is detached.
    pub branch: Option<String>,
    /// The commit of the branch that the plan names as the work's own.
    #[serde(default)]
    pub work_branch: Option<String>,
    /// None where there is none, or it was not looked at.
    #[serde(default)]
    pub issue: Option<IssueSeen>,
}

/// The answer of a probe: enough to see a change, and to tell a person what it was about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeSeen {
    /// None where it gave no answer.
    pub hash: Option<String>,
    /// The beginning of it, secrets cut out; or why there is none.
    pub excerpt: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueSeen {
    pub text: ProbeSeen,
    pub labels: Vec<String>,
    #[serde(default)]
    pub number: Option<String>,
    #[serde(default)]
    pub title: String,
    /// Its text up to a limit, secrets cut out.
    #[serde(default)]
    pub body: String,
    #[serde(default)]
    pub assignees: Vec<String>,
}

/// Whether something that the plan requires was there when it was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequirementSeen {
    /// The author's words for it, else the command; secrets cut out.
    pub name: String,
    pub met: bool,
    /// Why it is not met: the last line of the command, or how it ended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
}

/// The findings of the last start, with its time. Read-only verbs show these, because they execute no probes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastLook {
    pub at: Timestamp,
    pub world: WorldSeen,
    pub findings: Vec<Finding>,
}
