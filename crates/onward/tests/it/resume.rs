//! Going on: what is found, what is asked, what is taken up.

use onward_testkit::wait_until;

use crate::chain::{HELD, killed_in_b};
use crate::project;

/// The clock was an hour ahead while the run worked, and was set right. When the run last moved is in the future, so
/// nothing is guessed: it is asked about, and a resume goes on.
#[test]
fn clock_went_backwards() {
    let mut project = project();
    project.set_env("LD_PRELOAD", crate::faketime());
    project.set_env("FAKETIME", "+1h");
    killed_in_b(&project, HELD);
    project.remove_env("LD_PRELOAD");
    project.remove_env("FAKETIME");
    project.open("b");
    project.command(["run"]).expect(14).err_names(["future"]);
    assert_eq!(project.order("begin"), ["a", "b"]);
    project.command(["run", "--resume"]).expect(0);
    project.ran_once(["a", "c"]);
}

/// A bit was flipped in the checkpoint that a left. It is said with what is left of it, the others can be read, and the run
/// goes on by its journal; going back to the damaged one is refused, and nothing is overwritten.
#[test]
fn corrupted_checkpoint() {
    let project = project();
    project.plan(&HELD.replace("step c", "step c '! test -e broken'").replace(" hold", ""));
    project.write("broken", "");
    project.command(["run"]).expect(1);
    let log = project.command(["log", "--json"]).json();
    let of = |phase: &str| {
        let rows = log["checkpoints"].as_array().expect("checkpoints").clone();
        rows.iter().find(|row| row["phase"] == phase).expect("a checkpoint")["id"].as_str().expect("an id").to_owned()
    };
    let store = project.path(".onward/onward.db");
    let mut bytes = std::fs::read(&store).expect("the store");
    let text = format!("\"path\":\"/head\",\"value\":{{\"id\":\"{}\"", of("a"));
    let at = (0..bytes.len()).find(|at| bytes[*at..].starts_with(text.as_bytes())).expect("the patch of a");
    bytes[at + 3] ^= 4;
    std::fs::write(&store, &bytes).expect("the store");
    project.command(["show", &of("a")]).expect(12);
    project.command(["log"]).expect(0);
    std::fs::remove_file(project.path("broken")).expect("it is there");
    project.command(["resume", "--checkpoint", &of("a")]).expect(12);
    project.command(["resume"]).expect(0);
    project.ran_once(["a", "b"]);
}

/// A later version of the program has written to the store. Whoever goes on with this one is told so and changes not a byte;
/// with the store as it was, the run goes on.
#[test]
fn newer_format() {
    let project = project();
    project.plan(&HELD.replace("step c", "step c '! test -e broken'").replace(" hold", ""));
    project.write("broken", "");
    project.command(["run"]).expect(1);
    let store = project.path(".onward/onward.db");
    let bytes = std::fs::read(&store).expect("the store");
    let mut newer = bytes.clone();
    crate::doctor::of_a_later_version(&mut newer);
    std::fs::write(&store, &newer).expect("the store");
    std::fs::remove_file(project.path("broken")).expect("it is there");
    let before = project.tree();
    for words in [&["run"][..], &["run", "--resume"], &["resume"], &["status"], &["run", "--fresh"]] {
        project.command(words).expect(17);
    }
    assert_eq!(project.tree(), before);
    std::fs::write(&store, &bytes).expect("the store");
    project.command(["resume"]).expect(0);
    project.ran_once(["a", "b"]);
}

/// The branch of a run was deleted. Going on is refused, whatever else is said; a fresh start is possible.
#[test]
fn branch_deleted() {
    let project = project();
    project.plan(HELD);
    project.git_init();
    project.git(["switch", "-q", "-c", "feat"]);
    killed_in_b(&project, HELD);
    project.git(["switch", "-q", "main"]);
    project.git(["branch", "-q", "-D", "feat"]);
    for words in [&["run"][..], &["run", "--resume"], &["run", "--yes"], &["resume", "--accept-stale"]] {
        project.command(words).expect(13).err_names(["feat"]);
    }
    let refused = project.command(["run", "--json"]).expect(13).json_lines();
    assert_eq!((&refused[0]["type"], &refused[0]["findings"][0]["kind"]), (&"refusal".into(), &"branch_gone".into()));
    assert_eq!(project.order("begin"), ["a", "b"]);
    project.open("b");
    project.command(["run", "--fresh"]).expect(0);
    assert_eq!(project.count("end", "b"), 1);
}

