//! All clauses, and how they are tried.

use onward_core::id::RunId;

use super::{chains, folds, inbox, journal, leases, lists, prune};
use crate::Store;

/// A place with one empty store in it, which ends with it.
pub trait Fixture {
    /// Another handle to the same store, as another process would have.
    fn open(&self) -> Box<dyn Store>;

    /// Frees the lock of a run behind its holder's back, as a deleted lock file does.
    fn lose_lock(&self, run: &RunId);
}

/// One demand on a store. It panics with a reason when the demand is not met.
pub type Clause = fn(&dyn Fixture);

/// Every clause with its name.
pub fn clauses() -> Vec<(&'static str, Clause)> {
    [journal::CLAUSES, lists::CLAUSES, chains::CLAUSES, folds::CLAUSES, leases::CLAUSES, inbox::CLAUSES, prune::CLAUSES]
        .concat()
}

/// Tries every clause on a store of its own and panics with the names of those that failed.
pub fn run(make: &dyn Fn() -> Box<dyn Fixture>) {
    let mut failed = Vec::new();
    for (name, clause) in clauses() {
        let fixture = make();
        let tried = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| clause(fixture.as_ref())));
        if tried.is_err() {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "clauses that do not hold: {}", failed.join(", "));
}
