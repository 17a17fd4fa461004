//! A repository of its own for every test, away from the settings of the machine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use onward_core::id::RunId;
use onward_engine::vcs::{Repository, RestoreTarget, TreeSnapshot};
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) top: PathBuf,
}

/// The content of a path: its bytes, or where a link leads to, and whether it may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    File(Vec<u8>, bool),
    Link(PathBuf),
}

impl World {
    /// A repository with one commit.
    pub(crate) fn new() -> Self {
        let world = Self::unborn(&[]);
        world.write("tracked.txt", "1\n");
        world.write(".gitignore", "*.log\n");
        world.commit("one");
        world
    }

    /// A repository without a commit.
    pub(crate) fn unborn(options: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder");
        let top = folder.path().canonicalize().expect("a path").join("project");
        fs::create_dir(&top).expect("a folder");
        let world = Self { folder, top };
        world.git(&[&["init", "-q", "-b", "main"], options].concat());
        world.git(&["config", "user.name", "someone"]);
        world.git(&["config", "user.email", "someone@example.org"]);
        world.make_store();
        world
    }

    pub(crate) fn make_store(&self) {
        fs::create_dir(self.store()).expect("a folder");
        fs::write(self.store().join(".gitignore"), "*\n").expect("a file");
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.top.join(".onward")
    }

    pub(crate) fn repository(&self) -> Repository {
        Repository::open(&self.top, &self.store()).expect("a repository")
    }

    /// As the user does it: with their hooks, filters and settings.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let (code, text) = self.git_code(words);
        assert_eq!(code, Some(0), "git {words:?}: {text}");
        text
    }

    pub(crate) fn git_code(&self, words: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new("git");
        command.args(words).current_dir(&self.top);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_bytes().starts_with(b"GIT_")) {
            command.env_remove(name);
        }
        let output = command.output().expect("git is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text.trim_end().to_owned())
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.top.join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, content).expect("a file");
    }

    pub(crate) fn mode(&self, path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).expect("a file of ours");
    }

    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    pub(crate) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    pub(crate) fn snapshot(&self, number: u64, last: Option<&TreeSnapshot>) -> TreeSnapshot {
        let last = last.map(|last| last.commit.as_str());
        self.repository().snapshot(&run(), number, last).expect("a snapshot")
    }

    /// Everything in the working tree but git's folders and the store.
    pub(crate) fn things(&self) -> BTreeMap<PathBuf, Thing> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.top.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let (path, about) = (entry.path(), entry.metadata().expect("about a file"));
                let name = path.strip_prefix(&self.top).expect("below the top").to_owned();
                if name == Path::new(".onward") || entry.file_name() == ".git" {
                    continue;
                }
                if about.is_symlink() {
                    found.insert(name, Thing::Link(fs::read_link(path).expect("a link")));
                } else if about.is_dir() {
                    folders.push(path);
                } else {
                    let executable = about.permissions().mode() & 0o100 != 0;
                    found.insert(name, Thing::File(fs::read(path).expect("a file"), executable));
                }
            }
        }
        found
    }

    /// The files of a commit, by the raw bytes of its objects.
    pub(crate) fn things_in(&self, commit: &str) -> BTreeMap<PathBuf, Thing> {
        let listed = self.raw(&["ls-tree", "-r", "-z", commit]);
        let lines = listed.split(|&byte| byte == 0).filter(|line| !line.is_empty());
        let things = lines.map(|line| {
            let tab = line.iter().position(|&byte| byte == b'\t').expect("a tab");
            let about = std::str::from_utf8(&line[..tab]).expect("plain text");
            let [mode, _, hash] = about.split(' ').collect::<Vec<_>>()[..] else { panic!("unexpected: {about}") };
            let path = PathBuf::from(std::ffi::OsStr::from_bytes(&line[tab + 1..]));
            let bytes = self.raw(&["cat-file", "blob", hash]);
            let thing = match mode {
                "120000" => Thing::Link(PathBuf::from(std::ffi::OsStr::from_bytes(&bytes))),
                mode => Thing::File(bytes, mode == "100755"),
            };
            (path, thing)
        });
        things.collect()
    }

    pub(crate) fn raw(&self, words: &[&str]) -> Vec<u8> {
        let output = Command::new("git").args(words).current_dir(&self.top).output().expect("git is installed");
        assert!(output.status.success(), "git {words:?}");
        output.stdout
    }

    /// All of git that a user can see.
    pub(crate) fn what_users_see(&self) -> Vec<String> {
        let asked: [&[&str]; 10] = [
            &["symbolic-ref", "HEAD"],
            &["for-each-ref", "refs/heads", "refs/tags", "refs/stash", "refs/remotes"],
            &["ls-files", "-s", "-v"],
            &["diff", "--cached"],
            &["diff"],
            &["ls-files", "-o", "--exclude-standard"],
            &["stash", "list"],
            &["reflog", "--all"],
            &["status"],
            &["config", "--local", "--list"],
        ];
        asked.iter().map(|words| self.git_code(&[&["--no-optional-locks"], *words].concat()).1).collect()
    }
}

pub(crate) fn run() -> RunId {
    RunId::new("run_demo_20260101_120000")
}

/// The way to a snapshot, where these were taken since.
pub(crate) fn to<'a>(target: &'a str, later: &'a [&'a str]) -> RestoreTarget<'a> {
    RestoreTarget { target, later, ..RestoreTarget::default() }
}

pub(crate) fn file(content: impl AsRef<[u8]>) -> Thing {
    Thing::File(content.as_ref().to_vec(), false)
}
