//! `onward doctor`.

use onward_core::exit;
use onward_engine::Onward;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn doctor(args: &args::Doctor) -> Result<u8, Failure> {
    let found = Onward::look(&here()?)?.doctor()?;
    if args.output.json {
        render::answer_json(&found);
    } else {
        render::answer(&render::doctor::doctor(&found));
    }
    Ok(if found.ok { exit::DONE } else { exit::DAMAGED })
}
