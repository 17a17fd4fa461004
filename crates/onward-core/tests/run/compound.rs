//! Conditions, phases that consist of others, and the phases at the end of a run: the rules, in virtual time.

use std::collections::BTreeMap;

use onward_core::event::{Event, Outcome, SkippedBy};
use onward_core::id::PhaseId;
use onward_core::input::{AttemptEnd, Choice, Input};
use onward_core::plan::expand;
use onward_core::run::{Ending, PhaseStatus};

use crate::common;
use crate::story::Story;

fn driven(text: &str, inner: &str) -> Story {
    let plan = common::plan(text);
    let (plan, _) = expand::read_used(&plan, &mut |_| Ok(inner.to_owned())).expect("it can be read");
    Story::of(expand::joined(expand::at_start(&plan, &BTreeMap::new()).expect("it can be taken apart"))).driven()
}

impl Story {
    /// Ends the attempt at work of this phase.
    fn end_giving(&mut self, phase: &str, code: i32, outputs: &[(&str, &str)]) {
        let phase = PhaseId::new(phase);
        let state = self.run.phase_state(&phase).unwrap_or_else(|| panic!("there is no {phase}"));
        let attempt = state.attempt.as_ref().unwrap_or_else(|| panic!("{phase} is not at work")).number;
        let outputs = outputs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let end = AttemptEnd { outputs: Ok(outputs), ..AttemptEnd::bare(Outcome::Exited { code }) };
        self.take(&Input::AttemptEnded { phase, attempt, end });
    }

    fn skipped_by(&self, named: &str) -> Option<SkippedBy> {
        self.journal.iter().find_map(|recorded| match &recorded.event {
            Event::PhaseSkipped { phase, by } if phase.as_str() == named => Some(*by),
            _ => None,
        })
    }
}

