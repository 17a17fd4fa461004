//! A working tree beside the first one of its repository, as `git worktree` makes them. Git is not started to find out.

use std::path::{Path, PathBuf};

use super::path_of;
use crate::sys::plain_file;

/// The files that link the two hold a path.
const LINK_BYTES_MAX: u64 = 16 * 1024;

/// A linked working tree, and the first one.
pub(crate) struct LinkedTree {
    pub(crate) folder: PathBuf,
    pub(crate) main: PathBuf,
}

/// The linked working tree that a folder lies in. Both sides have to name each other: whoever makes a folder can let it name any
/// repository, but not write into that.
pub(crate) fn linked_tree(from: &Path) -> Option<LinkedTree> {
    let folder = from.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let books = books_of(folder)?;
    let common = books.ancestors().nth(2)?;
    // Where the repository lies apart from its first tree nothing says where that is.
    let main = common.parent().filter(|_| common.ends_with(".git"))?.to_owned();
    Some(LinkedTree { folder: folder.canonicalize().ok()?, main })
}

/// Git's folder of a linked working tree, where both name each other.
pub(super) fn books_of(folder: &Path) -> Option<PathBuf> {
    let own = folder.join(".git");
    if !own.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let named = link(&own)?;
    let books = folder.join(path_of(named.strip_prefix(b"gitdir: ")?)).canonicalize().ok()?;
    let common = books.join(path_of(&link(&books.join("commondir"))?)).canonicalize().ok()?;
    let back = books.join(path_of(&link(&books.join("gitdir"))?)).canonicalize().ok()?;
    (books.parent()? == common.join("worktrees") && back == own.canonicalize().ok()?).then_some(books)
}

fn link(path: &Path) -> Option<Vec<u8>> {
    let bytes = plain_file::read(path, LINK_BYTES_MAX).ok()?;
    Some(bytes.strip_suffix(b"\n").unwrap_or(&bytes).to_vec())
}
