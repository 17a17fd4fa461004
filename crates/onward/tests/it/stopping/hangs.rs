//! Things that may hang while a run is driven or started.

use std::fs::File;
use std::io::{PipeReader, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Stdio;

use onward_testkit::{Ran, Running, Signal, Terminal, TestProject, wait_until};

/// Hangs for as long as the test wants it to, and says so. For commands of a plan.
pub(super) const HANG: &str = "if [ -e ../slow ]; then : > ../hung; sleep 40; fi";

/// A command that was begun, and how it was begun.
pub(super) enum Begun {
    Command(Running),
    Terminal(Box<Terminal>),
    /// Another process of ours stands in front of it.
    Inside(Running, u32),
}

impl Begun {
    pub(super) fn signal(&mut self, signal: Signal) {
        match self {
            Self::Command(running) => running.signal(signal),
            Self::Terminal(terminal) => terminal.signal(signal),
            Self::Inside(_, pid) => onward_testkit::send(*pid, signal),
        }
    }

    fn pid(&self) -> u32 {
        match self {
            Self::Command(running) | Self::Inside(running, _) => running.pid(),
            Self::Terminal(terminal) => terminal.pid(),
        }
    }

    #[track_caller]
    pub(super) fn wait_within(self, limit: std::time::Duration) -> Ran {
        match self {
            Self::Command(running) | Self::Inside(running, _) => running.wait_within(limit),
            Self::Terminal(terminal) => terminal.wait_within(limit),
        }
    }
}

/// One row of the table.
pub(super) struct Hang {
    pub(super) name: &'static str,
    pub(super) plan: &'static str,
    pub(super) phases: &'static [&'static str],
    /// Phases ignore what they are asked, so that they have to be killed.
    pub(super) takes_long: bool,
    /// The hanging process cannot be ended from here.
    pub(super) lives_on: bool,
    pub(super) prepare: fn(&TestProject),
    /// None where this machine does not allow it.
    pub(super) begin: fn(&TestProject) -> Option<Begun>,
    pub(super) is_hung: fn(&TestProject, &Begun),
    /// Takes away what hangs.
    pub(super) repair: fn(&TestProject),
}

const PLAIN: Hang = Hang {
    name: "",
    plan: "onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n  b: { needs: a, run: step b }\n",
    phases: &["a", "b"],
    takes_long: false,
    lives_on: false,
    prepare: |_| {},
    begin: |project| Some(Begun::Command(project.start(["run"]))),
    is_hung: |project, _| drop(project.wait_ledger("begin", "a", 1)),
    repair: |project| {
        let _ = std::fs::remove_file(project.root().join("slow"));
        project.open("a");
    },
};

const SLOW_PROBE: Hang = Hang { is_hung: |project, _| wait_hung(project), prepare: make_slow, ..PLAIN };

/// The same in a resume, after a first start in which the second phase failed.
const SLOW_RESUME: Hang = Hang {
    prepare: fail_then_make_slow,
    begin: |project| Some(Begun::Command(project.start(["resume"]))),
    ..SLOW_PROBE
};

fn fail_then_make_slow(project: &TestProject) {
    project.command(["run"]).expect(1);
    make_slow(project);
    project.write("../ok", "");
}

