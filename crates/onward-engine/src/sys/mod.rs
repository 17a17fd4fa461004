//! Linux itself: processes, file locks, signals, and where a caller comes from.

pub(crate) mod attempts_at_large;
pub(crate) mod caller_guard;
pub(crate) mod file_lock;
pub(crate) mod own_files;
pub mod patient_io;
pub(crate) mod plain_file;
pub(crate) mod proc_tree;
pub mod process;
pub mod signals;
pub mod stop;
pub(crate) mod threads;
