//! The one edit: a phase is done, so the marker is set at the end of its heading and its boxes are ticked. Every other byte stays.

use std::ops::Range;

use super::marker::Marker;
use super::section::{self, TaskBox};

const DONE: &str = "[COMPLETE]";

/// The heading of the phase is not in the text any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has no heading of this phase any more")]
pub struct MarkerGone;

/// The plan as it reads once the phase is done, with the files that hold parts of the phase: each path from the folder of the
/// plan, with its present and its new text. `load` reads such a file; one that cannot be read is left out.
pub fn phase_marked_done(
    text: &str,
    id: &str,
    load: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<(String, Vec<LinkedEdit>), MarkerGone> {
    let phases = section::read(text).phases;
    let phase = phases.iter().find(|phase| phase.id == id).ok_or(MarkerGone)?;
    let mut edits = ticks(&phase.part.boxes);
    match (&phase.marked, phase.marker) {
        (_, Marker::Completed) => {}
        (Some(span), _) => edits.push((span.clone(), DONE.to_owned())),
        (None, _) => edits.push((phase.heading_end..phase.heading_end, format!(" {DONE}"))),
    }
    let mut seen = section::linked_before(&phases, id);
    let files = phase.linked(&mut seen, load).into_iter().filter_map(|file| {
        let (text, _) = file.read.ok()?;
        let after = boxes_ticked(&text);
        (after != text).then_some(LinkedEdit { path: file.path, before: text, after })
    });
    let files = files.collect();
    Ok((with(text, edits), files))
}

/// A file that holds a part of a phase, before and after its boxes are ticked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedEdit {
    /// From the folder of the plan.
    pub path: String,
    pub before: String,
    pub after: String,
}

/// A text with all of its boxes ticked.
pub fn boxes_ticked(text: &str) -> String {
    with(text, ticks(&section::read_linked(text).boxes))
}

fn ticks(boxes: &[TaskBox]) -> Vec<(Range<usize>, String)> {
    boxes.iter().filter(|one| !one.done).map(|one| (one.inside.clone(), "x".to_owned())).collect()
}

fn with(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(span, _)| span.start);
    let (mut out, mut from) = (String::with_capacity(text.len() + DONE.len() + 1), 0);
    for (span, new) in edits {
        out.push_str(&text[from..span.start]);
        out.push_str(&new);
        from = span.end;
    }
    out.push_str(&text[from..]);
    out
}

/// A text with all boxes open and plain line ends: it changes when the work does, and not when the work goes on.
pub(crate) fn without_progress(text: &str, span: &Range<usize>, boxes: &[TaskBox]) -> String {
    let inside = boxes.iter().filter(|one| span.start <= one.inside.start && one.inside.end <= span.end);
    let edits =
        inside.map(|one| (one.inside.start - span.start..one.inside.end - span.start, " ".to_owned())).collect();
    with(&text[span.clone()], edits).replace("\r\n", "\n").trim().to_owned()
}
