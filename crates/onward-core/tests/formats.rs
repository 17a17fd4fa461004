//! Files of other tools: read, written, and read again. Nothing that a format can hold is lost, and no bytes bring a reader down.

#[path = "common/dice.rs"]
mod dice;

use jiff::Timestamp;
use onward_core::checkpoint::{
    AgentConflict, AgentMessage, AgentOutput, Checkpoint, FileFormat, KeyDecision, KnowledgeEntry, KnowledgeState,
    Sections,
};
use onward_core::formats::{self, BadFile, TakenRun};
use onward_core::id::RunId;
use onward_core::input::Input;
use onward_core::run::{self, PhaseStatus, Run};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn at() -> Timestamp {
    "2026-02-19T10:00:00Z".parse().expect("a time")
}

fn map(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

fn read(document: &Value) -> TakenRun {
    formats::read(map(document), "in.json", at()).unwrap_or_else(|why| panic!("{why}: {document}"))
}

/// The run that is begun from a file.
fn begun(taken: &TakenRun) -> Run {
    let (mut run, _) = run::start(taken.started(RunId::new("run_1"), "demo"), "ada", taken.created_at);
    run::step(&mut run, &Input::Import(Box::new(taken.step.clone())), "ada", taken.updated_at).expect("it is new");
    run
}

/// Written from the run alone, as if it had never been a file.
fn own(run: &Run, format: FileFormat) -> Value {
    let checkpoint = Checkpoint { imported: None, ..formats::as_it_stands(run) };
    Value::Object(formats::export(&checkpoint, format).expect("what we write is valid"))
}

const WORKFLOW: &str = r#"{"workflow_id": "implement_027_auth", "plan_path": "p.md", "current_phase": 3, "completed_phases": [1, 2],
    "phase_metadata": {"1": {"status": "completed", "artifacts": ["a.md"], "duration_minutes": 45.5, "timestamp": "2025-10-21T10:30:00Z"}},
    "replan_history": [{"phase": 3, "reason": "complexity", "timestamp": "2025-10-21T12:00:00Z"}], "replan_count": {"3": 2},
    "artifact_paths": {"out": "o/"}, "context_metadata": {"research_reports": ["r.md"], "plan_metadata": {"phases": 5}}, "x": [null]}"#;
const CHECKPOINT: &str = r#"{"checkpoint_id": "orchestrate_auth_20251003_184530", "workflow_type": "orchestrate", "project_name": "auth",
    "created_at": "2025-10-03T18:45:30Z", "updated_at": "2025-10-03T18:52:15Z", "status": "in_progress", "current_phase": 2,
    "total_phases": 3, "completed_phases": [1], "workflow_state": {"a": false, "b": null}, "last_error": "it broke", "y": {"z": 1}}"#;
const PIPELINE: &str = r#"{"completed_phases": [{"id": "a", "name": "A", "timestamp": "2026-02-19T10:05:00Z", "commit_sha": "a1b2c3d", "q": 1}],
    "current_phase": {"id": "b", "name": "B", "progress_description": "half"},
    "remaining_phases": [{"id": "c", "name": "C", "dependencies": ["b"], "w": [2]}],
    "context_summary": {"branch": "main", "key_decisions": ["REST"], "file_paths": ["x.rs"]},
    "created_at": "2026-02-19T10:00:00Z", "updated_at": "2026-02-19T10:22:00Z"}"#;
const CRUNCH: &str = "checkpoint_id: CP-enrich-20250114-b4c5\nversion: \"1.0\"\ncreated_at: \"2025-01-14T10:30:00Z\"\nissue_number: 42\n\
workflow_state:\n  current_phase: enrich\n  current_state_label: state:enrich\nissue_snapshot:\n  title: T\n  body: B\n  labels: [x]\n  branch: f\n\
execution_graph:\n  node_states:\n    batch_1_task_1:\n      status: complete\n      completed_at: \"2025-01-14T09:58:00Z\"\n    batch_2_task_1:\n      status: running\n\
acp_state:\n  pending_messages:\n    - MSG-1\n  awaiting_response: []\n  conflicts_in_progress: [CONF-1]\n\
knowledge_context:\n  injected_entries: [KE-1]\nrecovery_info:\n  can_resume: true\n  warnings: []\nodd: {deep: [1]}\n";

