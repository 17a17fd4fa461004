//! This test binary, started again as a process that may be killed, limited or given a strange umask.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use nix::{
    sys::{
        signal::{Signal, raise},
        stat::{Mode, umask},
    },
    unistd::Pid,
};
use onward_core::id::{CheckpointId, Seq};
use onward_store::{
    Holder, Inspection, KeyframeKept, LeaseKind, OpenMode, Page, RunFilter, StoreCause, StoreError, StoreExt,
    kill_point,
};

use crate::kit::{at, drive, entry, noise, run, take, with_checkpoint, with_patch};

const ROLE: &str = "ONWARD_TEST_ROLE";
const APPENDS_MAX: u32 = 2_000;
const FOLDER: &str = "ONWARD_TEST_FOLDER";

/// The role of a child process.
pub(crate) enum Role {
    /// Appends until it is killed, telling each position once it is saved.
    AppendForever,
    /// The same, but kills itself the `nth` time it passes `point`.
    DieAt { point: &'static str, nth: u64 },
    /// Takes the run and keeps it until it is killed.
    Hold,
    /// Makes a store under a umask.
    Make { umask: u32 },
    /// Appends something large whose file another process deletes just before the transaction.
    LoseBlob,
    /// Appends twice; the second time the log may not grow while it is committed.
    FailToCommit,
    /// Appends twice; the second time a flush fails.
    FailToFlush,
}

pub(crate) fn command(role: &Role, folder: &Path) -> Command {
    let role = match role {
        Role::AppendForever => "append".to_owned(),
        Role::DieAt { point, nth } => format!("die {point} {nth}"),
        Role::Hold => "hold".to_owned(),
        Role::Make { umask } => format!("make {umask}"),
        Role::LoseBlob => "blob".to_owned(),
        Role::FailToCommit => "fail".to_owned(),
        Role::FailToFlush => "flush".to_owned(),
    };
    let mut command = Command::new(env::current_exe().expect("this binary"));
    command.args(["--exact", "child::act", "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env(ROLE, role).env(FOLDER, folder).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

pub(crate) fn spawn(role: &Role, folder: &Path) -> Child {
    command(role, folder).spawn().expect("a child process")
}

/// The next line that the child said to us; `None` once it is gone.
pub(crate) fn heard(lines: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    while lines.read_line(&mut line).expect("a pipe") > 0 {
        if let Some((_, said)) = line.split_once("child: ") {
            return Some(said.trim_end().to_owned());
        }
        line.clear();
    }
    None
}

pub(crate) fn ears(child: &mut Child) -> BufReader<std::process::ChildStdout> {
    BufReader::new(child.stdout.take().expect("a piped output"))
}

pub(crate) fn kill(child: &mut Child) {
    nix::sys::signal::kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).expect("a child to kill");
    child.wait().expect("a child that ends");
}

#[test]
#[ignore = "the child process of other tests"]
fn act() {
    let (Ok(role), Ok(folder)) = (env::var(ROLE), env::var(FOLDER)) else { return };
    let folder = PathBuf::from(folder);
    let words: Vec<&str> = role.split(' ').collect();
    match words.as_slice() {
        ["append"] => append_forever(&folder),
        ["die", point, nth] => {
            let nth = nth.parse().expect("a number");
            drop(LAST_POINT.set(((*point).to_owned(), AtomicU64::new(nth))));
            kill_point::set_hook(Some(die_at_point));
            append_forever(&folder);
        }
        ["hold"] => hold(&folder),
        ["make", mask] => {
            umask(Mode::from_bits_truncate(mask.parse().expect("a number")));
            drop(drive(&mut *open(&folder)));
        }
        ["blob"] => {
            drop(LAST_POINT.set((folder.join("blobs").display().to_string(), AtomicU64::new(0))));
            lose_blob(&folder);
        }
        ["fail"] => fail_to_commit(&folder),
        ["flush"] => fail_to_flush(&folder),
        other => panic!("an unknown role: {other:?}"),
    }
}

fn say(text: &str) {
    // Not through `print`, which the test harness would keep to itself until the end.
    let mut out = std::io::stdout().lock();
    out.write_all(format!("child: {text}\n").as_bytes()).and_then(|()| out.flush()).expect("a pipe");
}

fn open(folder: &Path) -> Box<dyn Inspection> {
    onward_store::open(folder, OpenMode::ReadWrite).expect("a store")
}

fn append_forever(folder: &Path) {
    let mut store = open(folder);
    let known = !store.runs(&RunFilter::default(), Page::first(1)).expect("a list").is_empty();
    let lease = if known { take(&mut *store) } else { drive(&mut *store) };
    let mut head = store.events(&run(), Seq(0), usize::MAX).expect("a journal").len() as u64;
    // Whoever started this one kills it long before the end.
    for _ in 0..APPENDS_MAX {
        let mut next = entry(format!("record {}", head + 1).as_bytes());
        let (id, seed) = (format!("CP-{head}"), head.to_le_bytes()[0]);
        if head % 5 == 4 {
            // Now and then something large enough for a file, so that those points are passed as well.
            next = with_checkpoint(next, &id, head + 1, &noise(1_100_000, seed));
        } else if head > 4 {
            next = with_patch(next, &id, head + 1, &noise(300, seed));
        }
        let appended = store.append(&lease, Seq(head), next).expect("an append");
        head = appended.head.0;
        say(&head.to_string());
        if appended.chain.patches == 2 {
            let kept = store.put_keyframe(&CheckpointId::new(id), noise(1_200_000, seed)).expect("a keyframe");
            assert_eq!(kept, KeyframeKept::New);
        }
    }
}

static LAST_POINT: OnceLock<(String, AtomicU64)> = OnceLock::new();

fn die_at_point(point: &'static str) {
    let (last, left) = LAST_POINT.get().expect("it was set before the hook");
    if point == last && left.fetch_sub(1, Ordering::Relaxed) == 1 {
        raise(Signal::SIGKILL).expect("a way to die");
    }
}

fn hold(folder: &Path) {
    let mut store = open(folder);
    let holder = Holder { host: "child".to_owned(), pid: std::process::id(), since: at(5) };
    let lease = store.take_lease(&run(), LeaseKind::Driving, holder).expect("a free run");
    say(&lease.epoch().to_string());
    std::thread::park();
}

fn lose_blob(folder: &Path) {
    let mut store = open(folder);
    let lease = drive(&mut *store);
    kill_point::set_hook(Some(delete_blobs));
    store.append(&lease, Seq(0), entry(&noise(1_500_000, 1))).expect("an append");
    kill_point::set_hook(None);
    say(&store.events(&run(), Seq(0), 9).map_or(0, |records| records[0].body.len()).to_string());
}

fn delete_blobs(point: &'static str) {
    if point == "append.before-begin" {
        let (blobs, _) = LAST_POINT.get().expect("it was set before the hook");
        for folder in std::fs::read_dir(blobs).expect("a folder of blobs").flatten() {
            std::fs::remove_dir_all(folder.path()).expect("a folder to remove");
        }
    }
}

fn fail_to_commit(folder: &Path) {
    let mut store = open(folder);
    let lease = drive(&mut *store);
    store.append(&lease, Seq(0), entry(b"record 1")).expect("an append");
    drop(LAST_POINT.set((folder.join("onward.db-wal").display().to_string(), AtomicU64::new(0))));
    kill_point::set_hook(Some(limit_at_commit));
    let failed = store.append(&lease, Seq(1), entry(b"record 2"));
    kill_point::set_hook(None);
    limit("unlimited");
    let io = matches!(failed, Err(StoreError::NotSaved { cause: StoreCause::Io, .. }));
    // The disk would work again, but this handle must not be believed any more.
    let refused = store.append(&lease, Seq(1), entry(b"record 2"));
    let still = matches!(refused, Err(StoreError::NotSaved { cause: StoreCause::Io, .. }));
    say(&format!("{io} {still} {}", store.events(&run(), Seq(0), 9).map_or(0, |records| records.len())));
}

fn fail_to_flush(folder: &Path) {
    let mut store = open(folder);
    let lease = drive(&mut *store);
    store.append(&lease, Seq(0), entry(b"record 1")).expect("an append");
    let beside = folder.parent().expect("a folder around it");
    std::fs::copy(folder.join("onward.db-wal"), beside.join("before")).expect("a copy of the log");
    std::fs::write(beside.join("now"), "").expect("a file");
    let failed = store.append(&lease, Seq(1), entry(b"record 2"));
    let again = store.append(&lease, Seq(1), entry(b"record 2"));
    let answer = match failed {
        Err(StoreError::Unclear { .. }) => "unclear".to_owned(),
        other => format!("{other:?}"),
    };
    say(&format!("{answer} {}", if again.is_err() { "refused" } else { "written on" }));
}

fn limit_at_commit(point: &'static str) {
    if point == "append.before-commit" {
        let (log, _) = LAST_POINT.get().expect("it was set before the hook");
        limit(&std::fs::metadata(log).expect("a log").len().to_string());
    }
}

/// Sets how large a file this process may make.
fn limit(bytes: &str) {
    let pid = std::process::id().to_string();
    let done = Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={bytes}:unlimited")]).status();
    assert!(done.is_ok_and(|status| status.success()), "prlimit");
}
