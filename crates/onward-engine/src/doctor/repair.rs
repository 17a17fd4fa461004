//! Putting things right: what can be made again is made again, everything else is moved aside. Nothing is deleted.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use jiff::Timestamp;
use onward_core::id::{RunId, Seq};
use onward_core::view::DriverView;
use onward_store::lock::held_runs;
use onward_store::{Alarm, DATABASE, DATABASE_FILES, Inspection, LeaseKind, OpenMode, StoreExt};
use serde::Serialize;

use super::checkup::all_rows;
use super::code::DoctorCode;
use super::findings::{DoctorFinding, Findings, Soundness, StoreFacts};
use super::repair_folder::{Cut, Recovered, RepairFolder};
use super::{attempts, places, rebuild};
use crate::Onward;
use crate::drive::keyframes::put_fold;
use crate::durations;
use crate::error::{Error, Result};
use crate::journal;
use crate::start::starting::holder;
use crate::sys::process;
use crate::trust;

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repair {
    pub code: DoctorCode,
    pub path: String,
    pub message: String,
}

/// The repairs that were made, and the findings afterwards.
#[derive(Clone, Debug, Serialize)]
pub struct Repaired {
    pub ok: bool,
    pub findings: Vec<DoctorFinding>,
    pub repaired: Vec<Repair>,
    /// Where the originals are, if anything was moved or replaced.
    pub aside: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreFacts>,
}

impl Repaired {
    pub fn soundness(&self) -> Soundness {
        Soundness::judge(&self.findings)
    }
}

impl Repair {
    pub(super) fn new(code: DoctorCode, path: impl Into<String>, message: String) -> Self {
        Self { code, path: path.into(), message }
    }
}

/// Findings that only a new database puts right.
const REBUILD: [DoctorCode; 11] = [
    DoctorCode::Database,
    DoctorCode::Row,
    DoctorCode::Journal,
    DoctorCode::JournalUnlisted,
    DoctorCode::Blob,
    DoctorCode::Inbox,
    DoctorCode::Checkpoint,
    DoctorCode::CheckpointMissing,
    DoctorCode::CheckpointDiffers,
    DoctorCode::RunLost,
    DoctorCode::JournalBehind,
];

/// Findings that only a person can judge. What lies in such a folder is not written to.
const BY_HAND: [DoctorCode; 4] = [DoctorCode::Store, DoctorCode::Unsafe, DoctorCode::Owner, DoctorCode::Link];

/// The repairs so far.
struct RepairWork {
    aside: RepairFolder,
    repaired: Vec<Repair>,
    cut: Vec<Cut>,
    recovered: Vec<Recovered>,
}

impl RepairWork {
    fn did(&mut self, code: DoctorCode, path: impl Into<String>, message: impl Into<String>) {
        self.repaired.push(Repair::new(code, path, message.into()));
    }
}

