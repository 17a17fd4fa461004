//! Phases that coding agents do, with a stand-in for the client that plays a script.

use onward_testkit::{TestProject, wait_until};

use crate::project;

/// Plays `$HOME/agent/step-N` at its Nth call, and notes its arguments and its prompt.
const CLIENT: &str = r#"#!/bin/sh
n=$(( $(ls "$HOME/agent" | grep -c '^call-') + 1 ))
{ printf '%s\n' "$@"; echo --prompt--; cat; } > "$HOME/agent/call-$n"
init() { echo '{"type":"system","subtype":"init","session_id":"'"$1"'","model":"fake"}'; }
says() { echo '{"type":"assistant","session_id":"'"$1"'","message":{"content":[{"type":"text","text":"'"$2"'"}]}}'; }
uses() { echo '{"type":"assistant","session_id":"'"$1"'","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"'"$2"'"}}]}}'; }
ends() { echo '{"type":"result","subtype":"success","is_error":false,"session_id":"'"$1"'","result":"'"$2"'","num_turns":2,"total_cost_usd":'"$3"'}'; }
fails() { echo '{"type":"result","subtype":"success","is_error":true,"session_id":"'"$1"'","result":"'"$2"'","num_turns":1,"total_cost_usd":'"$3"'}'; exit 1; }
hold() { until [ -e "$HOME/go-on" ]; do sleep 0.02; done; }
. "$HOME/agent/step-$n"
"#;

const PLAN: &str = "
    onward: 1
    name: feature
    phases:
      build:
        agent: { prompt: Build the login page., max-turns: 40 }
        retry: { max: 3, when: [failed], backoff: { initial: 10ms } }
        artifacts: { page: login.html }
      ship: { needs: build, run: step ship }
";

fn with_agent(steps: &[&str]) -> TestProject {
    let project = scripted(steps);
    project.plan(PLAN);
    project
}

/// A project whose Claude Code plays these steps, one in each call.
pub(crate) fn scripted<S: AsRef<str>>(steps: &[S]) -> TestProject {
    let project = project();
    project.script("claude", CLIENT);
    for (number, step) in steps.iter().enumerate() {
        project.write(project.home().join(format!("agent/step-{}", number + 1)), step.as_ref());
    }
    project
}

pub(crate) fn calls(project: &TestProject) -> Vec<String> {
    let call = |number: usize| std::fs::read_to_string(project.home().join(format!("agent/call-{number}"))).ok();
    (1..).map_while(call).collect()
}

/// The session that a call goes on with, or that it is told to begin.
pub(crate) fn session(call: &str, flag: &str) -> Option<String> {
    let mut words = call.lines();
    words.find(|word| *word == flag)?;
    words.next().map(str::to_owned)
}

/// A whole piece of work: two limits, the second one in another session than before; everything killed in the middle; a done that is
/// none; and the end. The same session goes on each time, no retry but one is used, and the cost is the sum of what is known.
#[test]
fn a_feature_through_limits_a_kill_and_a_false_done() {
    let limited = |session: &str| {
        format!("init {session}; fails {session} \"Claude AI usage limit reached|$(( $(date +%s) + 2 ))\" 0.1\n")
    };
    let project = with_agent(&[
        &limited("s1"),
        &limited("s2"),
        "init s2; says s2 'half way'; hold; exit 9\n",
        "init s2; ends s2 'All done!' 0.25\n",
        "init s2; echo ok > login.html; ends s2 'The page is there.' 0.5\n",
    ]);
    let driver = project.start(["run"]);
    wait_until("the third call", || (calls(&project).len() == 3).then_some(()));
    wait_until("its session", || {
        let status = project.command(["status", "--json"]).json();
        (status["running"][0]["agent"]["session"] == "s2").then_some(())
    });
    project.kill_everything();
    driver.wait_code(137);
    project.command(["run", "--resume"]).expect(0);
    let calls = calls(&project);
    assert_eq!(calls.len(), 5);
    assert_eq!(session(&calls[0], "--session-id").map(|id| id.len()), Some(36));
    let went_on: Vec<Option<String>> = calls.iter().map(|call| session(call, "--resume")).collect();
    let some = |id: &str| Some(id.to_owned());
    assert_eq!(went_on, [None, some("s1"), some("s2"), some("s2"), some("s2")]);
    assert!(!calls[3].contains("login.html"), "nothing has failed yet: {}", calls[3]);
    assert!(calls[4].contains("login.html"), "the next attempt is told what was missing: {}", calls[4]);
    let status = project.command(["status", "--json"]).json();
    assert_eq!(status["cost_usd"], 0.95);
    let agent = &status["completed"][0]["agent"];
    assert_eq!((agent["use"].as_str(), agent["session"].as_str()), (Some("claude-code"), Some("s2")));
    assert_eq!(agent["turns"], 6);
    assert_eq!(status["completed"][0]["summary"], "The page is there.");
    project.ran_once(["ship"]);
}

