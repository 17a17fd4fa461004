//! Links to files that hold a part of a phase: `phase_2_build.md`, `stage_1_tokens.md`.

use super::heading::{id_len, strip_word};

/// The part of a plan that a linked file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkedKind {
    /// All of the phase with this id.
    Phase(String),
    /// A stage of the phase that links to it.
    Stage,
}

/// The path that a link leads to, and what the file there holds; none where a link leads elsewhere.
pub(super) fn linked(target: &str) -> Option<(String, LinkedKind)> {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    if target.contains(':') || target.starts_with('/') || target.contains('\\') {
        return None;
    }
    let path = percent_decoded(target)?;
    let name = path.rsplit('/').next().unwrap_or_default();
    let stem = name.strip_suffix(".md").or_else(|| name.strip_suffix(".markdown"))?;
    let id = |rest: &str| {
        let end = rest.find('_').unwrap_or(rest.len());
        (id_len(&rest[..end]) == Some(end)).then(|| rest[..end].to_owned())
    };
    if let Some(rest) = strip_word(stem, "phase_") {
        return id(rest).map(|id| (path.clone(), LinkedKind::Phase(id)));
    }
    let rest = strip_word(stem, "stage_")?;
    id(rest).map(|_| (path.clone(), LinkedKind::Stage))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        let decoded = (*byte == b'%').then(|| behind.get(..2)).flatten();
        let decoded = decoded.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(decoded.unwrap_or(*byte));
        rest = if decoded.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

/// A path from the folder of the plan, given one from the folder of another file there. None where it leaves that folder.
pub(crate) fn from_the_plan(beside: &str, path: &str) -> Option<String> {
    let folder = beside.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            other => parts.push(other),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of phases and stages are followed, and nothing else is.
    #[test]
    fn which_links_are_followed() {
        let phase = |id: &str| Some(LinkedKind::Phase(id.to_owned()));
        let kind = |target: &str| linked(target).map(|(_, kind)| kind);
        assert_eq!(kind("phase_2_build.md"), phase("2"));
        assert_eq!(kind("./phases/phase_2.5_build%20it.md#tasks"), phase("2.5"));
        assert_eq!(kind("phase_3.md"), phase("3"));
        assert_eq!(kind("phase_2/stage_1_api.md"), Some(LinkedKind::Stage));
        for other in
            ["https://x.org/phase_2_b.md", "/etc/phase_2_b.md", "phase_two.md", "notes.md", "phase_2_build.txt"]
        {
            assert_eq!(kind(other), None, "{other}");
        }
    }

    /// A path never leaves the folder of the plan.
    #[test]
    fn paths_stay_inside() {
        assert_eq!(from_the_plan("", "phase_1.md").as_deref(), Some("phase_1.md"));
        assert_eq!(from_the_plan("phase_2/overview.md", "stage_1.md").as_deref(), Some("phase_2/stage_1.md"));
        assert_eq!(from_the_plan("phase_2/overview.md", "../stage_1.md").as_deref(), Some("stage_1.md"));
        assert_eq!(from_the_plan("", "../phase_1.md"), None);
        assert_eq!(from_the_plan("a/b.md", "../../phase_1.md"), None);
    }
}
