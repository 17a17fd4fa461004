//! `onward archive RUN`.

use onward_core::exit;
use onward_engine::Onward;
use serde_json::json;

use super::{here, person_only};
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn archive(args: &args::ArchiveArgs) -> Result<u8, Failure> {
    person_only::refuse("archived")?;
    let mut onward = Onward::work(&here()?)?;
    let run = onward.find_run(Some(&args.run))?;
    onward.archive(&run)?;
    if args.output.json {
        render::answer_json(&json!({ "run": run, "status": "archived" }));
        return Ok(exit::DONE);
    }
    let words = format!("run {run} is archived; look at it with  onward show {run}\n");
    render::say(&render::safe::block(&words));
    Ok(exit::DONE)
}
