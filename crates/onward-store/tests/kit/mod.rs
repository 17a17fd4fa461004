//! What the tests of this crate have in common.
#![expect(dead_code, reason = "each test binary uses its own part of this")]

use std::path::PathBuf;

use onward_core::id::RunId;
use onward_store::{MemoryStore, OpenMode, SqliteStore, Store, conformance::Fixture};

/// A store in memory.
#[derive(Default)]
pub struct InMemory(MemoryStore);

impl Fixture for InMemory {
    fn open(&self) -> Box<dyn Store> {
        Box::new(self.0.clone())
    }

    fn lose_lock(&self, run: &RunId) {
        self.0.lose_lock(run);
    }
}

/// A SQLite store in a temporary folder.
pub struct OnDisk(pub tempfile::TempDir);

impl Default for OnDisk {
    fn default() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }
}

impl OnDisk {
    pub fn folder(&self) -> PathBuf {
        self.0.path().join(".onward")
    }

    pub fn store(&self) -> SqliteStore {
        SqliteStore::open(&self.folder(), OpenMode::ReadWrite).expect("a store")
    }
}

impl Fixture for OnDisk {
    fn open(&self) -> Box<dyn Store> {
        Box::new(self.store())
    }

    fn lose_lock(&self, run: &RunId) {
        std::fs::remove_file(self.folder().join("run").join(format!("{run}.lock"))).expect("a lock file");
    }
}
