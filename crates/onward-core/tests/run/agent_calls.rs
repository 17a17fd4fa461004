//! Tool calls that a person approves one by one: an agent's attempt ends with one, the run waits, and the answer is handed over once.

use onward_core::event::{AgentBegun, AgentEnded, AgentHow, CallAnswer, Event, Outcome, StopReason, StopRequest};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Choice, Input, Posted};
use onward_core::plan::REJECT;
use onward_core::question::due_approvals;
use onward_core::run::agent_calls::AgentCalls;
use onward_core::run::{Before, Ending, PhaseStatus};
use onward_core::view;

use crate::common;
use crate::story::{Story, names};

fn driven(keys: &str) -> Story {
    let plan = format!(
        "onward: 1\nname: demo\nphases:\n  a: {{ agent: {{ prompt: Do it., ask: ['Bash(git push:*)'] }}{keys} }}\n  b: {{ needs: a, run: x }}\n"
    );
    Story::of(common::plan(&plan)).driven()
}

fn asks(digest: &str) -> AgentEnded {
    let (tool, input, digest) = ("Bash".to_owned(), "git push".to_owned(), Some(digest.to_owned()));
    AgentEnded { text: Some("It is ready.".to_owned()), ..says(AgentHow::Deferred { tool, input, digest }) }
}

fn says(how: AgentHow) -> AgentEnded {
    AgentEnded { session: Some("s1".to_owned()), how, ..AgentEnded::default() }
}

fn end(story: &mut Story, outcome: Outcome, agent: Option<AgentEnded>) -> Vec<Event> {
    let agent = agent.map(Box::new);
    story.end_as("a", AttemptEnd { agent, ..AttemptEnd::bare(outcome) })
}

/// The same where the call was answered before.
fn end_after_the_answer(story: &mut Story, outcome: Outcome, agent: Option<AgentEnded>) -> Vec<Event> {
    let agent = agent.map(Box::new);
    story.end_as("a", AttemptEnd { agent, answer_given: true, ..AttemptEnd::bare(outcome) })
}

const WELL: Outcome = Outcome::Exited { code: 0 };

fn answer(story: &mut Story, said: &str) -> Result<Vec<Event>, String> {
    let call = calls(story).open.as_ref().map(|call| call.id.clone());
    answer_to(story, said, call.as_deref())
}

fn answer_to(story: &mut Story, said: &str, call: Option<&str>) -> Result<Vec<Event>, String> {
    let (phase, choice, by) = (PhaseId::new("a"), said.to_owned(), "ada@h".to_owned());
    let (reason, call) = ((said == REJECT).then(|| "not today".to_owned()), call.map(str::to_owned));
    let posted = Posted::Answer { phase, choice, by, reason, call };
    story.step(&Input::Posted(posted)).map_err(|why| why.to_string())
}

fn calls(story: &Story) -> &AgentCalls {
    &story.state("a").agent.as_deref().expect("an agent").calls
}

fn begun(events: &[Event]) -> AgentBegun {
    let begun = events.iter().rev().find_map(|event| match event {
        Event::AttemptStarted { agent, .. } => agent.as_deref().cloned(),
        _ => None,
    });
    begun.expect("an attempt was started")
}

/// A call that was asked about and approved, with the next attempt at work.
fn approved(keys: &str) -> Story {
    let mut story = driven(keys);
    end(&mut story, WELL, Some(asks("d1")));
    answer(&mut story, "approve").expect("it waits");
    story.drive();
    story
}

/// The run waits for a person, who sees the call and why. After the answer the same session goes on; none of it is a failure, a retry or
/// an interruption.
#[test]
fn a_run_waits_for_a_call() {
    let mut story = driven("");
    let events = end(&mut story, WELL, Some(asks("d1")));
    assert_eq!(names(&events)[..2], ["attempt_ended", "call_asked"]);
    assert_eq!(story.status("a"), PhaseStatus::Waiting);
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Waiting)));
    let due = due_approvals(&story.run);
    assert!(due[0].message.contains("git push") && due[0].message.contains("It is ready."), "{due:?}");
    assert!(answer(&mut story, "maybe").is_err(), "a call has no choices");
    let events = answer(&mut story, "approve").expect("it waits");
    assert_eq!(names(&events), ["call_answered"]);
    assert_eq!(answer(&mut story, "approve"), Ok(Vec::new()), "the same again");
    assert!(answer(&mut story, REJECT).is_err(), "it is answered");
    assert_eq!(story.state("a").last_end, Some(Before::Answered));
    let next = begun(&story.drive());
    assert_eq!((next.continues, next.session.as_deref()), (true, Some("s1")));
    assert!(story.state("a").agent.as_deref().is_some_and(onward_core::run::agents::AgentState::goes_on_with_a_call));
    assert_eq!(calls(&story).approved(), Some("d1"));
    end_after_the_answer(&mut story, WELL, Some(says(AgentHow::Done)));
    let state = story.state("a");
    assert_eq!((state.status, state.attempts), (PhaseStatus::Completed, 2));
    assert_eq!((state.failures, state.interruptions), (0, 0));
    assert_eq!(*calls(&story), AgentCalls::default(), "the answer is used up");
}

