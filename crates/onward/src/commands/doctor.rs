//! `onward doctor`.

use onward_core::exit;
use onward_engine::{Onward, Soundness};

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
    Ok(code(found.soundness()))
}

fn repair(args: &args::DoctorArgs) -> Result<u8, Failure> {
    let done = Onward::look_or_lost(&here()?)?.repair()?;
    if args.output.json {
        render::answer_json(&done);
    } else {
        render::answer(&render::doctor::repair(&done));
    }
    Ok(code(done.soundness()))
}

fn code(soundness: Soundness) -> u8 {
    match soundness {
        Soundness::Sound => exit::DONE,
        Soundness::Damaged => exit::DAMAGED,
        Soundness::Newer => exit::NEWER,
    }
}
