//! Stores that were damaged in every way that happens to files. Each is explained with its own word; a repair keeps what
//! can be read, puts the rest aside, and the run goes on.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use onward_testkit::TestProject;
use serde_json::Value;

use crate::chain::UNFIXED;
use crate::project;

/// A run of which the last phase failed; everything is in the database file, the log is empty.
fn failed() -> TestProject {
    let project = project();
    project.plan(UNFIXED);
    project.command(["run"]).expect(1);
    project
}

fn store(project: &TestProject, name: &str) -> PathBuf {
    project.path(".onward").join(name)
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("a file of the store");
    change(&mut bytes);
    fs::write(path, bytes).expect("a file of the store");
}

/// The header as a program of a later format writes it.
pub(crate) fn of_a_later_version(bytes: &mut [u8]) {
    let (version, mark) = (99_u32, 0x6f6e_6764 ^ 99_u32.wrapping_mul(0x9e37_79b1));
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    bytes[68..72].copy_from_slice(&mark.to_be_bytes());
}

/// Where a text stands in a file; the last place.
fn find(bytes: &[u8], text: &str) -> usize {
    let mut places = (0..bytes.len() - text.len()).rev();
    places.find(|at| bytes[*at..].starts_with(text.as_bytes())).unwrap_or_else(|| panic!("no {text} in the file"))
}

/// The start of a compressed value.
const COMPRESSED: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A failed run with one bit flipped in a compressed value: in the one that makes the doctor say this.
fn flipped_in_a_compressed_value(wanted: &str) -> TestProject {
    for nth in 0.. {
        let project = failed();
        change(&store(&project, "onward.db"), |bytes| {
            let places = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&COMPRESSED));
            let at = places.into_iter().nth(nth).unwrap_or_else(|| panic!("no compressed value leads to {wanted}"));
            bytes[at + 24] ^= 4;
        });
        if codes(&project.command(["doctor", "--json"]).json()).iter().any(|code| code == wanted) {
            return project;
        }
    }
    unreachable!("the file has an end")
}

fn codes(found: &Value) -> Vec<String> {
    let findings = found["findings"].as_array().expect("a list of findings");
    findings.iter().filter_map(|finding| finding["code"].as_str().map(str::to_owned)).collect()
}

/// The doctor names one of these, changes nothing, and says what to do.
#[track_caller]
fn explained(project: &TestProject, code: i32, wanted: &[&str]) -> Value {
    let before = project.tree();
    let said = project.command(["doctor"]).expect(code);
    let found = project.command(["doctor", "--json"]).expect(code).json();
    assert_eq!(project.tree(), before, "looking wrote something");
    let codes = codes(&found);
    assert!(codes.iter().any(|code| wanted.contains(&code.as_str())), "{wanted:?} not in {found:#}");
    for finding in found["findings"].as_array().expect("a list") {
        let help = finding["help"].as_str().expect("a text");
        assert!(!help.is_empty(), "{finding}");
        assert!(
            said.out.contains(finding["message"].as_str().expect("a text").lines().next().unwrap_or_default()),
            "{said}"
        );
        for word in ["rm ", "onward delete", "prune", "reset", "kill"] {
            assert!(!help.contains(word), "{finding}");
        }
    }
    found
}

/// Repairs, demands that all is well, and goes on with the run to its end.
#[track_caller]
fn repaired_and_completed(project: &TestProject) -> Value {
    let done = project.command(["doctor", "--repair", "--json"]).expect(0).json();
    assert!(done["ok"].as_bool().expect("a word"), "{done:#}");
    assert!(!done["repaired"].as_array().expect("a list").is_empty(), "{done:#}");
    let again = project.command(["doctor", "--json"]).expect(0).json();
    assert_eq!(again["ok"], true, "{again:#}");
    project.write("fixed", "");
    project.command(["run", "--resume"]).expect(0);
    assert_eq!(project.order("overlap"), Vec::<String>::new());
    assert_eq!(project.command(["status", "--json"]).expect(0).json()["status"], "completed");
    done
}

