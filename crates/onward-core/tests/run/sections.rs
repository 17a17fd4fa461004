//! The sections of a checkpoint beside phases and state: filled by events, stored as what changed, and put back by a rewind.

use onward_core::checkpoint::{
    self, AgentMessage, Checkpoint, CheckpointBytes, FileFormat, FileModified, ImportedDocument, KeyDecision,
    KnowledgeEntry, KnowledgeState, Sections, Trigger,
};
use onward_core::event::{Event, PhaseBack, RewindBegun, RunImported, RunRewound, StopRequest};
use onward_core::evidence::{IssueSeen, ProbeSeen, WorldSeen};
use onward_core::id::{CheckpointId, PhaseId};
use onward_core::input::{ImportStep, Input, Posted, Resumption, Says};
use onward_core::run::{self, PhaseStatus, RunStatus};
use serde_json::json;

use crate::common;
use crate::story::Story;

const PLAN: &str = "onward: 1\nname: demo\nphases:\n  a: { external: { instructions: x } }\n  b: { needs: a, external: { instructions: y } }\n";

impl Story {
    /// The checkpoint that a reader gets: the newest whole document with the patches behind it.
    fn newest(&self) -> Checkpoint {
        let whole = |at: &usize| matches!(self.taken[*at].content, CheckpointBytes::Whole(_));
        let first = (0..self.taken.len()).rev().find(whole).expect("the first one is whole");
        let bytes = |at: usize| match &self.taken[at].content {
            CheckpointBytes::Whole(bytes) | CheckpointBytes::Patch(bytes) => bytes.clone(),
        };
        let patches: Vec<Vec<u8>> = (first + 1..self.taken.len()).map(bytes).collect();
        checkpoint::assemble(&bytes(first), &patches).expect("our own bytes")
    }

    fn checkpoint(&mut self) -> Checkpoint {
        self.take(&Input::Posted(Posted::Checkpoint { name: None }));
        self.newest()
    }
}

fn file(path: &str, digest: &str) -> FileModified {
    let (path, status) = (path.to_owned(), "modified".to_owned());
    FileModified { path, status, staged: false, digest: Some(digest.to_owned()) }
}

/// Files change, are staged, change again and are committed. Each checkpoint has what is changed then, and the context all that ever
/// was; a look that sees nothing new leaves no event.
#[test]
fn changed_files_are_told_as_differences() {
    let mut story = Story::of(common::plan(PLAN)).driven();
    story.checkpoint();
    let both = vec![file("x/y~1", "1"), FileModified { staged: true, ..file("z", "2") }];
    let told = story.take(&Input::TreeSeen { files: both.clone() });
    assert_eq!(told.len(), 1);
    assert_eq!(story.checkpoint().files_modified, both);
    assert!(story.take(&Input::TreeSeen { files: both }).is_empty());
    let told = story.take(&Input::TreeSeen { files: vec![file("z", "3")] });
    let gone = vec!["x/y~1".to_owned()];
    assert_eq!(told, [Event::FilesModified { changed: vec![file("z", "3")], as_committed: gone, more: 0 }]);
    let seen = story.checkpoint();
    assert_eq!(seen.files_modified, [file("z", "3")]);
    assert_eq!(seen.context.files, ["x/y~1", "z"]);
}

/// More files are changed than are named one by one: the rest is a number.
#[test]
fn very_many_changed_files_are_counted() {
    let mut story = Story::of(common::plan(PLAN)).driven();
    let files = (0..1_003).map(|n| file(&format!("{n:05}"), "1")).collect();
    story.take(&Input::TreeSeen { files });
    let sections = story.checkpoint().sections;
    assert_eq!((sections.files_modified.len(), sections.more_files_modified), (1_000, 3));
}

/// The issue is read when a driver begins: its text, labels and people are in the next checkpoint.
#[test]
fn the_issue_is_in_the_checkpoint() {
    let mut story = Story::of(common::plan(PLAN)).driven();
    story.stop(StopRequest::Interrupt);
    let text = ProbeSeen { hash: Some("h".to_owned()), excerpt: "t".to_owned() };
    let issue = IssueSeen {
        text,
        labels: vec!["bug".to_owned()],
        number: Some("42".to_owned()),
        title: "Add login".to_owned(),
        body: "As a user".to_owned(),
        assignees: vec!["ada".to_owned()],
    };
    let world =
        Some(Box::new(WorldSeen { issue: Some(issue), branch: Some("main".to_owned()), ..WorldSeen::default() }));
    story.drive_told(Resumption { world, ..Resumption::default() });
    let issue = story.checkpoint().issue.expect("it was read");
    assert_eq!(
        (issue.number.as_deref(), issue.title.as_str(), issue.branch.as_deref()),
        (Some("42"), "Add login", Some("main"))
    );
    assert_eq!((issue.labels, issue.assignees), (vec!["bug".to_owned()], vec!["ada".to_owned()]));
}

