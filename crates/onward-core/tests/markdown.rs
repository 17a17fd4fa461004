//! Plans in Markdown: what is read out of them, with its places, and the one edit that is made in them.
#![expect(clippy::disallowed_methods, reason = "the tests take the time that reading takes")]

#[path = "common/dice.rs"]
mod dice;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onward_core::diagnostic::{Code, Diagnostic, Severity};
use onward_core::id::PhaseId;
use onward_core::markdown::{Marker, boxes_ticked, phase_marked_done, phase_work};
use onward_core::plan::{MarkdownSettings, Parsed, UnsaidNeeds, graph, parse_markdown};
use proptest::prelude::*;

fn no_files(_: &str) -> Result<String, String> {
    Err("there is no such file".to_owned())
}

fn parse(text: &str) -> Parsed {
    parse_markdown(text, &MarkdownSettings::default(), &mut no_files)
}

fn marked(text: &str, id: &str) -> String {
    phase_marked_done(text, id, &mut no_files).expect("the phase has its heading").0
}

fn found(parsed: &Parsed, code: Code) -> Vec<(u32, u32, &str)> {
    let of = parsed.diagnostics.iter().filter(|one| one.code == code);
    of.map(|one| (one.place.map_or(0, |p| p.line), one.place.map_or(0, |p| p.column), one.message.as_str())).collect()
}

fn needs(parsed: &Parsed) -> Vec<Vec<&str>> {
    parsed.phases.iter().map(|phase| phase.needs.iter().map(PhaseId::as_str).collect()).collect()
}

/// Every fault that only a plan in Markdown can have, with the line, the column and a way out.
#[test]
fn every_mistake_has_its_place_and_a_help() {
    for (code, text, line, column) in [
        (Code::NoPhases, "# Title\n", 1, 1),
        (Code::DuplicatePhase, "## Phase 1: A\n## Phase 1: B\n", 2, 10),
        (Code::UnknownMarker, "## Phase 1: A [DEFERRED]\n", 1, 10),
        (Code::UnclearHeading, "## Phase 1: A\n\n## Phase Two: B\n", 3, 1),
        (Code::UnclearHeading, "## Phase I: A\n", 1, 1),
        (Code::UnclearDependency, "## Phase 1: A\n\nDependencies: Redis 7\n", 3, 14),
        (Code::UnclearDependency, "## Phase 1: A\n## Phase 2: B\n**Dependencies**: [1, Redis]\n", 3, 23),
        (Code::LinkedFile, "## Phase 2: A\nSee [it](phase_2_a.md).\n", 2, 5),
        (Code::DoneBeforeNeed, "## Phase 1: A\n## Phase 2: B [DONE]\n", 2, 10),
        (Code::DoneWithOpenTasks, "## Phase 1: A [DONE]\n- [ ] open\n", 1, 10),
        (Code::UnknownNeed, "\u{feff}## Phase 1: A\n- **Depends on:** 1, Phase 7\n", 2, 28),
        (Code::SelfNeed, "\u{feff}## Phase 1: A\n- **Depends on:** 1, Phase 7\n", 2, 19),
        (Code::BadId, &format!("## Phase {}: A\n", "1".repeat(70)), 1, 10),
    ] {
        let parsed = parse(text);
        let places: Vec<(u32, u32)> = found(&parsed, code).iter().map(|(line, column, _)| (*line, *column)).collect();
        assert!(places.contains(&(line, column)), "{code:?} of {text:?} is at {places:?}: {:#?}", parsed.diagnostics);
        let without_help = parsed.diagnostics.iter().find(|one| one.help.is_empty());
        assert_eq!(without_help, None, "{text:?}");
        let errors = parsed.diagnostics.iter().any(Diagnostic::is_error);
        assert_eq!(parsed.plan.is_none(), errors, "{text:?}");
    }
}

