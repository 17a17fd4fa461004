//! `onward fork CHECKPOINT`.

use onward_core::{exit, view};
use onward_engine::Onward;
use serde_json::json;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn fork(args: &args::Fork) -> Result<u8, Failure> {
    let run = Onward::work(&here()?)?.fork(&args.checkpoint, args.worktree.as_deref())?;
    if args.output.json {
        render::answer_json(&json!({ "run": run }));
    } else {
        render::answer(&format!("{}\n", render::safe::line(run.as_str())));
        render::say(&format!("go on with  {}\n", render::safe::line(&view::resume_command(&run))));
    }
    Ok(exit::DONE)
}
