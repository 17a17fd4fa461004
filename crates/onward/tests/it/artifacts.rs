//! Artifacts of phases, and the copies that are kept of them.

use std::fs;

use crate::project;

/// A phase leaves a file and a folder of which copies are kept, one for a week, and a file that is too large for its copy. All
/// three are on record with size and digest, two of them as kept, and the third says why it is not.
#[test]
fn copies_are_kept_as_the_plan_says() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a:
            run: step a 'mkdir -p out/sub; echo one > out/one; echo two > out/sub/two; echo report > report; echo large > large'
            artifacts:
              report: { path: report, keep: true, max-size: 7B }
              all: { path: out, keep: 7d }
              large: { path: large, keep: true, max-size: 5B }
    ",
    );
    let first = project.command(["run"]).expect(0);
    first.err_names(["no copy is kept", "large", "6 B"]);
    let status = project.command(["status", "--json"]).json();
    let artifacts = &status["completed"][0]["artifacts"];
    let facts = |at: usize| (&artifacts[at]["name"], &artifacts[at]["bytes"], &artifacts[at]["kept"]);
    assert_eq!(facts(0), (&"report".into(), &7.into(), &true.into()), "{artifacts}");
    assert_eq!(facts(1), (&"all".into(), &8.into(), &true.into()));
    assert_eq!(facts(2), (&"large".into(), &6.into(), &false.into()));
    assert!(artifacts[0]["kept_until"].is_null() && artifacts[1]["kept_until"].is_string(), "{artifacts}");
    assert!(artifacts[2]["not_kept"].as_str().is_some_and(|why| why.contains("6 B")), "{artifacts}");
    let run = status["run"].as_str().expect("a run");
    let digest = artifacts[0]["digest"].as_str().expect("a digest");
    assert_eq!(project.read(format!(".onward/artifacts/{run}/{digest}")), "report\n");
    let shown = project.command(["show", run]).expect(0).out;
    assert!(shown.contains("report: report (7 B") && shown.contains("kept until"), "{shown}");
    project.command(["delete", run, "--yes"]).expect(0);
    assert!(!project.exists(format!(".onward/artifacts/{run}")));
}

/// Files that finished phases left behind are deleted while the run rests. Those that were kept are put back as they were,
/// without a question; what was not kept makes its phase stale, and that is asked about.
#[test]
fn what_was_kept_is_put_back() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a:
            run: step a 'mkdir -p out; echo tool > out/tool; chmod +x out/tool; ln -s tool out/link; echo one > one'
            artifacts: { all: { path: out, keep: true }, one: { path: one, keep: true } }
          b: { run: step b 'echo two > two', artifacts: { two: two } }
          c: { needs: [a, b], run: step c hold }
    ",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "c", 1);
    project.kill_everything();
    first.wait_code(137);
    fs::remove_dir_all(project.path("out")).expect("it is there");
    fs::remove_file(project.path("one")).expect("it is there");
    let before = project.tree();
    let would = project.command(["run", "--dry-run"]).expect(0);
    assert_eq!(project.tree(), before, "{}", would.out);
    project.open("c");
    project.command(["run"]).expect(0).err_names(["out", "put back"]);
    assert_eq!((project.read("out/tool").as_str(), project.read("one").as_str()), ("tool\n", "one\n"));
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(project.path("out/link")).expect("a link").permissions());
    assert_eq!(mode & 0o100, 0o100, "it can be run again");
    project.ran_once(["a", "b"]);
}

/// The same with a file of which no copy is kept. Its phase is asked about; accepted once, it is not asked about again.
#[test]
fn what_was_not_kept_is_asked_about() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          b: { run: step b 'echo two > two', artifacts: { two: two } }
          c: { needs: [b], run: step c 'hold; test -e again' }
    ",
    );
    let first = project.start(["run"]);
    project.wait_ledger("begin", "c", 1);
    project.kill_everything();
    first.wait_code(137);
    fs::remove_file(project.path("two")).expect("it is there");
    project.open("c");
    project.command(["run"]).expect(14).err_names(["b", "no longer there", "--accept-stale"]);
    project.command(["run", "--resume", "--accept-stale"]).expect(1);
    project.write("again", "");
    project.command(["run", "--resume"]).expect(0);
    project.ran_once(["b"]);
}

/// Every combination of a matrix has an artifact of its own, named by its value. Each is looked for and found.
#[test]
fn artifacts_of_a_matrix_have_their_values() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          each:
            matrix: { topic: [x, y] }
            env: { TOPIC: \"${{ matrix.topic }}\" }
            run: step \"$TOPIC\" 'echo it > $TOPIC.md'
            artifacts: { report: \"${{ matrix.topic }}.md\" }
    ",
    );
    project.command(["run"]).expect(0);
    project.ran_once(["x", "y"]);
}

