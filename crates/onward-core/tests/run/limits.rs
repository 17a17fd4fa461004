//! Limits, pauses and deadlines in the life of a run: inputs in, events out, in virtual time.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use onward_core::effect::Effect;
use onward_core::event::{Event, Outcome, StopReason, StopRequest, Urgency};
use onward_core::id::{Attempt, PhaseId};
use onward_core::input::{AttemptEnd, Begin, Bounds, ClosedElsewhere, Input, LastWords, Posted, Says};
use onward_core::plan;
use onward_core::run::{self, Ending, RunStatus, schedule};

use crate::common;
use crate::story::Story;

fn driven(plan: &str, bounds: Bounds) -> Story {
    driven_plan(common::plan(plan), bounds)
}

/// The time goes on only where the story says so.
fn driven_plan(plan: plan::Plan, bounds: Bounds) -> Story {
    let mut story = Story { pace: SignedDuration::ZERO, ..Story::of(plan) };
    story.drive_within(bounds);
    story
}

impl Story {
    fn drive_within(&mut self, bounds: Bounds) {
        self.begin(Begin { bounds, ..common::begin(0) }).expect("a driver may begin");
    }

    fn seconds_later(&mut self, seconds: i64) -> Vec<Event> {
        self.after(SignedDuration::from_secs(seconds))
    }

    fn exit(&mut self, phase: &str, code: i32, text: &str) -> Vec<Event> {
        self.end_saying(phase, Outcome::Exited { code }, text)
    }

    fn in_seconds(&self, seconds: i64) -> Timestamp {
        self.now + SignedDuration::from_secs(seconds)
    }
}

const POOL: &str = "
onward: 1
name: demo
max-parallel: 4
limits: { api: { max-parallel: 1 } }
phases:
  x: { limits: [api], run: x }
  y: { limits: [api], run: x }
  free: { run: x }
";

/// I6: a phase without retries is told to come back in 30 seconds. It has not failed, its siblings wait with it, and all of
/// them start when the time has come, not before.
#[test]
fn i6_a_limit_is_no_failure_and_closes_the_pool() {
    let mut story = driven(POOL, Bounds::default());
    assert_eq!(story.at_work(), ["x", "free"]);
    story.exit("x", 75, "retry-after: 30\n");
    assert_eq!(story.at_work(), ["free"]);
    assert!(run::wanted(&story.run, story.now).contains(&Effect::WakeAt(story.in_seconds(30))));
    let y = PhaseId::new("y");
    let (phase, state) = (story.run.plan().phase(&y).expect("y"), story.run.phase_state(&y).expect("y"));
    let why = schedule::held_up(&story.run, phase, state, story.now);
    assert_eq!(why.as_deref(), Some("the limit api was hit; it opens in 30 s"));
    story.seconds_later(29);
    assert_eq!(story.at_work(), ["free"]);
    story.seconds_later(1);
    assert_eq!(story.at_work(), ["x", "free"]);
    assert_eq!(story.run.phase_state(&PhaseId::new("x")).expect("x").failures, 0);
}

/// Something is waited for while something else is at work: nobody is told to wait. Once time alone is waited for, that is what
/// is told, with the phases that wait, and of several times the first.
#[test]
fn what_is_waited_for_is_told_where_time_alone_is() {
    let plan = "
onward: 1
name: demo
limits: { api: {} }
phases:
  x: { limits: [api], run: x }
  y: { needs: x, limits: [api], run: x }
  z: { run: x, retry: { max: 1, backoff: { initial: 10s, jitter: false } } }
";
    let mut story = driven(plan, Bounds::default());
    assert_eq!((schedule::awaited(&story.run, story.now), schedule::waits(&story.run, story.now).len()), (None, 0));
    story.exit("x", 75, "retry-after: 30\n");
    story.exit("z", 1, "");
    let awaited = schedule::awaited(&story.run, story.now).expect("a time");
    assert_eq!((awaited.words().as_str(), awaited.until), ("the next attempt at z", story.in_seconds(10)));
    let waits = schedule::waits(&story.run, story.now);
    let told: Vec<(&str, String)> = waits.iter().map(|(phase, awaited)| (phase.as_str(), awaited.words())).collect();
    assert_eq!(told, [("x", "the limit api".to_owned()), ("z", "the next attempt at z".to_owned())]);
    story.seconds_later(10);
    story.exit("z", 0, "");
    assert_eq!(schedule::awaited(&story.run, story.now).expect("a time").until, story.in_seconds(20));
    story.seconds_later(20);
    assert_eq!(schedule::awaited(&story.run, story.now), None);
}

