//! The mini-commit on the branch that is checked out: made once, whenever it is killed, and the user's index stays theirs.
//!
//! | step | killed after it, the next try |
//! |---|---|
//! | look for the commit of this batch | looks again |
//! | gather the tree in an index of our own, make the commit object | does it again; what is left over nobody sees |
//! | take `index.lock`, with our token in it | knows the lock by its token |
//! | move the branch, if it is where it was | finds the commit by its trailers |
//! | write the index anew beside the old one, rename it, remove the lock | does it again |

mod gather;
mod index;
mod index_lock;
mod message;
mod mini_commit;

pub use mini_commit::{CommitRequest, Committed, Hooks, IndexAfter, NotCommitted, Whose};
