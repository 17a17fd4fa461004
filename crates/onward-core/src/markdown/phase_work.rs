//! The work of one phase, as its text says it now.

use super::section;

/// The text of a phase and its tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseWork {
    pub text: String,
    pub tasks: Vec<PhaseTask>,
}

/// A check box and what stands behind it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PhaseTask {
    pub text: String,
    pub done: bool,
}

/// The work of the phase with this id, files that it is split into included; none where the text has no such phase.
pub fn phase_work(text: &str, id: &str, load: &mut dyn FnMut(&str) -> Result<String, String>) -> Option<PhaseWork> {
    let phases = section::read(text).phases;
    let phase = phases.iter().find(|phase| phase.id == id)?;
    let mut seen = section::linked_before(&phases, id);
    let parts: Vec<_> = phase.linked(&mut seen, load).into_iter().filter_map(|part| part.read.ok()).collect();
    let own = text.get(phase.body.clone()).unwrap_or_default();
    let texts: Vec<&str> = std::iter::once(own).chain(parts.iter().map(|(text, _)| text.as_str())).collect();
    let boxes = phase.part.boxes.iter().chain(parts.iter().flat_map(|(_, part)| &part.boxes));
    Some(PhaseWork {
        text: texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n"),
        tasks: boxes.map(|one| PhaseTask { text: one.text.clone(), done: one.done }).collect(),
    })
}
