//! Things that hold for every text and every graph.

use std::collections::BTreeMap;

use onward_core::diagnostic::{Diagnostic, render};
use onward_core::expression::{condition, substitute};
use onward_core::plan::globs::may_overlap;
use onward_core::plan::{Parsed, Plan, graph, parse};
use proptest::prelude::*;

const SAMPLES: &[&str] = &[
    include_str!("../../../fixtures/plans/feature.yaml"),
    include_str!("../../../fixtures/plans/nightly.yaml"),
    include_str!("../../../fixtures/plans/everything.json"),
];

/// Checks what holds for any text.
fn consistent(text: &str) -> Parsed {
    let parsed = parse(text);
    assert_eq!(parsed.plan.is_none(), parsed.diagnostics.iter().any(Diagnostic::is_error));
    assert!(
        parsed.diagnostics.is_sorted_by_key(|diagnostic| diagnostic.place),
        "not by place: {:?}",
        parsed.diagnostics
    );
    let shown = render("plan.yaml", text, &parsed.diagnostics);
    assert!(!shown.chars().any(|character| character.is_control() && character != '\n'));
    parsed
}

/// Phases that need only earlier ones, told in an order of their own.
fn graphs() -> impl Strategy<Value = String> {
    let needs = proptest::collection::vec(proptest::collection::vec(any::<prop::sample::Index>(), 0..4), 1..30);
    (needs, any::<u64>()).prop_map(|(needs, seed)| {
        let mut lines: Vec<String> = Vec::new();
        for (index, list) in needs.iter().enumerate() {
            let list: Vec<String> =
                if index == 0 { Vec::new() } else { list.iter().map(|at| format!("p{}", at.index(index))).collect() };
            lines.push(format!("  p{index}: {{ run: x, needs: [{}] }}", list.join(", ")));
        }
        let turn = usize::try_from(seed % 31).unwrap_or(0) % lines.len();
        lines.rotate_left(turn);
        format!("onward: 1\nphases:\n{}\n", lines.join("\n"))
    })
}

/// A text with a stretch replaced, taken out or doubled.
fn mutated() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(String::new()),
        "[\\[\\]{}:,&*|>#'\"\\-? \n\t]{1,4}",
        Just("\n---\n".to_owned()),
        Just("<<: *x".to_owned()),
        Just("${{ inputs.x }}".to_owned()),
        Just("\u{1f511}\u{0}".to_owned()),
    ];
    (0..SAMPLES.len(), any::<prop::sample::Index>(), 0_usize..20, piece).prop_map(|(sample, at, length, piece)| {
        let characters: Vec<char> = SAMPLES[sample].chars().collect();
        let start = at.index(characters.len());
        let end = (start + length).min(characters.len());
        let mut text: String = characters[..start].iter().collect();
        text.push_str(&piece);
        text.extend(&characters[end..]);
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        consistent(&text);
        consistent(&format!("onward: 1\nphases:\n  a: {{ run: {text} }}"));
        consistent(&format!("{{\"onward\": 1, \"name\": \"{text}\"}}"));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        consistent(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_marks_make_it_panic(text in "[\\[\\]{}:,&*|>#'\"a!%@`~?. \n\t\r-]{0,60}") {
        consistent(&text);
    }

    #[test]
    fn no_slip_makes_it_panic(text in mutated()) {
        if let Some(plan) = consistent(&text).plan {
            let stored = serde_json::to_string(&plan).expect("a plan is JSON");
            prop_assert_eq!(serde_json::from_str::<Plan>(&stored).expect("and comes back"), plan);
        }
    }

    #[test]
    fn batches_never_break_needs(text in graphs()) {
        let plan = consistent(&text).plan.expect("a graph without circles is a plan");
        let batches = graph::batches(&plan);
        let batch: BTreeMap<_, _> = batches.iter().enumerate().flat_map(|(at, ids)| ids.iter().map(move |id| (id, at))).collect();
        prop_assert_eq!(batch.len(), plan.phases.len());
        for phase in &plan.phases {
            let latest = phase.needs.iter().map(|need| batch[&need.phase] + 1).max().unwrap_or(0);
            prop_assert_eq!(batch[&phase.id], latest, "{} stands in the first batch it can", phase.id);
        }
    }

    #[test]
    fn expressions_never_panic(text in "[$\\{\\}a-z.()!=&|' 0-9é]{0,40}") {
        let _ = substitute(&text, &|_| Some("${{ inputs.a }}".to_owned()));
        let _ = condition(&text);
    }

    /// Every path overlaps itself and every glob made from it by widening a part.
    #[test]
    fn widened_globs_overlap(parts in proptest::collection::vec("[a-c][a-c.]{0,2}", 1..4), at in any::<prop::sample::Index>(), how in 0..4) {
        let path = parts.join("/");
        let mut wide = parts.clone();
        let index = at.index(parts.len());
        match how {
            0 => "*".clone_into(&mut wide[index]),
            1 => wide[index].replace_range(0..1, "?"),
            2 => {
                wide.truncate(index);
                wide.push("**".to_owned());
            }
            _ => wide.insert(index, "**".to_owned()),
        }
        prop_assert!(may_overlap(&path, &wide.join("/")), "{} and {}", path, wide.join("/"));
        prop_assert!(may_overlap(&path, &path));
    }

    #[test]
    fn overlap_has_no_sides(a in "[ab/*?.\\[\\]{}!]{0,10}", b in "[ab/*?.\\[\\]{}!]{0,10}") {
        prop_assert_eq!(may_overlap(&a, &b), may_overlap(&b, &a));
    }
}
