//! Files that the agents of a plan are given: prompts, and schemas of their answers. A slip is told before a run is made.

use std::fs;

use onward_core::agent::AgentWork;
use onward_core::diagnostic::{Code, Diagnostic};
use onward_core::plan::{Body, Phase, Plan};
use onward_core::result_schema::ResultSchema;

use crate::executor::agent::FILE_BYTES_MAX;
use crate::project::Project;

/// Files that are not there and that no phase makes, and schemas that are none.
pub(crate) fn faults(project: &Project, plan: &Plan) -> Vec<Diagnostic> {
    let plans = || std::iter::once(plan).chain(plan.used.values());
    let phases = || plans().flat_map(|one| one.phases.iter().chain(&one.finally));
    let is_made = |path: &str| {
        phases().any(|phase| {
            phase.artifacts.iter().any(|one| one.path == path) || phase.writes.iter().any(|one| one == path)
        })
    };
    let known = |path: &String| !path.contains("${{") && !is_made(path);
    let found = phases().flat_map(|phase| {
        let Body::Agent(block) = &phase.body else { return Vec::new() };
        let work = AgentWork::read(block);
        let prompt = work.prompt_file.filter(known).and_then(|path| prompt(project, phase, &path));
        let schema = work.schema.filter(known).and_then(|path| schema(project, phase, &path));
        prompt.into_iter().chain(schema).collect()
    });
    found.collect()
}

fn prompt(project: &Project, phase: &Phase, path: &str) -> Option<Diagnostic> {
    let message = format!("the prompt-file {path} of phase {} is not there", phase.id);
    let missing = !project.top.join(path).is_file();
    missing.then(|| Diagnostic::error(Code::BadValue, message).help("write the file, or say prompt instead"))
}

fn schema(project: &Project, phase: &Phase, path: &str) -> Option<Diagnostic> {
    let whole = project.top.join(path);
    let of = format!("the result.schema {path} of phase {}", phase.id);
    let Ok(about) = fs::metadata(&whole) else {
        return Some(Diagnostic::error(Code::BadValue, format!("{of} is not there")).help("write the file"));
    };
    let read = if about.is_file() && about.len() <= FILE_BYTES_MAX {
        fs::read_to_string(&whole).map_err(|why| why.to_string())
    } else {
        Err(format!("it is no file, or one of more than {FILE_BYTES_MAX} bytes"))
    };
    let why = read.and_then(|text| ResultSchema::read(&text)).err()?;
    let fault = Diagnostic::error(Code::BadValue, format!("{of} cannot be used: {why}"));
    Some(fault.help("mend the schema, or leave `result` out"))
}
