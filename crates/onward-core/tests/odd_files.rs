//! Files of other tools as people really have them: times without a zone, words that nobody knows, counts that are none. What is done is
//! not lost for that, and what is odd is named.

use jiff::Timestamp;
use onward_core::checkpoint::{self, Checkpoint, CheckpointBytes, FileFormat, saved_form};
use onward_core::formats::{self, BadFile, TakenRun};
use onward_core::id::RunId;
use onward_core::input::Input;
use onward_core::run::{self, Run};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const CHECKPOINT: &str = r#"{"checkpoint_id": "orchestrate_auth_20251003_184530", "workflow_type": "orchestrate",
    "workflow_description": "Sign in", "created_at": "2025-10-03T18:45:30Z", "updated_at": "2025-10-03T18:52:15Z",
    "status": "in_progress", "current_phase": 2, "total_phases": 3, "completed_phases": [1],
    "workflow_state": {"project_name": "auth", "n": 1}, "last_error": null}"#;
const PIPELINE: &str = r#"{"completed_phases": [{"id": "a", "name": "A", "timestamp": "2026-02-19T10:05:00Z"}], "current_phase": null,
    "remaining_phases": [{"id": "c", "name": "C", "dependencies": ["a"]}],
    "context_summary": {"branch": "main", "key_decisions": [], "file_paths": []},
    "created_at": "2025-10-03T18:45:30Z", "updated_at": "2025-10-03T18:52:15Z"}"#;
const WORKFLOW: &str = r#"{"workflow_id": "implement_auth", "plan_path": "p.md", "current_phase": 2, "completed_phases": [1],
    "phase_metadata": {"1": {"status": "completed", "timestamp": "2025-10-21T10:30:00Z"}},
    "replan_history": [{"phase": 2, "reason": "big", "timestamp": "2025-10-21T12:00:00Z"}]}"#;
const CRUNCH: &str = r#"{"checkpoint_id": "CP-enrich-20250114-b4c5", "version": "1.0", "created_at": "2025-01-14T10:30:00Z", "issue_number": 4,
    "workflow_state": {"current_phase": "enrich"}, "recovery_info": {"can_resume": true, "warnings": []}}"#;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn fallback() -> Timestamp {
    at("2026-11-19T08:00:00Z")
}

/// The document with other values at these places.
fn with(text: &str, places: &[(&str, Value)]) -> Map<String, Value> {
    let mut document: Value = serde_json::from_str(text).expect("JSON");
    for (place, value) in places {
        let (parent, key) = place.rsplit_once('/').expect("a place");
        document.pointer_mut(parent).expect("it is there")[key] = value.clone();
    }
    document.as_object().expect("an object").clone()
}

fn read(text: &str, places: &[(&str, Value)]) -> Result<TakenRun, BadFile> {
    formats::read(with(text, places), "in", fallback())
}

fn warnings(taken: &TakenRun) -> &[String] {
    &taken.step.imported.sections.recovery.warnings
}

/// The run that is begun from files, the oldest first, and the checkpoint that each of them leaves.
fn begun(all: &[TakenRun]) -> (Run, Vec<Checkpoint>) {
    let mut whole = all.last().expect("a file").clone();
    for phase in all.iter().flat_map(|taken| &taken.plan.phases) {
        if whole.plan.phase(&phase.id).is_none() {
            whole.plan.phases.push(phase.clone());
        }
    }
    let (mut run, _) = run::start(whole.started(RunId::new("run_1"), "demo"), "ada", all[0].created_at);
    let mut checkpoints = Vec::new();
    for taken in all {
        let input = Input::Import(Box::new(taken.step.clone()));
        let stepped = run::step(&mut run, &input, "ada", taken.updated_at).expect("it is new");
        let whole = stepped.checkpoints.last().expect("a checkpoint");
        let CheckpointBytes::Whole(bytes) = &whole.content else { panic!("an import is kept as a whole") };
        checkpoints.push(checkpoint::assemble(bytes, &[]).expect("it was just written"));
    }
    (run, checkpoints)
}