const ALL: [&str; 4] = [WORKFLOW, CHECKPOINT, PIPELINE, CRUNCH];

/// A file of each format is taken over and written again at once: not a byte of what it says is different, also where nobody
/// understands it; the checkpoint form is in its newest version.
#[test]
fn what_was_not_touched_comes_out_as_it_went_in() {
    for text in ALL {
        let document = formats::document(text.as_bytes()).expect("it is well formed");
        let taken = formats::read(document.clone(), "in", at()).expect("it is valid");
        let format = taken.format;
        let out = formats::export(&formats::as_it_stands(&begun(&taken)), format);
        let expected =
            if format == FileFormat::Checkpoint { formats::upgraded(document).expect("known") } else { document };
        let mut out = out.expect("it can be written");
        if format == FileFormat::Crunch {
            // The id of the checkpoint is that of the file; what is written now is another moment.
            out.insert("created_at".to_owned(), expected["created_at"].clone());
            out.insert("workflow_state".to_owned(), expected["workflow_state"].clone());
        }
        assert_eq!(Value::Object(out), Value::Object(expected), "{format:?}");
    }
}

/// Every required field is missing once, and null once: the file is refused, and the field is named.
#[test]
fn a_missing_field_is_named() {
    let cases: [(&str, &[&str]); 4] = [
        (WORKFLOW, &["workflow_id", "plan_path", "completed_phases"]),
        (CHECKPOINT, &["checkpoint_id", "workflow_type", "project_name", "created_at", "status"]),
        (PIPELINE, &["completed_phases", "remaining_phases", "context_summary", "created_at", "updated_at"]),
        (CRUNCH, &["checkpoint_id", "version", "created_at", "workflow_state", "recovery_info"]),
    ];
    for (text, fields) in cases {
        for field in fields {
            for with_null in [false, true] {
                let mut document = formats::document(text.as_bytes()).expect("it is well formed");
                document.shift_remove(*field);
                if with_null {
                    document.insert((*field).to_owned(), Value::Null);
                }
                match formats::read(document, "in", at()) {
                    Err(BadFile::Damaged(why)) => assert!(why.contains(field), "{why} does not name {field}"),
                    other => panic!("without {field}: {other:?}"),
                }
            }
        }
    }
}

/// Versions that nobody knows yet are told from those that there never were.
#[test]
fn a_newer_version_is_told_from_nonsense() {
    for (version, newer) in
        [("2.2", true), ("3.0", true), ("9.9", true), ("0.9", false), ("two", false), ("1.7", false)]
    {
        let mut document = formats::document(CHECKPOINT.as_bytes()).expect("it is well formed");
        document.insert("schema_version".to_owned(), json!(version));
        let read = formats::read(document, "in", at()).map(drop);
        assert_eq!(matches!(read, Err(BadFile::Newer(_))), newer, "{version}: {read:?}");
        assert!(read.is_err(), "{version}");
    }
}

/// A file says phase 8 of 3. The number is named in a warning, what is done stays done, and nothing begins anew.
#[test]
fn a_phase_beyond_the_last_is_named() {
    let mut document = formats::document(CHECKPOINT.as_bytes()).expect("it is well formed");
    document.insert("current_phase".to_owned(), json!(8));
    let taken = formats::read(document, "in", at()).expect("it is valid");
    let warnings = &taken.step.imported.sections.recovery.warnings;
    assert!(warnings.iter().any(|warning| warning.contains('8')), "{warnings:?}");
    let run = begun(&taken);
    assert_eq!((run.phases_total(), run.phases().filter(|(_, state)| state.is_finished()).count()), (3, 1));
}

/// The empty state of a branch has all that the schema demands, with nothing done and nothing in hand.
#[test]
fn an_empty_pipeline_is_valid() {
    let empty = Value::Object(formats::skeleton("feat/x", at()));
    let schema = formats::schema("pipeline-state").expect("it is shipped");
    let demanded: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert_eq!((demanded.len(), read(&empty).format), (6, FileFormat::PipelineState));
    assert!(demanded.iter().all(|key| empty.get(*key).is_some()), "{empty}");
    assert_eq!((&empty["completed_phases"], &empty["context_summary"]["branch"]), (&json!([]), &json!("feat/x")));
}

