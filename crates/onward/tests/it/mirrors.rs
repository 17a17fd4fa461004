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

/// A run writes the files of four other tools. They are nobody's unfinished work, and importing one of them makes no second run. A file of
/// another tool beside them is told of.
#[test]
fn mirrors_are_no_work_of_another_tool() {
    let project = project();
    project.plan(MIRRORED);
    project.command(["run"]).expect(0);
    let runs = || project.command(["list", "--all", "--json"]).expect(0).json()["runs"].as_array().map(Vec::len);
    assert!(project.exists(".claude/pipeline-state.json") && project.exists(".claude/data/checkpoints"));
    for words in [&[][..], &["status"], &["run", "--fresh"]] {
        let ran = project.command(words.iter().copied()).expect(0);
        assert!(!ran.err.contains("of another tool"), "{words:?}: {ran}");
    }
    let before = runs();
    let crunch = std::fs::read_dir(project.path(".claude/crunch")).expect("a folder").flatten().next();
    let crunch = crunch.expect("a folder of a run").path().join("checkpoints");
    let crunch = crunch.to_str().expect("UTF-8");
    for place in [".claude/pipeline-state.json", ".claude/data/checkpoints", crunch] {
        project.command(["import", place]).expect(0).err_names(["was written by a run that is here"]);
        assert_eq!(runs(), before, "{place}");
    }
    project.write(".claude/checkpoints/other.json", "{}");
    project.command(["status"]).expect(0).err_names([".claude/checkpoints is of another tool"]);
}

/// The folder of mirrors is the top of the project. The run is not started, and the file says where.
#[test]
fn the_top_of_the_project_is_no_folder_for_mirrors() {
    let project = project();
    project.plan(MIRRORED);
    for location in [".", "./", "././/"] {
        project.write(".onward/config.yaml", format!("checkpoint:\n  storage:\n    location: \"{location}\"\n"));
        let ran = project.command(["run"]).expect(2).err_names(["config.yaml:3", "location"]);
        assert!(ran.err.contains("top of the project"), "{ran}");
    }
    assert_eq!(project.count("begin", "a"), 0);
}

/// Files of the user's have the names of mirrors. Those that git has are left alone; of another the content is put aside, and it is
/// not called a mirror that somebody changed.
#[test]
fn files_of_the_user_are_no_mirrors() {
    let project = project();
    project.write("docs/index.yaml", "mine: 1\n");
    project.write("docs/latest", "mine\n");
    project.plan(&MIRRORED.replace("[pipeline-state, checkpoint, workflow, crunch]", "[crunch, pipeline-state]"));
    project.git_init();
    project.command(["init"]).expect(0);
    project.write(".onward/config.yaml", "checkpoint:\n  storage:\n    location: docs\n");
    project.write(".claude/pipeline-state.json", "not ours\n");
    let ran = project.command(["run"]).expect(0);
    assert_eq!(
        (project.read("docs/index.yaml").as_str(), project.read("docs/latest").as_str()),
        ("mine: 1\n", "mine\n")
    );
    assert!(ran.err.contains("docs/index.yaml") && ran.err.contains("left alone"), "{ran}");
    let told = ran.err.lines().find(|line| line.contains("mirror .claude/pipeline-state.json")).unwrap_or_default();
    assert!(told.contains("took the place of a file of somebody else"), "{ran}");
    assert!(!told.contains("was changed by somebody else"), "{ran}");
    let kept = project.dir().join(".onward/mirrors/kept/.claude_pipeline-state.json.1");
    assert_eq!(std::fs::read_to_string(kept).expect("it was put aside"), "not ours\n");
}

/// A mirror was committed once, so that git has it. What is written into it later is in no commit along the way and in no
/// snapshot all the same.
#[test]
fn a_mirror_that_git_has_is_nobodys_work() {
    let project = project();
    let plan = "
onward: 1
name: points
checkpoint: { mirror: [pipeline-state], git-commit: { every: 1 } }
phases:
  a: { run: step a 'echo a > a.txt' }
  b: { needs: a, run: step b 'echo b > b.txt' }
";
    project.plan(plan);
    project.git_init();
    project.command(["run"]).expect(0);
    project.git(["add", "-f", ".claude/pipeline-state.json"]);
    project.git(["commit", "-q", "-m", "with the mirror"]);
    project.command(["run"]).expect(0);
    let commits = project.git(["log", "--all", "--diff-filter=AM", "--format=%s", "--", ".claude/pipeline-state.json"]);
    assert_eq!(commits.trim(), "with the mirror");
}
