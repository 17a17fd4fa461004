//! Phases that agents do: what their own account of an end means. Small stories in virtual time.

use jiff::SignedDuration;
use onward_core::event::{AgentBegun, AgentEnded, AgentHow, Event, Outcome, PlanRevised, StopRequest};
use onward_core::failure::FailureCode;
use onward_core::input::{AttemptEnd, Resumption};
use onward_core::run::PhaseStatus;
use onward_core::run::agents::ROUNDS_MAX;
use onward_core::run::verification::{CheckEnd, Proof};

use crate::common;
use crate::story::{Story, names};

/// One phase `a` that an agent does, with these keys beside it.
fn driven(keys: &str) -> Story {
    let plan = format!("onward: 1\nname: demo\nphases:\n  a: {{ agent: {{ prompt: Do it. }}{keys} }}\n");
    Story::of(common::plan(&plan)).driven()
}

fn says(how: AgentHow) -> AgentEnded {
    AgentEnded { session: Some("s1".to_owned()), how, ..AgentEnded::default() }
}

fn end(outcome: Outcome, agent: AgentEnded) -> AttemptEnd {
    AttemptEnd { agent: Some(Box::new(agent)), ..AttemptEnd::bare(outcome) }
}

fn ended(story: &mut Story, code: i32, how: AgentHow) -> Vec<Event> {
    story.end_as("a", end(Outcome::Exited { code }, says(how)))
}

fn failed(message: &str) -> AgentHow {
    AgentHow::Failed { message: message.to_owned() }
}

fn begun(events: &[Event]) -> AgentBegun {
    let begun = events.iter().rev().find_map(|event| match event {
        Event::AttemptStarted { agent, .. } => agent.as_deref().cloned(),
        _ => None,
    });
    begun.expect("an attempt was started")
}

fn code_of(story: &Story) -> Option<FailureCode> {
    story.state("a").error.as_ref().map(|error| error.code)
}

/// The code of the process is none of an agent's words: it ends with 0 and has failed.
#[test]
fn frames_count_and_not_the_exit_code() {
    for (code, how, status) in [
        (0, AgentHow::Done, PhaseStatus::Completed),
        (1, AgentHow::Done, PhaseStatus::Failed),
        (0, failed("no"), PhaseStatus::Failed),
        (0, AgentHow::NoResult, PhaseStatus::Failed),
        (0, AgentHow::Interrupted, PhaseStatus::Failed),
        (1, AgentHow::MaxTurns, PhaseStatus::Failed),
        (1, AgentHow::Budget, PhaseStatus::Failed),
    ] {
        let mut story = driven("");
        ended(&mut story, code, how.clone());
        assert_eq!(story.status("a"), status, "{code} {how:?}");
        assert_eq!(story.state("a").failures, u32::from(status == PhaseStatus::Failed), "{code} {how:?}");
    }
}

/// A tool was not allowed. Where nothing proves the work that is a failure; where a check does, the check has the word.
#[test]
fn a_refused_tool_fails_what_nothing_proves() {
    let denied = || AgentEnded { denied: vec!["Bash (rm x)".to_owned()], ..says(AgentHow::Done) };
    let mut story = driven("");
    story.end_as("a", end(Outcome::Exited { code: 0 }, denied()));
    assert_eq!((story.status("a"), code_of(&story)), (PhaseStatus::Failed, Some(FailureCode::Denied)));
    let mut story = driven(", verify: [\"true\"]");
    story.end_as("a", end(Outcome::Exited { code: 0 }, denied()));
    story.take(&proof(0));
    assert_eq!(story.status("a"), PhaseStatus::Completed);
}

fn proof(code: i32) -> onward_core::input::Input {
    let check = CheckEnd { command: "true".to_owned(), code: Some(code), said: "3 tests failed".to_owned() };
    let proof = Box::new(Proof { checks: vec![check], ..Proof::default() });
    onward_core::input::Input::Probed { phase: onward_core::id::PhaseId::new("a"), proof }
}

