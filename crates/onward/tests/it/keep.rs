//! `onward keep`: a timer that goes on by itself, put there and taken away.

use onward_testkit::TestProject;

use crate::project;

const CHAIN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: step b }
";

/// A run whose phase is turned away by a limit, and that nobody waits for.
const LIMITED: &str = "
onward: 1
name: limited
phases:
  a: { run: step a }
  b:
    needs: a
    run: |
      step b 'if test -e open; then exit 0; else echo retry-after: 1; exit 75; fi'
";

/// A `systemctl` that notes what it is told, and answers as one that works.
fn with_systemd(project: &TestProject) -> std::path::PathBuf {
    let told = project.root().join("systemctl");
    project.script("systemctl", &format!("#!/bin/sh\necho \"$@\" >> {}\n", told.display()));
    project.script("crontab", "#!/bin/sh\necho 'no crontab for you' >&2\nexit 1\n");
    told
}

/// A crontab in a file, and no systemd of the user.
fn with_cron(project: &TestProject) -> std::path::PathBuf {
    let tab = project.root().join("crontab");
    project.script("systemctl", "#!/bin/sh\nexit 1\n");
    let file = tab.display();
    project.script("crontab", &format!("#!/bin/sh\nif test \"$1\" = -l; then cat {file}; else cat > {file}; fi\n"));
    tab
}

/// The timer is put there once, however often it is asked for, and what is taken away is what was put there.
#[test]
fn keep_by_systemd() {
    let project = project();
    project.plan(CHAIN);
    project.command(["run"]).expect(0);
    let told = with_systemd(&project);
    let before = project.tree();
    let first = project.command(["keep"]).expect(0);
    let units = project.home().join(".config/systemd/user");
    let names: Vec<_> = std::fs::read_dir(&units).expect("units").map(|one| one.expect("a file").path()).collect();
    assert_eq!(names.len(), 2);
    assert!(names.iter().all(|path| first.err.contains(path.to_str().expect("text"))), "each is named: {}", first.err);
    let service = names.iter().find(|path| path.extension().is_some_and(|end| end == "service")).expect("a service");
    let text = std::fs::read_to_string(service).expect("text");
    assert!(
        text.contains("keep --once")
            && text.contains("KillMode=process")
            && text.contains(project.dir().to_str().expect("text")),
        "{text}"
    );
    let again = project.command(["keep", "--json"]).expect(0).json();
    assert_eq!((&again["unchanged"], &again["on"]), (&true.into(), &true.into()));
    std::fs::write(units.join("other.timer"), "theirs").expect("a file");
    project.command(["keep", "--off"]).expect(0);
    let left: Vec<_> = std::fs::read_dir(&units).expect("units").map(|one| one.expect("a file").file_name()).collect();
    assert_eq!(left, ["other.timer"]);
    let told = std::fs::read_to_string(told).expect("calls");
    assert!(
        told.contains("--user enable --now onward-keep-") && told.contains("--user disable --now onward-keep-"),
        "{told}"
    );
    std::fs::remove_dir_all(project.home().join(".config/systemd")).expect("a folder");
    project.command(["keep", "--off"]).expect(0).err_names(["no timer"]);
    let after = project.tree();
    assert_eq!(
        before.keys().filter(|path| path.contains("onward.yaml")).count(),
        after.keys().filter(|path| path.contains("onward.yaml")).count()
    );
}

/// The crontab of the user holds bytes that are no text, cannot be read at the moment, or has lost the mark behind our lines. The lines
/// of others come back byte by byte, or nothing is written.
#[test]
fn lines_of_others_are_not_lost() {
    let project = project();
    project.plan(CHAIN);
    project.command(["run"]).expect(0);
    let tab = with_cron(&project);
    let theirs = b"# caf\xe9\n0 1 * * * theirs\n";
    std::fs::write(&tab, theirs).expect("a crontab");
    project.command(["keep"]).expect(0);
    assert!(std::fs::read(&tab).expect("it").starts_with(theirs));
    let with_ours = std::fs::read(&tab).expect("it");
    let cut: Vec<u8> = with_ours
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !line.ends_with(b" ends\n"))
        .flatten()
        .copied()
        .chain(*b"5 5 * * * more\n")
        .collect();
    std::fs::write(&tab, &cut).expect("a crontab");
    for words in [&["keep"][..], &["keep", "--off"]] {
        project.command(words).expect(74).err_names(["crontab -e"]);
        assert_eq!(std::fs::read(&tab).expect("it"), cut);
    }
    std::fs::write(&tab, &with_ours).expect("a crontab");
    project.command(["keep", "--off"]).expect(0);
    assert_eq!(std::fs::read(&tab).expect("it"), theirs);
    let file = tab.display();
    project.script(
        "crontab",
        &format!(
            "#!/bin/sh\nif test \"$1\" = -l; then echo 'cannot open: Permission denied' >&2; exit 1; fi; cat > {file}\n"
        ),
    );
    project.command(["keep"]).expect(74).err_names(["Permission denied"]);
    assert_eq!(std::fs::read(&tab).expect("it"), theirs);
}