/// Numbers of every kind are written as YAML, and are the same numbers when they are read.
#[test]
fn numbers_come_back() {
    let numbers = json!([-0.01, 0.1, -1.5e-7, 1e300, -1e300, 18_446_744_073_709_551_615_u64, i64::MIN, -1, 0, 1.10]);
    let document = map(&json!({"n": numbers}));
    assert_eq!(formats::document(formats::to_yaml(&document).as_bytes()), Ok(document));
}

/// Texts hold whatever somebody saved, characters that no program can be given included. Written as YAML they are read as they were.
#[test]
fn any_character_comes_back() {
    let odd = "\u{0}\u{1}\u{7f}\u{85}\u{2028}\u{feff}\t\r\n \u{1f600}";
    let document = map(&json!({"text": odd, odd: {"in": [odd, "plain"]}}));
    assert_eq!(formats::document(formats::to_yaml(&document).as_bytes()), Ok(document));
}

/// A key that is longer than any plain key of YAML may be is written so that it is read again.
#[test]
fn a_very_long_key_comes_back() {
    let long = "k".repeat(3_000);
    let document =
        map(&json!({"a": {long.clone(): 1}, "list": [{long.clone(): {"x": []}, "b": 2}], long: {"y": [null]}}));
    let text = formats::to_yaml(&document);
    assert_eq!(formats::document(text.as_bytes()), Ok(document), "{text}");
}

/// Each version is upgraded step by step to the newest, which is left as it is.
#[test]
fn versions_are_upgraded_and_stay() {
    let first = formats::document(CHECKPOINT.as_bytes()).expect("it is well formed");
    let newest = formats::upgraded(first).expect("it is the first version");
    assert_eq!(newest["schema_version"], json!("2.1"));
    assert_eq!(newest["state_machine"]["current_state"], json!("plan"));
    assert_eq!(newest["error_state"]["last_error"], json!("it broke"));
    assert_eq!(formats::upgraded(newest.clone()).expect("it is the newest"), newest);
}

fn status() -> impl Strategy<Value = u8> {
    0u8..4
}

/// Some phases that are done, one in hand, and the rest; names and notes are any text.
fn pipelines() -> impl Strategy<Value = Value> {
    let text = "[^\u{0}-\u{1f}\u{7f}]{1,12}";
    (proptest::collection::vec((text, status()), 2..8), text, any::<bool>()).prop_map(|(named, note, ended)| {
        let done = named.len() / 2;
        let id = |at: usize| format!("p{at}");
        let completed: Vec<Value> = named[..done]
            .iter()
            .enumerate()
            .map(|(at, (name, minute))| {
                json!({"id": id(at), "name": name, "timestamp": format!("2026-02-19T10:0{minute}:00Z")})
            })
            .collect();
        let current = (!ended).then(|| json!({"id": id(done), "name": named[done].0, "progress_description": note}));
        let rest = if ended { named.len() } else { done + 1 };
        let remaining: Vec<Value> = named[rest.min(named.len())..]
            .iter()
            .enumerate()
            .map(|(at, (name, needs))| {
                let before: Vec<String> = (0..rest + at).take(usize::from(*needs)).map(id).collect();
                json!({"id": id(rest + at), "name": name, "dependencies": before})
            })
            .collect();
        json!({
            "completed_phases": completed, "current_phase": current, "remaining_phases": remaining,
            "context_summary": {"branch": "b", "key_decisions": [note], "file_paths": ["f"]},
            "created_at": "2026-02-19T10:00:00Z", "updated_at": "2026-02-19T10:30:00Z",
        })
    })
}

