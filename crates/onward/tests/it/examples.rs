//! The examples, as they stand.

use std::path::Path;

use onward_testkit::TestProject;

use crate::project;

fn with(name: &str) -> (TestProject, String) {
    let project = project();
    let file = format!("examples/{name}.yaml");
    let text = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&file)).expect("the example");
    project.write(&file, text);
    (project, file)
}

/// Every example is valid, without a warning.
#[test]
fn examples_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).expect("the examples").flatten() {
        let name = entry.path().file_stem().expect("a name").to_string_lossy().into_owned();
        let (project, file) = with(&name);
        let checked_plan = project.command(["check", &file, "--json"]).json();
        assert_eq!(
            (&checked_plan["valid"], &checked_plan["diagnostics"]),
            (&true.into(), &serde_json::json!([])),
            "{file}"
        );
        checked += 1;
    }
    assert!(checked >= 6, "{checked} examples");
}

#[test]
fn the_build_builds() {
    let (project, file) = with("build");
    project.command(["run", &file]).expect(0);
    assert_eq!(project.read("target/build-example/test.log"), "it works\n");
}

/// One of three sources fails at first. All days are loaded once; one day is done again by its value.
#[test]
fn the_data_job_loads_every_day() {
    let (project, file) = with("data");
    project.command(["run", &file]).expect(0);
    assert_eq!(project.read("target/data-example/report.txt"), "300 rows\n");
    let attempts = |project: &TestProject| {
        let status = project.command(["status", "--json"]).json();
        let phases = status["completed"].as_array().expect("phases").clone();
        let of = |phase: &serde_json::Value| {
            (phase["shown"].as_str().unwrap_or_default().to_owned(), phase["attempts"].clone())
        };
        phases.iter().map(of).filter(|(name, _)| name.starts_with("fetch[")).collect::<Vec<_>>()
    };
    let (before, again) = (attempts(&project), "fetch[2026-11-14]");
    assert_eq!(before.iter().map(|(_, count)| count.as_u64()).collect::<Vec<_>>(), [Some(1), Some(2), Some(1)]);
    project.command(["resume", "@", "--retry", again]).expect(0);
    let after = attempts(&project);
    let more: Vec<&str> = after.iter().filter(|one| !before.contains(one)).map(|(name, _)| name.as_str()).collect();
    assert_eq!(more, [again]);
}

/// Nothing is published before a person says yes, and once after that.
#[test]
fn the_release_waits_for_people() {
    let (project, file) = with("release");
    project.command(["run", &file, "--input", "version=1.2.0"]).expect(15);
    assert!(!project.exists("target/release-example/published.txt"));
    project.command(["approve", "go-live", "--resume"]).expect(15);
    assert_eq!(project.read("target/release-example/published.txt"), "1.2.0\n");
    project.command(["report", "done", "announce"]).expect(0);
    project.command(["resume"]).expect(10);
    assert_eq!(project.command(["list", "--json"]).json()["runs"][0]["status"], "completed");
}

/// The agent says twice that it is done. The first time the page is not as it should be; then it is, and a person agrees.
#[test]
fn the_feature_is_checked_by_a_program() {
    let (project, file) = with("feature");
    let client = r#"#!/bin/sh
cat > /dev/null
page=target/feature-example/hello.html
test -e "$page" && tag=h1 || tag=h2
echo "<$tag>Hello</$tag>" > "$page"
echo '{"type":"system","subtype":"init","session_id":"s1","model":"fake"}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"Done.","num_turns":2,"total_cost_usd":0.1}'
"#;
    project.script("claude", client);
    let text = project.read(&file).replace("when: [failed, transient]", "when: [failed], backoff: { initial: 10ms }");
    project.write(&file, text);
    project.command(["run", &file]).expect(15);
    let status = project.command(["status", "--json"]).json();
    let build =
        status["completed"].as_array().expect("phases").iter().find(|phase| phase["id"] == "build").expect("it");
    assert_eq!(build["attempts"], 2, "{status}");
    project.command(["approve", "review", "--resume"]).expect(0);
    assert_eq!(project.read("target/feature-example/index.html"), "<h1>Hello</h1>\n");
}