#[test]
fn a_matrix_over_an_output() {
    // The list is known when the phase before it is done. Each value gets a phase, two at once at most, what needs them waits
    // for all, and their outputs come as a list.
    let mut story = driven(
        "onward: 1
phases:
  days: { run: x }
  fetch: { needs: days, matrix: { day: '${{ phases.days.outputs.days }}', max-parallel: 2 }, run: x }
  join: { needs: fetch, run: x }
",
        "",
    );
    story.end_giving("days", 0, &[("days", "[1, 2, 3]")]);
    let first = story.names_at_work();
    assert_eq!(first.len(), 2, "{first:?}");
    story.end_giving(&first[0], 0, &[("rows", "10")]);
    story.end_giving(&first[1], 0, &[("rows", "20")]);
    assert_eq!(story.status("join"), PhaseStatus::Pending);
    let last = story.names_at_work();
    story.end_giving(&last[0], 0, &[("rows", "30")]);
    assert_eq!(story.at_work(), ["join"]);
    let outputs = &story.run.phase_state(&PhaseId::new("fetch")).expect("it").outputs;
    assert_eq!(outputs["rows"], r#"["10","20","30"]"#);
    story.end_giving("join", 0, &[]);
    assert_eq!(story.run.ending(), Some(Ending::Completed));
}

#[test]
fn a_matrix_over_no_list() {
    // What should be a list is a word. The phase fails and says so; an empty list is done at once.
    let plan = "onward: 1
phases:
  days: { run: x }
  fetch: { needs: days, matrix: { day: '${{ phases.days.outputs.days }}' }, run: x }
";
    let mut story = driven(plan, "");
    story.end_giving("days", 0, &[("days", "monday")]);
    let (phase, error) = story.run.error().expect("an error");
    assert_eq!((phase.as_str(), error.code.as_str()), ("fetch", "cannot-expand"));
    assert!(error.message.contains("no JSON array"), "{}", error.message);
    assert_eq!(story.run.ending(), Some(Ending::Failed));

    let mut story = driven(plan, "");
    story.end_giving("days", 0, &[("days", "[]")]);
    assert_eq!(story.status("fetch"), PhaseStatus::Completed);
    assert_eq!(story.run.ending(), Some(Ending::Completed));
}

#[test]
fn one_combination_fails() {
    // Without fail-fast the others are done and the whole fails; with it those that have not started never do. Taken as done
    // by hand, the one that failed lets the whole be done.
    for (fast, left) in [("false", PhaseStatus::Completed), ("true", PhaseStatus::Pending)] {
        let mut story = driven(
            &format!(
                "onward: 1
phases:
  fetch: {{ matrix: {{ n: [a, b], max-parallel: 1, fail-fast: {fast} }}, run: x }}
  join: {{ needs: fetch, run: x }}
"
            ),
            "",
        );
        let first = story.names_at_work().remove(0);
        story.end_giving(&first, 1, &[]);
        if fast == "false" {
            let second = story.names_at_work().remove(0);
            story.end_giving(&second, 0, &[]);
        }
        assert_eq!(story.run.ending(), Some(Ending::Failed), "fail-fast: {fast}");
        let second = story.run.plan().phases[2].id.to_string();
        assert_eq!((story.status("fetch"), story.status(&second)), (PhaseStatus::Failed, left), "fail-fast: {fast}");
        story.drive_with(&[(&first, Choice::Adopt)]);
        if fast == "true" {
            story.end_giving(&second, 0, &[]);
        }
        assert_eq!((story.status("fetch"), story.at_work()), (PhaseStatus::Completed, vec!["join"]));
    }
}

#[test]
fn a_condition_that_does_not_hold() {
    // The phase is skipped when what it needs is settled, with the reason on record, and what needs it goes on.
    let mut story = driven(
        "onward: 1
phases:
  a: { run: x }
  b: { needs: a, if: \"phases.a.outputs.go == 'yes'\", matrix: { n: [1, 2] }, run: x }
  c: { needs: b, run: x }
",
        "",
    );
    story.end_giving("a", 0, &[("go", "no")]);
    assert_eq!(story.skipped_by("b"), Some(SkippedBy::Condition));
    let part = story.run.plan().phases[2].id.to_string();
    assert_eq!(story.skipped_by(&part), Some(SkippedBy::Parent));
    assert_eq!(story.at_work(), ["c"]);
    story.end_giving("c", 0, &[]);
    assert_eq!(story.run.ending(), Some(Ending::Completed));
}

#[test]
fn the_end_comes_last_and_again() {
    // A phase fails, what belongs to the end runs, and the run has failed. Retried with success, the end comes once more.
    let mut story = driven(
        "onward: 1\non-failure: stop\nphases:\n  a: { run: x }\n  b: { run: x }\nfinally:\n  clean: { run: x }\n",
        "",
    );
    assert_eq!(story.at_work(), ["a", "b"]);
    story.end_giving("a", 1, &[]);
    assert_eq!(story.at_work(), ["b"], "it is being stopped");
    story.end_giving("b", 0, &[]);
    assert_eq!(story.at_work(), ["clean"]);
    story.end_giving("clean", 0, &[]);
    assert_eq!(story.run.ending(), Some(Ending::Failed));
    story.drive_with(&[("a", Choice::Retry)]);
    assert_eq!(story.at_work(), ["a"]);
    story.end_giving("a", 0, &[]);
    assert_eq!(story.at_work(), ["clean"]);
    story.end_giving("clean", 0, &[]);
    assert_eq!(story.run.ending(), Some(Ending::Completed));
}

#[test]
fn the_end_fails() {
    // All was done but what belongs to the end. The run has failed.
    let mut story = driven("onward: 1\nphases:\n  a: { run: x }\nfinally:\n  clean: { run: x }\n", "");
    story.end_giving("a", 0, &[]);
    story.end_giving("clean", 1, &[]);
    assert_eq!(story.run.ending(), Some(Ending::Failed));
}

#[test]
fn another_plan_and_its_own_end() {
    // The plan inside fails in its first phase. Its second never runs, its own end does, and then the whole has failed.
    let mut story = driven(
        "onward: 1\nphases:\n  p: { uses: inner.yaml }\n  z: { needs: p, run: x }\n",
        "onward: 1\nphases:\n  one: { run: x }\n  two: { needs: one, run: x }\nfinally:\n  close: { run: x }\n",
    );
    assert_eq!(story.at_work(), ["p/one"]);
    story.end_giving("p/one", 1, &[]);
    assert_eq!(story.at_work(), ["p/close"]);
    story.end_giving("p/close", 0, &[]);
    assert_eq!((story.status("p"), story.status("p/two")), (PhaseStatus::Failed, PhaseStatus::Pending));
    assert_eq!(story.run.ending(), Some(Ending::Failed));
}

#[test]
fn what_a_phase_says_about_its_own_failure() {
    // `skip` goes on without it, `ask` waits for a person, `stop` ends the others although the plan says `continue`.
    let plan = |policy: &str| {
        format!(
            "onward: 1\non-failure: continue\nphases:\n  a: {{ on-failure: {policy}, run: x }}\n  b: {{ needs: a, run: x }}\n  c: {{ run: x }}\n"
        )
    };
    let mut story = driven(&plan("skip"), "");
    story.end_giving("a", 1, &[]);
    assert_eq!(story.skipped_by("a"), Some(SkippedBy::Failure));
    assert_eq!(story.at_work(), ["b", "c"]);

    let mut story = driven(&plan("ask"), "");
    story.end_giving("a", 1, &[]);
    story.end_giving("c", 0, &[]);
    assert_eq!(story.run.ending(), Some(Ending::Stopped(onward_core::event::StopReason::Question)));

    let mut story = driven(&plan("stop"), "");
    story.end_giving("a", 1, &[]);
    assert!(story.run.stop.is_some(), "the other phase is ended");
}

#[test]
fn the_end_knows_how_it_went() {
    // What belongs to the end says for which end it is. What was not begun before a failure is not begun after the end either.
    let plan = "onward: 1
max-parallel: 1
phases:
  a: { run: x }
  late: { run: x }
finally:
  tell: { if: failure(), run: x }
  praise: { if: success(), run: x }
";
    let mut story = driven(plan, "");
    story.end_giving("a", 1, &[]);
    assert_eq!(story.at_work(), ["tell"]);
    story.end_giving("tell", 0, &[]);
    assert_eq!((story.status("praise"), story.status("late")), (PhaseStatus::Skipped, PhaseStatus::Pending));
    assert_eq!(story.run.ending(), Some(Ending::Failed));

    let mut story = driven(plan, "");
    story.end_giving("a", 0, &[]);
    story.end_giving("late", 0, &[]);
    assert_eq!((story.at_work(), story.status("tell")), (vec!["praise"], PhaseStatus::Skipped));
}

#[test]
fn the_end_is_done_to_the_end() {
    // A phase fails in a plan that stops everything at a failure. What belongs to the end is not stopped for it.
    let mut story = driven(
        "onward: 1\non-failure: stop\nphases:\n  a: { run: x }\nfinally:\n  one: { run: x }\n  two: { run: x }\n",
        "",
    );
    story.end_giving("a", 1, &[]);
    assert_eq!((story.at_work(), story.run.stop), (vec!["one", "two"], None));
    story.end_giving("one", 1, &[]);
    assert_eq!((story.at_work(), story.run.stop), (vec!["two"], None));
}

#[test]
fn parts_that_consist_of_parts_take_turns_too() {
    // One combination at a time, and each is another plan with two phases. The second begins when the first is over with both.
    let mut story = driven(
        "onward: 1\nphases:\n  m: { matrix: { k: [a, b], max-parallel: 1 }, uses: inner.yaml }\n",
        "onward: 1\nphases:\n  one: { run: x }\n  two: { needs: one, run: x }\n",
    );
    for _ in 0..4 {
        let at_work = story.names_at_work();
        assert_eq!(at_work.len(), 1, "{at_work:?}");
        story.end_giving(&at_work[0], 0, &[]);
    }
    assert_eq!(story.run.ending(), Some(Ending::Completed));
}