/// The driver was killed, and its phase hit a limit that night. Times count from when they were said, not from when the
/// result is taken the next morning: by then `11:30pm` has passed, and is not that of the next night.
#[test]
fn a_limit_that_was_hit_while_nobody_drove_is_read_as_of_then() {
    for text in ["You've hit your session limit · resets 11:30pm (UTC)\n", "rate limited, retry-after: 5400\n"] {
        let plan = "{onward: 1, name: demo, limits: {api: {}}, phases: {x: {limits: [api], run: x}}}";
        let mut story = driven(plan, Bounds::default());
        let said_at: Timestamp = "2026-11-15T22:00:00Z".parse().expect("a time");
        story.now = "2026-11-16T07:00:00Z".parse().expect("a time");
        let last_words = Some(Box::new(LastWords { text: text.to_owned(), local: TimeZone::UTC }));
        let outcome = Outcome::Exited { code: 75 };
        let end = AttemptEnd { last_words, ended_at: Some(said_at), ..AttemptEnd::bare(outcome) };
        story.end_as("x", end);
        assert_eq!(story.at_work(), [] as [&str; 0]);
        story.seconds_later(1);
        assert_eq!(story.at_work(), ["x"], "{text}");
    }
}

/// Nobody says how long. The first wait is a minute, and each further one in a row twice as long; something else than a
/// limit breaks the row.
#[test]
fn guesses_double_until_something_else_happens() {
    let plan =
        "onward: 1\nname: demo\nphases:\n  a: { run: x, retry: { max: 9, backoff: { initial: 1s, jitter: false } } }\n";
    let mut story = driven(plan, Bounds::default());
    for seconds in [60, 120, 240] {
        story.exit("a", 75, "");
        story.seconds_later(seconds - 1);
        assert!(story.at_work().is_empty(), "before {seconds} s");
        story.seconds_later(1);
        assert_eq!(story.at_work(), ["a"], "after {seconds} s");
    }
    story.exit("a", 1, "");
    story.seconds_later(1);
    story.exit("a", 75, "");
    story.seconds_later(60);
    assert_eq!(story.at_work(), ["a"]);
}

/// For an hour a phase is told each time to come back at once. It is asked some dozens of times, and not as often as the machine
/// can.
#[test]
fn at_once_again_and_again_is_not_at_once() {
    let mut story = driven("onward: 1\nname: demo\nphases:\n  a: { run: x }\n", Bounds::default());
    let (end, mut attempts) = (story.in_seconds(3600), 0);
    while story.now < end && attempts < 10_000 {
        story.exit("a", 75, "retry-after: 0\n");
        attempts += 1;
        let wakes = run::wanted(&story.run, story.now).into_iter().filter_map(|effect| match effect {
            Effect::WakeAt(time) => Some(time),
            _ => None,
        });
        story.now = wakes.min().expect("it waits for a time");
        story.take(&Input::Tick);
    }
    assert!((60..150).contains(&attempts), "{attempts}");
}

/// The command line forbids waiting. What does not draw on the limit is done first; then the run is paused, and whoever
/// starts it too early is told the same time again.
#[test]
fn a_run_that_may_not_wait_is_paused_when_nothing_else_is_left() {
    let no_wait = Bounds { wait_limit: Some(Duration::ZERO), ..Bounds::default() };
    let mut story = driven(POOL, no_wait);
    story.exit("x", 75, "retry-after: 30\n");
    assert_eq!(story.run.ending(), None, "free is at work");
    let reset = story.in_seconds(30);
    story.exit("free", 0, "");
    let paused = (story.run.ending(), story.run.status(), story.run.retry_at());
    assert_eq!(paused, (Some(Ending::Stopped(StopReason::Limit)), RunStatus::Paused, Some(reset)));
    story.now += SignedDuration::from_secs(10);
    story.drive_within(no_wait);
    assert_eq!((story.run.status(), story.run.retry_at()), (RunStatus::Paused, Some(reset)));
    story.now = reset;
    story.drive_within(no_wait);
    assert_eq!(story.at_work(), ["x"]);
}

