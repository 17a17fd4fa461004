//! From the headings, boxes and dependency lines of a text in Markdown to a [`Plan`], or to all that is wrong with it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::model::{Body, Need, Phase, Plan};
use super::parse::{Parsed, PhaseOutline, cut, finished, outline, refused, too_large};
use super::parts::{External, IfSilent, MarkdownOrigin, MarkdownSettings, PhaseMark, UnsaidNeeds};
use super::plan_checks;
use super::read::Draft;
use crate::diagnostic::{Code, Diagnostic, Place};
use crate::id::PhaseId;
use crate::markdown::{self, LineIndex, LinkedPart, Marker, NeedNamed, NeedsSaid, PhaseSection};

/// Headings that look like those of phases and are none, of which each is named.
const LOOKALIKES_MAX: usize = 100;
const LOOKALIKE_CHARS_SHOWN: usize = 60;
const NAME_DEFAULT: &str = "plan";
const ID_CHARS_MAX: usize = 64;
/// Above so many needs of phases that say nothing, each needs only those that no other one before it needs: the same order, told
/// in fewer words.
const EARLIER_NEEDS_MAX: usize = 20_000;
/// Needs of all phases together.
const NEEDS_MAX: usize = 200_000;
const INSTRUCTIONS: &str = "do the phase as the plan describes it";

/// Reads a plan in Markdown. `load` reads a file that it is split into, by its path from the folder of the plan.
pub fn parse_markdown(
    text: &str,
    settings: &MarkdownSettings,
    load: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Parsed {
    if let Some(fault) = too_large(text) {
        return refused(vec![fault.help("split the plan into files of its phases and link to them")]);
    }
    let read = markdown::read(text);
    let mut reading = MarkdownReading { text, places: LineIndex::new(text), settings, in_rows: 0, faults: Vec::new() };
    reading.lookalikes(&read.lookalikes);
    if read.phases.is_empty() {
        let fault = Diagnostic::error(Code::NoPhases, "no heading begins a phase").at(Place::new(1, 1));
        reading.faults.push(fault.help("write a heading for each phase, such as `## Phase 1: Set up the schema`"));
        return refused(reading.faults);
    }
    let mut seen_files = Vec::new();
    let parts: Vec<PhaseRead<'_>> =
        read.phases.iter().map(|section| PhaseRead { section, files: section.linked(&mut seen_files, load) }).collect();
    reading.ids(&parts);
    let needs = reading.needs(&parts);
    let drafts: Vec<Draft> = parts.iter().zip(needs).map(|(part, needs)| reading.draft(part, needs)).collect();
    let MarkdownReading { mut faults, .. } = reading;
    plan_checks::check_needs(&drafts, &mut faults);
    explain_circles(&mut faults);
    let outlines: Vec<PhaseOutline> =
        parts.iter().zip(&drafts).map(|(part, draft)| part.outline(outline(draft))).collect();
    warn_of_markers(&parts, &outlines, &drafts, &mut faults);
    let mut plan = None;
    if !faults.iter().any(Diagnostic::is_error) {
        let marks = outlines.iter().filter(|one| one.marker != Marker::Pending);
        let marks = marks.map(|one| PhaseMark { phase: one.id.clone(), marker: one.marker }).collect();
        let name = read.title.unwrap_or_else(|| NAME_DEFAULT.to_owned());
        plan = Some(Plan {
            phases: drafts.into_iter().map(finished).collect(),
            markdown: Some(Box::new(MarkdownOrigin { settings: settings.clone(), marks, ticked: ticked(&outlines) })),
            replan: settings.replan.clone(),
            ..Plan::new(name, "run")
        });
    }
    Parsed { plan, phases: outlines, diagnostics: cut(faults) }
}

/// A phase, with the files that hold parts of it.
struct PhaseRead<'a> {
    section: &'a PhaseSection,
    files: Vec<LinkedPart>,
}