/// The text of the issue was changed while the run was down, and so was a label. The text is asked about, the label is a
/// warning; what was accepted once is not asked again.
#[test]
fn issue_text_changed() {
    let project = project();
    let told = |body: &str, label: &str| {
        let issue = format!(r#"{{"title":"t","body":"{body}","labels":[{{"name":"{label}"}}]}}"#);
        project.script("gh", &format!("#!/bin/sh\necho '{issue}'\n"));
    };
    told("do this", "ready");
    killed_in_b(&project, &HELD.replace("name: demo", "name: demo\nissue: { number: 42 }"));
    told("do that", "blocked");
    project.command(["run", "--resume"]).expect(14).err_names(["issue", "--accept-stale"]);
    assert_eq!(project.order("begin"), ["a", "b"]);
    let second = project.start(["run", "--resume", "--accept-stale"]);
    project.wait_ledger("begin", "b", 2);
    project.kill_everything();
    assert!(second.wait().err.contains("blocked"), "the label is named");
    project.open("b");
    project.command(["run"]).expect(0);
    project.ran_once(["a", "c"]);
}

/// A finished phase, one that waits and the order were edited between two starts. A plain start asks; with --resume the new
/// plan counts for what is not done, and the finished one is asked about.
#[test]
fn plan_edited_between() {
    let project = project();
    killed_in_b(&project, HELD);
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          x: { run: step x }
          c: { needs: [b, x], run: step c 'echo edited > ../c' }
          b: { needs: a, run: step b hold }
          a: { run: step a 'echo edited > ../a' }
        ",
    );
    project.open("b");
    project.command(["run"]).expect(14).err_names(["--accept-stale", "--retry a", "--plan-from run"]);
    project.command(["run", "--resume"]).expect(14).err_names(["phase a", "--accept-stale", "--retry a"]);
    let dry = project.command(["run", "--resume", "--dry-run", "--json"]).expect(0).json();
    let x = dry["phases"].as_array().expect("phases").iter().find(|phase| phase["id"] == "x").cloned().expect("x");
    assert_eq!(x["will_run"], true, "{x}");
    project.command(["run", "--resume", "--accept-stale"]).expect(0);
    project.ran_once(["a", "x", "c"]);
    assert!(project.root().join("c").exists() && !project.root().join("a").exists());
    let events = project.command(["log", "--events", "--json"]).expect(0).out;
    assert!(events.contains("plan_revised") && events.contains("stale_accepted"));
    let shown = project.command(["show", "@", "--json"]).expect(0).json();
    assert_eq!(shown["phases"][0]["id"], "x", "the checkpoint behind the edit is the new plan's");
}

/// A finished phase gets another name, and a new phase gets the old one. The new one is done, under a key of its own, and
/// nothing is amiss in the store.
#[test]
fn an_old_name_for_new_work() {
    let project = project();
    let plan = |first: &str, more: &str| {
        let keys = "'echo $ONWARD_KEY >> ../keys'";
        project.plan(&format!(
            "onward: 1\nname: demo\nphases:\n  {first}: {{ run: step one {keys} }}\n{more}  z: {{ run: step z 'test -e ../go' }}\n"
        ))
    };
    plan("a", "");
    project.command(["run"]).expect(1);
    plan("b", "");
    project.command(["resume", "--accept-stale"]).expect(1);
    project.command(["doctor"]).expect(0);
    plan("b", "  a: { run: step two 'echo $ONWARD_KEY >> ../keys' }\n");
    project.write("../go", "");
    project.command(["resume"]).expect(0);
    project.ran_once(["one", "two"]);
    let keys = project.read("../keys");
    let keys: Vec<&str> = keys.lines().collect();
    assert!(keys.len() == 2 && keys[0] != keys[1], "{keys:?}");
}

