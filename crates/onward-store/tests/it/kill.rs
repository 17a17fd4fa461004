//! Processes killed in the middle of a write. Whatever was acknowledged must be there, and the next one goes on.

use std::process::{Command, Stdio};

use onward_store::Alarm;

use crate::{
    child::{Role, command, ears, heard, kill, spawn},
    kit::{OnDisk, append_many, journal, run, take},
};

/// Checks what must hold after any kill; returns the number of records.
fn demand_order(disk: &OnDisk, acknowledged: u64) -> u64 {
    let mut look = disk.look();
    assert_eq!(look.holder(&run()).expect("an answer"), None, "a dead process holds nothing");
    let records = journal(&mut *look);
    let expected: Vec<String> = (1..=records.len()).map(|seq| format!("record {seq}")).collect();
    assert_eq!(records, expected);
    let found = records.len() as u64;
    assert!(found >= acknowledged, "{acknowledged} appends were acknowledged, {found} are there");
    assert!(found <= acknowledged + 1, "{acknowledged} appends were acknowledged, {found} are there");
    let alarms = look.health().alarms;
    assert!(alarms.iter().all(|alarm| *alarm == Alarm::NoReserve), "{alarms:?}");
    assert_eq!(look.verify().expect("a look at everything"), []);
    found
}

#[test]
fn every_acknowledged_append_survives_a_kill() {
    let disk = OnDisk::default();
    let mut acknowledged = 0;
    for round in 1..=8 {
        let mut child = spawn(&Role::AppendForever, &disk.folder());
        let mut lines = ears(&mut child);
        for _ in 0..round * 7 {
            acknowledged = heard(&mut lines).expect("a child that works").parse().expect("a position");
        }
        kill(&mut child);
        // What it still said before it died was acknowledged, too.
        while let Some(said) = heard(&mut lines) {
            acknowledged = said.parse().expect("a position");
        }
        acknowledged = demand_order(&disk, acknowledged);
    }
    let mut store = disk.store();
    let lease = take(&mut *store);
    append_many(&mut *store, &lease, acknowledged, 1);
}

#[test]
fn a_kill_at_every_point_leaves_order() {
    let points = [
        "append.before-begin",
        "append.before-commit",
        "append.after-commit",
        "keyframe.before-begin",
        "keyframe.before-commit",
        "keyframe.after-commit",
        "head.before-write",
        "head.after-write",
        "lease.after-lock",
        "lease.after-row",
        "blob.before-rename",
        "blob.after-rename",
    ];
    let disk = OnDisk::in_memory();
    // Something to begin with, so that each round starts in the same way.
    let mut store = disk.store();
    drop(crate::kit::drive(&mut *store));
    drop(store);
    let mut found = 0;
    for point in points {
        let times: &[u64] = if point.starts_with("lease") { &[1] } else { &[1, 2, 4] };
        for nth in times {
            let mut child = spawn(&Role::DieAt { point, nth: *nth }, &disk.folder());
            let mut lines = ears(&mut child);
            let mut acknowledged = found;
            while let Some(said) = heard(&mut lines) {
                acknowledged = said.parse().expect("a position");
            }
            let ended = child.wait().expect("a child that ends");
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(9), "{point} was never passed");
            found = demand_order(&disk, acknowledged);
        }
    }
    assert!(found > 10, "too little was written to mean anything");
}

#[test]
fn a_kill_while_the_store_is_made_leaves_a_store_that_opens() {
    for nth in 1..4 {
        let disk = OnDisk::in_memory();
        let mut child = spawn(&Role::DieAt { point: "head.before-write", nth }, &disk.folder());
        child.wait().expect("a child that ends");
        disk.store().health();
    }
}

#[test]
fn a_failed_commit_is_not_called_saved() {
    if Command::new("prlimit").arg("--version").output().is_err() {
        return;
    }
    let disk = OnDisk::default();
    let direct = command(&Role::FailToCommit, &disk.folder());
    // A process that writes too much is killed by default; here the write itself must fail.
    let mut child = Command::new("sh");
    child.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(direct.get_program()).args(direct.get_args());
    child.envs(direct.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a shell");
    let said = heard(&mut ears(&mut child));
    child.wait().expect("a child that ends");
    assert_eq!(said.as_deref(), Some("true true 1"));
    assert_eq!(demand_order(&disk, 1), 1);
    let mut store = disk.store();
    let lease = take(&mut *store);
    append_many(&mut *store, &lease, 1, 1);
}
