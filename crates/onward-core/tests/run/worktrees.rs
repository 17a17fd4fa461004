//! Phases in worktrees of their own: how their files come into the project, and what keeps them from it.

use onward_core::checkpoint::Trigger;
use onward_core::effect::Effect;
use onward_core::event::{
    AgentEnded, AgentHow, CommitRule, Event, Outcome, PlanRevised, RewindBegun, RunStarted, StopReason, StopRequest,
    WorktreeConflict, WorktreeFact,
};
use onward_core::failure::FailureCode;
use onward_core::id::{Attempt, CheckpointId, PhaseId};
use onward_core::input::{AttemptEnd, Choice, Input, Posted, Resumption};
use onward_core::plan;
use onward_core::resume::{self, FindingKind};
use onward_core::run::verification::{CheckEnd, EffectFound, Proof};
use onward_core::run::worktrees::Renewal;
use onward_core::run::{Ending, PhaseStatus, Refusal};

use crate::common;
use crate::story::Story;

const PAIR: &str = "onward: 1\nname: demo\ndefaults: { agent: { worktree: own } }\nphases:\n  \
                    a: { agent: { prompt: x }, writes: src/** }\n  b: { agent: { prompt: x }, writes: src/** }\n";

fn story(plan: &str) -> Story {
    Story::of(common::plan(plan)).driven()
}

fn id(phase: &str) -> PhaseId {
    PhaseId::new(phase)
}

fn found(story: &mut Story, phase: &str, fact: WorktreeFact) -> Vec<Event> {
    story.take(&Input::Worktree { phase: id(phase), found: Ok(Box::new(fact)) })
}

/// The worktree of an attempt is there.
fn made(story: &mut Story, phase: &str) {
    assert!(story.run.wants_a_worktree(&id(phase)), "{phase} has none yet");
    let attempt = Attempt(story.state(phase).attempts);
    let begun = WorktreeFact::Begun { attempt, base: "base".to_owned(), content: None, unresolved: Vec::new() };
    found(story, phase, begun);
    assert!(!story.run.wants_a_worktree(&id(phase)));
}

fn says_done(story: &mut Story, phase: &str) {
    let agent = AgentEnded { session: Some("s".to_owned()), how: AgentHow::Done, ..AgentEnded::default() };
    story.end_as(phase, AttemptEnd { agent: Some(Box::new(agent)), ..AttemptEnd::bare(Outcome::Exited { code: 0 }) });
}

fn proven(story: &mut Story, phase: &str) -> Vec<Event> {
    assert!(story.wanted().contains(&Effect::Probe { phase: id(phase) }), "{phase} is looked at: {:?}", story.wanted());
    story.take(&Input::Probed { phase: id(phase), proof: Box::default() })
}

/// Done, and proven where it is.
fn due(story: &mut Story, phase: &str) {
    made(story, phase);
    says_done(story, phase);
    proven(story, phase);
    assert_eq!(story.status(phase), PhaseStatus::Interrupted, "nothing is decided before its files are in the project");
}

fn integrates(story: &Story) -> Vec<String> {
    let wanted = story.wanted().into_iter();
    wanted
        .filter_map(|effect| if let Effect::Integrate { phase } = effect { Some(phase.to_string()) } else { None })
        .collect()
}

fn begin(story: &mut Story, phase: &str) {
    let (result, before, merged) = ("result".to_owned(), "before".to_owned(), "merged".to_owned());
    found(story, phase, WorktreeFact::IntegrationBegun { result, before, merged });
}

fn integrated(story: &mut Story, phase: &str) {
    found(story, phase, WorktreeFact::Integrated { result: "result".to_owned(), left_out: Vec::new(), seen: None });
}

fn conflict(story: &mut Story, phase: &str) -> Vec<Event> {
    let (result, paths) = ("result".to_owned(), vec!["src/a.rs".to_owned()]);
    found(story, phase, WorktreeFact::Conflict(WorktreeConflict { result, paths, ..WorktreeConflict::default() }))
}

