//! The table of what can be found before a run goes on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::PhaseId;

/// Something that was found, with its reason in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub kind: FindingKind,
    /// The phase that it is about, if it is about one.
    #[serde(default)]
    pub phase: Option<PhaseId>,
    pub message: String,
    /// More of it, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// Files that it is about, the first of them.
    #[serde(default)]
    pub files: Vec<FileChanged>,
    /// How many there are.
    #[serde(default)]
    pub files_total: usize,
}

/// A file that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChanged {
    pub path: String,
    /// None where nothing is there to compare with, or where it is not text.
    #[serde(default)]
    pub lines_added: Option<u64>,
    #[serde(default)]
    pub lines_removed: Option<u64>,
}

/// The kinds of findings. Each is a row of the table in [`FindingKind::row`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    WorktreeGone,
    BranchGone,
    WorldStops,
    RequirementUnmet,
    BranchUnknown,
    WorldAsks,
    WorldUnknown,
    PlanGone,
    PlanChanged,
    ApprovalTaken,
    Renamed,
    Stale,
    WorkChanged,
    InDoubt,
    Failed,
    AutoResumeDisabled,
    Old,
    ClockWentBack,
    OrphanInTheWay,
    WorldWarns,
    BranchElsewhere,
    HeadMoved,
    PlanTouched,
    StaleReruns,
    DependentsKept,
    OutputChanged,
    CheckpointDamaged,
    ArtifactRestored,
    Orphan,
    MarkerDiffers,
    FilesCameIn,
    WorktreeLeft,
}

/// How much a finding weighs while nothing answers it. The worst of all findings wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Worth a line.
    Note,
    Warn,
    Ask,
    Refuse,
}

/// The flag or answer that settles a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnsweredBy {
    /// `resume`, `--resume`, `--yes`, or Enter at the question.
    Resume,
    /// `--accept-stale`.
    AcceptStale,
    /// `--retry`, `--adopt` or `--skip` with the phase.
    Choice,
    /// `--plan-from run`: then there is no such finding any more.
    PlanFromRun,
    /// `--orphan wait|kill`.
    Orphan,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct FindingRow {
    /// The finding in words.
    pub what: &'static str,
    pub weight: Weight,
    /// Any of these is enough.
    pub answered_by: &'static [AnsweredBy],
}

impl FindingKind {
    pub const ALL: [Self; 32] = [
        Self::WorktreeGone,
        Self::BranchGone,
        Self::WorldStops,
        Self::RequirementUnmet,
        Self::BranchUnknown,
        Self::WorldAsks,
        Self::WorldUnknown,
        Self::PlanGone,
        Self::PlanChanged,
        Self::ApprovalTaken,
        Self::Renamed,
        Self::Stale,
        Self::WorkChanged,
        Self::MarkerDiffers,
        Self::InDoubt,
        Self::Failed,
        Self::AutoResumeDisabled,
        Self::Old,
        Self::ClockWentBack,
        Self::OrphanInTheWay,
        Self::WorldWarns,
        Self::BranchElsewhere,
        Self::HeadMoved,
        Self::PlanTouched,
        Self::StaleReruns,
        Self::DependentsKept,
        Self::OutputChanged,
        Self::CheckpointDamaged,
        Self::ArtifactRestored,
        Self::Orphan,
        Self::FilesCameIn,
        Self::WorktreeLeft,
    ];

