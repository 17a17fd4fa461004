//! Files of other tools: taking over many of them, and keeping them as a run goes on.

use std::fs;

use crate::Result;
use crate::bare::Flush;
use crate::figure::{Figure, Report};
use crate::measure::{in_turns, timed};
use crate::options::Options;
use crate::plans::{GraphShape, MadeGraph};
use crate::project::{BenchProject, finish};

const NAME: &str = "files";
/// Phases of a run that keeps mirrors; each is written anew for every phase.
const PHASES: usize = 100;
const MIRRORS: [&str; 5] =
    ["pipeline-state", "checkpoint", "workflow", "crunch", "pipeline-state, checkpoint, workflow, crunch"];

pub(crate) fn measure(options: &Options, report: &mut Report) -> Result<()> {
    imports(options, report)?;
    mirrors(options, report)
}

/// A folder of checkpoint files is imported: each is a run of its own, durable on its own. Held against as many appends that are flushed.
fn imports(options: &Options, report: &mut Report) -> Result<()> {
    let count: u32 = options.pick(200, 1_000, 10_000);
    let project = BenchProject::new(options)?;
    let folder = options.scratch()?;
    for number in 0..count {
        fs::write(folder.join(format!("{number}.json")), file(number))?;
    }
    let mut flush = Flush::new(&options.scratch()?)?;
    let floor = timed(|| (0..count).try_for_each(|number| flush.append(file(number).as_bytes())))? / f64::from(count);
    let path = folder.to_str().ok_or("a path that is no text")?;
    let whole = timed(|| finish(project.onward(&["import", path])))? / f64::from(count);
    let case = format!("{count} files");
    report.add(&Figure::new(NAME, &case, "import, for each file", whole, "ms").over(floor))?;
    let again = timed(|| finish(project.onward(&["import", path])))? / f64::from(count);
    report.add(&Figure::new(NAME, &case, "the same again, nothing new", again, "ms").over(floor))
}

fn file(number: u32) -> String {
    let (hour, minute, second) = (number / 3_600 % 24, number / 60 % 60, number % 60);
    format!(
        "{{\"checkpoint_id\": \"implement_p{number}_20261003_{hour:02}{minute:02}{second:02}\", \"workflow_type\": \"implement\", \
         \"workflow_description\": \"work {number}\", \"created_at\": \"2026-10-03T18:45:30Z\", \"updated_at\": \"2026-10-03T18:52:15Z\", \
         \"status\": \"in_progress\", \"current_phase\": 2, \"total_phases\": 5, \"completed_phases\": [1], \
         \"workflow_state\": {{\"project_name\": \"p{number}\", \"n\": {number}}}, \"last_error\": null}}\n"
    )
}

/// A chain of phases that do nothing, with mirrors and without: the difference is their price for each phase.
fn mirrors(options: &Options, report: &mut Report) -> Result<()> {
    let run = |formats: Option<&str>| -> Result<()> {
        let plan = MadeGraph::idle(GraphShape::Chain, PHASES).plan();
        let kept = formats.map(|formats| format!("name: bench\ncheckpoint: {{ mirror: [{formats}] }}\n"));
        let project = BenchProject::new(options)?;
        project.write("onward.yaml", &kept.map_or(plan.clone(), |kept| plan.replacen("name: bench\n", &kept, 1)))?;
        finish(project.onward(&["run", "--quiet", "--no-input"]))
    };
    #[expect(clippy::cast_precision_loss, reason = "there are few phases")]
    let phases = PHASES as f64;
    for formats in MIRRORS {
        let (mut without, mut with) = (|| run(None), || run(Some(formats)));
        let times = in_turns(options.turns(options.pick(2, 4, 6), 1), &mut [&mut without, &mut with])?;
        let case = format!("chain {PHASES}, {formats}");
        let (without, with) = (times[0].p50() / phases, times[1].p50() / phases);
        report.add(&Figure::new(NAME, &case, "a phase with mirrors, p50", with, "ms").over(without))?;
    }
    Ok(())
}
