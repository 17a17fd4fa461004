//! Plans that an agent writes, with a stand-in for the client that plays a script.

use onward_testkit::{Signal, TestProject, wait_until};

use crate::project;

/// Plays `$HOME/agent/step-N` at its Nth call, and notes its arguments and its prompt. `answers FILE` has the text of that file as
/// its last message.
const CLIENT: &str = r#"#!/bin/sh
n=$(( $(ls "$HOME/agent" | grep -c '^call-') + 1 ))
{ printf '%s\n' "$@"; echo --prompt--; cat; } > "$HOME/agent/call-$n"
init() { echo '{"type":"system","subtype":"init","session_id":"s1","model":"fake"}'; }
escaped() { awk '{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); printf "%s\\n", $0 }' "$HOME/agent/$1"; }
ends() { printf '{"type":"result","subtype":"success","is_error":%s,"session_id":"s1","result":"%s","num_turns":2,"total_cost_usd":0.25}\n' "$1" "$2"; }
answers() { init; ends false "$(escaped "$1")"; }
fails() { init; ends true "$1"; exit 1; }
limited() { fails "Claude AI usage limit reached|$(( $(date +%s) + $1 ))"; }
hold() { until [ -e "$HOME/go-on" ]; do sleep 0.02; done; }
. "$HOME/agent/step-$n"
"#;

const PLAN: &str = "onward: 1
name: login
phases:
  build: { run: step build }
  ship: { needs: build, run: step ship }
";
const WRONG: &str = "onward: 1\nphases:\n  build: { rum: step build }\n";

fn with_agent(steps: &[&str]) -> TestProject {
    let project = project();
    project.script("claude", CLIENT);
    let agent = |name: &str, text: &str| project.write(project.home().join("agent").join(name), text);
    agent("plan", &format!("Here is the plan:\n\n```yaml\n{PLAN}```\n"));
    agent("bare", PLAN);
    agent("wrong", WRONG);
    for (number, step) in steps.iter().enumerate() {
        agent(&format!("step-{}", number + 1), step);
    }
    project
}

fn calls(project: &TestProject) -> Vec<String> {
    let call = |number: usize| std::fs::read_to_string(project.home().join(format!("agent/call-{number}"))).ok();
    (1..).map_while(call).collect()
}

/// A secret stands in the plan that the agent writes. It would run with the sign for it: the agent is told, and the next one is saved.
#[test]
fn a_plan_with_a_secret_is_not_saved() {
    let mut project = with_agent(&["answers leaky\n", "answers plan\n"]);
    project.set_env("API_TOKEN", "s3cr3t-t0ken-of-mine");
    let leaky = "onward: 1\nphases:\n  build: { run: echo s3cr3t-t0ken-of-mine }\n";
    project.write(project.home().join("agent/leaky"), leaky);
    let planned = project.command(["plan", "Build it", "--yes"]).expect(0);
    assert!(planned.err.contains("a secret stood in it and was cut out"), "{planned}");
    assert_eq!(project.read("onward.yaml"), PLAN);
}

/// An agent writes a plan that is wrong. It is told what is wrong, in the same session, and writes another one, which the person
/// looks at and agrees to. Only then is there a file, and it is the plan that the person saw.
#[test]
fn a_plan_that_is_wrong_once_is_saved() {
    let project = with_agent(&["answers wrong\n", "answers plan\n"]);
    let mut terminal = project.terminal(["plan", "Build the login page"]);
    terminal.expect("the agent is told so (1): unknown key `rum`");
    terminal.expect("ship (needs build)");
    terminal.expect("batch 2: ship");
    terminal.expect("[n]: ");
    assert!(!project.exists("onward.yaml"), "nothing is saved before the yes");
    terminal.send("v\n");
    terminal.expect("name: login");
    terminal.expect("[n]: ");
    terminal.send("y\n");
    terminal.expect("onward run");
    terminal.wait_code(0);
    assert_eq!(project.read("onward.yaml"), PLAN);
    assert!(!project.exists(".onward"), "a plan makes no project");
    let calls = calls(&project);
    assert_eq!(calls.len(), 2);
    assert!(calls[0].contains("Build the login page") && calls[0].contains("- `done-when`"), "{}", calls[0]);
    for flag in ["--session-id", "--permission-mode\ndefault", "--disallowedTools\nEdit\nWrite"] {
        assert!(calls[0].contains(flag), "{flag}: {}", calls[0]);
    }
    for told in ["--resume\ns1", "plan:3:", "rum", "did you mean"] {
        assert!(calls[1].contains(told), "{told}: {}", calls[1]);
    }
    project.command(["run"]).expect(0);
    project.ran_once(["build", "ship"]);
}

