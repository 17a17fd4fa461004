//! Files of other tools and files that are written for them: whatever lies in their places, nobody waits, nothing outside of the
//! project is written, and what somebody saved is not lost.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use onward_testkit::{TestProject, wait_until};

use crate::project;

const MIRROR: &str = ".claude/pipeline-state.json";
/// Longer than any mirror, and without a byte on the disk.
const HUGE_BYTES: u64 = 3 << 30;

const PLAN: &str = "
onward: 1
name: told
phases:
  a: { run: step a }
  b: { needs: a, run: step b }
";

const IMPORTED: &str = r#"{"schema_version": "2.1", "checkpoint_id": "implement_p_20251003_192230", "workflow_type": "implement",
    "project_name": "p", "created_at": "2025-10-03T19:22:30Z", "status": "in_progress", "current_phase": 3, "total_phases": 4,
    "completed_phases": [1, 2], "workflow_state": {}}"#;

fn pipe(project: &TestProject, path: &str) {
    let made = std::process::Command::new("mkfifo").arg(project.path(path)).status().expect("mkfifo is there");
    assert!(made.success());
}

fn mirrored(settings: &str) -> TestProject {
    let project = project();
    project.git_init();
    project.command(["init"]).expect(0);
    project.write(".onward/config.yaml", settings);
    project.plan(PLAN);
    fs::create_dir_all(project.path(".claude")).expect("a folder");
    project
}

/// A pipe, a folder, a link or a file without an end lies where a mirror is written. The run is done all the same, nothing of it is
/// changed, and what is wrong is on record.
#[test]
fn soak_whatever_lies_in_the_place_of_a_mirror() {
    for planted in ["pipe", "folder", "link", "huge"] {
        let project = mirrored("checkpoint:\n  mirror: [pipeline-state]\n");
        let elsewhere = project.root().join("elsewhere");
        fs::write(&elsewhere, "precious").expect("a file");
        match planted {
            "pipe" => pipe(&project, MIRROR),
            "folder" => fs::create_dir(project.path(MIRROR)).expect("a folder"),
            "link" => symlink(&elsewhere, project.path(MIRROR)).expect("a link"),
            _ => File::create(project.path(MIRROR)).and_then(|file| file.set_len(HUGE_BYTES)).expect("a file"),
        }
        let running = project.start(["run"]);
        let ran = wait_until(planted, || {
            project.command(["status", "--json"]).json()["status"]
                .as_str()
                .map(str::to_owned)
                .filter(|it| it == "completed")
        });
        assert_eq!(ran, "completed", "{planted}");
        running.wait().expect(0);
        let events = project.command(["log", "--events", "--json"]).json().to_string();
        assert!(events.contains(MIRROR), "{planted}: it is on record");
        assert_eq!(fs::read_to_string(&elsewhere).expect("the file"), "precious", "{planted}");
    }
}

/// The configuration names a folder for mirrors that is somewhere else, or git's, or ours. Nothing is written there, and it is said.
#[test]
fn soak_mirrors_stay_in_the_project() {
    for place in
        ["../beside/{issue}", "/tmp/onward-beside/{issue}", ".git/refs/heads/x", ".onward/run", "a/../../beside"]
    {
        let project = mirrored(&format!("checkpoint:\n  mirror: [crunch]\n  storage: {{ location: \"{place}\" }}\n"));
        let ran = project.command(["run"]).expect(0);
        assert!(!ran.err.contains("does not act on it"), "{place}: {}", ran.err);
        assert!(
            !project.root().join("beside").exists() && !fs::exists("/tmp/onward-beside").expect("a look"),
            "{place}"
        );
        assert!(!project.exists(".git/refs/heads/x") && !project.exists(".onward/run/index.yaml"), "{place}");
        assert!(!fs::exists(project.path(".onward/run/latest")).expect("a look"), "{place}");
        let events = project.command(["log", "--events", "--json"]).json().to_string();
        assert!(events.contains("a mirror lies in the project"), "{place}: {events}");
        project.command(["doctor"]).expect(0);
    }
}