/// The plan says what to do about a limit: a pause leaves at once, a failure counts, and a reset beyond the longest wait is
/// a pause.
#[test]
fn when_limited_decides() {
    for (rule, status) in [
        ("when-limited: pause", RunStatus::Paused),
        ("when-limited: fail", RunStatus::Failed),
        ("max-wait: 10s", RunStatus::Paused),
        ("max-wait: 1m", RunStatus::Running),
    ] {
        let plan = format!(
            "onward: 1\nname: demo\nlimits: {{ api: {{ {rule} }} }}\nphases:\n  a: {{ limits: [api], run: x }}\n"
        );
        let mut story = driven(&plan, Bounds::default());
        story.exit("a", 1, "HTTP 429 Too Many Requests\nretry-after: 30\n");
        assert_eq!(story.run.status(), status, "{rule}");
    }
}

/// Another run has hit the limit. This one starts nothing that draws on it before it opens, and is told once.
#[test]
fn what_another_run_has_hit_is_closed_here_too() {
    let mut story = driven(POOL, Bounds::default());
    assert_eq!(story.at_work(), ["x", "free"]);
    let closed = ClosedElsewhere { limit: "api".to_owned(), until: story.in_seconds(60), told: true };
    assert_eq!(story.take(&Input::LimitElsewhere(closed.clone())).len(), 1);
    assert_eq!(story.take(&Input::LimitElsewhere(closed.clone())), [], "it is no news");
    let unknown = ClosedElsewhere { limit: "other".to_owned(), ..closed };
    assert_eq!(story.take(&Input::LimitElsewhere(unknown)), [], "nothing draws on it");
    story.exit("x", 0, "");
    assert_eq!(story.at_work(), ["free"]);
    story.seconds_later(60);
    assert_eq!(story.at_work(), ["y", "free"]);
}

/// Another run was turned away on a machine whose clock was years ahead. Nobody waits for years because of that.
#[test]
fn what_another_run_says_of_years_ahead_is_not_believed() {
    let mut story = driven(POOL, Bounds::default());
    story.exit("x", 0, "");
    let until = story.in_seconds(86_400 * 400);
    let closed = ClosedElsewhere { limit: "api".to_owned(), until, told: true };
    assert_eq!(story.take(&Input::LimitElsewhere(closed)), []);
    story.exit("y", 0, "");
}

/// The time is over while a phase works. The checkpoint comes first, the phase is asked to end, and the run is paused
/// without a failure.
#[test]
fn a_deadline_pauses_the_run() {
    let start: Timestamp = "2026-11-15T12:00:00Z".parse().expect("a time");
    let deadline = Some(start + SignedDuration::from_secs(10));
    let mut story = driven(POOL, Bounds { deadline, ..Bounds::default() });
    assert!(run::wanted(&story.run, story.now).contains(&Effect::WakeAt(story.in_seconds(10))));
    let events = story.seconds_later(10);
    let StopRequest::Deadline = story.run.stop.expect("it is told to stop").0 else { panic!("{:?}", story.run.stop) };
    assert!(events.iter().any(|event| matches!(event, Event::CheckpointTaken { .. })), "{events:?}");
    let asked = run::wanted(&story.run, story.now);
    assert!(
        asked
            .iter()
            .all(|effect| matches!(effect, Effect::Stop { by: StopRequest::Deadline, urgency: Urgency::Ask, .. }))
    );
    for phase in ["x", "free"] {
        let end = AttemptEnd::bare(Outcome::Stopped { by: StopRequest::Deadline, said_done: false });
        story.take(&Input::AttemptEnded { phase: PhaseId::new(phase), attempt: Attempt(1), end });
    }
    assert_eq!(
        (story.run.status(), story.run.ending()),
        (RunStatus::Paused, Some(Ending::Stopped(StopReason::Deadline)))
    );
    story.drive_within(Bounds::default());
    assert_eq!(story.at_work(), ["x", "free"]);
}

/// Somebody asks for a pause. What is at work comes to its end, a failed attempt keeps its retries, nothing is started.
#[test]
fn a_pause_lets_phases_end() {
    let plan = "onward: 1\nname: demo\nphases:\n  a: { run: x, retry: { max: 1 } }\n  b: { needs: a, run: x }\n";
    let mut story = driven(plan, Bounds::default());
    story.take(&Input::Posted(Posted::Pause));
    let wanted = run::wanted(&story.run, story.now);
    assert!(matches!(wanted.as_slice(), [Effect::Perform { .. }]), "{wanted:?}");
    story.exit("a", 1, "");
    assert_eq!(story.run.status(), RunStatus::Paused);
    story.drive_within(Bounds::default());
    story.seconds_later(60);
    assert_eq!(story.at_work(), ["a"], "its retry was not used up by the pause");
}

