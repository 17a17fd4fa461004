//! The list of the attempts of a run that were begun. It lies beside the folders of the phases, so that a phase that moves, deletes or
//! empties its own folder does not look as if it had never been executed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::folder::{AttemptFolder, check_plain, open_plain};

/// In the folder of the run. No phase has a folder of that name: the dot at its beginning would be written otherwise.
const NAME: &str = ".begun";
/// A line for each attempt: more than any run has.
const LIST_BYTES_MAX: u64 = 64 << 20;

impl AttemptFolder {
    fn list_of_begun(&self) -> Option<PathBuf> {
        self.path().ancestors().nth(2).map(|run| run.join(NAME))
    }

    /// The phase and the number, as the folders are named.
    fn line(&self) -> Option<Vec<u8>> {
        let mut names = self.path().iter().rev();
        let (number, phase) = (names.next()?, names.next()?);
        Some([phase.as_bytes(), b" ", number.as_bytes(), b"\n"].concat())
    }

    /// Puts the attempt on the list, in one piece.
    fn note_as_begun(&self) -> io::Result<()> {
        let (Some(list), Some(line)) = (self.list_of_begun(), self.line()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let mut list = options.open(list)?;
        check_plain(&list)?;
        list.write_all(&line)
    }

    /// Whether the attempt is on the list. One that was begun before there were lists is on none.
    pub(super) fn is_noted_as_begun(&self) -> io::Result<bool> {
        let (Some(list), Some(line)) = (self.list_of_begun(), self.line()) else { return Ok(false) };
        let list = match open_plain(&list) {
            Ok(list) => list,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let mut text = Vec::new();
        list.take(LIST_BYTES_MAX).read_to_end(&mut text)?;
        Ok(text.split_inclusive(|byte| *byte == b'\n').any(|one| one == line))
    }
}

/// Says in two places that a phase does not reach by accident that it is executed now: for the next driver, and for the one that
/// started us and has the orders, too. We work in the folder of the attempt.
pub(super) fn note(orders: &File) -> io::Result<()> {
    let folder = fs::read_link("/proc/self/cwd").map(AttemptFolder::at)?;
    folder.note_as_begun()?;
    orders.set_len(0)
}
