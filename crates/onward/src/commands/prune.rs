//! `onward prune --dry-run`.

use onward_core::exit;
use onward_engine::{Error, Onward};

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn prune(args: &args::PruneArgs) -> Result<u8, Failure> {
    if !args.dry_run {
        let what = "this version deletes nothing by retention yet; `onward prune --dry-run` says what would go";
        return Err(Error::NotYet(what.to_owned()).into());
    }
    let plan = Onward::look(&here()?)?.prune_plan()?;
    if args.output.json {
        render::answer_json(&render::prune::answer(&plan));
    } else {
        render::answer(&render::prune::prune(&plan));
    }
    Ok(exit::DONE)
}
