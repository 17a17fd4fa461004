//! Sharing through a run: messages, knowledge, decisions, conflicts and the team. Said twice it is there once,
//! whatever was killed in between.

use std::fs;

use onward_testkit::{Running, Signal, TestProject, wait_until};
use serde_json::{Value, json};

use crate::project;

const WAITING: &str = "
    onward: 1
    name: demo
    team:
      - { agent: ada, role: design }
      - { agent: bob, role: build }
    phases:
      design: { external: { instructions: Design it. } }
      build: { needs: design, external: { instructions: Build it. } }
";

fn waiting() -> TestProject {
    let project = project();
    project.plan(WAITING);
    project.command(["run"]).expect(15);
    project
}

fn inbox(project: &TestProject, agent: &str) -> Vec<Value> {
    let told = project.command(["message", "inbox", agent, "--json"]).expect(0).json();
    told["messages"].as_array().cloned().unwrap_or_default()
}

fn ids(project: &TestProject, agent: &str) -> Vec<String> {
    inbox(project, agent).iter().map(|message| message["id"].as_str().unwrap_or_default().to_owned()).collect()
}

fn send<'a>(from: &'a str, to: &'a str, kind: &'a str, id: &'a str, body: &'a str) -> [&'a str; 12] {
    ["message", "send", "--from", from, "--to", to, "--type", kind, "--id", id, "--body", body]
}

/// The facts of this kind in the journal.
fn facts(project: &TestProject, what: &str) -> usize {
    let told = project.command(["log", "--events", "--json"]).expect(0).json();
    let all = told["events"].as_array().expect("a list").iter();
    all.filter(|event| event["fact"]["what"] == what).count()
}

/// Moves with every commit of the store.
fn head(project: &TestProject) -> Vec<u8> {
    fs::read(project.path(".onward/HEAD")).expect("the head file of a store")
}

/// A driver at work that answers nobody for now, and a message that was posted to it.
fn posted_to_a_stopped_driver(project: &TestProject) -> (Running, Running) {
    project.plan("onward: 1\nname: demo\nphases:\n  a: { run: step a hold }\n  b: { needs: a, run: step b hold }\n");
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "a", 1);
    driver.signal(Signal::SIGSTOP);
    let before = head(project);
    let poster = project.start(send("a", "b", "request", "MSG-1", "once"));
    wait_until("it is posted", || (head(project) != before).then_some(()));
    (driver, poster)
}

/// Whoever sent a message was killed before it was answered, and sends it again. It is one message, and the driver that was
/// stopped meanwhile delivers it once.
#[test]
fn a_sender_is_killed_between_post_and_answer() {
    let project = project();
    let (driver, poster) = posted_to_a_stopped_driver(&project);
    poster.kill();
    driver.signal(Signal::SIGCONT);
    project.command(send("a", "b", "request", "MSG-1", "once")).expect(0);
    assert_eq!((ids(&project, "b"), facts(&project, "message_sent")), (vec!["MSG-1".to_owned()], 1));
    project.kill_everything();
    driver.wait_code(137);
}

/// Driver and sender are killed while a message is on its way. It is on record with the next thing that anybody says, once;
/// acknowledged it stays acknowledged when the run goes on.
#[test]
fn everything_is_killed_between_post_and_answer() {
    let project = project();
    let (driver, poster) = posted_to_a_stopped_driver(&project);
    project.kill_everything();
    poster.wait_code(137);
    driver.wait_code(137);
    assert_eq!(facts(&project, "message_sent"), 0);
    project.command(send("a", "b", "request", "MSG-1", "once")).expect(0);
    project.command(send("a", "b", "request", "MSG-2", "twice")).expect(0);
    assert_eq!(
        (ids(&project, "b"), facts(&project, "message_sent")),
        (vec!["MSG-1".to_owned(), "MSG-2".to_owned()], 2)
    );
    project.command(["message", "ack", "MSG-1"]).expect(0);
    project.command(["message", "ack", "MSG-1"]).expect(0);
    project.open("a");
    project.open("b");
    project.command(["run", "--resume"]).expect(0);
    assert_eq!((ids(&project, "b"), facts(&project, "messages_acknowledged")), (vec!["MSG-2".to_owned()], 1));
}