/// The person does not agree. Nothing is saved, and what was written is kept where it is in nobody's way.
#[test]
fn a_person_says_no() {
    let project = with_agent(&["answers bare\n"]);
    let mut terminal = project.terminal(["plan", "Build it"]);
    terminal.expect("[n]: ");
    terminal.send("\n");
    terminal.expect("nothing was saved");
    let said = terminal.wait_code(0);
    assert!(!project.exists("onward.yaml"));
    let all = said.out.replace(['\r', '\n'], " ") + &said.err;
    let kept = all.split_whitespace().find(|word| word.ends_with("last-message.txt")).expect("a path is told");
    assert_eq!(std::fs::read_to_string(kept).expect("it is there"), PLAN);
}

/// Nobody is there to say yes: no agent is asked, and every answer is a command. The commands do what they say, and a file that is
/// there is never overwritten.
#[test]
fn without_a_terminal_the_answers_are_commands() {
    let project = with_agent(&["answers plan\n", "answers plan\n", "answers plan\n"]);
    let asked = project.command(["plan", "Build it", "--json"]).expect(14).json();
    let choices = asked["error"]["choices"].as_array().expect("choices");
    let commands: Vec<&str> = choices.iter().filter_map(|choice| choice["command"].as_str()).collect();
    assert_eq!(commands, ["onward plan 'Build it' --yes", "onward plan 'Build it' --output -"]);
    project.command(["plan", "Build it"]).expect(14).err_names(["--yes", "--output -"]);
    assert!(calls(&project).is_empty(), "an agent was asked in vain");
    let printed = project.command(["plan", "Build it", "--output", "-"]).expect(0);
    assert_eq!(printed.out, PLAN);
    assert!(!project.exists("onward.yaml"));
    let saved = project.command(["plan", "Build it", "--yes", "--json"]).expect(0).json();
    assert_eq!((&saved["saved"], &saved["valid"], &saved["path"]), (&true.into(), &true.into(), &"onward.yaml".into()));
    assert_eq!(saved["batches"], serde_json::json!([["build"], ["ship"]]));
    assert_eq!(saved["agent"]["cost_usd"], 0.25);
    assert_eq!(project.read("onward.yaml"), PLAN);
    project.write("onward.yaml", "mine");
    project.command(["plan", "Build it", "--yes"]).expect(2).err_names(["onward.yaml is there already", "--output"]);
    assert_eq!((project.read("onward.yaml").as_str(), calls(&project).len()), ("mine", 2));
    project.command(["plan", "Build it", "--yes", "--output", "other.yaml"]).expect(0);
    assert_eq!(project.read("other.yaml"), PLAN);
    project.command(["plan", "Build it", "--yes", "--output", "plan.md"]).expect(2);
}

/// The agent does not get it right. All that is wrong with its last plan is said, its text is kept, and nothing is saved.
#[test]
fn a_plan_that_stays_wrong() {
    let project = with_agent(&["answers wrong\n"; 4]);
    let ran = project.command(["plan", "Build it", "--yes"]).expect(2);
    let ran = ran.err_names(["plan:3:", "rum", "did you mean", "last-message.txt"]);
    assert_eq!(calls(&project).len(), 3, "it is told twice");
    assert!(!project.exists("onward.yaml") && !project.exists(".onward"));
    let kept = ran.err.split_whitespace().find(|word| word.ends_with("last-message.txt")).expect("a path is told");
    assert_eq!(std::fs::read_to_string(kept).expect("it is there"), WRONG);
}

