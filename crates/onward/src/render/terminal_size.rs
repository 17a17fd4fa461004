//! The size of the terminal that stdout or stderr is, asked each time: it may be resized.

use std::io::{IsTerminal, stderr, stdout};
use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// Columns and lines of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScreenSize {
    pub(super) columns: usize,
    pub(super) lines: usize,
}

/// A terminal that does not say how large it is.
const UNKNOWN: ScreenSize = ScreenSize { columns: 80, lines: 24 };
/// Lines of a file are not broken.
const COLUMNS_OF_A_FILE: usize = 240;

pub(super) fn stdout_size() -> ScreenSize {
    told(stdout()).unwrap_or(UNKNOWN)
}

pub(super) fn stderr_size() -> ScreenSize {
    told(stderr()).unwrap_or(UNKNOWN)
}

/// The columns of the terminal that an answer goes to; none where it is none, or does not tell.
pub(super) fn stdout_columns() -> Option<usize> {
    told(stdout()).map(|size| size.columns)
}

/// The columns of the terminal on which questions are asked; none where it is no terminal.
pub(super) fn stderr_columns() -> Option<usize> {
    stderr().is_terminal().then(|| stderr_size().columns)
}

/// The columns that a drawing may take: those of the terminal that it goes to; a file takes more.
pub(crate) fn drawing_columns() -> usize {
    if stdout().is_terminal() { stdout_size().columns } else { COLUMNS_OF_A_FILE }
}

fn told(terminal: impl AsFd) -> Option<ScreenSize> {
    let size = tcgetwinsize(terminal).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0)?;
    Some(ScreenSize { columns: size.ws_col.into(), lines: size.ws_row.into() })
}
