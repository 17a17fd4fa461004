//! A resume foretold, and the resume: the same phases run.

use std::collections::{BTreeMap, BTreeSet};

use onward_core::event::{Event, Outcome};
use onward_core::id::PhaseId;
use onward_core::input::{AttemptEnd, Choice, Resumption, Says};
use onward_core::plan::expand;
use onward_core::run::{Ending, PhaseStatus, RunStatus};

use crate::common;
use crate::story::{Story, chosen};

fn driven(text: &str) -> Story {
    let plan = common::plan(&format!("onward: 1\nname: demo\n{text}"));
    Story::of(expand::joined(expand::at_start(&plan, &BTreeMap::new()).expect("it can be taken apart"))).driven()
}

impl Story {
    /// Phases that would be tried. A whole has no attempts.
    fn foretold(&self) -> BTreeSet<String> {
        let ids: Vec<&PhaseId> =
            self.run.plan().phases.iter().filter(|phase| phase.children.is_none()).map(|phase| &phase.id).collect();
        ids.into_iter().filter(|id| self.why(id.as_str()).will_run).map(|id| id.as_str().to_owned()).collect()
    }

    /// Resumes it, and lets all go well. Gives the phases that were tried.
    fn resumed(&mut self) -> BTreeSet<String> {
        let before = self.journal.len();
        self.resume(&[]);
        while let Some(phase) = self.names_at_work().first() {
            self.done(phase);
        }
        let tried = self.journal[before..].iter().filter_map(|recorded| match &recorded.event {
            Event::AttemptStarted { phase, .. } => Some(phase.as_str().to_owned()),
            _ => None,
        });
        tried.collect()
    }

    /// The third unknown end in a row parks a phase.
    fn park(&mut self, phase: &str) {
        for _ in 0..3 {
            self.end(phase, Outcome::Unknown);
            if self.status(phase) != PhaseStatus::Running {
                self.drive();
            }
        }
        assert!(self.state(phase).parked, "{:?}", self.state(phase));
    }
}

