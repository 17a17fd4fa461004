//! `onward next`: what somebody who asks is to do.

use onward_core::exit;
use onward_engine::Onward;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn next(args: &args::NextArgs) -> Result<u8, Failure> {
    let mut onward = Onward::look(&here()?)?;
    let next = onward.next(the_run(args.run.as_deref()).as_deref())?;
    if args.output.json {
        render::answer_json(&next);
    } else {
        render::answer(&render::external_phases::next(&next));
    }
    Ok(exit::DONE)
}

/// The run that is meant: the one that was named, inside a phase its own, else the newest one.
pub(super) fn the_run(named: Option<&str>) -> Option<String> {
    let own = || std::env::var("ONWARD_RUN").ok().filter(|run| !run.is_empty());
    named.map(str::to_owned).or_else(own)
}
