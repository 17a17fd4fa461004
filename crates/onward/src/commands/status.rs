//! `onward status [RUN]`.

use jiff::Timestamp;
use onward_core::exit;
use onward_core::run::RunStatus;
use onward_engine::Onward;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn status(args: &args::StatusArgs) -> Result<u8, Failure> {
    let mut onward = Onward::look(&here()?)?;
    let view = onward.status(args.run.as_deref())?;
    render::say(&render::others::line(&onward.project.left_by_others()));
    if args.output.json {
        render::answer_json(&view);
    } else {
        render::answer(&render::status::status(&view, Timestamp::now()));
    }
    let left = match view.status {
        RunStatus::Running | RunStatus::Paused | RunStatus::Waiting | RunStatus::Interrupted | RunStatus::Failed => {
            true
        }
        RunStatus::Completed | RunStatus::Archived => false,
    };
    Ok(if args.exit_code && left { exit::WORK_LEFT } else { exit::DONE })
}
