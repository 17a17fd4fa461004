//! Hostile clones and archives, one for each git key and each planted file. Every verb is typed in every one of them.
//!
//! Two canaries decide: a folder in which every planted command leaves a file, and a folder of the user's beside the
//! project to which every planted link leads. No command was executed, and not a byte beside the project has changed.

mod git_keys;
mod links;
mod replacements;
mod stores;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use onward_testkit::TestProject;

use crate::project;

/// A plan without harm: nothing in it does anything outside of the project.
const HARMLESS: &str = "
onward: 1
name: harmless
checkpoint: { mirror: [pipeline-state, workflow, crunch] }
freshness: { git: { if-dirty: warn } }
phases:
  a: { run: echo a >> made.txt }
  b: { needs: a, run: test -e go }
";

/// The same with commits along the way.
const WITH_COMMITS: &str = "
onward: 1
name: harmless
checkpoint: { git-commit: { every: 1 } }
freshness: { git: { if-dirty: warn } }
phases:
  a: { run: echo a >> made.txt }
  b: { needs: a, run: test -e go }
";

/// Verbs that only look: not even a file of the store may be made by them.
const LOOKING: [&[&str]; 18] = [
    &[],
    &["status"],
    &["status", "--json"],
    &["list", "--all"],
    &["log"],
    &["log", "--events"],
    &["show", "@"],
    &["logs", "@"],
    &["why", "@", "a"],
    &["graph"],
    &["check", "onward.yaml"],
    &["config", "--origin"],
    &["load", "implement"],
    &["state", "get"],
    &["completions", "bash"],
    &["doctor"],
    &["run", "--dry-run"],
    &["resume", "--dry-run"],
];

/// Verbs that write, the main ones twice: the second meets what the first has left.
const WRITING: [&[&str]; 17] = [
    &["checkpoint"],
    &["run", "--no-input"],
    &["run", "--resume", "--no-input"],
    &["checkpoint", "--name", "by-hand"],
    &["resume"],
    &["rewind", "@-"],
    &["undo"],
    &["diff", "@", "@-"],
    &["fork", "@"],
    &["save", "implement", "theirs", "--state", "state.json"],
    &["state", "merge", "state.json"],
    &["prune"],
    &["init"],
    &["doctor", "--repair"],
    &["run", "--fresh", "--no-input"],
    &["retry", "@", "b"],
    &["resume", "--retry", "b=clean"],
];

/// The commands typed where not all of them are: each way to the files of a store once.
const SHARE: [&str; 7] = [
    "run --dry-run",
    "run --no-input",
    "run --resume --no-input",
    "rewind @-",
    "save implement theirs --state state.json",
    "doctor --repair",
    "run --fresh --no-input",
];

/// All plantings and all verbs: `ONWARD_HOSTILE=all cargo nextest run -p onward --features kill-points hostile`.
fn is_full() -> bool {
    std::env::var_os("ONWARD_HOSTILE").is_some()
}

/// Of a long list every so many, where not everything is tried; which of them changes with the day, so that all have their turn.
fn share<T: Copy>(all: &[T], of: usize) -> Vec<T> {
    let of = if is_full() { 1 } else { of };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    let first = usize::try_from(now.as_secs() / 86_400).expect("a number of days") % of;
    all.iter().skip(first).step_by(of).copied().collect()
}

/// No verb may wait for what somebody planted.
const PATIENCE: Duration = Duration::from_secs(12);

/// A user with a project that came from elsewhere, and with files of their own beside it.
struct World {
    project: TestProject,
    name: String,
    found: Vec<String>,
    typed: usize,
}

impl World {
    fn new(name: &str, plan: &str) -> Self {
        let project = project();
        for folder in ["pwned", "victim", "victim/folder", "victim/repo"] {
            fs::create_dir(project.root().join(folder)).expect("a new folder");
        }
        fs::write(project.root().join("victim/file.txt"), "mine\n").expect("a file");
        fs::write(project.root().join("victim/folder/keep.txt"), "mine too\n").expect("a file");
        project.plan(plan);
        project.write("state.json", "{\"answer\": 42}");
        project.write("made.txt", "before\n");
        Self { project, name: name.to_owned(), found: Vec::new(), typed: 0 }
    }

    fn root(&self) -> &Path {
        self.project.root()
    }

    fn victim(&self, path: &str) -> PathBuf {
        self.root().join("victim").join(path)
    }

    /// A program that leaves a file in the folder of the canaries and passes on what it is given.
    fn evil(&self) -> String {
        let path = self.root().join("evil.sh");
        let text = format!("#!/bin/sh\n: > {}/pwned/$$\ncat 2>/dev/null\nexit 0\n", self.root().display());
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a mode");
        path.display().to_string()
    }

