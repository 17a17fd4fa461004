//! Going back past what was done outside, and failures that are told twice. Small stories in virtual time.

use jiff::SignedDuration;
use onward_core::checkpoint::{self, Checkpoint, CheckpointHead, Trigger};
use onward_core::event::{Outcome, PlanRevised, RewindBegun, RunRewound};
use onward_core::id::{CheckpointId, PhaseId};
use onward_core::input::{Begin, Choice, Input, Resumption, Says};
use onward_core::plan;
use onward_core::run::{self, PhaseStatus};

use crate::common;
use crate::story::Story;

fn driven(phases: &str) -> Story {
    Story::of(common::plan(&format!("onward: 1\nname: demo\nphases:\n{phases}"))).driven()
}

impl Story {
    fn key(&self, phase: &str) -> String {
        self.run.attempt_key(&PhaseId::new(phase))
    }

    /// The run as a checkpoint would show it now.
    fn document(&self) -> Checkpoint {
        let head = CheckpointHead {
            id: CheckpointId::new("00000001"),
            seq: self.run.seq,
            triggers: vec![Trigger::Manual],
            phase: None,
            name: None,
            created_at: self.now,
            status: self.run.status(),
            can_resume: true,
            snapshot: None,
        };
        let whole = serde_json::to_vec(&checkpoint::whole(&self.run, head)).expect("plain data");
        checkpoint::assemble(&whole, &[]).expect("our own bytes")
    }

    fn rewind(&mut self, to: &Checkpoint) {
        let begun = RewindBegun { to: to.id.clone(), before: to.id.clone(), files: None, state: true, undoes: false };
        self.take(&Input::Rewind(begun));
        let restored = Some(run::vcs::back_to(&self.run, to));
        self.take(&Input::Rewound(Ok(Box::new(RunRewound { to: to.id.clone(), restored, result: None }))));
    }
}

const DONE: Outcome = Outcome::Exited { code: 0 };
const FAILED: Outcome = Outcome::Exited { code: 1 };

/// A release is made and the run goes back to before it. The release is out there: a person is asked, and the world outside knows
/// the next attempt by the same key. Work that only left files begins anew.
#[test]
fn a_rewind_past_an_outward_effect_keeps_its_key() {
    let plan = "  files: { run: x }\n  release: { needs: files, run: x, effects: external }\n  last: { needs: release, run: x }\n";
    let mut story = driven(plan);
    let begin = story.document();
    story.end("files", DONE);
    let (files, release) = (story.key("files"), story.key("release"));
    story.end("release", DONE);
    story.end("last", FAILED);
    story.rewind(&begin);
    assert!(story.state("release").in_doubt, "nobody can know");
    assert_eq!(story.key("release"), release, "the effect is known by its key");
    assert_ne!(story.key("files"), files);
    story.drive_with(&[("release", Choice::Retry)]);
    story.end("files", DONE);
    assert_eq!((story.state("release").status, story.state("release").attempts), (PhaseStatus::Running, 2));
    assert_eq!(story.key("release"), release, "no retry is a deliberate repetition");
    story.end("release", DONE);
    assert_eq!(story.state("release").status, PhaseStatus::Completed);
}

/// Nobody knows whether the release was made, and its phase gets another id, twice. The world outside knows the next attempt by the
/// same key; done anew on purpose it has another one, and a new phase under the old id never has that of another.
#[test]
fn a_key_goes_with_its_phase_to_another_id() {
    let text = |id: &str| format!("  files: {{ run: x }}\n  {id}: {{ needs: files, run: y, effects: external }}\n");
    let mut story = driven(&text("release"));
    story.end("files", DONE);
    let key = story.key("release");
    story.end("release", Outcome::Unknown);
    let renamed = |story: &mut Story, plan: &str, old: &str, new: &str, choices: Vec<(PhaseId, Choice)>| {
        let plan = common::plan(&format!("onward: 1\nname: demo\nphases:\n{plan}"));
        let renamed = vec![(PhaseId::new(old), PhaseId::new(new))];
        let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed };
        let resumption = Resumption { revised: Some(Box::new(revised)), ..Resumption::default() };
        story.begin(Begin { resumption, choices, ..common::begin(0) }).expect("a person may");
    };
    renamed(&mut story, &text("publish"), "release", "publish", Vec::new());
    let retry = vec![(PhaseId::new("send"), Choice::Retry)];
    renamed(&mut story, &format!("{}  release: {{ run: y }}\n", text("send")), "publish", "send", retry);
    assert_eq!((story.state("send").status, story.key("send")), (PhaseStatus::Running, key.clone()));
    let other = story.key("release");
    story.end("send", DONE);
    story.drive_with(&[("send", Choice::Retry)]);
    let anew = story.key("send");
    assert!(anew != key && other != key && anew != other, "{key}, {other}, {anew}");
}

