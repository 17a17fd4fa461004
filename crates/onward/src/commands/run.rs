//! `onward run [PLAN]`: start, or find the unfinished run of the same work.

use onward_engine::Want;

use super::start;
use crate::args;

pub(super) fn run(args: &args::RunArgs) -> u8 {
    let want = match (&args.resume, args.fresh) {
        (Some(run), _) => Want::Resume(run.clone()),
        (None, true) => Want::Fresh,
        (None, false) => Want::Plain,
    };
    start::start(want, args.plan.clone(), &args.start)
}