#[test]
fn a_whole_store_is_well() {
    let project = failed();
    let found = project.command(["doctor", "--json"]).expect(0).json();
    assert_eq!((&found["ok"], codes(&found)), (&true.into(), Vec::new()));
    let done = project.command(["doctor", "--repair", "--json"]).expect(0).json();
    assert_eq!((done["repaired"].as_array().map(Vec::len), &done["aside"]), (Some(0), &Value::Null));
    assert!(!project.exists(".onward/damaged"), "nothing was moved");
}

/// A bit flips in a record. The journal is kept up to the last whole step before it, the result of the phase that ended
/// after that is found in its folder, and the status tells of the cut.
#[test]
fn a_flipped_bit_in_a_record() {
    let project = failed();
    let shown = |project: &TestProject| -> Vec<(String, Value)> {
        let log = project.command(["log", "--json"]).expect(0).json();
        let ids = log["checkpoints"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| row["id"].as_str().expect("an id").to_owned());
        ids.map(|id| {
            let shown = project.command(["show", &id, "--json"]).expect(0).json();
            (id, shown)
        })
        .collect()
    };
    let mut before = shown(&project);
    change(&store(&project, "onward.db"), |bytes| {
        let at = find(bytes, "\"type\":\"phase_completed\",\"phase\":\"b\"");
        bytes[at + 9] ^= 1;
    });
    explained(&project, 12, &["journal"]);
    project.command(["run", "--resume"]).expect(12);
    project.command(["doctor", "--repair"]).expect(0);
    let mut after = shown(&project);
    before.sort_by(|a, b| a.0.cmp(&b.0));
    after.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(before, after, "checkpoints outlive their journal");
    let status = project.command(["status", "--json"]).expect(0).json();
    assert!(status["warnings"][0].as_str().is_some_and(|text| text.contains("record")), "{status:#}");
    project.write("fixed", "");
    project.command(["run", "--resume"]).expect(0);
    project.ran_once(["a", "b"]);
    assert_eq!(project.count("end", "c"), 1);
    explained(&project, 0, &["checkpoint-beyond"]);
}

/// Of the first record nothing is left, so the run cannot go on. Its checkpoints are still there to be read, and the same
/// work can be started anew.
#[test]
fn a_journal_of_which_nothing_is_left() {
    let project = flipped_in_a_compressed_value("journal");
    let list = project.command(["list", "--json"]).json();
    let run = list["runs"][0]["run"].as_str().expect("a run").to_owned();
    let log = project.command(["log", &run, "--json"]).expect(0).json();
    explained(&project, 12, &["journal"]);
    project.command(["doctor", "--repair"]).expect(0);
    explained(&project, 0, &["journal-lost"]);
    let list = project.command(["list", "--json"]).expect(0).json();
    assert_eq!((&list["runs"][0]["run"], &list["runs"][0]["status"]), (&run.as_str().into(), &"unreadable".into()));
    for row in log["checkpoints"].as_array().expect("a list") {
        project.command(["show", row["id"].as_str().expect("an id")]).expect(0);
    }
    assert_eq!(
        project.command(["log", &run, "--json"]).expect(0).json()["checkpoints"].as_array().map(Vec::len),
        Some(4)
    );
    project.command(["status", &run]).expect(12);
    project.write("fixed", "");
    project.command(["run"]).expect(0);
    assert_eq!(project.command(["status", "--json"]).expect(0).json()["status"], "completed");
}

/// A row of the list, a document and an unused byte: what can be made again from the journal is made again.
#[test]
fn flipped_bits_in_what_follows_from_the_journal() {
    let in_a_row = failed();
    change(&store(&in_a_row, "onward.db"), |bytes| {
        let at = find(bytes, "\"phases_total\"");
        bytes[at + 3] ^= 4;
    });
    for (project, wanted) in [(in_a_row, "row"), (flipped_in_a_compressed_value("checkpoint"), "checkpoint")] {
        explained(&project, 12, &[wanted]);
        repaired_and_completed(&project);
        project.ran_once(["a", "b"]);
    }
}

