//! `onward show ID`.

use jiff::Timestamp;
use onward_core::exit;
use onward_engine::{Onward, Shown};

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn show(args: &args::ShowArgs) -> Result<u8, Failure> {
    let shown = Onward::look(&here()?)?.show(&args.id).map_err(|why| {
        let failure = Failure::from(why);
        // What cannot be understood is still somebody's only record: they get to see it. A program finds it in the error.
        if let Some(raw) = failure.raw.as_ref().filter(|_| !args.output.json) {
            render::answer_drawn(&format!("{}\n", render::safe::block(raw)));
        }
        failure
    })?;
    if args.output.json {
        match &shown {
            Shown::Checkpoint(checkpoint) => render::answer_json(checkpoint),
            Shown::Run(run) => render::answer_json(run),
        }
    } else {
        render::answer(&render::show::show(&shown, Timestamp::now()));
    }
    Ok(exit::DONE)
}