/// The session is chosen before the first attempt. Interrupted, limited or failed, the agent goes on in the one that it named last.
#[test]
pub(crate) fn a_session_goes_on() {
    let mut story = driven(", retry: { max: 5, when: [failed] }");
    let first = begun(&story.journal.iter().map(|recorded| recorded.event.clone()).collect::<Vec<_>>());
    assert_eq!((first.continues, first.session.as_deref().map(str::len)), (false, Some(36)));
    let until = story.now + SignedDuration::from_mins(3);
    let limit = AgentHow::Limited { until: Some(until), said: "later".to_owned() };
    assert!(names(&ended(&mut story, 1, limit)).contains(&"limit_hit".to_owned()));
    assert_eq!(story.state("a").failures, 0);
    let second = begun(&story.after(SignedDuration::from_mins(5)));
    assert_eq!((second.continues, second.session.as_deref()), (true, Some("s1")));
    ended(&mut story, 1, failed("no"));
    assert!(begun(&story.after(SignedDuration::from_hours(1))).continues);
    let stopped = Outcome::Stopped { by: StopRequest::OrphanKill, said_done: true };
    let third = story.end_as("a", end(stopped, says(AgentHow::Interrupted)));
    assert!(begun(&third).continues, "an end that we asked for, with code 0, is no success");
}

/// A phase that wants a new session each time gets one; so does one whose agent never named its own.
#[test]
fn a_new_session_where_none_can_go_on() {
    let plan = "onward: 1\nname: demo\nphases:\n  a: { agent: { prompt: x, session: new }, retry: { max: 5, when: [failed] } }\n";
    let mut story = Story::of(common::plan(plan)).driven();
    ended(&mut story, 1, failed("no"));
    assert!(!begun(&story.after(SignedDuration::from_hours(1))).continues);
    let mut story = driven("");
    let unknown = story.end("a", Outcome::Unknown);
    let again = begun(&unknown);
    assert!(!again.continues && again.session.is_some());
}

/// Its context is full: a new session takes over, twice. The third time it has failed. No retry is used.
#[test]
pub(crate) fn a_full_context_is_handed_on_twice() {
    let mut story = driven("");
    for _ in 0..2 {
        let events = ended(&mut story, 1, AgentHow::Exhausted);
        assert!(!begun(&events).continues, "in a new session, at once");
        assert_eq!(story.state("a").failures, 0);
    }
    ended(&mut story, 1, AgentHow::Exhausted);
    assert_eq!((story.status("a"), code_of(&story)), (PhaseStatus::Failed, Some(FailureCode::AgentFailed)));
}

/// Hand-overs and retries are counted apart: each retry begins one new session more, and no hand-over is left.
#[test]
fn a_full_context_is_retried_apart() {
    let mut story = driven(", retry: { max: 1, when: [failed] }");
    for _ in 0..3 {
        ended(&mut story, 1, AgentHow::Exhausted);
    }
    assert_eq!(story.state("a").failures, 1);
    story.later("a");
    ended(&mut story, 1, AgentHow::Exhausted);
    let error = story.state("a").error.clone().expect("it has failed");
    assert_eq!((story.status("a"), error.code), (PhaseStatus::Failed, FailureCode::AgentFailed));
    assert!(error.message.contains("2 new sessions have taken over before"), "{}", error.message);
}

/// The client does not know the session any more: a new one, once.
#[test]
fn a_lost_session_is_followed_by_a_new_one_once() {
    let mut story = driven("");
    assert!(!begun(&ended(&mut story, 1, AgentHow::SessionUnknown)).continues);
    ended(&mut story, 1, AgentHow::SessionUnknown);
    assert_eq!(story.status("a"), PhaseStatus::Failed);
}

/// It fails three times in the same way: stuck, whatever retries are left, and across starts. Other failures in between do not count.
#[test]
pub(crate) fn the_same_failure_three_times_is_stuck() {
    let mut story = driven(", retry: { max: 9, when: [failed] }");
    for message in ["error in line 3", "another error", "error in line 7"] {
        ended(&mut story, 1, failed(message));
        story.later("a");
    }
    ended(&mut story, 1, failed("Error in line 12"));
    assert_eq!(code_of(&story), Some(FailureCode::Stuck));

    let mut story = driven("");
    for expected in [FailureCode::AgentFailed, FailureCode::AgentFailed, FailureCode::Stuck] {
        ended(&mut story, 1, failed("error"));
        assert_eq!(code_of(&story), Some(expected));
        story.resume(&[]);
    }
}

/// It says that it is done, and its check says no, three times in the same way.
#[test]
fn a_false_done_three_times_is_stuck() {
    let mut story = driven(", verify: [\"true\"], retry: { max: 9, when: [failed] }");
    for left in (0..3).rev() {
        ended(&mut story, 0, AgentHow::Done);
        story.take(&proof(1));
        if left > 0 {
            story.later("a");
        }
    }
    assert_eq!((story.status("a"), code_of(&story)), (PhaseStatus::Failed, Some(FailureCode::Stuck)));
}