/// The driver died, its phase lives on. A start waits for it and takes its result; nothing is done twice.
#[test]
fn orphan_still_alive() {
    let project = project();
    project.plan(HELD);
    let first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    first.kill();
    let second = project.start(["run"]);
    wait_until("the second start to wait", || second.err().contains("still at work").then_some(()));
    project.open("b");
    second.wait_code(0);
    project.ran_once(["a", "b", "c"]);
}

/// The phase that is to be done again is still at work. Nothing is guessed: to wait for it or to end it has to be said.
#[test]
fn from_a_phase_that_is_at_work() {
    let project = project();
    project.plan(HELD);
    let first = project.start(["run"]);
    project.wait_ledger("begin", "b", 1);
    first.kill();
    project.command(["resume", "--from", "a"]).expect(14).err_names(["--orphan wait", "--orphan kill"]);
    project.open("b");
    project.command(["resume", "--from", "a", "--orphan", "kill"]).expect(0);
    assert_eq!(project.order("end").iter().filter(|phase| *phase == "a").count(), 2);
    project.kill_everything();
}

/// One phase alone is wanted, first one whose needs are open and then one that can be done. The rest waits.
#[test]
fn only_what_can_be_done() {
    let project = project();
    killed_in_b(&project, HELD);
    project.command(["run", "--resume", "--only", "c"]).expect(2).err_names(["b"]);
    project.open("b");
    project.command(["run", "--resume", "--only", "b"]).expect(0);
    assert_eq!(project.order("end"), ["a", "b"]);
    project.command(["run"]).expect(0);
    project.ran_once(["a", "c"]);
}

/// The plan file is gone. A plain start names the unfinished run and asks; the plan that was kept finishes it.
#[test]
fn plan_file_is_gone() {
    let project = project();
    let run = killed_in_b(&project, HELD);
    std::fs::remove_file(project.path("onward.yaml")).expect("the plan was there");
    project.command(["run"]).expect(14).err_names([run.as_str(), "onward.yaml", "--plan-from run"]);
    project.open("b");
    project.command(["resume", &run, "--plan-from", "run"]).expect(0);
    project.ran_once(["a", "c"]);
}

/// A phase that says it is done is done when its probe sees the effect. Where it does not, the phase has failed.
#[test]
fn done_when_is_asked_after_the_run() {
    let project = project();
    project.plan(
        "
        onward: 1
        name: demo
        phases:
          a: { run: step a, done-when: test -e ../there }
          b: { needs: a, run: step b }
        ",
    );
    project.command(["run"]).expect(1).err_names(["done-when"]);
    assert_eq!(project.order("end"), ["a"]);
    std::fs::write(project.root().join("there"), "").expect("outside the project");
    project.command(["resume"]).expect(0);
    assert_eq!(project.order("end"), ["a", "a", "b"]);
}

/// After the last retry a person is asked in words. Nothing is decided by Enter; skip lets the rest go on.
#[test]
fn words_after_a_failure() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a false }\n  b: { needs: a, run: step b }\n");
    let mut terminal = project.terminal(["run"]);
    terminal.expect("[q]: ");
    terminal.send("\n");
    terminal.wait_code(1);
    let mut terminal = project.terminal(["resume"]);
    terminal.expect("[q]: ");
    terminal.send("clean\n");
    terminal.expect("does not say what it writes");
    terminal.expect("[q]: ");
    terminal.send("skip\n");
    terminal.wait_code(0);
    assert_eq!(project.order("end"), ["b"]);
}

/// A person who has the run put away after a failure is told that it is, and not to go on with it.
#[test]
fn abort_after_a_failure_says_that_the_run_is_archived() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a false }\n");
    let mut terminal = project.terminal(["run"]);
    terminal.expect("[q]: ");
    terminal.send("abort\n");
    terminal.expect("is archived");
    terminal.expect("onward show ");
    let ran = terminal.wait_code(1);
    assert!(!format!("{}{}", ran.out, ran.err).contains("onward resume"), "it cannot be gone on with\n{}", ran.out);
    let run = project.command(["list", "--all", "--json"]).json()["runs"][0]["run"].as_str().expect("an id").to_owned();
    project.command(["show", &run]).expect(0);
}

