//! A text put together phase by phase. A phase ends at the next heading of the same or a higher level.

use std::ops::Range;

use super::dependency::NeedsSaid;
use super::heading::{self, PhaseHeading};
use super::link::{LinkedKind, from_the_plan};
use super::marker::Marker;
use super::scan::{BoxFound, HeadingFound, LinkFound, NeedsFound, scan};

/// Levels of headings that begin phases.
const LEVELS: std::ops::RangeInclusive<u32> = 2..=3;
/// Files that one plan may be split into.
pub(crate) const LINKED_FILES_MAX: usize = 1_000;

/// A task: a list item with a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskBox {
    /// Between the brackets.
    pub(crate) inside: Range<usize>,
    pub(crate) done: bool,
    pub(crate) text: String,
}

/// The contents of a phase's text, or of a file of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SectionPart {
    pub(crate) boxes: Vec<TaskBox>,
    /// Dependency lines, each with its place.
    pub(crate) needs: Vec<(usize, NeedsSaid)>,
    links: Vec<LinkFound>,
}

/// A phase as it stands in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PhaseSection {
    pub(crate) id: String,
    pub(crate) id_at: usize,
    pub(crate) name: Option<String>,
    pub(crate) marker: Marker,
    /// Where the marker stands at the end of the heading, if it does.
    pub(super) marked: Option<Range<usize>>,
    /// Behind the text of the heading.
    pub(super) heading_end: usize,
    /// Something in brackets at the end of the heading that looks like a marker and is none.
    pub(crate) unknown_marker: Option<String>,
    /// Behind the heading.
    pub(crate) body: Range<usize>,
    pub(crate) part: SectionPart,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentRead {
    /// The first heading of the highest level.
    pub(crate) title: Option<String>,
    pub(crate) phases: Vec<PhaseSection>,
    /// Headings that begin no phase and may have been meant to: where each stands, and its text.
    pub(crate) lookalikes: Vec<(usize, String)>,
}

/// A file that holds a part of a phase, or why it cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct LinkedPart {
    /// From the folder of the plan.
    pub(crate) path: String,
    /// Where the plan, or the file of the phase, links to it; of the plan alone it is a place there.
    pub(crate) at: usize,
    pub(crate) read: Result<(String, SectionPart), String>,
}

/// Reads a plan.
pub(crate) fn read(source: &str) -> DocumentRead {
    let scanned = scan(source);
    let title = scanned.headings.iter().find(|heading| heading.level == 1);
    let title = title.map(|heading| heading.text.text.trim().to_owned()).filter(|title| !title.is_empty());
    let (mut phases, owners) = outline(source, &scanned.headings);
    for found in scanned.boxes {
        if let Some(at) = owner(&owners, found.inside.start) {
            phases[at].part.boxes.push(task(found));
        }
    }
    for NeedsFound { at, said } in scanned.needs {
        if let Some(own) = owner(&owners, at) {
            phases[own].part.needs.push((at, said));
        }
    }
    for link in scanned.links {
        if let Some(own) = owner(&owners, link.at) {
            phases[own].part.links.push(link);
        }
    }
    let lookalikes = scanned.headings.iter().filter(|heading| {
        let text = &heading.text.text;
        LEVELS.contains(&heading.level) && heading::read(text).is_none() && heading::looks_like_one(text)
    });
    let lookalikes = lookalikes.map(|heading| (heading.start, heading.text.text.trim().to_owned())).collect();
    DocumentRead { title, phases, lookalikes }
}

/// Reads a file that holds a part of a phase: all of it counts.
pub(crate) fn read_linked(source: &str) -> SectionPart {
    let scanned = scan(source);
    let needs = scanned.needs.into_iter().map(|NeedsFound { at, said }| (at, said));
    SectionPart { boxes: scanned.boxes.into_iter().map(task).collect(), needs: needs.collect(), links: scanned.links }
}