/// Somebody gives the run up. Its phases are asked to end, and then it is archived.
#[test]
fn a_cancelled_run_is_archived() {
    let mut story = driven(POOL, Bounds::default());
    story.take(&Input::Posted(Posted::Cancel));
    for phase in ["x", "free"] {
        let end = AttemptEnd::bare(Outcome::Stopped { by: StopRequest::Cancel, said_done: false });
        story.take(&Input::AttemptEnded { phase: PhaseId::new(phase), attempt: Attempt(1), end });
    }
    assert_eq!(
        (story.run.status(), story.run.ending()),
        (RunStatus::Archived, Some(Ending::Stopped(StopReason::Cancel)))
    );
}

/// Ten thousand phases are ready and draw on one limit that lets one of them through. One after the other is started, and
/// going through all of them takes a moment: a look that judges each of them would not end within the time of a test.
#[test]
fn ten_thousand_ready_phases_are_no_burden() {
    let mut plan = "onward: 1\nname: demo\nlimits: { api: { max-parallel: 1 } }\nphases:\n".to_owned();
    for number in 0..10_000 {
        plan.extend(["  p", &number.to_string(), ": { limits: [api], writes: [out/**], run: x }\n"]);
    }
    let mut story = Story::of(common::plan(&plan));
    // Not by the story: it replays all of them after each input.
    let mut take = |input| run::step(&mut story.run, &input, "ada", story.now).expect("a legal input");
    take(Input::Begin(common::begin(1)));
    for phase in 0..20 {
        let (phase, attempt) = (PhaseId::new(format!("p{phase}")), Attempt(1));
        take(Input::AttemptEnded { phase, attempt, end: AttemptEnd::bare(Outcome::Exited { code: 0 }) });
    }
    assert_eq!(story.at_work(), ["p20"]);
}

/// A phase that draws on a limit is done by another plan. Whatever is at work for it draws on the limit, and so does its
/// neighbour outside.
#[test]
fn a_plan_inside_draws_on_the_limits_of_its_phase() {
    let text = "
onward: 1
name: demo
limits: { api: { max-parallel: 1 } }
phases:
  inside: { uses: inner.yaml, limits: [api], locks: [db] }
  outside: { run: x, limits: [api] }
  locked: { run: x, locks: [db] }
";
    let inner = "onward: 1\nname: inner\nphases:\n  p: { run: x }\n  q: { run: x }\n";
    let mut story = driven_plan(plan::expand::joined(with_used(text, inner)), Bounds::default());
    assert_eq!(story.at_work(), ["inside/p"]);
    story.exit("inside/p", 0, "");
    assert_eq!(story.at_work(), ["inside/q"]);
    story.exit("inside/q", 0, "");
    assert_eq!(story.at_work(), ["outside", "locked"]);
}

fn with_used(text: &str, inner: &str) -> plan::Plan {
    let parsed = plan::parse(text).plan.expect("a plan");
    let (whole, _) = plan::expand::read_used(&parsed, &mut |_| Ok(inner.to_owned())).expect("plans");
    plan::expand::at_start(&whole, &BTreeMap::new()).expect("nothing to fill in")
}

/// One combination of three may be at work. `why` says what keeps the second, and whoever does such parts by hand is handed
/// out one after the other.
#[test]
fn the_parts_of_a_matrix_take_turns() {
    let text = |how: &str| {
        format!("onward: 1\nname: demo\nphases:\n  m: {{ matrix: {{ k: [a, b, c], max-parallel: 1 }}, {how} }}\n")
    };
    let expanded = |text: &str| {
        let plan = plan::parse(text).plan.expect("a plan");
        plan::expand::joined(plan::expand::at_start(&plan, &BTreeMap::new()).expect("nothing to fill in"))
    };
    let mut story = driven_plan(expanded(&text("run: x")), Bounds::default());
    let part = |story: &Story, number: usize| story.run.phases().nth(number).expect("a part").0.clone();
    let (first, second) = (part(&story, 1), part(&story, 2));
    assert_eq!(story.at_work(), [first.id.as_str()]);
    let state = story.run.phase_state(&second.id).expect("a part");
    let why = schedule::held_up(&story.run, &second, state, story.now);
    assert_eq!(why.as_deref(), Some("1 parts of m are at work, and no more may be"));
    story.exit(first.id.as_str(), 0, "");
    assert_eq!(story.at_work(), [second.id.as_str()]);

    let mut story = driven_plan(expanded(&text("external: { instructions: do it }")), Bounds::default());
    let (first, second) = (part(&story, 1).id, part(&story, 2).id);
    let start = |phase: &PhaseId| {
        Input::Posted(Posted::Report { phase: phase.clone(), by: "ada".into(), says: Says::Start, complexity: None })
    };
    story.take(&start(&first));
    run::step(&mut story.run, &start(&second), "ada", story.now).expect_err("one at a time");
    assert_eq!(story.run.next_for_others(story.now).map(|phase| phase.id.clone()), Ok(first));
}

