//! The sections of a run: messages, knowledge, decisions, the issue, changed files, and all else that a checkpoint holds beside
//! the phases and the free-form state.
//!
//! A change goes through one of the three functions at the end, which note it for the next checkpoint.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::derived_state::batch_number;
use super::external_phases::ExternalState;
use super::state::{PhaseStatus, Run};
use super::vcs::put_in_place;
use crate::checkpoint::{FileModified, IssueSnapshot, Sections};
use crate::event::{RunImported, RunStarted, StopReason};
use crate::evidence::{IssueSeen, LastLook};
use crate::patch::{self, Op};

/// Files of the context beyond this are not listed one by one.
const CONTEXT_FILES_MAX: usize = 1_000;

impl Run {
    pub fn sections(&self) -> &Sections {
        &self.sections
    }

    /// The last trouble with a mirror.
    pub fn mirror_trouble(&self, path: &str) -> Option<&str> {
        self.mirror_troubles.get(path).map(String::as_str)
    }

    /// Lines about mirrors and about what a file told when the run was taken over from it.
    pub fn told_warnings(&self) -> Vec<String> {
        let mirrors = self.mirror_troubles.iter().map(|(path, what)| format!("the mirror {path} {what}"));
        let labels = self.labels.trouble.iter().map(|why| format!("the issue's labels are not set: {why}"));
        let unmet = self.unmet_requirements().map(|(phase, unmet)| format!("phase {phase} requires: {}", unmet.name));
        let told = self.sections.recovery.warnings.iter().cloned();
        let never = self.never_met().filter_map(|(phase, _)| Some((&phase.id, self.why_never(&phase.id)?)));
        let never = never.map(|(phase, why)| format!("phase {phase} does not run: {why}"));
        told.chain(mirrors).chain(labels).chain(unmet).chain(never).chain(self.notices_not_sent()).collect()
    }

    pub(super) fn mirror_troubled(&mut self, path: &str, what: &str) {
        self.mirror_troubles.insert(path.to_owned(), what.to_owned());
    }

    /// The run stands as the file says.
    pub(super) fn imported(&mut self, imported: &RunImported, at: Timestamp) {
        for back in &imported.phases {
            self.change(&back.phase, |state| put_in_place(state, back));
        }
        let complete = self.derived.batch_left.iter().enumerate().filter(|(_, left)| **left == 0);
        self.batches_recorded = complete.map(|(batch, _)| batch_number(batch)).collect();
        self.replans.imported(&imported.revisions, &imported.sections.earlier_revisions);
        self.put_sections(&imported.sections);
        if let Some(world) = &imported.world {
            self.look = Some(Arc::new(LastLook { at, world: (**world).clone(), findings: Vec::new() }));
        }
        self.result = imported.result;
        self.stopped = self.result.is_none().then_some(StopReason::Import);
        self.started = Arc::new(RunStarted { triggers: imported.triggers.clone(), ..(*self.started).clone() });
        // What is checkpointed next is another document altogether, and is due by the file's own account alone.
        self.whole_is_due = true;
        self.due.clear();
        self.updated_at = at;
    }

    pub(super) fn files_modified(&mut self, changed: &[FileModified], as_committed: &[String], more: u64) {
        self.files_since_a_failure(changed, more);
        for path in as_committed {
            self.sections.files_modified.remove(path);
            self.note(Op::Remove { path: format!("/files_modified/{}", patch::escaped(path)) });
        }
        for file in changed {
            self.sections.files_modified.insert(file.path.clone(), file.clone());
            self.note(Op::Set { path: format!("/files_modified/{}", patch::escaped(&file.path)), value: json!(file) });
            let known = &self.sections.context.files;
            if file.digest.is_some() && known.len() < CONTEXT_FILES_MAX && !known.contains(&file.path) {
                let path = file.path.clone();
                self.add_to_section("/context/files", |sections| &mut sections.context.files, path);
            }
        }
        if self.sections.more_files_modified != more {
            self.sections.more_files_modified = more;
            self.note(Op::Set { path: "/more_files_modified".to_owned(), value: json!(more) });
        }
    }

    /// The issue was read.
    pub(super) fn issue_read(&mut self, seen: &IssueSeen) {
        let known = self.sections.issue.as_ref();
        let issue = IssueSnapshot {
            number: seen.number.clone().or_else(|| known.and_then(|issue| issue.number.clone())),
            title: seen.title.clone(),
            body: seen.body.clone(),
            labels: seen.labels.clone(),
            assignees: seen.assignees.clone(),
            branch: known.and_then(|issue| issue.branch.clone()).or_else(|| self.branch().map(str::to_owned)),
        };
        if seen.text.hash.is_some() && known != Some(&issue) {
            self.set_section("/issue", |sections| &mut sections.issue, Some(issue));
        }
    }

    /// Others have begun something: a run that was taken over from a file is theirs from here on.
    pub(super) fn taken_up_by_others(&mut self) {
        let at_work = self.derived.external.iter().any(|&at| {
            let state = &self.phases[at];
            state.status == PhaseStatus::Running && matches!(state.external, Some(ExternalState::AtWork { .. }))
        });
        if self.stopped == Some(StopReason::Import) && at_work {
            self.stopped = Some(StopReason::Waiting);
        }
    }

    /// Replaces all sections, as a rewind or an import does.
    pub(super) fn put_sections(&mut self, sections: &Sections) {
        self.sections = sections.clone();
        self.note(Op::Set { path: String::new(), value: json!(sections) });
    }

    /// Changes a section, or a part of one.
    pub(super) fn set_section<T: Serialize>(&mut self, path: &str, place: fn(&mut Sections) -> &mut T, value: T) {
        let stored = json!(value);
        *place(&mut self.sections) = value;
        self.note(Op::Set { path: path.to_owned(), value: stored });
    }

    /// Adds an item to a list.
    pub(super) fn add_to_section<T: Serialize>(&mut self, path: &str, list: fn(&mut Sections) -> &mut Vec<T>, item: T) {
        let insert: Vec<Value> = vec![json!(item)];
        let list = list(&mut self.sections);
        let at = list.len();
        list.push(item);
        self.note(Op::Splice { path: path.to_owned(), at, remove: 0, insert });
    }

    /// A checkpoint that is whole has the sections themselves.
    pub(super) fn note(&mut self, op: Op) {
        if self.last_checkpoint.is_some() && !self.whole_is_due {
            self.dirty.sections.push(op);
        }
    }
}
