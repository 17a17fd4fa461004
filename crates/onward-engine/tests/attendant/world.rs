//! One attempt in a folder of its own, and what a test may do to it.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use onward_core::id::{Attempt, PhaseId, RunId};
use onward_engine::attendant::{
    self, AfterSuccess, AttemptFolder, AttemptFound, Attending, ExitRecord, SpawnError, Spec,
};
use onward_engine::process::{self, Pid};
use onward_engine::redact::SecretNames;

/// Started with this, the test program is a driver: it starts one attempt, says so, and waits to be killed.
pub(crate) const DRIVE: &str = "__drive";

/// No test waits longer than this for anything.
const LIMIT: Duration = Duration::from_secs(20);

pub(crate) type Tests = &'static [(&'static str, fn())];

/// A project folder with one attempt in it. All that it started is killed when it is dropped.
pub(crate) struct World {
    place: tempfile::TempDir,
    pub(crate) folder: AttemptFolder,
    pub(crate) spec: Spec,
    pub(crate) env: Vec<(OsString, OsString)>,
}

impl World {
    /// An attempt that will run this script.
    pub(crate) fn new(script: &str) -> Self {
        let place = tempfile::tempdir().expect("a temporary folder");
        let onward = place.path().join(".onward");
        fs::create_dir(&onward).expect("a new folder");
        let folder = AttemptFolder::new(&onward, &RunId::new("run_1"), &PhaseId::new("build"), Attempt(1));
        folder.create().expect("the attempt's folder");
        let tag = folder.tag();
        let mut world = Self { folder, spec: spec(&tag, place.path()), env: Vec::new(), place };
        world.spec.folder = world.folder.path().to_owned();
        world.spec.argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        for name in ["PATH", "TMPDIR"] {
            world.env.extend(std::env::var_os(name).map(|value| (OsString::from(name), value)));
        }
        world.set(process::TREE_VARIABLE, &attendant::tree_value(None, &tag));
        world.set("ONWARD_OUTPUT", world.folder.result_path().to_str().expect("a plain path"));
        world.set("ONWARD_SUMMARY", world.folder.summary_path().to_str().expect("a plain path"));
        world.set("ONWARD_PROGRESS", world.folder.progress_path().to_str().expect("a plain path"));
        world
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.into(), value.into()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn there(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub(crate) fn wait_for_file(&self, name: &str) {
        wait_for(|| self.there(name), name);
    }

    /// Lets a script go on that waits with [`hold`].
    pub(crate) fn open(&self, gate: &str) {
        fs::write(self.path(gate), "").expect("a writable folder");
    }

    pub(crate) fn try_start(&self) -> Result<Attending, SpawnError> {
        let exe = std::env::current_exe().expect("our own path");
        attendant::spawn(&exe, &self.folder, &self.spec, &self.env)
    }

    pub(crate) fn start(&self) -> Attending {
        self.try_start().expect("an attendant")
    }

    /// Starts the attempt and waits for its outcome.
    pub(crate) fn run(&self) -> ExitRecord {
        let mut attending = self.start();
        wait_for_end(attending.fd());
        attending.reap().expect("our own child");
        self.exit()
    }

    pub(crate) fn exit(&self) -> ExitRecord {
        let log = fs::read_to_string(self.folder.path().join("attendant.log")).unwrap_or_default();
        let exit = self.folder.exit().expect("a whole record");
        exit.unwrap_or_else(|| panic!("no outcome was recorded; {log}"))
    }

    pub(crate) fn find(&self) -> AttemptFound {
        let boot = process::boot_id().expect("a boot id");
        attendant::find(&self.folder, &boot, &boot).expect("readable records")
    }

    pub(crate) fn output(&self) -> String {
        let mut bytes = Vec::new();
        self.folder.read_output().expect("readable output").read_to_end(&mut bytes).expect("readable output");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The pid that a script has written with `echo $$ > NAME`.
    pub(crate) fn pid_in(&self, name: &str) -> Pid {
        let read = || fs::read_to_string(self.path(name)).ok()?.trim().parse().ok();
        wait_for(|| read().is_some(), name);
        Pid::from_raw(read().expect("it was there a moment ago"))
    }

    /// A driver of its own for this attempt, which can be killed; it is back when the attendant is started.
    pub(crate) fn start_by_another_driver(&self) -> Driver {
        let orders = serde_json::to_string(&self.spec).expect("plain values");
        let mut command = Command::new(std::env::current_exe().expect("our own path"));
        command.arg(DRIVE).env_clear().envs(self.env.iter().cloned());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a second driver");
        let mut stdin = child.stdin.take().expect("it was piped");
        writeln!(stdin, "{orders}").expect("a driver that listens");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it was piped"))
            .read_line(&mut line)
            .expect("a word from the driver");
        Driver { child, attendant: Pid::from_raw(line.trim().parse().expect("the attendant's pid")), _stdin: stdin }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = process::kill_tree(None, &self.spec.tag);
    }
}

pub(crate) struct Driver {
    child: Child,
    pub(crate) attendant: Pid,
    _stdin: std::process::ChildStdin,
}

impl Driver {
    /// SIGKILL to the driver alone.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("a living driver");
        self.child.wait().expect("our own child");
    }
}

/// The second driver.
pub(crate) fn drive() -> ExitCode {
    let mut line = String::new();
    let mut stdin = std::io::stdin().lock();
    stdin.read_line(&mut line).expect("orders");
    let mut spec: Spec = serde_json::from_str(&line).expect("orders");
    spec.driver_pid = Pid::this().as_raw();
    let env: Vec<_> = std::env::vars_os().collect();
    let exe = std::env::current_exe().expect("our own path");
    let attending = attendant::spawn(&exe, &AttemptFolder::at(spec.folder.clone()), &spec, &env).expect("an attendant");
    writeln!(std::io::stdout(), "{}", attending.pid).expect("a test that listens");
    // Until the test kills us, or ends and closes the other side.
    let _ = stdin.read_line(&mut line);
    ExitCode::SUCCESS
}

fn spec(tag: &str, working_directory: &Path) -> Spec {
    Spec {
        run: "run_1".to_owned(),
        phase: "build".to_owned(),
        attempt: 1,
        tag: tag.to_owned(),
        argv: Vec::new(),
        working_directory: working_directory.to_owned(),
        timeout_ms: None,
        grace_int_ms: Spec::GRACE_INT_MS,
        grace_term_ms: Spec::GRACE_TERM_MS,
        drain_ms: Spec::DRAIN_MS,
        output_head_bytes_max: Spec::OUTPUT_HEAD_BYTES_MAX,
        output_tail_bytes_max: Spec::OUTPUT_TAIL_BYTES_MAX,
        driver_pid: Pid::this().as_raw(),
        secret_names: SecretNames::default(),
        secret_values: Vec::new(),
        folder: PathBuf::new(),
        after_success: AfterSuccess::LetBe,
        stdin: None,
        client: None,
    }
}

/// Shell that waits until the test opens the gate.
pub(crate) fn hold(gate: &str) -> String {
    format!("until [ -e {gate} ]; do sleep 0.01; done")
}

/// Polls until something holds; never longer than the limit.
pub(crate) fn wait_for(mut holds: impl FnMut() -> bool, what: &str) {
    let until = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < until, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until the process behind a pidfd has ended.
pub(crate) fn wait_for_end<'a>(pidfd: impl Into<Option<BorrowedFd<'a>>>) {
    let pidfd = pidfd.into().expect("a kernel that gives pidfds");
    let limit = PollTimeout::try_from(LIMIT).expect("a small limit");
    let ready = poll(&mut [PollFd::new(pidfd, PollFlags::POLLIN)], limit).expect("a pollable descriptor");
    assert_eq!(ready, 1, "waited too long for the end of the attendant");
}

pub(crate) fn send(pid: Pid, signal: Signal) {
    kill(pid, signal).expect("a living process");
}

pub(crate) fn lives(pid: Pid) -> bool {
    process::start_time(pid).is_ok_and(|start| process::alive(pid, start))
}
