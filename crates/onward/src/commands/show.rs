//! `onward show ID`.

use std::path::Path;

use jiff::Timestamp;
use onward_core::exit;
use onward_core::formats::{self, BadFile};
use onward_engine::{Error, ForeignFile, Onward, Shown};

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn show(args: &args::ShowArgs) -> Result<u8, Failure> {
    let from = here()?;
    let mut onward = match Onward::look(&from) {
        // Files of other tools can be looked at before there is a project.
        Err(Error::NoProject { .. }) if Path::new(&args.id).is_file() => Onward::look_or_new(&from)?,
        found => found?,
    };
    if let Some(file) = onward.foreign_file(Path::new(&args.id)) {
        return Ok(foreign(&file, args));
    }
    let shown = onward.show(&args.id).map_err(|why| {
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

/// A file of another tool: told in words, or as it is.
fn foreign(file: &ForeignFile, args: &args::ShowArgs) -> u8 {
    let raw = || render::answer_raw(&file.bytes);
    match &file.read {
        Ok(_) if args.raw => raw(),
        Ok(taken) if args.output.json => {
            let imported = taken.step.imported.sections.imported.as_ref();
            render::answer_json(&imported.map(|imported| &imported.document));
        }
        Ok(taken) => render::answer(&render::safe::block(&formats::summary(taken))),
        Err(why) => {
            raw();
            let path = render::safe::line(&file.path.display().to_string());
            render::say(&format!("error: {path}: {}\n", render::safe::line(&why.to_string())));
        }
    }
    match &file.read {
        Ok(_) => exit::DONE,
        Err(BadFile::Newer(_)) => exit::NEWER,
        Err(BadFile::Damaged(_)) => exit::DAMAGED,
    }
}
