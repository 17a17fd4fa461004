//! Changes while a run was down: files, artifacts, HEAD, probes; and who is told.

use onward_testkit::TestProject;

use crate::project;

/// a and b are done, c was at work when everything was killed.
fn killed_in_c(project: &TestProject, plan: &str) {
    project.plan(plan);
    if !project.path(".git").exists() {
        project.git_init();
    }
    let _first = project.start(["run"]);
    project.wait_ledger("begin", "c", 1);
    project.kill_everything();
}

const THREE: &str = "
onward: 1
name: demo
phases:
  a: { run: step a 'printf \"1\\\\n2\\\\n3\\\\n\" > a.txt', writes: a.txt, artifacts: { it: a.txt } }
  b: { needs: [{ phase: a, staleness: outputs }], run: step b }
  c: { needs: b, run: step c hold }
";

/// Somebody edited what a left behind, and b was done with it. The file is named with what changed in it, b is asked about; where
/// b says that it does not matter, the run goes on. The edit stays in either case.
#[test]
fn edited_behind_a_phase() {
    for (staleness, code) in [("outputs", 14), ("ignore", 0)] {
        let project = project();
        killed_in_c(&project, &THREE.replace("outputs", staleness));
        project.write("a.txt", "1\ntwo\n3\n4\n");
        project.open("c");
        let found = project.command(["resume", "--json"]).expect(code);
        assert!(
            found.err.contains("a.txt (+2 -1)") || found.out.contains("a.txt (+2 -1)"),
            "{}{}",
            found.out,
            found.err
        );
        if code == 14 {
            let question = found.json_lines().into_iter().find(|line| line["type"] == "question").expect("a question");
            let findings = question["findings"].as_array().expect("findings").clone();
            let changed = findings.iter().find(|finding| finding["kind"] == "output_changed").expect("the file");
            assert_eq!(changed["files"][0]["lines_added"], 2, "{changed}");
            project.command(["resume", "--retry", "b"]).expect(0);
            assert_eq!(project.count("end", "b"), 2);
        }
        assert_eq!(std::fs::read_to_string(project.path("a.txt")).expect("the edit"), "1\ntwo\n3\n4\n");
        project.ran_once(["a"]);
    }
}

/// The artifact of a finished phase was deleted. It is asked about by name; kept as it is it is not asked about again.
#[test]
fn artifact_is_gone() {
    let project = project();
    killed_in_c(&project, THREE);
    std::fs::remove_file(project.path("a.txt")).expect("it was there");
    project.command(["run"]).expect(14).err_names(["a.txt", "--accept-stale", "--retry a"]);
    let second = project.start(["run", "--resume", "--accept-stale"]);
    project.wait_ledger("begin", "c", 2);
    project.kill_everything();
    drop(second);
    project.open("c");
    project.command(["run"]).expect(0);
    project.ran_once(["a", "b"]);
}

/// A start was asked something that nobody answered. Whoever looks afterwards is told what stood in the way and how long ago that
/// was found, also while nobody may write; once the run goes on it is gone.
#[test]
fn a_question_is_remembered() {
    let project = project();
    project.write("ticket", "one");
    let plan = THREE.replace("phases:", "freshness: { probes: { ticket: { command: cat ticket } } }\nphases:");
    killed_in_c(&project, &plan);
    let before = project.command(["status", "--json"]).json();
    project.write("ticket", "two");
    std::fs::remove_file(project.path("a.txt")).expect("it was there");
    project.command(["run", "--resume"]).expect(14);
    let run = before["run"].as_str().expect("a run").to_owned();
    for words in [&["status"][..], &["status", "--json"], &["list"], &["list", "--json"], &[]] {
        let shown = project.command(words).expect(0).out;
        assert!(shown.contains("ago: the probe ticket sees a change"), "{words:?}: {shown}");
    }
    let why = project.command(["why", &run, "a"]).expect(0).out;
    assert!(why.contains("a.txt") && !why.contains("ticket"), "{why}");
    let after = project.command(["status", "--json"]).json();
    assert_eq!(before["updated_at"], after["updated_at"], "being asked is no change of the run");
    project.open("c");
    project.command(["run", "--resume", "--accept-stale"]).expect(0);
    let shown = project.command(["status"]).expect(0).out;
    assert!(!shown.contains("ticket"), "{shown}");
}

/// Two commits were made on the branch while the run was down. That is a warning with their number, and the run goes on.
#[test]
fn head_has_moved() {
    let project = project();
    killed_in_c(&project, THREE);
    for number in ["1", "2"] {
        project.git(["commit", "-q", "--allow-empty", "-m", number]);
    }
    project.open("c");
    project.command(["run"]).expect(0).err_names(["HEAD has moved by 2 commits"]);
    project.ran_once(["a", "b"]);
}

