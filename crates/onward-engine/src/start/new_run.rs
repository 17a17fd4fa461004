//! Making a run: an id that nobody else has, the right to write under it, and its folder.

use jiff::Timestamp;
use onward_core::event::RunStarted;
use onward_core::id::RunId;
use onward_core::ids_and_keys;
use onward_store::{Lease, LeaseKind, NewRun, StoreError, private};

use crate::Onward;
use crate::doctor;
use crate::error::{Error, Result};
use crate::kill_point::reached;
use crate::names;
use crate::queries::runs;
use crate::start::starting::holder;
use crate::sys::stop;
use crate::vcs::{Repository, RunClaim};

/// Ids of one second that are tried before something else must be wrong.
const RUN_ID_TRIES_MAX: u32 = 10_000;

impl Onward {
    /// The repository in which the id of a run has to be the only one of its name. Saved state is never in git.
    pub(crate) fn repository_of_ids(&self, started: &RunStarted) -> Result<Option<Repository>> {
        if started.plan.phases.is_empty() {
            return Ok(None);
        }
        let found = doctor::repository(&self.project);
        // A call that a stop cut short says nothing about git.
        stop::demand_none()?;
        Ok(found)
    }

    /// A new id, and the right to write under it.
    pub(crate) fn create(&mut self, started: &RunStarted, kind: LeaseKind) -> Result<(RunId, Lease)> {
        let now = Timestamp::now();
        let id = |number| Some(ids_and_keys::run_id(&started.plan.kind, &started.project, now, number));
        let repository = self.repository_of_ids(started)?;
        self.create_as(started, kind, repository.as_ref(), &id)
    }

    /// The same under the first of these ids that is free.
    pub(crate) fn create_as(
        &mut self,
        started: &RunStarted,
        kind: LeaseKind,
        repository: Option<&Repository>,
        ids: &dyn Fn(u32) -> Option<RunId>,
    ) -> Result<(RunId, Lease)> {
        for id in (1..RUN_ID_TRIES_MAX).map_while(ids) {
            if let Some(repository) = repository
                && claim(repository, &id)? == RunClaim::Taken
            {
                continue;
            }
            let new = NewRun {
                run: id.clone(),
                work: started.work.clone(),
                summary: b"{}".to_vec(),
                status: runs::NEW.to_owned(),
            };
            match self.store()?.create_run(new) {
                Ok(()) => {
                    names::learn_newest(Some(id.clone()));
                    reached("start.after-create");
                    self.make_run_folder(&id)?;
                    let lease = self.store()?.take_lease(&id, kind, holder())?;
                    tracing::info!(run = %id, epoch = lease.epoch(), "the run is made");
                    return Ok((id, lease));
                }
                // The claim is that run's from now on.
                Err(StoreError::AlreadyThere { .. }) => {}
                Err(other) => {
                    if let Some(repository) = repository {
                        repository.drop_claim(&id);
                    }
                    return Err(other.into());
                }
            }
        }
        let why = "its run id is taken in this repository, by another working tree or by a store that is gone: onward doctor names \
                   what git has of it";
        Err(Error::ImportConflict { why: why.to_owned() })
    }

    /// The folder of the run's attempts, made before the first of them: where it is missing later, it was taken away.
    pub(crate) fn make_run_folder(&self, id: &RunId) -> Result<()> {
        let store = self.project.store_folder();
        let path = store.join("attempts").join(id.as_str());
        let made = private::make_folders(&store, &path);
        made.map_err(|why| Error::NoRoom { what: format!("{} cannot be made: {why}", path.display()) })
    }
}

/// Claims an id among all stores of the repository. One that git knows and nobody has claimed was lost, perhaps in this very second.
fn claim(repository: &Repository, id: &RunId) -> Result<RunClaim> {
    let is_known = repository.has_refs_of(id);
    // A call that a stop cut short says nothing about refs.
    stop::demand_none()?;
    Ok(if is_known { RunClaim::Taken } else { repository.claim(id) })
}
