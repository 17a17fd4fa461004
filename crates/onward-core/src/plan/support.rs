//! What a plan may say although nobody acts on it yet. A line goes when the key works.

/// Keys by path; `phase` stands for phases, those of `finally`, and `defaults`. `KEY=VALUE` is one value of a key.
const NOT_YET: &[&str] = &[
    "checkpoint.triggers",
    "checkpoint.keep",
    "checkpoint.compress",
    "checkpoint.mirror",
    "concurrency",
    "limits.budget",
    "notify",
    "replan.tasks-max",
    "team",
    "phase.agent",
    "phase.on-interrupt=continue",
    "phase.replan.tasks-max",
    "phase.resources",
    "phase.runs-on",
];

/// The key, or the key with its value, if it is read and checked but has no effect yet.
pub(super) fn not_yet(path: &[&str], value: Option<&str>) -> Option<String> {
    let path = path.join(".");
    let named = |known: &&&str| known.split_once('=').unwrap_or((known, "")).0 == path;
    let entry =
        NOT_YET.iter().filter(named).find(|known| known.split_once('=').is_none_or(|(_, only)| value == Some(only)))?;
    Some(entry.trim_start_matches("phase.").replace('=', ": "))
}