/// Under the id of a message something else is sent. It is refused and the message stays; what is too large, and an id or an agent
/// without a name, is refused too, and a run that has no such message or conflict says so.
#[test]
fn what_cannot_be_shared_is_refused() {
    let project = waiting();
    project.command(send("ada", "bob", "request", "MSG-1", "one")).expect(0);
    project.command(send("ada", "bob", "request", "MSG-1", "two")).expect(2).err_names(["MSG-1", "other content"]);
    project.command(send("ada", "bob", "gossip", "MSG-2", "x")).expect(2).err_names(["handoff"]);
    project.command(send("ada", "bob", "request", "MSG 2", "x")).expect(2).err_names(["blank"]);
    project.command(send("*", "bob", "request", "MSG-2", "x")).expect(2);
    project.command(send("ada", "bob", "request", "MSG-2", " ")).expect(2).err_names(["empty"]);
    project.command(send("ada", "bob", "request", "MSG-2", &"x".repeat(70_000))).expect(2).err_names(["65536"]);
    project.command(["message", "ack", "MSG-1", "MSG-404"]).expect(10).err_names(["MSG-404"]);
    project.command(["message", "ack", "MSG-1", "--as", "eve"]).expect(2).err_names(["bob", "eve"]);
    assert_eq!(inbox(&project, "bob")[0]["body"], "one");
    let conflict = ["conflict", "start", "CONF-1", "--between", "ada,bob", "--topic", "tabs"];
    project.command(conflict).expect(0);
    project.command(conflict).expect(0);
    project.command(["conflict", "round", "CONF-1", "--text", "spaces", "--by", "bob"]).expect(0);
    project.command(["conflict", "resolve", "CONF-1", "--resolution", "spaces"]).expect(0);
    project.command(["conflict", "resolve", "CONF-1", "--resolution", "tabs"]).expect(2).err_names(["spaces"]);
    project.command(["conflict", "round", "CONF-1", "--text", "no"]).expect(2).err_names(["resolved"]);
    project.command(["conflict", "round", "CONF-2", "--text", "no"]).expect(10).err_names(["CONF-2"]);
    assert_eq!((facts(&project, "conflict_started"), facts(&project, "conflict_resolved")), (1, 1));
}

/// A broadcast is for everybody but its sender, and is pending until each member has acknowledged it. A request waits for its answer.
#[test]
fn messages_are_pending_until_all_have_read_them() {
    let project = waiting();
    project.command(send("ada", "*", "broadcast", "MSG-1", "all")).expect(0);
    project.command(send("ada", "bob", "request", "MSG-2", "may I?")).expect(0);
    assert_eq!((ids(&project, "ada"), ids(&project, "bob").len()), (Vec::new(), 2));
    project.command(["message", "ack", "MSG-1"]).expect(2).err_names(["--as"]);
    let messages = || {
        let checkpoint = project.command(["checkpoint"]).expect(0).out;
        project.command(["show", checkpoint.trim(), "--json"]).expect(0).json()["messages"].clone()
    };
    let before = messages();
    assert_eq!((&before["pending"], &before["awaiting"]), (&json!(["MSG-1", "MSG-2"]), &json!(["MSG-2"])));
    project.command(["message", "ack", "MSG-1", "MSG-2", "--as", "bob"]).expect(0);
    let answer = send("bob", "ada", "response", "MSG-3", "you may");
    project.command(answer.into_iter().chain(["--correlation", "MSG-2", "--priority", "high"])).expect(0);
    let after = messages();
    assert_eq!((&after["pending"], &after["awaiting"]), (&json!(["MSG-3"]), &json!([])));
    assert_eq!((&after["sent"][2]["priority"], &after["sent"][2]["correlation"]), (&json!("high"), &json!("MSG-2")));
}