/// A probe with if-changed: rerun sees another file. The phase that reads it is done again without a question, the others are not.
#[test]
fn a_probe_does_it_again() {
    let project = project();
    project.write("map.csv", "one");
    killed_in_c(
        &project,
        "
        onward: 1
        name: demo
        freshness: { probes: { mapping: { files: [map.csv], if-changed: rerun } } }
        phases:
          a: { run: step a }
          b: { needs: a, run: step b, reads: map.csv }
          c: { needs: b, run: step c hold }
        ",
    );
    project.write("map.csv", "two");
    project.open("c");
    project.command(["run"]).expect(0).err_names(["mapping"]);
    project.ran_once(["a"]);
    assert_eq!(project.count("end", "b"), 2);
}

/// The run is to go on from an earlier checkpoint, but the ticket was changed since. That is asked before anything is brought
/// back, with the checkpoint in every answer; a dry run tells what would be done; once it is answered, the files are back and the
/// rest is done again.
#[test]
fn judged_before_it_goes_back() {
    let project = project();
    let plan = THREE.replace("phases:", "freshness: { probes: { ticket: { command: cat ../ticket } } }\nphases:");
    std::fs::write(project.root().join("ticket"), "one").expect("outside the project");
    killed_in_c(&project, &plan);
    let log = project.command(["log", "--json"]).json();
    let all = log["checkpoints"].as_array().expect("checkpoints").clone();
    let of_a =
        all.iter().find(|row| row["phase"] == "a").expect("a checkpoint")["id"].as_str().expect("an id").to_owned();
    std::fs::write(project.root().join("ticket"), "two").expect("outside the project");
    project.write("a.txt", "by hand\n");
    let before = project.command(["log", "--events", "--json"]).expect(0).out;
    let flag = format!("--checkpoint {of_a}");
    project.command(["resume", "--checkpoint", &of_a, "--yes"]).expect(14).err_names([
        "ticket",
        "--accept-stale",
        &flag,
    ]);
    assert_eq!(project.command(["log", "--events", "--json"]).expect(0).out, before, "nothing was brought back");
    assert_eq!(project.read("a.txt"), "by hand\n");
    let dry = project.command(["resume", "--checkpoint", &of_a, "--dry-run", "--json"]).expect(0).json();
    let will_run: Vec<&str> = dry["phases"]
        .as_array()
        .expect("phases")
        .iter()
        .filter(|phase| phase["will_run"] == true)
        .filter_map(|phase| phase["id"].as_str())
        .collect();
    assert_eq!(will_run, ["b", "c"]);
    project.open("c");
    project.command(["resume", "--checkpoint", &of_a, "--accept-stale"]).expect(0);
    assert_eq!((project.read("a.txt").as_str(), project.count("end", "b")), ("1\n2\n3\n", 2));
    project.ran_once(["a"]);
}

/// Another tool has left its records in the project. They are named in one line by those who start and those who look, with the
/// verb that takes them over; empty folders are nothing.
#[test]
fn records_of_other_tools() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n");
    std::fs::create_dir_all(project.path(".claude/checkpoints")).expect("a folder");
    let bare = project.command::<&str>([]).expect(0);
    assert!(!bare.err.contains(".claude"), "{}", bare.err);
    project.write(".claude/crunch/42/checkpoints/CP-1.yaml", "id: x\n");
    project.write(".claude/pipeline-state.json", "{}");
    for words in [&[][..], &["run"], &["status"], &["status", "--json"], &["init"]] {
        let said = project.command(words).expect(0).err;
        let lines: Vec<&str> = said.lines().filter(|line| line.contains(".claude")).collect();
        assert_eq!(lines.len(), 1, "{words:?}: {said}");
        assert!(lines[0].contains("pipeline-state.json") && lines[0].contains("crunch/42/checkpoints"), "{said}");
        assert!(lines[0].ends_with("onward import PATH"), "{said}");
    }
}

/// A run whose third phase failed, with the ids of its checkpoints, the newest first.
fn failed_in_c(project: &TestProject) -> Vec<String> {
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: step a }
          b: { needs: a, run: step b }
          c: { needs: b, run: step c '! test -e broken' }
        ",
    );
    project.write("broken", "");
    project.command(["run"]).expect(1);
    let log = project.command(["log", "--json"]).json();
    let rows = log["checkpoints"].as_array().expect("checkpoints").clone();
    rows.iter().map(|row| row["id"].as_str().expect("an id").to_owned()).collect()
}