/// A budget for the whole run: the client is told what is left of it, no further agent is started once it is used up, and the run
/// is paused. It stays on record over a kill, and a start with more goes on in the same session.
#[test]
fn a_budget_of_the_run() {
    let project = with_agent(&[
        "init s1; fails s1 'a mistake' 0.4\n",
        "init s1; hold; exit 9\n",
        "init s1; echo '{\"type\":\"result\",\"subtype\":\"error_max_budget_usd\",\"is_error\":true,\"session_id\":\"s1\",\"num_turns\":1,\"total_cost_usd\":0.6}'; exit 1\n",
        "init s1; echo ok > login.html; ends s1 Done. 0.25\n",
    ]);
    let driver = project.start(["run", "--budget", "1"]);
    wait_until("the second call", || (calls(&project).len() == 2).then_some(()));
    project.kill_everything();
    driver.wait_code(137);
    let paused = project.command(["run", "--resume"]).expect(75);
    paused.err_names(["$1.00", "--budget"]);
    let calls = |n: usize| calls(&project)[n].clone();
    let told = |n| session(&calls(n), "--max-budget-usd").expect("it is told");
    assert_eq!([told(0), told(1), told(2)], ["1.0000", "0.6000", "0.6000"]);
    let status = project.command(["status", "--json"]).json();
    assert_eq!((status["status"].as_str(), status["stopped"].as_str()), (Some("paused"), Some("budget")));
    assert_eq!((&status["cost_usd"], &status["budget_usd"]), (&1.0.into(), &1.0.into()));
    let why = project.command(["why", "build"]).expect(0).out;
    assert!(why.contains("would not run it") && why.contains("is used up"), "{why}");
    let dry = |flags: &[&str]| {
        let dry = project.command([&["resume", "--dry-run", "--json"], flags].concat()).expect(0).json();
        dry["phases"].as_array().expect("phases").iter().map(|phase| phase["will_run"] == true).collect::<Vec<_>>()
    };
    assert_eq!(dry(&[]), [false, false]);
    assert_eq!(dry(&["--budget", "2"]), [true, true]);
    project.command(["resume"]).expect(75);
    project.command(["resume", "--budget", "2"]).expect(0);
    assert_eq!(session(&calls(3), "--resume").as_deref(), Some("s1"));
    assert_eq!(told(3), "1.0000");
    project.ran_once(["ship"]);
    project.command(["run", "--budget", "lots"]).expect(2).err_names(["dollars"]);
}

/// The plan wants an answer of a form. One that does not fit is a failure, and the next attempt is told why; what counts is the schema
/// as it was when the attempt began. The fields of the answer are outputs.
#[test]
fn an_answer_of_a_form() {
    let answers = |score: &str| {
        format!(
            "echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"session_id\":\"s1\",\"result\":\"Done.\",\"structured_output\":{score}}}'\n"
        )
    };
    let project = with_agent(&[
        &format!("init s1; echo true > review.json; {}", answers("{\"score\":11}")),
        &format!("init s1; {}", answers("{\"score\":7,\"verdict\":\"good\"}")),
    ]);
    let schema =
        r#"{"type": "object", "required": ["score"], "properties": {"score": {"type": "integer", "maximum": 10}}}"#;
    project.write("review.json", schema);
    project.plan(
        r#"
        onward: 1
        name: feature
        phases:
          review:
            agent: { prompt: Review it., result: { schema: review.json } }
            outputs: { score: how good it is }
            retry: { max: 5, when: [failed], backoff: { initial: 10ms } }
          ship: { needs: review, env: { SCORE: "${{ phases.review.outputs.score }}" }, run: test "$SCORE" = 7 && step ship }
        "#,
    );
    project.command(["run"]).expect(0);
    project.ran_once(["ship"]);
    let calls = calls(&project);
    assert_eq!(calls.len(), 2, "the agent put a schema that takes everything in its place, and that did not count");
    assert!(calls[1].contains("/score must be at most 10, not 11"), "{}", calls[1]);
    let failed = &project.command(["status", "--json"]).json()["completed"][0]["failed_attempts"];
    assert_eq!(failed.as_array().map(Vec::len), Some(1), "{failed}");
}

