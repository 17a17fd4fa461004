//! Every clause of the contract, on every backend.

mod kit;

use kit::{InMemory, OnDisk};
use onward_store::conformance;

#[test]
fn memory_keeps_the_contract() {
    conformance::run(&|| Box::new(InMemory::default()));
}

#[test]
fn sqlite_keeps_the_contract() {
    conformance::run(&|| Box::new(OnDisk::default()));
}
