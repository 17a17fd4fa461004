//! `run|resume --detach`: the driver goes on without this terminal.

use std::ffi::OsString;

use onward_core::exit;
use onward_engine::{Detached, Error, detach as start_in_background};

use crate::render;
use crate::render::detach as words;
use crate::render::run::{RunReporter, Style};

/// Whether a process of its own drives a run now; what kept it from that it has said itself.
pub(super) fn is_left_at_work(words: &[OsString]) -> Result<bool, Error> {
    Ok(matches!(start_in_background(words)?, Detached::Drives { .. }))
}

/// Waits until a process of its own drives the run, and says which run it is.
pub(super) fn detach(style: Style) -> u8 {
    match start_in_background(&std::env::args_os().collect::<Vec<_>>()) {
        Ok(Detached::Drives { run, pid, log }) => {
            match style {
                Style::Json => words::lines(&run, pid, &log).iter().for_each(render::answer_json),
                Style::Text => {
                    render::answer(&words::id(&run));
                    render::say(&words::text(&run, &log));
                }
                Style::Quiet => render::answer(&words::id(&run)),
            }
            exit::DONE
        }
        Ok(Detached::Ended { code }) => code,
        Err(why) => RunReporter::new(style).failed(&why.into()),
    }
}