impl PhaseRead<'_> {
    /// The texts of its tasks, with whether each is done.
    fn tasks(&self) -> impl Iterator<Item = (&str, bool)> {
        let files = self.files.iter().filter_map(|file| file.read.as_ref().ok()).map(|(_, part)| part);
        let parts = std::iter::once(&self.section.part).chain(files);
        parts.flat_map(|part| &part.boxes).map(|one| (one.text.as_str(), one.done))
    }

    fn outline(&self, outline: PhaseOutline) -> PhaseOutline {
        let (tasks_total, tasks_done) = (self.tasks().count(), self.tasks().filter(|(_, done)| *done).count());
        PhaseOutline { marker: self.section.marker, tasks_total, tasks_done, ..outline }
    }

    /// The text of its work, without what changes while it is done.
    fn description(&self, text: &str) -> String {
        let section = self.section;
        let own = markdown::without_progress(text, &section.body, &section.part.boxes);
        let files = self.files.iter().filter_map(|file| {
            let (text, part) = file.read.as_ref().ok()?;
            Some(markdown::without_progress(text, &(0..text.len()), &part.boxes))
        });
        std::iter::once(own).chain(files).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}

/// The ids of a plan in their order as numbers, to find those between two of them.
type InOrder<'a> = BTreeMap<(Vec<u64>, Option<char>), &'a str>;

struct MarkdownReading<'a> {
    text: &'a str,
    places: LineIndex<'a>,
    settings: &'a MarkdownSettings,
    /// Needs that were read out of rows so far: rows are short to write and long to write out.
    in_rows: usize,
    faults: Vec<Diagnostic>,
}