#[test]
fn pages_of_zeros_and_a_file_that_was_cut_off() {
    let pages = fs::metadata(store(&failed(), "onward.db")).expect("a database").len() / 4096;
    let last = usize::try_from(pages).expect("a small file") - 1;
    for page in [0, 1, 3, last / 2, last] {
        let project = failed();
        change(&store(&project, "onward.db"), |bytes| bytes[page * 4096..(page + 1) * 4096].fill(0));
        let found = project.command(["doctor", "--json"]);
        if found.code == 0 {
            continue; // A page that holds nothing.
        }
        explained(
            &project,
            12,
            &["database", "row", "journal", "journal-unlisted", "checkpoint", "checkpoint-missing"],
        );
        let done = project.command(["doctor", "--repair", "--json"]).expect(0).json();
        assert_eq!(done["ok"], true, "{done:#}");
        project.command(["doctor"]).expect(0);
    }
    for part in [2, 3, 5] {
        let project = failed();
        change(&store(&project, "onward.db"), |bytes| bytes.truncate(bytes.len() / part));
        explained(&project, 12, &["database", "row", "journal"]);
        project.command(["doctor", "--repair"]).expect(0);
        project.command(["doctor"]).expect(0);
    }
}

/// The first page is gone, and with it the list of tables. The rest is read all the same.
#[test]
fn the_first_page_is_lost_and_nothing_else() {
    let project = failed();
    change(&store(&project, "onward.db"), |bytes| bytes[..4096].fill(0));
    explained(&project, 12, &["database", "head-ahead"]);
    project.command(["status"]).expect(12);
    repaired_and_completed(&project);
    project.ran_once(["a", "b"]);
}

/// Everything dies, and then the log goes missing: acknowledged commits are gone. The loss is told, the attempts that
/// nobody knows of any more are put aside, and the work is done from where the record ends.
#[test]
fn a_lost_log() {
    let project = project();
    project.plan(&UNFIXED.replace("step c 'test -e fixed'", "step c hold"));
    let _driver = project.start(["run"]);
    project.wait_ledger("begin", "c", 1);
    project.kill_everything();
    fs::remove_file(store(&project, "onward.db-wal")).expect("a log");
    explained(&project, 12, &["head-ahead"]);
    project.command(["run", "--resume"]).expect(12);
    let done = project.command(["doctor", "--repair", "--json"]).expect(0).json();
    let repaired = done["repaired"].to_string();
    assert!(repaired.contains("commits") && repaired.contains("run_demo"), "{done:#}");
    let aside = project.path(done["aside"].as_str().expect("a folder"));
    assert!(aside.join("HEAD").exists() && aside.join("report.json").exists(), "{done:#}");
    project.command(["doctor"]).expect(0);
    project.open("c");
    project.command(["run"]).expect(0);
}

/// An old copy of the database is put back. What came after it is lost, and the run goes on from there.
#[test]
fn an_old_copy_of_the_database() {
    let project = project();
    project.plan(&UNFIXED.replace("step b", "step b hold"));
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    driver.kill();
    project.kill_everything();
    let old: Vec<(PathBuf, Vec<u8>)> = ["onward.db", "onward.db-wal"]
        .map(|name| store(&project, name))
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).expect("a file")))
        .collect();
    project.open("b");
    project.command(["run"]).expect(1);
    for (path, bytes) in old {
        fs::write(path, bytes).expect("the file is ours");
    }
    let _ = fs::remove_file(store(&project, "onward.db-shm"));
    let found = explained(&project, 12, &["head-ahead"]);
    assert!(codes(&found).contains(&"attempt-unrecorded".to_owned()), "{found:#}");
    let done = repaired_and_completed(&project);
    assert!(codes(&found).contains(&"head-ahead".to_owned()) && done["repaired"].to_string().contains("commits"));
    project.ran_once(["a"]);
}

