//! A repository, found once and used often.

use std::collections::BTreeSet;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::call::{GitCall, command};
use super::trouble::GitTrouble;

/// The git repository that a project lies in.
#[derive(Debug)]
pub struct Repository {
    /// The top of the working tree; the project may lie below it.
    pub(super) top: PathBuf,
    /// The project's folder below the top, with a slash at its end; empty where both are the same.
    pub(super) prefix: Vec<u8>,
    /// Of this working tree.
    pub(super) git_dir: PathBuf,
    /// Of all working trees of the repository.
    pub(super) common_dir: PathBuf,
    /// The folder of onward's store.
    pub(super) store: PathBuf,
    pub(super) object_format: ObjectFormat,
    /// Refs are kept in a form that only git can read.
    pub(super) reftable: bool,
    /// Larger files are left out.
    pub(super) file_bytes_max: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// The name of the tree with nothing in it.
    pub(super) fn empty_tree(self) -> &'static str {
        match self {
            Self::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
    }
}

/// Why there is no git to use. Its text is for people.
#[derive(Debug)]
pub enum Without {
    NoRepository,
    NoProgram,
    /// There is no working tree.
    Bare,
    /// Git refuses, because the folder belongs to another user.
    ForeignOwner,
    /// Git says why.
    Other(String),
}

impl fmt::Display for Without {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRepository => f.write_str("this is no git repository"),
            Self::NoProgram => f.write_str("the git program is not installed"),
            Self::Bare => f.write_str("the git repository has no working tree"),
            Self::ForeignOwner => f.write_str(
                "the git repository belongs to another user, and git uses it only once safe.directory names it",
            ),
            Self::Other(why) => write!(f, "git cannot use this repository: {why}"),
        }
    }
}

impl Repository {
    /// The repository around a project. Where there is none this is learned without starting anything.
    pub fn open(project_top: &Path, store_folder: &Path) -> Result<Self, Without> {
        if !project_top.ancestors().any(|folder| folder.join(".git").exists()) {
            return Err(Without::NoRepository);
        }
        let words =
            ["--show-toplevel", "--show-prefix", "--absolute-git-dir", "--git-common-dir", "--show-object-format"];
        let answer = GitCall::new(command(project_top), "rev-parse").args(words).ask().map_err(|why| match why {
            GitTrouble::NotStarted { .. } => Without::NoProgram,
            other => Without::Other(other.to_string()),
        })?;
        if answer.code != Some(0) {
            return Err(why_not(&answer.said));
        }
        let lines: Vec<&[u8]> = answer.out.split(|&byte| byte == b'\n').collect();
        let [top, prefix, git_dir, common_dir, format, []] = lines.as_slice() else {
            return Err(Without::Other("its path has a line break in it".to_owned()));
        };
        let object_format = match *format {
            b"sha1" => ObjectFormat::Sha1,
            b"sha256" => ObjectFormat::Sha256,
            other => return Err(Without::Other(format!("unknown object format {}", other.escape_ascii()))),
        };
        let named = super::path_of(top);
        if !super::branch::is_around(&named, project_top) {
            let why = format!("its settings name another folder as its working tree, {}", named.display());
            return Err(Without::Other(why));
        }
        // Git gives this one as seen from where it was started.
        let common_dir = project_top.join(super::path_of(common_dir));
        Ok(Self {
            top: super::path_of(top),
            prefix: prefix.to_vec(),
            git_dir: super::path_of(git_dir),
            reftable: common_dir.join("reftable").is_dir(),
            common_dir: common_dir.canonicalize().unwrap_or(common_dir),
            store: store_folder.canonicalize().unwrap_or_else(|_| store_folder.to_owned()),
            object_format,
            file_bytes_max: super::FILE_BYTES_MAX,
        })
    }

    /// Leaves out files from another size on.
    #[must_use]
    pub fn with_file_bytes_max(mut self, bytes: u64) -> Self {
        self.file_bytes_max = bytes;
        self
    }

