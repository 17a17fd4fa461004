//! `onward completions SHELL`.

use clap::CommandFactory;
use onward_core::exit;

use crate::args;
use crate::render;

pub(super) fn completions(args: &args::CompletionsArgs) -> u8 {
    let mut script = Vec::new();
    // What is not here yet is not offered.
    clap_complete::generate(args.shell, &mut args::Cli::command(), "onward", &mut script);
    render::answer_bytes(&script);
    exit::DONE
}
