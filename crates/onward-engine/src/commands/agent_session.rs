//! An agent's session beside a run: what it is told at its start, and what is kept before it forgets.
//!
//! Called by hooks that an agent waits for: nothing here asks git, starts a program or waits for a driver.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use onward_core::brief::Brief;
use onward_core::input::Posted;
use onward_core::run::RunStatus;
use onward_core::view::StatusView;
use onward_store::private;

use crate::Onward;
use crate::error::{Error, Result};
use crate::trust;

/// The file with the sessions that were told of a run, a line each.
const TOLD: &str = "told-sessions";
/// Bytes of that file after which the older half of it is forgotten.
const TOLD_BYTES_MAX: u64 = 64 * 1024;
/// Characters of a session's hash in it.
const HASH_CHARS: usize = 32;

impl Onward {
    /// The newest run, if it is unfinished, with its brief in at most so many tokens. None where the store came from elsewhere: its words are not put before an agent
    /// before a person trusts it.
    pub fn unfinished_for_agent(&mut self, tokens: usize) -> Result<Option<(StatusView, Brief)>> {
        if trust::doubt(&self.project).is_some() {
            return Ok(None);
        }
        let run = match self.find_run(None) {
            Ok(run) => run,
            Err(Error::NoRuns) => return Ok(None),
            Err(other) => return Err(other),
        };
        let view = self.status(Some(run.as_str()))?;
        let is_over = matches!(view.status, RunStatus::Completed | RunStatus::Archived);
        if is_over {
            return Ok(None);
        }
        let brief = self.brief(Some(run.as_str()), tokens)?;
        Ok(Some((view, brief)))
    }

    /// Takes a checkpoint without the files for an agent that is about to lose what it knows. Nothing is done where a driver keeps
    /// the run, where a killed one has left something to be looked into, or where nothing changed since the last checkpoint.
    pub fn save_for_agent(&mut self) -> Result<()> {
        let id = self.find_run(None)?;
        let run = self.load(&id)?;
        let is_at_rest = run.epoch == 0 || run.ending().is_some();
        if !run.is_unfinished() || !is_at_rest || run.vcs.rewinding.is_some() || self.driver(&id)?.is_some() {
            return Ok(());
        }
        if !run.is_changed_since_checkpoint() {
            return Ok(());
        }
        self.post(&id, Posted::SessionEnd).map(drop)
    }

    /// Whether an agent's session was told of a run before.
    pub fn was_told(&self, session: &str) -> bool {
        let told = private::read(&self.told_sessions(), TOLD_BYTES_MAX * 2).unwrap_or_default();
        let name = name_of(session);
        told.split(|&byte| byte == b'\n').any(|line| line == name.as_bytes())
    }

    /// Remembers that an agent's session was told. Where that cannot be written it is told again.
    pub fn remember_told(&self, session: &str) -> std::io::Result<()> {
        let path = self.told_sessions();
        let mut file = private::open_or_create(&path)?;
        let length = file.seek(SeekFrom::End(0))?;
        if length <= TOLD_BYTES_MAX {
            return file.write_all(format!("{}\n", name_of(session)).as_bytes());
        }
        let mut newer = String::new();
        file.seek(SeekFrom::Start(length - TOLD_BYTES_MAX / 2))?;
        file.take(TOLD_BYTES_MAX).read_to_string(&mut newer)?;
        let whole = newer.split_once('\n').map_or("", |(_, whole)| whole);
        private::replace(&path, format!("{whole}{}\n", name_of(session)).as_bytes())
    }

    fn told_sessions(&self) -> PathBuf {
        self.project.runtime().join(TOLD)
    }
}

/// The name of a session in that file: whatever its id is, it fits a line.
fn name_of(session: &str) -> String {
    blake3::hash(session.as_bytes()).to_hex()[..HASH_CHARS].to_owned()
}