/// An answer is for the call that was shown. Somebody else says no to it, and the agent wants the same once more: that is another call,
/// and neither the late answer nor one that names no call is for it.
#[test]
pub(crate) fn an_answer_is_for_the_call_that_was_shown() {
    let mut story = driven("");
    end(&mut story, WELL, Some(asks("d1")));
    let shown = due_approvals(&story.run)[0].call.clone().expect("a call");
    assert!(answer_to(&mut story, "approve", None).is_err(), "it does not say for what");
    answer(&mut story, REJECT).expect("it waits");
    assert!(answer_to(&mut story, "approve", Some(&shown)).is_err(), "it is answered");
    assert_eq!(answer_to(&mut story, REJECT, Some(&shown)), Ok(Vec::new()), "the same again");
    story.drive();
    let at_work = answer_to(&mut story, "approve", Some("0"));
    assert!(at_work.is_err(), "nothing waits by this name: {at_work:?}");
    end_after_the_answer(&mut story, WELL, Some(asks("d1")));
    let waits = due_approvals(&story.run)[0].call.clone().expect("a call");
    assert_ne!(shown, waits, "the same once more is another call");
    let late = answer_to(&mut story, "approve", Some(&shown)).expect_err("the call was another one");
    assert!(late.contains(&shown) && late.contains(&waits) && late.contains("git push"), "{late}");
    assert_eq!(calls(&story).approved(), None);
    answer_to(&mut story, "approve", Some(&waits)).expect("it waits");
    assert_eq!(calls(&story).approved(), Some("d1"));
}

/// However the process ended: what it was kept from is what counts.
#[test]
fn a_call_waits_however_the_attempt_ended() {
    for outcome in [
        WELL,
        Outcome::Exited { code: 1 },
        Outcome::Killed { signal: 9 },
        Outcome::TimedOut,
        Outcome::Stopped { by: StopRequest::OrphanKill, said_done: true },
        Outcome::Unknown,
    ] {
        for keys in ["", ", effects: external", ", done-when: 'true'", ", verify: ['true']"] {
            let mut story = driven(keys);
            end(&mut story, outcome.clone(), Some(asks("d1")));
            let state = story.state("a");
            assert_eq!(state.status, PhaseStatus::Waiting, "{outcome:?}{keys}");
            assert_eq!((state.failures, state.in_doubt), (0, false), "{outcome:?}{keys}");
            assert!(state.probe.is_none(), "{outcome:?}{keys}");
        }
    }
}

/// A kill between the answer and its use loses nothing; one behind it gives nothing twice.
#[test]
fn an_answer_survives_until_it_is_given() {
    let mut story = approved("");
    end(&mut story, Outcome::Unknown, None);
    assert_eq!(calls(&story).approved(), Some("d1"), "the client was not told");
    assert!(story.state("a").agent.as_deref().is_some_and(onward_core::run::agents::AgentState::goes_on_with_a_call));
    end_after_the_answer(&mut story, Outcome::Unknown, None);
    assert_eq!((calls(&story).approved(), calls(&story).to_hand_over()), (None, None), "it is used up");
    let told = calls(&story).told();
    assert!(told[0].contains("nobody knows") && told[0].contains("git push"), "{told:?}");
    end(&mut story, WELL, Some(says(AgentHow::Done)));
    assert!(calls(&story).told().is_empty(), "it has looked");
}

/// Of an attempt that never ran nothing was given, whatever lies there.
#[test]
fn what_never_ran_gives_nothing() {
    let mut story = approved("");
    end_after_the_answer(&mut story, Outcome::NeverRan, None);
    assert_eq!(calls(&story).approved(), Some("d1"));
}

/// The client has forgotten that a call waits. It is told in words, once, and that is no failure; the second time it is.
#[test]
fn a_client_that_has_forgotten_is_told_in_words() {
    let mut story = approved("");
    let events = end(&mut story, Outcome::Exited { code: 1 }, Some(says(AgentHow::NoResult)));
    assert!(begun(&events).continues, "{events:?}");
    assert_eq!(story.state("a").failures, 0);
    assert!(calls(&story).to_hand_over().is_none());
    assert!(calls(&story).told()[0].contains("has approved this call"));
    assert_eq!(calls(&story).approved(), Some("d1"), "and may make it");
    end(&mut story, Outcome::Exited { code: 1 }, Some(says(AgentHow::NoResult)));
    assert_eq!(story.status("a"), PhaseStatus::Failed);
}

/// The client does not know the session any more. A new one may make the call that was approved.
#[test]
fn a_lost_session_keeps_the_answer() {
    let mut story = approved("");
    let lost = AgentEnded { session: None, ..says(AgentHow::SessionUnknown) };
    let events = end(&mut story, Outcome::Exited { code: 1 }, Some(lost));
    assert!(!begun(&events).continues);
    assert!(!story.state("a").agent.as_deref().is_some_and(onward_core::run::agents::AgentState::goes_on_with_a_call));
    assert_eq!(calls(&story).approved(), Some("d1"));
    assert!(calls(&story).told()[0].contains("git push"));
}