impl MarkdownReading<'_> {
    fn lookalikes(&mut self, found: &[(usize, String)]) {
        for (at, text) in found.iter().take(LOOKALIKES_MAX) {
            let text: String = text.chars().take(LOOKALIKE_CHARS_SHOWN).collect();
            let message = format!("`{text}` begins no phase: no number stands behind the word");
            let fault = Diagnostic::warning(Code::UnclearHeading, message).at(self.places.at(*at));
            self.faults
                .push(fault.help("write a number, such as `## Phase 4: Name`, or another word if it is no phase"));
        }
    }

    fn ids(&mut self, parts: &[PhaseRead<'_>]) {
        let mut first: BTreeMap<&str, Place> = BTreeMap::new();
        for PhaseRead { section, .. } in parts {
            let place = self.places.at(section.id_at);
            let id = section.id.as_str();
            if id.len() > ID_CHARS_MAX {
                let message = format!("`{}…` cannot be the id of a phase", &id[..ID_CHARS_MAX]);
                let fault = Diagnostic::error(Code::BadId, message).at(place);
                self.faults.push(fault.help(format!("ids have {ID_CHARS_MAX} characters at most")));
            }
            if let Some(before) = first.get(id) {
                let message = format!("phase `{id}` stands twice; the first is in line {}", before.line);
                let fault = Diagnostic::error(Code::DuplicatePhase, message).at(place);
                self.faults.push(fault.help(format!("give one of them another id, such as `{id}a` or `{id}.5`")));
            }
            first.entry(id).or_insert(place);
            if let Some(word) = &section.unknown_marker {
                let message = format!("`[{word}]` is no marker; phase `{id}` counts as not begun");
                let help = "markers are [NOT STARTED] [IN PROGRESS] [COMPLETE] [BLOCKED] [SKIPPED]";
                self.faults.push(Diagnostic::warning(Code::UnknownMarker, message).at(place).help(help));
            }
        }
        for (section, file) in parts.iter().flat_map(|part| part.files.iter().map(|file| (part.section, file))) {
            if let Err(why) = &file.read {
                let message = format!("phase `{}` links to {}, which cannot be read: {why}", section.id, file.path);
                let fault = Diagnostic::warning(Code::LinkedFile, message).at(self.places.at(file.at));
                self.faults.push(fault.help("its tasks are not counted, and not ticked when the phase is done"));
            }
        }
    }

    /// The needs of each phase, with the place of each.
    fn needs(&mut self, parts: &[PhaseRead<'_>]) -> Vec<Vec<(String, Place)>> {
        let ids: InOrder<'_> = parts.iter().map(|part| (order(&part.section.id), part.section.id.as_str())).collect();
        let said: Vec<Option<Vec<(String, Place)>>> = parts.iter().map(|part| self.said(part, &ids)).collect();
        let earlier = self.settings.unsaid == UnsaidNeeds::Earlier;
        let total: usize = said.iter().enumerate().filter(|(_, said)| said.is_none()).map(|(at, _)| at).sum();
        let all_named = total <= EARLIER_NEEDS_MAX;
        // Those that nothing before needs.
        let mut last: BTreeSet<usize> = BTreeSet::new();
        let mut at_of: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, part) in parts.iter().enumerate() {
            at_of.entry(part.section.id.as_str()).or_insert(at);
        }
        let (mut all, mut count) = (Vec::with_capacity(parts.len()), 0_usize);
        for (at, said) in said.into_iter().enumerate() {
            let section = parts[at].section;
            let place = self.places.at(section.id_at);
            let named = |at: usize| (parts[at].section.id.clone(), place);
            let mine = match said {
                Some(said) => said,
                // Of two with one id, which is refused, the second is needed by nobody and stands for nothing.
                None if !earlier || at_of.get(section.id.as_str()) != Some(&at) || count > NEEDS_MAX => Vec::new(),
                None if all_named => (0..at).map(named).collect(),
                None => last.iter().copied().map(named).collect(),
            };
            for (id, _) in &mine {
                at_of.get(id.as_str()).map(|need| last.remove(need));
            }
            if at_of.get(section.id.as_str()) == Some(&at) {
                last.insert(at);
            }
            count += mine.len();
            all.push(if count <= NEEDS_MAX { mine } else { Vec::new() });
        }
        if count > NEEDS_MAX || self.in_rows > NEEDS_MAX {
            let message = format!("the phases have more than {NEEDS_MAX} needs together, and no more are possible");
            let fault = Diagnostic::error(Code::TooLarge, message).at(Place::new(1, 1));
            self.faults.push(fault.help("let each phase name only those that it needs itself"));
        }
        all
    }

    /// The needs that a phase names; none where it says nothing about them.
    fn said(&mut self, part: &PhaseRead<'_>, ids: &InOrder<'_>) -> Option<Vec<(String, Place)>> {
        let own = part.section.part.needs.iter().map(|(at, said)| (*at, said, None));
        // What stages need of each other is no matter of the plan.
        let of_files =
            part.files.iter().filter(|file| !file.path.rsplit('/').next().unwrap_or_default().starts_with("stage_"));
        let of_files = of_files.filter_map(|file| Some((file, file.read.as_ref().ok()?)));
        let in_files = of_files
            .flat_map(|(file, (_, read))| read.needs.iter().map(move |(_, said)| (file.at, said, Some(file.at))));
        let lines: Vec<(usize, &NeedsSaid, Option<usize>)> = own.chain(in_files).collect();
        let mut found: Option<Vec<(String, Place)>> = None;
        for (at, said, elsewhere) in lines {
            let place = |own: usize, places: &LineIndex<'_>| places.at(elsewhere.unwrap_or(own));
            match said {
                NeedsSaid::Open => {}
                NeedsSaid::Nothing => {
                    found.get_or_insert_default();
                }
                NeedsSaid::Unclear => {
                    let message = format!("this dependency line of phase `{}` names no phase", part.section.id);
                    let fault = Diagnostic::warning(Code::UnclearDependency, message).at(place(at, &self.places));
                    self.faults.push(
                        fault.help("it counts as if it were not there; write `**Dependencies**: [1, 2]` or `None`"),
                    );
                }
                NeedsSaid::Phases { named, unclear } => {
                    let into = found.get_or_insert_default();
                    for one in named {
                        let place = place(one.span.start, &self.places);
                        if self.in_rows <= NEEDS_MAX {
                            let ids = row(one, ids, &part.section.id);
                            self.in_rows += ids.len();
                            into.extend(ids.into_iter().map(|id| (id, place)));
                        }
                    }
                    for (text, span) in unclear {
                        let message =
                            format!("`{text}` names no phase, and phase `{}` does not wait for it", part.section.id);
                        let fault = Diagnostic::warning(Code::UnclearDependency, message);
                        let fault = fault.at(place(span.start, &self.places));
                        self.faults.push(fault.help("leave it out, or write the id of a phase"));
                    }
                }
            }
        }
        if let Some(needs) = &mut found {
            let mut known = BTreeSet::new();
            needs.retain(|(id, _)| known.insert(id.clone()));
        }
        found
    }

    fn draft(&self, part: &PhaseRead<'_>, needs: Vec<(String, Place)>) -> Draft {
        let section = part.section;
        let description = part.description(self.text);
        let body = match &self.settings.agent {
            Some(agent) => Body::Agent(json!({ "use": agent, "prompt": description })),
            None => Body::External(External {
                instructions: INSTRUCTIONS.to_owned(),
                heartbeat: None,
                if_silent: IfSilent::Wait,
            }),
        };
        let kind = body.kind();
        let (needs, need_places) = needs.into_iter().map(|(id, place)| (Need::new(PhaseId::new(id)), place)).unzip();
        Draft {
            phase: Phase {
                name: section.name.clone(),
                description: Some(description).filter(|text| !text.is_empty()),
                needs,
                tasks: part.tasks().map(|(text, _)| text.to_owned()).collect(),
                ..Phase::new(PhaseId::new(&section.id), body)
            },
            place: self.places.at(section.id_at),
            need_places,
            kind,
            limits: Vec::new(),
            axes: Vec::new(),
            probed: false,
            outputs_declared: false,
        }
    }
}

