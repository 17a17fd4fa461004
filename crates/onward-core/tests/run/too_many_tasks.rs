//! Phases with more tasks than one phase should have, in the life of a run. Small stories in virtual time.

use onward_core::event::PlanRevised;
use onward_core::id::PhaseId;
use onward_core::input::{Choice, Input, Posted, Resumption, Says};
use onward_core::plan;
use onward_core::replan::{Because, ReplanCause};

use crate::replans::{driven, text};
use crate::story::Story;

/// Two phases; the first lists so many tasks.
fn with_tasks(count: usize, body: &str) -> String {
    let tasks: Vec<String> = (0..count).map(|number| format!("t{number}")).collect();
    format!("  a: {{ tasks: [{}], {body} }}\n  b: {{ needs: a, run: x }}\n", tasks.join(", "))
}

fn done_as_it_is(story: &mut Story) {
    let phase = PhaseId::new("a");
    story.take(&Input::Posted(Posted::Choose { phase, choice: Choice::Retry, by: None, reason: None }));
    story.drive();
}

/// A phase has more tasks than one phase should have. Where the plan wants to know it asks for another plan before it starts, with
/// the figures; a phase with as many as may be starts, and so do all where nobody wants to know.
#[test]
fn more_tasks_than_one_phase_should_have() {
    let cases = [
        ("run: make-plan, tasks-max: 3", 4, true),
        ("run: make-plan, tasks-max: 3", 3, false),
        ("run: make-plan, when: [too-complex]", 11, true),
        ("run: make-plan, when: [too-complex]", 10, false),
        ("run: make-plan, when: [failed], tasks-max: 3", 99, false),
        ("run: make-plan", 99, false),
    ];
    for (body, others) in [("run: x", false), ("external: { instructions: do it }", true)] {
        for (rules, count, asks) in cases {
            let story = driven(rules, &with_tasks(count, body));
            assert_eq!(story.a_plan_is_wanted(), asks, "{rules}, {count} tasks, {body}");
            assert_eq!(story.at_work().is_empty(), asks || others, "{rules}, {count} tasks, {body}");
        }
    }
    let story = driven("run: make-plan, tasks-max: 3", &with_tasks(4, "run: x"));
    let asked = story.run.replans.asked_by(&PhaseId::new("a")).expect("it asks");
    assert_eq!(
        (asked.reason.as_str(), asked.cause),
        ("it has 4 open tasks, and 3 are the most", ReplanCause::TooComplex)
    );
}

/// Another plan is made of it, which is judged anew: the phases that it was split into start, and one that is still too much asks
/// again, as often as one phase may. Then a person decides: it is done as it is, and it is not asked about any more.
#[test]
fn a_phase_with_too_many_tasks_is_split_or_done_as_it_is() {
    let rules = "run: make-plan, approval: false, tasks-max: 3, max-per-phase: 1";
    let (four, five) = (with_tasks(4, "run: x"), with_tasks(5, "run: x"));
    let mut story = driven(rules, &four);
    let halves =
        "  a: { tasks: [t0, t1], run: x }\n  a2: { needs: a, tasks: [t2], run: x }\n  b: { needs: a2, run: x }\n";
    story.made("a", rules, halves);
    assert_eq!(story.at_work(), ["a"], "it is small enough now");
    let mut story = driven(rules, &four);
    story.made("a", rules, &five);
    assert!(story.at_work().is_empty());
    assert_eq!(story.refused("a"), Some(Because::Limit), "it has asked as often as it may");
    assert!(story.asks());
    done_as_it_is(&mut story);
    assert_eq!(story.at_work(), ["a"], "a person wants it as it is");
}

/// A phase that was begun is not asked about: what was done of it would be lost. Nor are the parts of a matrix, each.
#[test]
fn tasks_of_what_was_begun_do_not_count() {
    let rules = "run: make-plan, tasks-max: 3";
    let phases = with_tasks(9, "external: { instructions: do it }");
    let mut story = driven("run: make-plan", &phases);
    story.report_complexity("a", Says::Start, None);
    let plan = text(rules, &phases);
    let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() };
    story.drive_told(Resumption { revised: Some(Box::new(revised)), ..Resumption::default() });
    assert!(!story.a_plan_is_wanted());
    let mut matrix = driven(rules, &with_tasks(4, "matrix: { n: [1, 2] }, run: x"));
    assert!(matrix.a_plan_is_wanted(), "the whole asks");
    done_as_it_is(&mut matrix);
    assert!(!matrix.a_plan_is_wanted(), "its parts do not");
}
