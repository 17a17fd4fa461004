//! `onward graph PLAN|RUN`.

use std::path::Path;

use onward_core::exit;
use onward_engine::{Checked, Error, Onward};

use super::here;
use crate::args::{self, GraphFormat};
use crate::failure::Failure;
use crate::render;
use crate::render::graph::GraphJson;

pub(super) fn graph(args: &args::GraphArgs) -> Result<u8, Failure> {
    let from = here()?;
    let graph = match &args.of {
        Some(path) if from.join(path).is_file() => of_plan(&from, path)?,
        name => {
            let mut onward = Onward::look(&from)?;
            let run = onward.find_run(name.as_deref())?;
            let view = onward.status(Some(run.as_str()))?;
            GraphJson::of_run(&onward.load(&run)?, &view)
        }
    };
    if args.output.json {
        render::answer_json(&graph);
        return Ok(exit::DONE);
    }
    match args.format {
        GraphFormat::Text => render::answer_drawn(&graph.text(render::drawing_columns())),
        GraphFormat::Mermaid => render::answer_drawn(&graph.mermaid()),
        GraphFormat::Dot => render::answer_drawn(&graph.dot()),
        GraphFormat::Svg => render::answer_drawn(&graph.svg()),
    }
    Ok(exit::DONE)
}

fn of_plan(from: &Path, path: &str) -> Result<GraphJson, Error> {
    let Checked { file, text, parsed } = onward_engine::check(from, Some(Path::new(path)), None)?;
    let (newer, diagnostics) = (parsed.newer(), parsed.diagnostics);
    match parsed.plan {
        Some(plan) => Ok(GraphJson::of_plan(&plan)),
        None if newer => Err(Error::PlanNewer { file, text, diagnostics }),
        None => Err(Error::PlanInvalid { file, text, diagnostics }),
    }
}
