//! `onward completions SHELL`.

use onward_core::exit;

use crate::args;
use crate::render;

pub(super) fn completions(args: &args::Completions) -> u8 {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::command(), "onward", &mut script);
    render::answer_bytes(&script);
    exit::DONE
}
