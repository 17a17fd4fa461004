//! The command line: arguments in, text and an exit code out. Everything in between is `onward_engine::Onward`.

mod args;
mod commands;
mod failure;
mod not_yet;
mod own_log;
mod prompt;
mod render;
mod schema;

use std::process::ExitCode;
use std::thread;

use onward_core::exit;
use onward_engine::attendant;

/// Documents may be nested, and the stack that the shell allows (`ulimit -s`) may be small.
const STACK_BYTES: usize = 16 << 20;

fn main() -> ExitCode {
    // An attendant is started for every attempt at every phase, so nothing is set up that it does not need.
    if std::env::args_os().nth(1).is_some_and(|first| first == attendant::ARGUMENT) {
        return attendant::main();
    }
    if let Some(call) = commands::hook::call() {
        return ExitCode::from(commands::hook::heed(call));
    }
    failure::turn_panics_into_pages();
    match thread::Builder::new().name("command".to_owned()).stack_size(STACK_BYTES).spawn(perform) {
        Ok(thread) => ExitCode::from(thread.join().unwrap_or(exit::BUG)),
        // No thread to be had: most of what is asked needs little of a stack.
        Err(_) => ExitCode::from(perform()),
    }
}

fn perform() -> u8 {
    commands::perform_and_write(&std::env::args_os().collect::<Vec<_>>())
}