/// A file as programs write them that leave the zone out of the time, or write no time there. It is taken with all that is done, what was
/// made of the time is told, and the file comes out again as it went in.
#[test]
fn times_of_a_run_that_are_odd() {
    let (zoneless, nonsense) = ("2025-10-03T18:40:00", "an hour ago");
    for (text, format) in [(CHECKPOINT, FileFormat::Checkpoint), (PIPELINE, FileFormat::PipelineState)] {
        let cases = [
            ("/created_at", zoneless, "2025-10-03T18:40:00Z", "2025-10-03T18:52:15Z"),
            ("/created_at", "2025-10-03 18:40", "2025-10-03T18:40:00Z", "2025-10-03T18:52:15Z"),
            ("/created_at", nonsense, "2025-10-03T18:52:15Z", "2025-10-03T18:52:15Z"),
            ("/updated_at", "2025-10-03T18:59:00.25", "2025-10-03T18:45:30Z", "2025-10-03T18:59:00.25Z"),
            ("/updated_at", nonsense, "2025-10-03T18:45:30Z", "2025-10-03T18:45:30Z"),
        ];
        for (place, time, created, updated) in cases {
            let taken = read(text, &[(place, json!(time))]).unwrap_or_else(|why| panic!("{place} {time}: {why}"));
            assert_eq!((taken.created_at, taken.updated_at), (at(created), at(updated)), "{format:?} {place} {time}");
            let named = |warning: &String| warning.contains(&place[1..]) && warning.contains(time);
            assert_eq!(warnings(&taken).iter().filter(|it| named(it)).count(), 1, "{:?}", warnings(&taken));
            let done = taken.step.imported.phases.iter().filter(|phase| phase.status.as_str() == "completed").count();
            assert_eq!(done, 1);
            let out = formats::export(&formats::as_it_stands(&begun(&[taken]).0), format).expect("it is written");
            assert_eq!(out["created_at"], with(text, &[(place, json!(time))])["created_at"]);
            assert_eq!(out["updated_at"], with(text, &[(place, json!(time))])["updated_at"]);
        }
        let neither = read(text, &[("/created_at", json!(nonsense)), ("/updated_at", json!(nonsense))]).expect("taken");
        assert_eq!((neither.created_at, neither.updated_at), (fallback(), fallback()));
        for missing in [Value::Null, json!(""), json!(17)] {
            assert!(
                matches!(read(text, &[("/created_at", missing)]), Err(BadFile::Damaged(why)) if why.contains("created_at"))
            );
        }
    }
}

/// Times of phases that are no times, whatever else stands there. Each is named with its phase, and none stands in its place.
#[test]
fn times_of_phases_that_are_odd() {
    let node = json!({"node_states": {"t1": {"status": "complete", "completed_at": 17}}});
    let cases: [(&str, &str, Value, &str); 7] = [
        (WORKFLOW, "/phase_metadata/1/timestamp", json!(1_761_042_600), "phase 1: `timestamp`"),
        (WORKFLOW, "/phase_metadata/1/started_at", json!("10:30"), "phase 1: `started_at`"),
        (WORKFLOW, "/replan_history/0/timestamp", json!("soon"), "phase 2: the replan's `timestamp`"),
        (PIPELINE, "/completed_phases/0/timestamp", json!("10:05"), "phase a: `timestamp`"),
        (PIPELINE, "/completed_phases/0/timestamp", json!([10]), "phase a: `timestamp`"),
        (CRUNCH, "/workflow_state/phase_started_at", json!("today"), "phase enrich: `phase_started_at`"),
        (CRUNCH, "/execution_graph", node, "phase t1: `completed_at`"),
    ];
    for (text, place, value, named) in cases {
        assert_eq!(warnings(&read(text, &[]).expect("it is valid")), [] as [String; 0], "{text}");
        let taken = read(text, &[(place, value)]).unwrap_or_else(|why| panic!("{place}: {why}"));
        assert!(warnings(&taken).iter().any(|warning| warning.starts_with(named)), "{place}: {:?}", warnings(&taken));
        if !place.ends_with("started_at") && !place.contains("replan") {
            assert_eq!(taken.step.imported.phases[0].ended_at, None, "{place}");
        }
    }
}

/// A status that nobody knows is no end of the work, and is named.
#[test]
fn a_status_that_nobody_knows() {
    for (status, known) in
        [("in_progress", true), ("failed", true), ("complete", true), ("aborted", false), ("Completed", false)]
    {
        let taken = read(CHECKPOINT, &[("/status", json!(status))]).expect("it is taken");
        assert_eq!(warnings(&taken).iter().any(|warning| warning.contains(status)), !known, "{:?}", warnings(&taken));
        assert_eq!(taken.step.imported.result.is_none(), status == "in_progress" || !known, "{status}");
    }
}

