//! Pipes where git looks for lists of files. It would wait for their ends.

use std::time::{Duration, Instant};

use onward_testkit::TestProject;

use crate::project;

/// Two seconds until somebody looks, with room for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn pipe(path: &std::path::Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success(), "{}", path.display());
}

fn told_of(project: &TestProject, pipe: &str) {
    let begun = Instant::now();
    let ran = project.start(["run"]).wait_within(PATIENCE + PATIENCE);
    assert!(begun.elapsed() < PATIENCE, "{pipe}: {:?}", begun.elapsed());
    assert_eq!(project.count("end", "b"), 1, "{pipe}: {ran}");
    assert!(ran.err.contains(pipe), "{pipe} is not named: {ran}");
    project.wait_no_processes();
}

/// Somebody, or a program by mistake, has made a pipe named `.gitignore` or `.gitattributes` in some folder, or one is named by the
/// settings. The run goes on without copies of the files and says which pipe it is; nothing is held up for minutes.
#[test]
fn a_pipe_among_the_lists_of_git_holds_nothing_up() {
    for place in [".gitignore", "deep/er/.gitignore", ".gitattributes", "../lists/ignored"] {
        let project = project();
        project.git_init();
        project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  b: { needs: a, run: step b }\n");
        let path = project.path(place);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("our own folder");
        if place.ends_with("ignored") {
            project.git(["config", "core.excludesFile", path.to_str().expect("plain")]);
        }
        pipe(&path);
        told_of(&project, place.rsplit('/').next().expect("a name"));
    }
}
