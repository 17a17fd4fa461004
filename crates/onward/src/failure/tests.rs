//! The pages of all errors: their exit codes, and what must or must not stand on them.

use onward_core::question::{Offer, TypedWords};
use onward_core::run::Refusal;
use onward_engine::{CopyInGit, Left, StoreCause, StoreError, Vanished};

use super::*;
use onward_core::id::{Attempt, PhaseId, Seq};
use onward_core::view::DriverView;

fn run() -> RunId {
    RunId::new("run_demo_1")
}

/// A machine without a thread to spare is no bug of ours; whatever else ends in a panic is.
#[test]
fn a_shortage_of_threads_is_no_bug() {
    assert_eq!(of_panic(&NoThread, "here").code, exit::STORE);
    assert_eq!(of_panic(&"a text", "here").code, exit::BUG);
    assert_eq!(of_panic(&7, "here").code, exit::BUG);
}

/// The disk fills up while a run is driven. The page names the run, says that what is at work goes on, and how to come back; where
/// nothing was driven it says none of that.
#[test]
fn a_full_disk_in_the_middle_of_a_run() {
    let full = || {
        let (cause, path) = (StoreCause::Full, "/x/.onward".into());
        Failure::from(Error::Store(StoreError::NotSaved { cause, path, detail: String::new() }))
    };
    let driven = full().while_driving(Some(&run()));
    assert_eq!(driven.run, Some(run()));
    assert!(driven.kept.contains("phases at work go on"), "{}", driven.kept);
    assert_eq!(driven.next, ["onward resume run_demo_1"]);
    let before = full().while_driving(None);
    assert!(before.run.is_none() && before.next.is_empty());
}

fn bad_checkpoint() -> Error {
    let good = Some(onward_core::id::CheckpointId::new("CP-2"));
    let left = Left { raw: "{".into(), place: "/x/.onward".into(), run: Some(run()), good };
    Error::BadCheckpoint { id: "CP-1".into(), why: String::new(), left: Box::new(left) }
}

fn store_gone(copy: CopyInGit) -> Error {
    Error::StoreGone { run: run(), path: "/x/.onward/onward.db".into(), how: Vanished::Deleted, copy }
}

fn question() -> Question {
    let choices = vec![Offer { choice: "go on".into(), command: "onward run --resume=run_demo_1".into() }];
    Question { reasons: vec!["phase b failed".into()], choices, ..Question::new(run()) }
}

/// Every error there is, with the exit code that the contract gives it.
fn all() -> Vec<(u8, Error)> {
    found_or_not().into_iter().chain(of_starts_and_stores()).collect()
}

