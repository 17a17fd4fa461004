//! `run|resume --detach`: the driver goes on without this terminal.

use onward_core::exit;
use onward_engine::{Detached, detach as start_in_background};

use crate::render;
use crate::render::detach as words;
use crate::render::run::{RunReporter, Style};

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
