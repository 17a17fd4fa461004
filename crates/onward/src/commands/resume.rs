//! `onward resume [RUN]`: an answer to "go on?" in itself.

use onward_engine::Want;

use super::start;
use crate::args;

pub(super) fn resume(args: &args::Resume) -> u8 {
    start::start(Want::ResumeRun(args.run.clone()), None, &args.start)
}
