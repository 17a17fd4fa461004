//! `onward fork CHECKPOINT`.

use onward_core::{exit, view};
use onward_engine::{Forked, Onward};
use serde_json::json;

use super::here;
use super::start::say_notes;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn fork(args: &args::ForkArgs) -> Result<u8, Failure> {
    let mut onward = Onward::work(&here()?)?;
    let said = onward.notices.len();
    let forked = onward.fork(&args.checkpoint, args.worktree.as_deref());
    // Also where no run came of it.
    say_notes(&onward.notices[said..]);
    let Forked { run, in_doubt } = forked?;
    if args.output.json {
        render::answer_json(&json!({ "run": run, "in_doubt": in_doubt }));
    } else {
        render::answer(&format!("{}\n", render::safe::line(run.as_str())));
        for phase in &in_doubt {
            let phase = render::safe::line(phase.as_str());
            render::say(&format!("{phase} may have had its effect already: it is not done again unasked\n"));
        }
        render::say(&format!("go on with  {}\n", render::safe::line(&view::resume_command(&run))));
    }
    Ok(exit::DONE)
}
