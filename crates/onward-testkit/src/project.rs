//! A hermetic project: the real binary in a folder of its own, with nothing of the machine's in its environment.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use tempfile::TempDir;

use crate::ledger::{LedgerEntry, assert_kind, parse_ledger};
use crate::process;
use crate::ran::Ran;
use crate::running::Running;
use crate::terminal::Terminal;
use crate::wait::wait_until;

const STEP: &str = include_str!("step.sh");

/// Set to anything, it leaves the folders of the tests for a look.
const KEEP_VARIABLE: &str = "ONWARD_TESTKIT_KEEP";

/// A folder of its own for one test: project, home, temporary files, ledger and gates. Nothing outside is touched.
///
/// Phases call `step NAME [BODY]`, which keeps the ledger; the top of `step.sh` says what a body may hold. When the
/// project goes, every process that was started in it is killed and the folder is removed.
#[derive(Debug)]
pub struct TestProject {
    root: TempDir,
    binary: PathBuf,
    /// Every process of this project carries it in its environment, and no other does.
    token: String,
    environment: BTreeMap<String, OsString>,
    started: Cell<u32>,
}

impl TestProject {
    /// A fresh project for this binary: `TestProject::new(env!("CARGO_BIN_EXE_onward"))`.
    #[track_caller]
    pub fn new(binary: impl AsRef<Path>) -> Self {
        let root = tempfile::Builder::new().prefix("onward-test-").tempdir().expect("a temporary folder can be made");
        let top = root.path().canonicalize().expect("the folder is there");
        for folder in ["project", "home", "bin", "tmp", "gates", "live", "out", "runtime"] {
            fs::create_dir(top.join(folder)).expect("the folder is new");
        }
        fs::set_permissions(top.join("runtime"), Permissions::from_mode(0o700)).expect("the folder is ours");
        File::create(top.join("ledger")).expect("the folder is new");
        let token = token(&top);
        let mut environment = environment(&top, &token);
        // The program with a defect that a generator is to find.
        environment.extend(std::env::var_os("TESTKIT_MUTANT").map(|name| ("TESTKIT_MUTANT".to_owned(), name)));
        let binary = binary.as_ref().to_path_buf();
        let project = Self { root, binary, token, environment, started: Cell::new(0) };
        project.script("step", STEP);
        symlink(&project.binary, top.join("bin/onward")).expect("the folder is new");
        project
    }

    /// Leaves the folder for a look when the project goes; its processes go all the same.
    pub fn keep(&mut self) -> PathBuf {
        self.root.disable_cleanup(true);
        self.root().to_path_buf()
    }

    /// A variable of every command from now on.
    pub fn set_env(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.environment.insert(name.to_owned(), value.as_ref().to_owned());
    }

    /// Takes a variable away from every command from now on.
    pub fn remove_env(&mut self, name: &str) {
        self.environment.remove(name);
    }
}

/// Files.
impl TestProject {
    /// The folder that holds everything: `project`, `home`, `tmp`, the ledger.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The project's top, where every command is run.
    pub fn dir(&self) -> PathBuf {
        self.root().join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// A path inside the project.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir().join(path)
    }

    /// Writes `onward.yaml`; the common indentation is taken off.
    #[track_caller]
    pub fn plan(&self, text: &str) -> PathBuf {
        self.plan_at("onward.yaml", text)
    }

    /// Writes a plan under another name.
    #[track_caller]
    pub fn plan_at(&self, path: &str, text: &str) -> PathBuf {
        self.write(path, dedent(text))
    }

    /// Writes a file of the project, with the folders it needs.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders of the project can be made");
        fs::write(&path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// The text of a file of the project.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// Puts a program on the PATH of commands and phases.
    #[track_caller]
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root().join("bin").join(name);
        fs::write(&path, dedent(text)).expect("the folder is ours");
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("the file is ours");
        path
    }

    /// Every file below project and home with mode, size and digest: two of these are equal if nothing was written.
    ///
    /// Left out is what holds no data: `SQLite`'s `-shm`, an empty `-wal`, and git's own folder.
    pub fn tree(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for top in [self.dir(), self.home()] {
            describe(&top, self.root(), &mut found);
        }
        found
    }

    /// Runs git in the project and gives its stdout without the last newline; panics if it fails.
    #[track_caller]
    pub fn git<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        let mut git = Command::new("git");
        git.args(args).current_dir(self.dir()).env_clear().envs(&self.environment).stdin(Stdio::null());
        let done = git.output().expect("git starts");
        assert!(done.status.success(), "{git:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim_end_matches('\n').to_owned()
    }