impl Onward {
    /// Repairs what [`Onward::doctor`] finds. Refused while a run is driven; of a newer format nothing is touched.
    pub fn repair(&mut self) -> Result<Repaired> {
        self.demand_a_local_disk(OpenMode::ReadWrite)?;
        self.store = None;
        let now = Timestamp::now();
        let folder = self.project.store_folder();
        let mut work = RepairWork {
            aside: RepairFolder::new(&folder, now),
            repaired: Vec::new(),
            cut: Vec::new(),
            recovered: Vec::new(),
        };
        let mut found = self.doctor();
        if found.soundness() == Soundness::Newer {
            return Ok(outcome(found, work));
        }
        if let Some(doubt) = trust::doubt(&self.project) {
            if BY_HAND.iter().any(|&code| found.has(code)) {
                return Ok(outcome(found, work));
            }
            return Err(Error::Untrusted { folder, doubt });
        }
        self.refuse_if_anything_is_driven()?;
        if self.close_to_others(&mut work)? {
            found = self.doctor();
        }
        if BY_HAND.iter().any(|&code| found.has(code)) {
            return Ok(outcome(found, work));
        }
        let unopened = found.store.is_none() && found.has(DoctorCode::HeadAhead);
        let anew = unopened || REBUILD.iter().any(|&code| found.has(code));
        if anew {
            if found.store.is_none() && found.has(DoctorCode::RunLost) {
                self.demand_no_survivor()?;
                // The folder is gone, or there is nothing in it; what git has needs a place.
                drop(onward_store::open(&folder, OpenMode::ReadWrite)?);
            }
            let made = work.aside.made()?.to_owned();
            let rebuilt = rebuild::rebuild(&self.project, &made, &work.aside.shown())?;
            work.repaired.extend(rebuilt.repaired);
            work.cut.extend(rebuilt.cut);
            work.recovered.extend(rebuilt.recovered);
        } else if [DoctorCode::HeadAhead, DoctorCode::HeadDiffers, DoctorCode::HeadForeign]
            .iter()
            .any(|&code| found.has(code))
        {
            // The next commit writes over what is left of the log, which may be all that tells of those that are lost.
            for name in DATABASE_FILES {
                work.aside.copy(&folder.join(name))?;
            }
        }
        if fs::symlink_metadata(folder.join(DATABASE)).is_ok() {
            let mut store = onward_store::open_to_repair(&folder)?;
            self.set_head(&mut *store, &found, &mut work)?;
            if !anew {
                write_anew(&mut *store, &found, &mut work)?;
            }
            self.tidy(&mut *store, &mut work)?;
        }
        if work.aside.is_made() {
            work.aside.report(now, &work.repaired, &work.cut, &work.recovered)?;
        }
        Ok(outcome(self.doctor(), work))
    }

    pub(super) fn refuse_if_anything_is_driven(&mut self) -> Result<()> {
        let held = held_runs(&self.project.store_folder())?;
        let Some((run, _)) = held.into_iter().find(|(_, kind)| *kind == LeaseKind::Driving) else { return Ok(()) };
        let known = self.driver(&run).ok().flatten();
        self.store = None;
        // Where the database that says who it is is gone, the lock that it holds tells.
        let path = self.project.runtime().join(format!("{run}.lock"));
        let holder = || {
            let pid = process::who_has_open(&path)?;
            let (host, since) = (process::hostname(), process::started_at(pid)?);
            Some(DriverView { host, pid: pid.as_raw().unsigned_abs(), since })
        };
        Err(match known.or_else(holder) {
            Some(driver) => Error::Driven { run, driver },
            None => Error::StillAtWork { path },
        })
    }

    fn close_to_others(&self, work: &mut RepairWork) -> Result<bool> {
        let folder = self.project.store_folder();
        let loose = places::loose(&folder);
        for (path, mode) in &loose {
            let shown = places::shown(&folder, path);
            let closed = fs::set_permissions(path, fs::Permissions::from_mode(*mode));
            closed.map_err(Error::io(format!("closing {shown} to others")))?;
            work.did(DoctorCode::Permissions, shown, format!("closed it to others (mode {mode:o})"));
        }
        Ok(!loose.is_empty())
    }

    /// The head file says again what the database says; the old one is kept.
    fn set_head(&self, store: &mut dyn Inspection, before: &Findings, work: &mut RepairWork) -> Result<()> {
        let lost = before.findings.iter().find(|finding| finding.code == DoctorCode::HeadAhead);
        let health = store.health();
        let head = |alarm: &&Alarm| match alarm {
            Alarm::HeadAhead { .. }
            | Alarm::HeadDiffers { .. }
            | Alarm::HeadForeign
            | Alarm::HeadMissing
            | Alarm::HeadSlot
            | Alarm::HeadUnreadable => true,
            Alarm::HeadNewer { .. } | Alarm::FlushFailed | Alarm::Network | Alarm::NoReserve | Alarm::Unreadable(_) => {
                false
            }
        };
        let alarm = health.alarms.iter().find(head);
        if lost.is_none() && alarm.is_none() {
            return Ok(());
        }
        if alarm.is_some() {
            work.aside.copy(&self.project.store_folder().join(onward_store::HEAD))?;
            store.accept_loss()?;
        }
        let affected = self.affected(store)?;
        let message = match (lost, alarm) {
            (Some(finding), _) => format!("{}; {affected}", finding.message),
            (None, alarm) => alarm.map(ToString::to_string).unwrap_or_default(),
        };
        work.did(DoctorCode::Head, ".onward/HEAD", format!("wrote it anew ({message})"));
        Ok(())
    }

