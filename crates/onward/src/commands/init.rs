//! `onward init`.

use std::fmt::Write as _;
use std::path::PathBuf;

use onward_core::exit;
use onward_engine::{FirstPlan, Onward, PLUGIN_FOLDER, Project};
use serde_json::json;

use super::here;
use crate::args;
use crate::failure::Failure;
use crate::render;

const COMMITS_ARE_OFF: &str = "\
commits along the way are off; to commit after every third phase, write this into .onward/config.yaml or into a plan:
  checkpoint: { git-commit: { every: 3 } }
";

const SNAPSHOTS_ARE_OFF: &str = "\
snapshots of files are off, since this is no git repository: rewind takes back what is on record, and no files
";

pub(super) fn init(args: &args::InitArgs) -> Result<u8, Failure> {
    let plan = if args.plan { FirstPlan::Yes } else { FirstPlan::No };
    let mut report = Onward::init(&here()?, plan)?;
    if args.claude_code {
        let plugin = Onward::install_plugin(&here()?)?;
        report.created.extend(plugin.created);
        report.kept.extend(plugin.kept);
    }
    let load = args.claude_code.then(|| format!("claude --plugin-dir {PLUGIN_FOLDER}"));
    if args.output.json {
        let names = |paths: &[PathBuf]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let commits = if report.commits_are_off { json!("off") } else { json!(null) };
        let (created, kept) = (names(&report.created), names(&report.kept));
        let snapshots = if report.snapshots_are_off { "off" } else { "on" };
        render::answer_json(&json!({
            "created": created, "kept": kept, "mini_commits": commits, "snapshots": snapshots, "load": load,
        }));
        return Ok(exit::DONE);
    }
    let mut text = String::new();
    for path in &report.created {
        let _ = writeln!(text, "made {}", render::safe::line(&path.display().to_string()));
    }
    for path in &report.kept {
        let _ = writeln!(text, "kept {} as it is", render::safe::line(&path.display().to_string()));
    }
    if report.commits_are_off {
        text.push_str(COMMITS_ARE_OFF);
    }
    if report.snapshots_are_off {
        text.push_str(SNAPSHOTS_ARE_OFF);
    }
    text.push_str(if report.has_a_plan {
        "look at the plan with  onward check  and start it with  onward run\n"
    } else {
        "have a first plan written with  onward init --plan\n"
    });
    if let Some(load) = load {
        let _ = writeln!(text, "load the plugin with  {load}");
    }
    if let Some(project) = Project::find(&here()?) {
        text.push_str(&render::foreign_work::line(&project.left_by_others()));
    }
    render::say(&text);
    Ok(exit::DONE)
}