/// Flips a bit where the store has this text; gives what stands there then.
fn flipped(project: &TestProject, text: &str) -> String {
    let path = project.path(".onward/onward.db");
    let mut bytes = std::fs::read(&path).expect("the store");
    let at = (0..bytes.len()).rfind(|at| bytes[*at..].starts_with(text.as_bytes())).expect("it is stored");
    bytes[at + 3] ^= 4;
    std::fs::write(&path, &bytes).expect("the store");
    String::from_utf8_lossy(&bytes[at..at + text.len()]).into_owned()
}

/// A bit was flipped in the latest checkpoint. Whoever asks for it is shown what is left of it and told which one is good; the run
/// goes on by its journal and says so; and what is damaged is not overwritten.
#[test]
fn latest_checkpoint_is_damaged() {
    let project = project();
    let all = failed_in_c(&project);
    let (latest, good) = (all[0].as_str(), all[1].as_str());
    let left = flipped(&project, &format!("\"path\":\"/head\",\"value\":{{\"id\":\"{latest}\""));
    let shown = project.command(["show", latest]).expect(12).err_names([".onward", good]);
    assert!(shown.out.contains(&left), "{}", shown.out);
    project.command(["resume", "--checkpoint", latest]).expect(12).err_names([latest, good]);
    std::fs::remove_file(project.path("broken")).expect("it is there");
    project.command(["resume"]).expect(0).err_names([latest, good, "by its journal"]);
    project.ran_once(["a", "b"]);
    let shown = project.command(["show", latest]).expect(12);
    assert!(shown.out.contains(&left), "it is as it was: {}", shown.out);
    project.command(["show", "@"]).expect(0);
}

/// A bit was flipped in the last record of the journal. The run does not go on; the place and the last checkpoint that can be
/// read are named, and nothing is written.
#[test]
fn journal_is_damaged() {
    let project = project();
    let all = failed_in_c(&project);
    flipped(&project, "\"run_ended\"");
    let before = std::fs::read(project.path(".onward/onward.db")).expect("the store");
    for words in [&["run"][..], &["resume"], &["resume", "--checkpoint", &all[0]], &["status"]] {
        project.command(words).expect(12).err_names([".onward", all[0].as_str(), "onward doctor"]);
    }
    project.command(["show", &all[0]]).expect(0);
    assert!(before == std::fs::read(project.path(".onward/onward.db")).expect("the store"), "nothing is overwritten");
    assert_eq!(project.count("begin", "c"), 1);
}

/// The run was told to stop, and then somebody edited a file that the interrupted phase writes. It is asked about, since the next
/// attempt may overwrite it; once it is answered the phase runs.
#[test]
fn edited_behind_an_interrupted_phase() {
    let project = project();
    let plan =
        THREE.replace("run: step c hold", "run: step c 'echo begun > c.txt; hold; echo done > c.txt', writes: c.txt");
    project.plan(&plan);
    project.git_init();
    let first = project.start(["run"]);
    onward_testkit::wait_until("the file", || project.exists("c.txt").then_some(()));
    first.signal(onward_testkit::Signal::SIGTERM);
    first.wait_code(143);
    project.open("c");
    project.write("c.txt", "begun\nby hand\n");
    project.command(["run"]).expect(14).err_names(["c.txt", "--accept-stale", "--retry c"]);
    assert_eq!(project.read("c.txt"), "begun\nby hand\n");
    project.command(["run", "--resume", "--accept-stale"]).expect(0);
    assert_eq!(project.read("c.txt"), "done\n");
    project.ran_once(["a", "b"]);
}

/// A probe fails at the next start, though it prints what it printed before, and what it prints is a secret. That is no answer, so
/// it is asked about; when it answers again the run goes on, and what is kept of the answer has no secret in it.
#[test]
fn a_probe_that_fails_has_no_answer() {
    const TOKEN: &str = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let project = project();
    project.write("ticket", TOKEN);
    let probe = "{ command: cat ticket; test ! -e down }";
    let plan = THREE.replace("phases:", &format!("freshness: {{ probes: {{ ticket: {probe} }} }}\nphases:"));
    killed_in_c(&project, &plan);
    project.write("down", "");
    project.open("c");
    project.command(["run"]).expect(14).err_names(["the probe ticket gives no answer"]);
    std::fs::remove_file(project.path("down")).expect("it is there");
    project.command(["run"]).expect(0);
    let with_it = project.tree().into_keys().filter(|path| {
        let bytes = std::fs::read(project.root().join(path)).unwrap_or_default();
        bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes())
    });
    assert_eq!(with_it.filter(|path| !path.contains("/.git/")).collect::<Vec<_>>(), ["project/ticket"]);
}
