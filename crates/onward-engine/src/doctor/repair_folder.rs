//! `.onward/damaged`: where a repair puts what it takes out of the way, and what it writes down about that.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use onward_core::id::RunId;
use onward_store::private;
use serde::{Deserialize, Serialize};

use super::places::{children, shown};
use super::repair::Repair;
use crate::error::{Error, Result};
use crate::project::Project;

const DAMAGED: &str = "damaged";
const REPORT: &str = "report.json";
/// The version of the report's form.
const VERSION: u32 = 1;
const NAMES_MAX: u32 = 1_000;
/// More is not ours.
const REPORT_BYTES_MAX: u64 = 1024 * 1024;
/// Repairs that are remembered when a run is shown; the newest.
const REPORTS_READ_MAX: usize = 20;

/// The folder of one repair. It is made when it is first needed.
pub(crate) struct RepairFolder {
    store: PathBuf,
    folder: PathBuf,
}

/// A journal of which only the beginning could be kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Cut {
    pub(super) run: RunId,
    /// The last record that is left; 0 if none is.
    pub(super) kept: u64,
    /// How many are gone, where that is known.
    pub(super) lost: Option<u64>,
    pub(super) why: String,
}

/// A journal of which records were brought back from git.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Recovered {
    pub(super) run: RunId,
    /// How many came from there.
    pub(super) records: u64,
    /// The last one that there is.
    pub(super) end: u64,
}

#[derive(Serialize)]
struct RepairReport<'a> {
    onward: u32,
    at: Timestamp,
    repaired: &'a [Repair],
    cut: &'a [Cut],
    recovered: &'a [Recovered],
}

#[derive(Deserialize)]
struct CutsOnly {
    at: Timestamp,
    cut: Vec<Cut>,
    #[serde(default)]
    recovered: Vec<Recovered>,
}

impl RepairFolder {
    /// A folder named after the time that does not exist yet.
    pub(crate) fn new(store: &Path, now: Timestamp) -> Self {
        let time = now.strftime("%Y-%m-%dT%H%M%SZ").to_string();
        let names = (2..NAMES_MAX).map(|number| format!("{time}-{number}"));
        let mut folders = std::iter::once(time.clone()).chain(names).map(|name| store.join(DAMAGED).join(name));
        let folder = folders.find(|folder| fs::symlink_metadata(folder).is_err());
        Self { store: store.to_owned(), folder: folder.unwrap_or_else(|| store.join(DAMAGED).join(time)) }
    }

    /// The folder, which is there from now on, for this user alone.
    pub(super) fn made(&self) -> Result<&Path> {
        self.make(&self.folder)?;
        Ok(&self.folder)
    }

    pub(super) fn is_made(&self) -> bool {
        self.folder.is_dir()
    }

    pub(crate) fn shown(&self) -> String {
        shown(&self.store, &self.folder)
    }

    fn make(&self, folder: &Path) -> Result<()> {
        let made = private::make_folders(&self.store, folder);
        made.map_err(Error::io(format!("making {}", shown(&self.store, folder))))
    }

    /// Moves something that lies in the store's folder here, at the place that it had there.
    pub(crate) fn take(&self, path: &Path) -> Result<()> {
        let target = self.target(path)?;
        fs::rename(path, &target).map_err(Error::io(format!("moving {} aside", shown(&self.store, path))))
    }

    /// Copies a file that stays where it is; nothing to do if there is none.
    pub(super) fn copy(&self, path: &Path) -> Result<()> {
        if fs::symlink_metadata(path).is_err() {
            return Ok(());
        }
        let target = self.target(path)?;
        let copied = private::open(path).and_then(|mut from| {
            let mut to = private::create(&target)?;
            io::copy(&mut from, &mut to)?;
            to.sync_all()
        });
        copied.map_err(Error::io(format!("copying {}", shown(&self.store, path))))
    }

    /// A name that nothing has, so that nothing is ever overwritten.
    fn target(&self, path: &Path) -> Result<PathBuf> {
        let below = path.strip_prefix(&self.store).unwrap_or(path);
        let first = self.made()?.join(below);
        self.make(first.parent().unwrap_or(&self.folder))?;
        let others = (2..NAMES_MAX).map(|number| {
            let mut name = first.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        });
        let mut names = std::iter::once(first.clone()).chain(others);
        let free = names.find(|name| fs::symlink_metadata(name).is_err());
        free.ok_or_else(|| Error::Io {
            what: format!("finding a place for {}", shown(&self.store, path)),
            why: std::io::ErrorKind::AlreadyExists.into(),
        })
    }

    /// Writes down what was done, for people and for [`notes`].
    pub(super) fn report(
        &self,
        now: Timestamp,
        repaired: &[Repair],
        cut: &[Cut],
        recovered: &[Recovered],
    ) -> Result<()> {
        let report = RepairReport { onward: VERSION, at: now, repaired, cut, recovered };
        let text = serde_json::to_vec_pretty(&report).expect("a report has only string keys");
        let path = self.target(&self.store.join(REPORT))?;
        private::create(&path)
            .and_then(|mut file| file.write_all(&text))
            .map_err(Error::io(format!("writing {}", shown(&self.store, &path))))
    }
}

/// The notes of earlier repairs about what they left out of a run's journal.
pub(crate) fn notes(project: &Project, run: &RunId) -> Vec<String> {
    let store = project.store_folder();
    let folders = children(&store.join(DAMAGED)).into_iter().rev().take(REPORTS_READ_MAX);
    let told = folders.filter_map(|folder| Some((read(&folder.join(REPORT))?, shown(&store, &folder))));
    told.flat_map(|(report, folder)| {
        let cuts = report.cut.into_iter().filter(|cut| cut.run == *run);
        let back = report.recovered.into_iter().filter(|back| back.run == *run).map(move |back| {
            let Recovered { records, end, .. } = back;
            format!(
                "a repair at {} brought {records} of its records back from git, up to record {end}; what came after that is \
                 not known",
                report.at
            )
        });
        let cuts = cuts.map(move |cut| {
            let lost = cut.lost.map_or_else(|| "what came after".to_owned(), |lost| format!("{lost} records after it"));
            format!(
                "a repair at {} kept its journal up to record {}; {lost} could not be read and lie in {folder}",
                report.at, cut.kept
            )
        });
        back.chain(cuts).collect::<Vec<_>>()
    })
    .collect()
}

fn read(path: &Path) -> Option<CutsOnly> {
    let text = private::read(path, REPORT_BYTES_MAX).ok()?;
    serde_json::from_slice(&text).ok()
}
