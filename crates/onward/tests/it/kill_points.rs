//! The process is ended as `kill -9` would end it, at every labelled point of its life, each time it passes there.
//!
//! Whatever the point: the next start goes on, every phase is done in the end, none is done beside itself, and where
//! only the driver died none is done twice.

use onward_testkit::TestProject;

use crate::project;

const CHAIN: &str = "
onward: 1
name: points
phases:
  a: { run: step a }
  b: { needs: a, run: step b }
  c: { needs: b, run: step c }
";

/// How often a point is passed before it is certainly passed no more in a run of three phases.
const PASSES_MAX: u32 = 12;
const STARTS_MAX: u32 = 4;

/// The effects allowed for a phase whose run was killed at such a point.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    /// Only the driver dies: every phase is done once.
    Driver,
    /// The attendant dies after the phase was done: it is done again, because nobody can know.
    Attendant,
}

/// Runs the plan with a kill at the nth pass of a point, then goes on until it is complete. False: it was not passed
/// that often.
fn killed_at(point: &str, pass: u32, plan: &str, who: Who) -> bool {
    let mut project = project();
    project.plan(plan);
    let mark = project.root().join("killed");
    project.set_env("ONWARD_KILL_POINT", format!("{point}:{pass}"));
    project.set_env("ONWARD_KILL_MARK", mark.to_str().expect("a UTF-8 path"));
    for _ in 0..STARTS_MAX {
        let ran = project.command(["run"]);
        let list = project.command(["list", "--json"]).json();
        // A completed run is closed, also if its driver died a moment later: `run` would begin a new one.
        if list["runs"][0]["status"] == "completed" {
            break;
        }
        assert_ne!(ran.code, 0, "{point}:{pass}: the command says that all is done");
    }
    completed(&project, point, pass, who);
    mark.exists()
}

fn completed(project: &TestProject, point: &str, pass: u32, who: Who) {
    let status = project.command(["status", "--json"]).json();
    assert_eq!(status["status"], "completed", "{point}:{pass}");
    let runs = project.command(["list", "--all", "--json"]).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{point}:{pass}: one run, whatever happened");
    assert_eq!(project.order("overlap"), Vec::<String>::new(), "{point}:{pass}");
    for phase in ["a", "b", "c"] {
        let ends = project.count("end", phase);
        match who {
            Who::Driver => assert_eq!(ends, 1, "{point}:{pass}: {phase} is done once"),
            Who::Attendant => assert!((1..=2).contains(&ends), "{point}:{pass}: {phase} is done {ends} times"),
        }
    }
    project.wait_no_processes();
}

/// Kills at every pass of a point.
fn every_pass(point: &str, plan: &str, who: Who) {
    let passes = (1..=PASSES_MAX).take_while(|pass| killed_at(point, *pass, plan, who)).count();
    assert!(passes > 0, "{point} was never passed: the label is gone or the story misses it");
}

macro_rules! points {
    ($($name:ident: $point:literal, $who:ident;)*) => {
        $(
            #[test]
            fn $name() {
                every_pass($point, CHAIN, Who::$who);
            }
        )*

        /// Every label in the code has its story here.
        #[test]
        fn every_label_has_a_story() {
            let told = [$($point,)* "blob.before-rename", "blob.after-rename", "stop.before-record", "stop.after-record", "artifact.before-rename", "artifact.after-rename", "post.after-post", "call.after-given", "answer.before-post", "mark.before-write", "mark.before-rename", "mark.before-swap", "mark.after-rename", "mirror.before-swap", "mirror.after-swap", crate::rewinds_cut_off::EDITED_KEPT];
            let in_doctor = ["salvage.before-copy", "salvage.after-copy", "salvage.before-swap", "salvage.after-swap", "salvage.after-head"];
            let elsewhere =
                [crate::git::TOLD, &crate::lifecycle::KILLED_AT, &crate::export::KILLED_AT, crate::worktrees::KILLED_AT].concat();
            for (file, label) in labels() {
                let known = told.iter().chain(&in_doctor).chain(&elsewhere).any(|known| *known == label);
                assert!(known, "{file} has the kill point {label}, which no story hits");
            }
        }
    };
}

points! {
    kills_start_after_create: "start.after-create", Driver;
    kills_start_before_append: "start.before-append", Driver;
    kills_start_after_append: "start.after-append", Driver;
    kills_start_before_drive: "start.before-drive", Driver;
    kills_commit_before_append: "commit.before-append", Driver;
    kills_commit_after_append: "commit.after-append", Driver;
    kills_append_before_begin: "append.before-begin", Driver;
    kills_append_before_commit: "append.before-commit", Driver;
    kills_append_after_commit: "append.after-commit", Driver;
    kills_head_before_write: "head.before-write", Driver;
    kills_head_after_write: "head.after-write", Driver;
    kills_lease_after_lock: "lease.after-lock", Driver;
    kills_lease_after_row: "lease.after-row", Driver;
    kills_spawn_before: "spawn.before", Driver;
    kills_spawn_after: "spawn.after", Driver;
    kills_attend_before_started: "attend.before-started", Driver;
    kills_attend_after_started: "attend.after-started", Driver;
    kills_attend_before_exit_record: "attend.before-exit-record", Attendant;
    kills_attend_after_exit_record: "attend.after-exit-record", Driver;
}