/// Where systemd does not answer it is lines of the crontab, between those of others, which stay as they are.
#[test]
fn keep_by_cron() {
    let project = project();
    project.plan(CHAIN);
    project.command(["run"]).expect(0);
    let tab = with_cron(&project);
    std::fs::write(&tab, "MAILTO=ana\n0 1 * * * theirs\n").expect("a file");
    project.command(["keep"]).expect(0).err_names(["crontab"]);
    let with = std::fs::read_to_string(&tab).expect("text");
    assert!(with.starts_with("MAILTO=ana\n0 1 * * * theirs\n# onward-keep-"), "{with}");
    assert_eq!(with.matches("keep --once").count(), 2, "{with}");
    project.command(["keep"]).expect(0).err_names(["installed already"]);
    assert_eq!(std::fs::read_to_string(&tab).expect("text"), with);
    project.command(["keep", "--off"]).expect(0);
    assert_eq!(std::fs::read_to_string(&tab).expect("text"), "MAILTO=ana\n0 1 * * * theirs\n");
}

/// Neither is there: nothing is installed, and that is said.
#[test]
fn keep_without_any_timer() {
    let project = project();
    project.plan(CHAIN);
    project.command(["run"]).expect(0);
    let mut keep = project.prepare(["keep"]);
    keep.env("PATH", project.root().join("nothing"));
    let ran = project.spawn(keep).wait();
    assert!(ran.code == 74 && ran.err.contains("error[no-timer]: no timer"), "{ran}");
    assert!(!project.home().join(".config/systemd").exists());
}

/// A run waits for a limit, and everything was shut down. The timer leaves it alone until the limit opens; then it goes on by itself.
#[test]
fn a_limit_opens_overnight() {
    let project = project();
    project.plan(LIMITED);
    project.command(["run", "--wait-limit", "0"]).expect(75);
    assert!(project.processes().is_empty());
    onward_testkit::wait_until("the limit to open", || {
        let kept = project.command(["keep", "--once", "--json"]).expect(0).json();
        project.write("open", "");
        (kept["started"].as_array().map(Vec::len) == Some(1)).then_some(())
    });
    project.wait_no_processes();
    assert_eq!(project.command(["status", "--json"]).json()["status"], "completed");
    project.ran_once(["a"]);
    let kept = project.command(["keep", "--once", "--json"]).expect(0).json();
    assert_eq!(kept["runs"].as_array().map(Vec::len), Some(0));
}

/// A driver is at work, another run failed, a third was paused by a person. The timer starts nothing.
#[test]
fn the_timer_leaves_alone_what_is_not_its() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases: { a: { run: step a hold } }\n");
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    project.plan_at("failing.yaml", "onward: 1\nname: failing\nphases: { f: { run: 'false' } }\n");
    project.command(["run", "failing.yaml"]).expect(1);
    let kept = project.command(["keep", "--once", "--json"]).expect(0).json();
    assert_eq!(kept["started"].as_array().map(Vec::len), Some(0), "{kept}");
    assert_eq!(kept["runs"].as_array().map(Vec::len), Some(2), "{kept}");
    project.open("a");
    driver.wait_code(0);
    project.ran_once(["a"]);
}

/// The machine goes down in the middle of a phase, without a word. After the restart the timer goes on with it: one driver, whatever
/// number of timers look at once.
#[cfg(feature = "kill-points")]
#[test]
fn everything_killed_and_a_new_boot() {
    let mut project = project();
    project.plan("onward: 1\nname: demo\nphases: { a: { run: step a }, b: { needs: a, run: step b hold } }\n");
    project.set_env("ONWARD_TEST_BOOT_ID", "first");
    project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    project.kill_everything();
    let same = project.command(["keep", "--once", "--json"]).expect(0).json();
    assert_eq!(same["started"].as_array().map(Vec::len), Some(0), "the machine was not restarted: {same}");
    project.set_env("ONWARD_TEST_BOOT_ID", "second");
    let timers: Vec<_> = (0..3).map(|_| project.start(["keep", "--once"])).collect();
    for timer in timers {
        timer.wait_code(0);
    }
    project.wait_ledger("begin", "b", 2);
    project.open("b");
    project.wait_no_processes();
    assert_eq!(project.command(["status", "--json"]).json()["status"], "completed");
    assert_eq!((project.count("begin", "b"), project.count("end", "b"), project.count("end", "a")), (2, 1, 1));
}