/// Two that write the same files are at work at once. Their files come into the project one after the other: the second waits until
/// those of the first are proven there. Then each worktree goes, and only then the run is over.
#[test]
fn side_by_side_and_in_one_after_the_other() {
    let mut story = story(PAIR);
    assert_eq!(story.at_work(), ["a", "b"]);
    due(&mut story, "a");
    due(&mut story, "b");
    assert_eq!(integrates(&story), ["a"]);
    begin(&mut story, "a");
    assert_eq!(integrates(&story), ["a"]);
    integrated(&mut story, "a");
    assert_eq!(integrates(&story), Vec::<String>::new(), "nobody would know which of them broke it");
    proven(&mut story, "a");
    assert_eq!((story.status("a"), integrates(&story)), (PhaseStatus::Completed, vec!["b".to_owned()]));
    begin(&mut story, "b");
    integrated(&mut story, "b");
    proven(&mut story, "b");
    assert_eq!((story.status("b"), story.run.ending()), (PhaseStatus::Completed, None), "its worktree is there");
    for phase in ["a", "b"] {
        assert!(story.wanted().contains(&Effect::RemoveWorktree { phase: id(phase) }));
        found(&mut story, phase, WorktreeFact::Removed { kept: None, put_away: None });
    }
    assert_eq!(story.run.ending(), Some(Ending::Completed));
}

/// Killed, its effect is there all the same, and its files do not come into the project: one failure, not two. Stopped and done, the
/// failure is that alone.
#[test]
fn files_that_do_not_come_in_are_one_failure() {
    const PLAN: &str = "onward: 1\nname: demo\ndefaults: { agent: { worktree: own } }\nphases:\n  a: { agent: { prompt: x }, \
                        effects: external, done-when: \"true\", retry: { max: 1, when: [failed, infra] } }\n";
    let stopped = Outcome::Stopped { by: StopRequest::Interrupt, said_done: true };
    for (outcome, how) in [(Outcome::Killed { signal: 9 }, AgentHow::NoResult), (stopped, AgentHow::Done)] {
        let mut story = story(PLAN);
        made(&mut story, "a");
        if matches!(outcome, Outcome::Stopped { .. }) {
            story.stop(StopRequest::Interrupt);
        }
        let agent = AgentEnded { session: Some("s".to_owned()), how, ..AgentEnded::default() };
        story.end_as("a", AttemptEnd { agent: Some(Box::new(agent)), ..AttemptEnd::bare(outcome.clone()) });
        if story.run.ending().is_some() {
            story.resume(&[]);
        }
        let there = Proof { effect: Some(EffectFound::There), ..Proof::default() };
        story.take(&Input::Probed { phase: id("a"), proof: Box::new(there) });
        story.take(&Input::Worktree { phase: id("a"), found: Err("git has no room".to_owned()) });
        assert_eq!((story.status("a"), story.state("a").failures), (PhaseStatus::Pending, 1), "{outcome:?}");
    }
}

/// While files come into the project nothing begins that writes the same or commits; and they wait for whoever does so already. What
/// is at work in a worktree of its own is in nobody's way.
#[test]
fn the_project_is_written_by_one_at_a_time() {
    for (beside, waits) in [
        ("run: x, writes: src/main.rs", true),
        ("run: x, kind: commit", true),
        ("run: x, locks: git", true),
        ("run: x, writes: docs/**", false),
        ("agent: { prompt: x, worktree: own }, writes: src/**", false),
    ] {
        let plan =
            format!("{PAIR}  c: {{ {beside} }}\n  d: {{ needs: e, {beside} }}\n  e: {{ run: x, effects: none }}\n");
        let mut story = story(&plan);
        due(&mut story, "a");
        assert_eq!(integrates(&story).is_empty(), waits, "{beside}: c is at work");
        if waits {
            story.done("e");
            story.done("c");
        } else {
            begin(&mut story, "a");
            story.done("e");
            assert!(!story.at_work().contains(&"d"), "{beside}: nothing begins while files are moved");
            integrated(&mut story, "a");
            if beside.starts_with("run") {
                story.done("c");
            }
            assert!(story.at_work().contains(&"d"), "{beside}");
            continue;
        }
        assert_eq!((integrates(&story), story.at_work().contains(&"d")), (vec!["a".to_owned()], false), "{beside}");
        begin(&mut story, "a");
        integrated(&mut story, "a");
        assert!(!story.at_work().contains(&"d"), "{beside}: what a has written is looked at");
        proven(&mut story, "a");
        assert!(story.at_work().contains(&"d"), "{beside}");
    }
}