/// Another plan gives the phase to a command. That is tried as often as its plan says, whatever its agent did before.
#[test]
fn a_command_in_place_of_an_agent_is_not_stuck() {
    const KEYS: &str = "verify: [\"true\"], retry: { max: 9, when: [failed] }";
    let mut story = driven(&format!(", {KEYS}"));
    for _ in 0..2 {
        ended(&mut story, 0, AgentHow::Done);
        story.take(&proof(1));
        story.later("a");
    }
    ended(&mut story, 1, failed("it is too hard"));
    let plan = common::plan(&format!("onward: 1\nname: demo\nphases:\n  a: {{ run: x, {KEYS} }}\n"));
    let plan_digest = onward_core::plan::digest(&plan);
    let revised = PlanRevised { plan, plan_digest, plan_text: String::new(), renamed: Vec::new() };
    story.drive_told(Resumption { revised: Some(Box::new(revised)), ..Resumption::default() });
    story.later("a");
    story.done("a");
    story.take(&proof(1));
    assert_eq!((story.status("a"), code_of(&story)), (PhaseStatus::Pending, None));
}

/// It is stopped in the moment in which its context is full. That is no failure, and it gives no retry back either.
#[test]
fn a_stop_with_a_full_context_gives_no_retry_back() {
    for how in [AgentHow::Exhausted, AgentHow::SessionUnknown] {
        let mut story = driven(", retry: { max: 5, when: [failed] }");
        ended(&mut story, 1, failed("no"));
        story.later("a");
        story.stop(StopRequest::Interrupt);
        let stopped = Outcome::Stopped { by: StopRequest::Interrupt, said_done: false };
        story.end_as("a", end(stopped, says(how.clone())));
        assert_eq!(story.state("a").failures, 1, "{how:?}");
    }
}

/// A service without capacity is asked again, three times where the plan says nothing.
#[test]
fn an_overloaded_service_is_asked_again() {
    let mut story = driven("");
    let overloaded = || AgentHow::Overloaded { message: "529".to_owned() };
    for _ in 0..3 {
        ended(&mut story, 1, overloaded());
        story.later("a");
    }
    ended(&mut story, 1, overloaded());
    assert_eq!(story.status("a"), PhaseStatus::Failed);
}

/// Turns, tokens and cost of all attempts are added up, and what the phase may take is no more than the plan says.
#[test]
pub(crate) fn what_it_takes_is_added_up_and_ends() {
    let plan = "onward: 1\nname: demo\nphases:\n  a: { agent: { prompt: x, budget: { usd: 1 } }, retry: { max: 9, when: [failed] } }\n";
    let mut story = Story::of(common::plan(plan)).driven();
    let costs =
        |nano: u64, message: &str| AgentEnded { turns: 2, tokens: 30, cost_nano_usd: nano, ..says(failed(message)) };
    story.end_as("a", end(Outcome::Exited { code: 1 }, costs(400_000_000, "one")));
    story.later("a");
    story.end_as("a", end(Outcome::Exited { code: 1 }, costs(700_000_000, "two")));
    assert_eq!(story.run.cost_nano_usd(), Some(1_100_000_000));
    let agent = story.state("a").agent.clone().expect("an agent did it");
    assert_eq!((agent.turns, agent.tokens), (4, 60));
    story.after(SignedDuration::from_hours(1));
    assert_eq!((story.status("a"), code_of(&story)), (PhaseStatus::Failed, Some(FailureCode::Budget)));
}

/// A client that counts the tokens of the whole session: an attempt has the difference.
#[test]
fn tokens_of_a_session_are_not_counted_twice() {
    let mut story = driven(", retry: { max: 9, when: [failed] }");
    for all in [100, 250] {
        let agent = AgentEnded { session_tokens: Some(all), ..says(failed(&format!("{all}x"))) };
        story.end_as("a", end(Outcome::Exited { code: 1 }, agent));
        story.later("a");
    }
    assert_eq!(story.state("a").agent.as_ref().map(|agent| agent.tokens), Some(250));
}

/// The words of a limit have its minute, the frame has its second. The client is not called before that second.
#[test]
fn the_number_of_a_limit_counts_before_its_words() {
    let mut story = driven("");
    let minute = story.now + SignedDuration::from_hours(2);
    let until = minute + SignedDuration::from_secs(18);
    let clock = minute.strftime("%-I:%M%P").to_string();
    let said = format!("You've hit your session limit · resets {clock} (UTC)");
    let events = ended(&mut story, 1, AgentHow::Limited { until: Some(until), said });
    let hit = events.iter().find_map(|event| match event {
        Event::LimitHit(hit) => Some((hit.until, hit.told)),
        _ => None,
    });
    assert_eq!(hit, Some((until, true)));
}