fn standing(run: &Run) -> Vec<(String, PhaseStatus)> {
    run.phases().map(|(phase, state)| (phase.id.to_string(), state.status)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Our model, written in the format that has ids, times and notes, and read again: the same model, and the same text again.
    #[test]
    fn a_pipeline_loses_nothing(document in pipelines()) {
        let first = begun(&read(&document));
        let written = own(&first, FileFormat::PipelineState);
        let second = begun(&read(&written));
        prop_assert_eq!(standing(&first), standing(&second));
        prop_assert_eq!(own(&second, FileFormat::PipelineState), written);
    }

    /// The same in the folder form, which holds needs and every status, by way of its text.
    #[test]
    fn a_graph_of_tasks_loses_nothing(document in pipelines()) {
        let first = begun(&read(&document));
        let written = own(&first, FileFormat::Crunch);
        let text = formats::to_yaml(&map(&written));
        let back = formats::document(text.as_bytes()).unwrap_or_else(|why| panic!("{why}: {text}"));
        prop_assert_eq!(&Value::Object(back.clone()), &written, "the text says what it was made from");
        let second = begun(&read(&written));
        prop_assert_eq!(standing(&first), standing(&second));
        let needs = |run: &Run| run.phases().map(|(phase, _)| phase.needs.clone()).collect::<Vec<_>>();
        prop_assert_eq!(needs(&first), needs(&second));
    }

    /// Forms that count their phases keep how many are done, which is next, and all names.
    #[test]
    fn numbered_forms_keep_the_position(document in pipelines()) {
        let first = begun(&read(&document));
        let done = |run: &Run| run.phases().filter(|(_, state)| state.is_finished()).count();
        for format in [FileFormat::Workflow, FileFormat::Checkpoint] {
            let written = own(&first, format);
            let second = begun(&read(&written));
            prop_assert_eq!(done(&first), done(&second), "{:?}", format);
            prop_assert_eq!(first.phases_total(), second.phases_total(), "{:?}", format);
            let again = own(&second, format);
            prop_assert_eq!(&again["current_phase"], &written["current_phase"], "{:?}", format);
            prop_assert_eq!(&again["completed_phases"], &written["completed_phases"], "{:?}", format);
        }
    }

    /// Bytes of any kind are read or refused.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        taken_apart(&bytes);
    }
}

const WORDS: &str = "[^\u{0}-\u{1f}\u{7f}]{1,12}";

fn list_of(word: &'static str) -> impl Strategy<Value = Vec<String>> {
    proptest::collection::btree_set(word, 0..4).prop_map(|set| set.into_iter().collect())
}

fn moment(minute: u8) -> String {
    format!("2026-02-19T10:{:02}:00Z", minute % 60)
}

/// Files of the folder form with everything in them that it can say.
fn crunches() -> impl Strategy<Value = Value> {
    let nodes = proptest::collection::vec((0u8..5, WORDS, any::<u8>(), any::<bool>()), 1..6);
    let ids =
        (list_of("MSG-[a-z]{1,4}"), list_of("MSG-[a-z]{1,4}"), list_of("CONF-[a-z]{1,4}"), list_of("KE-[a-z]{1,4}"));
    let texts = (WORDS, WORDS, list_of(WORDS), any::<bool>());
    (nodes, ids, texts).prop_map(|(nodes, (pending, awaiting, conflicts, knowledge), (title, text, list, flag))| {
        let mut states = Map::new();
        for (at, (status, name, minute, chained)) in nodes.iter().enumerate() {
            let word = ["complete", "pending", "skipped", "failed", "interrupted"][usize::from(*status)];
            let needs: Vec<String> = (at > 0 && *chained).then(|| format!("t{}", at - 1)).into_iter().collect();
            let mut node = json!({"status": word, "needs": needs, "name": name});
            if word == "complete" {
                node["started_at"] = json!(moment(0));
                node["completed_at"] = json!(moment(*minute));
                (node["result"], node["commit_sha"]) = (json!(name), json!("a1b2c3d"));
                node["artifacts"] = json!([format!("out/{at}.md")]);
            }
            if word == "failed" {
                node["error"] = json!(name);
            }
            if word == "interrupted" {
                node["note"] = json!(name);
            }
            states.insert(format!("t{at}"), node);
        }
        json!({
            "checkpoint_id": "CP-enrich-20250114-b4c5", "version": "1.0", "created_at": moment(1), "issue_number": 42, "session_id": text,
            "workflow_state": {"current_phase": "enrich", "current_state_label": text},
            "issue_snapshot": {"title": title, "body": text, "labels": list, "assignees": list, "branch": "b"},
            "team_state": {"team_id": text, "members": [{"agent": title, "role": text, "status": "active", "tasks_completed": 2, "tasks_pending": 1}]},
            "execution_graph": {"node_states": states},
            "agent_outputs": {"writer": {"spec": {"completed_at": moment(2), "output_summary": text, "output_location": "x.md"}}},
            "acp_state": {"pending_messages": pending, "awaiting_response": awaiting, "conflicts_in_progress": conflicts},
            "knowledge_context": {"injected_entries": knowledge, "captured_entries": knowledge, "pending_captures": knowledge},
            "files_modified": [{"path": "a.rs", "status": "modified", "staged": flag}],
            "recovery_info": {"can_resume": true, "warnings": list},
        })
    })
}