    /// Makes a repository of a folder beside the project, with a commit of its own.
    fn victim_repository(&self) {
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.args(words).current_dir(self.victim("repo")).env_clear().env("HOME", self.project.home());
            git.env("PATH", std::env::var_os("PATH").expect("a path")).env("GIT_CONFIG_NOSYSTEM", "1");
            assert!(git.output().expect("git starts").status.success(), "{git:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        fs::write(self.victim("repo/own.txt"), "theirs\n").expect("a file");
        git(&["add", "-A"]);
        git(&["-c", "user.name=V", "-c", "user.email=v@example.org", "commit", "-q", "-m", "own"]);
    }

    /// Types every verb and looks at the canaries after each.
    fn type_everything(&mut self) {
        let mut before = self.beside();
        let all = LOOKING.iter().chain(&WRITING);
        for words in all.filter(|words| is_full() || SHARE.contains(&words.join(" ").as_str())) {
            before = self.type_one(words, &before);
        }
    }

    fn type_one(&mut self, words: &[&str], before: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        self.typed += 1;
        let ended = self.project.start(words.iter().copied()).end_within(PATIENCE);
        let verb = words.join(" ");
        match ended {
            None => self.found.push(format!("{}: `onward {verb}` was held up", self.name)),
            Some(ran) if ran.code == 70 => self.found.push(format!("{}: {ran}", self.name)),
            Some(_) => {}
        }
        let pwned = fs::read_dir(self.root().join("pwned")).expect("the folder").count();
        if pwned > 0 {
            self.found.push(format!("{}: `onward {verb}` executed what was planted", self.name));
            fs::remove_dir_all(self.root().join("pwned")).expect("it can be removed");
            fs::create_dir(self.root().join("pwned")).expect("a new folder");
        }
        let now = self.beside();
        if let Some(path) = before.keys().chain(now.keys()).find(|path| before.get(*path) != now.get(*path)) {
            self.found.push(format!("{}: `onward {verb}` touched {path} beside the project", self.name));
        }
        now
    }

    /// Everything of the user's beside the project, byte by byte.
    fn beside(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        describe(&self.root().join("victim"), self.root(), &mut found);
        describe(&self.project.home(), self.root(), &mut found);
        found.retain(|path, _| !path.starts_with("home/.local") && !path.starts_with("home/.config"));
        found
    }
}

fn describe(folder: &Path, root: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let about = path.symlink_metadata().expect("it is there");
        let name = path.strip_prefix(root).expect("it lies below").display().to_string();
        let what = if about.is_dir() {
            describe(&path, root, found);
            "folder".to_owned()
        } else if about.is_symlink() {
            format!("link to {:?}", fs::read_link(&path))
        } else {
            format!("{:?}", fs::read(&path).map(|bytes| (bytes.len(), blake3_of(&bytes))))
        };
        found.insert(name, format!("{what} {:o}", about.mode()));
    }
}

fn blake3_of(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The thing that lies in the place of a file of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A link to a file or a folder of the user's.
    Link,
    /// A second name of a file of the user's.
    SecondName,
    /// A pipe that nobody ever writes into.
    Pipe,
}

/// Puts something into the place of a file or folder of the store.
fn plant(world: &World, path: &Path, kind: Kind) {
    fs::create_dir_all(path.parent().expect("a folder above")).expect("folders can be made");
    if let Ok(there) = path.symlink_metadata() {
        if there.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("it can be removed");
    }
    let is_folder = links::is_folder(path);
    match kind {
        Kind::Link if is_folder => symlink(world.victim("folder"), path).expect("a link"),
        Kind::Link => symlink(world.victim("file.txt"), path).expect("a link"),
        Kind::SecondName => fs::hard_link(world.victim("file.txt"), path).expect("a second name"),
        Kind::Pipe => {
            let made = Command::new("mkfifo").arg(path).status().expect("mkfifo starts");
            assert!(made.success());
        }
    }
}

/// Says how much was tried, and fails with all that was found.
#[expect(clippy::print_stdout, reason = "the figures of the generator")]
#[track_caller]
fn nothing_was_found(worlds: &[World]) {
    let typed: usize = worlds.iter().map(|world| world.typed).sum();
    println!("{} plantings, {typed} commands typed", worlds.len());
    let found: Vec<&str> = worlds.iter().flat_map(|world| &world.found).map(String::as_str).collect();
    assert!(found.is_empty(), "{} of {typed} commands:\n{}", found.len(), found.join("\n"));
}