/// The phases of a plan are the tasks of its team. What each member has done, and what is left, is kept current.
#[test]
fn the_team_is_kept_current() {
    let project = waiting();
    let team = || project.command(["team", "--json"]).expect(0).json()["members"].clone();
    let member = |at: usize| {
        let members = team();
        let member = &members[at];
        (member["status"].clone(), member["tasks_completed"].clone(), member["tasks_pending"].clone())
    };
    assert_eq!(member(0), (json!("idle"), json!(0), json!(1)));
    project.command(["report", "start", "design"]).expect(0);
    assert_eq!(member(0), (json!("active"), json!(0), json!(1)));
    project.command(["report", "done", "design"]).expect(0);
    assert_eq!((member(0), member(1)), ((json!("done"), json!(1), json!(0)), (json!("idle"), json!(0), json!(1))));
    let told = project.command(["team"]).expect(0).out;
    assert!(told.contains("ada  design  done, 1 of 1 tasks done"), "{told}");
}

/// A message, a decision and an entry hold a secret of the environment. It is cut before anything is stored, and shown nowhere.
#[test]
fn secrets_are_cut_out_of_what_is_shared() {
    let mut project = project();
    project.set_env("DEPLOY_TOKEN", "hunter2-hunter2");
    project.plan(WAITING);
    project.command(["run"]).expect(15);
    project.command(send("ada", "bob", "request", "MSG-1", "use hunter2-hunter2")).expect(0);
    project.command(["decision", "add", "the token is hunter2-hunter2"]).expect(0);
    let knowledge =
        ["knowledge", "add", "--id", "KE-1", "--type", "pattern", "--title", "t", "--body", "hunter2-hunter2"];
    project.command(knowledge).expect(0);
    project.command(knowledge).expect(0);
    project.remove_env("DEPLOY_TOKEN");
    let told =
        [&["message", "inbox", "bob", "--json"][..], &["knowledge", "list", "--json"], &["log", "--events", "--json"]];
    for verb in told {
        let told = project.command(verb).expect(0).out;
        assert!(!told.contains("hunter2"), "{told}");
    }
}

/// The folder of another tool is written and taken in again elsewhere. Messages, conflicts, knowledge and decisions are there with
/// all that was said.
#[test]
fn what_is_shared_is_in_the_files_of_other_tools() {
    let project = waiting();
    project.command(send("ada", "bob", "request", "MSG-1", "may I?")).expect(0);
    project.command(["decision", "add", "tokens", "--by", "ada"]).expect(0);
    project.command(["knowledge", "add", "--id", "KE-1", "--type", "pattern", "--title", "t", "--body", "b"]).expect(0);
    project.command(["conflict", "start", "CONF-1", "--between", "ada,bob", "--topic", "tabs"]).expect(0);
    project.command(["export", "@", "--format", "crunch", "--output", "out"]).expect(0);
    let other = crate::project();
    for entry in fs::read_dir(project.path("out")).expect("a folder").flatten() {
        let content = fs::read(entry.path()).expect("a file");
        other.write(format!("in/{}", entry.file_name().to_string_lossy()), content);
    }
    let run = other.command(["import", "in"]).expect(0).out.trim().to_owned();
    let told = other.command(["message", "inbox", "bob", "--json", "--run", &run]).expect(0).json();
    assert_eq!((&told["messages"][0]["id"], &told["messages"][0]["body"]), (&json!("MSG-1"), &json!("may I?")));
    let told = other.command(["knowledge", "list", "--json", "--run", &run]).expect(0).json();
    assert_eq!((&told["entries"][0]["title"], &told["entries"][0]["state"]), (&json!("t"), &json!("captured")));
    let shown = other.command(["show", &run, "--json"]).expect(0).out;
    assert!(!shown.is_empty());
    other.command(["conflict", "resolve", "CONF-1", "--resolution", "tabs", "--run", &run]).expect(0);
}
