//! Ids of runs, taken for all stores of a repository at once. Each store knows its own runs only, and the snapshots and journals of
//! all of them lie side by side, under their ids.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use onward_core::id::RunId;

use super::repository::Repository;
use super::snapshot::ref_name;
use crate::sys::plain_file;

/// The folder of the claims, in the folder that all working trees of the repository share. Not for this user alone: whoever may
/// write refs may claim.
const CLAIMS: &str = "onward-claims";
/// The longest path of a store that is read out of a claim.
const CLAIM_BYTES_MAX: u64 = 4096;

/// The outcome of a claim to an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunClaim {
    /// No other store of the repository gets it any more.
    Ours,
    /// Another one has it.
    Taken,
}

impl Repository {
    /// Claims the id of a run that is about to begin: a file is made that is not there yet, which only one of several can do. It is not
    /// flushed, since the next run after a power cut is of another second.
    pub(crate) fn claim(&self, run: &RunId) -> RunClaim {
        match self.claim_path(run).map(|path| make_claim(&path, &self.store)) {
            Some(Err(why)) if why.kind() == io::ErrorKind::AlreadyExists => RunClaim::Taken,
            // A repository that nothing can be written to gets no snapshots either.
            Some(Ok(()) | Err(_)) | None => RunClaim::Ours,
        }
    }

    /// Whether a claim was made for the store in this very folder, and git has nothing of the run: its store is gone, or was killed
    /// before it had the run. Claims of earlier versions do not say for whom they were made.
    pub(crate) fn has_own_claim(&self, run: &RunId) -> bool {
        let Some(path) = self.claim_path(run) else { return false };
        let said = plain_file::read(&path, CLAIM_BYTES_MAX).unwrap_or_default();
        said == self.store.as_os_str().as_bytes() && !self.has_refs_of(run)
    }

    /// Lets go of a claim, with the run that was deleted or could not begin.
    pub(crate) fn drop_claim(&self, run: &RunId) {
        let Some(path) = self.claim_path(run) else { return };
        if demand_folder(&self.common_dir.join(CLAIMS)).is_ok() {
            // One that stays is in nobody's way.
            drop(fs::remove_file(path));
        }
    }

    /// Where the claim lies; none for an id that cannot be the name of a ref.
    fn claim_path(&self, run: &RunId) -> Option<PathBuf> {
        ref_name(run, 0).ok()?;
        Some(self.common_dir.join(CLAIMS).join(run.as_str()))
    }
}

/// It says for which store it is.
fn make_claim(path: &Path, store: &Path) -> io::Result<()> {
    let folder = path.parent().expect("a claim lies in a folder");
    match DirBuilder::new().create(folder) {
        Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(why),
        Ok(()) | Err(_) => demand_folder(folder)?,
    }
    // Made anew or not at all: a link is not followed.
    let mut file = File::options().write(true).create_new(true).open(path)?;
    // Without its words it is a claim all the same.
    drop(file.write_all(store.as_os_str().as_bytes()));
    Ok(())
}

/// An archive may have put a link in its place.
fn demand_folder(folder: &Path) -> io::Result<()> {
    if fs::symlink_metadata(folder)?.is_dir() {
        return Ok(());
    }
    Err(io::Error::other(format!("{} is no folder", folder.display())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::thread;

    use super::*;
    use crate::vcs::call::{GitCall, command};

    fn repository() -> (tempfile::TempDir, Repository) {
        let folder = tempfile::tempdir().expect("a folder");
        GitCall::new(command(folder.path()), "init").args(["-q", "-b", "main"]).output().expect("a repository");
        let repository = Repository::open(folder.path(), &folder.path().join(".onward")).expect("a repository");
        (folder, repository)
    }

    /// Many want the same id at once, and one gets it; when that one is deleted, the next.
    #[test]
    fn one_of_many_gets_an_id() {
        const MANY: usize = 16;
        let (_folder, repository) = repository();
        let run = RunId::new("run_demo_20310506_070809");
        for _ in 0..2 {
            let claims = thread::scope(|scope| {
                let all: Vec<_> = (0..MANY).map(|_| scope.spawn(|| repository.claim(&run))).collect();
                all.into_iter().map(|one| one.join().expect("no panic")).collect::<Vec<_>>()
            });
            assert_eq!(claims.iter().filter(|claim| **claim == RunClaim::Ours).count(), 1, "{claims:?}");
            repository.drop_claim(&run);
        }
    }

    /// Where no claim can be made a run begins without one, and nothing is made or removed where a link leads.
    #[test]
    fn a_link_in_the_place_of_the_claims_is_not_followed() {
        let (folder, repository) = repository();
        let (elsewhere, run) = (folder.path().join("elsewhere"), RunId::new("run_demo_1"));
        fs::create_dir(&elsewhere).expect("our own folder");
        symlink(&elsewhere, folder.path().join(".git").join(CLAIMS)).expect("a link");
        assert_eq!(repository.claim(&run), RunClaim::Ours);
        assert!(!elsewhere.join(run.as_str()).exists());
        fs::write(elsewhere.join(run.as_str()), "").expect("a file");
        repository.drop_claim(&run);
        assert!(elsewhere.join(run.as_str()).exists());
    }
}
