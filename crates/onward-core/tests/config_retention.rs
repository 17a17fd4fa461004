//! Retention: what it deletes and what it never touches. One small store per rule, then many at random.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use onward_core::checkpoint::Trigger;
use onward_core::config::Config;
use onward_core::id::{Attempt, CheckpointId, PhaseId, RunId, Seq};
use onward_core::retention::{
    CheckpointFacts, KeepAge, KeepCount, LOGS_KEPT, LogFacts, Moment, Policy, PruneConsent, PruneItem, PruneLine,
    PrunePlan, RunAges, RunFacts, RunRetention, plan as plan_at,
};
use onward_core::run::RunStatus;
use proptest::prelude::*;

const DAY: i64 = 24 * 60 * 60;

fn now() -> Timestamp {
    Timestamp::from_second(1_760_000_000).expect("a time of this century")
}

fn days_ago(days: i64) -> Timestamp {
    now() - SignedDuration::from_secs(days * DAY)
}

fn plan_of(policy: &Policy, runs: &[RunFacts], now: Timestamp) -> PrunePlan {
    plan_at(policy, runs, &Moment::from(now))
}

/// A checkpoint that is older than those with a higher number; the last one of a run can be resumed from.
fn checkpoint(number: u64, triggers: &[Trigger], phase: &str) -> CheckpointFacts {
    CheckpointFacts {
        id: CheckpointId::new(format!("CP-{number}")),
        seq: Seq(number),
        number,
        created_at: Some(now()),
        triggers: triggers.to_vec(),
        phase: (!phase.is_empty()).then(|| PhaseId::new(phase)),
        batch: None,
        name: None,
        can_resume: false,
        bytes: 10,
        readable: true,
    }
}

fn manual(number: u64, phase: &str) -> CheckpointFacts {
    checkpoint(number, &[Trigger::Manual], phase)
}

fn run(id: &str, status: RunStatus, days: i64) -> RunFacts {
    RunFacts {
        id: RunId::new(id),
        kind: "implement".to_owned(),
        project: "app".to_owned(),
        status,
        updated_at: days_ago(days),
        arrived_at: None,
        keep: RunRetention::default(),
        unfinished: matches!(status, RunStatus::Running | RunStatus::Interrupted | RunStatus::Failed),
        unreadable: None,
        forked_to: None,
        checkpoints: Vec::new(),
        logs: Vec::new(),
    }
}

/// A run of today, so that only counts decide.
fn today(mut checkpoints: Vec<CheckpointFacts>) -> RunFacts {
    checkpoints.reverse();
    RunFacts { checkpoints, ..run("r", RunStatus::Interrupted, 0) }
}

fn unlimited() -> Policy {
    Policy { keep: BTreeMap::new(), runs: RunAges::default(), bytes_max: None, logs: LOGS_KEPT, older_than: None }
}

fn keeping(keep: &[(Trigger, KeepCount)]) -> Policy {
    Policy { keep: keep.iter().copied().collect(), ..unlimited() }
}

fn deleted(policy: &Policy, runs: &[RunFacts]) -> Vec<String> {
    let mut ids: Vec<String> = plan_of(policy, runs, now()).delete.into_iter().map(|line| line.id).collect();
    ids.sort();
    ids
}

#[track_caller]
fn line(plan: &PrunePlan, id: &str) -> PruneLine {
    plan.delete
        .iter()
        .chain(&plan.keep)
        .find(|line| line.id == id)
        .cloned()
        .unwrap_or_else(|| panic!("no line for {id}"))
}

// ---- counts ----