#[test]
fn a_head_that_is_not_ours() {
    let (project, other) = (failed(), failed());
    fs::copy(store(&other, "HEAD"), store(&project, "HEAD")).expect("a copy");
    explained(&project, 12, &["head-foreign"]);
    let done = repaired_and_completed(&project);
    let kept = project.path(done["aside"].as_str().expect("a folder")).join("HEAD");
    assert_eq!(fs::read(kept).expect("the old head"), fs::read(store(&other, "HEAD")).expect("a head"));
    project.ran_once(["a", "b"]);
    fs::remove_file(store(&project, "HEAD")).expect("a head");
    explained(&project, 0, &["head-missing"]);
    fs::write(store(&project, "HEAD"), "nonsense").expect("a head");
    explained(&project, 0, &["head-unreadable", "permissions"]);
    project.command(["doctor", "--repair"]).expect(0);
    let found = project.command(["doctor", "--json"]).expect(0).json();
    assert_eq!(codes(&found), Vec::<String>::new());
}

/// A bit flipped in one of the two entries of HEAD. The other one hides it from every other verb; the doctor names it, calls the
/// store well, and a repair writes it anew and keeps what was there.
#[test]
fn a_flipped_bit_in_one_entry_of_the_head() {
    let project = failed();
    let whole = fs::read(store(&project, "HEAD")).expect("a head");
    for at in [30, 70, 300, 512 + 3, 512 + 40, 512 + 79] {
        change(&store(&project, "HEAD"), |bytes| bytes[at] ^= 4);
        let spoilt = fs::read(store(&project, "HEAD")).expect("a head");
        let found = explained(&project, 0, &["head-slot"]);
        assert!(found["ok"].as_bool().expect("a word"), "{found:#}");
        project.command(["status"]).expect(0);
        let done = project.command(["doctor", "--repair", "--json"]).expect(0).json();
        assert!(codes(&done).is_empty(), "{done:#}");
        let kept = project.path(done["aside"].as_str().expect("a folder")).join("HEAD");
        assert_eq!(fs::read(kept).expect("the old head"), spoilt);
        assert_ne!(fs::read(store(&project, "HEAD")).expect("a head"), spoilt);
        fs::write(store(&project, "HEAD"), &whole).expect("a head");
    }
    change(&store(&project, "HEAD"), |bytes| bytes[30] ^= 4);
    repaired_and_completed(&project);
    project.ran_once(["a", "b"]);
}

#[test]
fn noise_instead_of_a_database() {
    let project = failed();
    change(&store(&project, "onward.db"), |bytes| {
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::try_from((at * 7919) % 251).expect("below 256");
        }
    });
    explained(&project, 12, &["database"]);
    let done = project.command(["doctor", "--repair", "--json"]).expect(0).json();
    assert!(done["repaired"].to_string().contains("0 runs"), "{done:#}");
    project.write("fixed", "");
    project.command(["run"]).expect(0);
}

#[test]
fn a_store_that_others_can_write_to() {
    let project = failed();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    mode(&project.path(".onward"), 0o755);
    explained(&project, 0, &["permissions"]);
    mode(&project.path(".onward"), 0o777);
    mode(&store(&project, "onward.db"), 0o666);
    explained(&project, 12, &["permissions"]);
    project.command(["run", "--resume"]).expect(74);
    repaired_and_completed(&project);
    let seen = fs::metadata(project.path(".onward")).expect("a folder").permissions().mode() & 0o777;
    assert_eq!(seen, 0o700);
}

/// Nothing is read through a link, and no repair replaces one: a person has to see to it.
#[test]
fn a_link_in_place_of_the_database() {
    let project = failed();
    let elsewhere = project.root().join("elsewhere.db");
    fs::rename(store(&project, "onward.db"), &elsewhere).expect("a database");
    symlink(&elsewhere, store(&project, "onward.db")).expect("a link");
    explained(&project, 12, &["link"]);
    project.command(["doctor", "--repair"]).expect(12);
    assert!(store(&project, "onward.db").is_symlink(), "it was replaced");
}

