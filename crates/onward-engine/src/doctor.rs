//! Looking everything over: what is wrong, where, and what to do. Changes nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use onward_core::run::RunStatus;
use onward_core::view::{self, Summary};
use onward_store::{Alarm, RunFilter, RunRow};
use serde::Serialize;

use crate::Onward;
use crate::attendant;
use crate::error::{Error, Result};
use crate::executor::shell;
use crate::look::checkpoint_from;

/// One thing that a person should know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub code: &'static str,
    /// `error`, `warning` or `info`.
    pub severity: &'static str,
    pub path: String,
    pub message: String,
    pub help: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// No finding is an error.
    pub ok: bool,
    pub findings: Vec<Finding>,
}

impl Onward {
    /// Checks the store, every journal, every checkpoint and every attempt that is on record as running.
    pub fn doctor(&mut self) -> Result<Findings> {
        let mut findings = Vec::new();
        permissions(&self.project.store_folder(), &mut findings);
        match self.store() {
            Ok(store) => findings.extend(store.health().alarms.iter().map(alarm)),
            Err(Error::NoRuns) => {}
            Err(why) => findings.push(error(
                "store",
                ".onward",
                why.to_string(),
                "keep the folder as it is and look at a copy of it",
            )),
        }
        if !findings.iter().any(|finding| finding.code == "store") {
            for row in self.rows(&RunFilter::default())? {
                self.examine(&row, &mut findings);
            }
        }
        Ok(Findings { ok: findings.iter().all(|finding| finding.severity != "error"), findings })
    }

    fn examine(&mut self, row: &RunRow, findings: &mut Vec<Finding>) {
        let path = format!("run {}", row.run);
        let run = match self.load(&row.run) {
            Ok(run) => run,
            Err(why) => {
                let help = format!("the checkpoints of the run can still be read: onward log {}", row.run);
                findings.push(error("journal", &path, why.to_string(), &help));
                return self.examine_checkpoints(row, findings);
            }
        };
        let stored = row.summary.as_ref().ok().and_then(|bytes| serde_json::from_slice::<Summary>(bytes).ok());
        if stored.as_ref() != Some(&view::summary(&run)) {
            let message = "the row in the list of runs does not agree with the journal, which counts".to_owned();
            findings.push(error("projection", &path, message, "the next start of the run writes the row anew"));
        }
        let driven = self.driver(&row.run).ok().flatten().is_some();
        for (phase, state) in run.running().filter(|_| !driven && run.status() != RunStatus::Archived) {
            let Some(attempt) = &state.attempt else { continue };
            let folder = shell::folder(&self.project, &run, &phase.id, attempt.number);
            let lives = attendant::lock_is_held(&folder).unwrap_or(false);
            let message = if lives {
                format!("phase {} is still at work although nobody drives the run", phase.id)
            } else {
                format!("phase {} was at work when its driver ended; its result is taken on the next start", phase.id)
            };
            let help = view::resume_command(&run.id);
            findings.push(Finding { code: "orphan", severity: "info", path: path.clone(), message, help });
        }
        self.examine_checkpoints(row, findings);
    }

    fn examine_checkpoints(&mut self, row: &RunRow, findings: &mut Vec<Finding>) {
        let rows = match self.checkpoint_rows(&row.run) {
            Ok(rows) => rows,
            Err(why) => {
                let help = "the journal counts; checkpoints are for people and tools";
                return findings.push(error("checkpoints", &format!("run {}", row.run), why.to_string(), help));
            }
        };
        for checkpoint in rows {
            let id = checkpoint.id;
            let read = self.store().and_then(|store| Ok(store.checkpoint(&id)?));
            let problem = match read {
                Ok(Some(found)) => checkpoint_from(&id, &found).err(),
                Ok(None) => Some(Error::NoSuchCheckpoint(id.to_string())),
                Err(why) => Some(why),
            };
            if let Some(why) = problem {
                let help = "older checkpoints of the run are not touched by this";
                findings.push(error("checkpoint", id.as_str(), why.to_string(), help));
            }
        }
    }
}

fn error(code: &'static str, path: &str, message: String, help: &str) -> Finding {
    Finding { code, severity: "error", path: path.to_owned(), message, help: help.to_owned() }
}

fn alarm(alarm: &Alarm) -> Finding {
    let (code, severity, help) = match alarm {
        Alarm::HeadAhead { .. } => {
            ("head-ahead", "error", "put back the newest copy of .onward, its -wal file included")
        }
        Alarm::HeadDiffers { .. } => ("head-differs", "error", "the database was replaced or changed from outside"),
        Alarm::HeadForeign => {
            ("head-foreign", "error", "HEAD and database come from two stores: put back those that belong together")
        }
        Alarm::HeadMissing => {
            ("head-missing", "warning", "the next commit writes it anew; lost commits cannot be noticed until then")
        }
        Alarm::HeadUnreadable => {
            ("head-unreadable", "warning", "the next commit writes it anew; lost commits cannot be noticed until then")
        }
        Alarm::Network => (
            "network",
            "warning",
            "locks and flushes over a network are not to be trusted: keep the store on a local disk",
        ),
        Alarm::NoReserve => ("no-reserve", "info", "it is made again when there is room"),
        Alarm::Unreadable(_) => ("unreadable", "error", "keep the folder as it is and look at a copy of it"),
    };
    Finding { code, severity, path: ".onward".to_owned(), message: alarm.to_string(), help: help.to_owned() }
}

/// The folder is for its owner alone.
fn permissions(folder: &Path, findings: &mut Vec<Finding>) {
    let Ok(meta) = fs::symlink_metadata(folder) else { return };
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let message = format!("others may look into {} (mode {mode:o}, owner {})", folder.display(), meta.uid());
        let severity = if mode & 0o022 != 0 { "error" } else { "warning" };
        let help = format!("chmod 700 {}", folder.display());
        findings.push(Finding { code: "permissions", severity, path: ".onward".to_owned(), message, help });
    }
}
