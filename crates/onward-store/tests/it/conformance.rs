//! Every clause of the contract, on every backend.

use onward_store::testing::conformance;

use crate::kit::{InMemory, OnDisk};

#[test]
fn memory_keeps_the_contract() {
    conformance::run(&|| Box::new(InMemory::default()));
}

#[test]
fn sqlite_keeps_the_contract() {
    conformance::run(&|| Box::new(OnDisk::default()));
}
