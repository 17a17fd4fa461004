//! Ways to save a state durably: the ones people write themselves. Ours are in `ours.rs`.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use onward_core::patch::Op;
use serde_json::Value;

use crate::Result;
use crate::bare::Commit;

/// A state that changed: the same thing in the three forms in which it may be given.
pub(crate) struct Change<'a> {
    pub(crate) ops: Vec<Op>,
    pub(crate) whole: &'a Value,
    /// The whole as JSON; empty for a saver that does not want it.
    pub(crate) text: Vec<u8>,
}

/// Saves one state again and again. What was saved is durable when the call returns.
pub(crate) trait Saver {
    fn name(&self) -> &'static str;

    /// Whether it wants the whole as text: making that is the caller's work and not measured.
    fn wants_text(&self) -> bool {
        false
    }

    /// Whether it must be told of every change, and not just of the whole now and then.
    fn wants_every_change(&self) -> bool {
        false
    }

    fn save(&mut self, change: Change<'_>) -> Result<()>;

    /// Reads a save, counted from 0; a saver that keeps only the last one reads that.
    fn load(&mut self, number: usize) -> Result<Value>;
}

/// One file, replaced as a whole: written beside, flushed, renamed.
pub(crate) struct JsonFile {
    folder: PathBuf,
}

impl JsonFile {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }
}

impl Saver for JsonFile {
    fn name(&self) -> &'static str {
        "peer: JSON file"
    }

    fn save(&mut self, change: Change<'_>) -> Result<()> {
        let (beside, place) = (self.folder.join("state.tmp"), self.folder.join("state.json"));
        let mut file = File::create(&beside)?;
        file.write_all(&serde_json::to_vec(change.whole)?)?;
        file.sync_all()?;
        fs::rename(&beside, &place)?;
        Ok(File::open(&self.folder)?.sync_all()?)
    }

    fn load(&mut self, _: usize) -> Result<Value> {
        Ok(serde_json::from_slice(&fs::read(self.folder.join("state.json"))?)?)
    }
}

/// A row with the whole state for every save.
pub(crate) struct SqliteRows(Commit);

impl SqliteRows {
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        Ok(Self(Commit::new(folder)?))
    }
}

impl Saver for SqliteRows {
    fn name(&self) -> &'static str {
        "peer: SQLite rows"
    }

    fn save(&mut self, change: Change<'_>) -> Result<()> {
        self.0.rows(&[&serde_json::to_vec(change.whole)?])
    }

    fn load(&mut self, number: usize) -> Result<Value> {
        let number = i64::try_from(number)? + 1;
        Ok(serde_json::from_slice(&self.0.body(number)?)?)
    }
}
