//! The golden files of format 1: a store and an exported run, as the first release wrote them. They open, go on, and are taken.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use onward_testkit::TestProject;
use serde_json::Value;

use crate::project;

/// Writes the golden files anew. Not any more once a release has written them: then a later format gets files of its own.
const UPDATE: &str = "UPDATE_FIXTURES";

const PLAN: &str = "
onward: 1
name: golden
inputs: { day: { default: '2026-11-18' } }
phases:
  a: { env: { DAY: '${{ inputs.day }}' }, run: 'echo day=$DAY >> \"$ONWARD_OUTPUT\"; echo one > a.txt', artifacts: { a: { path: a.txt, keep: true } } }
  b: { run: 'test $ONWARD_ATTEMPT = 2', retry: { max: 1, backoff: { initial: 0s } } }
  c: { needs: [a, b], external: { instructions: do c } }
  d: { needs: c, run: echo d }
";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/format-1")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    fs::set_permissions(to, Permissions::from_mode(0o700)).expect("it is ours");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("its kind");
        if kind.is_dir() {
            copy(&from, &to);
        } else if kind.is_file() {
            fs::copy(&from, &to).expect("a file");
            fs::set_permissions(&to, Permissions::from_mode(0o600)).expect("it is ours");
        }
    }
}

/// A run that waits in the middle, with checkpoints, a retried phase, outputs, an artifact and an answered message; a failed one, an
/// archived one, and saved state.
fn write_anew() {
    let project = project();
    project.plan(PLAN);
    project.plan_at("fails.yaml", "onward: 1\nname: fails\nphases:\n  x: { run: 'exit 3' }\n");
    project.plan_at("old.yaml", "onward: 1\nname: old\nphases:\n  x: { external: { instructions: do x } }\n");
    project.command(["run", "fails.yaml"]).expect(1);
    project.command(["run", "old.yaml"]).expect(15);
    project.command(["archive", "@"]).expect(0);
    project.write("state.json", "{\"project_name\": \"shop\", \"n\": 1, \"list\": [1, 2.5, null, \"x\"]}");
    project.command(["save", "implement", "shop", "--state", "state.json"]).expect(0);
    project.command(["run"]).expect(15);
    project.command(["checkpoint", "--name", "golden"]).expect(0);
    project.command(["report", "start", "c"]).expect(0);
    project.command(["report", "progress", "c", "--note", "half of it"]).expect(0);
    let top = fixtures();
    drop(fs::remove_dir_all(&top));
    let file = top.join("run.onward");
    fs::create_dir_all(&top).expect("a folder");
    project.command(["export", "@", "--output", file.to_str().expect("a path")]).expect(0);
    let store = project.path(".onward");
    for gone in ["run", "git", "reserve", "made-here", ".gitignore"] {
        drop(fs::remove_dir_all(store.join(gone)));
        drop(fs::remove_file(store.join(gone)));
    }
    copy(&store, &top.join("store"));
    fs::write(top.join("onward.yaml"), project.read("onward.yaml")).expect("a file");
}

fn statuses(project: &TestProject) -> Vec<(String, String)> {
    let listed = project.command(["list", "--all", "--json"]).expect(0).json();
    let text = |run: &Value, key: &str| run[key].as_str().unwrap_or_default().to_owned();
    let runs = listed["runs"].as_array().expect("runs").clone();
    runs.iter().map(|run| (text(run, "plan"), text(run, "status"))).collect()
}

/// Looks at everything of a run, and goes on with it to its end.
fn goes_on(project: &TestProject) {
    let log = project.command(["log", "@", "--json"]).expect(0).json();
    let checkpoints = log["checkpoints"].as_array().expect("checkpoints").clone();
    assert!(checkpoints.len() >= 4, "{log}");
    for one in &checkpoints {
        let shown = project.command(["show", one["id"].as_str().expect("an id"), "--json"]).expect(0).json();
        assert_eq!(shown["onward"], 1);
    }
    let status = project.command(["status", "@", "--json"]).expect(0).json();
    assert_eq!(
        status["remaining"].as_array().map_or(0, Vec::len) + status["running"].as_array().map_or(0, Vec::len),
        2
    );
    project.command(["report", "done", "c"]).expect(0);
    project.command(["resume"]).expect(0);
    assert_eq!(project.command(["status", "--json"]).expect(0).json()["status"], "completed");
    project.command(["doctor"]).expect(0);
}

/// The store of the first release is copied into a project. It is looked at, trusted, and gone on with to the end of its run.
#[test]
fn a_store_of_format_1_goes_on() {
    if std::env::var_os(UPDATE).is_some() {
        write_anew();
    }
    let project = project();
    copy(&fixtures().join("store"), &project.path(".onward"));
    project.write("onward.yaml", fs::read_to_string(fixtures().join("onward.yaml")).expect("the plan"));
    let seen = statuses(&project);
    for expected in
        [("fails.yaml", "failed"), ("old.yaml", "archived"), ("", "interrupted"), ("onward.yaml", "waiting")]
    {
        assert!(
            seen.iter().any(|(plan, status)| (plan.as_str(), status.as_str()) == expected),
            "{expected:?}: {seen:?}"
        );
    }
    project.command(["trust"]).expect(0);
    project.command(["doctor"]).expect(0);
    let saved = project.command(["load", "implement", "shop"]).expect(0).json();
    assert_eq!(saved["workflow_state"]["list"], serde_json::json!([1, 2.5, null, "x"]));
    goes_on(&project);
}

/// The exported run of the first release is imported, trusted, and gone on with.
#[test]
fn an_export_of_format_1_is_taken() {
    let project = project();
    project.write("onward.yaml", fs::read_to_string(fixtures().join("onward.yaml")).expect("the plan"));
    project.command(["import", fixtures().join("run.onward").to_str().expect("a path")]).expect(0);
    project.command(["trust"]).expect(0);
    goes_on(&project);
}