    /// Makes the project a repository with one commit of all that is there.
    #[track_caller]
    pub fn git_init(&self) {
        self.git(["init", "-q", "-b", "main"]);
        self.git(["config", "user.name", "Ada"]);
        self.git(["config", "user.email", "ada@example.org"]);
        self.git(["add", "-A"]);
        self.git(["commit", "-q", "--allow-empty", "-m", "start"]);
    }
}

/// Commands.
impl TestProject {
    /// Runs `onward ARGS` to its end, without a terminal, whatever the exit code.
    #[track_caller]
    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        self.start(args).wait()
    }

    /// Starts `onward ARGS` in the background, without a terminal.
    #[track_caller]
    pub fn start<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Running {
        self.spawn(self.prepare(args))
    }

    /// `onward ARGS` as a [`Command`] to be changed before [`TestProject::spawn`]: another folder, a variable, a stdin.
    pub fn prepare<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        self.prepare_program(&self.binary, args)
    }

    /// Another program in the environment of the project, `sh` for one.
    pub fn prepare_program<A: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir()).env_clear().envs(&self.environment).stdin(Stdio::null());
        command
    }

    /// Starts a prepared command in a process group of its own; its output goes into files.
    #[track_caller]
    pub fn spawn(&self, command: Command) -> Running {
        self.spawn_onto(command, None, None)
    }

    /// The same with a way out of the test's own; what goes there cannot be asked for afterwards.
    #[track_caller]
    pub fn spawn_onto(&self, mut command: Command, stdout: Option<Stdio>, stderr: Option<Stdio>) -> Running {
        self.started.set(self.started.get() + 1);
        let number = self.started.get();
        let (out, err) = (self.root().join(format!("out/{number}.out")), self.root().join(format!("out/{number}.err")));
        let files = [&out, &err].map(|path| Stdio::from(File::create(path).expect("the folder is ours")));
        let [out_file, err_file] = files;
        command.stdout(stdout.unwrap_or(out_file)).stderr(stderr.unwrap_or(err_file));
        let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        let child = command.process_group(0).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Running { args, child, out, err, started: Instant::now() }
    }

    /// Starts `onward ARGS` with stdin, stdout and stderr on a terminal.
    #[track_caller]
    pub fn terminal<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Terminal {
        let mut command = self.prepare(args);
        command.env("TERM", "xterm-256color");
        Terminal::spawn(&command)
    }
}

/// Ledger and gates.
impl TestProject {
    /// Every line of the ledger, oldest first.
    #[track_caller]
    pub fn ledger(&self) -> Vec<LedgerEntry> {
        parse_ledger(&fs::read_to_string(self.root().join("ledger")).expect("the ledger is there"))
    }

    /// How many lines there are of this kind and phase.
    #[track_caller]
    pub fn count(&self, what: &str, phase: &str) -> usize {
        self.entries(what, phase).len()
    }

    /// The phases of all lines of this kind, in order.
    #[track_caller]
    pub fn order(&self, what: &str) -> Vec<String> {
        assert_kind(what);
        self.ledger().into_iter().filter(|entry| entry.what == what).map(|entry| entry.phase).collect()
    }

    /// Waits until the ledger has that many such lines; gives the last of them.
    #[track_caller]
    pub fn wait_ledger(&self, what: &str, phase: &str, count: usize) -> LedgerEntry {
        assert!(count > 0, "there is nothing to wait for");
        wait_until(&format!("line {count} of `{what} {phase}` in the ledger"), || {
            let mut found = self.entries(what, phase);
            if found.len() >= count { found.pop() } else { None }
        })
    }

    /// Demands that each of these phases began once and ended once, and that none ever overlapped itself.
    #[track_caller]
    pub fn ran_once<'a>(&self, phases: impl IntoIterator<Item = &'a str>) {
        for phase in phases {
            let seen = (self.count("begin", phase), self.count("end", phase));
            assert_eq!(seen, (1, 1), "begins and ends of {phase} in {:?}", self.ledger());
        }
        assert_eq!(self.order("overlap"), Vec::<String>::new(), "two attempts at one phase at the same time");
    }

    /// Opens a gate that a phase waits at with `hold`; it stays open.
    #[track_caller]
    pub fn open(&self, gate: &str) {
        let path = self.root().join("gates").join(gate);
        fs::create_dir_all(path.parent().expect("a gate has a folder")).expect("the folder is ours");
        File::create(path).expect("the folder is ours");
    }

    /// Shuts a gate again.
    #[track_caller]
    pub fn shut(&self, gate: &str) {
        fs::remove_file(self.root().join("gates").join(gate)).expect("the gate was open");
    }

    #[track_caller]
    fn entries(&self, what: &str, phase: &str) -> Vec<LedgerEntry> {
        assert_kind(what);
        self.ledger().into_iter().filter(|entry| entry.what == what && entry.phase == phase).collect()
    }
}