/// Each wait is shorter than the longest that the plan allows, but one follows the other. Together they are too long, and the run
/// is paused; work that was done between two hits begins a new row.
#[test]
fn many_short_waits_add_up() {
    let pool = "limits: { api: { max-wait: 100s, max-parallel: 1 } }\nphases:\n  a: { limits: [api], run: x }\n  b: { limits: [api], run: x }\n";
    let plan = format!("onward: 1\nname: demo\n{pool}");
    let mut story = driven(&plan, Bounds::default());
    story.exit("a", 75, "retry-after: 60\n");
    story.seconds_later(60);
    assert_eq!(story.at_work(), ["a"]);
    story.exit("a", 75, "retry-after: 60\n");
    assert_eq!((story.run.status(), story.run.retry_at()), (RunStatus::Paused, Some(story.in_seconds(60))));

    let mut story = driven(&plan, Bounds::default());
    story.exit("a", 75, "retry-after: 60\n");
    story.seconds_later(60);
    story.exit("a", 0, "");
    story.exit("b", 75, "retry-after: 60\n");
    assert_eq!(story.run.status(), RunStatus::Running, "a was done in between");
}

/// The same for a phase that draws on no limit with a name. Once the time has come the run goes on, however long it was.
#[test]
fn a_limit_without_a_name_is_not_waited_for_without_end() {
    let plan = "onward: 1\nname: demo\nphases:\n  a: { run: x }\n";
    let mut story = driven(plan, Bounds::default());
    story.exit("a", 75, "retry-after: 14400\n");
    let awaited = schedule::awaited(&story.run, story.now).expect("a time");
    assert_eq!(awaited.words(), "the rate limit of a");
    story.seconds_later(14_400);
    story.exit("a", 75, "retry-after: 14400\n");
    assert_eq!((story.run.status(), story.run.retry_at()), (RunStatus::Paused, Some(story.in_seconds(14_400))));
    story.now = story.in_seconds(14_400);
    story.drive_within(Bounds::default());
    assert_eq!((story.at_work(), story.run.retry_at()), (vec!["a"], None));
    let attempt = story.run.phase_state(&PhaseId::new("a")).and_then(|state| state.attempt.clone()).expect("at work");
    assert_eq!(attempt.before, Some(run::Before::Limited), "the attempt is told what was before it");
}

/// A phase draws on two limits and hits one of them. Only that one is closed, and only its rules count.
#[test]
fn one_of_two_limits_is_hit() {
    let plan = "onward: 1
name: demo
limits: { strict: { when-limited: fail, detect: { exit-codes: [9] } }, calm: { detect: { exit-codes: [8] } } }
phases:
  a: { limits: [strict, calm], run: x }
  b: { needs: a, limits: [strict], run: x }
";
    for (code, status) in [(8, RunStatus::Running), (9, RunStatus::Failed)] {
        let mut story = driven(plan, Bounds::default());
        story.exit("a", code, "");
        assert_eq!(story.run.status(), status, "{code}");
    }
}

/// Two limits are closed until different times, and nobody waits for either. Whoever starts the run again should do so when the
/// first of them opens.
#[test]
fn the_first_limit_to_open_is_worth_coming_back_for() {
    let plan = "onward: 1\nname: demo\nlimits: { one: {}, two: {} }\nphases:\n  a: { limits: [one], run: x }\n  b: { limits: [two], run: x }\n";
    let mut story = driven(plan, Bounds { wait_limit: Some(Duration::ZERO), ..Bounds::default() });
    story.exit("a", 75, "retry-after: 30\n");
    story.exit("b", 75, "retry-after: 60\n");
    assert_eq!((story.run.status(), story.run.retry_at()), (RunStatus::Paused, Some(story.in_seconds(30))));
    story.drive_within(Bounds::default());
    assert_eq!(story.run.status(), RunStatus::Running, "this driver may wait");
    assert!(run::wanted(&story.run, story.now).contains(&Effect::WakeAt(story.in_seconds(30))));
    story.take(&Input::Posted(Posted::Pause));
    assert_eq!(schedule::awaited(&story.run, story.now), None, "nobody waits for it any more");
}

