//! Our own books, as a program holds them open.

use std::path::Path;

use onward_core::id::CheckpointId;
use onward_core::patch::Op;
use onward_engine::{Onward, SavedState};
use serde_json::{Map, Value, json};

use crate::Result;
use crate::savers::{Change, Saver};

/// The books of one project in a folder of their own.
pub(crate) fn open(folder: &Path, project: &str) -> Result<SavedState> {
    std::fs::create_dir_all(folder.join(onward_engine::FOLDER))?;
    Ok(SavedState::open(Onward::work(folder)?, "bench", project)?)
}

/// A step that changes next to nothing.
pub(crate) fn step(number: usize) -> Vec<Op> {
    vec![Op::Set { path: "/step".to_owned(), value: json!(number) }]
}

/// The state as the caller of a save hands it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// The changes.
    Delta,
    /// The whole as text, to be parsed and compared.
    Whole,
}

pub(crate) struct Ours {
    books: SavedState,
    given: Given,
    saved: Vec<CheckpointId>,
}

impl Ours {
    pub(crate) fn new(folder: &Path, given: Given) -> Result<Self> {
        Ok(Self { books: open(folder, "saves")?, given, saved: Vec::new() })
    }
}

impl Saver for Ours {
    fn name(&self) -> &'static str {
        match self.given {
            Given::Delta => "save, delta given",
            Given::Whole => "save, whole given",
        }
    }

    fn wants_text(&self) -> bool {
        self.given == Given::Whole
    }

    fn wants_every_change(&self) -> bool {
        self.given == Given::Delta
    }

    fn save(&mut self, change: Change<'_>) -> Result<()> {
        let id = if self.saved.is_empty() {
            self.books.save(map(change.whole.clone())?)?
        } else {
            match self.given {
                Given::Delta => self.books.change(change.ops)?,
                Given::Whole => self.books.save(map(serde_json::from_slice(&change.text)?)?)?,
            }
        };
        self.saved.push(id);
        Ok(())
    }

    fn load(&mut self, number: usize) -> Result<Value> {
        let id = self.saved.get(number).ok_or("there are not so many checkpoints")?;
        Ok(Value::Object(self.books.load(id)?.state))
    }
}

fn map(value: Value) -> Result<Map<String, Value>> {
    match value {
        Value::Object(map) => Ok(map),
        other => Err(format!("a state is an object, not {other}").into()),
    }
}