/// Processes.
impl TestProject {
    /// The processes that were started in this project, or by those, and still live.
    pub fn processes(&self) -> Vec<u32> {
        process::carrying(&self.token)
    }

    /// Waits until no process of this project is left.
    #[track_caller]
    pub fn wait_no_processes(&self) {
        wait_until("the end of all processes of the project", || self.processes().is_empty().then_some(()));
    }

    /// Kills every process of this project, as a power cut would: driver, attendants and phases at the same moment.
    #[track_caller]
    pub fn kill_everything(&self) {
        assert!(process::kill_all_carrying(&self.token), "processes that cannot be killed: {:?}", self.describe_left());
    }

    fn describe_left(&self) -> Vec<String> {
        self.processes().into_iter().map(|pid| format!("{pid} {}", process::command_line(pid))).collect()
    }
}

impl Drop for TestProject {
    fn drop(&mut self) {
        // Never a panic here: the test may be on its way down already, and a second one would hide the first.
        process::kill_all_carrying(&self.token);
        if std::env::var_os(KEEP_VARIABLE).is_some() {
            self.root.disable_cleanup(true);
        }
    }
}

/// A name that no other process on this machine has in its environment.
fn token(top: &Path) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970").as_nanos();
    let folder = top.file_name().expect("a temporary folder has a name").to_string_lossy();
    format!("{folder}-{}-{now}", std::process::id())
}

/// All that a command sees of the machine: a PATH and places of its own.
fn environment(top: &Path, token: &str) -> BTreeMap<String, OsString> {
    let mut path = top.join("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into()));
    let home = top.join("home");
    let pairs: [(&str, OsString); 19] = [
        ("PATH", path),
        ("HOME", home.clone().into()),
        ("TMPDIR", top.join("tmp").into()),
        ("XDG_CONFIG_HOME", home.join(".config").into()),
        ("XDG_DATA_HOME", home.join(".local/share").into()),
        ("XDG_STATE_HOME", home.join(".local/state").into()),
        ("XDG_CACHE_HOME", home.join(".cache").into()),
        ("XDG_RUNTIME_DIR", top.join("runtime").into()),
        ("LANG", "C.UTF-8".into()),
        ("TZ", "UTC".into()),
        ("TERM", "dumb".into()),
        ("NO_COLOR", "1".into()),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("GIT_CEILING_DIRECTORIES", top.into()),
        ("GIT_TERMINAL_PROMPT", "0".into()),
        ("TESTKIT_TOKEN", token.into()),
        ("TESTKIT_LEDGER", top.join("ledger").into()),
        ("TESTKIT_GATES", top.join("gates").into()),
        ("TESTKIT_LIVE", top.join("live").into()),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Takes off the empty first line, the indentation that all lines share, and what stands before the closing quote.
fn dedent(text: &str) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text).trim_end_matches(' ');
    let filled = text.split('\n').filter(|line| !line.trim().is_empty());
    let margin = filled.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    text.split('\n').map(|line| line.get(margin..).unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// Adds all that lies below a folder, by its path relative to `root`.
fn describe(folder: &Path, root: &Path, found: &mut BTreeMap<String, String>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let Ok(metadata) = path.symlink_metadata() else { continue };
        let name = path.strip_prefix(root).expect("it lies below the root").to_string_lossy().into_owned();
        let mode = metadata.permissions().mode();
        if metadata.is_dir() {
            if entry.file_name() != ".git" {
                found.insert(name, format!("folder {mode:o}"));
                describe(&path, root, found);
            }
        } else if metadata.is_symlink() {
            found.insert(name, format!("link to {:?}", fs::read_link(&path).ok()));
        } else if metadata.is_file() && !(name.ends_with("-shm") || name.ends_with("-wal") && metadata.len() == 0) {
            let mut hasher = DefaultHasher::new();
            hasher.write(&fs::read(&path).unwrap_or_default());
            found.insert(name, format!("file {mode:o} {} bytes {:016x}", metadata.len(), hasher.finish()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shared_indentation_is_taken_off() {
        assert_eq!(dedent("\n    a:\n      b\n\n    c\n    "), "a:\n  b\n\nc\n");
        assert_eq!(dedent("a\nb"), "a\nb");
        assert_eq!(dedent(""), "");
    }
}