/// How many boxes of each phase are ticked.
fn ticked(outlines: &[PhaseOutline]) -> BTreeMap<PhaseId, u32> {
    let with_ticks = outlines.iter().filter(|one| one.tasks_done > 0);
    with_ticks.map(|one| (one.id.clone(), u32::try_from(one.tasks_done).unwrap_or(u32::MAX))).collect()
}

/// An id by the order of its numbers: 2.5 stands between 2 and 3, 3a behind 3.
fn order(id: &str) -> (Vec<u64>, Option<char>) {
    let letter = id.chars().last().filter(char::is_ascii_alphabetic);
    let numbers = id.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    (numbers.split('.').map(|part| part.parse().unwrap_or(u64::MAX)).collect(), letter.map(|c| c.to_ascii_lowercase()))
}

/// The phases of a row, both ends included whether or not they exist; or the one phase.
fn row(named: &NeedNamed, ids: &InOrder<'_>, own: &str) -> Vec<String> {
    let Some(last) = &named.through else { return vec![named.id.clone()] };
    let (from, to) = (order(&named.id), order(last));
    let (from, to) = if from <= to { (from, to) } else { (to, from) };
    let mut row: Vec<String> = ids.range(from..=to).map(|(_, id)| (*id).to_owned()).filter(|id| id != own).collect();
    for end in [&named.id, last] {
        if !row.contains(end) {
            row.push(end.clone());
        }
    }
    row
}

/// A circle may go through a phase that names no needs: nobody sees there why.
fn explain_circles(faults: &mut [Diagnostic]) {
    for fault in faults.iter_mut().filter(|fault| fault.code == Code::Cycle) {
        fault.help.push_str(
            "; a phase without a dependency line needs all earlier ones: `**Dependencies**: None` needs nothing",
        );
    }
}

fn warn_of_markers(parts: &[PhaseRead<'_>], outlines: &[PhaseOutline], drafts: &[Draft], faults: &mut Vec<Diagnostic>) {
    let open: BTreeSet<&PhaseId> = outlines.iter().filter(|one| !one.marker.is_finished()).map(|one| &one.id).collect();
    for ((part, one), draft) in parts.iter().zip(outlines).zip(drafts) {
        if one.marker != Marker::Completed {
            continue;
        }
        let id = &one.id;
        if let Some(need) = one.needs.iter().find(|need| open.contains(need)) {
            let message = format!("phase `{id}` is marked as complete, and phase `{need}`, which it needs, is not");
            let fault = Diagnostic::warning(Code::DoneBeforeNeed, message).at(draft.place);
            faults.push(fault.help("correct one of the two markers: what is marked as complete is not done again"));
        }
        if one.tasks_done < one.tasks_total {
            let left = one.tasks_total - one.tasks_done;
            let first = part.tasks().find(|(_, done)| !done).map(|(text, _)| text).unwrap_or_default();
            let message = format!(
                "phase `{id}` is marked as complete, and {left} of its {} tasks are open, such as `{first}`",
                one.tasks_total
            );
            let fault = Diagnostic::warning(Code::DoneWithOpenTasks, message).at(draft.place);
            faults.push(fault.help("tick them, or take the marker away: what is marked as complete is not done again"));
        }
    }
}
