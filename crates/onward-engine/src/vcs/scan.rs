//! How the working tree differs from an index, as `git status` lists it, and what may be taken from it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use super::call::parts;
use super::repository::Repository;
use super::trouble::GitTrouble;
use super::{LeftOut, WhyLeftOut};
use crate::mirror::KnownMirrors;

/// The words for `git status` that [`parse`] understands.
pub(super) const STATUS_WORDS: [&str; 5] =
    ["--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=all"];

/// A mode and the name of an object, as git writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) mode: String,
    pub(super) hash: String,
}

/// One path that is not the same in HEAD, the index and the working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: Vec<u8>,
    /// The entry of HEAD at this path.
    pub(super) head: Option<TreeEntry>,
    /// Whether the index differs from HEAD.
    pub(super) staged: bool,
    /// A merge left more than one version in the index.
    pub(super) unmerged: bool,
    pub(super) tree: InTree,
}

/// The state in the working tree, compared with the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InTree {
    Same,
    Changed,
    Gone,
    Untracked,
    /// A folder that git does not look into: a repository of its own.
    Repository,
}

/// Reads the answer of `git status`; none if it is not understood.
pub(super) fn parse(answer: &[u8]) -> Option<Vec<Difference>> {
    parts(answer).map(parse_one).collect()
}

fn parse_one(record: &[u8]) -> Option<Difference> {
    let (kind, rest) = (record.first()?, record.get(2..)?);
    match kind {
        b'?' => {
            let tree = if rest.ends_with(b"/") { InTree::Repository } else { InTree::Untracked };
            let path = rest.strip_suffix(b"/").unwrap_or(rest).to_vec();
            Some(Difference { path, head: None, staged: false, unmerged: false, tree })
        }
        // XY sub mH mI mW hH hI path
        b'1' => {
            let fields = fields::<8>(rest)?;
            let [x, y] = *fields[0] else { return None };
            let head = (fields[2] != b"000000").then(|| entry(fields[2], fields[5]));
            let (path, tree) = (fields[7].to_vec(), in_tree(y)?);
            Some(Difference { path, head, staged: x != b'.', unmerged: false, tree })
        }
        // XY sub m1 m2 m3 mW h1 h2 h3 path
        b'u' => {
            let fields = fields::<10>(rest)?;
            let tree = if fields[5] == b"000000" { InTree::Gone } else { InTree::Changed };
            Some(Difference { path: fields[9].to_vec(), head: None, staged: true, unmerged: true, tree })
        }
        _ => None,
    }
}

fn fields<const COUNT: usize>(record: &[u8]) -> Option<[&[u8]; COUNT]> {
    let found: Vec<&[u8]> = record.splitn(COUNT, |&byte| byte == b' ').collect();
    found.try_into().ok()
}

fn entry(mode: &[u8], hash: &[u8]) -> TreeEntry {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    TreeEntry { mode: text(mode), hash: text(hash) }
}

fn in_tree(letter: u8) -> Option<InTree> {
    match letter {
        b'.' => Some(InTree::Same),
        b'M' | b'T' | b'A' | b'U' => Some(InTree::Changed),
        b'D' => Some(InTree::Gone),
        _ => None,
    }
}

/// The changes that give an index what the working tree has.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// Taken from the working tree; git finds out by itself which of them are gone.
    pub(super) take: BTreeSet<Vec<u8>>,
    /// Removed without a look at the working tree, where something else may be in their place.
    pub(super) drop: BTreeSet<Vec<u8>>,
    pub(super) left_out: BTreeSet<LeftOut>,
    /// The index differs from HEAD before any of this.
    pub(super) staged: bool,
}

impl Sorted {
    pub(super) fn nothing_to_do(&self) -> bool {
        self.take.is_empty() && self.drop.is_empty()
    }
}

impl Repository {
    /// Decides about every difference inside the project.
    pub(super) fn sort(&self, differences: Vec<Difference>) -> Sorted {
        let mut sorted = Sorted::default();
        let mirrors = KnownMirrors::of(&self.store);
        for difference in differences {
            let Some(shown) = self.in_project(&difference.path) else { continue };
            if self.is_store(&difference.path) || mirrors.has(&shown, &self.top.join(super::path_of(&difference.path)))
            {
                continue;
            }
            sorted.staged |= difference.staged;
            let why = match difference.tree {
                InTree::Same => continue,
                InTree::Gone => {
                    sorted.drop.insert(difference.path);
                    continue;
                }
                InTree::Repository => Some(WhyLeftOut::Repository),
                InTree::Changed | InTree::Untracked => self.why_not_taken(&difference.path),
            };
            match why {
                None => {
                    sorted.take.insert(difference.path);
                }
                Some(why) => {
                    sorted.left_out.insert(LeftOut { path: shown, why });
                    if difference.tree == InTree::Changed {
                        sorted.drop.insert(difference.path);
                    }
                }
            }
        }
        sorted
    }

    pub(super) fn why_not_taken(&self, path: &[u8]) -> Option<WhyLeftOut> {
        let full = self.top.join(super::path_of(path));
        let Ok(about) = fs::symlink_metadata(&full) else { return None };
        let kind = about.file_type();
        if kind.is_symlink() {
            None
        } else if kind.is_dir() {
            Some(WhyLeftOut::Repository)
        } else if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device() {
            Some(WhyLeftOut::Special)
        } else if about.len() > self.file_bytes_max {
            Some(WhyLeftOut::TooLarge)
        } else {
            let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
            let opened = File::options().read(true).custom_flags(flags).open(&full);
            opened.is_err_and(|why| why.kind() != io::ErrorKind::NotFound).then_some(WhyLeftOut::Unreadable)
        }
    }

    /// Folders that git could not look into, from its warnings.
    pub(super) fn unreadable_folders(&self, said: &str) -> Vec<LeftOut> {
        let paths = said.lines().filter_map(|line| {
            let (_, rest) = line.split_once("could not open directory '")?;
            let path = rest.split_once("/':").map_or(rest, |(path, _)| path);
            self.in_project(path.as_bytes())
        });
        paths.map(|path| LeftOut { path, why: WhyLeftOut::Unreadable }).collect()
    }
}

/// Understands the answer of `git status`, or says what it was.
pub(super) fn understand(answer: &[u8]) -> Result<Vec<Difference>, GitTrouble> {
    parse(answer).ok_or_else(|| GitTrouble::unclear("status", answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Git lists a staged and changed file, one that is gone, an odd name, a conflict and a nested repository.
    /// Each becomes what it is, and an unknown kind is an error and not a guess.
    #[test]
    fn every_kind_of_line_is_understood() {
        let zeros = "0".repeat(40);
        let text = format!(
            "1 MM N... 100644 100644 100755 {zeros} {zeros} a b\0\
             1 .D N... 100644 100644 000000 {zeros} {zeros} gone\0\
             u UU N... 100644 100644 100644 100644 {zeros} {zeros} {zeros} both\0\
             ? line\nbreak\0? nested/\0"
        );
        let found = parse(text.as_bytes()).expect("it is understood");
        let seen: Vec<(&[u8], bool, InTree)> =
            found.iter().map(|one| (one.path.as_slice(), one.staged, one.tree)).collect();
        let expected: [(&[u8], bool, InTree); 5] = [
            (b"a b", true, InTree::Changed),
            (b"gone", false, InTree::Gone),
            (b"both", true, InTree::Changed),
            (b"line\nbreak", false, InTree::Untracked),
            (b"nested", false, InTree::Repository),
        ];
        assert_eq!(seen, expected);
        assert_eq!(parse(b"9 what\0"), None);
    }
}