/// The plan says that a person is asked what becomes of a failure. Where nobody is there, all answers are told as commands, also
/// for programs; at a terminal the words are offered as after any failure.
#[test]
fn a_failure_that_asks() {
    let project = project();
    project.plan(
        "onward: 1\nname: demo\nphases:\n  a: { run: step a false, on-failure: ask }\n  b: { needs: a, run: step b }\n",
    );
    let asked = project.command(["run", "--json"]).expect(14);
    let asked = asked.err_names(["phase a failed", "--retry a", "--adopt a", "--skip a"]);
    assert!(asked.out.contains("take the phase as done"), "{}", asked.out);
    let mut terminal = project.terminal(["resume"]);
    terminal.expect("[q]: ");
    terminal.send("\n");
    terminal.wait_code(1);
    let mut terminal = project.terminal(["resume"]);
    terminal.expect("[q]: ");
    terminal.send("skip\n");
    terminal.wait_code(0);
    assert_eq!(project.order("end"), ["b"]);
}

/// The question as the documents show it, recorded from a terminal: a run that was killed, with a note, a label that is
/// gone and a file that was edited by hand. To record it anew: `UPDATE_DOCS=1`.
#[test]
fn the_question_in_the_documents() {
    let project = project();
    project.write("label", "ready");
    project.plan(
        "
        onward: 1
        name: auth-refresh
        freshness:
          probes:
            label: { command: cat label, if-changed: warn }
        phases:
          track: { run: step track }
          a: { needs: track, run: step a 'echo one > api.ts', writes: api.ts }
          b: { needs: a, run: \"step b 'echo auth module done >> $ONWARD_PROGRESS; touch ../noted; hold'\" }
          docs: { needs: b, run: step docs }
          pull-request: { needs: [b, docs], run: step pr }
        ",
    );
    let _first = project.start(["run"]);
    wait_until("the note", || project.root().join("noted").exists().then_some(()));
    project.kill_everything();
    let run = project.command(["status", "--json"]).json()["run"].as_str().expect("a run").to_owned();
    project.write("label", "blocked");
    project.write("api.ts", "by hand");
    let mut terminal = project.terminal(["run"]);
    terminal.expect("[r]: ");
    let shown = recorded(&terminal.text(), &run);
    terminal.send("\u{3}");
    terminal.wait_code(130);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/resume.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let (start, end) = ("<!-- recording: start -->\n", "<!-- recording: end -->");
    let from = page.find(start).expect("it begins") + start.len();
    let to = page.find(end).expect("it ends");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, format!("{}{shown}{}", &page[..from], &page[to..])).expect("it can be written");
        return;
    }
    assert_eq!(&page[from..to], shown, "docs/resume.md is not what is shown");
}

/// The text that was shown, with the run's id and all times as they are on every day.
fn recorded(text: &str, run: &str) -> String {
    let text = text.replace(run, "run_auth_refresh_20261115_101530");
    let mut lines = String::new();
    for line in text.lines() {
        let words: Vec<String> = line.split(' ').map(same_time).collect();
        let line = words.join(" ");
        let line = match (line.find("last sign of life "), line.find(" ago: ")) {
            (Some(from), Some(to)) => format!("{}last sign of life 12 min{}", &line[..from], &line[to..]),
            _ => line,
        };
        lines.push_str(line.trim_end());
        lines.push('\n');
    }
    format!("```text\n{lines}```\n")
}

fn same_time(word: &str) -> String {
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let bare = word.trim_matches(|c: char| !c.is_ascii_digit());
    match bare.split_once(':') {
        Some((hour, minute)) if digits(hour) && digits(minute) => word.replace(bare, "10:05"),
        _ => word.to_owned(),
    }
}

