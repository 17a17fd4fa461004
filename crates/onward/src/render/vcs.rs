//! Snapshots, mini-commits and rewinds of a run, as lines for people.

use std::fmt::Write as _;

use onward_core::event::{Event, NoCommit, SnapshotRef};
use onward_core::id::{CheckpointId, PhaseId};
use onward_core::run::{Run, vcs};
use onward_core::short_sha;
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
            let made = format!("{} committed {}", paint::good("✓"), short_sha(commit));
            let more: Vec<String> = left_out.iter().map(|path| safe::line(path)).collect();
            Some(if more.is_empty() { made } else { format!("{made}, without {}", more.join(", ")) })
        }
        Event::CommitLeft { why: NoCommit::NotNow { reason }, .. } => {
            Some(format!("{} no commit now: {}", paint::doubtful("!"), safe::line(reason)))
        }
        Event::CommitLeft { why: NoCommit::NothingChanged { left_out }, .. } if !left_out.is_empty() => {
            let paths: Vec<String> = left_out.iter().map(|path| safe::line(path)).collect();
            Some(format!(
                "{} no commit: nothing else has changed; left out: {}",
                paint::doubtful("!"),
                paths.join(", ")
            ))
        }
        Event::RunRewound(rewound) => {
            let undone = rewound.restored.iter().flat_map(|restored| &restored.phases);
            let ids: Vec<String> = undone.map(|back| name(&back.phase)).collect();
            let phases = if ids.is_empty() { String::new() } else { format!(", phases {}", ids.join(", ")) };
            Some(format!("{} back to {}{phases}", paint::busy("↺"), safe::line(rewound.to.as_str())))
        }
        Event::CheckpointTaken { id, phase: Some(phase), name: Some(name), .. } => kept_before(id, phase, name, run),
        Event::RewindFailed { reason } => {
            Some(format!("{} not rewound: {}; nothing was changed", paint::bad("✗"), safe::line(reason)))
        }
        _ => None,
    }
}

/// Files of a phase go back to what was there before it: whoever edited them wants to know where that is now.
fn kept_before(id: &CheckpointId, phase: &PhaseId, named: &str, run: &Run) -> Option<String> {
    let attempt = run.phase_state(phase)?.attempt.as_ref()?;
    let is_copy = attempt.clean.is_some() && named == vcs::copy_name(phase, attempt.number);
    let (phase, id) = (name(phase), safe::line(id.as_str()));
    is_copy.then(|| {
        let mark = paint::doubtful("!");
        format!("{mark} what {phase} writes is put back; as it was it is in checkpoint {} ({id})", safe::line(named))
    })
}

/// Said once, when it is new: the same is left out of every snapshot.
fn left_out(snapshot: &SnapshotRef, run: &Run) -> Option<String> {
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

/// The preview of a rewind, and the question.
pub(crate) fn preview(preview: &Preview) -> String {
    let ids = |phases: &[PhaseId]| phases.iter().map(name).collect::<Vec<_>>().join(", ");
    let mut lines =
        vec![format!("Back to {} of run {}", safe::line(preview.to.as_str()), safe::line(preview.run.as_str()))];
    if !preview.phases.is_empty() {
        lines.push(format!("  phases that change: {}", ids(&preview.phases)));
    }
    match &preview.files {
        Ok(changes) if changes.is_empty() => lines.push("  files: no change".to_owned()),
        Ok(changes) => {
            lines.extend(changes.iter().take(FILES_SHOWN_MAX).map(|change| format!("  {}", diff::file(change))));
            let more = changes.len().saturating_sub(FILES_SHOWN_MAX);
            lines.extend((more > 0).then(|| format!("  and {more} more files")));
        }
        Err(why) => lines.push(format!("  files stay as they are: {}", safe::line(why))),
    }
    if !preview.mixed.is_empty() {
        lines.push(format!("  while that snapshot was taken these were at work: {}", ids(&preview.mixed)));
    }
    if preview.worked.is_empty() {
        lines.push("What is there now is kept first; `onward undo` brings it back.".to_owned());
    } else {
        lines.push(format!("  worked on since the rewind, and taken back, too: {}", ids(&preview.worked)));
        lines.push("What is there now is kept first, in a checkpoint.".to_owned());
    }
    lines.push("Go back? (y/N): ".to_owned());
    lines.join("\n")
}

/// After a rewind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Stays,
    /// The run is driven right away.
    GoesOn,
}

pub(crate) fn rewound(rewound: &Rewound, then: Then) -> String {
    match rewound {
        Rewound::Declined => "nothing was changed\n".to_owned(),
        Rewound::Done { run, to, without_files, undone, left_out, before: _ } => {
            let (id, to) = (safe::line(run.as_str()), safe::line(to.as_str()));
            let files = without_files.as_ref().map(|why| format!("files stay as they are: {}\n", safe::line(why)));
            let done = if *undone { "is as it was before the rewind".to_owned() } else { format!("is back at {to}") };
            let undo = if *undone { String::new() } else { format!("take it back with  onward undo {id}\n") };
            let resume = safe::line(&view::resume_command(run));
            let mut files = files.unwrap_or_default();
            for line in left_out {
                let _ = writeln!(files, "not in the snapshot of the files: {}", safe::line(line));
            }
            let resume = if then == Then::GoesOn { String::new() } else { format!("go on with  {resume}\n") };
            format!("{} run {id} {done}\n{files}{undo}{resume}", paint::good("✓"))
        }
    }
}