fn found_or_not() -> Vec<(u8, Error)> {
    let text = String::new;
    let driver = DriverView { host: "here".into(), pid: 7, since: jiff::Timestamp::UNIX_EPOCH };
    vec![
        (10, Error::NoProject { from: "/x".into() }),
        (10, Error::NoSuchRun("nosuch".into())),
        (10, Error::NoRunOrPhase("nosuch".into())),
        (10, Error::NoRuns),
        (10, Error::NothingUnfinished),
        (10, Error::NothingFits),
        (12, Error::RunsLost { runs: vec![run()] }),
        (12, Error::LossUnknown { why: "the git program is not installed".into() }),
        (12, Error::JournalBehind { run: run(), store: 3, git: 9 }),
        (10, Error::NothingToRedo),
        (10, Error::NothingToUndo { run: RunId::new("r") }),
        (12, Error::NotReadable { path: "f".into(), why: std::io::Error::other("no") }),
        (12, Error::NotAForm { why: "f is none".into() }),
        (12, Error::BadFile { file: "f".into(), why: "it is cut off".into() }),
        (13, Error::NotImported { why: "it works elsewhere".into() }),
        (13, Error::NotExported { why: "git does not answer".into() }),
        (12, Error::ImportUnreadable { path: "f".into(), why: "it is a folder".into() }),
        (12, Error::ImportConflict { why: "the id is taken".into() }),
        (12, Error::NoSuchForm { run: run(), why: "it has no name".into() }),
        (12, Error::OtherContent { run: RunId::new("r") }),
        (11, Error::PhaseLives { run: RunId::new("r"), phase: PhaseId::new("p") }),
        (11, Error::TreeInUse { run: RunId::new("r"), by: onward_engine::TreeUser::Somebody }),
        (13, Error::RewindPending { run: RunId::new("r"), reason: "git does not answer".into() }),
        (13, Error::NotRewound { run: RunId::new("r"), reason: "a file is in the way".into() }),
        (13, Error::NotForked { reason: "there is a folder already".into() }),
        (10, Error::NoSuchPhase { run: run(), phase: "nosuch".into() }),
        (10, Error::NoSuchCheckpoint("CP-nosuch".into())),
        (10, Error::Ambiguous { what: "run", name: "r".into(), candidates: vec!["r1".into(), "r2".into()] }),
        (2, Error::HomeFolder),
        (2, Error::EmptyName("run")),
        (2, Error::NotYet("not yet".into())),
        (2, Error::NoPlan { folder: "/x".into() }),
        (13, Error::NoWorktree { phase: PhaseId::new("a"), why: text() }),
        (2, Error::AgentOfNoMarkdown { plan: text() }),
        (2, Error::PlanUnreadable { path: "p.yaml".into(), why: text(), beside: vec!["plan.yaml".into()] }),
        (10, Error::NoFolder { variable: "ONWARD_PROJECT", folder: "/x".into() }),
        (2, Error::PlanNotText { path: "p.yaml".into() }),
        (2, Error::ConfigUnreadable { path: "config.yaml".into(), why: text() }),
        (2, Error::PlanInvalid { file: "p.yaml".into(), text: text(), diagnostics: Vec::new() }),
        (2, Error::PlanUnsupported { file: "p.yaml".into(), text: text(), diagnostics: Vec::new() }),
        (17, Error::PlanNewer { file: "p.yaml".into(), text: text(), diagnostics: Vec::new() }),
        (2, Error::Inputs { file: "p.yaml".into(), diagnostics: Vec::new() }),
        (2, Error::Config { file: "c.yaml".into(), text: text(), diagnostics: Vec::new() }),
        (11, Error::GroupBusy { group: "load".into(), by: Some(run()) }),
        (11, Error::GroupBusy { group: "load".into(), by: None }),
        (11, Error::GroupOfItself { group: "load".into(), by: run() }),
        (11, Error::Driven { run: run(), driver }),
        (13, Error::Forbidden { run: run(), findings: Vec::new() }),
        (13, Error::RequestRefused { run: run(), reason: "it is over".into() }),
        (13, Error::Refused { run: run(), reasons: vec!["the branch is gone".into()] }),
        (14, Error::AnswerNeeded(Box::new(question()))),
        (14, Error::Several { runs: vec![run(), run()], typed: TypedWords::new(["plan.yaml"], []) }),
    ]
}

fn of_starts_and_stores() -> Vec<(u8, Error)> {
    let text = String::new;
    let io = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    vec![
        (10, Error::Illegal(Refusal::NoSuchPhase(PhaseId::new("x")))),
        (2, Error::Illegal(Refusal::Illegal("skip", PhaseId::new("x"), "it is done".into()))),
        (13, Error::Illegal(Refusal::Archived)),
        (2, Error::Declined { reason: "phase x is no approval".into() }),
        (2, Error::Illegal(Refusal::NotTheirs(PhaseId::new("x"), "it is not yours".into()))),
        (2, Error::Illegal(Refusal::Misfit(onward_core::patch::Misfit { path: "/x".into() }))),
        (10, Error::NothingSaved { kind: "implement".into(), project: None }),
        (10, Error::NoSuchState { run: run(), pointer: "/x".into() }),
        (10, Error::NotShared { run: run(), what: "conflict", id: "CONF-1".into() }),
        (2, Error::NotAnObject { file: "state.json".into(), why: "it ends too early".into() }),
        (2, Error::NoPhases { run: run() }),
        (74, Error::NoRoom { what: "the folder of an attempt cannot be made".into() }),
        (74, Error::Moved { from: "/old".into(), to: Some("/new".into()) }),
        (74, store_gone(CopyInGit::None)),
        (74, Error::Store(StoreError::Gone { path: "onward.db".into(), how: Vanished::Deleted })),
        (70, Error::Illegal(Refusal::NotAtWork(PhaseId::new("x"), Attempt(1)))),
        (12, Error::BadRecord { run: run(), seq: 3, why: text() }),
        (12, bad_checkpoint()),
        (12, Error::BadJournal { run: run(), why: text(), left: Box::default() }),
        (74, Error::Io { what: "writing".into(), why: io() }),
        (11, Error::NoAnswer { run: run(), seconds: 10 }),
        (11, Error::LeftWaiting { run: run() }),
        (130, Error::HalfDone { signal: 2, run: run(), done: "the phases were asked to end" }),
        (17, Error::Store(StoreError::Newer { what: "the store", found: 9, known: 1 })),
        (12, Error::Store(StoreError::LostCommits { head: 9, database: 8, path: "onward.db".into() })),
        (11, Error::Store(StoreError::LeaseLost { run: run() })),
        (11, Error::Store(StoreError::Conflict { expected: Seq(1), found: Seq(2) })),
        (74, Error::Store(StoreError::NotSaved { cause: StoreCause::Full, path: "/x/.onward".into(), detail: text() })),
        (74, Error::Store(StoreError::Unclear { path: "/x/.onward".into(), detail: text() })),
        (74, Error::Store(StoreError::Network { path: "/x/.onward".into(), kind: "NFS" })),
        (11, Error::StillAtWork { path: "attempts/r/p/1".into() }),
        (11, Error::Survives { run: "r".into(), phase: "p".into(), pid: 7 }),
        (74, Error::Store(StoreError::Unreadable { cause: StoreCause::ReadOnly, path: "/x".into(), detail: text() })),
        (70, Error::Store(StoreError::LookOnly)),
    ]
}