/// Files of the form that counts its phases, with everything in them that it can say.
fn workflows() -> impl Strategy<Value = Value> {
    let phases = proptest::collection::vec((WORDS, any::<u8>(), any::<bool>()), 1..7);
    (phases, 0u8..4, WORDS, list_of(WORDS)).prop_map(|(phases, replans, text, list)| {
        let done = phases.len() / 2;
        let mut metadata = Map::new();
        for (at, (name, minute, skipped)) in phases[..done].iter().enumerate() {
            let status = if *skipped { "skipped" } else { "completed" };
            metadata.insert((at + 1).to_string(), json!({
                "status": status, "artifacts": [format!("out/{at}.md")], "duration_minutes": minute, "timestamp": moment(*minute),
                "name": name, "summary": name, "note": name, "commit_sha": "a1b2c3d", "started_at": moment(0),
            }));
        }
        let history: Vec<Value> =
            (0..replans).map(|at| json!({"phase": done + 1, "reason": format!("{text}{at}"), "timestamp": moment(at)})).collect();
        let counts = if replans > 0 { json!({(done + 1).to_string(): replans}) } else { json!({}) };
        json!({
            "workflow_id": "implement_auth", "plan_path": "p.md", "current_phase": done + 1,
            "completed_phases": (1..=done).collect::<Vec<_>>(), "phase_metadata": metadata, "replan_history": history, "replan_count": counts,
            "artifact_paths": {"out": text}, "context_metadata": {"research_reports": list, "plan_metadata": {"phases": phases.len()}},
            "created_at": moment(0), "updated_at": moment(59),
        })
    })
}

/// Everything of our model that a format can hold, by the names of the checkpoint's sections.
fn held(run: &Run, sections: &[&str], of_phases: &[&str]) -> Value {
    let checkpoint = Checkpoint { imported: None, ..formats::as_it_stands(run) };
    let mut all = serde_json::to_value(&checkpoint).expect("a document");
    let phases = all["phases"].take();
    let told = |phase: &Value| -> Value {
        of_phases.iter().map(|key| (*key).to_owned()).zip(of_phases.iter().map(|key| phase[*key].clone())).collect()
    };
    let phases: Vec<Value> = phases.as_array().into_iter().flatten().map(told).collect();
    let named: Map<String, Value> = sections
        .iter()
        .map(|key| ((*key).to_owned(), all.pointer(&format!("/{key}")).cloned().unwrap_or_default()))
        .collect();
    json!({"phases": phases, "sections": named})
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Our model, written into the folder form and read again, is the same: phases with times, results and needs, issue, team, agents,
    /// messages, conflicts, knowledge, files.
    #[test]
    fn the_folder_form_holds_every_section(document in crunches()) {
        let sections = ["issue", "team", "agents", "messages", "knowledge", "files_modified", "session", "recovery/warnings"];
        let phases = ["id", "name", "status", "needs", "started_at", "ended_at", "summary", "note", "commit_sha", "error", "artifacts"];
        let first = begun(&read(&document));
        let second = begun(&read(&own(&first, FileFormat::Crunch)));
        prop_assert_eq!(held(&first, &sections, &phases), held(&second, &sections, &phases));
    }

    /// The same in the form that counts: position, records of finished phases, revisions, folders, reports.
    #[test]
    fn the_counting_form_holds_every_section(document in workflows()) {
        let sections = ["replans/counts", "replans/history", "artifact_paths", "context/research_reports", "context/plan_metadata",
            "completed_phases", "phases_total", "created_at", "run_created_at"];
        let finished = ["id", "name", "status", "started_at", "ended_at", "duration_ms", "summary", "note", "commit_sha", "artifacts"];
        let first = begun(&read(&document));
        for format in [FileFormat::Workflow, FileFormat::Checkpoint] {
            let second = begun(&read(&own(&first, format)));
            let sections = if format == FileFormat::Workflow { &sections[..] } else { &sections[..2] };
            prop_assert_eq!(held(&first, sections, &finished), held(&second, sections, &finished), "{:?}", format);
        }
    }
}