/// Four manual checkpoints were taken in each of two phases, and only the last can be resumed from. "All" once deleted the
/// oldest each time, and "none" deleted none.
#[test]
fn keep_all_keep_none_keep_some() {
    let mut checkpoints: Vec<_> = (1..=4).map(|n| manual(n, "a")).chain((5..=8).map(|n| manual(n, "b"))).collect();
    checkpoints[7].can_resume = true;
    let runs = [today(checkpoints)];
    let cases: [(KeepCount, &[u64]); 6] = [
        (KeepCount::All, &[]),
        (KeepCount::Newest(0), &[1, 2, 3, 4, 5, 6, 7]),
        (KeepCount::Newest(1), &[1, 2, 3, 5, 6, 7]),
        (KeepCount::Newest(2), &[1, 2, 5, 6]),
        (KeepCount::Newest(4), &[]),
        (KeepCount::Newest(9), &[]),
    ];
    for (keep, gone) in cases {
        let expected: Vec<String> = gone.iter().map(|n| format!("CP-{n}")).collect();
        assert_eq!(deleted(&keeping(&[(Trigger::Manual, keep)]), &runs), expected, "{keep:?}");
    }
}

/// The word in the file is -1, and a hundred checkpoints are there: none of them goes.
#[test]
fn minus_one_in_the_configuration_deletes_nothing() {
    let runs = [today((1..=100).map(|n| manual(n, "a")).collect())];
    assert_eq!(deleted(&Config::default().retention(), &runs), Vec::<String>::new());
}

#[test]
fn some_triggers_are_counted_per_phase_and_some_per_run() {
    for trigger in Trigger::ALL {
        let runs = [today(vec![checkpoint(1, &[trigger], "a"), checkpoint(2, &[trigger], "b")])];
        let gone = deleted(&keeping(&[(trigger, KeepCount::Newest(1))]), &runs);
        let per_run = matches!(trigger, Trigger::RunStart | Trigger::UserInterrupt | Trigger::SessionEnd);
        assert_eq!(gone, if per_run { vec!["CP-1"] } else { Vec::new() }, "{trigger:?}");
    }
}

#[test]
fn runs_are_counted_apart() {
    let two = ["r1", "r2"].map(|id| {
        let checkpoints = vec![CheckpointFacts { id: CheckpointId::new(id.replace('r', "CP-")), ..manual(1, "a") }];
        RunFacts { id: RunId::new(id), checkpoints, ..today(Vec::new()) }
    });
    assert_eq!(deleted(&keeping(&[(Trigger::Manual, KeepCount::Newest(1))]), &two), Vec::<String>::new());
}

#[test]
fn a_checkpoint_with_several_triggers_stays_for_the_longest() {
    let both = [Trigger::PhaseTransition, Trigger::BatchComplete];
    let runs = [today(vec![checkpoint(1, &both, "a"), checkpoint(2, &[Trigger::BatchComplete], "a"), manual(3, "a")])];
    let gone = |transitions, batches| {
        deleted(&keeping(&[(Trigger::PhaseTransition, transitions), (Trigger::BatchComplete, batches)]), &runs)
    };
    assert_eq!(gone(KeepCount::All, KeepCount::Newest(0)), ["CP-2"]);
    assert_eq!(gone(KeepCount::Newest(0), KeepCount::All), Vec::<String>::new());
    assert_eq!(gone(KeepCount::Newest(1), KeepCount::Newest(1)), Vec::<String>::new());
    assert_eq!(gone(KeepCount::Newest(0), KeepCount::Newest(1)), ["CP-1"]);
    assert_eq!(gone(KeepCount::Newest(0), KeepCount::Newest(0)), ["CP-1", "CP-2"]);
}

#[test]
fn what_nobody_decided_about_stays() {
    let runs = [today(vec![manual(1, "a"), checkpoint(2, &[], "a")])];
    assert_eq!(deleted(&keeping(&[]), &runs), Vec::<String>::new());
    assert_eq!(deleted(&keeping(&[(Trigger::Manual, KeepCount::Newest(0))]), &runs), ["CP-1"]);
}

