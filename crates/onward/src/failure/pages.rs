//! The pages of failures that need more than a line.

use std::path::Path;

use onward_core::evidence::RequirementSeen;
use onward_core::exit;
use onward_core::id::RunId;
use onward_core::question::{self, Question, TypedWords};
use onward_core::resume::{Finding, Weight};
use onward_core::run::Refusal;
use onward_engine::{CopyInGit, Left, StoreCause, StoreError, Vanished};

use super::{ALL_RECORDED, AS_BEFORE, FailurePage, STORE_LEFT, code_of, signal_in_words};

pub(super) fn halfway_back(what: String, run: &RunId) -> FailurePage {
    let kept = "some files may be there already, others not; what was there before is in the newest checkpoint";
    FailurePage::new(exit::REFUSED, "halfway-back", what).kept(kept).look_at("status", run)
}

pub(super) fn stopped(signal: i32) -> FailurePage {
    let what = format!("stopped by {} before it was done", signal_in_words(signal));
    FailurePage::new(code_of(signal), "stopped", what).next("onward status")
}

/// A plan in that folder can be started without a project: the start makes one.
pub(super) fn no_project(what: String, from: &Path) -> FailurePage {
    let page = FailurePage::new(exit::NOT_FOUND, "no-project", what);
    if from.join("onward.yaml").is_file() {
        page.next("onward check").next("onward run")
    } else {
        page.next("onward init")
    }
}

pub(super) fn moved(what: String, to: Option<&Path>) -> FailurePage {
    let kept = "all that was recorded has moved along; phases at work go on, and the next start takes their results";
    let there = to.map(|to| format!("it is in {} now", to.display()));
    FailurePage::new(exit::STORE, "moved", what).kept(kept).more(there.into_iter().collect()).next("onward resume")
}

/// The store of a run that was being driven is gone: what is left of its records, and what to do first.
pub(super) fn store_gone(what: String, run: &RunId, how: &Vanished, copy: CopyInGit) -> FailurePage {
    let ended = "nothing more was started, and the phases that were at work were asked to end; their files are as they left them";
    let mut more = vec![ended.to_owned()];
    let (kept, next) = match (how, copy) {
        (Vanished::Moved { .. }, _) => {
            more.push("bring the files of the store back to their place, all of them, and go on".to_owned());
            ("what was recorded is in the files that were moved", "onward resume")
        }
        (Vanished::Deleted, CopyInGit::Whole) => {
            ("git has all records of this run: repair brings them back", "onward doctor --repair")
        }
        (Vanished::Deleted, CopyInGit::Part) => {
            ("git has the first part of the records of this run: repair brings it back", "onward doctor --repair")
        }
        (Vanished::Deleted, CopyInGit::None) => {
            ("nothing of the records of this run: they were in what was deleted, and git has no copy", "onward doctor")
        }
    };
    FailurePage::new(exit::STORE, "store-gone", what).more(more).kept(kept).of_run(run).next(next)
}

/// The requirements of a new run that are not met, with the author's words for each.
pub(super) fn requirement(what: String, unmet: &[RequirementSeen]) -> FailurePage {
    let line = |one: &RequirementSeen| {
        let why = if one.said.is_empty() { String::new() } else { format!(" ({})", one.said) };
        format!("{}{why}", one.name)
    };
    let kept = "nothing was started, and nothing was made";
    FailurePage::new(exit::REFUSED, "requirement-unmet", what).more(unmet.iter().map(line).collect()).kept(kept)
}

/// A request to a run without an answer, and what becomes of it.
pub(super) fn unanswered(name: &'static str, what: String, kept: &'static str, run: &RunId) -> FailurePage {
    FailurePage::new(exit::DRIVEN, name, what).kept(kept).look_at("status", run)
}

/// The plan keeps runs of a group apart, and says that the second one does not wait.
pub(super) fn group_busy(what: String, by: Option<&RunId>) -> FailurePage {
    let page = FailurePage::new(exit::DRIVEN, "group-busy", what);
    match by {
        Some(by) => page.look_at("status", by),
        None => page.next("onward list"),
    }
}

pub(super) fn tree_in_use(what: String, by: Option<&RunId>) -> FailurePage {
    let next = by.map_or_else(|| "onward list".to_owned(), |run| format!("onward status {run}"));
    FailurePage::new(exit::DRIVEN, "tree-in-use", what).kept("files and state are as they were").next(next)
}