fn task(found: BoxFound) -> TaskBox {
    TaskBox { inside: found.inside, done: found.done, text: found.text }
}

/// Phases without their contents, and from which offset on what stands there belongs to which of them.
fn outline(source: &str, headings: &[HeadingFound]) -> (Vec<PhaseSection>, Vec<(usize, Option<usize>)>) {
    let (mut phases, mut owners): (Vec<PhaseSection>, Vec<(usize, Option<usize>)>) = (Vec::new(), Vec::new());
    // The phase that each level is in.
    let mut inside: Vec<(u32, usize)> = Vec::new();
    for heading in headings {
        while let Some((_, ended)) = inside.pop_if(|(level, _)| *level >= heading.level) {
            phases[ended].body.end = heading.start;
        }
        let begins = LEVELS.contains(&heading.level).then(|| heading::read(&heading.text.text)).flatten();
        if let Some(read) = begins {
            inside.push((heading.level, phases.len()));
            phases.push(section(source, heading, read));
        }
        owners.push((heading.start, inside.last().map(|(_, phase)| *phase)));
    }
    (phases, owners)
}

fn section(source: &str, heading: &HeadingFound, read: PhaseHeading) -> PhaseSection {
    let text = &heading.text;
    PhaseSection {
        id: text.text[read.id.clone()].to_owned(),
        id_at: text.source_of(read.id.start),
        name: read.name.map(|name| text.text[name].to_owned()),
        marker: read.marker,
        marked: read.marked.and_then(|span| text.span(source, span)),
        heading_end: heading.text_end,
        unknown_marker: read.unknown,
        body: heading.end..source.len(),
        part: SectionPart::default(),
    }
}

fn owner(owners: &[(usize, Option<usize>)], offset: usize) -> Option<usize> {
    let behind = owners.partition_point(|(start, _)| *start <= offset);
    owners.get(behind.checked_sub(1)?)?.1
}

impl PhaseSection {
    /// The files that hold parts of this phase, each once. `load` reads a path from the folder of the plan; `seen` are those
    /// that other phases have.
    pub(crate) fn linked(
        &self,
        seen: &mut Vec<String>,
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Vec<LinkedPart> {
        let mut found = Vec::new();
        let own = |kind: &LinkedKind| match kind {
            LinkedKind::Phase(id) => *id == self.id,
            LinkedKind::Stage => true,
        };
        for link in self.part.links.iter().filter(|link| own(&link.kind)) {
            let Some(part) = follow("", link, link.at, seen, load) else { continue };
            let stages = match (&link.kind, &part.read) {
                (LinkedKind::Phase(_), Ok((_, read))) => read.links.clone(),
                (LinkedKind::Phase(_) | LinkedKind::Stage, _) => Vec::new(),
            };
            let beside = part.path.clone();
            found.push(part);
            let stages = stages.iter().filter(|link| link.kind == LinkedKind::Stage);
            found.extend(stages.filter_map(|stage| follow(&beside, stage, link.at, seen, load)));
        }
        found
    }
}

/// The files that belong to phases before this one: what an earlier phase links to is that phase's.
pub(super) fn linked_before(phases: &[PhaseSection], id: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for earlier in phases.iter().take_while(|other| other.id != id) {
        earlier.linked(&mut seen, &mut |_| Err(String::new()));
    }
    seen
}

fn follow(
    beside: &str,
    link: &LinkFound,
    at: usize,
    seen: &mut Vec<String>,
    load: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Option<LinkedPart> {
    let Some(path) = from_the_plan(beside, &link.path) else {
        let why = "it leaves the folder of the plan".to_owned();
        return Some(LinkedPart { path: link.path.clone(), at, read: Err(why) });
    };
    if seen.contains(&path) || seen.len() >= LINKED_FILES_MAX {
        return None;
    }
    seen.push(path.clone());
    let read = load(&path).map(|text| {
        let part = read_linked(&text);
        (text, part)
    });
    Some(LinkedPart { path, at, read })
}
