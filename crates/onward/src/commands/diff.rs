//! `onward diff A B`.

use onward_core::exit;
use onward_engine::Onward;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn diff(args: &args::DiffArgs) -> Result<u8, Failure> {
    let mut onward = Onward::look(&here()?)?;
    let diff = onward.diff(&args.from, &args.to)?;
    if args.output.json {
        render::answer_json(&render::diff::json(&diff));
        return Ok(exit::DONE);
    }
    render::answer(&render::diff::text(&diff));
    if !args.stat
        && diff.files.is_ok()
        && let Ok(patch) = onward.diff_text(&diff.from, &diff.to)?
    {
        render::answer_drawn(&render::safe::block(&String::from_utf8_lossy(&patch)));
    }
    if let Err(why) = &diff.files {
        render::say(&format!("files are not compared: {}\n", render::safe::line(why)));
    }
    Ok(exit::DONE)
}