    pub fn row(self) -> FindingRow {
        use AnsweredBy::{AcceptStale, Choice, Orphan, PlanFromRun, Resume};
        use Weight::{Ask, Note, Refuse, Warn};
        let row = |what, weight, answered_by| FindingRow { what, weight, answered_by };
        match self {
            Self::WorktreeGone => row("the working tree of a fork is gone", Refuse, &[]),
            Self::BranchGone => row("the branch of the run is gone", Refuse, &[]),
            Self::WorldStops => row("a probe with `if-changed: stop` sees a change", Refuse, &[]),
            Self::RequirementUnmet => row("a command of the plan's `requires` fails", Refuse, &[]),
            Self::BranchUnknown => row("git cannot say whether the branch exists", Ask, &[AcceptStale]),
            Self::WorldAsks => {
                row("a probe with `if-changed: ask` sees a change, or the issue's text", Ask, &[AcceptStale])
            }
            Self::WorldUnknown => row("a probe that worked before fails now", Ask, &[AcceptStale]),
            Self::PlanGone => row("the plan file is gone, or is no longer a plan", Ask, &[PlanFromRun]),
            Self::PlanChanged => row("the plan was edited, and the edit changes the work", Ask, &[Resume, PlanFromRun]),
            Self::ApprovalTaken => {
                row("an approval is gone or changed in the edited plan", Ask, &[AcceptStale, PlanFromRun])
            }
            Self::Renamed => {
                row("a phase that is done, or may be, seems to have another id now", Ask, &[AcceptStale, Choice])
            }
            Self::Stale => row(
                "a finished phase is stale: its definition or what it reads has changed",
                Ask,
                &[AcceptStale, Choice],
            ),
            Self::WorkChanged => {
                row("files of an interrupted phase were changed after it ended", Ask, &[AcceptStale, Choice])
            }
            Self::MarkerDiffers => {
                row("the marker of a phase in the plan file differs from the record", Ask, &[AcceptStale, Choice])
            }
            Self::InDoubt => row("it is not known whether an outward effect happened", Ask, &[Choice]),
            Self::Failed => row("a phase failed", Ask, &[Resume, Choice]),
            Self::AutoResumeDisabled => row("the configuration says `resume.auto: never`", Ask, &[Resume]),
            Self::Old => row("the last change of the run is older than `resume.max_age`", Ask, &[Resume]),
            Self::ClockWentBack => {
                row("the last change of the run lies in the future: the clock went back", Ask, &[Resume])
            }
            Self::OrphanInTheWay => {
                row("a phase that is to be abandoned or run again is still at work", Ask, &[Orphan])
            }
            Self::WorldWarns => {
                row("a probe with `if-changed: warn` or `rerun` sees a change, or the issue's labels", Warn, &[])
            }
            Self::BranchElsewhere => {
                row("the branch that is checked out is not the one that the run saw last", Warn, &[])
            }
            Self::HeadMoved => row("HEAD is not the commit that the run recorded last", Warn, &[]),
            Self::PlanTouched => row("the plan was edited, and the edit changes no work", Note, &[]),
            Self::StaleReruns => {
                row("a stale phase is run again, as its `effects`, its `on-change` or a probe says", Warn, &[])
            }
            Self::DependentsKept => row("phases that need a phase which is run again are kept as they are", Warn, &[]),
            Self::OutputChanged => row("files that a finished phase left were changed outside the run", Warn, &[]),
            Self::CheckpointDamaged => row("the latest checkpoint cannot be read; the journal can", Warn, &[]),
            Self::ArtifactRestored => {
                row("an artifact of a finished phase is gone, and is restored from its copy", Warn, &[])
            }
            Self::FilesCameIn => {
                row("files of an agent are in the project, and the edited plan has no agent there", Warn, &[])
            }
            Self::WorktreeLeft => {
                row("an agent's work lies in a worktree of which the edited plan takes nothing", Warn, &[])
            }
            Self::Orphan => row("a phase is still at work, and is waited for", Note, &[]),
        }
    }

    /// As it stands in JSON.
    pub fn as_str(self) -> String {
        let name = serde_json::to_value(self).expect("a plain name");
        name.as_str().unwrap_or_default().to_owned()
    }
}

impl Finding {
    pub fn new(kind: FindingKind, message: impl Into<String>) -> Self {
        let (details, files) = (Vec::new(), Vec::new());
        Self { kind, phase: None, message: message.into(), details, files, files_total: 0 }
    }

    /// The finding as lines for people; what is more of it is indented.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let details = self.details.iter().map(|detail| format!("  {detail}"));
        std::iter::once(self.message.clone()).chain(details)
    }

    pub fn about(kind: FindingKind, phase: &PhaseId, message: impl Into<String>) -> Self {
        Self { phase: Some(phase.clone()), ..Self::new(kind, message) }
    }
}