    /// As far as anything outside the database tells, the runs that lost records.
    fn affected(&self, store: &mut dyn Inspection) -> Result<String> {
        let rows = all_rows(store)?;
        let strays = attempts::all_strays(&self.project, &rows);
        let strays = strays.iter().filter(|stray| stray.code == DoctorCode::StrayFolder);
        let mut names: Vec<String> =
            strays.filter_map(|stray| Some(stray.path.file_name()?.to_string_lossy().into_owned())).collect();
        for row in rows.iter().filter(|row| row.head.0 > 0) {
            let Ok(run) = journal::load_whole(store, &row.run) else { continue };
            if !attempts::all_unrecorded(&self.project, &run).is_empty() {
                names.push(run.id.to_string());
            }
        }
        names.sort();
        names.dedup();
        Ok(match names.as_slice() {
            [] => "nothing outside the database tells which runs they belonged to".to_owned(),
            names => format!("they belonged, as far as can be seen, to {}, and perhaps to others", names.join(", ")),
        })
    }

    /// Moves aside leftovers that are in the way or belong to nothing.
    fn tidy(&self, store: &mut dyn Inspection, work: &mut RepairWork) -> Result<()> {
        let folder = self.project.store_folder();
        let rows = all_rows(store)?;
        for row in rows.iter().filter(|row| row.head.0 > 0) {
            let Ok(run) = journal::load_whole(store, &row.run) else { continue };
            for attempt in attempts::all_unrecorded(&self.project, &run) {
                if attempt.lives || attempt.is_taken_up {
                    continue;
                }
                work.aside.take(&attempt.path)?;
                let message = format!("put it aside: the journal of run {} does not know of it", run.id);
                work.did(DoctorCode::AttemptUnrecorded, places::shown(&folder, &attempt.path), message);
            }
        }
        for stray in attempts::all_strays(&self.project, &rows) {
            work.aside.take(&stray.path)?;
            work.did(stray.code, places::shown(&folder, &stray.path), "put it aside");
        }
        for path in places::unfinished(&folder) {
            work.aside.take(&path)?;
            work.did(DoctorCode::Leftover, places::shown(&folder, &path), "put it aside");
        }
        Ok(())
    }
}

/// Rows and folds, from the journals.
fn write_anew(store: &mut dyn Inspection, found: &Findings, work: &mut RepairWork) -> Result<()> {
    let stale = |code: DoctorCode| -> Vec<RunId> {
        let of_run = found.findings.iter().filter(|finding| finding.code == code);
        of_run.filter_map(|finding| finding.path.strip_prefix("run ").map(RunId::new)).collect()
    };
    for id in stale(DoctorCode::Projection) {
        let lease = store.take_lease(&id, LeaseKind::Brief, holder())?;
        let run = journal::load_whole(store, &id)?;
        let events = journal::events(store, &id, Seq(0))?;
        let took: Vec<_> = events.iter().filter_map(|one| durations::row(&run.started.plan_path, one)).collect();
        store.relist(&lease, run.status().as_str(), &journal::summary_bytes(&run), &took)?;
        drop(lease);
        work.did(
            DoctorCode::Projection,
            format!("run {id}"),
            "wrote its row in the list of runs anew, from its journal",
        );
    }
    for id in stale(DoctorCode::FoldCache) {
        store.drop_fold(&id)?;
        let run = journal::load_whole(store, &id)?;
        put_fold(store, &run)?;
        work.did(DoctorCode::FoldCache, format!("run {id}"), "made it again from the journal");
    }
    Ok(())
}

fn outcome(found: Findings, work: RepairWork) -> Repaired {
    let aside = work.aside.is_made().then(|| work.aside.shown());
    let Findings { ok, findings, store } = found;
    Repaired { ok, findings, repaired: work.repaired, aside, store }
}