/// All that is worth saying, the worst first.
pub(super) fn forbidden(what: String, run: &RunId, findings: Vec<Finding>) -> FailurePage {
    let worth = findings.iter().filter(|finding| finding.kind.row().weight >= Weight::Warn);
    let reasons = worth.map(|finding| finding.message.clone()).collect();
    let page = FailurePage::new(exit::REFUSED, "refused", what).of_run(run).more(reasons);
    FailurePage { findings, ..page.next(format!("onward show {run}")) }
}

pub(super) fn going_back(code: u8, name: &'static str, what: String) -> FailurePage {
    FailurePage::new(code, name, what).kept("files and state are as they were").next("onward log")
}

/// Where the damage is, and the last good checkpoint.
pub(super) fn damaged(what: String, left: &Left) -> FailurePage {
    let Left { place, run, good, .. } = left;
    let mut more = Vec::new();
    if !place.as_os_str().is_empty() {
        more.push(format!("it lies in {}", place.display()));
    }
    more.extend(good.iter().map(|good| format!("the last good checkpoint of the run is {good}")));
    let page = FailurePage::new(exit::DAMAGED, "damaged", what).more(more).kept(STORE_LEFT);
    FailurePage { run: run.clone(), next: good.iter().map(|good| format!("onward show {good}")).collect(), ..page }
}

pub(super) fn bad_checkpoint(what: String, id: &str, left: Left) -> FailurePage {
    let page = damaged(what, &left).next(format!("onward show {id}")).next("onward doctor");
    FailurePage { raw: Some(left.raw), ..page }
}

pub(super) fn bad_record(what: String, run: &RunId) -> FailurePage {
    let page = FailurePage::new(exit::DAMAGED, "damaged", what).of_run(run).kept(ALL_RECORDED);
    page.next(format!("onward log {run}")).next("onward doctor")
}

pub(super) fn answer_needed(question: Question) -> FailurePage {
    let what = format!("an answer is needed about run {}", question.run);
    let page = FailurePage::new(exit::ANSWER_NEEDED, "answer-needed", what);
    let page = page.of_run(&question.run).more(question.reasons.clone());
    FailurePage { question: Some(Box::new(question)), ..page }
}

/// The page names no run, because it is open which one is meant.
pub(super) fn several(what: String, runs: &[RunId], typed: &TypedWords) -> FailurePage {
    let page = FailurePage::new(exit::ANSWER_NEEDED, "several-runs", what);
    let Some(first) = runs.first() else { return page };
    let question = question::which_run(first, runs, page.what.clone(), typed);
    FailurePage { question: Some(Box::new(question)), ..page }
}

pub(super) fn illegal(what: String, why: &Refusal) -> FailurePage {
    match why {
        Refusal::NoSuchPhase(_) => FailurePage::new(exit::NOT_FOUND, "no-phase", what),
        Refusal::NotTheirs(..) | Refusal::Illegal(..) => FailurePage::new(exit::USAGE, "illegal-choice", what),
        Refusal::Misfit(_) => FailurePage::new(exit::USAGE, "misfit", what),
        Refusal::NotShared(_) => FailurePage::new(exit::USAGE, "declined", what).kept(AS_BEFORE),
        Refusal::Unfit(_) => FailurePage::new(exit::USAGE, "unfit", what).kept(AS_BEFORE),
        Refusal::Archived => FailurePage::new(exit::REFUSED, "archived", what).next("onward list --all"),
        Refusal::Over => FailurePage::new(exit::REFUSED, "over", what).next("onward status"),
        Refusal::AtWork | Refusal::Rewinding | Refusal::FilesOnTheirWay(_) => {
            FailurePage::new(exit::DRIVEN, "at-work", what).next("onward status")
        }
        Refusal::NotAtWork(..) => FailurePage::new(exit::BUG, "bug", what).kept(ALL_RECORDED),
    }
}

