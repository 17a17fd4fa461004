//! A project on a file system that other machines use, too.

use std::fs;

use onward_testkit::TestProject;

use crate::project;

const PLAN: &str = "
onward: 1
name: demo
phases:
  a: { run: step a }
  b: { needs: a, run: \"step b 'test -e fixed'\" }
";

/// The numbers of NFS, SMB, FUSE (sshfs, virtiofs), 9p, Ceph, Lustre and GPFS.
const KINDS: [(i64, &str); 7] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "SMB"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
];

fn on(project: &mut TestProject, number: i64) {
    project.set_env("ONWARD_FILE_SYSTEM", number.to_string());
}

/// Nothing is written there and nothing is made, not even the folder of the store; it is said which kind it is and what can
/// be done.
#[test]
fn refused_before_anything_is_made() {
    let mut project = project();
    project.plan(PLAN);
    let before = project.tree();
    for (number, name) in KINDS {
        on(&mut project, number);
        project.command(["run"]).expect(74).err_names([name, ".onward", "network: allow"]);
    }
    project.command(["save", "implement", "x", "--state", "onward.yaml"]);
    assert_eq!(project.tree(), before);
    assert_eq!(project.count("begin", "a"), 0);
}

/// A project that was moved there can still be looked at.
#[test]
fn looking_works_there() {
    let mut project = project();
    project.plan(PLAN);
    project.command(["run"]).expect(1);
    on(&mut project, 0x6969);
    let before = project.tree();
    for words in [&["status"][..], &["list"], &["log"], &["show", "latest"], &["logs"], &["run", "--dry-run"]] {
        project.command(words).expect(0);
    }
    let found = project.command(["doctor"]).expect(0);
    assert!(found.out.contains("network"), "{found}");
    for words in [&["resume"][..], &["run", "--fresh"], &["checkpoint"], &["doctor", "--repair"]] {
        project.command(words).expect(74);
    }
    assert_eq!(project.tree(), before);
}

/// Whoever takes it upon them, and trusts the file that says so, gets a journal without memory that processes share; back on a disk the log is used again.
#[test]
fn allowed_by_the_configuration() {
    let mut project = project();
    project.plan(PLAN);
    project.write(".onward/config.yaml", "store: { network: allow }\n");
    fs::set_permissions(project.path(".onward"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("a mode");
    on(&mut project, 0x6969);
    project.command(["run"]).expect(74).err_names(["store.network", "onward trust"]);
    project.command(["trust"]).expect(0);
    project.command(["run"]).expect(1);
    assert!(!project.exists(".onward/onward.db-wal"), "a write-ahead log was used");
    project.command(["status"]).expect(0);
    project.write("fixed", "");
    project.command(["resume"]).expect(0);
    on(&mut project, 0);
    project.command(["checkpoint"]).expect(0);
    assert!(project.exists(".onward/onward.db-wal"), "the log is not used again");
    assert_eq!(project.command(["status", "--json"]).expect(0).json()["status"], "completed");
    project.command(["doctor"]).expect(0);
    project.ran_once(["a"]);
}