/// A release was done, is done anew with another command, and nobody knows how that ended. Under another name the phase of the edited plan
/// is the one that nobody knows of: by the command that was at work, not by the one that was done before.
#[test]
fn a_doubt_is_known_by_the_work_that_was_begun() {
    let text = |id: &str, run: &str| {
        common::plan(&format!("onward: 1\nname: demo\nphases:\n  {id}: {{ run: {run}, effects: external }}\n"))
    };
    let mut story = driven("  release: { run: x, effects: external }\n");
    story.end("release", DONE);
    let plan = text("release", "y");
    let revised = PlanRevised { plan_digest: plan::digest(&plan), plan, plan_text: String::new(), renamed: Vec::new() };
    let resumption = Resumption { revised: Some(Box::new(revised)), ..Resumption::default() };
    let choices = vec![(PhaseId::new("release"), Choice::Retry)];
    story.begin(Begin { resumption, choices, ..common::begin(0) }).expect("a person may");
    story.end("release", Outcome::Unknown);
    assert!(story.state("release").in_doubt);
    let pair = (PhaseId::new("release"), PhaseId::new("publish"));
    assert_eq!(onward_core::resume::stale::renamed(&story.run, &text("publish", "y")), [pair]);
    assert_eq!(onward_core::resume::stale::renamed(&story.run, &text("publish", "z")), []);
}

/// Nobody knows whether the release was made, and the run goes back to before it. Nobody knows it there either.
#[test]
fn a_rewind_settles_no_doubt() {
    let mut story = driven("  files: { run: x }\n  release: { needs: files, run: x, effects: external }\n");
    let begin = story.document();
    story.end("files", DONE);
    story.end("release", Outcome::Unknown);
    assert!(story.state("release").in_doubt);
    story.rewind(&begin);
    assert!(story.state("release").in_doubt, "{:?}", story.state("release"));
}

/// A run is branched off from before a release. What the first run has done outside since, is doing, or may have done, the new one
/// does not do unasked; what failed openly, or is not done at all, is nobody's question.
#[test]
fn a_fork_knows_what_the_other_run_did_outside() {
    let cases = [(Some(DONE), true), (Some(Outcome::Unknown), true), (None, true), (Some(FAILED), false)];
    for (end, asked) in cases {
        let plan = "  files: { run: x }\n  release: { needs: files, run: x, effects: external }\n  last: { needs: release, run: x, effects: external }\n";
        let mut story = driven(plan);
        let begin = story.document();
        story.end("files", DONE);
        if let Some(end) = end.clone() {
            story.end("release", end);
        }
        let (new, _) = run::start((*story.run.started).clone(), "ada", story.now);
        let restored = run::vcs::branched_off(&new, &story.run, &begin);
        let doubts: Vec<&str> =
            restored.phases.iter().filter(|back| back.in_doubt).map(|back| back.phase.as_str()).collect();
        let last = matches!(end, Some(DONE)).then_some("last");
        let wanted: Vec<&str> = asked.then_some("release").into_iter().chain(last).collect();
        assert_eq!(doubts, wanted, "{end:?}: {restored:?}");
    }
}

/// Whoever does a phase says that it failed, does not hear the answer, and says it again while the retry is still to come. It
/// failed once. When the time of the retry has come, another failure counts.
#[test]
fn a_failure_that_is_told_twice_counts_once() {
    let mut story =
        driven("  a: { external: { instructions: do it }, retry: { max: 2, backoff: { initial: 10m, max: 10m } } }\n");
    let fail = |reason: &str| Says::Fail { reason: reason.to_owned() };
    story.report("a", Says::Start).expect("it is heard");
    story.report("a", fail("no luck")).expect("it is heard");
    assert_eq!((story.state("a").failures, story.state("a").attempts), (1, 1));
    assert_eq!(story.report("a", fail("no luck")), Ok(Vec::new()));
    assert_eq!(story.report("a", fail("no luck at all")), Ok(Vec::new()));
    assert_eq!((story.state("a").failures, story.state("a").attempts), (1, 1));
    story.now += SignedDuration::from_mins(20);
    story.report("a", fail("no luck")).expect("it is heard");
    assert_eq!((story.state("a").failures, story.state("a").attempts), (2, 2));
    story.report("a", Says::Start).expect("it is heard");
    story.report("a", fail("no luck")).expect("it is heard");
    assert_eq!(story.state("a").status, PhaseStatus::Failed, "both retries are used up");
}
