//! The store is taken away from under a living driver. It notices, starts nothing more, ends what is at work and says what is left.

use std::fs;

use onward_testkit::{Ran, TestProject, wait_until};

use crate::chain::HELD;
use crate::project;

fn in_git() -> TestProject {
    let project = project();
    project.plan(HELD);
    project.git_init();
    project
}

fn files_of_the_database(project: &TestProject) -> Vec<std::path::PathBuf> {
    let endings = ["", "-wal", "-shm"].into_iter();
    endings.map(|ending| project.path(format!(".onward/onward.db{ending}"))).filter(|path| path.exists()).collect()
}

/// The words of a driver whose store is taken away while b works: the phase is ended there, and nothing follows it.
fn driven_without_a_store(project: &TestProject, take_away: impl FnOnce()) -> Ran {
    let driver = project.start(["run"]);
    let pid = project.wait_ledger("begin", "b", 1).pid;
    take_away();
    let ended = driver.wait();
    assert_eq!(ended.code, 74, "{ended}");
    assert!(ended.err.contains("the store of run") && ended.err.contains("is gone"), "{ended}");
    assert!(!onward_testkit::is_alive(pid), "the phase goes on: {ended}");
    assert_eq!((project.count("end", "b"), project.count("begin", "c")), (0, 0), "{ended}");
    ended
}

/// Outside a repository the records are gone with the folder. That is said, and nothing else is claimed.
#[test]
fn a_driver_notices_that_its_store_was_deleted() {
    let project = project();
    project.plan(HELD);
    let folder = project.path(".onward");
    let ended = driven_without_a_store(&project, || fs::remove_dir_all(&folder).expect("our own folder"));
    assert!(ended.err.contains("was deleted") && ended.err.contains("git has no copy"), "{ended}");
    assert!(!ended.err.contains("onward resume"), "there is nothing to resume: {ended}");
    assert!(!project.exists(".onward"), "the driver made another store");
    project.open("b");
    project.command(["run"]).expect(0);
    assert_eq!(project.order("overlap"), Vec::<String>::new(), "{:?}", project.ledger());
}

/// Only the database is deleted, in a repository. Git has every record of it, also the last one, and a repair brings them back.
#[test]
fn what_a_deleted_database_knew_is_in_git() {
    let project = in_git();
    let ended = driven_without_a_store(&project, || {
        for file in files_of_the_database(&project) {
            fs::remove_file(file).expect("our own file");
        }
    });
    assert!(ended.err.contains("git has all records") && ended.err.contains("onward doctor --repair"), "{ended}");
    project.open("b");
    project.command(["doctor", "--repair"]).expect(0);
    project.command(["resume"]).expect(0);
    assert_eq!((project.count("begin", "a"), project.count("end", "b"), project.count("end", "c")), (1, 1, 1));
    project.command(["doctor"]).expect(0);
}

/// The database is moved away, and another one lies in its place: it is said where the first one is. Brought back it has everything.
#[test]
fn a_database_that_was_moved_is_found_again() {
    let project = project();
    project.plan(HELD);
    let aside = project.root().join("aside");
    fs::create_dir(&aside).expect("our own folder");
    let ended = driven_without_a_store(&project, || {
        for file in files_of_the_database(&project) {
            let copy = fs::read(&file).expect("our own file");
            fs::rename(&file, aside.join(file.file_name().expect("a name"))).expect("our own file");
            fs::write(&file, copy).expect("our own folder");
        }
    });
    assert!(ended.err.contains(&format!("was moved to {}", aside.display())), "{ended}");
    for file in files_of_the_database(&project) {
        fs::rename(aside.join(file.file_name().expect("a name")), &file).expect("our own file");
    }
    project.open("b");
    project.command(["resume"]).expect(0);
    project.command(["doctor"]).expect(0);
    assert_eq!((project.count("begin", "a"), project.count("end", "c")), (1, 1));
}

/// The log alone is deleted. What is written into it nobody finds again, so the driver does not go on.
#[test]
fn a_log_that_was_deleted_is_noticed() {
    let project = project();
    project.plan(HELD);
    let log = project.path(".onward/onward.db-wal");
    let ended = driven_without_a_store(&project, || fs::remove_file(&log).expect("our own file"));
    assert!(ended.err.contains("onward.db-wal was deleted"), "{ended}");
}

/// A repair meets a driver whose database is gone. It names the process that holds the run, and since when.
#[test]
fn a_repair_names_the_driver_of_a_lost_database() {
    let project = in_git();
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    // It stands still, so that it cannot notice first.
    driver.signal(onward_testkit::Signal::SIGSTOP);
    for file in files_of_the_database(&project) {
        fs::remove_file(file).expect("our own file");
    }
    let refused = project.command(["doctor", "--repair"]).expect(11);
    assert!(refused.err.contains(&format!("process {} on", driver.pid())), "{refused}");
    assert!(!refused.err.contains("1970"), "{refused}");
    driver.signal(onward_testkit::Signal::SIGCONT);
    assert_eq!(driver.wait().code, 74);
    wait_until("the end of the attempt", || (project.command(["doctor", "--repair"]).code == 0).then_some(()));
}