    /// The file whose lock says who works in this working tree.
    pub(crate) fn tree_lock_path(&self) -> PathBuf {
        self.git_dir.join("onward-tree.lock")
    }

    /// Whether the repository still has a commit.
    pub fn has_commit(&self, commit: &str) -> Result<bool, GitTrouble> {
        // Of the codes of `cat-file -e` nobody can tell what is missing from what went wrong.
        Ok(self.commits_there(&BTreeSet::from([commit]))?.contains(commit))
    }

    /// The full name of a commit that somebody names, by its hash, a part of it, a branch or a tag.
    pub fn commit_named(&self, named: &str) -> Option<String> {
        // No option: git before 2.30 knows no mark for the end of them.
        let named = Some(named).filter(|named| !named.starts_with('-'))?;
        self.call("rev-parse").args(["--verify", "--quiet", &format!("{named}^{{commit}}")]).line().ok()
    }

    /// The folder of the project below the top of the repository, as text.
    pub(crate) fn place(&self) -> String {
        String::from_utf8_lossy(&self.prefix).into_owned()
    }

    /// The project's folder in this working tree.
    pub(super) fn project_folder(&self) -> PathBuf {
        self.top.join(super::path_of(&self.prefix))
    }

    /// A call in the user's repository whose objects are on disk when it ends.
    pub(super) fn durable_call(&self, what: &'static str) -> GitCall {
        let mut command = command(&self.top);
        command.args(super::call::DURABLE).env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.top);
        GitCall::new(command, what)
    }

    /// A call in the user's repository. It takes no locks that it can do without.
    pub(super) fn call(&self, what: &'static str) -> GitCall {
        let mut command = command(&self.top);
        command.arg("--no-optional-locks").env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.top);
        GitCall::new(command, what)
    }

    /// A call that writes refs, by paths that go with the folder: where it is renamed in that moment git would make folders in its
    /// old place. The books of a linked working tree lie elsewhere; there it is left as it is.
    pub(super) fn wherever_it_is(&self, call: GitCall) -> GitCall {
        if self.git_dir != self.top.join(".git") {
            return call;
        }
        call.env("GIT_DIR", ".git").env("GIT_WORK_TREE", ".")
    }

    pub(super) fn hash_chars(&self) -> usize {
        match self.object_format {
            ObjectFormat::Sha1 => 40,
            ObjectFormat::Sha256 => 64,
        }
    }

    /// Whether a path of git's is the store's or that of git's own folder, or lies in one of them.
    pub(super) fn is_store(&self, path: &[u8]) -> bool {
        self.folders_apart().any(|folder| {
            let folder = folder.as_os_str().as_bytes();
            path.strip_prefix(folder).is_some_and(|rest| rest.first().is_none_or(|&byte| byte == b'/'))
        })
    }

    /// Folders below the top of which nothing is anybody's work: the store, and git's own ones, which a file `.git` may move to any
    /// place.
    pub(super) fn folders_apart(&self) -> impl Iterator<Item = &Path> {
        let all = [&self.store, &self.git_dir, &self.common_dir];
        all.into_iter()
            .filter_map(|folder| folder.strip_prefix(&self.top).ok())
            .filter(|folder| *folder != Path::new(""))
    }

    /// The path as seen from the project; none if it lies outside.
    pub(super) fn in_project(&self, path: &[u8]) -> Option<PathBuf> {
        path.strip_prefix(self.prefix.as_slice()).map(super::path_of)
    }
}

fn why_not(said: &str) -> Without {
    if said.contains("dubious ownership") || said.contains("unsafe repository") {
        Without::ForeignOwner
    } else if said.contains("must be run in a work tree") {
        Without::Bare
    } else if said.contains("not a git repository") {
        Without::NoRepository
    } else {
        Without::Other(said.lines().next().unwrap_or("it does not say why").to_owned())
    }
}
