//! W9, as far as it needs no person: size, start-up and memory of the program.

use crate::Result;
use crate::bare;
use crate::figure::{Figure, Goal, Report};
use crate::measure::in_turns;
use crate::options::Options;
use crate::plans::{Graph, Shape};
use crate::project::{Project, finish, peak_memory};

const NAME: &str = "W9";
const GOAL_BINARY_MB: f64 = 25.0;
const GOAL_START_UP_MS: f64 = 10.0;
/// Of a driver with ten thousand phases; asked of smaller ones too.
const GOAL_MEMORY_MB: f64 = 64.0;

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    #[expect(clippy::cast_precision_loss, reason = "a program is not so large")]
    let megabytes = std::fs::metadata(&options.binary)?.len() as f64 / 1e6;
    report.add(&Figure::new(NAME, "program", "size", megabytes, "MB").goal(Goal::AtMost(GOAL_BINARY_MB)))?;

    let project = Project::new(options)?;
    let mut help = || finish(project.onward(&["--version"]));
    let times = in_turns(options.turns(options.pick(11, 31, 31), 10), &mut [&mut bare::spawn, &mut help])?;
    let figure = Figure::new(NAME, "program", "start-up (--version), p50", times[1].p50(), "ms");
    report.add(&figure.over(times[0].p50()).goal(Goal::AtMost(GOAL_START_UP_MS)))?;

    for phases in options.pick(vec![1_000], vec![1_000], vec![1_000, 10_000]) {
        let project = Project::with_plan(options, &Graph::idle(Shape::Wide, phases))?;
        let most = peak_memory(project.onward(&["run", "--quiet", "--no-input"]))?;
        let figure = Figure::new(NAME, format!("wide {phases}"), "memory of the driver, at most", most, "MB");
        report.add(&figure.goal(Goal::AtMost(GOAL_MEMORY_MB)))?;
    }
    Ok(())
}