/// A phase that works apart keeps no commit waiting, and a commit and an integration wait for each other.
#[test]
fn commits_and_integrations_take_turns() {
    let rule =
        CommitRule { every: 1, message: "work".to_owned(), trailers: Vec::new(), hooks: false, names_agents: false };
    let plan = format!("{PAIR}  c: {{ run: x, writes: docs/** }}\n");
    let started = RunStarted { commits: Some(rule), ..common::started(common::plan(&plan)) };
    let mut story = Story::started(started).driven();
    due(&mut story, "a");
    begin(&mut story, "a");
    story.done("c");
    assert_eq!(integrates(&story), ["a"]);
    assert!(!story.wanted().iter().any(|effect| matches!(effect, Effect::Commit { .. })), "files are being moved");
    integrated(&mut story, "a");
    assert!(story.wanted().contains(&Effect::Commit { number: 1 }), "b is at work elsewhere: {:?}", story.wanted());
}

/// Two have changed the same. The phase waits for a person and nothing else is kept waiting; each answer leads on.
#[test]
fn a_conflict_is_a_question() {
    for (choice, status) in [
        (Choice::Retry, PhaseStatus::Running),
        (Choice::Adopt, PhaseStatus::Completed),
        (Choice::Skip, PhaseStatus::Skipped),
    ] {
        let mut story = story(PAIR);
        due(&mut story, "b");
        conflict(&mut story, "b");
        let open = |story: &Story| story.run.sections().conflicts.iter().filter(|one| one.resolution.is_none()).count();
        assert_eq!((story.status("b"), open(&story)), (PhaseStatus::Waiting, 1));
        assert!(story.taken.iter().any(|taken| taken.meta.triggers.contains(&Trigger::ConflictStart)));
        let b = story.run.plan().phase(&id("b")).expect("b").clone();
        let asks = story.run.asks(&b, story.state("b")).expect("it asks");
        assert!(asks.contains("src/a.rs") && asks.contains("b-g1"), "{asks}");
        due(&mut story, "a");
        integrated(&mut story, "a");
        proven(&mut story, "a");
        found(&mut story, "a", WorktreeFact::Removed { kept: None, put_away: None });
        assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Waiting)));
        story.choose("b", choice).expect("it is an answer");
        assert_eq!(open(&story), 0, "{choice:?}");
        story.drive();
        assert!(story.taken.iter().any(|taken| taken.meta.triggers.contains(&Trigger::ConflictResolved)), "{choice:?}");
        assert_eq!(story.status("b"), status, "{choice:?}");
        if choice == Choice::Retry {
            let own = story.state("b").own.as_deref().expect("its worktree");
            assert_eq!((own.renewal, story.run.wants_a_worktree(&id("b"))), (Some(Renewal::Rebase), true));
        }
    }
}

/// A driver died while files were moved. The next one ends that before anything else, and nobody answers for the phase meanwhile; a
/// rewind drops it.
#[test]
fn what_was_begun_is_ended_first() {
    let mut story = story(PAIR);
    due(&mut story, "a");
    begin(&mut story, "a");
    story.stop(StopRequest::Interrupt);
    story.end("b", Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Interrupt)));
    for choice in [Choice::Retry, Choice::Adopt, Choice::Skip] {
        story.choose("a", choice).expect_err("its files are half in");
    }
    story.drive();
    assert_eq!((integrates(&story), story.at_work()), (vec!["a".to_owned()], Vec::new()));
    integrated(&mut story, "a");
    proven(&mut story, "a");
    assert_eq!(story.at_work(), ["b"]);
}

/// The project changes again and again in the very moment. It is brought together anew each time, and in the end a person is asked.
#[test]
fn a_project_that_never_rests() {
    let mut story = story(PAIR);
    due(&mut story, "a");
    for time in 1..=5 {
        begin(&mut story, "a");
        let called_off = WorktreeFact::CalledOff { reason: "edited".to_owned(), paths: vec!["x".to_owned()] };
        found(&mut story, "a", called_off);
        assert_eq!(story.status("a") == PhaseStatus::Waiting, time == 5, "{time}");
    }
}