/// All that is wrong with a plan comes at once, in the order of the file.
#[test]
fn all_faults_come_at_once() {
    let text = "## Phase 1: A\nDependencies: 3\n## Phase 2: B\nDependencies: 41\n## Phase 3: C\nDependencies: 1\n## Phase 3: D\n";
    let parsed = parse(text);
    let codes: Vec<Code> =
        parsed.diagnostics.iter().filter(|one| one.severity == Severity::Error).map(|one| one.code).collect();
    for code in [Code::UnknownNeed, Code::DuplicatePhase] {
        assert!(codes.contains(&code), "{:#?}", parsed.diagnostics);
    }
    let lines: Vec<_> = parsed.diagnostics.iter().map(|one| one.place).collect();
    assert!(lines.is_sorted(), "{:#?}", parsed.diagnostics);
    let circle = parse("## Phase 1: A\nDependencies: 2\n## Phase 2: B\n");
    let help = &circle.diagnostics[0].help;
    assert!(help.contains("needs all earlier ones"), "{help}");
}

/// Lists, nested lines, rows and later phases: needs stand in many places.
#[test]
fn needs_in_lists_and_rows() {
    let text = "\
## Phase 1: A
**Dependencies**: None
## Phase 2: B
**Dependencies**:
- Phase 1
## Phase 2.5: C
* **Depends on:**
  * Phase 1
  * Phase 2
## Phase 3: D
Dependencies: Phases 1-2.5
## Phase 4: E
> Dependencies: [9]
## Phase 5: F
Prerequisites: Node 20, PostgreSQL 15
";
    let parsed = parse(text);
    assert_eq!(parsed.diagnostics, []);
    let all = ["1", "2", "2.5", "3", "4"];
    assert_eq!(
        needs(&parsed),
        [vec![], vec!["1"], vec!["1", "2"], vec!["1", "2", "2.5"], all[..4].to_vec(), all.to_vec()]
    );
}

/// The configuration says that a phase without a dependency line needs nothing.
#[test]
fn nothing_said_may_mean_nothing_needed() {
    let settings = MarkdownSettings { unsaid: UnsaidNeeds::None, ..MarkdownSettings::default() };
    let parsed = parse_markdown("## Phase 1: A\n## Phase 2: B\n", &settings, &mut no_files);
    assert_eq!(needs(&parsed), [Vec::<&str>::new(), vec![]]);
}

/// A phase is split into its file and the files of its stages. Their tasks count, links elsewhere lead nowhere, and a file counts
/// once.
#[test]
fn a_plan_in_many_files() {
    let files = BTreeMap::from([
        (
            "phase_2/phase_2_overview.md",
            "# Phase 2\n- [x] read\n[one](stage_1_api.md) [again](./stage_1_api.md) [3](phase_3_x.md)\n",
        ),
        ("phase_2/stage_1_api.md", "**Dependencies**: [9]\n- [ ] api\n```\n- [ ] no\n```\n"),
    ]);
    let mut asked = Vec::new();
    let mut load = |path: &str| {
        asked.push(path.to_owned());
        files.get(path).map(|text| (*text).to_owned()).ok_or_else(|| "gone".to_owned())
    };
    let text = "# P\n## Phase 1: A\n[2](phase_2/phase_2_overview.md)\n## Phase 2: B\n[2](phase_2/phase_2_overview.md) [x](../phase_2_x.md)\n- [ ] own\n";
    let parsed = parse_markdown(text, &MarkdownSettings::default(), &mut load);
    let (total, done) = (parsed.phases[1].tasks_total, parsed.phases[1].tasks_done);
    assert_eq!((total, done, parsed.phases[0].tasks_total), (3, 1, 0));
    assert_eq!(found(&parsed, Code::LinkedFile).len(), 1, "{:#?}", parsed.diagnostics);
    let work = phase_work(text, "2", &mut load).expect("the phase is there");
    assert_eq!(work.tasks.iter().map(|task| task.text.as_str()).collect::<Vec<_>>(), ["own", "read", "api"]);
    let (after, edits) = phase_marked_done(text, "2", &mut load).expect("the phase is there");
    assert!(after.contains("## Phase 2: B [COMPLETE]") && after.contains("- [x] own"), "{after}");
    assert_eq!(edits.iter().map(|edit| edit.path.as_str()).collect::<Vec<_>>(), ["phase_2/stage_1_api.md"]);
    assert_eq!(edits[0].after, "**Dependencies**: [9]\n- [x] api\n```\n- [ ] no\n```\n");
    assert!(asked.iter().all(|path| path.starts_with("phase_2/")), "{asked:?}");
}