/// Labels in the sources of store and engine.
fn labels() -> Vec<(String, String)> {
    let top = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    let mut folders = vec![top.join("onward-store/src"), top.join("onward-engine/src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source");
            for part in text.split("reached(\"").skip(1) {
                let label = part.split('"').next().expect("a label").to_owned();
                found.push((path.display().to_string(), label));
            }
        }
    }
    assert!(found.len() > 10, "the labels are not found any more");
    found
}

/// A plan so large that its record becomes a file of its own. The kill comes around the rename of that file.
#[test]
fn kills_blob_rename() {
    let noise = (0..160_000_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let noise = noise.fold(String::new(), |text, number| text + &format!("{number:016x}"));
    let plan = CHAIN.replace("name: points", &format!("name: points\ndescription: x{noise}"));
    for point in ["blob.before-rename", "blob.after-rename"] {
        assert!(killed_at(point, 1, &plan, Who::Driver), "{point} was not passed");
    }
}

/// The driver is killed around the moment at which the copy of an artifact gets its name. The next start copies it, or finds it
/// copied; nothing half-made is left, and the phase is not done again.
#[test]
fn kills_artifact_rename() {
    for point in ["artifact.before-rename", "artifact.after-rename"] {
        let mut project = project();
        project.plan(
            "onward: 1\nname: points\nphases:\n  a: { run: step a 'echo it > it', artifacts: { it: { path: it, keep: true } } }\n",
        );
        project.set_env("ONWARD_KILL_POINT", point);
        project.set_env("ONWARD_KILL_MARK", project.root().join("killed").to_str().expect("a UTF-8 path"));
        project.command(["run"]).expect(137);
        project.command(["run"]).expect(0);
        project.ran_once(["a"]);
        let status = project.command(["status", "--json"]).json();
        let (run, kept) = (&status["run"], &status["completed"][0]["artifacts"][0]);
        let shelf = project.path(format!(".onward/artifacts/{}", run.as_str().expect("a run")));
        let names: Vec<String> = std::fs::read_dir(shelf)
            .expect("a shelf")
            .map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned())
            .collect();
        assert_eq!(
            (names.as_slice(), &kept["kept"]),
            ([kept["digest"].as_str().expect("a digest").to_owned()].as_slice(), &true.into()),
            "{point}"
        );
    }
}

/// Ctrl+C comes while a phase works, and the driver is killed around the record of its request. The phase is stopped or
/// goes on; either way the next start brings it to its end.
#[test]
fn kills_stop_record() {
    for point in ["stop.before-record", "stop.after-record"] {
        let mut project = project();
        project.plan("onward: 1\nname: points\nphases:\n  a: { run: step a hold }\n  b: { needs: a, run: step b }\n");
        project.set_env("ONWARD_KILL_POINT", point);
        project.set_env("ONWARD_KILL_MARK", project.root().join("killed").to_str().expect("a UTF-8 path"));
        let driver = project.start(["run"]);
        project.wait_ledger("begin", "a", 1);
        driver.signal(onward_testkit::Signal::SIGINT);
        assert_eq!(driver.wait().code, 137, "{point}");
        project.open("a");
        let ran = project.command(["run"]);
        assert_eq!(ran.code, 0, "{point}: {}", ran.err);
        assert_eq!((project.count("end", "a"), project.order("overlap").len()), (1, 0), "{point}");
        project.ran_once(["b"]);
    }
}

/// Somebody posted a message to a driver that stood still; then both were killed. The next driver answers it before it starts
/// anything.
#[test]
fn kills_of_poster_and_driver_leave_a_message_that_is_answered_first() {
    let mut project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n  b: { needs: a, run: step b }\n");
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    driver.signal(onward_testkit::Signal::SIGSTOP);
    project.write("patch.json", "{\"told\": 1}");
    project.set_env("ONWARD_KILL_POINT", "post.after-post");
    let poster = project.command(["state", "merge", "patch.json"]);
    assert_ne!(poster.code, 0, "it was killed");
    project.remove_env("ONWARD_KILL_POINT");
    project.kill_everything();
    drop(driver);
    project.open("a");
    project.command(["run"]).expect(0);
    assert_eq!(project.command(["state", "get", "/told"]).json(), 1);
    let log = project.command(["log", "--events", "--json"]).json();
    let events: Vec<&str> =
        log["events"].as_array().expect("a list").iter().filter_map(|e| e["type"].as_str()).collect();
    let told = events.iter().position(|kind| *kind == "state_changed").expect("it is on record");
    let second = events.iter().rposition(|kind| *kind == "driver_started").expect("it was driven");
    assert!(told < second, "{events:?}");
}
