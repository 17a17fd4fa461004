//! Two checkpoints side by side.

use onward_core::checkpoint::{PhaseChange, ValueChange, ValueOp};
use onward_core::run::PhaseStatus;
use onward_engine::CheckpointDiff;
use onward_engine::vcs::{ChangeKind, PathChange};
use serde_json::{Value, json};

use super::{paint, safe};

/// Longer values are cut; `--json` has them whole.
const VALUE_CHARS_MAX: usize = 120;

pub(crate) fn json(diff: &CheckpointDiff) -> Value {
    let files: Vec<Value> = diff.files.iter().flatten().map(file_json).collect();
    json!({
        "from": diff.from,
        "to": diff.to,
        "state": diff.differences.state,
        "phases": diff.differences.phases,
        "files": files,
        "files_unknown": diff.files.as_ref().err(),
        "messages": diff.differences.messages,
        "plan": diff.differences.plan,
    })
}

fn file_json(change: &PathChange) -> Value {
    json!({
        "path": change.path.to_string_lossy(),
        "change": word(change.kind),
        "lines_added": change.lines_added,
        "lines_removed": change.lines_removed,
    })
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Changed => "changed",
        ChangeKind::Mode => "mode",
        ChangeKind::Kind => "kind",
    }
}

pub(crate) fn text(diff: &CheckpointDiff) -> String {
    let mut text = String::new();
    section(&mut text, "phases", diff.differences.phases.iter().map(phase));
    section(&mut text, "state", diff.differences.state.iter().map(value));
    section(&mut text, "plan", diff.differences.plan.iter().map(value));
    section(&mut text, "messages", diff.differences.messages.iter().map(value));
    section(&mut text, "files", diff.files.iter().flatten().map(file));
    if text.is_empty() && diff.files.is_ok() {
        text.push_str("no difference\n");
    }
    text
}

fn section(text: &mut String, name: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        text.extend([paint::bold(name), "\n".to_owned()]);
        text.extend(lines.iter().map(|line| format!("  {line}\n")));
    }
}

fn phase(change: &PhaseChange) -> String {
    let status = |status: Option<PhaseStatus>| status.map_or("not there", PhaseStatus::as_str);
    let id = safe::line(change.id.as_str());
    if change.old == change.new {
        let fields: Vec<&str> = change.fields.iter().map(|field| field.path.trim_start_matches('/')).collect();
        return format!("~ {id}  {}", safe::line(&fields.join(", ")));
    }
    format!("~ {id}  {} → {}", status(change.old), status(change.new))
}

fn value(change: &ValueChange) -> String {
    let short = |value: &Option<Value>| {
        let text = value.as_ref().map(Value::to_string).unwrap_or_default();
        let cut: String = text.chars().take(VALUE_CHARS_MAX).collect();
        safe::line(&if cut.len() < text.len() { format!("{cut} …") } else { cut })
    };
    let path = safe::line(&change.path);
    match change.op {
        ValueOp::Add => format!("{} {path}  {}", paint::good("+"), short(&change.new)),
        ValueOp::Remove => format!("{} {path}  {}", paint::bad("-"), short(&change.old)),
        ValueOp::Replace => format!("~ {path}  {} → {}", short(&change.old), short(&change.new)),
    }
}

/// One line for a file, as in a preview too.
pub(super) fn file(change: &PathChange) -> String {
    let path = safe::line(&change.path.to_string_lossy());
    let count =
        |sign: &str, lines: Option<u64>| lines.filter(|lines| *lines > 0).map(|lines| format!(" {sign}{lines}"));
    let lines = [count("+", change.lines_added), count("-", change.lines_removed)];
    let lines: String = lines.into_iter().flatten().collect();
    let sign = match change.kind {
        ChangeKind::Added => paint::good("+"),
        ChangeKind::Removed => paint::bad("-"),
        ChangeKind::Changed | ChangeKind::Mode | ChangeKind::Kind => "~".to_owned(),
    };
    format!("{sign} {path}{lines}")
}
