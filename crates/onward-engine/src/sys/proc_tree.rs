//! The processes above this one, as a `/proc` shows them that nobody has put anything over.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2, readlinkat};
use nix::sys::signal::kill;
use nix::sys::stat::Mode;
use nix::sys::statfs::{PROC_SUPER_MAGIC, fstatfs};

use super::process::{ANCESTORS_MAX, Pid};

/// How often a parent is asked for that ended while it was looked at.
const LOOKS_MAX: u32 = 8;

/// Bytes of one file below `/proc` that are read.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The root of a real procfs.
pub(crate) struct ProcTree {
    root: OwnedFd,
}

/// A process as it stands there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcSeen {
    pub(crate) pid: Pid,
    pub(crate) name: String,
    pub(crate) parent: i32,
    pub(crate) session: i32,
    /// In clock ticks since boot.
    pub(crate) start_time: u64,
    pub(crate) user: u32,
}

/// How far up the ancestors of a process could be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AncestryEnd {
    /// The last of them has no parent here.
    Top,
    /// The next one belongs to another user, and is not shown to this one.
    AnotherUser,
    /// The next one is there, and cannot be seen.
    Unseen,
    /// There are more of them than are looked at.
    TooDeep,
}

impl ProcTree {
    /// None where `/proc` is no procfs: hidden, or not mounted.
    pub(crate) fn open() -> Option<Self> {
        let root = open("/proc", OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty()).ok()?;
        let is_procfs = fstatfs(&root).is_ok_and(|about| about.filesystem_type() == PROC_SUPER_MAGIC);
        // The inode of its root, and of nothing else in it.
        let is_root = File::from(root.try_clone().ok()?).metadata().is_ok_and(|about| about.ino() == 1);
        (is_procfs && is_root).then_some(Self { root })
    }

    /// The number that this process has here; another one than it has for itself where `/proc` is that of another namespace.
    pub(crate) fn own(&self) -> Option<Pid> {
        let link = readlinkat(self.root.as_fd(), "self").ok()?;
        link.to_str()?.parse().ok().map(Pid::from_raw)
    }

    /// Opens what the kernel shows, and nothing that was mounted over it.
    fn at(&self, path: &str, flags: OFlag) -> io::Result<OwnedFd> {
        let flags = flags | OFlag::O_CLOEXEC;
        let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_NO_XDEV | ResolveFlag::RESOLVE_BENEATH);
        match openat2(self.root.as_fd(), path, how) {
            // An old kernel, or a filter that does not know the call.
            Err(Errno::ENOSYS | Errno::EPERM) => Ok(openat(self.root.as_fd(), path, flags, Mode::empty())?),
            other => Ok(other?),
        }
    }

    pub(crate) fn read(&self, pid: Pid, name: &str) -> io::Result<Vec<u8>> {
        let file = File::from(self.at(&format!("{pid}/{name}"), OFlag::O_RDONLY)?);
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The paths of the files that a process has open, as many as are asked for.
    pub(crate) fn open_files(&self, pid: Pid, at_most: usize) -> Vec<PathBuf> {
        let folder = self.at(&format!("{pid}/fd"), OFlag::O_RDONLY | OFlag::O_DIRECTORY);
        let Some(mut folder) = folder.ok().and_then(|folder| Dir::from_fd(folder).ok()) else { return Vec::new() };
        let names: Vec<_> = folder
            .iter()
            .map_while(std::result::Result::ok)
            .take(at_most)
            .map(|entry| entry.file_name().to_owned())
            .collect();
        let link = |name| readlinkat(folder.as_fd(), std::ffi::CString::as_c_str(name)).ok().map(PathBuf::from);
        names.iter().filter_map(link).collect()
    }

    pub(crate) fn see(&self, pid: Pid) -> io::Result<ProcSeen> {
        let file = File::from(self.at(&format!("{pid}/stat"), OFlag::O_RDONLY)?);
        let user = file.metadata()?.uid();
        let mut text = Vec::new();
        file.take(FILE_BYTES_MAX).read_to_end(&mut text)?;
        ProcSeen::parse(pid, user, &text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The process and all above it, the nearest first.
    pub(crate) fn ancestry(&self, of: Pid) -> (Vec<ProcSeen>, AncestryEnd) {
        let mut chain: Vec<ProcSeen> = Vec::new();
        let Ok(own) = self.see(of) else { return (chain, AncestryEnd::Unseen) };
        chain.push(own);
        let mut looks = 0;
        while chain.len() <= ANCESTORS_MAX {
            let last = chain.last_mut().expect("it begins with the process itself");
            if last.parent <= 0 {
                return (chain, AncestryEnd::Top);
            }
            let parent = Pid::from_raw(last.parent);
            if let Ok(seen) = self.see(parent) {
                (chain, looks) = ([chain, vec![seen]].concat(), 0);
                continue;
            }
            if kill(parent, None) == Err(Errno::EPERM) {
                return (chain, AncestryEnd::AnotherUser);
            }
            looks += 1;
            // It may have ended meanwhile: then somebody else is the parent now.
            match self.see(last.pid) {
                Ok(again) if looks < LOOKS_MAX => *last = again,
                _ => return (chain, AncestryEnd::Unseen),
            }
        }
        (chain, AncestryEnd::TooDeep)
    }
}

impl ProcSeen {
    /// The second field is the name of the program, which may contain anything, so fields are counted from its last bracket.
    fn parse(pid: Pid, user: u32, text: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let (head, rest) = text.rsplit_once(')')?;
        let (number, name) = head.split_once(" (")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let is_it = number.parse() == Ok(pid.as_raw());
        is_it.then_some(Self {
            pid,
            name: name.to_owned(),
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            start_time: fields.get(19)?.parse().ok()?,
            user,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ancestors of a test go up to a process without a parent, each older than the one below, this process first.
    #[test]
    fn ancestors_are_seen_up_to_the_top() {
        let tree = ProcTree::open().expect("a procfs");
        let own = tree.own().expect("our own number");
        assert_eq!(own, Pid::this());
        let (chain, end) = tree.ancestry(own);
        assert!(chain.len() > 1 && end != AncestryEnd::Unseen, "{chain:?} {end:?}");
        assert_eq!(chain[0].pid, own);
        assert!(chain.windows(2).all(|pair| pair[0].parent == pair[1].pid.as_raw()), "{chain:?}");
        assert!(tree.see(Pid::from_raw(i32::MAX)).is_err());
    }

    #[test]
    fn a_line_about_another_process_is_not_taken() {
        let line = b"42 (a) R 1 (b) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2 3";
        let seen = ProcSeen::parse(Pid::from_raw(42), 5, line).expect("a well-formed line");
        assert_eq!((seen.parent, seen.session, seen.start_time, seen.user), (7, 9, 98765, 5));
        assert_eq!(seen.name, "a) R 1 (b");
        assert_eq!(ProcSeen::parse(Pid::from_raw(43), 5, line), None);
    }
}
