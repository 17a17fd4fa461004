//! What git did for a run, as lines for people.

use onward_core::event::{Event, NoCommit, Snapshot};
use onward_core::id::PhaseId;
use onward_core::run::{Run, vcs};

use super::{paint, safe};

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
