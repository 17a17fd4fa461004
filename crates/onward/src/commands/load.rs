//! `onward load`.

use onward_core::checkpoint::saved_form;
use onward_core::exit;
use onward_engine::Onward;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn load(args: &args::LoadArgs) -> Result<u8, Failure> {
    let checkpoint = Onward::look(&here()?)?.load_saved(&args.kind, args.project.as_deref())?;
    render::answer_json(&saved_form(&checkpoint));
    Ok(exit::DONE)
}
