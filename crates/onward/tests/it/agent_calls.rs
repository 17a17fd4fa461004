//! Tool calls of an agent that a person approves one by one, with a stand-in for the client that asks its hook as the real one does.

use onward_testkit::{TestProject, wait_until};

use crate::project;

/// Plays `$HOME/agent/step-N` at its Nth call. `call ID COMMAND` asks the hook that `--settings` names: an allowed command is run, one that
/// is to wait ends the client, and the reason of a no is noted. Where a call has no script of its own it plays `step-any`.
const CLIENT: &str = r#"#!/bin/sh
n=$(( $(ls "$HOME/agent" | grep -c '^call-') + 1 ))
settings=
last=
for word in "$@"; do
    [ "$last" = --settings ] && settings=$word
    last=$word
done
{ printf '%s\n' "$@"; echo --prompt--; cat; } > "$HOME/agent/call-$n"
hook=$(printf '%s' "$settings" | sed -n 's/.*"command":"\([^"]*\)".*/\1/p')
denied=
init() { echo '{"type":"system","subtype":"init","session_id":"'"$1"'","model":"fake"}'; }
says() { echo '{"type":"assistant","session_id":"s1","message":{"content":[{"type":"text","text":"'"$1"'"}]}}'; }
call() {
    decision=$(printf '{"tool_name":"Bash","tool_input":{"command":"%s"},"tool_use_id":"%s","prompt_id":"p%s","cwd":"%s"}' \
        "$2" "$1" "$n" "$PWD" | sh -c "$hook" 2>> "$HOME/agent/errors") || decision=deny
    case $decision in
        ''|*'"allow"'*) sh -c "$2" ;;
        *'"defer"'*)
            echo '{"type":"result","subtype":"success","is_error":false,"terminal_reason":"tool_deferred","session_id":"s1","result":"","num_turns":1,"total_cost_usd":0.1,"deferred_tool_use":{"id":"'"$1"'","name":"Bash","input":{"command":"'"$2"'"}}}'
            exit 0 ;;
        *)
            printf '%s\n' "$decision" >> "$HOME/agent/denied"
            denied='{"tool_name":"Bash","tool_use_id":"'"$1"'","tool_input":{"command":"'"$2"'"}}' ;;
    esac
}
done_() { echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s1","result":"Done.","num_turns":1,"total_cost_usd":0.1,"permission_denials":['"$denied"']}'; }
hold() { until [ -e "$HOME/go-on" ]; do sleep 0.02; done; }
[ -e "$HOME/agent/step-$n" ] || n=any
. "$HOME/agent/step-$n"
"#;

pub(crate) const PLAN: &str = "
    onward: 1
    name: release
    phases:
      build: { agent: { prompt: Ship it., ask: ['Bash(deploy:*)'] } }
      after: { needs: build, run: step after }
";

pub(crate) fn with_agent(plan: &str, steps: &[&str]) -> TestProject {
    let project = project();
    project.plan(plan);
    project.script("claude", CLIENT);
    project.script("deploy", "#!/bin/sh\necho \"$@\" >> \"$HOME/deployed\"\n");
    for (number, step) in steps.iter().enumerate() {
        project.write(project.home().join(format!("agent/step-{}", number + 1)), step);
    }
    project
}

pub(crate) fn calls(project: &TestProject) -> Vec<String> {
    let call = |number: usize| std::fs::read_to_string(project.home().join(format!("agent/call-{number}"))).ok();
    (1..).map_while(call).collect()
}

pub(crate) fn in_home(project: &TestProject, name: &str) -> String {
    std::fs::read_to_string(project.home().join(name)).unwrap_or_default()
}

pub(crate) fn waiting_call(project: &TestProject) -> Option<serde_json::Value> {
    let status = project.command(["status", "--json"]).json();
    let phases = status["remaining"].as_array()?;
    phases.iter().map(|phase| phase["agent"]["call"].clone()).find(|call| !call.is_null())
}

pub(crate) const ASKS: &str = "init s1; says 'All tests pass.'; call t1 'deploy now'\n";

/// The agent wants to deploy. Everything is killed while it waits; a phase that approves it is refused; processes of another day
/// answer it and go on, in the same session and without a prompt, and it is deployed once.
#[test]
fn a_call_is_approved_across_a_kill_and_made_once() {
    let plan = format!("{PLAN}      side: {{ run: \"step side hold; onward approve @ build || echo $? > answer\" }}\n");
    let project = with_agent(&plan, &[ASKS, "init s1; call t1 'deploy now'; done_\n"]);
    let driver = project.start(["run"]);
    project.wait_ledger("begin", "side", 1);
    let call = wait_until("the call", || waiting_call(&project));
    assert_eq!((call["tool"].as_str(), call["input"].as_str()), (Some("Bash"), Some("deploy now")));
    assert_eq!(call["reason"], "All tests pass.");
    project.kill_everything();
    driver.wait_code(137);
    project.open("side");
    let waits = project.command(["run", "--resume"]).expect(15);
    assert!(waits.err.contains("deploy now") && waits.err.contains("onward approve"), "{}", waits.err);
    assert_eq!(project.read("answer").trim(), "2", "a phase grants itself nothing");
    let status = project.command(["status"]).expect(0).out;
    for told in ["deploy now", "All tests pass.", "onward approve", "onward reject"] {
        assert!(status.contains(told), "{told} in {status}");
    }
    assert_eq!((calls(&project).len(), in_home(&project, "deployed").as_str()), (1, ""), "nothing was made yet");
    let list = project.command(["list"]).expect(0).out;
    assert!(
        list.contains("? build asks: may it use Bash") && list.contains("onward approve @ build --call "),
        "{list}"
    );
    project.command(["approve", "@", "build"]).expect(0);
    project.command(["approve", "@", "build"]).expect(0);
    assert!(!project.command(["list"]).expect(0).out.contains("asks"), "it is answered");
    assert_eq!(in_home(&project, "deployed"), "");
    project.command(["resume"]).expect(0);
    assert_eq!(in_home(&project, "deployed"), "now\n");
    let calls = calls(&project);
    assert_eq!(calls.len(), 2);
    assert!(calls[1].contains("--resume\ns1\n") && calls[1].ends_with("--prompt--\n"), "{}", calls[1]);
    project.ran_once(["after"]);
    let done = project.command(["status", "--json"]).json()["completed"][0].clone();
    assert_eq!((done["attempts"].as_u64(), &done["agent"]["call"]), (Some(2), &serde_json::Value::Null));
}

/// A person says no and why. The agent reads it, does without, and that the call was refused is no failure of its own.
#[test]
fn a_call_is_rejected_and_the_agent_reads_why() {
    let project = with_agent(PLAN, &[ASKS, "init s1; call t1 'deploy now'; call t2 'deploy now'; done_\n"]);
    project.command(["run"]).expect(15);
    project.command(["reject", "@", "build", "--reason", "Not on a Friday.", "--resume"]).expect(0);
    let denied = in_home(&project, "agent/denied");
    assert_eq!(denied.lines().filter(|line| line.contains("Not on a Friday.")).count(), 2, "{denied}");
    assert_eq!(in_home(&project, "deployed"), "");
    project.ran_once(["after"]);
    let log = project.command(["log", "--events", "--json"]).expect(0).out;
    assert!(log.contains("call_answered") && log.contains("Not on a Friday."), "{log}");
}

/// Two calls one after the other: each is asked about, and each is made once. One that is like an earlier one is asked about again.
#[test]
fn each_call_is_asked_about() {
    let project = with_agent(
        PLAN,
        &[
            "init s1; call t1 'deploy one'\n",
            "init s1; call t1 'deploy one'; call t2 'make x || true'; call t3 'deploy one'\n",
            "init s1; call t3 'deploy one'; done_\n",
        ],
    );
    project.command(["run"]).expect(15);
    project.command(["approve", "@", "build", "--resume"]).expect(15);
    assert_eq!(in_home(&project, "deployed"), "one\n");
    project.command(["approve", "@", "build", "--resume"]).expect(0);
    assert_eq!(in_home(&project, "deployed"), "one\none\n");
    assert_eq!(calls(&project).len(), 3);
}

/// Everything is killed while the approved call is being made. Nobody knows whether it came to its end, so it is not made again unasked:
/// the agent is told, and the same call waits anew.
#[test]
fn a_call_that_was_begun_is_not_made_again_unasked() {
    let project = with_agent(
        PLAN,
        &[
            ASKS,
            "init s1; call t1 'deploy now'; hold\n",
            "init s1; says 'It is not there.'; call t4 'deploy now'\n",
            "init s1; call t4 'deploy now'; done_\n",
        ],
    );
    project.command(["run"]).expect(15);
    project.command(["approve", "@", "build"]).expect(0);
    let driver = project.start(["resume"]);
    wait_until("the call", || (in_home(&project, "deployed") == "now\n").then_some(()));
    project.kill_everything();
    driver.wait_code(137);
    project.command(["run", "--resume"]).expect(15);
    assert!(calls(&project)[2].contains("Whether it came to its end nobody knows"), "{}", calls(&project)[2]);
    assert_eq!(in_home(&project, "deployed"), "now\n");
    project.command(["approve", "@", "build", "--resume"]).expect(0);
    assert_eq!(in_home(&project, "deployed"), "now\nnow\n");
}

/// The hook is killed right behind the moment at which it uses up the answer: the call is not made, and not made later either.
#[test]
fn an_answer_that_was_lost_on_its_way_is_asked_for_again() {
    let mut project = with_agent(PLAN, &[ASKS, "init s1; call t1 'deploy now'; kill -9 $$\n", ASKS]);
    project.command(["run"]).expect(15);
    project.command(["approve", "@", "build"]).expect(0);
    project.set_env("ONWARD_KILL_POINT", "call.after-given");
    project.command(["resume"]).expect(1);
    project.remove_env("ONWARD_KILL_POINT");
    assert_eq!(in_home(&project, "deployed"), "");
    project.command(["resume"]).expect(15);
    assert_eq!(in_home(&project, "deployed"), "");
    assert!(calls(&project)[2].contains("nobody knows"), "{}", calls(&project)[2]);
}

/// The client has lost the session: a new one is begun with the task and told that the call is approved.
#[test]
fn a_lost_session_may_still_make_its_call() {
    let lost = "echo 'No conversation found with session ID: s1' >&2; exit 1\n";
    let project = with_agent(PLAN, &[ASKS, lost, "init s2; call t9 'deploy now'; done_\n"]);
    project.command(["run"]).expect(15);
    project.command(["approve", "@", "build", "--resume"]).expect(0);
    let calls = calls(&project);
    assert!(calls[2].contains("Ship it.") && calls[2].contains("has approved this call"), "{}", calls[2]);
    assert_eq!(in_home(&project, "deployed"), "now\n");
}

/// At the driver's terminal the call is asked about like an approval, in full. Enter decides nothing.
#[test]
fn a_call_is_asked_about_at_the_terminal() {
    let long = format!("deploy now {}; deploy never", "x".repeat(300));
    let steps =
        [format!("init s1; says 'Why not.'; call t1 '{long}'\n"), format!("init s1; call t1 '{long}'; done_\n")];
    let project = with_agent(PLAN, &[&steps[0], &steps[1]]);
    let mut terminal = project.terminal(["run"]);
    terminal.expect("deploy never");
    terminal.expect("[later]: ");
    terminal.send("\n");
    terminal.wait_code(15);
    let mut terminal = project.terminal(["resume"]);
    terminal.expect("Why not.");
    terminal.expect("[later]: ");
    terminal.send("a\n");
    terminal.wait_code(0);
    assert!(in_home(&project, "deployed").ends_with("never\n"));
}

/// The agent writes an answer of its own where once the orders lay. Only what is on record counts: the call waits, and is not made.
#[test]
fn an_agent_approves_nothing_by_a_file() {
    let forged = r#"{"version":1,"ask":[],"approved":null,"rejected":[]}"#;
    let forge = format!(
        "init s1; for d in .onward/attempts/*/build/*; do echo '{forged}' > $d/calls; done; call t1 'deploy now'; done_\n"
    );
    let project = with_agent(PLAN, &[&forge]);
    project.command(["run"]).expect(15);
    assert_eq!(in_home(&project, "deployed"), "");
    assert!(waiting_call(&project).is_some());
}

/// The agent deletes everything about its calls in the folder of its attempt after an approved one was made, and wants the same again:
/// in this attempt and, killed there, in the next. The answer was good for one, and a person is asked.
#[test]
fn an_agent_forgets_no_answer_by_deleting_files() {
    let forget = "rm -rf .onward/attempts/*/build/*/calls*";
    let again = format!("init s1; call t1 'deploy now'; {forget}; call t2 'deploy now'; done_\n");
    let killed = format!("init s1; call t2 'deploy now'; {forget}; kill -9 $$\n");
    let project = with_agent(PLAN, &[ASKS, &again, &killed, "init s1; call t3 'deploy now'; done_\n"]);
    project.command(["run"]).expect(15);
    project.command(["approve", "@", "build", "--resume"]).expect(15);
    assert_eq!(in_home(&project, "deployed"), "now\n", "made once for one answer");
    project.command(["approve", "@", "build", "--resume"]).expect(1);
    assert_eq!(in_home(&project, "deployed"), "now\nnow\n");
    project.command(["resume"]).expect(15);
    assert_eq!(in_home(&project, "deployed"), "now\nnow\n", "the next attempt has no answer left");
    assert!(calls(&project)[3].contains("nobody knows"), "{}", calls(&project)[3]);
    let events = project.command(["log", "--events", "--json"]).expect(0).out;
    assert_eq!(events.matches("\"call_answer_given\"").count(), 2, "{events}");
}

/// The driver alone is killed while its agent is on the way to the approved call. Nobody drives when the client asks: the hook itself puts
/// on record that the answer is given. The call is made once, and whoever comes next takes its end.
#[test]
fn an_orphan_makes_its_approved_call() {
    let project = with_agent(PLAN, &[ASKS, "init s1; hold; call t1 'deploy now'; done_\n"]);
    project.command(["run"]).expect(15);
    project.command(["approve", "@", "build"]).expect(0);
    let driver = project.start(["resume"]);
    wait_until("the client", || (calls(&project).len() == 2).then_some(()));
    driver.kill();
    project.write(project.home().join("go-on"), "");
    wait_until("the call", || (in_home(&project, "deployed") == "now\n").then_some(()));
    project.command(["run", "--resume"]).expect(0);
    assert_eq!((in_home(&project, "deployed").as_str(), calls(&project).len()), ("now\n", 2));
    project.ran_once(["after"]);
    let events = project.command(["log", "--events", "--json"]).expect(0).out;
    assert_eq!(events.matches("\"call_answer_given\"").count(), 1, "{events}");
}

/// The hook is told of another attempt than the one whose folder it has: nothing passes, also not what nobody would be asked about.
#[test]
fn without_what_is_on_record_the_hook_lets_nothing_pass() {
    let lie = "init s1; ONWARD_PHASE=after; export ONWARD_PHASE; call t1 'make x'; call t2 'deploy now'; done_\n";
    let project = with_agent(PLAN, &[lie]);
    project.command(["run"]).expect(1);
    assert_eq!(in_home(&project, "deployed"), "");
    let errors = in_home(&project, "agent/errors");
    assert!(errors.contains("nobody can tell whether a person has to approve it"), "{errors}");
}

/// The call holds what a terminal would obey or overwrite. A person sees signs for it, and programs the exact text.
#[test]
fn a_call_is_shown_as_it_is() {
    let hidden = r"deploy now \u001b]0; touch PWNED #\u0007\u000drm \u0008\u0000";
    let project = with_agent(PLAN, &[&format!("init s1; call t1 '{hidden}'\n")]);
    let waits = project.command(["run"]).expect(15);
    let status = project.command(["status"]).expect(0).out;
    for shown in [&waits.err, &status] {
        assert!(shown.contains(r"deploy now \u{1b}]0; touch PWNED #\u{7}\rrm \u{8}\u{0}"), "{shown}");
    }
    let call = waiting_call(&project).expect("a call");
    assert_eq!(call["input"], "deploy now \u{1b}]0; touch PWNED #\u{7}\rrm \u{8}\0");
}

/// The call is longer than a question may be. The question says where all of it stands, and it stands there.
#[test]
fn all_of_a_long_call_can_be_read() {
    let long = format!("deploy now {}; deploy never", " ".repeat(9_000));
    let project = with_agent(PLAN, &[&format!("init s1; call t1 '{long}'\n")]);
    project.command(["run"]).expect(15);
    let status = project.command(["status"]).expect(0).out;
    assert!(status.contains("bytes more; all of it: onward status --json"), "{status}");
    assert_eq!(waiting_call(&project).expect("a call")["input"], long.as_str());
}

/// A person says no to all of it in other ways: the phase is retried, and asks anew; another run's phase has nothing to approve.
#[test]
fn a_retry_asks_anew() {
    let project = with_agent(PLAN, &[ASKS, ASKS]);
    project.command(["run"]).expect(15);
    project.command(["run", "--resume", "--retry", "build"]).expect(15);
    assert_eq!(calls(&project).len(), 2);
    let none = project.command(["approve", "@", "after"]);
    assert_ne!(none.code, 0, "{none}");
}

/// Only Claude Code can wait for a person, and not without its hooks. The check of the plan says so, and nothing is started.
#[test]
fn an_agent_that_cannot_wait_is_told_beforehand() {
    let project = project();
    for (agent, why) in [
        ("use: codex, ask: [Bash]", "has no means for ask"),
        ("ask: [Bash], args: [--settings, x.json]", "--settings"),
        ("ask: ['Bash(git push']", "names no tool"),
    ] {
        project.plan(&format!("onward: 1\nphases:\n  a: {{ agent: {{ prompt: x, {agent} }} }}\n"));
        let checked = project.command(["check"]);
        assert!(checked.out.contains(why) || checked.err.contains(why), "{checked}");
        let ran = project.command(["run"]).expect(2);
        assert!(ran.err.contains(why), "{ran}");
    }
}
