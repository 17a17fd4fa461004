//! Reads a file of another tool into our model of a run.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::model::{BadFile, TakenRun};
use super::{checkpoint_form, crunch, pipeline_state, workflow};
use crate::checkpoint::{FileFormat, ImportedDocument, Sections, Trigger};
use crate::data_limits;
use crate::document::tree::TEXT_BYTES_MAX;
use crate::event::{PhaseBack, RunImported, RunResult};
use crate::evidence::WorldSeen;
use crate::id::{CheckpointId, PhaseId, RunId};
use crate::input::ImportStep;
use crate::plan::{Issue, Phase, Plan};
use crate::replan::RevisionRecord;

/// The longest file of another tool that is read.
pub const FILE_BYTES_MAX: usize = 16 << 20;

/// The document of a file, JSON or YAML.
pub fn document(bytes: &[u8]) -> Result<Map<String, Value>, BadFile> {
    let damaged = |why: String| BadFile::Damaged(why);
    if bytes.len() > FILE_BYTES_MAX {
        return Err(damaged(format!("it has more than {FILE_BYTES_MAX} bytes, the most that are read")));
    }
    let text = std::str::from_utf8(bytes).map_err(|why| damaged(format!("it is no text: {why}")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let inner = text.trim();
    if inner.is_empty() {
        return Err(damaged("it is empty".to_owned()));
    }
    if inner.contains('\0') {
        return Err(damaged("it is no text: it holds the character NUL".to_owned()));
    }
    if inner.starts_with(['{', '[']) {
        return data_limits::read_object(text.as_bytes()).map_err(|why| damaged(why.to_string()));
    }
    if text.len() > TEXT_BYTES_MAX {
        return Err(damaged(format!(
            "it has {} bytes, and {TEXT_BYTES_MAX} of YAML are the most that are read",
            text.len()
        )));
    }
    let object = super::yaml::from_yaml(text).map_err(damaged)?;
    data_limits::object_fits(&object).map_err(|why| damaged(why.to_string()))?;
    Ok(object)
}

/// The format that a document is in, by the members that only that has.
pub fn recognise(document: &Map<String, Value>) -> Option<FileFormat> {
    let has = |key: &str| document.contains_key(key);
    let is_crunch_id = document.get("checkpoint_id").and_then(Value::as_str).is_some_and(|id| id.starts_with("CP-"));
    if has("recovery_info") || has("execution_graph") || has("acp_state") || is_crunch_id {
        Some(FileFormat::Crunch)
    } else if has("workflow_id") || (has("plan_path") && has("completed_phases")) {
        Some(FileFormat::Workflow)
    } else if has("remaining_phases") || has("context_summary") {
        Some(FileFormat::PipelineState)
    } else if has("checkpoint_id") || has("workflow_type") || has("workflow_state") {
        Some(FileFormat::Checkpoint)
    } else if has("completed_phases") && has("current_phase") {
        Some(FileFormat::PipelineState)
    } else {
        None
    }
}

/// Whether this is the index of a folder of checkpoints, which holds no run itself.
pub fn is_index(document: &Map<String, Value>) -> bool {
    document.contains_key("total_checkpoints") && document.contains_key("checkpoints")
}

/// The run that a document holds. `fallback` is the time that counts where the document tells none.
pub fn read(document: Map<String, Value>, file: &str, fallback: Timestamp) -> Result<TakenRun, BadFile> {
    match recognise(&document) {
        Some(FileFormat::Workflow) => workflow::read(document, file, fallback),
        Some(FileFormat::Checkpoint) => checkpoint_form::read(document, file, fallback),
        Some(FileFormat::PipelineState) => pipeline_state::read(document, file, fallback),
        Some(FileFormat::Crunch) => crunch::read(document, file),
        None if document.contains_key("phases") => Err(BadFile::Damaged(
            "it is a plan, and no record of work that was begun: onward run PLAN begins with it".to_owned(),
        )),
        None => Err(BadFile::Damaged(
            "it is in none of the formats that are read: workflow, checkpoint, pipeline-state, crunch".to_owned(),
        )),
    }
}

/// Everything that was read of one file.
pub(super) struct ReadFile<'a> {
    pub(super) format: FileFormat,
    pub(super) run: Option<RunId>,
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) kind: String,
    pub(super) project: Option<String>,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) phases: Vec<Phase>,
    pub(super) standing: Vec<PhaseBack>,
    pub(super) plan_path: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) issue: Option<Issue>,
    pub(super) world: Option<WorldSeen>,
    pub(super) sections: Sections,
    pub(super) revisions: Vec<RevisionRecord>,
    pub(super) result: Option<RunResult>,
    pub(super) warnings: Vec<String>,
    pub(super) state: Option<Map<String, Value>>,
    pub(super) checkpoint: Option<CheckpointId>,
    pub(super) triggers: Vec<Trigger>,
    pub(super) phase: Option<PhaseId>,
    pub(super) document: Map<String, Value>,
    pub(super) file: &'a str,
}

impl<'a> ReadFile<'a> {
    /// A run of which nothing is told but its title, its type and when it began.
    pub(super) fn new(
        format: FileFormat,
        (kind, title): (String, String),
        created_at: Timestamp,
        file: &'a str,
    ) -> Self {
        Self {
            format,
            run: None,
            name: None,
            version: None,
            kind,
            project: None,
            title,
            description: None,
            created_at,
            updated_at: created_at,
            phases: Vec::new(),
            standing: Vec::new(),
            plan_path: None,
            branch: None,
            issue: None,
            world: None,
            sections: Sections::default(),
            revisions: Vec::new(),
            result: None,
            warnings: Vec::new(),
            state: None,
            checkpoint: None,
            triggers: Vec::new(),
            phase: None,
            document: Map::new(),
            file,
        }
    }
}

pub(super) fn taken(read: ReadFile<'_>) -> TakenRun {
    let mut plan = Plan::new(read.title.clone(), read.kind.clone());
    (plan.phases, plan.description, plan.issue) = (read.phases, read.description, read.issue);
    let mut sections = read.sections;
    let (format, name, version) = (read.format, read.name, read.version);
    sections.imported = Some(ImportedDocument { format, name, version, document: read.document });
    sections.recovery.warnings.extend(read.warnings);
    let triggers = if read.triggers.is_empty() { vec![Trigger::Manual] } else { read.triggers };
    TakenRun {
        format,
        run: read.run,
        kind: read.kind,
        project: read.project,
        title: read.title,
        created_at: read.created_at,
        updated_at: read.updated_at,
        plan,
        plan_path: read.plan_path,
        branch: read.branch,
        step: ImportStep {
            imported: RunImported {
                file: read.file.to_owned(),
                phases: read.standing,
                revisions: read.revisions,
                sections,
                triggers: Vec::new(),
                world: read.world.map(Box::new),
                result: read.result,
            },
            state: read.state,
            checkpoint: read.checkpoint,
            triggers,
            phase: read.phase,
        },
    }
}
