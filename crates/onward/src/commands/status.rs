//! `onward status [RUN]`.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use onward_core::exit;
use onward_core::run::RunStatus;
use onward_core::view::StatusView;
use onward_engine::Onward;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render::status::Detail;
use crate::render::{self, watch::Watch};

/// How often a run that is watched is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(400);

pub(super) fn status(args: &args::StatusArgs) -> Result<u8, Failure> {
    let mut onward = Onward::look(&here()?)?;
    let view = if args.watch { watch(&mut onward, args)? } else { onward.status(args.run.as_deref())? };
    if args.watch {
        return Ok(code(args, &view));
    }
    render::say(&render::foreign_work::line(&onward.project.left_by_others()));
    if args.output.json {
        render::answer_json(&view);
    } else {
        render::answer(&render::status::status(&view, Detail::AtAGlance, Timestamp::now()));
    }
    Ok(code(args, &view))
}

/// Shows the run until nobody is at work on it any more; gives the last of what was shown.
fn watch(onward: &mut Onward, args: &args::StatusArgs) -> Result<StatusView, Failure> {
    let run = onward.find_run(args.run.as_deref())?;
    let mut screen = Watch::new(args.output.form());
    loop {
        let begun = Instant::now();
        // Asked first: what happened until then is shown below.
        let over = onward.is_at_rest(&run)?;
        let view = onward.status(Some(run.as_str()))?;
        screen.show(&view, Timestamp::now());
        if over {
            screen.end(&view, Timestamp::now());
            return Ok(view);
        }
        // A long run takes a while to read: most of the time is left to whoever works on it.
        std::thread::sleep(LOOK_EVERY.max(begun.elapsed() * 4));
    }
}

/// The exit code that says whether work is left, where it was asked for.
fn code(args: &args::StatusArgs, view: &StatusView) -> u8 {
    let left = match view.status {
        RunStatus::Running | RunStatus::Paused | RunStatus::Waiting | RunStatus::Interrupted | RunStatus::Failed => {
            true
        }
        RunStatus::Completed | RunStatus::Archived => false,
    };
    if args.exit_code && left { exit::WORK_LEFT } else { exit::DONE }
}
