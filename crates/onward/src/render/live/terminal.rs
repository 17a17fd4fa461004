//! The terminal that stderr is, asked each time: this process may be sent to the background.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anstream::{AutoStream, ColorChoice};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use signal_hook::consts::SIGCONT;
use signal_hook::flag;

/// Set while this process was stopped and goes on, until somebody has heard of it.
static CONTINUED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether stderr is a terminal on which lines can be written over.
pub(in crate::render) fn is_possible() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    stderr().is_terminal() && !dumb
}

/// Whether the terminal is this process's at the moment. Where that cannot be told it is.
pub(super) fn is_in_foreground() -> bool {
    tcgetpgrp(stderr()).map_or(true, |group| group == getpgrp())
}

pub(super) fn has_colours() -> bool {
    !matches!(AutoStream::choice(&stderr()), ColorChoice::Never)
}

/// Whether this process was stopped and went on since the last call: what it had drawn is somewhere above then.
pub(super) fn was_continued() -> bool {
    let flag = CONTINUED.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        // Without it a line too many is written over, after Ctrl+Z alone.
        let _ = flag::register(SIGCONT, Arc::clone(&flag));
        flag
    });
    flag.swap(false, Ordering::SeqCst)
}