pub(super) static HANGS: [Hang; 20] = [
    Hang {
        name: "git in a snapshot",
        plan: "onward: 1\nname: demo\nphases:\n  a: { run: \"step a; : > ../slow\" }\n  b: { needs: a, run: step b }\n",
        prepare: |project| {
            project.git_init();
            slow_git(project, "");
        },
        is_hung: |project, _| wait_hung_after_a(project),
        ..PLAIN
    },
    Hang {
        name: "git in a commit",
        plan: "onward: 1\nname: demo\ncheckpoint: { git-commit: { every: 1 } }\nphases:\n  a: { run: \"step a 'echo a > made; : > ../slow'\" }\n  b: { needs: a, run: \"step b 'echo b > made'\" }\n",
        prepare: |project| {
            project.git_init();
            slow_git(project, "commit-tree");
        },
        is_hung: |project, _| wait_hung_after_a(project),
        ..PLAIN
    },
    Hang {
        name: "git whose child ignores signals and holds the pipes",
        plan: "onward: 1\nname: demo\nphases:\n  a: { run: \"step a; : > ../slow\" }\n  b: { needs: a, run: step b }\n",
        prepare: |project| {
            project.git_init();
            stubborn_git(project);
        },
        lives_on: true,
        is_hung: |project, _| wait_hung_after_a(project),
        ..PLAIN
    },
    Hang {
        name: "fingerprint",
        plan: "onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  b: { needs: a, fingerprint: ['if [ -e ../slow ]; then : > ../hung; sleep 40; fi'], run: step b }\n",
        ..SLOW_PROBE
    },
    Hang {
        name: "verify",
        plan: "onward: 1\nname: demo\nphases:\n  a: { verify: ['if [ -e ../slow ]; then : > ../hung; sleep 40; fi'], run: step a }\n  b: { needs: a, run: step b }\n",
        ..SLOW_PROBE
    },
    Hang {
        name: "done-when",
        plan: "onward: 1\nname: demo\nphases:\n  a: { done-when: 'if [ -e ../slow ]; then : > ../hung; sleep 40; fi', run: step a }\n  b: { needs: a, run: step b }\n",
        ..SLOW_PROBE
    },
    Hang {
        name: "probe at the first start",
        plan: "onward: 1\nname: demo\nfreshness: { probes: { x: { command: 'if [ -e ../slow ]; then : > ../hung; sleep 40; fi' } } }\nphases:\n  a: { run: step a }\n  b: { needs: a, run: step b }\n",
        ..SLOW_PROBE
    },
    Hang {
        name: "probe at a resume",
        plan: "onward: 1\nname: demo\nfreshness: { probes: { x: { command: 'if [ -e ../slow ]; then : > ../hung; sleep 40; fi' } } }\nphases:\n  a: { run: step a }\n  b: { needs: a, run: \"test -e ../ok && step b\" }\n",
        ..SLOW_RESUME
    },
    Hang {
        name: "fingerprint at a resume",
        plan: "onward: 1\nname: demo\nphases:\n  a: { fingerprint: ['if [ -e ../slow ]; then : > ../hung; sleep 40; fi'], run: step a }\n  b: { needs: a, run: \"test -e ../ok && step b\" }\n",
        ..SLOW_RESUME
    },
    Hang {
        name: "git at a resume",
        plan: "onward: 1\nname: demo\nfreshness: { git: { if-dirty: warn } }\nphases:\n  a: { run: step a }\n  b: { needs: a, run: \"test -e ../ok && step b\" }\n",
        prepare: |project| {
            project.git_init();
            slow_git(project, "");
            fail_then_make_slow(project);
        },
        ..SLOW_RESUME
    },
    Hang {
        name: "issue",
        plan: "onward: 1\nname: demo\nissue: { number: 42 }\nphases:\n  a: { run: step a }\n  b: { needs: a, run: step b }\n",
        prepare: |project| {
            make_slow(project);
            let root = project.root().display().to_string();
            let hang = HANG.replace("../", &format!("{root}/"));
            project
                .script("gh", &format!("#!/bin/sh\n{hang}\necho '{{\"title\":\"t\",\"body\":\"b\",\"labels\":[]}}'\n"));
        },
        is_hung: |project, _| wait_hung(project),
        ..PLAIN
    },
    Hang {
        name: "hash of what is read",
        plan: "onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  b: { needs: a, reads: ['big/*'], run: step b }\n",
        prepare: |project| {
            for number in 0..4_000 {
                let file = File::create(project.write(format!("big/{number}"), "")).expect("a file");
                file.set_len(60 << 20).expect("it has holes only");
            }
        },
        is_hung: |project, begun| wait_open(project, begun, "/big/"),
        repair: |project| std::fs::remove_dir_all(project.path("big")).expect("it is there"),
        ..PLAIN
    },
    Hang {
        name: "hash of an artifact",
        plan: "onward: 1\nname: demo\nphases:\n  a: { artifacts: { it: big }, run: \"step a 'truncate -s 900G big'\" }\n  b: { needs: a, run: step b }\n",
        is_hung: |project, begun| wait_open(project, begun, "/big"),
        repair: |project| drop(project.write("big", "small")),
        ..PLAIN
    },
    Hang {
        name: "stdout that nobody reads",
        begin: |project| {
            let command = project.prepare(["run", "--json"]);
            Some(Begun::Command(project.spawn_onto(command, Some(unread_pipe()), None)))
        },
        ..PLAIN
    },
    Hang {
        name: "stderr that nobody reads",
        begin: |project| {
            let command = project.prepare(["run"]);
            Some(Begun::Command(project.spawn_onto(command, None, Some(unread_pipe()))))
        },
        ..PLAIN
    },
    Hang {
        name: "stdout whose reader is gone",
        begin: |project| {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            let command = project.prepare(["run", "--json"]);
            Some(Begun::Command(project.spawn_onto(command, Some(writer.into()), None)))
        },
        ..PLAIN
    },
    Hang {
        name: "a terminal that stands still after Ctrl+S",
        begin: |project| {
            let mut terminal = project.terminal(["run"]);
            terminal.send("\u{13}");
            Some(Begun::Terminal(Box::new(terminal)))
        },
        ..PLAIN
    },
    Hang {
        name: "no room for the request to stop",
        is_hung: |project, begun| {
            project.wait_ledger("begin", "a", 1);
            leave_no_room(project, begun.pid());
        },
        ..PLAIN
    },
    Hang {
        name: "a phase that ignores signals",
        plan: "onward: 1\nname: demo\nphases:\n  a: { run: \"step a 'trap \\\"\\\" INT TERM; hold'\" }\n  b: { needs: a, run: step b }\n",
        takes_long: true,
        ..PLAIN
    },
    Hang {
        name: "a phase in another pid namespace",
        takes_long: true,
        lives_on: true,
        begin: |project| {
            let first = project.start(["run"]);
            project.wait_ledger("begin", "a", 1);
            first.kill();
            let binary = project.root().join("bin/onward");
            let inside = ["--pid", "--fork", "--mount-proc", "--"].map(PathBuf::from);
            let words = inside.into_iter().chain([binary, "resume".into()]);
            let outer = project.spawn(project.prepare_program("unshare", words));
            let child = || std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", outer.pid())).ok();
            let pid = wait_until("the process in the namespace, or its refusal", || {
                let pid = child().and_then(|text| text.split_whitespace().next()?.parse().ok());
                if outer.is_running() { pid.map(Some) } else { Some(None) }
            })?;
            wait_until("it goes on", || (!outer.is_running() || outer.err().contains("going on")).then_some(()));
            outer.is_running().then_some(Begun::Inside(outer, pid))
        },
        is_hung: |_, _| {},
        ..PLAIN
    },
];