/// Sections as our own verbs fill them: messages, conflicts, knowledge and decisions with all that is said in them, outputs of agents.
fn told_sections() -> impl Strategy<Value = Sections> {
    let each = proptest::collection::vec((WORDS, WORDS, any::<u8>(), any::<bool>()), 0..4);
    (each.clone(), each.clone(), each.clone(), each.clone(), each).prop_map(|(sent, fought, known, decided, given)| {
        let time = |minute: u8| moment(minute).parse::<Timestamp>().ok();
        let some = |text: &str| Some(text.to_owned());
        let numbered = |word: &str, at: usize| format!("{word}-{at}");
        let message = |(at, (from, body, minute, waits)): (usize, &(String, String, u8, bool))| AgentMessage {
            id: numbered("MSG", at),
            kind: some("request"),
            from: some(from),
            to: some("*"),
            body: some(body),
            sent_at: time(*minute),
            acknowledged_by: vec![from.clone()],
            pending: !waits,
            awaits_response: *waits,
            priority: some("high"),
            correlation: (at > 0).then(|| numbered("MSG", at - 1)),
        };
        let conflict = |(at, (topic, text, minute, over)): (usize, &(String, String, u8, bool))| AgentConflict {
            id: numbered("CONF", at),
            between: vec!["a".to_owned(), "b".to_owned()],
            topic: some(topic),
            started_at: time(*minute),
            rounds: vec![text.clone()],
            resolution: over.then(|| text.clone()),
            resolved_at: time(*minute).filter(|_| *over),
        };
        let entry = |(at, (title, body, minute, new)): (usize, &(String, String, u8, bool))| KnowledgeEntry {
            id: numbered("KE", at),
            kind: some("fact"),
            title: some(title),
            body: some(body),
            added_at: time(*minute),
            state: if *new { KnowledgeState::Captured } else { KnowledgeState::Injected },
        };
        let decision = |(text, by, minute, told): &(String, String, u8, bool)| KeyDecision {
            text: text.clone(),
            at: time(*minute).filter(|_| *told),
            by: told.then(|| by.clone()),
        };
        let output = |(at, (summary, location, minute, _)): (usize, &(String, String, u8, bool))| {
            let output = AgentOutput { completed_at: time(*minute), summary: some(summary), location: some(location) };
            (numbered("agent", at), [("task".to_owned(), output)].into())
        };
        Sections {
            messages: sent.iter().enumerate().map(message).collect(),
            conflicts: fought.iter().enumerate().map(conflict).collect(),
            knowledge: known.iter().enumerate().map(entry).collect(),
            decisions: decided.iter().map(decision).collect(),
            agents: given.iter().enumerate().map(output).collect(),
            ..Sections::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A run of our own has sections that no seed's file has: the folder form keeps all of them, the pipeline's what was decided.
    #[test]
    fn sections_of_our_own_come_back(told in told_sections(), document in pipelines()) {
        let mut taken = read(&document);
        taken.step.imported.sections = told;
        let first = begun(&taken);
        let all = ["agents", "messages", "knowledge", "context/decisions"];
        let second = begun(&read(&own(&first, FileFormat::Crunch)));
        prop_assert_eq!(held(&first, &all, &[]), held(&second, &all, &[]));
        let second = begun(&read(&own(&first, FileFormat::PipelineState)));
        let decided = |run: &Run| run.sections().decisions.iter().map(|it| it.text.clone()).collect::<Vec<_>>();
        prop_assert_eq!(decided(&first), decided(&second));
    }
}

/// Whether the bytes were taken for a file, after all was done with them that can be.
fn taken_apart(bytes: &[u8]) -> bool {
    let Ok(document) = formats::document(bytes) else { return false };
    let again = formats::document(formats::to_yaml(&document).as_bytes());
    assert!(document.is_empty() || again.as_ref() == Ok(&document), "written as YAML it became {again:?}");
    let Ok(taken) = formats::read(document, "in", at()) else { return false };
    let run = begun(&taken);
    for format in FileFormat::ALL {
        let _ = formats::export(&formats::as_it_stands(&run), format);
    }
    let _ = formats::summary(&taken);
    true
}

/// Many files, each a good one with a few bytes that are others, are read or refused; the numbers are the same each time.
#[test]
fn damaged_files_are_read_or_refused() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut throw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("it is below a usize")
    };
    for round in 0..1_500 {
        let mut bytes = ALL[round % ALL.len()].as_bytes().to_vec();
        for _ in 0..=throw(4) {
            let at = throw(bytes.len());
            match throw(4) {
                0 => bytes[at] = u8::try_from(throw(256)).expect("a byte"),
                1 => drop(bytes.drain(at..(at + throw(20)).min(bytes.len()))),
                2 => bytes.insert(at, b"{}[]\",:-\n 0e"[throw(12)]),
                _ => bytes.truncate(at.max(1)),
            }
            if bytes.is_empty() {
                break;
            }
        }
        taken_apart(&bytes);
    }
}

const YAML_WORDS: [&[u8]; 28] = [
    b"\n",
    b"\n  ",
    b"\n    - ",
    b": ",
    b"- ",
    b"&a ",
    b"*a",
    b"<<: *a\n",
    b"!!binary ",
    b"|\n  ",
    b">-\n",
    b"'",
    b"\"",
    b"\\u0000",
    b"{",
    b"}",
    b"[",
    b"]",
    b"? ",
    b"# ",
    b"---\n",
    b"...\n",
    b"%YAML 1.1\n",
    b"\t",
    b"1e999",
    b"0x7f",
    b"null",
    "\u{feff}".as_bytes(),
];
const JSON_WORDS: [&[u8]; 24] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\\ud800",
    b"null",
    b"true",
    b"-0.0",
    b"1e999",
    b"18446744073709551616",
    b"0.1234567890123456789",
    b"\"id\":",
    b"\"completed_phases\":",
    b"\"checkpoint_id\":",
    b"\"schema_version\":\"2.0\",",
    b"\"recovery_info\":{}",
    b"\"dependencies\":[\"a\"]",
    b"2026-02-30T25:61:61Z",
    b"\n",
    b"\0",
];
const PLAN_YAML: &str = "onward: 1\nname: n\ninputs: { day: { default: x } }\nphases:\n  a: { run: echo, env: { A: \"1\" }, retry: 3 }\n  b:\n    needs: [a]\n    matrix: { x: [1, 2] }\n    run: |\n      true\n";

