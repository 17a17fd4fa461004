//! The brief of a run: all that is known of it, in the room that there is.

use onward_core::brief::{CHARS_PER_TOKEN, brief};
use onward_core::event::SharedFact;
use onward_core::input::{Input, Posted, Says};
use onward_core::run;
use proptest::prelude::*;

use crate::common::plan;
use crate::story::Story;

const PLAN: &str = "onward: 1\nname: demo\ndescription: Refresh tokens for all\nphases:\n  design: { external: { instructions: Design it. } }\n  build: { needs: design, external: { instructions: Build it. } }\n  docs: { needs: build, run: x }\n";

fn decided(text: &str) -> Input {
    let fact = SharedFact::DecisionMade { text: text.to_owned(), by: Some("ada".to_owned()) };
    Input::Posted(Posted::Share { fact: Box::new(fact) })
}

/// Work stands half done. All of it is told, under its heading; an escape sequence and a quote in a text do nothing.
#[test]
fn all_is_told_under_its_heading() {
    let mut story = Story::of(plan(PLAN)).driven();
    story.take(&decided("REST \u{1b}[2J over \"GraphQL\""));
    story.report("design", Says::Start).expect("anybody may");
    story.report("design", Says::Fail { reason: "the compiler crashed".to_owned() }).expect("anybody may");
    let told = brief(&story.run, 2_000).text;
    for words in ["## Goal", "Refresh tokens for all", "## Decisions", "\\u{1b}[2J over 'GraphQL'", "## Done\n- none"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    for words in [
        "## Failed\n- design, attempt 1 (reported, ",
        "\"the compiler crashed\"",
        "## Changed\n- none",
        "## Next\n- design failed",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains('\u{1b}') && !told.contains("left out"), "{told}");
    assert!(brief(&story.run, 40).text.contains('…'), "what is missing is seen");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a run has to tell, and however little room there is: the brief is there, and is no longer than that.
    #[test]
    fn a_brief_never_exceeds_its_budget(
        tokens in 1_usize..1500,
        phases in 1_usize..40,
        goal in "\\PC{0,400}",
        decisions in proptest::collection::vec(".{1,300}", 0..12),
    ) {
        let mut parsed = plan(PLAN);
        parsed.description = Some(goal);
        let more = parsed.phases[2].clone();
        parsed.phases.extend((0..phases).map(|n| {
            onward_core::plan::Phase { id: onward_core::id::PhaseId::new(format!("phase-{n}")), ..more.clone() }
        }));
        let mut story = Story::of(parsed);
        for text in &decisions {
            // One that is empty is refused, and is told nowhere.
            let _ = run::step(&mut story.run, &decided(text), "ada", story.now);
        }
        let told = brief(&story.run, tokens);
        let length = told.text.chars().count();
        prop_assert!(0 < length && length <= tokens * CHARS_PER_TOKEN, "{} characters for {} tokens", length, tokens);
        prop_assert!(told.tokens <= tokens);
        let kept = story.run.sections().decisions.len();
        let shown = told.text.matches(" (ada)\n").count();
        let said = told.text.contains("left out") || told.text.contains('…') || !told.text.contains("## Decisions");
        prop_assert!(shown == kept || said, "{shown} of {kept} are told: {}", told.text);
    }
}
