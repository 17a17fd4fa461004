//! Ends in the middle of something: what must not happen twice is asked about, and what was finished is done. Small stories in
//! virtual time.

use jiff::SignedDuration;
use onward_core::effect::Effect;
use onward_core::event::{Outcome, PlanRevised, StopRequest};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Choice, Input, Posted, Resumption, Says};
use onward_core::plan;
use onward_core::run::verification::{self, CheckEnd, Proof};
use onward_core::run::{self, PhaseStatus};

use crate::common;
use crate::story::Story;

const KILLED: Outcome = Outcome::Killed { signal: 9 };
/// The code of a shell whose child was killed.
const CHILD_KILLED: Outcome = Outcome::Exited { code: 137 };
const FINISHED: Outcome = Outcome::Stopped { by: StopRequest::Interrupt, said_done: true };
const RETRIES: &str = ", retry: { max: 1, when: [failed, timed-out, infra], backoff: { initial: 1s } }";

/// One phase `a` with these keys, and `b` after it.
fn driven_a(keys: &str) -> Story {
    let phases = format!("  a: {{ run: x{keys} }}\n  b: {{ needs: a, run: x }}\n");
    Story::of(common::plan(&format!("onward: 1\nname: demo\nphases:\n{phases}"))).driven()
}

impl Story {
    fn probe(&mut self, proof: Proof) {
        let phase = PhaseId::new("a");
        assert!(run::wanted(&self.run, self.now).contains(&Effect::Probe { phase: phase.clone() }), "it is looked at");
        self.take(&Input::Probed { phase, proof: Box::new(proof) });
    }

    fn later_begun_by_others(&mut self, start: &Input) {
        self.now += SignedDuration::from_hours(1);
        self.take(start);
        assert_eq!(self.state("a").status, PhaseStatus::Running, "somebody is at work on it");
    }

