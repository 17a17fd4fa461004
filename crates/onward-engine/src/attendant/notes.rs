//! Notes of a phase about how far it is: read from its file, or taken from a report.

use std::io;

use super::folder::AttemptFolder;
use super::logs::{last_bytes, open_if_there};
use crate::redact::Secrets;

/// The longest note that is kept.
const NOTE_BYTES_MAX: u64 = 4 * 1024;

/// The note in what somebody reports: the last line that is not empty, and no more of it than a phase may write.
pub(crate) fn reported_note(text: &str) -> Option<String> {
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(cut_to_note(line).to_owned())
}

/// As much of a text as a note may have.
pub(crate) fn cut_to_note(text: &str) -> &str {
    let bytes_max = usize::try_from(NOTE_BYTES_MAX).unwrap_or(usize::MAX);
    &text[..text.floor_char_boundary(bytes_max)]
}

impl AttemptFolder {
    /// The phase's latest note about how far it is: the last line that is not empty.
    pub fn read_note(&self, secrets: &Secrets) -> io::Result<Option<String>> {
        let Some(file) = open_if_there(&self.progress_path())? else { return Ok(None) };
        let bytes = last_bytes(file, NOTE_BYTES_MAX)?;
        let text = String::from_utf8_lossy(&bytes);
        // A word that was cut in two at the front may be half a secret, which nobody would know again.
        let text = if bytes.len() as u64 == NOTE_BYTES_MAX {
            text.split_once(char::is_whitespace).map_or("", |cut| cut.1)
        } else {
            &text
        };
        let note = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        Ok(note.map(|note| secrets.text(note).into_owned()))
    }
}