/// A copy was to be kept for a time only, and the time is over. The next start in the project takes it away, and no other.
#[test]
fn a_copy_goes_when_its_time_is_over() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a:
            run: step a 'echo one > one; echo two > two'
            artifacts: { one: { path: one, keep: 7d }, two: { path: two, keep: 7d } }
    ",
    );
    project.command(["run"]).expect(0);
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    let shelf = project.path(format!(".onward/artifacts/{run}"));
    let copies =
        || fs::read_dir(&shelf).expect("a shelf").map(|entry| entry.expect("a copy").path()).collect::<Vec<_>>();
    let first = copies().pop().expect("two copies");
    let name = first.file_name().expect("a name").to_string_lossy().into_owned();
    let digest = name.split_once(".until-").expect("a time in the name").0;
    fs::rename(&first, shelf.join(format!("{digest}.until-1"))).expect("it is ours");
    project.command(["run"]).expect(0);
    assert_eq!(copies().len(), 1);
}

/// A file and a folder of which copies are kept are named in `writes` of their phase and in `reads` of the next one, and are
/// deleted while the run rests. They are put back without a question, since nothing is other than it was, and whoever could
/// read them can read them again.
#[test]
fn what_is_put_back_makes_nothing_stale() {
    use std::os::unix::fs::PermissionsExt;
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a:
            run: step a 'umask 022; mkdir -p out; echo one > out/one; echo two > two'
            writes: [out/**, two]
            artifacts: { all: { path: out, keep: true }, two: { path: two, keep: true } }
          b: { needs: a, run: step b, reads: [out/**, two] }
          c: { needs: b, run: step c hold }
    ",
    );
    let _first = project.start(["run"]);
    project.wait_ledger("begin", "c", 1);
    project.kill_everything();
    fs::remove_dir_all(project.path("out")).expect("it is there");
    fs::remove_file(project.path("two")).expect("it is there");
    project.open("c");
    project.command(["run"]).expect(0).err_names(["put back"]);
    project.ran_once(["a", "b"]);
    assert_eq!((project.read("out/one"), project.read("two")), ("one\n".to_owned(), "two\n".to_owned()));
    project.write("fresh", "");
    let fresh = project.path("fresh");
    let mode = |path: std::path::PathBuf| fs::metadata(path).expect("it is there").permissions().mode();
    assert_eq!(mode(project.path("two")), mode(fresh), "readable as any other file of the project");
}

/// One copy in the store was changed by somebody, another was taken away. `doctor` names both, and the run is good all the
/// same.
#[test]
fn spoilt_copies_are_named() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a:
            run: step a 'echo one > one; echo two > two; echo three > three'
            artifacts: { one: { path: one, keep: true }, two: { path: two, keep: true }, three: { path: three, keep: true } }
    ",
    );
    project.command(["run"]).expect(0);
    assert!(!project.command(["doctor"]).expect(0).out.contains("artifact-copy"));
    let status = project.command(["status", "--json"]).json();
    let copy = |at: usize| {
        let digest = status["completed"][0]["artifacts"][at]["digest"].as_str().expect("a digest");
        project.path(format!(".onward/artifacts/{}/{digest}", status["run"].as_str().expect("a run")))
    };
    fs::write(copy(0), "eno\n").expect("it is ours");
    fs::remove_file(copy(1)).expect("it is there");
    let found = project.command(["doctor", "--json"]).expect(0).json();
    let messages: Vec<&str> =
        found["findings"].as_array().expect("findings").iter().filter_map(|one| one["message"].as_str()).collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    let said = |part: &str| messages.iter().any(|message| message.contains(part));
    assert!(said("copy of one that phase a left behind is not what was kept"), "{messages:?}");
    assert!(said("copy of two that phase a left behind is not in the store any more"), "{messages:?}");
}

/// One of two artifacts is not there, so the phase is not done. No copy is kept of the other: the next attempt makes another.
#[test]
fn no_copy_of_what_is_not_done() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: step a 'echo one > one', verify: [step check], artifacts: { one: { path: one, keep: true }, two: two } }
    ",
    );
    project.command(["run"]).expect(1).err_names(["two"]);
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    assert!(!project.exists(format!(".onward/artifacts/{run}")), "a copy is kept");
}

/// A pipe lies where a phase should have left a file, or inside the folder that it leaves. Nobody waits for its other end: the one
/// is refused, the other is named and not read.
#[test]
fn a_pipe_is_no_artifact_and_is_not_waited_for() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: step a 'mkfifo pipe', artifacts: { pipe: pipe } }
          b: { run: step b 'mkdir out; mkfifo out/pipe; echo one > out/one', artifacts: { all: out } }
          c: { run: step c 'mkdir kept; mkfifo kept/pipe', artifacts: { all: { path: kept, keep: true } } }
    ",
    );
    let ran = project.command(["run"]).expect(1);
    ran.err_names(["pipe) is refused", "neither a file nor a folder", "no copy is kept"]);
    let status = project.command(["status", "--json"]).json();
    let done: Vec<&str> =
        status["completed"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(done, ["b", "c"], "{status}");
    assert_eq!(status["completed"][0]["artifacts"][0]["bytes"], 4, "{status}");
}
