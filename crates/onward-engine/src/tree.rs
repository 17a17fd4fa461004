//! The working tree of a run, as far as git can keep it.

use onward_core::event::{FilesBack, NoCommit, Snapshot};
use onward_core::input::Input;
use onward_core::run::Run;

use crate::error::Result;
use crate::world::Tree;

pub(crate) struct WorkingTree;

impl Tree for WorkingTree {
    fn snapshot(&mut self, _: &Run) -> Result<Input> {
        Ok(Input::Snapshotted(Err("not yet".to_owned())))
    }

    fn commit(&mut self, _: &Run, number: u32) -> Result<Input> {
        Ok(Input::Committed { number, made: Err(NoCommit::NotNow { reason: "not yet".to_owned() }) })
    }

    fn restore(&mut self, _: &Run, _: &FilesBack) -> Result<std::result::Result<Snapshot, String>> {
        Ok(Err("not yet".to_owned()))
    }
}