fn told() -> Sections {
    let message = AgentMessage { id: "MSG-1".to_owned(), pending: true, ..AgentMessage::default() };
    let entry = KnowledgeEntry {
        id: "KE-1".to_owned(),
        kind: None,
        title: None,
        body: None,
        added_at: None,
        state: KnowledgeState::Captured,
    };
    let document = json!({"workflow_id": "x_y", "review": {"marks": [1, null, false]}});
    let document = document.as_object().expect("an object").clone();
    Sections {
        label: Some("state:enrich".to_owned()),
        messages: vec![message],
        knowledge: vec![entry],
        decisions: vec![KeyDecision { text: "REST".to_owned(), ..KeyDecision::default() }],
        imported: Some(ImportedDocument { format: FileFormat::Workflow, name: None, version: None, document }),
        ..Sections::default()
    }
}

fn imported(sections: Sections) -> Story {
    let mut started = common::started(common::plan(PLAN));
    started.triggers = Vec::new();
    let mut story = Story::started(started);
    let back = PhaseBack {
        attempts: None,
        phase: PhaseId::new("a"),
        status: PhaseStatus::Completed,
        in_doubt: false,
        started_at: None,
        ended_at: Some(common::now()),
        duration_ms: None,
        note: None,
        summary: None,
        outputs: std::collections::BTreeMap::new(),
        commit_sha: Some("a1b2c3d".to_owned()),
        error: None,
        adopted: None,
        artifacts: Vec::new(),
        generation: None,
    };
    story.take(&Input::Import(Box::new(ImportStep {
        imported: RunImported {
            file: "old.json".to_owned(),
            phases: vec![back],
            revisions: Vec::new(),
            sections,
            triggers: Trigger::ALL.to_vec(),
            world: None,
            result: None,
        },
        state: None,
        checkpoint: Some(CheckpointId::new("CP-enrich-1")),
        triggers: vec![Trigger::BatchComplete],
        phase: Some(PhaseId::new("enrich")),
    })));
    story
}

/// A run is taken over from a file. It stands as the file says, in one checkpoint with the file's own id and cause; it is
/// interrupted until somebody takes it up, and then goes on and ends like any other.
#[test]
fn a_run_taken_over_from_a_file_goes_on() {
    let mut story = imported(told());
    assert_eq!(story.taken.len(), 1, "the file is the only checkpoint");
    let seen = story.newest();
    assert_eq!((seen.id.as_str(), seen.triggers.as_slice()), ("CP-enrich-1", [Trigger::BatchComplete].as_slice()));
    assert_eq!(
        (seen.status, seen.label.as_str(), seen.recovery.can_resume),
        (RunStatus::Interrupted, "state:enrich", true)
    );
    assert_eq!((seen.messages.pending, seen.knowledge.captured), (vec!["MSG-1".to_owned()], vec!["KE-1".to_owned()]));
    assert_eq!(seen.imported, told().imported);
    assert_eq!(seen.recovery.resume_from, [PhaseId::new("b")]);
    story.report("b", Says::Start).expect("it is its turn");
    assert_eq!(story.run.status(), RunStatus::Waiting);
    story.report("b", Says::Done(Box::default())).expect("it is begun");
    assert_eq!(story.run.status(), RunStatus::Completed);
    assert_eq!(story.newest().imported, told().imported, "what the file says stays");
}

/// A record says that it cannot be resumed. Its checkpoint says so, too.
#[test]
fn a_record_that_forbids_going_on() {
    let mut sections = told();
    sections.recovery.forbidden = true;
    assert!(!imported(sections).newest().recovery.can_resume);
}

/// The run goes back to a checkpoint: its messages and decisions are those of then.
#[test]
fn a_rewind_puts_the_sections_back() {
    let mut story = imported(told());
    let then = story.newest();
    story.drive();
    story.take(&Input::TreeSeen { files: vec![file("new", "1")] });
    assert_ne!(story.checkpoint().sections, then.sections);
    story.stop(StopRequest::Interrupt);
    let begun = RewindBegun { to: then.id.clone(), before: then.id.clone(), files: None, state: true, undoes: false };
    story.take(&Input::Rewind(begun));
    let restored = Some(run::vcs::back_to(&story.run, &then));
    story.take(&Input::Rewound(Ok(Box::new(RunRewound { to: then.id.clone(), restored, result: None }))));
    assert_eq!(story.checkpoint().sections, then.sections);
}