fn set(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

/// The end of a run was done after a failure. The failed phase is tried again, so there is a new end, and all of it is done once
/// more. Where only a phase of the end has failed there is no new one, and the others stay done.
#[test]
fn the_end_is_done_once_more_after_a_new_end() {
    let plan = "phases:\n  a: { run: x }\n  b: { needs: a, run: x }\nfinally:\n  clean: { run: x }\n  tell: { needs: clean, run: x }\n  cry: { if: failure(), run: x }\n";
    let mut story = driven(plan);
    story.fail("a");
    for phase in ["clean", "cry", "tell"] {
        story.done(phase);
    }
    assert_eq!(story.run.ending(), Some(Ending::Failed));
    assert!(story.why("clean").reasons[0].contains("once more"), "{:?}", story.why("clean"));
    assert_eq!(story.foretold(), set(&["a", "b", "clean", "tell"]));
    assert_eq!(story.resumed(), set(&["a", "b", "clean", "tell"]));
    assert_eq!(story.run.ending(), Some(Ending::Completed));

    let mut story = driven(plan);
    for phase in ["a", "b", "clean"] {
        story.done(phase);
    }
    story.fail("tell");
    assert_eq!(story.run.ending(), Some(Ending::Failed));
    assert_eq!(story.foretold(), set(&["tell"]));
    assert_eq!(story.resumed(), set(&["tell"]));
}

/// A part of a matrix took its host down three times. Its other parts are done, and what needs nothing of it; what comes after the
/// whole is not, however far behind. What asks for a failure is.
#[test]
fn nothing_runs_behind_a_part_that_is_parked() {
    let mut story = driven(
        "on-failure: continue\nphases:\n  m: { matrix: { n: [1, 2], fail-fast: false }, run: x }\n  after: { needs: m, run: x }\n  later: { needs: after, run: x }\n  sorry: { needs: m, if: failure(), run: x }\n  other: { needs: free, run: x }\n  free: { run: x }\n",
    );
    let parts = story.names_at_work();
    let (one, two) = (parts[0].clone(), parts[1].clone());
    story.park(&one);
    let told = story.why("later");
    assert!(!told.will_run && told.reasons[0].contains("which is parked"), "{told:?}");
    assert!(!story.why("after").will_run && story.why("m").will_run);
    let told = story.foretold();
    assert_eq!(told, set(&[&two, "free", "other", "sorry"]));
    let tried = story.resumed();
    assert!(tried.is_subset(&told), "{tried:?}");
    assert_eq!((story.status("after"), story.status("later")), (PhaseStatus::Pending, PhaseStatus::Pending));
    assert_eq!((story.status("sorry"), story.status("other")), (PhaseStatus::Completed, PhaseStatus::Completed));
}

/// By the plan nothing more is started after a failure, and the whole of a parked part has failed: then nothing is said to run.
#[test]
fn nothing_more_is_started_after_a_failure_that_stays() {
    let mut story =
        driven("phases:\n  m: { matrix: { n: [1] }, run: x }\n  b: { run: x }\n  c: { needs: b, run: x }\n");
    let part = story.names_at_work().into_iter().find(|id| id.starts_with('m')).expect("it is at work");
    story.park(&part);
    story.done("b");
    assert_eq!((story.foretold(), story.resumed()), (set(&[]), set(&[])));
    assert!(story.why("c").reasons[0].contains("nothing more is started"), "{:?}", story.why("c"));
}

/// Nobody knows whether an effect happened: that phase is asked about, and nothing else is said to run.
#[test]
fn nothing_runs_beside_a_doubt() {
    let mut story = driven(
        "phases:\n  pay: { effects: external, run: x }\n  b: { needs: pay, run: x }\n  free: { needs: b, run: x }\n",
    );
    story.end("pay", Outcome::Unknown);
    assert!(story.why("pay").reasons[0].contains("nobody knows"), "{:?}", story.why("pay"));
    assert_eq!((story.foretold(), story.resumed()), (set(&[]), set(&[])));
    let told = onward_core::brief::brief(&story.run, 2_000).text;
    let next = told.split("## Next").nth(1).expect("a heading");
    assert!(next.contains("- pay: nobody knows") && next.contains("--adopt or --skip pay"), "{told}");
    assert!(!next.contains("can begin") && !next.contains("was interrupted"), "{told}");
}

fn from_with(phase: &str, choice: (&str, Choice)) -> Result<Story, onward_core::run::Refusal> {
    let mut story = driven(
        "phases:\n  a: { run: x, outputs: { v: a value } }\n  b: { needs: a, run: x, outputs: { v: a value } }\n  c: { needs: b, run: x, outputs: { v: a value } }\n",
    );
    for phase in ["a", "b", "c"] {
        let outputs = Ok(BTreeMap::from([("v".to_owned(), "1".to_owned())]));
        story.end_as(phase, AttemptEnd { outputs, ..AttemptEnd::bare(Outcome::Exited { code: 0 }) });
    }
    let resumption = Resumption { from: Some(PhaseId::new(phase)), ..Resumption::default() };
    let begin = onward_core::input::Begin { choices: chosen(&[choice]), resumption, ..common::begin(0) };
    story.begin(begin)?;
    while let Some(phase) = story.names_at_work().first() {
        story.done(phase);
    }
    Ok(story)
}

/// All from the first phase on is done again, but one of them is left out, or stays as it is: those behind it are done all the same. Of
/// the phase itself both cannot be said, and what is done and stays done cannot be left out.
#[test]
fn from_a_phase_and_not_all_behind_it() {
    for (choice, status) in [(Choice::Skip, PhaseStatus::Skipped), (Choice::Adopt, PhaseStatus::Completed)] {
        let story = from_with("a", ("b", choice)).expect("a person may");
        assert_eq!(story.run.ending(), Some(Ending::Completed));
        let attempts = |phase| story.state(phase).attempts;
        assert_eq!((story.status("b"), attempts("a"), attempts("b"), attempts("c")), (status, 2, 1, 2));
        let kept = story.state("b").outputs.get("v").map(String::as_str);
        assert_eq!(kept, (choice == Choice::Adopt).then_some("1"), "of what stays as it is, all stays");
        let own = from_with("b", ("b", choice)).err().expect("that says two things").to_string();
        assert!(own.contains("--from b does it again"), "{own}");
        assert!(from_with("c", ("b", choice)).is_err(), "b is completed");
    }
    let again = from_with("b", ("c", Choice::Retry)).expect("a person may");
    assert_eq!((again.state("b").generation.0, again.state("c").generation.0), (2, 2));
}

/// Whoever did an external phase reports that it failed, and nobody drives. Retried, it is open again, and so is the run; done, the run
/// goes on as if it had never failed.
#[test]
fn a_retry_opens_what_others_failed_at() {
    let mut story = driven("phases:\n  a: { external: { instructions: Do it. } }\n  b: { needs: a, run: x }\n");
    story.report("a", Says::Start).expect("anybody may");
    story.report("a", Says::Fail { reason: "no".to_owned() }).expect("anybody may");
    assert_eq!(story.run.status(), RunStatus::Failed);
    story.choose("a", Choice::Retry).expect("a person may");
    assert_eq!((story.run.status(), story.status("a")), (RunStatus::Waiting, PhaseStatus::Pending));
    story.report("a", Says::Start).expect("anybody may");
    assert_eq!(story.run.status(), RunStatus::Waiting);

    // What a driver is to do goes first: it does not wait for others.
    let mut story = driven("phases:\n  a: { run: x }\n  b: { needs: a, external: { instructions: Do it. } }\n");
    story.fail("a");
    story.choose("a", Choice::Retry).expect("a person may");
    assert_eq!(story.run.status(), RunStatus::Failed);
}