/// The order in which the facts come does not matter: the position in the journal tells which is newer.
#[test]
fn newer_is_told_by_the_position_in_the_journal() {
    let runs = [RunFacts { checkpoints: vec![manual(1, "a"), manual(3, "a"), manual(2, "a")], ..today(Vec::new()) }];
    assert_eq!(deleted(&keeping(&[(Trigger::Manual, KeepCount::Newest(1))]), &runs), ["CP-1", "CP-2"]);
}

/// A wave was done three times, and another phase ended it each time. Its checkpoints are counted together, apart from those of
/// another wave.
#[test]
fn batches_are_counted_by_the_wave() {
    let of = |number, phase: &str, batch| CheckpointFacts {
        batch: Some(batch),
        ..checkpoint(number, &[Trigger::BatchComplete], phase)
    };
    let runs = [today(vec![of(1, "a", 1), of(2, "b", 1), of(3, "c", 2), of(4, "a", 1)])];
    assert_eq!(deleted(&keeping(&[(Trigger::BatchComplete, KeepCount::Newest(2))]), &runs), ["CP-1"]);
    assert_eq!(deleted(&keeping(&[(Trigger::BatchComplete, KeepCount::Newest(1))]), &runs), ["CP-1", "CP-2"]);
}

// ---- size ----

/// Five checkpoints of ten bytes in two runs, and room for thirty. The two oldest go, whichever run they are of; what has a name and
/// what is the newest to resume from stays, even if that is too much.
#[test]
fn the_oldest_go_above_the_limit_of_size() {
    let mut one = today((1..=3).map(|n| manual(n, "a")).collect());
    one.checkpoints[0].can_resume = true;
    let mut two = RunFacts { id: RunId::new("r2"), ..today((4..=5).map(|n| manual(n, "a")).collect()) };
    two.checkpoints[1].name = Some("kept".to_owned());
    let limited = |bytes| Policy { bytes_max: Some(bytes), ..keeping(&[]) };
    let runs = [one, two];
    assert_eq!(deleted(&limited(50), &runs), Vec::<String>::new());
    assert_eq!(deleted(&limited(30), &runs), ["CP-1", "CP-2"]);
    assert_eq!(deleted(&limited(0), &runs), ["CP-1", "CP-2", "CP-5"]);
    let plan = plan_of(&limited(30), &runs, now());
    assert!(plan.standing().next().is_none(), "the limit of size is for an explicit prune");
}

/// Somebody limits a prune to what is older than ten days: neither a count nor a limit of size takes anything younger, and runs
/// of that age go whatever they are.
#[test]
fn a_prune_of_what_is_older() {
    let aged = |number, days| CheckpointFacts { created_at: Some(days_ago(days)), ..manual(number, "a") };
    let runs = [
        today(vec![aged(1, 20), aged(2, 9), aged(3, 1)]),
        RunFacts { project: "other".to_owned(), ..run("failed-9", RunStatus::Failed, 9) },
        run("failed-11", RunStatus::Failed, 11),
    ];
    let policy = Policy { bytes_max: Some(0), ..keeping(&NOTHING) }.only_older_than(Duration::from_hours(10 * 24));
    assert_eq!(deleted(&policy, &runs), ["CP-1", "failed-11"]);
    let doubted = Moment { now: now(), doubt: Some("the clock was set".to_owned()) };
    assert!(plan_at(&policy, &runs, &doubted).delete.is_empty(), "no age can be told");
}

/// Outputs of three attempts, long ended: those that another came after go.
#[test]
fn the_last_output_of_a_phase_stays() {
    let log = |number, is_last| LogFacts {
        phase: PhaseId::new("build"),
        attempt: Attempt(number),
        ended_at: days_ago(31),
        bytes: 5,
        is_last,
    };
    let with = |status| RunFacts { logs: vec![log(1, false), log(2, true)], ..run("r", status, 1) };
    assert_eq!(deleted(&keeping(&[]), &[with(RunStatus::Interrupted)]), ["r/build/1"]);
    assert_eq!(deleted(&keeping(&[]), &[with(RunStatus::Running)]), Vec::<String>::new());
}