/// Headings and boxes in the forms that Markdown allows: the marker goes where it belongs, and nothing else moves.
#[test]
fn edits_in_odd_places() {
    for (before, after) in [
        ("## Phase 1: A ##\n- [ ] x\n", "## Phase 1: A [COMPLETE] ##\n- [x] x\n"),
        ("Phase 1: A\n---\n+ [ ] x\n", "Phase 1: A [COMPLETE]\n---\n+ [x] x\n"),
        ("### **Phase 1: A** [IN PROGRESS]\n", "### **Phase 1: A** [COMPLETE]\n"),
        ("### **Phase 1: A**\n", "### **Phase 1: A** [COMPLETE]\n"),
        ("## Phase 1: `a` \u{2705}\r\n1. [ ] x\r\n", "## Phase 1: `a` \u{2705}\r\n1. [x] x\r\n"),
        ("\u{feff}## Phase 1\n", "\u{feff}## Phase 1 [COMPLETE]\n"),
        ("## Phase 1: A &amp; B [PARTIAL]\n", "## Phase 1: A &amp; B [COMPLETE]\n"),
        (
            "## Phase 1: A\n> - [ ] quoted\n\n<!--\n- [ ] hidden\n-->\n",
            "## Phase 1: A [COMPLETE]\n> - [ ] quoted\n\n<!--\n- [ ] hidden\n-->\n",
        ),
        ("---\ntitle: x\n---\n## Phase 1: A", "---\ntitle: x\n---\n## Phase 1: A [COMPLETE]"),
        (
            "## Phase 1: A\n- [ ] x\n### Phase 1.1: B\n- [ ] y\n",
            "## Phase 1: A [COMPLETE]\n- [x] x\n### Phase 1.1: B\n- [ ] y\n",
        ),
    ] {
        assert_eq!(marked(before, "1"), after);
        assert_eq!(marked(after, "1"), after, "it is done once");
        let status = parse(after).phases[0].marker;
        assert_eq!(status, Marker::Completed, "{after:?}");
    }
    assert!(phase_marked_done("## Phase 1: A\n", "2", &mut no_files).is_err());
}