/// Files and plans in YAML with changed bytes: each is read or refused, and what is read is written as the same again.
#[test]
fn fuzz_yaml() {
    let settings = "checkpoint:\n  enabled: true\n  retention: { manual: -1 }\n  storage:\n    location: \".claude/crunch/{issue}/checkpoints\"\nresume: { auto: safe, max_age: 7d }\n";
    dice::fuzz("yaml", &[CRUNCH.as_bytes(), PLAN_YAML.as_bytes(), settings.as_bytes()], &YAML_WORDS, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let plan = onward_core::plan::parse(&text).plan.is_some();
        let _ = onward_core::config::parse(&text);
        taken_apart(bytes) || plan
    });
}

/// The same in JSON.
#[test]
fn fuzz_json() {
    let plan = r#"{"phases": [{"id": "a", "name": "A", "dependencies": [], "status": "pending"}, {"id": "b", "name": "B", "dependencies": ["a"]}]}"#;
    let samples = [WORKFLOW, CHECKPOINT, PIPELINE, plan].map(str::as_bytes);
    dice::fuzz("json", &samples, &JSON_WORDS, |bytes| {
        let plan = onward_core::plan::parse(&String::from_utf8_lossy(bytes)).plan.is_some();
        let is_object = onward_core::data_limits::read_object(bytes).is_ok_and(|object| {
            let text = serde_json::to_string(&object).expect("it was JSON");
            assert_eq!(onward_core::data_limits::read_object(text.as_bytes()).as_ref().ok(), Some(&object));
            true
        });
        taken_apart(bytes) || plan || is_object
    });
}
