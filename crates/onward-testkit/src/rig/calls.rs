//! System calls that are made to fail, by number, and how each of them really fails.

use nix::errno::Errno;
use nix::libc;

/// How a call is made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// It fails with this error, this once.
    Once(Errno),
    /// It fails with this error, and so does every later call of the same name in the same process.
    Lasting(Errno),
    /// The process is killed before the call is done.
    Kill,
}

impl std::fmt::Display for CallFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Once(errno) => write!(f, "{errno:?}"),
            Self::Lasting(errno) => write!(f, "{errno:?} lasting"),
            Self::Kill => f.write_str("SIGKILL"),
        }
    }
}

/// The kind of result of a call, which decides how it may fail.
#[derive(Clone, Copy)]
enum Gives {
    /// A new descriptor.
    Descriptor,
    /// Bytes from a file or a pipe, or what is known about a file.
    Bytes,
    /// It changes what is on the disk.
    Change,
    /// A new process.
    Process,
    /// It waits.
    Wait,
    /// Anything else.
    Other,
}

use Gives::{Bytes, Change, Descriptor, Other, Process, Wait};

/// The calls that are looked at. Left out is what never fails on a real machine, or whose failure is that of the memory:
/// `futex`, `mmap`, `munmap`, `brk`, `rt_sigaction`, clocks, `exit`; and `close`, which always closes.
const CALLS: [(i64, &str, Gives); 68] = [
    (libc::SYS_openat, "openat", Descriptor),
    (libc::SYS_open, "open", Descriptor),
    (libc::SYS_pipe2, "pipe2", Descriptor),
    (libc::SYS_pidfd_open, "pidfd_open", Descriptor),
    (libc::SYS_memfd_create, "memfd_create", Descriptor),
    (libc::SYS_dup, "dup", Descriptor),
    (libc::SYS_dup2, "dup2", Descriptor),
    (libc::SYS_dup3, "dup3", Descriptor),
    (libc::SYS_fcntl, "fcntl", Descriptor),
    (libc::SYS_eventfd2, "eventfd2", Descriptor),
    (libc::SYS_socketpair, "socketpair", Descriptor),
    (libc::SYS_socket, "socket", Descriptor),
    (libc::SYS_inotify_init1, "inotify_init1", Descriptor),
    (libc::SYS_epoll_create1, "epoll_create1", Descriptor),
    (libc::SYS_signalfd4, "signalfd4", Descriptor),
    (libc::SYS_read, "read", Bytes),
    (libc::SYS_pread64, "pread64", Bytes),
    (libc::SYS_readv, "readv", Bytes),
    (libc::SYS_getdents64, "getdents64", Bytes),
    (libc::SYS_fstat, "fstat", Bytes),
    (libc::SYS_stat, "stat", Bytes),
    (libc::SYS_lstat, "lstat", Bytes),
    (libc::SYS_newfstatat, "newfstatat", Bytes),
    (libc::SYS_statx, "statx", Bytes),
    (libc::SYS_statfs, "statfs", Bytes),
    (libc::SYS_fstatfs, "fstatfs", Bytes),
    (libc::SYS_readlink, "readlink", Bytes),
    (libc::SYS_readlinkat, "readlinkat", Bytes),
    (libc::SYS_access, "access", Bytes),
    (libc::SYS_faccessat, "faccessat", Bytes),
    (libc::SYS_faccessat2, "faccessat2", Bytes),
    (libc::SYS_lseek, "lseek", Bytes),
    (libc::SYS_getcwd, "getcwd", Bytes),
    (libc::SYS_write, "write", Change),
    (libc::SYS_pwrite64, "pwrite64", Change),
    (libc::SYS_writev, "writev", Change),
    (libc::SYS_ftruncate, "ftruncate", Change),
    (libc::SYS_fallocate, "fallocate", Change),
    (libc::SYS_fsync, "fsync", Change),
    (libc::SYS_fdatasync, "fdatasync", Change),
    (libc::SYS_mkdir, "mkdir", Change),
    (libc::SYS_mkdirat, "mkdirat", Change),
    (libc::SYS_rename, "rename", Change),
    (libc::SYS_renameat, "renameat", Change),
    (libc::SYS_renameat2, "renameat2", Change),
    (libc::SYS_unlink, "unlink", Change),
    (libc::SYS_unlinkat, "unlinkat", Change),
    (libc::SYS_linkat, "linkat", Change),
    (libc::SYS_symlinkat, "symlinkat", Change),
    (libc::SYS_mknodat, "mknodat", Change),
    (libc::SYS_fchmod, "fchmod", Change),
    (libc::SYS_chmod, "chmod", Change),
    (libc::SYS_copy_file_range, "copy_file_range", Change),
    (libc::SYS_clone, "clone", Process),
    (libc::SYS_clone3, "clone3", Process),
    (libc::SYS_vfork, "vfork", Process),
    (libc::SYS_fork, "fork", Process),
    (libc::SYS_execve, "execve", Process),
    (libc::SYS_poll, "poll", Wait),
    (libc::SYS_ppoll, "ppoll", Wait),
    (libc::SYS_wait4, "wait4", Wait),
    (libc::SYS_waitid, "waitid", Wait),
    (libc::SYS_flock, "flock", Wait),
    (libc::SYS_kill, "kill", Other),
    (libc::SYS_pidfd_send_signal, "pidfd_send_signal", Other),
    (libc::SYS_prctl, "prctl", Other),
    (libc::SYS_chdir, "chdir", Other),
    (libc::SYS_setsid, "setsid", Other),
];

/// The name of a call that is looked at; none for the others.
pub(super) fn name(number: i64) -> Option<&'static str> {
    CALLS.iter().find(|(one, _, _)| *one == number).map(|(_, name, _)| *name)
}

/// All the ways in which a call may fail.
pub(super) fn ways(number: i64) -> Vec<CallFault> {
    use CallFault::{Kill, Lasting, Once};
    let Some((_, _, gives)) = CALLS.iter().find(|(one, _, _)| *one == number) else { return Vec::new() };
    let (once, lasting): (&[Errno], &[Errno]) = match gives {
        Descriptor => {
            (&[Errno::ENFILE, Errno::EMFILE, Errno::EPERM, Errno::EIO, Errno::EINTR], &[Errno::EMFILE, Errno::EPERM])
        }
        Bytes => (&[Errno::EIO, Errno::EPERM, Errno::EINTR], &[Errno::EIO]),
        Change => (&[Errno::ENOSPC, Errno::EIO, Errno::EPERM, Errno::EINTR], &[Errno::ENOSPC, Errno::EIO]),
        Process => (&[Errno::EAGAIN, Errno::ENOMEM, Errno::EPERM], &[Errno::EAGAIN]),
        // Not `EIO`, which none of them gives, and at which the runtime of Rust aborts before anything of ours is executed.
        Wait => (&[Errno::EINTR, Errno::ENOMEM], &[]),
        Other => (&[Errno::EPERM, Errno::EINTR], &[Errno::EPERM]),
    };
    let once = once.iter().map(|errno| Once(*errno));
    once.chain(lasting.iter().map(|errno| Lasting(*errno))).chain([Kill]).collect()
}
