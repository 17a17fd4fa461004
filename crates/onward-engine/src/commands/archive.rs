//! Archiving a run: it is kept with all it has, and no start offers it any more.

use onward_core::id::RunId;
use onward_core::input::Posted;

use crate::Onward;
use crate::error::{Error, Result};

impl Onward {
    /// Archives a run. Refused while somebody drives it or one of its phases is at work; one that is archived already stays so.
    pub fn archive(&mut self, id: &RunId) -> Result<()> {
        if let Some(driver) = self.driver(id)? {
            return Err(Error::Driven { run: id.clone(), driver });
        }
        let run = self.load(id)?;
        if run.archived {
            return Ok(());
        }
        if let Some(phase) = self.living(&run).into_iter().next() {
            return Err(Error::PhaseLives { run: id.clone(), phase });
        }
        self.end_integration_of(id)?;
        self.post(id, Posted::Archive).map(drop)
    }
}
