//! What git did for a run, as lines for people.

use onward_core::event::{Event, NoCommit, Snapshot};
use onward_core::id::PhaseId;
use onward_core::run::{Run, vcs};
use onward_core::view;
use onward_engine::{Preview, Rewound};

use super::{diff, paint, safe};

/// A line where a person wants to know; snapshots that went well are not worth one.
pub(super) fn line(event: &Event, run: &Run) -> Option<String> {
    match event {
        Event::SnapshotTaken(snapshot) => left_out(snapshot, run),
        Event::SnapshotMissed { reason } => {
            Some(format!("{} no snapshot of the files: {}", paint::doubtful("!"), safe::line(reason)))
        }
        Event::CommitMade { commit, left_out, .. } => {
            let made = format!("{} committed {}", paint::good("✓"), vcs::short(commit));
            let more: Vec<String> = left_out.iter().map(|path| safe::line(path)).collect();
            Some(if more.is_empty() { made } else { format!("{made}, without {}", more.join(", ")) })
        }
        Event::CommitLeft { why: NoCommit::NotNow { reason }, .. } => {
            Some(format!("{} no commit now: {}", paint::doubtful("!"), safe::line(reason)))
        }
        Event::RunRewound(rewound) => {
            let undone = rewound.restored.iter().flat_map(|restored| &restored.phases);
            let ids: Vec<String> = undone.map(|back| name(&back.phase)).collect();
            let phases = if ids.is_empty() { String::new() } else { format!(", phases {}", ids.join(", ")) };
            Some(format!("{} back to {}{phases}", paint::busy("↺"), safe::line(rewound.to.as_str())))
        }
        Event::RewindFailed { reason } => {
            Some(format!("{} not rewound: {}; nothing was changed", paint::bad("✗"), safe::line(reason)))
        }
        _ => None,
    }
}

/// Said once, when it is new: the same is left out of every snapshot.
fn left_out(snapshot: &Snapshot, run: &Run) -> Option<String> {
    let first = run.vcs.last.as_ref().is_none_or(|last| last.number == snapshot.number);
    let paths: Vec<String> = snapshot.left_out.iter().map(|path| safe::line(path)).collect();
    let worth_it = first && !paths.is_empty();
    worth_it.then(|| format!("{} not in the snapshot of the files: {}", paint::doubtful("!"), paths.join(", ")))
}

fn name(phase: &PhaseId) -> String {
    safe::line(phase.as_str())
}

/// More files are counted, not named.
const FILES_SHOWN_MAX: usize = 40;

/// What a rewind would do, and the question.
pub(crate) fn preview(preview: &Preview) -> String {
    let ids = |phases: &[PhaseId]| phases.iter().map(name).collect::<Vec<_>>().join(", ");
    let mut text = format!("Back to {} of run {}\n", safe::line(preview.to.as_str()), safe::line(preview.run.as_str()));
    if !preview.phases.is_empty() {
        text.push_str(&format!("  phases that change: {}\n", ids(&preview.phases)));
    }
    match &preview.files {
        Ok(changes) if changes.is_empty() => text.push_str("  files: no change\n"),
        Ok(changes) => {
            changes
                .iter()
                .take(FILES_SHOWN_MAX)
                .for_each(|change| text.push_str(&format!("  {}\n", diff::file(change))));
            if changes.len() > FILES_SHOWN_MAX {
                text.push_str(&format!("  and {} more files\n", changes.len() - FILES_SHOWN_MAX));
            }
        }
        Err(why) => text.push_str(&format!("  files stay as they are: {}\n", safe::line(why))),
    }
    if !preview.mixed.is_empty() {
        text.push_str(&format!("  while that snapshot was taken these were at work: {}\n", ids(&preview.mixed)));
    }
    text.push_str("What is there now is kept first; `onward undo` brings it back.\nGo back? (y/N): ");
    text
}

pub(crate) fn rewound(rewound: &Rewound) -> String {
    match rewound {
        Rewound::Declined => "nothing was changed\n".to_owned(),
        Rewound::Done { run, to, without_files, .. } => {
            let files = without_files.as_ref().map(|why| format!("files stay as they are: {}\n", safe::line(why)));
            let resume = safe::line(&view::resume_command(run));
            format!(
                "{} run {} is back at {}\n{}take it back with  onward undo {}\ngo on with  {resume}\n",
                paint::good("✓"),
                safe::line(run.as_str()),
                safe::line(to.as_str()),
                files.unwrap_or_default(),
                safe::line(run.as_str()),
            )
        }
    }
}
