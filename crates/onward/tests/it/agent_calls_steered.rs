//! A run is steered while a tool call of its agent waits for a person: answered late, forked, taken back, edited, paused, cancelled,
//! deleted and killed. Whatever happens, a call is made only after a yes to it, and once.

use onward_testkit::TestProject;

use crate::agent_calls::{ASKS, PLAN, calls, in_home, waiting_call, with_agent};

/// Wants to deploy, as long as that was not done.
const ANY: &str = r#"init s1; [ -e "$HOME/deployed" ] || call "t$n" 'deploy now'; done_"#;

fn waits(plan: &str) -> TestProject {
    let project = with_agent(plan, &[]);
    project.write(project.home().join("agent/step-any"), ANY);
    project.command(["run"]).expect(15);
    project
}

fn call_id(project: &TestProject) -> String {
    let call = waiting_call(project).expect("a call waits");
    call["id"].as_str().expect("it has an id").to_owned()
}

fn run_id(project: &TestProject) -> String {
    let runs = project.command(["list", "--json"]).json();
    runs["runs"][0]["run"].as_str().expect("a run").to_owned()
}

fn deployed(project: &TestProject) -> String {
    in_home(project, "deployed")
}

/// Approved in the usual way, and gone on with to the end.
fn comes_to_its_end(project: &TestProject) {
    project.command(["approve", "@", "build", "--call", &call_id(project), "--resume"]).expect(0);
    assert_eq!(deployed(project), "now\n", "it is made once");
    assert_eq!(project.command(["status", "--json"]).json()["status"], "completed");
    project.ran_once(["after"]);
}

/// Answers name the call that was shown. An older one, one of nobody and one of another kind of phase are refused, and nothing is made.
#[test]
fn an_answer_names_its_call() {
    let steps =
        [ASKS, "init s1; call t1 'deploy now'; call t2 'deploy all'\n", "init s1; call t2 'deploy all'; done_\n"];
    let project = with_agent(PLAN, &steps);
    project.command(["run"]).expect(15);
    let first = call_id(&project);
    let status = project.command(["status"]).expect(0).out;
    assert!(status.contains(&format!("--call {first}")), "{status}");
    let refused = project.command(["approve", "@", "build", "--call", "00000000"]);
    assert_ne!(refused.code, 0, "{refused}");
    project.command(["reject", "@", "build", "--call", &first, "--resume"]).expect(15);
    let second = call_id(&project);
    assert_ne!(first, second);
    let late = project.command(["approve", "@", "build", "--call", &first]);
    assert_ne!(late.code, 0, "{late}");
    assert!(late.err.contains(&second) && late.err.contains("deploy all"), "{late}");
    assert_eq!(deployed(&project), "");
    let said = project.command(["approve", "@", "build"]).expect(0);
    assert!(said.err.contains(&second) && said.err.contains("deploy all"), "it is told what was answered: {said}");
    project.command(["resume"]).expect(0);
    assert_eq!(deployed(&project), "all\n");
    let none = project.command(["approve", "@", "after", "--call", &second]);
    assert_ne!(none.code, 0, "{none}");
}

/// A person approves what waits, without its name, and stands still between look and answer. Somebody else says no meanwhile, and the agent
/// wants something else: that is not approved.
#[cfg(feature = "kill-points")]
#[test]
fn the_call_changes_between_look_and_answer() {
    let plan = format!("{PLAN}      side: {{ run: step side hold }}\n");
    let mut project = with_agent(&plan, &[ASKS, "init s1; call t1 'deploy now'; call t2 'deploy all'\n"]);
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "side", 1);
    let first = onward_testkit::wait_until("the call", || waiting_call(&project));
    let held = project.root().join("held");
    project.set_env("ONWARD_HOLD_POINT", "answer.before-post");
    project.set_env("ONWARD_HOLD_FILE", held.to_str().expect("a UTF-8 path"));
    let late = project.start(["approve", "@", "build"]);
    onward_testkit::wait_until("the look", || held.exists().then_some(()));
    project.remove_env("ONWARD_HOLD_POINT");
    project.command(["reject", "@", "build"]).expect(0);
    let second = onward_testkit::wait_until("the other call", || waiting_call(&project).filter(|call| *call != first));
    std::fs::remove_file(&held).expect("it stands still");
    let late = late.wait();
    assert_ne!(late.code, 0, "{late}");
    assert!(late.err.contains("deploy all"), "{late}");
    assert_eq!(waiting_call(&project), Some(second), "it waits all the same");
    project.open("side");
    driver.wait_code(15);
    assert_eq!(deployed(&project), "");
}

