//! A run as it stands in a list, readable or not.

use onward_core::run::counting::PhasesCounted;
use onward_core::view::{self, DriverView, Summary};
use onward_store::RunRow;

use super::answers::ListItem;
use super::runs::UNREADABLE;
use crate::project::Project;
use crate::start::open_question;

pub(super) fn readable(project: &Project, summary: Summary, driver: Option<&DriverView>) -> ListItem {
    let status = view::status_seen(summary.status, driver);
    let findings = if view::is_resumable(status) {
        open_question::last_of_row(project, &summary.run, &summary.findings, summary.looked_at)
    } else {
        open_question::aged(&summary.findings, summary.looked_at)
    };
    let counted = summary.phases_counted();
    ListItem {
        counted,
        run: summary.run,
        kind: summary.kind,
        project: summary.project,
        title: summary.title,
        plan: summary.plan,
        status: status.as_str().to_owned(),
        created_at: Some(summary.created_at),
        updated_at: Some(summary.updated_at),
        phases_total: summary.saved.as_ref().map_or(summary.phases_total, |saved| saved.total),
        phases_completed: summary.saved.as_ref().map_or(summary.phases_completed, |saved| saved.completed),
        phases_skipped: summary.phases_skipped,
        branch: summary.branch,
        resumable: view::is_resumable(status) && summary.phases_total > 0,
        saved: summary.saved,
        error: summary.error,
        findings,
        asks: summary.asks,
    }
}

pub(super) fn unreadable(row: &RunRow, why: String) -> ListItem {
    ListItem {
        run: row.run.clone(),
        kind: String::new(),
        project: String::new(),
        title: row.run.to_string(),
        plan: String::new(),
        status: UNREADABLE.to_owned(),
        created_at: None,
        updated_at: None,
        phases_total: 0,
        phases_completed: 0,
        phases_skipped: 0,
        counted: PhasesCounted::default(),
        branch: None,
        resumable: false,
        saved: None,
        error: Some(why),
        findings: Vec::new(),
        asks: Vec::new(),
    }
}