// ---- what a plan says ----

fn days(count: u64) -> KeepAge {
    KeepAge::For(Duration::from_hours(24 * count))
}

/// Runs of plans that say how long they are kept. That goes before the usual ages, but not before the word of whoever prunes; an
/// archived run goes no sooner than any of them says.
#[test]
fn a_plan_says_how_long_its_runs_are_kept() {
    let kept = |status, age, succeeded, failed| {
        let keep = RunRetention { succeeded, failed, ..RunRetention::default() };
        RunFacts { keep, unfinished: false, ..run("r", status, age) }
    };
    let goes = |run: &RunFacts| !deleted(&keeping(&[]), std::slice::from_ref(run)).is_empty();
    let forever = Some(KeepAge::Forever);
    let cases = [
        (kept(RunStatus::Completed, 8, Some(days(7)), None), true),
        (kept(RunStatus::Completed, 6, Some(days(7)), None), false),
        (kept(RunStatus::Completed, 89, Some(days(90)), None), false),
        (kept(RunStatus::Completed, 999, forever, None), false),
        (kept(RunStatus::Failed, 8, Some(days(7)), None), false),
        (kept(RunStatus::Failed, 8, None, Some(days(7))), true),
        (kept(RunStatus::Archived, 8, Some(days(7)), Some(days(7))), false),
        (kept(RunStatus::Archived, 31, Some(days(7)), Some(days(7))), true),
        (kept(RunStatus::Archived, 31, Some(days(7)), Some(days(90))), false),
        (kept(RunStatus::Interrupted, 8, forever, forever), true),
    ];
    for (run, expected) in &cases {
        assert_eq!(goes(run), *expected, "{run:?}");
    }
    let policy = keeping(&[]).only_older_than(Duration::from_hours(10 * 24));
    assert_eq!(deleted(&policy, &[kept(RunStatus::Completed, 11, forever, None)]), ["r"]);
}

/// A run that was over long ago was imported a week ago. Whoever prunes may delete it; by itself it stays as long as one that ended
/// on that day.
#[test]
fn old_work_that_has_just_arrived_does_not_go_by_itself() {
    for status in [RunStatus::Completed, RunStatus::Archived] {
        let arrived = |days| RunFacts { arrived_at: Some(days_ago(days)), ..run("r", status, 400) };
        let plan = plan_of(&keeping(&[]), &[arrived(7)], now());
        assert_eq!(line(&plan, "r").consent, Some(PruneConsent::Asked), "{plan:?}");
        assert!(line(&plan, "r").reason.contains("imported 7 d ago"), "{plan:?}");
        let plan = plan_of(&keeping(&[]), &[arrived(31)], now());
        assert_eq!(line(&plan, "r").consent, Some(PruneConsent::Standing), "{plan:?}");
    }
}

// ---- what is never deleted ----

/// A run is long over, and an unfinished one was forked from it; of another nothing can be read. Both stay with all they have.
#[test]
fn what_a_fork_needs_and_what_cannot_be_read_stays() {
    let old = || RunFacts { checkpoints: vec![manual(1, "a")], ..run("old", RunStatus::Completed, 99) };
    let forked = RunFacts { forked_to: Some(RunId::new("fork")), ..old() };
    assert_eq!(deleted(&keeping(&[]), &[forked]), Vec::<String>::new());
    let unreadable = RunFacts { unreadable: Some("damaged".to_owned()), ..old() };
    let policy = Policy { bytes_max: Some(0), ..keeping(&NOTHING) };
    assert_eq!(deleted(&policy, &[unreadable]), Vec::<String>::new());
}

