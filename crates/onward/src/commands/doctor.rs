//! `onward doctor`.

use onward_core::exit;
use onward_engine::Onward;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn doctor(args: &args::DoctorArgs) -> Result<u8, Failure> {
    if args.repair {
        return repair(args);
    }
    let found = Onward::look_or_lost(&here()?)?.doctor();
    if args.output.json {
        render::answer_json(&found);
    } else {
        render::answer(&render::doctor::doctor(&found));
    }
    Ok(code(found.ok, found.is_newer()))
}

fn repair(args: &args::DoctorArgs) -> Result<u8, Failure> {
    let done = Onward::look_or_lost(&here()?)?.repair()?;
    if args.output.json {
        render::answer_json(&done);
    } else {
        render::answer(&render::doctor::repair(&done));
    }
    Ok(code(done.ok, done.is_newer()))
}

fn code(ok: bool, is_newer: bool) -> u8 {
    match (ok, is_newer) {
        (_, true) => exit::NEWER,
        (true, false) => exit::DONE,
        (false, false) => exit::DAMAGED,
    }
}
