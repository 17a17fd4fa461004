//! Starting a plan that an agent brings along: all of it is reported in, and nothing in it is executed.

use std::path::{Path, PathBuf};

use onward_core::id::RunId;
use onward_core::plan::reported_only;
use onward_store::private;
use serde::Serialize;
use serde_json::Value;

use super::external_phases::Reported;
use super::replan::Proposed;
use crate::Onward;
use crate::drive::reporter::Silent;
use crate::error::{Error, Result};
use crate::plan_files::plan_from_text;
use crate::start::request::Request;

/// The folder of such plans in the store.
const PLANS: &str = "plans";
/// Characters of a plan's digest in the name of its file.
const DIGEST_CHARS: usize = 16;

/// A run of such a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StartedReported {
    pub run: RunId,
    /// It was there before: the same plan was started and is not finished.
    pub already: bool,
}

impl Onward {
    /// Starts a plan that has no commands; where its run is unfinished, that one is meant.
    pub fn start_reported(&mut self, plan: &Value) -> Result<StartedReported> {
        let path = self.keep_reported_plan(plan)?;
        let request = Request { plan: Some(path), ..Request::default() };
        let found = self.find(&request)?;
        if let Some(one) = found.unfinished.first() {
            return Ok(StartedReported { run: one.run.id.clone(), already: true });
        }
        let finished = self.start(&request, found, &mut Silent)?;
        Ok(StartedReported { run: finished.run.id, already: false })
    }

    /// Reports that another plan is wanted, with the plan; it has no commands.
    pub fn report_reported_replan(
        &mut self,
        name: Option<&str>,
        phase: &str,
        reason: &str,
        plan: Option<&Value>,
    ) -> Result<(Proposed, Reported)> {
        let path = plan.map(|plan| self.keep_reported_plan(plan)).transpose()?;
        self.report_replan(name, phase, reason, path.as_deref())
    }

    /// Writes the plan where a later start finds it.
    fn keep_reported_plan(&mut self, plan: &Value) -> Result<PathBuf> {
        let text = reported_only(plan).map_err(|why| Error::Unfit { why })?;
        let (store, digest) = (self.project.store_folder(), blake3::hash(text.as_bytes()).to_hex());
        let folder = store.join(PLANS);
        let path = folder.join(format!("{}.yaml", &digest[..DIGEST_CHARS]));
        // What is wrong with it is said before anything is made.
        plan_from_text(&self.project, &path, text.clone(), &self.config.markdown())?;
        self.store()?;
        let written = private::make_folders(&store, &folder).and_then(|()| write(&path, &text));
        written.map_err(Error::io(format!("writing {}", path.display())))?;
        Ok(path)
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    match private::read(path, text.len() as u64) {
        Ok(there) if there == text.as_bytes() => Ok(()),
        Ok(_) | Err(_) => private::replace(path, text.as_bytes()),
    }
}