const NOTHING: [(Trigger, KeepCount); 6] = [
    (Trigger::RunStart, KeepCount::Newest(0)),
    (Trigger::PhaseTransition, KeepCount::Newest(0)),
    (Trigger::BatchComplete, KeepCount::Newest(0)),
    (Trigger::UserInterrupt, KeepCount::Newest(0)),
    (Trigger::SessionEnd, KeepCount::Newest(0)),
    (Trigger::Manual, KeepCount::Newest(0)),
];

#[test]
fn named_ones_stay_and_take_no_place() {
    let named = CheckpointFacts { name: Some("before-the-rewrite".to_owned()), ..manual(3, "a") };
    let runs = [today(vec![manual(1, "a"), manual(2, "a"), named])];
    assert_eq!(deleted(&keeping(&NOTHING), &runs), ["CP-1", "CP-2"]);
    assert_eq!(deleted(&keeping(&[(Trigger::Manual, KeepCount::Newest(1))]), &runs), ["CP-1"]);
    assert!(line(&plan_of(&keeping(&NOTHING), &runs, now()), "CP-3").reason.contains("before-the-rewrite"));
}

#[test]
fn what_cannot_be_read_stays_and_takes_no_place() {
    let damaged = CheckpointFacts { readable: false, can_resume: true, ..manual(3, "a") };
    let resumable = CheckpointFacts { can_resume: true, ..manual(2, "a") };
    let runs = [today(vec![manual(1, "a"), resumable, damaged])];
    assert_eq!(
        deleted(&keeping(&NOTHING), &runs),
        ["CP-1"],
        "the newest that can be resumed from is one that can be read"
    );
}

#[test]
fn the_newest_one_to_resume_from_stays() {
    let mut checkpoints: Vec<_> = (1..=4).map(|n| manual(n, "a")).collect();
    checkpoints[0].can_resume = true;
    checkpoints[1].can_resume = true;
    let plan = plan_of(&keeping(&NOTHING), &[today(checkpoints)], now());
    assert_eq!(plan.delete.iter().map(|line| line.id.as_str()).collect::<Vec<_>>(), ["CP-4", "CP-3", "CP-1"]);
    assert!(line(&plan, "CP-2").reason.contains("can go on"));
}

/// Nothing is to be kept, and the only unfinished run has not moved for a year. It stays, and so does its checkpoint.
#[test]
fn the_newest_unfinished_run_stays_however_old() {
    let only = CheckpointFacts { can_resume: true, ..manual(1, "a") };
    let old = RunFacts { checkpoints: vec![only], ..run("r", RunStatus::Interrupted, 365) };
    assert_eq!(deleted(&keeping(&NOTHING), std::slice::from_ref(&old)), Vec::<String>::new());
    let failed = RunFacts { status: RunStatus::Failed, ..old };
    assert_eq!(deleted(&keeping(&NOTHING), &[failed]), Vec::<String>::new());
}

#[test]
fn a_run_at_work_stays() {
    let runs = [run("driven", RunStatus::Running, 100), run("newer", RunStatus::Interrupted, 1)];
    assert_eq!(deleted(&keeping(&NOTHING), &runs), Vec::<String>::new());
}

#[test]
fn a_run_stays_for_what_it_holds() {
    let named = CheckpointFacts { name: Some("demo".to_owned()), ..manual(1, "a") };
    let damaged = CheckpointFacts { readable: false, ..manual(2, "a") };
    for checkpoint in [named, damaged] {
        let old = RunFacts { checkpoints: vec![checkpoint, manual(9, "a")], ..run("r", RunStatus::Completed, 99) };
        assert_eq!(deleted(&keeping(&NOTHING), std::slice::from_ref(&old)), ["CP-9"], "{old:?}");
    }
}

// ---- age ----

