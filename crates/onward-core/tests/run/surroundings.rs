//! Requirements of phases, and the labels of the issue. Small stories in virtual time.

use onward_core::effect::Effect;
use onward_core::event::{Event, Outcome, StopReason, StopRequest};
use onward_core::evidence::{IssueSeen, ProbeSeen, RequirementSeen, WorldSeen};
use onward_core::id::PhaseId;
use onward_core::input::{Begin, Input, LabelsSet, Resumption};
use onward_core::resume::{FindingKind, world};
use onward_core::run::{Ending, PhaseStatus, RunStatus};

use crate::common;
use crate::story::Story;

fn met(name: &str) -> RequirementSeen {
    RequirementSeen { name: name.to_owned(), met: true, said: String::new() }
}

fn unmet(name: &str) -> RequirementSeen {
    RequirementSeen { met: false, said: "no such file".to_owned(), ..met(name) }
}

impl Story {
    fn requires(&mut self, phase: &str, seen: RequirementSeen) -> Vec<Event> {
        self.take(&Input::Required { phase: PhaseId::new(phase), seen: vec![seen] })
    }

    fn asks_what_it_requires(&self, phase: &str) -> bool {
        self.wanted().contains(&Effect::Require { phase: PhaseId::new(phase) })
    }

    fn prerequisites(&self) -> Vec<(&str, bool)> {
        self.run.sections().recovery.prerequisites.iter().map(|one| (one.name.as_str(), one.met)).collect()
    }
}

const PLAN: &str = "onward: 1
name: demo
phases:
  a: { run: x, requires: [{ run: gh auth status, message: Log in. }], retry: { max: 1, backoff: { initial: 1s } } }
  b: { run: x }
  c: { needs: a, run: x }
";

/// A phase requires a login. It does not start before somebody looked, and not while it is not there; what does not need it goes on.
/// Then the run stops without having failed, and the next driver looks again. Before a second attempt it is looked once more.
#[test]
fn a_phase_waits_for_what_it_requires() {
    let mut story = Story::of(common::plan(PLAN)).driven();
    assert_eq!(story.at_work(), ["b"]);
    assert!(story.asks_what_it_requires("a"));
    story.requires("a", unmet("Log in."));
    assert_eq!((story.status("a"), story.at_work()), (PhaseStatus::Pending, vec!["b"]));
    assert!(!story.asks_what_it_requires("a"), "nobody looks again and again");
    assert_eq!(story.prerequisites(), [("Log in.", false)]);
    assert!(story.run.told_warnings().iter().any(|line| line.contains("Log in.")), "{:?}", story.run.told_warnings());
    let events = story.done("b");
    assert!(events.contains(&Event::RunStopped { reason: StopReason::Requirement }), "{events:?}");
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Requirement)));
    assert_eq!(story.run.status(), RunStatus::Interrupted);
    assert!(story.run.is_unfinished());

    story.drive();
    assert!(story.asks_what_it_requires("a"));
    story.requires("a", met("Log in."));
    assert_eq!((story.at_work(), story.prerequisites()), (vec!["a"], vec![("Log in.", true)]));
    story.fail("a");
    story.after(jiff::SignedDuration::from_secs(5));
    assert!(story.at_work().is_empty() && story.asks_what_it_requires("a"));
    story.requires("a", met("Log in."));
    story.done("a");
    story.done("c");
    assert_eq!(story.run.ending(), Some(Ending::Completed));
}

/// Nobody is asked while there is no room to start, while the run stops, or when the phase is done already; an answer that comes then
/// changes nothing. An answer that leaves out something that is required is no yes.
#[test]
fn looks_that_are_not_wanted() {
    let mut story = Story::of(common::plan(&PLAN.replace("name: demo", "name: demo\nmax-parallel: 1"))).driven();
    assert_eq!(story.at_work(), ["b"]);
    assert!(!story.asks_what_it_requires("a"), "there is no room");
    story.done("b");
    assert!(story.asks_what_it_requires("a"));
    story.take(&Input::Required { phase: PhaseId::new("a"), seen: Vec::new() });
    assert_eq!(story.prerequisites(), [("Log in.", false)]);
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Requirement)));
    story.drive();
    story.stop(StopRequest::Interrupt);
    assert!(!story.asks_what_it_requires("a"));
    assert!(story.requires("b", met("Log in.")).is_empty());
}

/// The plan as a whole requires something: that it was there is in the checkpoint of the start, and what the plan does not require any
/// more is none of its prerequisites.
#[test]
fn what_the_plan_requires_is_on_record() {
    let text = PLAN.replace("name: demo", "name: demo\nrequires: [docker info]");
    let mut story = Story::of(common::plan(&text));
    story.drive_told(Resumption { requirements: vec![met("docker info")], ..Resumption::default() });
    story.requires("a", met("Log in."));
    assert_eq!(story.prerequisites(), [("docker info", true), ("Log in.", true)]);
}

const LABELLED: &str = "onward: 1
name: demo
issue: { number: 42, sync: labels, states: { building: a, testing: b, tested: b, released: d } }
phases:
  a: { run: x }
  b: { needs: a, run: x }
  c: { needs: b, run: x }
  d: { needs: c, external: { instructions: y } }
";

fn issue(labels: &[&str]) -> WorldSeen {
    let text = ProbeSeen { hash: Some("h".to_owned()), excerpt: String::new() };
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    WorldSeen { issue: Some(IssueSeen { text, labels, ..IssueSeen::default() }), ..WorldSeen::default() }
}

