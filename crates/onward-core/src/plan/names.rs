//! Names of phases as people read and type them: a child of a matrix by its values, `fetch[2026-11-14]`.

use std::collections::BTreeMap;

use super::{Phase, Plan};
use crate::id::PhaseId;

/// The phases that people know by another name than their id, each with that name.
pub fn shown_names(plan: &Plan) -> BTreeMap<PhaseId, String> {
    let mut names: BTreeMap<PhaseId, String> = BTreeMap::new();
    // A child stands behind the phase that it is a part of.
    for phase in plan.phases.iter().filter(|phase| phase.situation.parent.is_some()) {
        let situation = &phase.situation;
        let of = |id: &PhaseId| names.get(id).cloned().unwrap_or_else(|| id.to_string());
        let axes = situation.parent.as_ref().and_then(|parent| Some((parent, plan.phase(parent)?.matrix.as_ref()?)));
        let name = match (axes, &situation.within) {
            (Some((parent, matrix)), _) => {
                let values = matrix.axes.iter().filter_map(|(name, _)| situation.matrix.get(name));
                format!("{}[{}]", of(parent), values.map(|value| written(value)).collect::<Vec<_>>().join(","))
            }
            (None, Some(outer)) => match phase.id.as_str().strip_prefix(outer.as_str()) {
                Some(inner) => format!("{}{inner}", of(outer)),
                None => continue,
            },
            (None, None) => continue,
        };
        if name != phase.id.as_str() {
            names.insert(phase.id.clone(), name);
        }
    }
    names
}

/// The name of a phase in a line about it: the author's, else the one that people know it by.
pub fn shown_title(phase: &Phase, names: &BTreeMap<PhaseId, String>) -> String {
    let known = || names.get(&phase.id).cloned();
    phase.name.clone().or_else(known).unwrap_or_else(|| phase.id.to_string())
}

/// The phase of the plan that was typed: by its id, else by the name that people read.
pub fn phase_meant(plan: &Plan, typed: &str) -> Option<PhaseId> {
    let id = PhaseId::new(typed);
    if plan.phase(&id).is_some() {
        return Some(id);
    }
    shown_names(plan).into_iter().find(|(_, name)| name == typed).map(|(id, _)| id)
}

/// A value as it stands in a name. One that could be taken for two, or for the end of the list, is a JSON string.
fn written(value: &str) -> String {
    let plain = !value.is_empty() && !value.contains([',', '[', ']', ' ', '"']) && !value.contains(char::is_control);
    if plain { value.to_owned() } else { serde_json::to_string(value).expect("a text is JSON") }
}

/// The text with the ids of phases replaced by the names that people know them by.
pub fn with_shown_names(text: &str, names: &BTreeMap<String, String>, quoted: fn(&str) -> String) -> Option<String> {
    if names.is_empty() || !text.contains('@') {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(is_of_an_id) {
        out.push_str(&rest[..begin]);
        let word = &rest[begin..];
        let end = word.find(|character| !is_of_an_id(character)).unwrap_or(word.len());
        match names.get(&word[..end]) {
            Some(name) => out.push_str(&quoted(name)),
            None => out.push_str(&word[..end]),
        }
        rest = &word[end..];
    }
    out.push_str(rest);
    Some(out)
}

/// Whether a character may stand in the id of a phase.
fn is_of_an_id(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '.' | '_' | '-' | '@' | '/')
}
