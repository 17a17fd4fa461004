//! `onward init`.

use std::fmt::Write as _;
use std::path::PathBuf;

use onward_core::exit;
use onward_engine::{FirstPlan, Onward, Project};
use serde_json::json;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

pub(super) fn init(args: &args::Init) -> Result<u8, Failure> {
    let plan = if args.plan { FirstPlan::Yes } else { FirstPlan::No };
    let report = Onward::init(&here()?, plan)?;
    if args.output.json {
        let names = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        render::answer_json(&json!({ "created": names(&report.created), "kept": names(&report.kept) }));
        return Ok(exit::DONE);
    }
    let mut text = String::new();
    for path in &report.created {
        let _ = writeln!(text, "made {}", render::safe::line(&path.display().to_string()));
    }
    for path in &report.kept {
        let _ = writeln!(text, "kept {} as it is", render::safe::line(&path.display().to_string()));
    }
    if let Some(project) = Project::find(&here()?) {
        text.push_str(&render::others::line(&project.left_by_others()));
    }
    render::say(&text);
    Ok(exit::DONE)
}
