//! A checkpoint or a run as a whole.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use onward_core::checkpoint::Checkpoint;
use onward_core::view::durations::{EndKind, PhaseDurations};
use onward_engine::{RunShown, Shown};
use serde_json::Value;

use super::{artifacts, log, paint, safe, status, time};

/// Lines of the free-form state that are shown; `state get` has it all.
const STATE_LINES_MAX: usize = 40;

/// `onward show`.
pub(crate) fn show(shown: &Shown, now: Timestamp) -> String {
    match shown {
        Shown::Checkpoint(checkpoint) => document(checkpoint, now),
        Shown::Run(run) => whole(run, now),
    }
}

pub(crate) fn whole(run: &RunShown, now: Timestamp) -> String {
    let mut out = status::status(&run.view, status::Detail::All, now);
    let all = run.view.completed.iter().chain(&run.view.running).chain(&run.view.remaining);
    for record in all.filter(|record| !record.artifacts.is_empty()) {
        let _ = writeln!(out, "artifacts of {}", safe::line(record.id.as_str()));
        out.push_str(&artifacts::lines(&record.artifacts, now));
    }
    for record in &run.removed {
        let line = status::phase(record, now);
        let _ = writeln!(out, "{}   no longer in the plan", line.trim_end());
    }
    out.push_str(&inputs(&run.inputs));
    out.push_str(&durations(&run.durations));
    out.push_str(&state(&run.state));
    let _ = writeln!(out, "{} checkpoints, newest first", run.checkpoints.len());
    for item in &run.checkpoints {
        out.push_str("  ");
        out.push_str(&log::checkpoint(item, now));
    }
    out
}

fn document(checkpoint: &Checkpoint, now: Timestamp) -> String {
    let triggers: Vec<&str> = checkpoint.triggers.iter().map(|trigger| trigger.as_str()).collect();
    let mut out = format!("{}\n", paint::bold(&safe::line(checkpoint.id.as_str())));
    let mut fact = |name: &str, text: &str| {
        let _ = writeln!(out, "  {name:<10} {}", safe::line(text));
    };
    fact("run", checkpoint.run.as_str());
    fact("taken", &format!("{}, at record {}", time::clock(checkpoint.created_at, now), checkpoint.seq));
    fact("because of", &triggers.join(", "));
    if let Some(name) = &checkpoint.name {
        fact("name", name);
    }
    if let Some(phase) = &checkpoint.phase {
        fact("phase", phase.as_str());
    }
    if let Some(branch) = &checkpoint.context.branch {
        fact("branch", branch);
    }
    fact("plan", &checkpoint.context.plan.path);
    fact("status", checkpoint.status.as_str());
    for record in &checkpoint.phases {
        out.push_str(&status::phase(record, now));
        out.push_str(&artifacts::lines(&record.artifacts, now));
    }
    out.push_str(&inputs(&checkpoint.context.inputs));
    for warning in &checkpoint.recovery.warnings {
        let _ = writeln!(out, "{} {}", paint::doubtful("warning:"), safe::line(warning));
    }
    out
}

/// How long phases took over all runs of the plan.
pub(super) fn durations(all: &[PhaseDurations]) -> String {
    let told = all.iter().flat_map(|one| one.ends.iter().map(move |(end, took)| (&one.phase, end, took)));
    told.map(|(phase, end, took)| {
        let how = match end {
            EndKind::Done => "takes",
            EndKind::Failed => "fails after",
            EndKind::TimedOut => "runs out of time after",
        };
        let (p50, p90) = (time::milliseconds(took.p50_ms), time::milliseconds(took.p90_ms));
        format!("{} {how} {p50}; 9 of 10 within {p90} ({} attempts)\n", safe::line(phase.as_str()), took.runs)
    })
    .collect()
}

/// The free-form state, as far as it fits a screen.
fn state(state: &Value) -> String {
    if state.as_object().is_none_or(serde_json::Map::is_empty) {
        return String::new();
    }
    let text = serde_json::to_string_pretty(state).unwrap_or_default();
    let more = text.lines().count().saturating_sub(STATE_LINES_MAX);
    let mut out: String = text.lines().take(STATE_LINES_MAX).map(|line| format!("  {}\n", safe::line(line))).collect();
    if more > 0 {
        let _ = writeln!(out, "  [… {more} more lines, see  onward state get …]");
    }
    format!("state\n{out}")
}

fn inputs(inputs: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    for (name, value) in inputs {
        let _ = writeln!(out, "input {} = {}", safe::line(name), safe::line(value));
    }
    out
}
