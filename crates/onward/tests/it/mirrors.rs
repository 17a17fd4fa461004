//! Stories about the files of other tools that are kept as a run stands, and about those that lie in a project.

use crate::project;

const MIRRORED: &str = "
onward: 1
name: points
checkpoint: { mirror: [pipeline-state, checkpoint, workflow, crunch] }
phases:
  a: { run: step a }
  b: { needs: a, run: step b }
  c: { needs: b, run: step c }
";

/// The seed's configuration moves the folder of its checkpoints, with the run in the place of an issue.
#[test]
fn the_location_moves_the_folder() {
    let project = project();
    project.plan(MIRRORED);
    project
        .write(".claude/checkpoint-config.yaml", "checkpoint:\n  storage:\n    location: \"elsewhere/{issue}/cp\"\n");
    let ran = project.command(["run"]).expect(0);
    assert!(!ran.err.contains("does not act on it"), "{ran}");
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    assert!(project.exists(format!("elsewhere/{run}/cp/index.yaml")));
    assert!(project.exists(format!("elsewhere/{run}/cp/latest")) && !project.exists(".claude/crunch"));
}

/// The driver is killed right before and right after a mirror gets its name, at each pass. The next start brings all mirrors up to date,
/// takes none of its own for somebody's edit, and leaves nothing half-written.
#[cfg(feature = "kill-points")]
#[test]
fn kills_around_mirror_writes() {
    let kill = |point: &str, pass: u32| {
        let mut project = project();
        project.plan(MIRRORED);
        let mark = project.root().join("killed");
        project.set_env("ONWARD_KILL_POINT", format!("{point}:{pass}"));
        project.set_env("ONWARD_KILL_MARK", mark.to_str().expect("a UTF-8 path"));
        let first = project.command(["run"]);
        if first.code != 0 {
            let list = project.command(["list", "--json"]).json();
            let again = if list["runs"][0]["status"] == "completed" { "resume" } else { "run" };
            project.command([again]).expect(0);
        }
        settled(&project, &format!("{point}:{pass}"));
        mark.exists()
    };
    for point in ["mirror.before-swap", "mirror.after-swap"] {
        let passes = [1, 2, 3, 7, 12].into_iter().filter(|pass| kill(point, *pass)).count();
        assert!(passes > 2, "{point} was passed {passes} times");
    }
}

#[cfg(feature = "kill-points")]
fn settled(project: &onward_testkit::TestProject, point: &str) {
    for phase in ["a", "b", "c"] {
        assert_eq!(project.count("end", phase), 1, "{point}: {phase} is done once");
    }
    assert!(!project.exists(".onward/mirrors/kept"), "{point}: one of our own was taken for an edit");
    let state: serde_json::Value = serde_json::from_str(&project.read(".claude/pipeline-state.json")).expect("whole");
    let done = state["completed_phases"].as_array().map(Vec::len);
    assert_eq!((done, &state["current_phase"]), (Some(3), &serde_json::Value::Null), "{point}: {state}");
    let names: Vec<String> = project.tree().into_keys().collect();
    let half = names.iter().filter(|name| name.contains(".claude/") && name.contains("new-")).count();
    assert_eq!(half, 0, "{point}: {names:?}");
    project.command(["doctor"]).expect(0);
}

/// Files of all four forms lie in a project, each damaged in its own way, and a mirror was edited. The doctor names each with what is
/// wrong; a good one is not named, and nothing is changed.
#[test]
fn the_doctor_names_what_is_wrong_with_each_file() {
    let project = project();
    project.plan(MIRRORED);
    project.command(["run"]).expect(0);
    project.write(".claude/pipeline-state.json", "{}");
    project.write(
        ".claude/checkpoints/implement_a_20260101_000000.json",
        "{\"checkpoint_id\": \"x\", \"workflow_type\": \"t\"}",
    );
    project.write(
        ".claude/checkpoints/newer.json",
        "{\"checkpoint_id\": \"x\", \"workflow_type\": \"t\", \"schema_version\": \"9.0\"}",
    );
    project.write(".claude/data/checkpoints/half.json", "{\"workflow_id\": ");
    project.write(".claude/crunch/7/checkpoints/CP-a-1-b.yaml", "checkpoint_id: CP-a-1-b\nversion: \"1.0\"\n");
    let before = project.tree();
    let findings = project.command(["doctor", "--json"]).expect(0).json()["findings"].clone();
    let of = |path: &str| {
        let found = findings
            .as_array()
            .expect("findings")
            .iter()
            .find(|one| one["path"].as_str().is_some_and(|it| it.contains(path)));
        found.unwrap_or_else(|| panic!("{path} is not named: {findings}"))["message"]
            .as_str()
            .expect("words")
            .to_owned()
    };
    let half = of("implement_a_20260101_000000.json");
    assert!(half.contains("is missing"), "{half}");
    assert!(of("newer.json").contains("9.0"));
    assert!(!of("half.json").is_empty());
    assert!(of("CP-a-1-b.yaml").contains("created_at"));
    assert!(of("pipeline-state.json").contains("mirror") || of("pipeline-state.json").contains("none of the formats"));
    assert_eq!(project.tree(), before);
}