/// Scripts look at the code of an error or at the exit code: each code comes with one exit code, and its entry in the book names it.
#[test]
fn a_code_means_one_exit_code() {
    use std::collections::BTreeMap;

    let not_written = Failure::answer_not_written("the disk is full", exit::DONE);
    let mut exits: BTreeMap<&str, u8> = BTreeMap::new();
    for failure in all().into_iter().map(|(_, error)| Failure::from(error)).chain([not_written]) {
        // By a signal: 128 and its number.
        if failure.name == "stopped" {
            continue;
        }
        let known = *exits.entry(failure.name).or_insert(failure.code);
        assert_eq!(known, failure.code, "{} is exit {known} and exit {}", failure.name, failure.code);
        let entry = render::codes::entries(failure.name).expect("an entry");
        assert!(entry.contains(&format!("Exit {known}.")), "{} is exit {known}: {entry}", failure.name);
    }
}

#[test]
fn every_error_has_the_exit_code_of_the_contract() {
    for (code, error) in all() {
        let shown = format!("{error:?}");
        assert_eq!(Failure::from(error).code, code, "{shown}");
    }
}

/// A code that nothing gives is a promise that nobody keeps.
#[test]
fn every_exit_code_of_the_contract_is_given_by_something() {
    use onward_core::event::StopReason;
    use onward_core::run::Ending;

    let stops = [
        StopReason::Interrupt,
        StopReason::SessionEnd,
        StopReason::Hangup,
        StopReason::Question,
        StopReason::Requirement,
        StopReason::DriverGone,
        StopReason::Limit,
        StopReason::Waiting,
    ];
    let endings = stops.map(Ending::Stopped).into_iter().chain([Ending::Completed, Ending::Failed]);
    let mut given: Vec<u8> = all().into_iter().map(|(code, _)| code).collect();
    given.extend(endings.map(render::run::exit_code));
    given.push(exit::WORK_LEFT);
    given.sort_unstable();
    given.dedup();
    assert_eq!(given, [0, 1, 2, 3, 10, 11, 12, 13, 14, 15, 17, 70, 74, 75, 129, 130, 143]);
}

/// Agents paste what they read. Whatever stands on a page must not cost anybody their work.
#[test]
fn no_page_holds_a_destructive_command() {
    for (_, error) in all() {
        let page = render::failure::page(&Failure::from(error));
        for word in ["rm ", "delete ", "prune", "rewind", "reset", "kill", "git clean", "drop table"] {
            assert!(!page.contains(word), "{word}: {page}");
        }
    }
}

#[test]
fn every_page_says_what_was_kept() {
    for (_, error) in all() {
        let failure = Failure::from(error);
        let page = render::failure::page(&failure);
        assert!(!failure.what.is_empty() && page.contains(&failure.what) && page.contains(failure.kept), "{page}");
        assert!(failure.next.iter().all(|command| command.starts_with("onward ")), "{failure:?}");
    }
}

#[test]
fn all_candidates_of_an_ambiguous_name_are_listed() {
    let candidates = vec!["run_a_1".to_owned(), "run_a_2".to_owned()];
    let page = Failure::from(Error::Ambiguous { what: "run", name: "run_a".into(), candidates });
    let page = render::failure::page(&page);
    assert!(page.contains("run_a_1") && page.contains("run_a_2"), "{page}");
}

#[test]
fn a_bug_tells_where_it_is_and_that_nothing_is_lost() {
    let page = render::failure::page(&bug("this cannot be", "src/x.rs:7").into());
    assert!(page.contains("src/x.rs:7") && page.contains("everything that was recorded"), "{page}");
}
