//! The check-up, which changes nothing: the folder, the database, every journal, checkpoint and attempt.

use onward_store::{Alarm, Damage, Health, Inspection, OpenMode, RunFilter, RunRow, Store, StoreError, StoreExt};

use super::code::{DoctorCode, DoctorSeverity};
use super::findings::{DoctorFinding, Findings, FindingsSoFar, NEWER, REPAIR, StoreFacts, UNREADABLE, rebuilt};
use super::{attempts, foreign, places, recover, remotes, runs};
use crate::Onward;

impl Onward {
    /// Checks the folder, the database, every journal, every checkpoint and every attempt. Writes nothing.
    pub fn doctor(&self) -> Findings {
        let mut found = FindingsSoFar::default();
        let folder = self.project.store_folder();
        places::examine(&folder, &mut found);
        if let Some(words) = self.doubt_in_words() {
            let help = "looking works; if the store is yours (a copy, a backup, a cache), type onward trust";
            found.warning(DoctorCode::Untrusted, ".onward", words, help);
        }
        remotes::examine(&self.project.top, &mut found);
        foreign::examine(self, &mut found);
        let store = match onward_store::open(&folder, OpenMode::Look) {
            Ok(mut store) => self.examine(&mut *store, &mut found),
            Err(why) => {
                if matches!(why, StoreError::NoStore { .. }) {
                    recover::examine_without_store(&self.project, &mut found);
                }
                not_opened(&why, &mut found);
                None
            }
        };
        let ok = found.0.iter().all(|finding| finding.severity != DoctorSeverity::Error);
        Findings { ok, findings: found.0, store }
    }

    fn examine(&self, store: &mut dyn Inspection, found: &mut FindingsSoFar) -> Option<StoreFacts> {
        let health = store.health();
        found.0.extend(health.alarms.iter().filter_map(alarm));
        let facts = facts(&health);
        structure(store, found);
        let rows = match all_rows(store) {
            Ok(rows) => rows,
            Err(why) => {
                found.store(&why, "the list of runs");
                return facts;
            }
        };
        for row in &rows {
            runs::examine(&self.project, store, row, found);
        }
        attempts::strays(&self.project, &rows, found);
        recover::examine(&self.project, store, &rows, found);
        facts
    }
}

fn facts(health: &Health) -> Option<StoreFacts> {
    let readable = !health.store_id.is_empty();
    readable.then(|| StoreFacts {
        id: health.store_id.clone(),
        format: health.format.clone(),
        schema: health.schema,
        commits: health.commits,
    })
}

/// Why the store cannot be opened at all.
fn not_opened(why: &StoreError, found: &mut FindingsSoFar) {
    match why {
        StoreError::NoStore { .. } => {}
        StoreError::Unsafe { .. } if found.0.iter().any(|finding| finding.severity == DoctorSeverity::Error) => {}
        StoreError::Unsafe { path, .. } => {
            found.error(DoctorCode::Unsafe, path.display().to_string(), why.to_string(), UNREADABLE);
        }
        StoreError::LostCommits { head, database, .. } => lost(*head, *database, found),
        StoreError::Damaged(_) => {
            let message = format!("the database cannot be opened: {why}");
            found.error(DoctorCode::Database, ".onward/onward.db", message, &rebuilt());
        }
        other => found.store(other, "the store cannot be opened"),
    }
}

fn lost(head: u64, database: u64, found: &mut FindingsSoFar) {
    let message = format!(
        "{head} commits were acknowledged and the database has {database}: it was replaced by an older one, or its log \
         (onward.db-wal) was lost"
    );
    let help = format!(
        "if there is a newer copy of .onward, with its -wal file, put that back; otherwise {REPAIR} goes on with what is \
         left and says what is gone"
    );
    found.error(DoctorCode::HeadAhead, ".onward/HEAD", message, &help);
}

fn structure(store: &mut dyn Inspection, found: &mut FindingsSoFar) {
    match store.check_structure() {
        Ok(damage) => {
            for Damage { what, .. } in damage {
                found.error(DoctorCode::Database, ".onward/onward.db", what, &rebuilt());
            }
        }
        Err(why) => found.store(&why, "the structure of the database"),
    }
    match store.missing_blob_files() {
        Ok(missing) => {
            for name in missing {
                let message = "a file that the database counts on is missing; what is stored in it cannot be read";
                let help = format!("if there is a copy of .onward, put the file back from it; otherwise {}", rebuilt());
                found.error(DoctorCode::Blob, format!(".onward/blobs/{}/{name}", &name[..2]), message, &help);
            }
        }
        Err(why) => found.store(&why, "the list of large values"),
    }
    match store.unlisted_journals() {
        Ok(0) => {}
        Ok(count) => {
            let message = format!("{count} journals are there whose run is not in the list of runs");
            found.error(DoctorCode::JournalUnlisted, ".onward/onward.db", message, &rebuilt());
        }
        Err(why) => found.store(&why, "the journals"),
    }
}

/// All rows, those without a journal too.
pub(super) fn all_rows(store: &mut dyn Store) -> std::result::Result<Vec<RunRow>, StoreError> {
    store.all_runs(&RunFilter::default())
}

fn alarm(alarm: &Alarm) -> Option<DoctorFinding> {
    let mut found = FindingsSoFar::default();
    let message = alarm.to_string();
    let head = ".onward/HEAD";
    let anew = "nothing is lost by that: the next commit writes it anew; until then lost commits would not be noticed";
    match alarm {
        Alarm::HeadAhead { head, database } => lost(*head, *database, &mut found),
        Alarm::HeadDiffers { .. } => {
            let help = format!(
                "the database was replaced or changed from outside: if there is a copy of .onward in which both fit, put \
                 it back; otherwise {REPAIR} goes on with what the database holds and keeps the old HEAD aside"
            );
            found.error(DoctorCode::HeadDiffers, head, message, &help);
        }
        Alarm::HeadForeign => {
            let help = format!(
                "put back the database and the HEAD that belong together; otherwise {REPAIR} goes on with what the \
                 database holds and keeps the old HEAD aside"
            );
            found.error(DoctorCode::HeadForeign, head, message, &help);
        }
        Alarm::HeadMissing => found.warning(DoctorCode::HeadMissing, head, message, anew),
        Alarm::HeadUnreadable => found.warning(DoctorCode::HeadUnreadable, head, message, anew),
        Alarm::HeadSlot => {
            let help = format!(
                "nothing is lost by that: the other entry counts, and the next commits write this one anew, as {REPAIR} does; until \
                 then it would not be noticed if the very last commit was lost"
            );
            found.warning(DoctorCode::HeadSlot, head, message, &help);
        }
        Alarm::HeadNewer { .. } => found.error(DoctorCode::Newer, head, message, NEWER),
        Alarm::FlushFailed => {
            let help = "what was acknowledged before is kept: look at the disk; the next command that saves something copies \
                        the log into the database and flushes it first";
            found.warning(DoctorCode::FlushFailed, ".onward/flush-failed", message, help);
        }
        Alarm::Network => {
            let help = "locks and flushes over a network are not to be trusted: keep the project on a disk of this machine; \
                        nothing is written here unless the configuration says store: { network: allow }";
            found.warning(DoctorCode::Network, ".onward", message, help);
        }
        Alarm::NoReserve => {
            let help = "nothing is lost by that: it is made again by the next start if there is room";
            found.info(DoctorCode::NoReserve, ".onward/reserve", message, help);
        }
        Alarm::Unreadable(_) => found.error(DoctorCode::Database, ".onward/onward.db", message, &rebuilt()),
    }
    found.0.pop()
}