/// A schema is not there, is none, or leads elsewhere. It is said before anything is made.
#[test]
fn a_schema_that_cannot_be_used() {
    let project = project();
    project.plan("onward: 1\nphases:\n  a: { agent: { prompt: x, result: { schema: form.json } } }\n");
    let refused = |named: &str| {
        let told = project.command(["check"]).expect(0).out;
        assert!(told.contains("form.json") && told.contains(named), "{told}");
        project.command(["run"]).expect(2).err_names(["form.json", named]);
        assert!(!project.exists(".onward"), "something was made");
    };
    refused("not there");
    project.write("form.json", "{\"type\": \"text\"}");
    refused("#/type");
    project.write("form.json", "{\"$ref\": \"https://example.org/form.json\"}");
    refused("inside the schema");
    project.write("form.json", "{\"type\": \"object\"}");
    project.command(["run", "--dry-run"]).expect(0);
}

/// A command fails, is tried again and fails in the same way. What was tried is remembered, and shown to people and to agents.
#[test]
fn failed_attempts_are_shown() {
    let project = project();
    project.plan(
        "onward: 1\nphases:\n  a: { run: \"echo line $ONWARD_ATTEMPT: no such file; exit 3\", retry: { max: 1, backoff: { initial: 10ms } } }\n",
    );
    project.command(["run"]).expect(1);
    let failed = project.command(["status", "--json"]).json()["remaining"][0]["failed_attempts"].clone();
    let said: Vec<&str> = failed.as_array().expect("a list").iter().filter_map(|one| one["said"].as_str()).collect();
    assert_eq!(said, ["line 1: no such file", "line 2: no such file"]);
    assert_eq!(failed[0]["signature"], failed[1]["signature"]);
    for verb in [["why", "a"].as_slice(), &["brief"]] {
        let told = project.command(verb.iter().copied()).expect(0).out;
        assert!(told.contains("attempt 2") && told.contains("line 2: no such file"), "{told}");
    }
}

/// People read what the agent says and does; the frames are kept beside it.
#[test]
fn logs_are_readable_and_frames_are_kept() {
    let project = with_agent(&[
        "init s1; says s1 'I look first.'; uses s1 'cat x'; echo oops >&2; echo ok > login.html; ends s1 Fine. 0\n",
    ]);
    project.command(["run"]).expect(0);
    let logs = project.command(["logs", "build"]).expect(0).out;
    for told in ["I look first.", "Bash: cat x", "oops"] {
        assert!(logs.contains(told), "{logs}");
    }
    assert!(!logs.contains("tool_use"), "{logs}");
    let status = project.command(["status", "--json"]).json();
    let run = status["run"].as_str().expect("a run").to_owned();
    assert!(project.read(format!(".onward/attempts/{run}/build/1/frames")).contains("tool_use"));
}

/// Processes that an agent's tools leave running end with the attempt, also after success.
#[test]
fn nothing_that_an_agent_started_lives_on() {
    let project = with_agent(&["init s1; setsid sh -c 'sleep 1000' & echo ok > login.html; ends s1 Done. 0\n"]);
    project.command(["run"]).expect(0);
    project.wait_no_processes();
}

/// The client has lost the session. A new one is begun, once, and people are told.
#[test]
fn a_lost_session_is_followed_by_a_new_one() {
    let lost = "echo 'No conversation found with session ID: s1' >&2; exit 1\n";
    let project =
        with_agent(&["init s1; fails s1 'a mistake' 0\n", lost, "init s3; echo ok > login.html; ends s3 Done. 0\n"]);
    let ran = project.command(["run"]).expect(0);
    let calls = calls(&project);
    assert_eq!(session(&calls[1], "--resume").as_deref(), Some("s1"));
    assert_eq!(session(&calls[2], "--resume"), None);
    assert!(ran.err.contains("new session"), "{}", ran.err);
}

/// A command that onward does not know is declared by its user, with the places of session, text and cost in what it prints. One that
/// a project declares does not count before a person trusts it.
#[test]
fn any_command_can_be_an_agent() {
    let project = project();
    let plan = |agent: &str| format!("onward: 1\nphases:\n  a: {{ agent: {{ use: {agent}, prompt: Do it. }} }}\n");
    let entry = |name: &str| {
        format!("agents:\n  {name}: {{ start: [mine], prompt: argument, session: /id, text: /says, cost: /usd }}\n")
    };
    project.script(
        "mine",
        "#!/bin/sh\necho \"$1\" > \"$HOME/asked\"\necho '{\"id\":\"m-1\",\"says\":\"Fine.\",\"usd\":0.125}'\n",
    );
    project.write(project.home().join(".config/onward/config.yaml"), entry("mine"));
    project.plan(&plan("mine"));
    project.command(["run"]).expect(0);
    let status = project.command(["status", "--json"]).json();
    let agent = &status["completed"][0]["agent"];
    assert_eq!((agent["session"].as_str(), agent["cost_usd"].as_f64()), (Some("m-1"), Some(0.125)));
    assert_eq!(status["completed"][0]["summary"], "Fine.");
    let asked = std::fs::read_to_string(project.home().join("asked")).expect("it was asked");
    assert!(asked.starts_with("Do it.\n"), "{asked}");

    project.write(".onward/config.yaml", entry("theirs"));
    project.plan(&plan("theirs"));
    project.command(["run"]).expect(2).err_names(["agent theirs of", "config.yaml:2", "not in force", "onward trust"]);
}