/// Its checks fail, in the worktree or in the project, or its files cannot be brought there. It is a failure like any other; where its
/// files are in the project, the next attempt begins with the project as it is.
#[test]
fn checks_that_fail() {
    let plan = "onward: 1\nname: demo\nphases:\n  a:\n    agent: { prompt: x, worktree: own }\n    verify: t\n    \
                retry: { max: 2, when: [failed], backoff: { initial: 1s } }\n";
    let no = || {
        let check = CheckEnd { command: "t".to_owned(), code: Some(1), said: "no".to_owned() };
        Input::Probed { phase: id("a"), proof: Box::new(Proof { checks: vec![check], ..Proof::default() }) }
    };
    let yes = || {
        let check = CheckEnd { command: "t".to_owned(), code: Some(0), said: String::new() };
        Input::Probed { phase: id("a"), proof: Box::new(Proof { checks: vec![check], ..Proof::default() }) }
    };
    let mut story = story(plan);
    made(&mut story, "a");
    says_done(&mut story, "a");
    story.take(&no());
    story.later("a");
    assert!(!story.run.wants_a_worktree(&id("a")), "it goes on where it was");
    says_done(&mut story, "a");
    story.take(&yes());
    integrated(&mut story, "a");
    story.take(&no());
    story.later("a");
    assert_eq!(story.state("a").own.as_deref().and_then(|own| own.renewal), Some(Renewal::Fresh));
    made(&mut story, "a");
    says_done(&mut story, "a");
    story.take(&yes());
    story.take(&Input::Worktree { phase: id("a"), found: Err("conflict marks are left in x".to_owned()) });
    assert_eq!(story.status("a"), PhaseStatus::Failed);
    assert_eq!(story.state("a").error.as_ref().map(|error| error.code), Some(FailureCode::NotIntegrated));
}

/// A clean retry begins anew in the worktree and puts nothing back in the project; one in a new generation has another worktree.
#[test]
fn a_clean_retry_touches_nothing_in_the_project() {
    let mut story = story(PAIR);
    made(&mut story, "a");
    let failed = AgentEnded { how: AgentHow::Failed { message: "no".to_owned() }, ..AgentEnded::default() };
    story.end_as("a", AttemptEnd { agent: Some(Box::new(failed)), ..AttemptEnd::bare(Outcome::Exited { code: 1 }) });
    story.stop(StopRequest::Interrupt);
    story.end("b", Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
    let events = story.drive_with(&[("a", Choice::RetryClean)]);
    let clean = events.iter().find_map(|event| match event {
        Event::AttemptStarted { phase, clean, .. } if *phase == id("a") => Some(clean.clone()),
        _ => None,
    });
    assert_eq!(clean, Some(None));
    assert_eq!(story.state("a").own.as_deref().and_then(|own| own.renewal), Some(Renewal::Fresh));
}

fn edited(phases: &str) -> Resumption {
    let plan = common::plan(&format!("onward: 1\nname: demo\nphases:\n{phases}"));
    let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() };
    Resumption { revised: Some(Box::new(revised)), ..Resumption::default() }
}

/// The other kinds of work that a phase can become, and a plan without it.
const NO_AGENTS: [&str; 4] = [
    "  a: { approval: { message: ok? } }\n",
    "  a: { external: { instructions: x } }\n",
    "  a: { run: x }\n",
    "  c: { run: x }\n",
];