/// The driver is paused and asked to stop while the call waits and something else is at work; a pause of an idle run is one, too.
#[test]
fn paused_while_a_call_waits() {
    let plan = format!("{PLAN}      side: {{ run: step side hold }}\n");
    let project = with_agent(&plan, &[]);
    project.write(project.home().join("agent/step-any"), ANY);
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "side", 1);
    onward_testkit::wait_until("the call", || waiting_call(&project));
    project.command(["pause", "@"]).expect(0);
    project.open("side");
    driver.wait_code(75);
    let id = call_id(&project);
    project.command(["approve", "@", "build", "--call", &id]).expect(0);
    assert_eq!((calls(&project).len(), deployed(&project).as_str()), (1, ""), "it is paused");
    project.command(["resume"]).expect(0);
    assert_eq!(deployed(&project), "now\n");
    project.ran_once(["after", "side"]);
}

/// A cancelled run takes no answer, and its call is never made.
#[test]
fn cancelled_while_a_call_waits() {
    let project = waits(PLAN);
    let (id, run) = (call_id(&project), run_id(&project));
    project.command(["cancel", "@"]).expect(0);
    let late = project.command(["approve", &run, "build", "--call", &id]);
    assert_ne!(late.code, 0, "{late}");
    let status = project.command(["status", &run]).expect(0).out;
    assert!(!status.contains("onward approve"), "nobody is asked any more: {status}");
    project.command(["resume"]).expect(10);
    assert_eq!((calls(&project).len(), deployed(&project).as_str()), (1, ""));
}

/// A deleted run leaves nothing that could be answered.
#[test]
fn deleted_while_a_call_waits() {
    let project = waits(PLAN);
    let (id, run) = (call_id(&project), run_id(&project));
    project.command(["delete", &run, "--yes"]).expect(0);
    let late = project.command(["approve", &run, "build", "--call", &id]);
    assert_ne!(late.code, 0, "{late}");
    assert_eq!(deployed(&project), "");
    project.command(["run"]).expect(15);
    comes_to_its_end(&project);
}

/// The plan is edited: the prompt is another one, and the answer goes to the session in which the call waits. Then the phase is gone, and
/// so is its call.
#[test]
fn the_plan_is_edited_while_a_call_waits() {
    let project = waits(PLAN);
    project.plan(&PLAN.replace("Ship it.", "Ship it today."));
    project.command(["resume"]).expect(15);
    assert_eq!(calls(&project).len(), 1, "nothing was asked of the agent");
    comes_to_its_end(&project);
    let gone = waits(PLAN);
    let id = call_id(&gone);
    gone.plan("onward: 1\nname: release\nphases:\n  after: { run: step after }\n");
    gone.command(["resume", "--plan-from", "file"]).expect(0);
    let late = gone.command(["approve", "@", "build", "--call", &id]);
    assert_ne!(late.code, 0, "{late}");
    assert_eq!(deployed(&gone), "");
}

/// Somebody else does the phase by now: nobody is asked about a call of an agent that does not do it any more.
#[test]
fn a_phase_that_is_no_agents_any_more() {
    let project = waits(PLAN);
    project.plan(
        "
        onward: 1
        name: release
        phases:
          build: { run: step build }
          after: { needs: build, run: step after }
    ",
    );
    project.command(["resume", "--plan-from", "file"]).expect(0);
    project.ran_once(["build", "after"]);
    assert_eq!(deployed(&project), "");
}

