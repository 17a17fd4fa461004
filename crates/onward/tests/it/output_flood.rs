//! Phases and checks that print far more than anybody reads.

use std::fs::{self, File};
use std::process::Stdio;

use crate::project;

/// Bytes that a driver may hold at most, whatever its phases print.
const DRIVER_KIB_MAX: u64 = 64 * 1024;

/// A phase prints without end, bytes that are no text and half a character at the last, and its check does the same. Driver and
/// files stay small, the run completes, and `logs` says how much was left out, to people and to programs.
#[test]
fn what_is_printed_without_end_is_bounded() {
    let project = project();
    project
        .script("shout", "#!/bin/sh\nyes 'ä€𝄞' | head -c 12000001; head -c 12000000 /dev/zero; printf '\\342\\202'\n");
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: step a 'shout; hold', verify: [shout] }
    ",
    );
    let driver = project.start(["run"]);
    let folder = |run: &str| project.path(format!(".onward/attempts/{run}/a/1"));
    let run = onward_testkit::wait_until("the run to be listed", || {
        project.command(["list", "--json"]).json()["runs"][0]["run"].as_str().map(str::to_owned)
    });
    onward_testkit::wait_until("the last of the output", || {
        let printed = fs::read(folder(&run).join("tail.1")).ok()?;
        printed.ends_with(b"\xe2\x82").then_some(())
    });
    let about = fs::read_to_string(format!("/proc/{}/status", driver.pid())).expect("the driver lives");
    let peak = about.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    assert!(peak.is_some_and(|kib: u64| kib < DRIVER_KIB_MAX), "the driver has grown to {peak:?} KiB");
    project.open("a");
    driver.wait_code(0);
    let kept: u64 =
        fs::read_dir(folder(&run)).expect("a folder").flatten().filter_map(|it| Some(it.metadata().ok()?.len())).sum();
    assert!(kept < 8 << 20, "{kept} bytes are kept");
    let logs = project.command(["logs", "latest", "a"]).expect(0).out;
    assert!(logs.contains("bytes left out …]") && logs.contains("== a attempt 1, its checks =="), "{}", logs.len());
    assert!(logs.ends_with("\n[… the rest is left out …]\n"), "the check says so too");
    let json = project.command(["logs", "latest", "--json"]).json();
    assert!(json["logs"][0]["output"].as_str().is_some_and(|said| said.contains("left out")), "in JSON");
}

/// The disk is full where the answer goes. Every verb says so and does not end as if it had been given; a run goes on, and
/// its end is its own. A reader who went away is none of this.
#[test]
fn an_answer_that_could_not_be_written_is_no_success() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: echo said }\n");
    project.write("state.json", "{}");
    let onto = |words: &[&str], out: Stdio| project.spawn_onto(project.prepare(words), Some(out), None).wait();
    let full = || Stdio::from(File::create("/dev/full").expect("there is one"));
    for words in [&["run", "--dry-run"][..], &["check", "--json"], &["schema", "plan"], &["--help"]] {
        onto(words, full()).expect(74).err_names(["the answer could not be written"]);
    }
    onto(&["run", "--json"], full()).expect(0);
    let answers = [
        &["logs", "latest", "a"][..],
        &["save", "build", "shop", "--state", "state.json"],
        &["load", "build"],
        &["list", "--json"],
        &["list"],
        &["doctor"],
    ];
    for words in answers {
        let ran = onto(words, full());
        assert_eq!(ran.code, 74, "{words:?}: {ran}");
        ran.err_names(["the answer could not be written", "No space left"]);
    }
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    onto(&["load", "build"], writer.into()).expect(0);
}