/// The client meets its limit, is not logged in, is not there, or is unknown: each is said, with its own exit code.
#[test]
fn a_client_that_cannot_plan() {
    let project = with_agent(&["limited 600\n", "fails 'Invalid API key · Please run /login'\n"]);
    let said = project.command(["plan", "Build it", "--yes", "--json"]).expect(75).json();
    assert_eq!(said["error"]["code"], "agent-limited");
    assert!(said["error"]["retry_at"].is_string(), "{said}");
    project.command(["plan", "Build it", "--yes"]).expect(1).err_names(["not logged in", "log in"]);
    let entry = "agents:\n  ghost: { start: [no-such-program] }\nplan: { agent: ghost }\n";
    project.write(project.home().join(".config/onward/config.yaml"), entry);
    project.command(["plan", "Build it", "--yes"]).expect(1).err_names(["not installed", "no-such-program"]);
    project.command(["plan", "Build it", "--yes", "--agent", "nobody"]).expect(2).err_names(["no agent nobody"]);
    assert!(!project.exists("onward.yaml"));
}

/// Ctrl+C while the agent plans, and an agent that takes too long: it ends with everything that it started, and nothing is saved.
#[test]
fn an_agent_that_is_ended_takes_all_along() {
    let begins = "init; setsid sh -c 'sleep 1000' & hold\n";
    let project = with_agent(&[begins, begins]);
    let running = project.start(["plan", "Build it", "--yes"]);
    wait_until("the call", || (calls(&project).len() == 1).then_some(()));
    running.signal(Signal::SIGINT);
    running.wait_code(130);
    project.wait_no_processes();
    project.command(["plan", "Build it", "--yes", "--timeout", "1s"]).expect(1).err_names(["--timeout"]);
    project.wait_no_processes();
    assert!(!project.exists("onward.yaml"));
}

/// A secret of the environment stands in the plan. It is cut out before the plan is shown or saved.
#[test]
fn a_secret_in_a_plan_is_cut_out() {
    let mut project = with_agent(&["answers secret\n"]);
    project.set_env("DEPLOY_TOKEN", "hunter2-hunter2");
    let plan = PLAN.replace("name: login", "name: login\ndescription: with hunter2-hunter2");
    project.write(project.home().join("agent/secret"), plan);
    let ran = project.command(["plan", "Use hunter2-hunter2", "--yes"]).expect(0);
    let saved = project.read("onward.yaml");
    for text in [&saved, &ran.out, &ran.err, &calls(&project)[0]] {
        assert!(!text.contains("hunter2-hunter2"), "{text}");
    }
    assert!(saved.contains("description: with "), "{saved}");
}

/// `run` where there is no plan: at a terminal it asks for the task, has it planned, and runs the plan once the person agrees. Without
/// one it says which verb makes a plan.
#[test]
fn a_run_without_a_plan() {
    let project = with_agent(&["answers plan\n"]);
    project.command(["run"]).expect(2).err_names(["onward plan"]);
    let mut terminal = project.terminal(["run"]);
    terminal.expect("What is to be done?");
    terminal.send("\n");
    terminal.wait_code(2);
    let mut terminal = project.terminal(["run"]);
    terminal.expect("What is to be done?");
    terminal.send("Build the login page\n");
    terminal.expect("and run it?");
    assert!(!project.exists("onward.yaml"));
    terminal.send("y\n");
    terminal.wait_code(0);
    project.ran_once(["build", "ship"]);
    assert_eq!(project.read("onward.yaml"), PLAN);
    assert!(calls(&project)[0].contains("Build the login page"));
}

/// A plan whose first phase is an agent's and finds itself too big for one; nobody named a command that makes another plan.
const BIG: &str = "
    onward: 1
    name: login
    replan: { approval: false }
    phases:
      a: { run: step a }
      build:
        needs: a
        agent: { prompt: Build the login page. }
        artifacts: { page: login.html }
        on-failure: replan
      ship: { needs: build, run: step ship }