/// Done, with this remaining.
fn left(remaining: &str) -> AttemptEnd {
    let outputs = [("remaining".to_owned(), remaining.to_owned())].into();
    AttemptEnd { outputs: Ok(outputs), ..end(Outcome::Exited { code: 0 }, says(AgentHow::Done)) }
}

/// It says that it is done and that something remains: it goes on at once, in the same session, and no retry is used up. Done is what
/// it is when nothing remains.
#[test]
fn done_with_work_remaining_is_overruled() {
    let mut story = driven(", verify: [\"true\"]");
    for remaining in ["header, footer", "footer"] {
        let events = story.end_as("a", left(remaining));
        let again = begun(&events);
        assert_eq!((again.continues, again.session.as_deref()), (true, Some("s1")), "the same session goes on");
        let state = story.state("a");
        let told = state.agent.as_deref().and_then(|agent| agent.remaining.as_deref());
        assert_eq!((state.failures, told), (0, Some(remaining)));
    }
    story.end_as("a", left(" None "));
    assert_eq!(story.state("a").agent.as_deref().and_then(|agent| agent.remaining.as_deref()), None);
    story.take(&proof(0));
    assert_eq!(story.status("a"), PhaseStatus::Completed);
    assert_eq!(story.state("a").attempts, 3);
}

/// The remaining work does not change, twice: stuck. A person's retry gives it new rounds.
#[test]
fn the_same_work_remaining_is_stuck() {
    let mut story = driven("");
    for _ in 0..2 {
        story.end_as("a", left("the footer"));
        assert_eq!(story.status("a"), PhaseStatus::Running);
    }
    story.end_as("a", left("The  footer"));
    assert_eq!((story.status("a"), code_of(&story)), (PhaseStatus::Failed, Some(FailureCode::Stuck)));
    story.resume(&[]);
    story.end_as("a", left("the footer"));
    assert_eq!(story.status("a"), PhaseStatus::Running);
}

/// Something else remains each time: that has an end, too.
#[test]
fn rounds_have_a_limit() {
    let mut story = driven("");
    for round in 1..ROUNDS_MAX {
        story.end_as("a", left(&format!("{round} more files")));
        assert_eq!(story.status("a"), PhaseStatus::Running, "round {round}");
    }
    story.end_as("a", left("other files"));
    assert_eq!((story.status("a"), code_of(&story)), (PhaseStatus::Failed, Some(FailureCode::AgentFailed)));
    assert_eq!(story.state("a").attempts, u32::try_from(ROUNDS_MAX).expect("few"));
}

/// Its context is full, or it was interrupted: whoever goes on is told what it said that remains, and no round is counted.
#[test]
fn what_remains_is_handed_on() {
    let mut story = driven("");
    let full = AttemptEnd { agent: Some(Box::new(says(AgentHow::Exhausted))), ..left("the footer") };
    let full = AttemptEnd { outcome: Outcome::Exited { code: 1 }, ..full };
    assert!(!begun(&story.end_as("a", full)).continues);
    story.end("a", Outcome::Unknown);
    let agent = story.state("a").agent.clone().expect("an agent did it");
    assert_eq!((agent.remaining.as_deref(), agent.rounds), (Some("the footer"), 0));
}

/// The run is stopped while an agent says that it is done and something remains: nothing is begun, and the next start goes on.
#[test]
fn work_remaining_beside_a_stop() {
    let mut story = driven("");
    let stopped = Outcome::Stopped { by: StopRequest::OrphanKill, said_done: true };
    story.end_as("a", AttemptEnd { outcome: stopped, ..left("the footer") });
    assert_ne!(story.status("a"), PhaseStatus::Completed);
}

/// Its client is killed by a signal that was not ours: that is a matter of the machine, as for any other phase.
#[test]
fn a_killed_client_is_a_matter_of_the_machine() {
    for (when, status) in [("infra", PhaseStatus::Running), ("failed", PhaseStatus::Failed)] {
        let mut story = driven(&format!(", retry: {{ max: 1, when: [{when}] }}"));
        story.end_as("a", end(Outcome::Killed { signal: 9 }, says(AgentHow::Interrupted)));
        story.after(SignedDuration::from_hours(1));
        assert_eq!(story.status("a"), status, "{when}");
    }
}
