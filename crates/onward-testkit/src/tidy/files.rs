//! The text files of the workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A text file of the workspace, by its path from the top.
#[derive(Clone, Debug)]
pub struct TextFile {
    pub path: String,
    pub text: String,
}

/// Every text file that git tracks, or would with the next `git add`.
#[track_caller]
pub fn text_files(top: &Path) -> Vec<TextFile> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(top);
    let done = git.output().expect("git starts");
    assert!(done.status.success(), "{git:?}: {}", String::from_utf8_lossy(&done.stderr));
    let names = String::from_utf8(done.stdout).expect("our file names are UTF-8");
    names.split_terminator('\0').filter_map(|name| text_file(top, name)).collect()
}

/// None for a file that is deleted but not yet committed as such, and for one that is no text.
fn text_file(top: &Path, name: &str) -> Option<TextFile> {
    let path = top.join(name);
    if !path.is_file() {
        return None;
    }
    let text = String::from_utf8(fs::read(path).ok()?).ok()?;
    Some(TextFile { path: name.to_owned(), text })
}

/// The top of the workspace, from the folder of one of its crates.
pub fn workspace_top(crate_folder: &str) -> PathBuf {
    let folder = Path::new(crate_folder);
    folder.ancestors().nth(2).expect("a crate lies two folders below the top").to_path_buf()
}