/// A no goes to the agent with its reason, and stays: the same call is refused without asking again.
#[test]
fn a_no_stays_a_no() {
    let mut story = driven("");
    end(&mut story, WELL, Some(asks("d1")));
    answer(&mut story, REJECT).expect("it waits");
    story.drive();
    assert_eq!(calls(&story).approved(), None);
    assert!(calls(&story).rejected[0].why.contains("not today"), "{:?}", calls(&story).rejected);
    end_after_the_answer(&mut story, WELL, Some(asks("d2")));
    assert_eq!(story.status("a"), PhaseStatus::Waiting, "another call");
    answer(&mut story, "approve").expect("it waits");
    story.drive();
    assert_eq!(calls(&story).approved(), Some("d2"));
    assert_eq!(calls(&story).rejected.len(), 1, "the first is still refused");
    let answers = story.journal.iter().filter_map(|recorded| match &recorded.event {
        Event::CallAnswered { answer, .. } => Some(*answer),
        _ => None,
    });
    assert_eq!(answers.collect::<Vec<_>>(), [CallAnswer::Rejected, CallAnswer::Approved]);
}

/// The rest goes on beside it, and a phase that asks for a new session each time still goes on in the one with the call.
#[test]
fn the_rest_goes_on() {
    let plan =
        "onward: 1\nname: demo\nphases:\n  a: { agent: { prompt: x, session: new, ask: Bash } }\n  c: { run: x }\n";
    let mut story = Story::of(common::plan(plan)).driven();
    end(&mut story, WELL, Some(asks("d1")));
    assert_eq!((story.run.ending(), story.at_work()), (None, vec!["c"]));
    answer(&mut story, "approve").expect("it waits, with a driver");
    assert_eq!(story.at_work(), ["a", "c"]);
    assert!(story.state("a").agent.as_deref().is_some_and(|agent| agent.named));
}

/// Retried, left out or taken as done by a person, the phase waits for no call any more.
#[test]
fn a_person_may_do_otherwise() {
    for (choice, status) in [
        (Choice::Retry, PhaseStatus::Running),
        (Choice::Skip, PhaseStatus::Skipped),
        (Choice::Adopt, PhaseStatus::Completed),
    ] {
        let mut story = driven("");
        end(&mut story, WELL, Some(asks("d1")));
        story.drive_with(&[("a", choice)]);
        assert_eq!(story.status("a"), status, "{choice:?}");
        assert!(answer(&mut story, "approve").is_err(), "{choice:?}");
        assert_eq!(story.run.calls().count(), 0, "{choice:?}");
        assert!(choice != Choice::Retry || calls(&story).open.is_none(), "{choice:?}");
    }
}

/// People see the call, the agent's reason and how to answer.
#[test]
fn why_and_status_tell_the_call() {
    let mut story = driven("");
    end(&mut story, WELL, Some(asks("d1")));
    let phase = story.run.plan().phases[0].clone();
    let why = story.why("a");
    assert!(why.reasons[0].contains("git push") && why.reasons[0].contains("onward approve"), "{why:?}");
    let call = view::phase_record(&phase, story.state("a")).agent.and_then(|agent| agent.call).expect("the call");
    assert_eq!(
        (call.tool.as_str(), call.input.as_str(), call.reason.as_deref()),
        ("Bash", "git push", Some("It is ready."))
    );
}

fn give(story: &mut Story, attempt: u32) -> Result<Vec<Event>, String> {
    let posted = Posted::GiveCallAnswer { phase: PhaseId::new("a"), attempt: Attempt(attempt) };
    story.step(&Input::Posted(posted)).map_err(|why| why.to_string())
}

/// The client's hook wants the answer twice, and for an attempt that is none. It is given once, in the attempt that is at work, and a
/// client that ends without a word behind that has failed: it is not told the answer again.
#[test]
fn an_answer_is_given_once() {
    let mut story = approved("");
    let number = story.state("a").attempt.as_ref().expect("it goes on").number.0;
    assert!(give(&mut story, number + 1).is_err(), "another attempt");
    assert_eq!(calls(&story).approved(), Some("d1"));
    let given = give(&mut story, number).expect("it is there");
    assert!(matches!(given.as_slice(), [Event::CallAnswerGiven { .. }]), "{given:?}");
    assert_eq!(calls(&story).approved(), None, "nobody else may have it");
    assert!(give(&mut story, number).is_err(), "twice");
    let events = end(&mut story, Outcome::Exited { code: 1 }, Some(says(AgentHow::NoResult)));
    assert!(matches!(&events[0], Event::AttemptEnded { answer_given: true, .. }), "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, Event::RetryScheduled { .. })), "it was taken: {events:?}");
    assert_eq!(calls(&story).open, None);
    assert!(calls(&story).unclear.is_some(), "nobody knows how far it came");
}
