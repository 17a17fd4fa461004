//! `onward check [PLAN]`.

use onward_core::exit;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn check(args: &args::CheckArgs) -> Result<u8, Failure> {
    let checked = onward_engine::check(&here()?, args.plan.as_deref(), args.agent.as_deref())?;
    if args.output.json {
        render::answer_json(&render::check::answer(&checked));
    } else {
        render::answer(&render::check::check(&checked));
    }
    Ok(match &checked.parsed.plan {
        Some(_) => exit::DONE,
        None if checked.parsed.newer() => exit::NEWER,
        None => exit::USAGE,
    })
}
