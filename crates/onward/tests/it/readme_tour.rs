//! The tour of the README, command by command, as a reader would type it.

use onward_testkit::tidy::console_commands;

use crate::project;

/// The first steps of a newcomer must work as printed: killed, resumed, stopped, resumed, with the report that is
/// shown.
#[test]
fn the_tour_works_as_printed() {
    let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(top.join("README.md")).expect("the README");
    let project = project();
    project.write("examples/tour.yaml", std::fs::read(top.join("examples/tour.yaml")).expect("the plan of the tour"));
    std::fs::create_dir_all(project.path("target/release")).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_onward"), project.path("target/release/onward")).expect("a link");
    let mut told = 0;
    for step in console_commands(&readme) {
        if step.command.starts_with("cargo ") || step.command.starts_with("scripts/") {
            continue;
        }
        told += 1;
        let ran = project.spawn(project.prepare_program("bash", ["-c", &step.command]));
        let ran = ran.wait_within(std::time::Duration::from_mins(1));
        // `timeout` says 124 when it had to interrupt.
        let expected = if step.command.starts_with("timeout ") { 124 } else { 0 };
        assert_eq!(ran.code, expected, "README:{}: {}\n{}", step.line, step.command, ran.err);
        if !step.output.is_empty() {
            assert_eq!(ran.out, step.output, "README:{}: {}", step.line, step.command);
        }
    }
    assert!(told >= 10, "the tour is gone from the README: {told} commands");
    let runs = project.command(["list", "--json"]).json();
    let statuses: Vec<_> = runs["runs"].as_array().expect("runs").iter().map(|run| run["status"].clone()).collect();
    assert_eq!(statuses, ["completed", "completed"]);
}