/// One start a minute. The second phase is not started before, and somebody wakes up for it.
#[test]
fn a_rate_spaces_the_starts() {
    let plan = "onward: 1\nname: demo\nlimits: { api: { rate: 1/1m } }\nphases:\n  a: { limits: [api], run: x }\n  b: { limits: [api], run: x }\n";
    let mut story = driven(plan, Bounds::default());
    story.exit("a", 0, "");
    assert!(story.at_work().is_empty());
    assert!(run::wanted(&story.run, story.now).contains(&Effect::WakeAt(story.in_seconds(60))));
    story.seconds_later(59);
    assert!(story.at_work().is_empty());
    story.seconds_later(1);
    assert_eq!(story.at_work(), ["b"]);
}

/// Other runs have hit a limit before this one begins, and tell of it while it works. A time that was told counts for what it is,
/// sooner or later; a guess only where it is later; and what is over is no news.
#[test]
fn news_of_other_runs() {
    let closed = |story: &Story, seconds, told| ClosedElsewhere {
        limit: "api".to_owned(),
        until: story.in_seconds(seconds),
        told,
    };
    let mut story = driven(POOL, Bounds::default());
    for (seconds, told, news) in [
        (60, false, true),
        (30, false, false),
        (90, false, true),
        (30, true, true),
        (30, true, false),
        (-5, true, false),
    ] {
        let input = Input::LimitElsewhere(closed(&story, seconds, told));
        assert_eq!(story.take(&input).len(), usize::from(news), "{seconds} s, told: {told}");
    }
    story.exit("x", 0, "");
    story.seconds_later(30);
    assert_eq!(story.at_work(), ["y", "free"]);

    story.take(&Input::StopAsked { by: StopRequest::Hangup });
    for phase in ["y", "free"] {
        let closed = vec![closed(&story, 60, true)];
        story.begin(Begin { closed, ..common::begin(0) }).expect("a driver may begin");
        let end = AttemptEnd::bare(Outcome::Unknown);
        let phase = PhaseId::new(phase);
        story.take(&Input::AttemptFound { phase: phase.clone(), attempt: Attempt(1), alive: true });
        story.take(&Input::AttemptEnded { phase, attempt: Attempt(1), end });
        story.take(&Input::StopAsked { by: StopRequest::Hangup });
    }
    assert_eq!(story.at_work(), ["free"], "y draws on what is closed");
}

/// The time is over in the very moment in which the last phase is done. Nothing is left to stop, and the run is complete.
#[test]
fn a_deadline_with_nothing_left_to_do() {
    let start: Timestamp = "2026-11-15T12:00:00Z".parse().expect("a time");
    let deadline = Some(start + SignedDuration::from_secs(10));
    let mut story =
        driven("onward: 1\nname: demo\nphases:\n  a: { run: x }\n", Bounds { deadline, ..Bounds::default() });
    story.now = story.in_seconds(10);
    let events = story.exit("a", 0, "");
    assert!(!events.iter().any(|event| matches!(event, Event::StopAsked { .. })), "{events:?}");
    assert_eq!(story.run.status(), RunStatus::Completed);
}

/// A run that waits for a limit is paused by hand, twice, by somebody who finds nobody driving it. It still knows when it is worth
/// coming back; once it is over there is nothing to pause.
#[test]
fn a_pause_by_hand_keeps_the_time() {
    let no_wait = Bounds { wait_limit: Some(Duration::ZERO), ..Bounds::default() };
    let mut story = driven("onward: 1\nname: demo\nphases:\n  a: { run: x }\n", no_wait);
    story.exit("a", 75, "retry-after: 30\n");
    let reset = story.in_seconds(30);
    assert_eq!(story.take(&Input::Posted(Posted::Pause)).len(), 1);
    assert_eq!((story.run.ending(), story.run.retry_at()), (Some(Ending::Stopped(StopReason::Pause)), Some(reset)));
    assert_eq!(story.take(&Input::Posted(Posted::Pause)), []);
    story.now = reset;
    story.drive_within(Bounds::default());
    story.exit("a", 0, "");
    let refused = run::step(&mut story.run, &Input::Posted(Posted::Pause), "ada", story.now);
    assert_eq!(refused.map(|_| ()), Err(run::Refusal::Over));
    let refused = run::step(&mut story.run, &Input::Posted(Posted::Cancel), "ada", story.now);
    assert_eq!(refused.map(|_| ()), Err(run::Refusal::Over), "what is complete is archived, not cancelled");
}
