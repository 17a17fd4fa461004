//! `onward checkpoint`.

use onward_core::exit;
use onward_engine::Onward;
use serde_json::json;

use super::here;
use super::state::own_run;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn checkpoint(args: &args::CheckpointArgs) -> Result<u8, Failure> {
    let mut onward = Onward::work(&here()?)?;
    let own = own_run();
    let run = onward.find_run(args.run.as_deref().or(own.as_deref()))?;
    let id = onward.checkpoint(Some(run.as_str()), args.name.as_deref())?;
    if args.output.json {
        render::answer_json(&json!({ "id": id, "run": run }));
    } else {
        render::answer(&format!("{}\n", render::safe::line(&id)));
    }
    Ok(exit::DONE)
}