";
const SMALL: &str = "onward: 1
name: login
phases:
  a: { run: step a }
  build1: { needs: a, run: step build1 }
  build2: { needs: build1, run: step build2 }
  ship: { needs: build2, run: step ship }
";
/// It changes what is done.
const TOO_MUCH: &str = "onward: 1\nphases:\n  a: { run: step other }\n  ship: { needs: a, run: step ship }\n";

fn replanned(plan: &str, steps: &[&str]) -> TestProject {
    let project = with_agent(steps);
    project.plan(plan);
    project.write(project.home().join("agent/small"), SMALL);
    project.write(project.home().join("agent/too-much"), TOO_MUCH);
    project
}

const DOES_NOTHING: &str = "init; ends false Done.\n";

/// The phase of an agent fails, and its plan says that this asks for another one. The same agent is asked for it, with the present
/// plan and what is done; what it may not change is sent back to it like a mistake. The new plan waits for a person, and counts then.
#[test]
fn an_agent_makes_another_plan() {
    let plan = BIG.replace("{ approval: false }", "{ max: 2 }");
    let project = replanned(&plan, &[DOES_NOTHING, "answers wrong\n", "answers too-much\n", "answers small\n"]);
    project.command(["run"]).expect(15).err_names(["added build1, build2; removed build"]);
    let calls = calls(&project);
    assert_eq!(calls.len(), 4);
    for told in ["login.html", "Build the login page.", "kept as they are: a.", "--permission-mode\ndefault", "## Done"]
    {
        assert!(calls[1].contains(told), "{told}: {}", calls[1]);
    }
    assert!(calls[2].contains("--resume\ns1") && calls[2].contains("rum"), "{}", calls[2]);
    assert!(calls[3].contains("a is finished, and this revision would change it"), "{}", calls[3]);
    project.command(["approve", "latest", "build"]).expect(0);
    project.command(["resume"]).expect(0);
    project.ran_once(["a", "build1", "build2", "ship"]);
}

/// A script asks for another plan, and the agent that phases share makes it.
#[test]
fn the_shared_agent_plans_for_a_script() {
    let plan = BIG.replace("agent: { prompt: Build the login page. }", "run: 'echo far too big; exit 79'");
    let plan = plan.replace("    phases:", "    defaults: { agent: { use: claude-code, model: opus } }\n    phases:");
    let project = replanned(&plan, &["answers small\n"]);
    project.command(["run"]).expect(0);
    project.ran_once(["a", "build1", "build2", "ship"]);
    assert!(calls(&project)[0].contains("far too big") && calls(&project)[0].contains("--model\nopus"));
}

/// The driver dies while the agent makes the plan: everything, or the driver alone. The next start ends what is left and asks again.
#[test]
fn killed_while_a_plan_is_made() {
    for everything in [true, false] {
        let late = "init; setsid sh -c 'hold() { until [ -e \"$HOME/go-on\" ]; do sleep 0.02; done; }; hold; echo x > \"$HOME/late\"' & hold\n";
        let project = replanned(BIG, &[DOES_NOTHING, late, "answers small\n"]);
        let driver = project.start(["run"]);
        wait_until("the plan is asked for", || (calls(&project).len() == 2).then_some(()));
        if everything {
            project.kill_everything();
            driver.wait_code(137);
        } else {
            driver.kill();
        }
        project.command(["resume"]).expect(0);
        assert_eq!(calls(&project).len(), 3, "it is asked again");
        project.write(project.home().join("go-on"), "");
        project.wait_no_processes();
        assert!(!project.home().join("late").exists(), "the first one was at work beside the second");
        let status = project.command(["status", "--json"]).json();
        let cost = (status["cost_usd"].as_f64(), status["cost_is_part"].as_bool());
        assert_eq!(cost, (Some(0.5), Some(true)), "nobody knows what the first one cost");
        project.ran_once(["a", "build1", "build2", "ship"]);
    }
}