pub(super) fn store(what: &str, why: &StoreError) -> FailurePage {
    let page = |code, name| FailurePage::new(code, name, what);
    match why {
        StoreError::NoStore { .. } | StoreError::NoRun { .. } => {
            page(exit::NOT_FOUND, "no-run").next("onward list --all")
        }
        StoreError::Newer { .. } => page(exit::NEWER, "newer").kept(ALL_RECORDED).next("onward --version"),
        StoreError::Damaged(_) | StoreError::LostCommits { .. } => {
            let page = page(exit::DAMAGED, "damaged").kept(STORE_LEFT);
            page.next("onward doctor").next("onward doctor --repair")
        }
        StoreError::Conflict { .. } | StoreError::LeaseLost { .. } | StoreError::Held { .. } => {
            page(exit::DRIVEN, "driven").kept(ALL_RECORDED).next("onward status")
        }
        StoreError::NotSaved { cause, .. } => {
            page(exit::STORE, "not-saved").more(cause_in_words(*cause)).kept(ALL_RECORDED)
        }
        StoreError::Unclear { .. } => {
            let words = "the disk failed while it was made to last: look at the disk, then whether it is there, and only then \
                         give the command again";
            page(exit::STORE, "not-known").more(vec![words.to_owned()]).kept(ALL_RECORDED).next("onward status")
        }
        StoreError::Unreadable { cause, .. } => page(exit::STORE, "unreadable").more(cause_in_words(*cause)),
        StoreError::Gone { .. } => page(exit::STORE, "store-gone")
            .kept("what was recorded before is in the files that were taken away")
            .next("onward doctor"),
        StoreError::Unsafe { .. } => page(exit::STORE, "unsafe"),
        StoreError::Network { .. } => {
            let words = "locks and flushes there are not to be trusted: keep the project on a disk of this machine, or write \
                         store: { network: allow } into .onward/config.yaml, type  onward trust  and do not use it from two \
                         machines at once";
            page(exit::STORE, "network").more(vec![words.to_owned()]).next("onward doctor")
        }
        StoreError::Foreign { .. } => untrusted(what.to_owned()),
        StoreError::NotDurable { .. } => page(exit::STORE, "not-durable"),
        StoreError::TooLarge { .. } => page(exit::STORE, "too-large").kept(ALL_RECORDED),
        StoreError::BadName { .. } => page(exit::USAGE, "bad-name"),
        StoreError::AlreadyThere { .. }
        | StoreError::NotWaiting { .. }
        | StoreError::LookOnly
        | StoreError::EmptyEntry
        | StoreError::BadEntry { .. } => page(exit::BUG, "bug").kept(ALL_RECORDED),
    }
}

/// A store that came from elsewhere can be looked at; only a person says that it is theirs.
pub(super) fn lost(what: String) -> FailurePage {
    let more =
        "repair brings back what is under refs/onward in git; begin anew without it by  onward run --fresh".to_owned();
    let page = FailurePage::new(exit::DAMAGED, "runs-lost", what).more(vec![more]).kept(AS_BEFORE);
    page.next("onward doctor").next("onward doctor --repair")
}

/// The store is there and has less than git has: what is begun anew must not be begun in it.
pub(super) fn behind(what: String) -> FailurePage {
    let more = "repair brings back what is under refs/onward in git; begin anew without it by  onward run --fresh --damaged aside  \
                which keeps this store in .onward/damaged";
    let page = FailurePage::new(exit::DAMAGED, "runs-lost", what).more(vec![more.to_owned()]).kept(AS_BEFORE);
    page.next("onward doctor").next("onward doctor --repair")
}

/// There is no store, and git cannot be asked whether there was one.
pub(super) fn loss_unknown(what: String) -> FailurePage {
    let more = "there is no store here and a .git folder, in which runs may be on record: see to it that git answers (git status) \
                and give the command again; begin without asking it by  onward run --fresh";
    FailurePage::new(exit::DAMAGED, "git-failed", what).more(vec![more.to_owned()]).kept(AS_BEFORE).next("onward run")
}

/// Nothing is started beside a process of a run that was lost.
pub(super) fn survives(what: String) -> FailurePage {
    let more = "nothing is started or brought back beside it: wait for its end, or end it, and give the command again";
    FailurePage::new(exit::DRIVEN, "at-work", what).more(vec![more.to_owned()]).kept(AS_BEFORE).next("onward doctor")
}

pub(super) fn untrusted(what: String) -> FailurePage {
    let more = vec![
        "looking works as always, and executes nothing".to_owned(),
        "if you made this store (moved it to another disk, restored or copied it), or trust who did, type onward trust"
            .to_owned(),
    ];
    FailurePage::new(exit::STORE, "untrusted", what).more(more).next("onward list --all").next("onward trust")
}

pub(super) fn cause_in_words(cause: StoreCause) -> Vec<String> {
    let words = match cause {
        StoreCause::Full => "there is no room left: make room and give the same command again",
        StoreCause::ReadOnly => "the place may not be written: look at its owner, its mode and how the disk is mounted",
        StoreCause::Io => "the disk reported an error",
        StoreCause::Busy => "another process kept the store busy for too long",
        StoreCause::Other => return Vec::new(),
    };
    vec![words.to_owned()]
}