/// Somebody saves a mirror in the moment in which it is written. What they saved is put aside and named.
#[cfg(feature = "kill-points")]
#[test]
fn what_is_saved_while_a_mirror_is_written_is_kept() {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    let mut project = mirrored("checkpoint:\n  mirror: [pipeline-state]\n");
    let held = project.root().join("held");
    project.set_env("ONWARD_HOLD_POINT", "mirror.before-swap");
    project.set_env("ONWARD_HOLD_FILE", held.to_str().expect("a UTF-8 path"));
    let running = project.start(["run"]);
    wait_until("the moment", || held.exists().then_some(()));
    project.write(MIRROR, "precious");
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                let _ = fs::remove_file(&held);
                thread::yield_now();
            }
        });
        running.wait().expect(0);
        over.store(true, Ordering::SeqCst);
    });
    let kept: Vec<_> = fs::read_dir(project.path(".onward/mirrors/kept")).expect("a folder").flatten().collect();
    assert!(kept.iter().any(|one| fs::read_to_string(one.path()).expect("a file") == "precious"), "{kept:?}");
}

/// A pipe, or a file without an end, is imported, shown, or lies where files of other tools lie. Nobody waits for it, and it is
/// not read into memory.
#[test]
fn pipes_and_endless_files_are_not_imported() {
    let project = project();
    project.command(["init"]).expect(0);
    project.plan(PLAN);
    pipe(&project, "pipe.json");
    project.command(["import", "pipe.json"]).expect(12).err_names(["not a plain file"]);
    fs::create_dir_all(project.path(".claude")).expect("a folder");
    File::create(project.path(MIRROR)).and_then(|file| file.set_len(HUGE_BYTES)).expect("a file");
    project.command(["import", MIRROR]).expect(12).err_names(["more than"]);
    project.command(["show", MIRROR]).expect(12);
    project.command(["doctor"]).expect(0);
    project.command(["run"]).expect(0);
}

/// The list of what git leaves out is a link, has a second name or is a pipe. Nothing is written through it, and nobody waits; the
/// import is done and says so.
#[test]
fn the_list_of_what_git_leaves_out_is_not_written_through() {
    for planted in ["link", "second name", "pipe", "linked folder"] {
        let project = project();
        project.git_init();
        project.command(["init"]).expect(0);
        let (list, elsewhere) = (project.path(".git/info/exclude"), project.root().join("profile"));
        let _ = fs::remove_file(&list);
        fs::create_dir_all(project.path(".git/info")).expect("a folder");
        fs::write(&elsewhere, "precious\n").expect("a file");
        match planted {
            "link" => symlink(&elsewhere, &list).expect("a link"),
            "second name" => fs::hard_link(&elsewhere, &list).expect("a second name"),
            "pipe" => pipe(&project, ".git/info/exclude"),
            _ => {
                fs::remove_dir(project.path(".git/info")).expect("it is empty");
                fs::create_dir(project.root().join("info")).expect("a folder");
                fs::write(project.root().join("info/exclude"), "precious\n").expect("a file");
                symlink(project.root().join("info"), project.path(".git/info")).expect("a link");
            }
        }
        project.write("it;is;a;command.json", IMPORTED);
        let ran = project.command(["import", "it;is;a;command.json"]).expect(0);
        assert!(ran.err.contains("exclude cannot be written"), "{planted}: {}", ran.err);
        assert_eq!(fs::read_to_string(&elsewhere).expect("the file"), "precious\n", "{planted}");
        assert!(
            planted != "linked folder"
                || fs::read_to_string(project.root().join("info/exclude")).expect("it") == "precious\n"
        );
    }
}

/// An export is written to a device or a pipe, or among the files of git or of the store. The device stays one, the pipe passes it
/// on, and the rest is refused. Files are for their owner alone, whatever their format.
#[test]
fn an_export_takes_the_place_of_plain_files_only() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let project = project();
    project.git_init();
    project.plan(PLAN);
    project.command(["run"]).expect(0);
    pipe(&project, "pipe");
    let reader = std::thread::spawn({
        let pipe = project.path("pipe");
        move || fs::read(pipe).expect("it is written to")
    });
    project.command(["export", "@", "--output", "pipe"]).expect(0);
    assert!(!reader.join().expect("a reader").is_empty());
    assert!(fs::metadata(project.path("pipe")).expect("it is there").file_type().is_fifo());
    for format in [None, Some("workflow")] {
        for place in [".onward/HEAD", ".git/config", ".onward/run/x"] {
            let before = fs::read(project.path(place)).ok();
            let mut words = vec!["export", "@", "--output", place];
            words.extend(format.map(|format| ["--format", format]).into_iter().flatten());
            project.command(words).expect(74).err_names([place, "of git or of the store"]);
            assert_eq!(fs::read(project.path(place)).ok(), before, "{place}");
        }
    }
    project.command(["export", "@", "--format", "crunch", "--output", "folder"]).expect(0);
    for path in ["folder/index.yaml", "folder"] {
        let mode = fs::metadata(project.path(path)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{path}");
    }
}
