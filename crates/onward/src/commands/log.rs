//! `onward log`.

use jiff::Timestamp;
use onward_core::exit;
use onward_engine::Onward;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;
use crate::render::log::{EventsAnswer, LogAnswer};

pub(super) fn log(args: &args::LogArgs) -> Result<u8, Failure> {
    let mut onward = Onward::look(&here()?)?;
    match (args.events, args.output.json) {
        (false, false) => {
            let (_, items) = onward.log(args.run.as_deref())?;
            render::answer(&render::log::log(&items, Timestamp::now()));
        }
        (false, true) => {
            let (run, items) = onward.log(args.run.as_deref())?;
            render::answer_json(&LogAnswer { run: &run, checkpoints: &items, warnings: &onward.warnings() });
        }
        (true, false) => {
            let (_, events) = onward.events(args.run.as_deref())?;
            render::answer(&render::log::events(&events));
        }
        (true, true) => {
            let (run, events) = onward.events(args.run.as_deref())?;
            let events = events.iter().map(render::json::event).collect();
            render::answer_json(&EventsAnswer { run: &run, events });
        }
    }
    Ok(exit::DONE)
}