/// The agent that is to make the plan meets a limit. The run waits and asks again; where nobody wants to wait it is paused with the
/// time, and goes on from there.
#[test]
fn a_limit_while_a_plan_is_made() {
    let project = replanned(BIG, &[DOES_NOTHING, "limited 2\n", "answers small\n"]);
    project.command(["run"]).expect(0).err_names(["rate-limited"]);
    project.ran_once(["a", "build1", "build2", "ship"]);
    let project = replanned(BIG, &[DOES_NOTHING, "limited 3\n", "answers small\n"]);
    project.command(["run", "--wait-limit", "0"]).expect(75);
    project.command(["resume"]).expect(0);
    project.ran_once(["a", "build1", "build2", "ship"]);
}

/// The agent makes no plan that can be used. A person is asked what becomes of the phase, and told where the agent's words lie.
#[test]
fn no_other_plan_comes_of_it() {
    let project = replanned(BIG, &[DOES_NOTHING, "answers wrong\n", "answers wrong\n", "answers wrong\n"]);
    project.command(["run"]).expect(14).err_names(["cannot be used", "--retry build"]);
    assert_eq!(calls(&project).len(), 4);
    project.ran_once(["a"]);
}

/// An agent makes another plan, and a correction of it. Both count for the budget of the run: each turn is told what is left, and the phase
/// of another agent is not started any more. With more money it is, and the sum is that of all four.
#[test]
fn what_plans_cost_counts() {
    let project = replanned(BIG, &[DOES_NOTHING, "answers wrong\n", "answers agents\n", "init; ends false Done.\n"]);
    let agents = SMALL
        .replace("ship: { needs: build2, run: step ship }", "ship: { needs: build2, agent: { prompt: Ship it. } }");
    project.write(project.home().join("agent/agents"), agents);
    project.command(["run", "--budget", "0.6"]).expect(75).err_names(["$0.75"]);
    let told = |number: usize| {
        let calls = calls(&project);
        let mut words = calls[number].lines().skip_while(|word| *word != "--max-budget-usd").skip(1);
        words.next().map(str::to_owned)
    };
    assert_eq!((told(1).as_deref(), told(2).as_deref()), (Some("0.3500"), Some("0.1000")));
    let status = project.command(["status", "--json"]).json();
    assert_eq!((status["cost_usd"].as_f64(), &status["cost_is_part"]), (Some(0.75), &serde_json::Value::Null));
    project.ran_once(["a", "build1", "build2"]);
    project.command(["resume", "--budget", "2"]).expect(0);
    assert_eq!(project.command(["status", "--json"]).json()["cost_usd"].as_f64(), Some(1.0));
}

/// A person sees all that a plan would execute before they say yes: every line of a script and of a prompt, its checks, and what belongs
/// to the whole plan, with nothing in it that a terminal obeys.
#[test]
fn every_command_is_shown_before_the_yes() {
    let project = with_agent(&["answers long\n"]);
    let plan = "onward: 1
requires: [{ run: 'test -d /first-check' }]
phases:
  build:
    run: |
      echo first-line

      echo second-line && \\
        echo third-line
    env: { PATH: /somewhere/else }
    verify: test -e proof-file
    done-when: test -e effect-file
  write:
    agent:
      prompt: |
        Read the files.
        Then delete the last one.
      allow: ['Bash(rm *)']
finally:
  tidy: { run: echo in-the-end }
";
    project.write(project.home().join("agent/long"), plan);
    let mut terminal = project.terminal(["plan", "Build it"]);
    terminal.expect("first-line");
    terminal.expect("second-line");
    terminal.expect("third-line");
    terminal.expect("env PATH: /somewhere/else");
    terminal.expect("verify: test -e proof-file");
    terminal.expect("done-when: test -e effect-file");
    terminal.expect("Then delete the last one.");
    terminal.expect("allow: Bash(rm *)");
    terminal.expect("echo in-the-end");
    terminal.expect("requires: test -d /first-check");
    terminal.expect("[n]: ");
    terminal.send("\n");
    terminal.wait_code(0);
}
