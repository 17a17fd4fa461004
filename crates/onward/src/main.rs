//! The command line: arguments in, text and an exit code out. Everything in between is `onward_engine::Onward`.

mod args;
mod commands;
mod failure;
mod later;
mod prompt;
mod render;
mod schema;

use std::process::ExitCode;

use onward_engine::{attendant, kill_point};

fn main() -> ExitCode {
    // An attendant is started for every attempt at every phase, so nothing is set up that it does not need.
    if std::env::args_os().nth(1).is_some_and(|first| first == attendant::ARGUMENT) {
        kill_point::install();
        return attendant::main();
    }
    kill_point::install();
    failure::turn_panics_into_pages();
    ExitCode::from(commands::perform_and_write(&std::env::args_os().collect::<Vec<_>>()))
}