/// A prompt lies in a file that is not there. It is said before anything is made.
#[test]
fn a_prompt_file_that_is_not_there() {
    let project = project();
    project.plan("onward: 1\nphases:\n  a: { agent: { use: claude-code, prompt-file: missing.md } }\n");
    let told = project.command(["check"]).expect(0).out;
    assert!(told.contains("missing.md"), "{told}");
    project.command(["run"]).expect(2).err_names(["missing.md"]);
    assert!(!project.exists(".onward"), "something was made");
    project.write("missing.md", "Do it.");
    project.command(["run", "--dry-run"]).expect(0);
}

/// It says that it is done and, in an output, what remains. It is sent back to that in the same session, without a retry, until nothing
/// remains; the same twice more is stuck.
#[test]
fn done_with_work_remaining() {
    let says = |left: &str| {
        format!(
            "init s1; echo ok > login.html; echo 'remaining={left}' >> \"$ONWARD_OUTPUT\"; ends s1 'All done!' 0.25\n"
        )
    };
    let project = with_agent(&[&says("header, footer"), &says("footer"), &says("none")]);
    let ran = project.command(["run"]).expect(0);
    ran.err_names(["build goes on: it says it is done, but this remains: header, footer"]);
    let calls = calls(&project);
    let went_on: Vec<Option<String>> = calls.iter().map(|call| session(call, "--resume")).collect();
    assert_eq!(went_on, [None, Some("s1".to_owned()), Some("s1".to_owned())]);
    assert!(!calls[0].contains("remains") && calls[2].contains("# What remains\n\nfooter\n"), "{}", calls[2]);
    let status = project.command(["status", "--json"]).json();
    assert_eq!((&status["completed"][0]["attempts"], &status["cost_usd"]), (&3.into(), &0.75.into()));
    project.ran_once(["ship"]);

    let project = with_agent(&[&says("the footer"), &says("the footer"), &says("The footer")]);
    let ran = project.command(["run"]).expect(1);
    ran.err_names(["build", "stuck: what remains has not changed: The footer"]);
    let status = project.command(["status", "--json"]).json();
    assert!(status["remaining"].to_string().contains("stuck: what remains"), "{status}");
    assert_eq!(project.ledger().len(), 0, "what needs it does not run");
}

/// A plan in Markdown, done by an agent that ticks its own boxes. It says that it is done with one open: it is sent back to that one.
/// One that ticks none is taken at its word, and the boxes are ticked for it.
#[test]
fn boxes_left_open_are_work_that_remains() {
    let plan = "# Login\n\n## Phase 1: Build\n\n- [ ] header\n- [ ] footer\n";
    let ticks = |what: &str| format!("init s1; sed -i 's/\\[ \\] {what}/[x] {what}/' plan.md; ends s1 Done. 0\n");
    for (steps, count) in
        [(vec![ticks("header"), ticks("footer")], 2), (vec!["init s1; ends s1 Done. 0\n".to_owned()], 1)]
    {
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let project = with_agent(&steps);
        project.write("plan.md", plan);
        project.command(["run", "plan.md", "--agent", "claude-code"]).expect(0);
        let calls = calls(&project);
        assert_eq!(calls.len(), count);
        assert!(count == 1 || calls[1].contains("left open in the plan: footer"), "{calls:?}");
        let text = project.read("plan.md");
        assert!(text.contains("[x] header") && text.contains("[x] footer") && text.contains("[COMPLETE]"), "{text}");
    }
}

/// The client is not installed. The failure names it and the PATH, and the run goes on once it is there.
#[test]
fn a_client_that_is_not_installed() {
    let project = project();
    project.plan("onward: 1\nphases:\n  a: { agent: { use: gemini, prompt: Do it. } }\n");
    project.command(["run"]).expect(1).err_names(["there is no program gemini on the PATH"]);
    project.script("gemini", "#!/bin/sh\ncat > /dev/null\necho '{\"session_id\":\"g\",\"content\":\"Done.\"}'\n");
    project.command(["resume"]).expect(0);
}