/// Runs of different age and fate lie in the store; only those past their time go, and not the newest that can go on.
#[test]
fn runs_go_by_age() {
    let mut runs = vec![
        run("unfinished-9", RunStatus::Interrupted, 9),
        run("unfinished-8", RunStatus::Interrupted, 8),
        run("failed-31", RunStatus::Failed, 31),
        run("failed-29", RunStatus::Failed, 29),
        run("completed-30", RunStatus::Completed, 30),
        run("completed-29", RunStatus::Completed, 29),
        run("archived-31", RunStatus::Archived, 31),
        run("archived-8", RunStatus::Archived, 8),
    ];
    let policy = Config::default().retention();
    assert_eq!(deleted(&policy, &runs), ["archived-31", "completed-30", "failed-31", "unfinished-9"]);
    runs.push(run("unfinished-6", RunStatus::Interrupted, 6));
    assert_eq!(deleted(&policy, &runs), ["archived-31", "completed-30", "failed-31", "unfinished-8", "unfinished-9"]);
    let shorter = Policy { runs: RunAges { unfinished: Duration::ZERO, ended: Duration::ZERO }, ..policy };
    assert_eq!(deleted(&shorter, &runs).len(), runs.len() - 1);
}

#[test]
fn every_type_and_project_has_its_own_newest() {
    let old = run("r1", RunStatus::Interrupted, 99);
    let other_project = RunFacts { project: "site".to_owned(), ..run("r2", RunStatus::Interrupted, 98) };
    let other_type = RunFacts { kind: "review".to_owned(), ..run("r3", RunStatus::Interrupted, 97) };
    let newer = run("r4", RunStatus::Interrupted, 96);
    assert_eq!(deleted(&keeping(&[]), &[old, other_project, other_type, newer]), ["r1"]);
}

/// Two runs changed in the same instant: one of them, always the same one, is the newest.
#[test]
fn a_tie_is_broken_by_the_id() {
    let mut runs = [run("r1", RunStatus::Interrupted, 9), run("r2", RunStatus::Interrupted, 9)];
    assert_eq!(deleted(&keeping(&[]), &runs), ["r1"]);
    runs.reverse();
    assert_eq!(deleted(&keeping(&[]), &runs), ["r1"]);
}

/// The clock of the machine went back: what seems young or old is not known. Counts still hold.
#[test]
fn a_clock_that_went_back_deletes_nothing_by_age() {
    let old = RunFacts { checkpoints: vec![manual(1, "a")], ..run("old", RunStatus::Completed, 99) };
    let ahead = |seconds: i64| RunFacts {
        updated_at: now() + SignedDuration::from_secs(seconds),
        ..run("ahead", RunStatus::Completed, 0)
    };
    let policy = keeping(&[(Trigger::Manual, KeepCount::All)]);
    assert_eq!(deleted(&policy, &[old.clone(), ahead(DAY)]), ["CP-1", "old"]);
    let runs = [old, ahead(DAY + 1)];
    assert_eq!(deleted(&policy, &runs), Vec::<String>::new());
    assert!(line(&plan_of(&policy, &runs, now()), "old").reason.contains("clock"));
    assert_eq!(deleted(&keeping(&NOTHING), &runs), ["CP-1"]);
}

/// A run that goes is listed once, and each of its checkpoints too; the bytes are those of the checkpoints.
#[test]
fn checkpoints_go_with_their_run() {
    let gone = RunFacts { checkpoints: vec![manual(2, "a"), manual(1, "a")], ..run("old", RunStatus::Completed, 31) };
    let plan = plan_of(&Config::default().retention(), &[gone], now());
    let lines: Vec<(&str, PruneItem)> = plan.delete.iter().map(|line| (line.id.as_str(), line.item)).collect();
    assert_eq!(lines, [("old", PruneItem::Run), ("CP-2", PruneItem::Checkpoint), ("CP-1", PruneItem::Checkpoint)]);
    assert!(plan.delete[1].reason.contains("its run old goes"));
    assert_eq!((plan.bytes_freed(), plan.keep.len()), (20, 0));
}