/// A thousand phases that say nothing about their needs, and one long plan of half a megabyte: neither takes long.
#[test]
fn large_plans_are_read_quickly() {
    let thousand: String = (1..=1_000).map(|n| format!("## Phase {n}: Number {n}\n- [ ] a task\n\n")).collect();
    let began = Instant::now();
    let parsed = parse(&thousand);
    let plan = parsed.plan.expect("it is valid");
    assert_eq!(graph::batches(&plan).len(), 1_000);
    let long: String = (1..=40)
        .map(|n| {
            format!(
                "## Phase {n}: Long\n{}\n",
                "- [ ] do *this* and `that` ([why](x.md))\n\n  some prose, and more of it\n".repeat(170)
            )
        })
        .collect();
    assert!(long.len() > 443_000, "{}", long.len());
    let parsed = parse(&long);
    assert_eq!(parsed.phases.iter().map(|phase| phase.tasks_total).sum::<usize>(), 40 * 170);
    let _ = marked(&long, "40");
    // Many times what an unoptimised build takes on an idle machine.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

/// Texts that make careless readers slow, or fall over: each is read.
#[test]
fn texts_that_are_meant_badly() {
    let many = |piece: &str| format!("## Phase 1: A\n{}", piece.repeat(20_000));
    for text in [
        many("["),
        many("> "),
        many("- "),
        many("*a_"),
        many("`"),
        many("[a]("),
        many("<"),
        many("- [ ] x\n  "),
        many("Dependencies: "),
        many("Dependencies: 1-2, "),
        many("(("),
        many("[x]: y\n"),
        many("\u{2705} "),
        format!("## Phase 1: {}", "[".repeat(50_000)),
        format!("## Phase 1: A\nDependencies: {}", "1,".repeat(50_000)),
        format!("## Phase {}\n", "1.".repeat(50_000)),
        (0..5_000).map(|n| format!("### Phase {n}\nDependencies: Phases 0-4999\n")).collect::<String>(),
    ] {
        let began = Instant::now();
        let parsed = parse(&text);
        assert!(!parsed.phases.is_empty() || !parsed.diagnostics.is_empty());
        if let Ok((after, _)) = phase_marked_done(&text, "1", &mut no_files) {
            assert!(after.len() >= text.len());
        }
        let head: String = text.chars().take(40).collect();
        assert!(began.elapsed() < Duration::from_secs(10), "{head:?} took {:?}", began.elapsed());
    }
}

/// A line of a plan, as people and machines write them.
fn line() -> impl Strategy<Value = String> {
    let marker = prop::sample::select(vec!["", " [IN PROGRESS]", " [COMPLETE]", " \u{2705}", " [x]", " #", "  "]);
    prop_oneof![
        4 => (2..5_usize, 1..4_u32, marker).prop_map(|(level, id, mark)| format!("{} Phase {id}: N{mark}", "#".repeat(level))),
        4 => (0..3_usize, prop::sample::select(vec!["- ", "* ", "1. "]), prop::sample::select(vec!["[ ]", "[x]", "[X]", "[\u{2713}]", "[]"]))
            .prop_map(|(depth, bullet, tick)| format!("{}{bullet}{tick} task", "  ".repeat(depth))),
        2 => prop::sample::select(vec!["```", "~~~", "> quoted", "", "text", "---", "Dependencies: 1", "\t", "<!--", "-->", "# Top"]).prop_map(str::to_owned),
        1 => "\\PC{0,20}",
    ]
}

fn document() -> impl Strategy<Value = String> {
    let ends = prop::sample::select(vec!["\n", "\r\n"]);
    let mark = prop::sample::select(vec!["", "\u{feff}"]);
    (mark, prop::collection::vec((line(), ends), 0..40))
        .prop_map(|(mark, lines)| lines.into_iter().fold(mark.to_owned(), |text, (line, end)| text + &line + end))
}

/// One line before and after: the same but for boxes that were ticked and a marker that was set.
fn only_edited(before: &str, after: &str) -> bool {
    if before == after {
        return true;
    }
    // An open box holds any one blank: a space, a tab, a form feed.
    let ticked = |(at, _): (usize, &str)| {
        let behind = &before[at + 1..];
        let blank = behind.chars().next().filter(|c| c.is_whitespace());
        blank.is_some_and(|blank| format!("{}[x{}", &before[..at], &behind[blank.len_utf8()..]) == after)
    };
    if before.match_indices('[').any(ticked) {
        return true;
    }
    // A heading: what stands before the marker, and what stands behind it, were there before.
    let from = |at: usize| {
        let (head, tail) = (&after[..at], &after[at + "[COMPLETE]".len()..]);
        before.starts_with(head.trim_end()) && before.ends_with(tail)
    };
    after.match_indices("[COMPLETE]").any(|(at, _)| from(at))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever the document is: marking a phase as done changes its heading and its boxes, line by line, and is read as done.
    #[test]
    fn marking_changes_nothing_else(text in document(), id in 1..4_u32) {
        let id = id.to_string();
        let Ok((after, _)) = phase_marked_done(&text, &id, &mut no_files) else { return Ok(()) };
        let (before_lines, after_lines): (Vec<&str>, Vec<&str>) = (text.split('\n').collect(), after.split('\n').collect());
        prop_assert_eq!(before_lines.len(), after_lines.len());
        for (before, after) in before_lines.iter().zip(&after_lines) {
            prop_assert!(only_edited(before, after), "{:?} became {:?}", before, after);
        }
        let read = parse(&after);
        let phase = read.phases.iter().find(|phase| phase.id.as_str() == id).expect("it is still there");
        prop_assert_eq!(phase.marker, Marker::Completed);
        prop_assert_eq!(phase.tasks_done, phase.tasks_total);
        prop_assert_eq!(marked(&after, &id), after);
    }

    /// The reader never falls over, and its places are in the text.
    #[test]
    fn anything_is_read(text in document(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for text in [text, String::from_utf8_lossy(&bytes).into_owned()] {
            let parsed = parse(&text);
            let lines = u32::try_from(text.split('\n').count()).expect("few");
            for one in &parsed.diagnostics {
                prop_assert!(one.place.is_none_or(|place| place.line <= lines), "{:?} of {:?}", one, text);
            }
            let _ = boxes_ticked(&text);
        }
    }
}

const PLANS: [&str; 4] = [
    "---\ntitle: x\n---\n# Plan\n\n## Phase 1: A [COMPLETE]\n- [x] one\n  - [ ] two\n\n### Phase 2.5: B \u{2705}\n**Dependencies**: [1]\n\n```sh\n## Phase 9: no\n- [ ] no\n```\n",
    "\u{feff}## Phase 1: A\r\n- [ ] one\r\n\r\n## Phase 2: B [IN PROGRESS]\r\n- **Depends on:** Phases 1-3 complete\r\n\r\nPhase 3: C\r\n---\r\n1. [X] n\r\n",
    "## Phase 1: [A](phase_1_a.md) & `b` **[BLOCKED]**\n> - [ ] quoted\n\n<!-- - [ ] hidden -->\n<div>\n- [ ] html\n</div>\n\n## Phase 3a (optional): \u{1f600}\ndepends_on: [phase_1, 2]\n",
    "## Phase 4\n\n| Dependencies: 1 | x |\n|---|---|\n\n* [ ] a\n+ [\u{2713}] b\n\t- [ ] c\n\n#### Deep\n- [ ] d\n\n## Phase 10: Ten\nNeeds: None\n[x]: phase_4_x.md\n[s](stage_1_a.md)\n",
];
const PLAN_WORDS: [&[u8]; 32] = [
    b"\n",
    b"\r\n",
    b"\r",
    b"## Phase 1: ",
    b"### Phase 2.5",
    b"Phase 3\n---\n",
    b"- [ ] ",
    b"  - [x] ",
    b"1. [ ] ",
    b"> ",
    b"```",
    b"~~~",
    b"    ",
    b"\t",
    b"[COMPLETE]",
    b" [IN PROGRESS] ##",
    "\u{2705}".as_bytes(),
    "\u{202e}".as_bytes(),
    "\u{301}".as_bytes(),
    b"<!--",
    b"-->",
    b"<div>",
    b"Dependencies: ",
    b"**Depends on**: [1, 2]",
    b"Phases 1-3",
    b"None",
    b"[a](phase_1_a.md)",
    b"\\",
    b"*",
    b"`",
    b"&amp;",
    b"99999999999999999999",
];

/// Plans with changed bytes: each is read or refused, and marking any of its phases changes headings and boxes alone.
#[test]
fn fuzz_markdown() {
    let samples = PLANS.map(str::as_bytes);
    dice::fuzz("markdown", &samples, &PLAN_WORDS, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let mut files = |_: &str| Ok(text.clone().into_owned());
        let parsed = parse_markdown(&text, &MarkdownSettings::default(), &mut files);
        for phase in parsed.phases.iter().take(3) {
            let (after, _) = phase_marked_done(&text, phase.id.as_str(), &mut files).expect("it has its heading");
            let (before, after): (Vec<&str>, Vec<&str>) =
                (text.split(['\n', '\r']).collect(), after.split(['\n', '\r']).collect());
            assert_eq!(before.len(), after.len());
            let pairs = before.iter().zip(&after);
            pairs.for_each(|(before, after)| assert!(only_edited(before, after), "{before:?} became {after:?}"));
        }
        let _ = boxes_ticked(&text);
        parsed.plan.is_some()
    });
}

/// A plan as long as can be repeats one heading. It is refused in seconds, with a bounded list of faults.
#[test]
fn a_heading_that_is_repeated_for_ever_costs_no_more_than_others() {
    for heading in
        ["## Phase 1: A\n", "## Phase 1: A\n**Dependencies**: None\n", "## Phase 1: A\n**Dependencies**: [1]\n"]
    {
        let began = Instant::now();
        let parsed = parse(&heading.repeat(20_000));
        assert!(parsed.plan.is_none() && parsed.diagnostics.len() < 1_000, "{}", parsed.diagnostics.len());
        assert!(began.elapsed() < Duration::from_secs(10), "{heading}: {:?}", began.elapsed());
    }
}