/// A driver died while files were moved, and the plan has no agent there any more. Whoever brings the edited plan along ends first what
/// was begun, and so does whoever undoes work, rewinds or archives. The files are in then, people are told, and what the agent claimed
/// is nobody's word: an approval is a person's.
#[test]
pub(crate) fn another_plan_waits_for_what_was_begun() {
    for phases in NO_AGENTS {
        let mut story = story(PAIR);
        due(&mut story, "a");
        begin(&mut story, "a");
        story.stop(StopRequest::Interrupt);
        story.end("b", Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
        let halfway = Err(Refusal::FilesOnTheirWay(id("a")));
        assert_eq!(story.try_drive_told(edited(phases)), halfway, "{phases}");
        let from = Resumption { from: Some(id("a")), ..Resumption::default() };
        assert_eq!(story.try_drive_told(from), halfway);
        for put_away in [Posted::Archive, Posted::Cancel] {
            assert_eq!(story.step(&Input::Posted(put_away)), halfway);
        }
        let begun = RewindBegun {
            to: CheckpointId::new("c"),
            before: CheckpointId::new("c"),
            files: None,
            state: true,
            undoes: false,
        };
        assert_eq!(story.step(&Input::Rewind(begun)), halfway);
        integrated(&mut story, "a");
        let plan = edited(phases).revised.expect("it is edited").plan;
        let told = resume::files_came_in(&story.run, Some(&plan));
        assert!(told.iter().all(|finding| finding.kind == FindingKind::FilesCameIn), "{told:?}");
        assert_eq!(told.len(), 1, "{phases}: people are told");
        let events = story.drive_told(edited(phases));
        let done = |event: &Event| matches!(event, Event::PhaseCompleted { phase, .. } if *phase == id("a"));
        assert!(!events.iter().any(done), "{phases}: nobody but the agent meant that: {events:?}");
        assert!(integrates(&story).is_empty(), "{phases}");
        assert!(!story.wanted().contains(&Effect::Probe { phase: id("a") }), "{phases}");
    }
}

/// A run is cancelled while files are moved: its driver ends that first, since nobody does after it.
#[test]
fn a_cancelled_run_leaves_nothing_halfway() {
    let mut story = story(PAIR);
    due(&mut story, "a");
    begin(&mut story, "a");
    story.take(&Input::Posted(Posted::Cancel));
    story.end("b", Outcome::Stopped { by: StopRequest::Cancel, said_done: false });
    assert_eq!((story.run.ending(), integrates(&story)), (None, vec!["a".to_owned()]));
    integrated(&mut story, "a");
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Cancel)));
}

/// The same with a worktree that is due and not begun: nothing of it comes in.
#[test]
fn what_is_due_does_not_come_in_for_another_plan() {
    for phases in NO_AGENTS {
        let mut story = story(PAIR);
        due(&mut story, "a");
        story.stop(StopRequest::Interrupt);
        story.end("b", Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
        let told = edited(phases);
        let plan = &told.revised.as_ref().expect("it is edited").plan;
        assert_eq!(resume::files_came_in(&story.run, Some(plan)), [], "{phases}");
        let events = story.drive_told(told);
        let done = |event: &Event| matches!(event, Event::PhaseCompleted { phase, .. } if *phase == id("a"));
        assert!(!events.iter().any(done), "{phases}: {events:?}");
        assert!(integrates(&story).is_empty(), "{phases}");
    }
}

/// A record of before that was the rule: the plan is another one, and files are halfway. That is ended all the same.
#[test]
fn what_an_older_record_left_halfway_is_ended() {
    let ends = [
        WorktreeFact::Integrated { result: "result".to_owned(), left_out: Vec::new(), seen: None },
        WorktreeFact::CalledOff { reason: "edited".to_owned(), paths: Vec::new() },
        WorktreeFact::Conflict(WorktreeConflict::default()),
    ];
    let ends = ends.into_iter().map(|fact| Ok(Box::new(fact))).chain([Err("git has no room".to_owned())]);
    for end in ends {
        let mut story = story(PAIR);
        due(&mut story, "a");
        begin(&mut story, "a");
        story.stop(StopRequest::Interrupt);
        story.end("b", Outcome::Stopped { by: StopRequest::Interrupt, said_done: false });
        let revised = edited(NO_AGENTS[0]).revised.expect("it is edited");
        story.put(Event::PlanRevised(revised));
        story.drive();
        assert_eq!(integrates(&story), ["a"]);
        story.take(&Input::Worktree { phase: id("a"), found: end.clone() });
        assert!(integrates(&story).is_empty(), "{end:?}");
        assert_ne!(story.status("a"), PhaseStatus::Completed, "{end:?}");
    }
}
