//! Attempts as they really happen: real processes, real signals, real kills.
//!
//! The test program is its own attendant: started with `__attend` it does what the product does then, and with `__drive` it is a
//! driver that can be killed. Otherwise it runs the tests below.

mod ends;
mod leftovers;
mod measure;
mod orphans;
mod output;
mod stops;
mod world;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use onward_engine::attendant;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(attendant::ARGUMENT) => attendant::main(),
        Some(world::DRIVE) => world::drive(),
        Some(_) | None => libtest_mimic::run(&Arguments::from_args(), trials()).exit_code(),
    }
}

fn trials() -> Vec<Trial> {
    let groups = [ends::TESTS, leftovers::TESTS, stops::TESTS, orphans::TESTS, output::TESTS].concat();
    let mut trials: Vec<Trial> = groups.into_iter().map(|(name, test)| trial(name, test)).collect();
    trials.push(trial("measure_start_up", measure::start_up).with_ignored_flag(true));
    trials
}

fn trial(name: &str, test: fn()) -> Trial {
    Trial::test(name, move || {
        test();
        Ok(())
    })
}
