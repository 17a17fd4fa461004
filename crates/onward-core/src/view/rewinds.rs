//! Rewinds that were cut off.

use crate::run::Run;

/// A rewind that was cut off, for whoever looks at the run.
pub fn unended_rewind(run: &Run) -> Option<String> {
    let begun = run.vcs.rewinding.as_ref()?;
    let (what, to) = (if begun.undoes { "an undo" } else { "a rewind" }, &begun.to);
    let files = if begun.files.is_some() { "some files may be there already, others not; " } else { "" };
    Some(format!(
        "{what} of run {} to {to} was cut off: {files}the next run, resume, rewind or undo ends it first",
        run.id
    ))
}