/// A count of phases that is a text is that count; one that is none is named; one that nobody can mean refuses the file, since with fewer
/// phases than there are the last one known would end the work.
#[test]
fn counts_of_phases_that_are_odd() {
    let phases = |value: Value| {
        read(CHECKPOINT, &[("/total_phases", value)]).map(|taken| (taken.plan.phases.len(), warnings(&taken).len()))
    };
    assert_eq!(phases(json!("3")), Ok((3, 0)));
    for odd in [json!(2.5), json!(-1), json!("many"), json!([3])] {
        assert_eq!(phases(odd.clone()), Ok((2, 1)), "{odd}");
    }
    assert!(matches!(phases(json!(10_001)), Err(BadFile::Damaged(why)) if why.contains("10001")));
    assert_eq!(phases(json!(null)), Ok((2, 0)));
}

/// A plan is no record of work; the error says what takes it.
#[test]
fn a_plan_is_told_from_a_record() {
    let plan = r#"{"phases": [{"id": "a", "name": "A", "dependencies": [], "status": "pending"}]}"#;
    assert!(matches!(read(plan, &[]), Err(BadFile::Damaged(why)) if why.contains("onward run")));
}

/// A script loads work that was taken over from its own file. It is told all that the file says.
#[test]
fn what_was_taken_over_is_loaded_as_it_was() {
    let (run, _) = begun(&[read(CHECKPOINT, &[]).expect("it is valid")]);
    let form = saved_form(&formats::as_it_stands(&run));
    let file: Value = serde_json::from_str(CHECKPOINT).expect("JSON");
    for key in [
        "workflow_description",
        "status",
        "current_phase",
        "total_phases",
        "completed_phases",
        "last_error",
        "workflow_state",
    ] {
        assert_eq!(form[key], file[key], "{key}");
    }
}

/// Two checkpoints of one graph: how each task stands in the older and in the newer one, whether the older one has it, and whether it
/// needs the one before.
fn folders() -> impl Strategy<Value = (Value, Value)> {
    proptest::collection::vec((0u8..3, 0u8..3, any::<bool>(), any::<bool>()), 1..6).prop_map(|tasks| {
        let nodes = |newer: bool| -> Map<String, Value> {
            let there = tasks.iter().enumerate().filter(|(at, task)| newer || task.2 || *at == 0);
            let node = |(at, (before, after, _, chained)): (usize, &(u8, u8, bool, bool))| {
                let word = ["complete", "pending", "running"][usize::from(if newer { *after } else { *before })];
                let known = |need: &usize| newer || tasks[*need].2 || *need == 0;
                let needs: Vec<String> =
                    at.checked_sub(1).filter(|need| *chained && known(need)).map(|need| format!("t{need}")).into_iter().collect();
                (format!("t{at}"), json!({"status": word, "needs": needs, "odd": at}))
            };
            there.map(node).collect()
        };
        let file = |id: &str, minute: u8, nodes: Map<String, Value>| {
            json!({
                "checkpoint_id": id, "version": "1.0", "created_at": format!("2025-01-14T10:{minute:02}:00Z"), "issue_number": 4,
                "workflow_state": {"current_phase": "enrich"}, "execution_graph": {"node_states": nodes},
                "recovery_info": {"can_resume": true, "warnings": []},
            })
        };
        (file("CP-enrich-1-a", 0, nodes(false)), file("CP-enrich-2-b", 30, nodes(true)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A folder has two checkpoints; the newer one knows tasks that the older one does not. Both come out as they went in: the older one
    /// learns nothing of what came later.
    #[test]
    fn every_checkpoint_of_a_folder_comes_out_as_it_went_in((older, newer) in folders()) {
        let files: Vec<TakenRun> = [&older, &newer]
            .map(|file| formats::read(file.as_object().expect("an object").clone(), "in", fallback()).expect("it is valid"))
            .into();
        let (_, checkpoints) = begun(&files);
        for (checkpoint, file) in checkpoints.iter().zip([&older, &newer]) {
            let out = formats::export(checkpoint, FileFormat::Crunch).expect("it is written");
            prop_assert_eq!(&out["execution_graph"], &file["execution_graph"]);
        }
    }
}