/// By itself onward deletes checkpoints by count, and completed or archived runs; all else waits for a person's order.
#[test]
fn housekeeping_leaves_what_somebody_could_go_on_with() {
    let mut runs = vec![
        run("unfinished", RunStatus::Interrupted, 90),
        run("failed", RunStatus::Failed, 90),
        run("completed", RunStatus::Completed, 90),
        run("archived", RunStatus::Archived, 90),
        today(vec![manual(1, "a"), manual(2, "a")]),
    ];
    runs[0].checkpoints.push(manual(7, "a"));
    let plan = plan_of(&keeping(&[(Trigger::Manual, KeepCount::Newest(1))]), &runs, now());
    assert_eq!(plan.standing().map(|line| line.id.as_str()).collect::<Vec<_>>(), ["completed", "archived", "CP-1"]);
    let asked = plan.delete.iter().filter(|line| line.consent == Some(PruneConsent::Asked));
    assert_eq!(asked.map(|line| line.id.as_str()).collect::<Vec<_>>(), ["unfinished", "CP-7", "failed"]);
}

#[test]
fn a_line_as_scripts_see_it() {
    let runs = [today(vec![manual(1, "a"), manual(2, "a"), manual(3, "a")])];
    let plan = plan_of(&keeping(&[(Trigger::Manual, KeepCount::Newest(2))]), &runs, now());
    let told = |id: &str| serde_json::to_value(line(&plan, id)).expect("a line can be written");
    assert_eq!(
        told("CP-1"),
        serde_json::json!({
            "id": "CP-1", "item": "checkpoint", "run": "r", "bytes": 10, "consent": "standing",
            "reason": "manual: the newest 2 of phase a stay, and this one is older",
        })
    );
    assert_eq!(
        told("CP-2"),
        serde_json::json!({
            "id": "CP-2", "item": "checkpoint", "run": "r", "bytes": 10, "reason": "manual: among the newest 2 of phase a",
        })
    );
}

// ---- many stores at random ----

fn a_checkpoint() -> impl Strategy<Value = CheckpointFacts> {
    let triggers = proptest::sample::subsequence(Trigger::ALL.to_vec(), 0..=3);
    let phase = prop_oneof![Just(""), Just("a"), Just("b")];
    let rarely = || proptest::bool::weighted(0.1);
    (triggers, phase, rarely(), any::<bool>(), rarely()).prop_map(|(triggers, phase, named, can_resume, damaged)| {
        let name = named.then(|| "kept".to_owned());
        CheckpointFacts { name, can_resume, readable: !damaged, ..checkpoint(0, &triggers, phase) }
    })
}

fn a_run() -> impl Strategy<Value = RunFacts> {
    let status = prop_oneof![
        Just(RunStatus::Running),
        Just(RunStatus::Interrupted),
        Just(RunStatus::Failed),
        Just(RunStatus::Completed),
        Just(RunStatus::Archived),
    ];
    let checkpoints = proptest::collection::vec(a_checkpoint(), 0..8);
    (status, -3_i64..60, prop_oneof![Just("app"), Just("site")], checkpoints).prop_map(
        |(status, days, project, checkpoints)| RunFacts {
            project: project.to_owned(),
            checkpoints,
            ..run("", status, days)
        },
    )
}

/// Ids are unique in a store.
fn a_store() -> impl Strategy<Value = Vec<RunFacts>> {
    proptest::collection::vec(a_run(), 0..6).prop_map(|mut runs| {
        for (at, run) in runs.iter_mut().enumerate() {
            run.id = RunId::new(format!("r{at}"));
            for (seq, checkpoint) in (1..).zip(run.checkpoints.iter_mut().rev()) {
                checkpoint.id = CheckpointId::new(format!("CP-{at}-{seq}"));
                checkpoint.seq = Seq(seq);
            }
        }
        runs
    })
}

fn a_count() -> impl Strategy<Value = KeepCount> {
    prop_oneof![Just(KeepCount::All), (0_u32..4).prop_map(KeepCount::Newest)]
}