fn make_slow(project: &TestProject) {
    project.write("../slow", "");
}

/// The same, once phase a is over. Git is also called beside it, for the copy of the journal; a phase that is stopped then is begun
/// again and would make the next git hang, too.
#[track_caller]
fn wait_hung_after_a(project: &TestProject) {
    wait_hung(project);
    wait_until("the end of a", || find(project.path(".onward/attempts"), "EXIT").map(drop));
}

#[track_caller]
pub(super) fn wait_hung(project: &TestProject) {
    wait_until("the hang", || project.root().join("hung").exists().then_some(()));
}

/// A git that hangs in this verb, or in all of them.
pub(super) fn slow_git(project: &TestProject, verb: &str) {
    let (real, root) = (real_git(), project.root().display());
    let hang = format!("if [ -e {root}/slow ]; then : > {root}/hung; sleep 40; fi");
    let text = format!("#!/bin/sh\ncase \" $* \" in *{verb}*) {hang} ;; esac\nexec {real} \"$@\"\n");
    project.script("git", &text);
}

/// A git whose call of this number hangs, counted from now, and no other.
pub(super) fn git_slow_at(project: &TestProject, call: u32) {
    let (real, root) = (real_git(), project.root().display());
    let count = format!("echo >> {root}/calls; if [ $(wc -l < {root}/calls) = {call} ]");
    project.script("git", &format!("#!/bin/sh\n{count}; then : > {root}/hung; sleep 40; fi\nexec {real} \"$@\"\n"));
}

/// A git that starts something in a session of its own which holds its pipes, ignores signals and outlives it.
fn stubborn_git(project: &TestProject) {
    let (real, root) = (real_git(), project.root().display());
    let hang = format!(
        "if [ -e {root}/slow ]; then trap '' TERM; setsid sh -c 'trap \"\" TERM INT; sleep 5' & : > {root}/hung; sleep 40; fi"
    );
    project.script("git", &format!("#!/bin/sh\n{hang}\nexec {real} \"$@\"\n"));
}

fn real_git() -> String {
    let found = std::process::Command::new("sh").args(["-c", "command -v git"]).output().expect("a shell");
    String::from_utf8_lossy(&found.stdout).trim().to_owned()
}

#[track_caller]
fn wait_open(_: &TestProject, begun: &Begun, path: &str) {
    let folder = format!("/proc/{}/fd", begun.pid());
    let open = || {
        let mut entries = std::fs::read_dir(&folder).ok()?.flatten();
        entries.find(|entry| std::fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().contains(path)))
    };
    wait_until("the file is being read", open);
}

/// A pipe that is full.
pub(super) fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let piece = [b'.'; 4_096];
    while onward_testkit::has_room(writer.as_fd()) {
        writer.write_all(&piece).expect("there is room");
    }
    (reader, writer.into())
}

/// Takes the place in which a driver would write its request that an attempt is to end.
pub(super) fn leave_no_room(project: &TestProject, driver: u32) {
    let started = wait_until("the record of the start", || find(project.path(".onward"), "STARTED"));
    let folder = started.parent().expect("a folder").to_owned();
    // A record is written beside its place first, under this name.
    std::fs::create_dir(folder.join(format!("STOP.{driver}"))).expect("nobody has stopped it yet");
}

/// The end of a full pipe whose other end is never read.
fn unread_pipe() -> Stdio {
    let (reader, writer) = full_pipe();
    // Open until the end of this test's process.
    std::mem::forget(reader);
    writer
}

fn find(folder: PathBuf, name: &str) -> Option<PathBuf> {
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).ok()?.flatten() {
            if entry.file_name() == name {
                return Some(entry.path());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    None
}
