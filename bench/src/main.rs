//! Measures the workloads that onward has promises about. Every figure is taken beside its floor, in turns, so that a
//! noisy machine disturbs both alike; what counts is the ratio.

mod bare;
mod figure;
mod files;
mod flushes;
mod measure;
mod options;
mod ours;
mod plans;
mod project;
mod savers;
mod small;
mod state;
mod w1;
mod w2;
mod w3;
mod w4;
mod w5;
mod w6;
mod w7;

use std::process::ExitCode;

use crate::figure::Report;
use crate::options::{Options, Workload};

/// Errors of a measurement are of no kind that anybody handles: they are shown.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The argument by which this program, started again under a tracer, does nothing but durable steps in its folder.
const STEPS_ONLY: &str = "steps-only";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [first, count] if first == STEPS_ONLY => steps_only(count),
        _ => run(arguments),
    };
    match done {
        Ok(code) => code,
        Err(why) => {
            figure::complain(&format!("error: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn steps_only(count: &str) -> Result<ExitCode> {
    w2::steps_only(&std::env::current_dir()?, count.parse()?)?;
    Ok(ExitCode::SUCCESS)
}

fn run(arguments: Vec<String>) -> Result<ExitCode> {
    let options = Options::read(arguments.into_iter())?;
    let mut report = Report::new(&options)?;
    for workload in &options.workloads {
        let measured = match workload {
            Workload::Saves => w1::measure(&options, &mut report),
            Workload::Steps => w2::measure(&options, &mut report),
            Workload::Phases => w3::measure(&options, &mut report),
            Workload::ComingBack => w4::measure(&options, &mut report),
            Workload::History => w5::measure(&options, &mut report),
            Workload::Growth => w6::measure(&options, &mut report),
            Workload::Snapshots => w7::measure(&options, &mut report),
            Workload::Flushes => flushes::measure(&options, &mut report),
            Workload::Small => small::measure(&options, &mut report),
            Workload::Files => files::measure(&options, &mut report),
        };
        // One workload that cannot be measured must not hide the others; it fails the whole all the same.
        if let Err(why) = measured {
            report.fail(format!("{}: {why}", workload.name()))?;
        }
    }
    report.close(&options)?;
    Ok(if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