/// A run rests in the middle of a plan that another plan uses, and that one is edited. A plain start asks, as after an edit of
/// the plan itself; with `--resume` the edit counts for what is not done, and what is done is not done again.
#[test]
fn an_edited_plan_inside_is_noticed() {
    let project = project();
    let inner = |last: &str| {
        format!("onward: 1\nname: inner\nphases:\n  x: {{ run: step x }}\n  y: {{ needs: x, run: {last} }}\n")
    };
    project.write("plans/inner.yaml", inner("step y hold"));
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a }\n  b: { needs: a, uses: plans/inner.yaml }\n");
    let first = project.start(["run"]);
    project.wait_ledger("begin", "y", 1);
    project.kill_everything();
    first.wait_code(137);
    project.write("plans/inner.yaml", format!("# a comment\n{}", inner("step y hold")));
    let would = project.command(["run", "--dry-run", "--json"]).json();
    assert_eq!(would["phases"].as_array().map(Vec::len), Some(4), "{would}");
    project.write("plans/inner.yaml", inner("step other"));
    project.command(["run"]).expect(14).err_names(["plan", "--resume"]);
    project.command(["run", "--resume"]).expect(0);
    assert_eq!(project.order("end"), ["a", "x", "other"]);
    project.ran_once(["a", "x", "other"]);
}

/// A matrix and a plan inside are done, a later phase failed; then the matrix gets one more value and the plan inside one more
/// phase. Both additions are done, once each, and nothing that was done is done again.
#[test]
fn parts_are_added_to_what_is_done() {
    let project = project();
    let inner = "onward: 1\nname: inner\nphases:\n  x: { run: step x }\n";
    let plan = |values: &str| {
        format!(
            "onward: 1\nname: demo\nphases:
  m: {{ matrix: {{ k: [{values}] }}, env: {{ K: \"${{{{ matrix.k }}}}\" }}, run: step m-$K }}
  u: {{ uses: inner.yaml }}
  c: {{ needs: [m, u], run: step c 'test -e ok' }}
"
        )
    };
    project.write("inner.yaml", inner);
    project.plan(&plan("1, 2"));
    project.command(["run"]).expect(1);
    project.write("ok", "");
    project.write("inner.yaml", format!("{inner}  y: {{ needs: x, run: step y }}\n"));
    project.plan(&plan("1, 2, 3"));
    project.command(["run", "--resume"]).expect(0);
    project.ran_once(["m-1", "m-2", "m-3", "x", "y"]);
    assert_eq!(project.order("end").last().map(String::as_str), Some("c"));
}

/// A phase failed, and its plan file is gone besides. Every answer that is offered can be typed as it stands and leads on.
#[test]
fn a_failure_and_no_plan_file() {
    let plan = "
        onward: 1
        name: demo
        phases:
          a: { run: step a }
          b: { needs: a, run: 'step b; test -e ok' }
    ";
    for answer in 0..4 {
        let project = project();
        let file = project.plan(plan);
        project.command(["run"]).expect(1);
        std::fs::remove_file(file).expect("it is ours");
        project.write("ok", "");
        let asked = project.command(["run", "--json"]).expect(14).json_lines();
        let command = asked[0]["choices"][answer]["command"].as_str().expect("an answer is offered").to_owned();
        project.command(command.split(' ').skip(1)).expect(0);
        project.ran_once(["a"]);
    }
}

/// The plan of an unfinished run was edited, and a key is misspelt. `resume` says where, and what was meant.
#[test]
fn a_misspelt_key_in_the_plan_of_a_run_is_shown_with_its_place() {
    let project = project();
    project.plan("onward: 1\nphases:\n  a: { run: \"false\" }\n");
    project.command(["run"]).expect(1);
    project.plan("onward: 1\nphases:\n  a: { run: \"true\", nedes: [b] }\n");
    for args in [&["resume"][..], &["resume", "@"], &["run", "--resume=@"]] {
        let asked = project.command(args).expect(14);
        for word in ["onward.yaml:3:", "nedes", "did you mean `needs`?", "--plan-from run"] {
            assert!(asked.err.contains(word), "{args:?} {word}: {}", asked.err);
        }
        assert!(!asked.err.contains("gone"), "{}", asked.err);
    }
    project.command(["run"]).expect(2).err_names(["onward.yaml:3:", "did you mean"]);
}
