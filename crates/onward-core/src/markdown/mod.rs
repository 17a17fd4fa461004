//! Plans in Markdown: where phases, markers, check boxes, dependency lines and links stand in a text, to the byte, and the one
//! edit that onward makes there.
//!
//! A parser of `CommonMark` says what is a heading, a list item or a code fence (`scan`); `section` puts it together phase by phase,
//! `edit` sets the marker of a phase that is done and ticks its boxes. What it all means for a plan is said in
//! `plan/from_markdown`.

mod dependency;
mod edit;
mod heading;
mod inline;
mod line_index;
mod link;
mod marker;
mod phase_work;
mod scan;
mod section;

pub use edit::{LinkedEdit, MarkerGone, boxes_ticked, phase_marked_done};
pub use marker::Marker;
pub use phase_work::{PhaseTask, PhaseWork, phase_work};

pub(crate) use dependency::{NeedNamed, NeedsSaid};
pub(crate) use edit::without_progress;
pub(crate) use line_index::LineIndex;
pub(crate) use section::{LinkedPart, PhaseSection, read};