/// A rewind to before the phase forgets the call, and the yes to it that nobody has heard yet; an answer to it comes too late, and what
/// the agent wants then is asked about anew.
#[test]
fn taken_back_while_a_call_waits() {
    let plan = PLAN
        .replace("phases:", "phases:\n      first: { run: step first }")
        .replace("build: {", "build: { needs: first,");
    let project = with_agent(&plan, &[]);
    project.git_init();
    project.write(project.home().join("agent/step-any"), ANY);
    project.command(["run"]).expect(15);
    let first = call_id(&project);
    project.command(["approve", "@", "build", "--call", &first]).expect(0);
    let log = project.command(["log", "--json"]).json();
    let checkpoints = log["checkpoints"].as_array().expect("checkpoints").clone();
    let after_first = checkpoints.iter().find(|one| one["phase"] == "first").expect("a checkpoint of first");
    project.command(["rewind", after_first["id"].as_str().expect("an id")]).expect(0);
    assert_eq!(waiting_call(&project), None, "nobody is asked about what was taken back");
    let late = project.command(["approve", "@", "build", "--call", &first]);
    assert_ne!(late.code, 0, "{late}");
    project.command(["resume"]).expect(15);
    assert_eq!(deployed(&project), "");
    comes_to_its_end(&project);
}

/// A fork has no share in the call: its agent asks anew, and an answer in one run is none in the other.
#[test]
fn forked_while_a_call_waits() {
    let project = waits(PLAN);
    let first = run_id(&project);
    let log = project.command(["log", "--json"]).json();
    let last = log["checkpoints"].as_array().and_then(|all| all.last()).expect("a checkpoint")["id"].clone();
    let fork = project.command(["fork", last.as_str().expect("an id"), "--json"]).expect(0).json();
    let fork = fork["run"].as_str().expect("a run").to_owned();
    project.command(["resume", &fork]).expect(15);
    let status = project.command(["status", &fork, "--json"]).json();
    let call = status["remaining"][0]["agent"]["call"]["id"].as_str().expect("a call").to_owned();
    project.command(["approve", &fork, "build", "--call", &call, "--resume"]).expect(0);
    assert_eq!(deployed(&project), "now\n");
    let status = project.command(["status", &first, "--json"]).json();
    assert!(status["remaining"][0]["agent"]["call"]["id"].is_string(), "the first one still waits: {status}");
}

#[cfg(feature = "kill-points")]
mod kills {
    use super::*;

    const STARTS_MAX: usize = 12;
    const PASSES_MAX: usize = 40;

    /// Whether the label was passed so often. A person answers whenever somebody is asked, until the run is done.
    fn killed_at(point: &str, pass: usize) -> bool {
        let mut project = with_agent(PLAN, &[]);
        project.write(project.home().join("agent/step-any"), ANY);
        let mark = project.root().join("killed");
        project.set_env("ONWARD_KILL_POINT", format!("{point}:{pass}"));
        project.set_env("ONWARD_KILL_MARK", mark.to_str().expect("a UTF-8 path"));
        for _ in 0..STARTS_MAX {
            project.command(["run", "--resume"]);
            if project.command(["list", "--json"]).json()["runs"][0]["status"] == "completed" {
                break;
            }
            if let Some(call) = waiting_call(&project) {
                assert_eq!(call["input"], "deploy now", "{point}:{pass}");
                let id = call["id"].as_str().expect("it has an id");
                project.command(["approve", "@", "build", "--call", id]);
            }
        }
        let status = project.command(["status", "--json"]).json();
        assert_eq!(status["status"], "completed", "{point}:{pass}: {status}");
        assert_eq!(deployed(&project), "now\n", "{point}:{pass}: it is made once");
        project.ran_once(["after"]);
        mark.exists()
    }

    fn every_pass(point: &str) {
        let passes = (1..=PASSES_MAX).take_while(|pass| killed_at(point, *pass)).count();
        assert!(passes > 0, "{point} was never passed: the label is gone or the story misses it");
    }

    macro_rules! points {
        ($($name:ident: $point:literal;)*) => {
            $(
                #[test]
                fn $name() {
                    every_pass($point);
                }
            )*
        };
    }

    points! {
        kills_before_an_append: "commit.before-append";
        kills_after_an_append: "commit.after-append";
        kills_before_a_start: "spawn.before";
        kills_after_a_start: "spawn.after";
        kills_before_the_exit_is_recorded: "attend.before-exit-record";
        kills_after_the_exit_is_recorded: "attend.after-exit-record";
        kills_when_the_answer_is_given: "call.after-given";
        kills_before_the_answer: "answer.before-post";
        kills_after_the_answer: "post.after-post";
    }
}