fn a_policy() -> impl Strategy<Value = Policy> {
    proptest::collection::vec(a_count(), Trigger::ALL.len()).prop_map(|keep| {
        let keep: BTreeMap<Trigger, KeepCount> = Trigger::ALL.into_iter().zip(keep).collect();
        Policy { keep, ..unlimited() }
    })
}

/// The store after the plan was carried out.
fn carried_out(plan: &PrunePlan, mut runs: Vec<RunFacts>) -> Vec<RunFacts> {
    let gone: BTreeSet<&str> = plan.delete.iter().map(|line| line.id.as_str()).collect();
    runs.retain(|run| !gone.contains(run.id.as_str()));
    for run in &mut runs {
        run.checkpoints.retain(|checkpoint| !gone.contains(checkpoint.id.as_str()));
    }
    runs
}

proptest! {
    #[test]
    fn what_must_stay_stays(policy in a_policy(), runs in a_store()) {
        let plan = plan_of(&policy, &runs, now());
        let gone: BTreeSet<&str> = plan.delete.iter().map(|line| line.id.as_str()).collect();
        for run in &runs {
            let run_goes = gone.contains(run.id.as_str());
            prop_assert!(!(run_goes && run.status == RunStatus::Running));
            for checkpoint in &run.checkpoints {
                let goes = gone.contains(checkpoint.id.as_str());
                prop_assert!(!(goes && checkpoint.name.is_some()), "{} is pinned", checkpoint.id);
                prop_assert!(!goes || checkpoint.readable, "{} cannot be read", checkpoint.id);
                prop_assert!(goes || !run_goes, "{} would be left without its run", checkpoint.id);
            }
            let newest = run.checkpoints.iter().filter(|c| c.readable && c.can_resume).max_by_key(|c| c.seq);
            let lost = newest.is_some_and(|newest| gone.contains(newest.id.as_str()));
            prop_assert!(!lost || run_goes, "the newest one to resume {} from", run.id);
        }
        for project in ["app", "site"] {
            let unfinished = runs.iter().filter(|run| run.unfinished && run.project == project);
            let newest = unfinished.max_by_key(|run| (run.updated_at, run.id.clone()));
            prop_assert!(newest.is_none_or(|run| !gone.contains(run.id.as_str())), "the newest unfinished run of {project}");
        }
    }

    #[test]
    fn everything_is_listed_once_with_a_reason(policy in a_policy(), runs in a_store()) {
        let plan = plan_of(&policy, &runs, now());
        let mut listed: Vec<&str> = plan.delete.iter().chain(&plan.keep).map(|line| line.id.as_str()).collect();
        let mut there: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
        there.extend(runs.iter().flat_map(|run| &run.checkpoints).map(|checkpoint| checkpoint.id.as_str()));
        listed.sort_unstable();
        there.sort_unstable();
        prop_assert_eq!(listed, there);
        prop_assert!(plan.delete.iter().chain(&plan.keep).all(|line| !line.reason.is_empty()));
    }

    /// A plan that says it is as good as a configuration that says it, of the triggers that it names and no others.
    #[test]
    fn counts_of_a_plan_go_before_those_of_the_configuration(
        policy in a_policy(),
        run in a_run(),
        said in proptest::collection::btree_map(proptest::sample::select(Trigger::ALL.to_vec()), a_count(), 0..4),
    ) {
        let mut configured = policy.clone();
        configured.keep.extend(said.clone());
        let keep = RunRetention { checkpoints: said, ..RunRetention::default() };
        let by_plan = deleted(&policy, &[RunFacts { keep, ..run.clone() }]);
        prop_assert_eq!(by_plan, deleted(&configured, &[run]));
    }

    #[test]
    fn a_second_prune_has_nothing_to_do(policy in a_policy(), runs in a_store()) {
        let left = carried_out(&plan_of(&policy, &runs, now()), runs);
        prop_assert_eq!(plan_of(&policy, &left, now()).delete, Vec::new());
    }
}