impl Story {
    fn to_label(&self) -> Vec<String> {
        let of =
            |effect: Effect| if let Effect::LabelIssue { phase } = effect { Some(phase.to_string()) } else { None };
        self.wanted().into_iter().filter_map(of).collect()
    }

    /// Sets the labels of a phase on an issue that has these, as the engine does.
    fn label(&mut self, phase: &str, present: &[&str]) -> LabelsSet {
        let present: Vec<String> = present.iter().map(|label| (*label).to_owned()).collect();
        let set = self.run.label_rule(&PhaseId::new(phase)).change(&present);
        self.take(&Input::IssueLabelled { phase: PhaseId::new(phase), set: Ok(set.clone()) });
        set
    }
}

/// Each phase that starts gives the issue its labels, in order and once; those of phases that are over go. A killed driver's label is
/// found and not set again, and is no change from outside. The run is not over before the issue knows.
#[test]
fn the_issue_follows_the_phases() {
    let mut story = Story::of(common::plan(LABELLED));
    let resumption = Resumption { world: Some(Box::new(issue(&["bug"]))), ..Resumption::default() };
    story.drive_told(resumption);
    assert_eq!(story.to_label(), ["a"]);
    // It was set, and the driver died.
    assert_eq!(world::findings(&story.run, &issue(&["bug", "building"])), []);
    story.drive();
    story.take(&Input::AttemptFound { phase: PhaseId::new("a"), attempt: onward_core::id::Attempt(1), alive: true });
    assert_eq!(story.to_label(), ["a"]);
    let set = story.label("a", &["bug", "building"]);
    assert_eq!((set.added.len(), set.removed.len()), (0, 0));
    assert_eq!(story.to_label(), Vec::<String>::new());
    assert_eq!(
        story.run.sections().issue.as_ref().map(|issue| issue.labels.join(",")).as_deref(),
        Some("bug,building")
    );
    let news = world::findings(&story.run, &issue(&["bug", "building", "urgent"]));
    assert_eq!(news.iter().map(|one| one.kind).collect::<Vec<_>>(), [FindingKind::WorldWarns]);

    story.done("a");
    let set = story.label("b", &["bug", "building"]);
    assert_eq!((set.added, set.removed), (vec!["tested".to_owned(), "testing".into()], vec!["building".to_owned()]));
    story.done("b");
    assert_eq!(story.to_label(), Vec::<String>::new(), "c has no label");
    story.done("c");
    story.report("d", onward_core::input::Says::Start).expect("it may begin");
    story.drive();
    assert_eq!(story.to_label(), ["d"], "whoever does it, it has started");
}

/// The provider does not answer. That is a warning; the phases go on, it is tried again with the next label, both are set in order, and
/// the run is complete all the same.
#[test]
fn nobody_answers_for_the_issue() {
    let text = LABELLED.replace("  d: { needs: c, external: { instructions: y } }\n", "");
    let mut story = Story::of(common::plan(&text.replace(", released: d", ""))).driven();
    story.take(&Input::IssueLabelled { phase: PhaseId::new("a"), set: Err("gh: no network".to_owned()) });
    assert_eq!(story.to_label(), Vec::<String>::new());
    assert!(story.run.told_warnings().iter().any(|line| line.contains("no network")));
    story.done("a");
    assert_eq!(story.to_label(), ["a"], "the next label is due, and the older one goes first");
    story.label("a", &[]);
    assert_eq!(story.to_label(), ["b"]);
    story.take(&Input::IssueLabelled { phase: PhaseId::new("b"), set: Err("gh: no network".to_owned()) });
    story.done("b");
    story.done("c");
    assert_eq!(story.run.ending(), Some(Ending::Completed));
}

/// Two labelled phases are at work side by side: the label of neither takes the other's away. One that only a person can be asked about
/// has its label when it is asked about, and a stop waits for no label.
#[test]
fn labels_of_phases_side_by_side() {
    let text = "onward: 1
name: demo
issue: { number: 42, sync: labels, states: { x: a, y: b, z: c } }
phases: { a: { run: x }, b: { run: x }, c: { needs: [a, b], approval: { message: ok } } }
";
    let mut story = Story::of(common::plan(text)).driven();
    story.label("a", &[]);
    assert_eq!(story.label("b", &["x"]).labels, ["x", "y"]);
    story.done("a");
    story.done("b");
    assert_eq!((story.run.ending(), story.to_label()), (None, vec!["c".to_owned()]));
    story.stop(StopRequest::Interrupt);
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Interrupt)));
    story.begin(Begin { renew: true, ..common::begin(0) }).expect("a person may");
    assert_eq!(story.label("c", &["x", "y"]).labels, ["z"]);
    assert_eq!(story.run.ending(), Some(Ending::Stopped(StopReason::Waiting)));
}

/// An attempt that is repeated sets no label again, and without `sync` nothing is set at all.
#[test]
fn no_label_twice() {
    let text = LABELLED.replace("a: { run: x }", "a: { run: x, retry: { max: 2, backoff: { initial: 1s } } }");
    let mut story = Story::of(common::plan(&text)).driven();
    story.label("a", &[]);
    story.end("a", Outcome::Exited { code: 3 });
    story.later("a");
    assert_eq!(story.to_label(), Vec::<String>::new());
    let story = Story::of(common::plan(&LABELLED.replace("sync: labels, ", ""))).driven();
    assert_eq!(story.to_label(), Vec::<String>::new());
}