    fn stands(&self) -> Stands {
        match self.state("a") {
            state if state.in_doubt => Stands::Asked,
            state if state.not_before.is_some() => Stands::Retried,
            state if state.status == PhaseStatus::Failed => Stands::Failed,
            state if state.status == PhaseStatus::Completed => Stands::Done,
            state => panic!("nothing was decided: {state:?}"),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Stands {
    Asked,
    Retried,
    Failed,
    Done,
}

fn unreadable(outcome: Outcome) -> AttemptEnd {
    AttemptEnd { outputs: Err("line 2".to_owned()), ..AttemptEnd::bare(outcome) }
}

fn seen(effect: verification::EffectFound) -> Proof {
    Proof { effect: Some(effect), ..Proof::default() }
}

fn checked(code: Option<i32>) -> Proof {
    Proof { checks: vec![CheckEnd { command: "c".to_owned(), code, said: String::new() }], ..Proof::default() }
}

/// The out-of-memory killer, or a time limit, ends a phase in the middle of an outward effect. Nobody knows whether that happened:
/// a person is asked, whatever the plan says of retries, unless it says that the phase may be run again.
#[test]
fn an_outward_effect_that_was_cut_short_is_not_repeated_unasked() {
    for outcome in [KILLED, CHILD_KILLED, Outcome::TimedOut] {
        for (keys, stands) in [
            (", effects: external", Stands::Asked),
            (", effects: external, on-interrupt: ask", Stands::Asked),
            (", effects: external, on-interrupt: rerun", Stands::Retried),
            ("", Stands::Retried),
        ] {
            let mut story = driven_a(&format!("{keys}{RETRIES}"));
            story.end("a", outcome.clone());
            assert_eq!(story.stands(), stands, "{keys:?}, {outcome:?}");
        }
        let mut story = driven_a(", effects: external");
        story.end("a", outcome.clone());
        assert_eq!(story.stands(), Stands::Asked, "without retries, {outcome:?}");
        story.drive();
        assert_eq!((story.stands(), story.state("a").attempts), (Stands::Asked, 1), "the next start asks too");
    }
}

/// The word of a phase with an outward effect counts: a code of its own is a failure, and what never began had no effect.
#[test]
fn an_outward_effect_that_failed_by_itself_is_retried_as_the_plan_says() {
    let could_not_start = Outcome::CouldNotStart { reason: "no such program".to_owned() };
    for outcome in [Outcome::Exited { code: 3 }, Outcome::Exited { code: 128 }, could_not_start] {
        let mut story = driven_a(&format!(", effects: external{RETRIES}"));
        story.end("a", outcome.clone());
        assert_eq!(story.stands(), Stands::Retried, "{outcome:?}");
    }
}

/// A phase was killed from outside, and its plan wants to be asked about interruptions.
#[test]
fn a_foreign_signal_is_an_interruption_for_whoever_wants_to_be_asked() {
    let mut story = driven_a(&format!(", on-interrupt: ask{RETRIES}"));
    story.end("a", KILLED);
    assert_eq!(story.stands(), Stands::Asked);
}

/// Nothing is said of when to retry: then after failures and time limits, and not after a signal from outside.
#[test]
fn a_foreign_signal_is_retried_where_that_is_asked_for() {
    for (outcome, stands) in [
        (KILLED, Stands::Failed),
        (Outcome::CouldNotStart { reason: "no".to_owned() }, Stands::Failed),
        (Outcome::TimedOut, Stands::Retried),
        (Outcome::Exited { code: 1 }, Stands::Retried),
    ] {
        let mut story = driven_a(", retry: { max: 2 }");
        story.end("a", outcome.clone());
        assert_eq!(story.stands(), stands, "{outcome:?}");
    }
}

/// The same end of a phase with a probe. The probe speaks before anything is tried again, and what it sees decides; the end counts
/// as the failure that it is.
#[test]
fn a_probe_speaks_before_the_retry_of_what_was_cut_short() {
    let story = |seen_there| {
        let mut story = driven_a(&format!(", effects: external, done-when: [x]{RETRIES}"));
        story.end("a", KILLED);
        assert_eq!((story.state("a").attempts, story.state("a").failures), (1, 1));
        story.probe(seen(seen_there));
        story
    };
    assert_eq!(story(verification::EffectFound::There).stands(), Stands::Done);
    assert_eq!(story(verification::EffectFound::CannotTell).stands(), Stands::Asked);
    let mut again = story(verification::EffectFound::Absent);
    assert_eq!((again.stands(), again.state("a").failures), (Stands::Retried, 1));
    again.later("a");
    again.end("a", KILLED);
    again.probe(seen(verification::EffectFound::Absent));
    assert_eq!((again.stands(), again.state("a").failures), (Stands::Failed, 2));
    assert_eq!(again.state("a").error.as_ref().map(|error| error.code.as_str()), Some("signal"));
}

/// A phase pays and says so, and what it gives out cannot be read. It would pay once more.
#[test]
fn an_outward_effect_with_unreadable_outputs_is_not_repeated_unasked() {
    for (keys, stands) in [(", effects: external", Stands::Asked), ("", Stands::Retried)] {
        let mut story = driven_a(&format!("{keys}{RETRIES}"));
        story.end_as("a", unreadable(Outcome::Exited { code: 0 }));
        assert_eq!(story.stands(), stands, "{keys:?}");
    }
}

/// A check of an outward effect says no: the plan's own word, so it is not done. One that was killed says nothing.
#[test]
fn a_check_of_an_outward_effect_says_no_or_nothing() {
    for (code, stands) in [(Some(1), Stands::Retried), (None, Stands::Asked), (Some(137), Stands::Asked)] {
        let mut story = driven_a(&format!(", effects: external, verify: [c]{RETRIES}"));
        story.end("a", Outcome::Exited { code: 0 });
        story.probe(checked(code));
        assert_eq!(story.stands(), stands, "{code:?}");
    }
    let mut story = driven_a(&format!(", verify: [c]{RETRIES}"));
    story.end("a", Outcome::Exited { code: 0 });
    story.probe(checked(None));
    assert_eq!(story.stands(), Stands::Retried, "it may be done again");
}

/// Somebody presses Ctrl+C, and the phase does not hear it and finishes its work. It is done; the run stops as it was asked to, and
/// the next start goes on behind it.
#[test]
fn a_phase_that_finished_after_a_stop_is_done() {
    for keys in ["", ", effects: external, on-interrupt: rerun", ", on-interrupt: ask"] {
        for by in [StopRequest::Interrupt, StopRequest::SessionEnd] {
            let mut story = driven_a(keys);
            story.take(&Input::StopAsked { by });
            story.end("a", Outcome::Stopped { by, said_done: true });
            assert_eq!(
                (story.stands(), story.run.ending()),
                (Stands::Done, by.reason().map(run::Ending::Stopped)),
                "{keys:?}"
            );
            story.drive();
            let b = story.run.phase_state(&PhaseId::new("b")).expect("of the plan");
            assert_eq!((story.state("a").attempts, b.attempts), (1, 1));
        }
    }
}

/// The same with an outward effect that nothing can prove: it may have been polite and stopped half-way, so a person is asked.
#[test]
fn an_outward_effect_that_ends_politely_after_a_stop_is_asked_about() {
    let mut story = driven_a(", effects: external");
    story.take(&Input::StopAsked { by: StopRequest::Interrupt });
    story.end("a", FINISHED);
    assert_eq!(story.stands(), Stands::Asked);
}

/// The same where what it gives out cannot be read: then it is interrupted like any other, and no failure.
#[test]
fn a_phase_that_finished_after_a_stop_without_its_outputs_is_interrupted() {
    for (keys, asked) in [("", false), (", effects: external", true)] {
        let mut story = driven_a(keys);
        story.take(&Input::StopAsked { by: StopRequest::Interrupt });
        story.end_as("a", unreadable(FINISHED));
        assert_eq!((story.state("a").status, story.state("a").in_doubt), (PhaseStatus::Interrupted, asked), "{keys:?}");
        assert_eq!(story.state("a").failures, 0);
    }
}

/// The same where something has to prove it. That is looked at by the next driver; if it says no the phase was interrupted, which
/// uses up no retry, and what happened outside without a `done-when` is asked about.
#[test]
fn a_phase_that_finished_after_a_stop_proves_it_at_the_next_start() {
    let story = |keys: &str, code| {
        let mut story = driven_a(&format!("{keys}, verify: [c]"));
        story.take(&Input::StopAsked { by: StopRequest::Interrupt });
        story.end("a", FINISHED);
        assert_eq!((story.state("a").status, story.state("a").attempts), (PhaseStatus::Interrupted, 1));
        story.drive();
        assert_eq!(story.state("a").attempts, 1, "it is looked at before it is begun again");
        story.probe(checked(Some(code)));
        story
    };
    assert_eq!(story("", 0).stands(), Stands::Done);
    let again = story("", 1);
    assert_eq!(
        (again.state("a").status, again.state("a").failures, again.state("a").attempts),
        (PhaseStatus::Running, 0, 2)
    );
    assert_eq!(story(", effects: external", 1).stands(), Stands::Asked);
}

/// An outward effect outlived its driver, and a person says that it is to be done once more, or that all from there on is. However it
/// ends, by our hand or unseen, it is done once more under the same key, and nobody is asked again. Unasked it is asked about.
#[test]
fn an_answer_about_what_is_at_work_counts_when_it_has_ended() {
    let killed = Outcome::Stopped { by: StopRequest::OrphanKill, said_done: false };
    for outcome in [killed, Outcome::Unknown] {
        for answer in ["none", "retry", "from"] {
            let mut story = driven_a(", effects: external");
            let generation = story.state("a").generation;
            let mut begin = common::begin(0);
            match answer {
                "retry" => begin.choices = vec![(PhaseId::new("a"), Choice::Retry)],
                "from" => begin.resumption.from = Some(PhaseId::new("a")),
                _ => {}
            }
            story.begin(begin).expect("a person may");
            story.take(&Input::AttemptFound { phase: PhaseId::new("a"), attempt: Attempt(1), alive: true });
            story.end("a", outcome.clone());
            if answer == "none" {
                assert_eq!(story.stands(), Stands::Asked, "{outcome:?}");
                continue;
            }
            let state = story.state("a");
            assert_eq!(
                (state.status, state.attempts, state.generation),
                (PhaseStatus::Running, 2, generation),
                "{answer}"
            );
        }
    }
}

/// A person wants a phase retried that is at work under a driver: refused, and nothing is changed by it. When nobody drives the run
/// any more, the answer is taken for whatever becomes of it.
#[test]
fn a_retry_of_what_is_at_work_is_refused() {
    let mut story = driven_a("");
    let phase = PhaseId::new("a");
    for choice in [Choice::Retry, Choice::RetryClean] {
        let posted = Input::Posted(Posted::Choose { phase: phase.clone(), choice, by: None, reason: None });
        let before = story.run.seq;
        let refused = run::step(&mut story.run, &posted, "ada", story.now).expect_err("it is at work");
        assert!(refused.to_string().contains("it is at work"), "{refused}");
        assert_eq!(story.run.seq, before);
    }
    story.take(&Input::DriverGone);
    story.take(&Input::Posted(Posted::Choose { phase, choice: Choice::Retry, by: None, reason: None }));
}

/// The plan gives a phase to others while its probe has not answered yet whether its effect is there: nobody begins it before that.
#[test]
fn nobody_begins_what_may_have_been_done() {
    let mut story = driven_a(&format!(", effects: external, done-when: c{RETRIES}"));
    story.end("a", KILLED);
    let plan = common::plan(&format!(
        "onward: 1\nname: demo\nphases:\n  a: {{ external: {{ instructions: x }}, effects: external, done-when: c{RETRIES} }}\n  b: {{ needs: a, run: x }}\n"
    ));
    let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() };
    story.drive_told(Resumption { revised: Some(Box::new(revised)), ..Resumption::default() });
    let report = |says| {
        let (phase, by) = (PhaseId::new("a"), "ada@h".to_owned());
        Input::Posted(Posted::Report { phase, by, says, complexity: None })
    };
    let mut tried = story.run.clone();
    let refused = run::step(&mut tried, &report(Says::Start), "ada", story.now).expect_err("it is looked first");
    assert!(refused.to_string().contains("whether its last attempt did the work"), "{refused}");
    story.probe(seen(verification::EffectFound::Absent));
    story.later_begun_by_others(&report(Says::Start));
    let late = Input::Probed { phase: PhaseId::new("a"), proof: Box::new(seen(verification::EffectFound::Absent)) };
    assert_eq!(story.take(&late), [], "an answer that comes too late changes nothing");
    assert_eq!(story.state("a").status, PhaseStatus::Running, "it stays with whoever began it");
}
