//! One feature from its plan to its last commit, with stand-ins for the clients.

use onward_testkit::{TestProject, wait_until};
use serde_json::json;

use crate::agents::{calls, scripted, session};

const PLAN: &str = "onward: 1
name: feature
team:
  - { agent: builder, role: build }
  - { agent: reviewer, role: review }
replan: { run: cat next.yaml, approval: false }
checkpoint: { git-commit: { every: 1 } }
phases:
  design: { run: step design 'echo a page > design.md' }
  build:
    needs: design
    agent: { prompt: Build the login page. }
    retry: { max: 3, when: [failed], backoff: { initial: 10ms } }
    artifacts: { page: login.html }
  review: { needs: build, agent: { use: codex, prompt: Review the page. }, artifacts: { review: review.md } }
  ship: { needs: review, run: step ship 'echo 1 > shipped' }
";

/// Codex, which reviews.
const CODEX: &str = r#"#!/bin/sh
{ printf '%s\n' "$@"; cat; } > "$HOME/codex-call"
echo '{"type":"thread.started","thread_id":"t-1"}
{"type":"turn.started"}'
onward message inbox reviewer > "$HOME/reviewer-read"
echo fine > review.md
echo '{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"It is fine."}}
{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}'
"#;

fn says(id: &str, body: &str) -> String {
    format!("onward message send --from builder --to reviewer --type handoff --id {id} --body '{body}' >&2\n")
}

fn feature() -> TestProject {
    let limited = |session: &str| {
        format!("init {session}; fails {session} \"Claude AI usage limit reached|$(( $(date +%s) + 2 ))\" 0.1\n")
    };
    let steps = [
        says("M-1", "begun") + &limited("s1"),
        says("M-1", "begun") + &limited("s2"),
        says("M-2", "half way") + "init s2; says s2 'half way'; hold; exit 9\n",
        says("M-2", "half way") + "init s2; ends s2 'All done!' 0.25\n",
        "init s2; echo a page > login.html; echo 'remaining=the footer' >> \"$ONWARD_OUTPUT\"; ends s2 'Nearly.' 0.5\n"
            .to_owned(),
        "init s2; onward report replan build --reason 'the footer is a phase of its own' >&2; ends s2 'I asked.' 0.125\n"
            .to_owned(),
        "init s2; ends s2 'The page is there.' 0.25\n".to_owned(),
        says("M-3", "ready") + "init s9; echo a footer >> login.html; ends s9 'The footer is there.' 0.5\n",
    ];
    let project = scripted(&steps);
    project.script("codex", CODEX);
    project.plan(PLAN);
    let split = PLAN.replace("Build the login page.", "Build the login page without its footer.").replace(
        "  review: { needs: build,",
        "  footer: { needs: build, agent: { prompt: Add the footer. } }\n  review: { needs: footer,",
    );
    project.write("next.yaml", split);
    project.git_init();
    project
}

/// A whole feature: two rate limits, a session that changes its id, everything killed while the agent works, two ends that are none
/// (the page is missing; the footer is left), and a plan that the agent finds too small. In the end there are exactly the expected
/// commits, messages and costs, and every other phase ran once.
#[test]
fn a_feature_from_its_plan_to_its_last_commit() {
    let project = feature();
    let driver = project.start(["run"]);
    wait_until("the third call and its session", || {
        let status = project.command(["status", "--json"]).json();
        (status["running"][0]["agent"]["session"] == "s2" && calls(&project).len() == 3).then_some(())
    });
    wait_until("its message", || (facts(&project, "message_sent") == 2).then_some(()));
    project.kill_everything();
    driver.wait_code(137);
    let resumed = project.command(["run", "--resume"]).expect(0);
    resumed.err_names(["login.html", "this remains: the footer", "the footer is a phase of its own"]);
    project.ran_once(["design", "ship"]);

    let calls = calls(&project);
    let went_on: Vec<Option<String>> = calls.iter().map(|call| session(call, "--resume")).collect();
    let (s1, s2) = (Some("s1".to_owned()), Some("s2".to_owned()));
    assert_eq!(went_on, [None, s1, s2.clone(), s2.clone(), s2.clone(), s2.clone(), s2, None]);
    for (call, told) in [(4, "login.html"), (5, "the footer"), (6, "without its footer"), (7, "Add the footer.")] {
        assert!(calls[call].contains(told), "call {call}: {}", calls[call]);
    }

    let status = project.command(["status", "--json"]).json();
    assert_eq!((&status["status"], &status["cost_usd"]), (&json!("completed"), &json!(1.825)));
    let of = |id: &str| {
        let done = status["completed"].as_array().expect("a list").iter();
        done.clone().find(|phase| phase["id"] == id).cloned().unwrap_or_default()
    };
    assert_eq!((&of("build")["attempts"], &of("build")["agent"]["cost_usd"]), (&json!(7), &json!(1.325)));
    assert_eq!((&of("footer")["agent"]["session"], &of("footer")["agent"]["cost_usd"]), (&json!("s9"), &json!(0.5)));
    assert_eq!((&of("review")["agent"]["use"], &of("review")["agent"]["tokens"]), (&json!("codex"), &json!(15)));

    let told = project.command(["message", "inbox", "reviewer", "--json"]).expect(0).json();
    let ids: Vec<&str> =
        told["messages"].as_array().into_iter().flatten().filter_map(|message| message["id"].as_str()).collect();
    assert_eq!((ids, facts(&project, "message_sent")), (vec!["M-1", "M-2", "M-3"], 3), "each once");
    let read = std::fs::read_to_string(project.home().join("reviewer-read")).expect("it was read");
    assert!(["begun", "half way", "ready"].iter().all(|body| read.contains(body)), "{read}");

    let run = status["run"].as_str().expect("an id");
    let log = project.git(["log", "--reverse", "--format=%s|%(trailers:separator=%x2C,unfold=true)"]);
    let commits: Vec<&str> = log.lines().skip(1).collect();
    let (claude, codex) =
        ("Co-Authored-By: Claude <noreply@anthropic.com>,", "Co-Authored-By: Codex <noreply@openai.com>,");
    let commit = |number: usize, of: &str| {
        format!("checkpoint: phase {number} complete|{of}Onward-Run: {run},Onward-Batch: {number}")
    };
    assert_eq!(commits, [commit(1, ""), commit(2, claude), commit(3, claude), commit(4, codex), commit(5, "")]);
    assert_eq!(project.git(["status", "--porcelain"]), "");
}

/// The facts of this kind in the journal.
fn facts(project: &TestProject, what: &str) -> usize {
    let told = project.command(["log", "--events", "--json"]).expect(0).json();
    let all = told["events"].as_array().expect("a list").iter();
    all.filter(|event| event["fact"]["what"] == what).count()
}