/// The number of the format changed, and nothing else: nobody wrote that. It is damage, every command says so, and a
/// repair brings everything back.
#[test]
fn a_flipped_bit_in_the_number_of_the_format() {
    for bit in [0, 1, 31] {
        let project = failed();
        change(&store(&project, "onward.db"), |bytes| bytes[63 - bit / 8] ^= 1 << (bit % 8));
        for words in [&["status"][..], &["log"], &["list"], &["prune", "--dry-run"], &["run"], &["resume"]] {
            project.command(words).expect(12);
        }
        explained(&project, 12, &["database"]);
        repaired_and_completed(&project);
        project.ran_once(["a", "b"]);
    }
}

/// The store was copied by a tool that leaves out empty folders, and its database is damaged. The repair makes what is missing.
#[test]
fn a_folder_of_large_values_that_was_lost() {
    let project = failed();
    fs::remove_dir_all(store(&project, "blobs")).expect("a folder without files");
    change(&store(&project, "onward.db"), |bytes| bytes[63] ^= 1);
    explained(&project, 12, &["database"]);
    repaired_and_completed(&project);
}

/// The version of one stored value changed, as a flipped bit does it: of a record, a checkpoint, a row. No command calls
/// that newer, and a repair keeps what was there before it.
#[test]
fn a_flipped_bit_in_the_version_of_a_value() {
    let project = failed();
    let good = fs::read(store(&project, "onward.db")).expect("a database");
    // Version, flags and a checksum of eight bytes stand before the text.
    let is_value = |at: &usize| good[*at..].starts_with(&[1, 0]) && good[at + 10..].starts_with(b"{\"");
    let places: Vec<usize> = (0..good.len() - 12).filter(is_value).collect();
    assert!(places.len() > 8, "few values: {places:?}");
    let mut damaged = 0;
    // Records, checkpoints and rows are spread over the file; eight of them have some of each.
    for at in places.iter().copied().step_by(places.len() / 8) {
        change(&store(&project, "onward.db"), |bytes| bytes[at] ^= 2);
        for words in [&["log"][..], &["prune", "--dry-run"], &["doctor"]] {
            let code = project.command(words).code;
            assert!(code == 0 || code == 12, "{words:?} ended with {code} for the value at {at}");
            damaged += usize::from(code == 12);
        }
        fs::write(store(&project, "onward.db"), &good).expect("a database to put back");
    }
    assert!(damaged > 4, "only {damaged} commands noticed");
    change(&store(&project, "onward.db"), |bytes| {
        let at = find(bytes, "{\"v\":1,\"event\":{\"type\":\"phase_completed\",\"phase\":\"b\"");
        bytes[at - 10] ^= 2;
    });
    for words in [&["status"][..], &["run"], &["resume"]] {
        project.command(words).expect(12);
    }
    explained(&project, 12, &["journal"]);
    repaired_and_completed(&project);
    project.ran_once(["a", "b"]);
}

/// A later version wrote this. It is not damaged, and neither looking nor repairing changes a byte of it.
#[test]
fn a_newer_format() {
    let project = failed();
    change(&store(&project, "onward.db"), |bytes| of_a_later_version(bytes));
    let before = project.tree();
    explained(&project, 17, &["newer"]);
    project.command(["doctor", "--repair"]).expect(17);
    assert_eq!(project.tree(), before);
}

/// A driver is at work: a look is fine, a repair is refused and told who drives.
#[test]
fn no_repair_while_a_run_is_driven() {
    let project = project();
    project.plan(&UNFIXED.replace("step b", "step b hold"));
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    project.command(["doctor"]).expect(0);
    let pid = driver.pid().to_string();
    project.command(["doctor", "--repair"]).expect(11).err_names([pid.as_str()]);
    project.open("b");
    driver.wait_code(1);
    project.ran_once(["a", "b"]);
}

