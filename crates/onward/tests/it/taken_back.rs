//! Attempts that a way back took with it, and stores that were put back.

use crate::project;

fn attempts_of(project: &onward_testkit::TestProject, phase: &str) -> u64 {
    let status = project.command(["status", "--json"]).json();
    let all = ["completed", "remaining", "running"].iter().filter_map(|list| status[*list].as_array().cloned());
    let found = all.flatten().find(|one| one["id"] == phase);
    found.and_then(|one| one["attempts"].as_u64()).expect("it is told")
}

/// A phase failed twice and was brought back to where it had failed once, and forth again. It is told what stands: the attempts that were
/// taken back do not count, and keep their numbers all the same.
#[test]
fn attempts_that_were_taken_back_do_not_count() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { retry: { max: 0 }, run: step a; test -e ../ok }\n");
    project.command(["run"]).expect(1);
    project.command(["checkpoint", "--name", "once"]).expect(0);
    project.command(["run", "--retry", "a"]).expect(1);
    assert_eq!(attempts_of(&project, "a"), 2);
    project.command(["rewind", "once", "--yes"]).expect(0);
    assert_eq!(attempts_of(&project, "a"), 1);
    let told = project.command(["status"]);
    assert!(!told.out.contains("attempt 2"), "{told}");
    project.command(["undo", "--yes"]).expect(0);
    assert_eq!(attempts_of(&project, "a"), 2);
    project.command(["undo", "--yes"]);
    std::fs::write(project.root().join("ok"), "").expect("a file");
    project.command(["resume", "--retry", "a"]).expect(0);
    assert_eq!((attempts_of(&project, "a"), project.count("begin", "a")), (3, 3));
}

/// The database of a run was put back to an older state, in its place. Each way out that a plain start names is one.
#[test]
fn the_way_out_of_a_store_that_was_put_back_is_one() {
    let project = project();
    project.git_init();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  b: { needs: a, approval: ok? }\n  c: { needs: b, approval: ok? }\n");
    project.command(["run"]).expect(15);
    let files = ["onward.db", "onward.db-wal"].map(|name| project.path(format!(".onward/{name}")));
    let old = files.clone().map(|file| std::fs::read(file).expect("the store is there"));
    project.command(["approve", "@", "b"]).expect(0);
    project.command(["resume"]).expect(15);
    std::fs::write(&files[1], "").expect("our own file");
    for (file, old) in files.iter().zip(old) {
        std::fs::write(file, old).expect("our own file");
    }
    let told =
        project.command(["run"]).expect(12).err_names(["onward run --fresh --damaged aside", "onward doctor --repair"]);
    let named: Vec<&str> = told.err.lines().filter_map(|line| line.split("onward run ").nth(1)).collect();
    assert_eq!(named.len(), 1, "{told}");
    let words = named[0].split("  ").next().expect("a command").split(' ');
    project.command(std::iter::once("run").chain(words)).expect(15);
}