/// Remains of kills and lost runs are named, are no error, and go aside on request.
#[test]
fn things_left_lying_about() {
    let project = failed();
    for folder in ["attempts/run_gone_1", "state/run_gone_1", "repair-x"] {
        project.write(format!(".onward/{folder}/file"), "kept");
    }
    project.write(".onward/run/run_gone_1.lock", "");
    for path in [".onward/repair-x", ".onward/run/run_gone_1.lock"] {
        let mode = if path.ends_with("lock") { 0o600 } else { 0o700 };
        fs::set_permissions(project.path(path), fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    let found = explained(&project, 0, &["stray-folder"]);
    for code in ["stray-folder", "stale-lock", "leftover"] {
        assert!(codes(&found).contains(&code.to_owned()), "{code}: {found:#}");
    }
    let done = repaired_and_completed(&project);
    let aside = project.path(done["aside"].as_str().expect("a folder"));
    assert_eq!(fs::read_to_string(aside.join("attempts/run_gone_1/file")).expect("a kept file"), "kept");
}

/// The repair itself is killed at every step. The store is the old one or the new one, never neither; a second try is
/// all it takes.
#[cfg(feature = "kill-points")]
#[test]
fn a_repair_that_is_killed() {
    for point in
        ["salvage.before-copy", "salvage.after-copy", "salvage.before-swap", "salvage.after-swap", "salvage.after-head"]
    {
        let mut project = failed();
        change(&store(&project, "onward.db"), |bytes| {
            let at = find(bytes, "\"type\":\"phase_completed\",\"phase\":\"b\"");
            bytes[at + 9] ^= 1;
        });
        let before = project.command(["log", "--json"]).expect(0).json();
        project.set_env("ONWARD_KILL_POINT", point);
        assert_eq!(project.command(["doctor", "--repair"]).code, 137, "{point}");
        project.remove_env("ONWARD_KILL_POINT");
        let new = ["salvage.after-swap", "salvage.after-head"].contains(&point);
        project.command(["status"]).expect(if new { 0 } else { 12 });
        let log = project.command(["log", "--json"]).expect(0).json();
        assert_eq!(
            log["checkpoints"].as_array().map(Vec::len),
            before["checkpoints"].as_array().map(Vec::len),
            "{point}"
        );
        project.command(["doctor", "--repair"]).expect(0);
        project.command(["doctor"]).expect(0);
        project.write("fixed", "");
        project.command(["run", "--resume"]).expect(0);
        project.ran_once(["a", "b"]);
    }
}

/// A file that git opens whatever it is asked is a pipe. Nobody waits for it: the doctor says so, and the runs of the store are looked at.
#[test]
fn a_pipe_in_the_place_of_a_file_of_git_is_not_waited_for() {
    let project = failed();
    project.git_init();
    for name in [".git/HEAD", ".git/config"] {
        let (file, aside) = (project.path(name), project.path("aside"));
        fs::rename(&file, &aside).expect("a file of git");
        assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo starts").success());
        let found = project.command(["doctor", "--json"]).expect(12).json();
        let said = found["findings"].as_array().expect("a list").iter().find(|one| one["code"] == "git-failed");
        let said = said.unwrap_or_else(|| panic!("{found}"));
        assert!(said["message"].as_str().is_some_and(|text| text.contains(name)), "{found}");
        fs::rename(&aside, &file).expect("a file of git");
    }
    // Files that git opens sooner or later, and that need not be there: no start waits for them either.
    fs::create_dir_all(project.path(".git/objects/info")).expect("a folder of git");
    for name in ["packed-refs", "shallow", "info/attributes", "objects/info/alternates"] {
        let file = project.path(format!(".git/{name}"));
        assert!(!file.exists(), "{name}");
        assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo starts").success());
        let looked = project.command(["resume", "--dry-run"]);
        assert!(looked.took < Duration::from_secs(10), "{name}: {looked}");
        let found = project.command(["doctor", "--json"]).expect(12).json();
        assert!(found.to_string().contains(name), "{found}");
        fs::remove_file(&file).expect("our own pipe");
    }
    project.command(["doctor"]).expect(0);
}
