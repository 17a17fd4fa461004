//! Phases done by the real clients, against a scripted service in a network of their own. The rig that has both stands beside the
//! repository, or where `ONWARD_AGENT_RIG` says; without it these tests are left out, and say so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jiff::Timestamp;
use onward_testkit::{Ran, Running, TestProject, wait_until};
use serde_json::{Value, json};

use crate::project;

/// The exit code with which the rig says that it cannot work here.
const SKIPPED: i32 = 77;
/// Of one story with several calls of a client.
const STORY: Duration = Duration::from_secs(100);
/// Variables of the rig's own.
const GIVEN_BY_THE_RIG: [&str; 3] = ["HOME", "PATH", "TMPDIR"];

/// A project inside the rig.
struct AgentRig {
    tool: PathBuf,
    project: TestProject,
    client: &'static str,
}

impl AgentRig {
    /// None, with a sentence, where the rig or its clients are not there.
    fn new(test: &str, client: &'static str) -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/rigs/agents");
        let tool = std::env::var_os("ONWARD_AGENT_RIG").map_or(beside, PathBuf::from);
        let check = Command::new(tool.join("install")).arg("--check").output();
        let reason = match check {
            Ok(ran) if ran.status.success() => None,
            Ok(ran) => Some(String::from_utf8_lossy(&ran.stderr).trim().to_owned()),
            Err(_) => Some("the rig of agents is not here".to_owned()),
        };
        if let Some(reason) = reason {
            left_out(&format!("{test}: {reason}"));
            return None;
        }
        Some(Self { tool, project: project(), client })
    }

    /// The plan of every story: an agent writes a file, and a script goes on from it.
    fn plan(&self, more: &str) {
        let client = self.client;
        self.project.plan(&format!(
            "
            onward: 1
            name: real
            phases:
              build:
                agent: {{ use: {client}, prompt: Make the file made.txt., {more} }}
                artifacts: {{ made: made.txt }}
              ship: {{ needs: build, run: step ship }}
            "
        ));
    }

    /// Plays `onward` commands one after the other, each once its gate is open.
    fn start(&self, steps: &Value, variables: &[&str], commands: &[&[&str]]) -> Running {
        let scenario = self.project.root().join("steps.json");
        self.project.write(&scenario, steps.to_string());
        let onward = self.project.prepare(["x"]);
        let mut words: Vec<String> = vec!["env".to_owned()];
        let passed = onward.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        words.extend(passed.filter(|(name, _)| !GIVEN_BY_THE_RIG.contains(name)).map(|(n, v)| format!("{n}={v}")));
        words.extend(variables.iter().map(|word| (*word).to_owned()));
        words.push(onward.get_program().to_string_lossy().into_owned());
        let quoted = |words: &[String]| words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let prefix = quoted(&words);
        let lines = commands.iter().enumerate().map(|(number, command)| {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            let out = self.project.root().join(format!("said-{number}"));
            let gate = self.gate(number).display().to_string();
            format!(
                "until [ -e '{gate}' ]; do sleep 0.05; done; {prefix} {} > {out} 2>&1; echo \"code $?\" >> {out}\n",
                quoted(&command),
                out = out.display()
            )
        });
        let mut run = self.project.prepare_program(self.tool.join("run"), ["--scenario"]);
        run.arg(&scenario).arg("--dir").arg(self.folder()).args(["sh", "-c", &lines.collect::<String>()]);
        // What carries it ends with the processes of the project, and the rig goes on after that.
        run.env_remove("TESTKIT_TOKEN");
        run.env("ONWARD_RIGS", rigs());
        self.open(0);
        self.project.spawn(run)
    }

    /// All of it to the end; none where the rig cannot work on this machine.
    fn play(&self, steps: &Value, variables: &[&str], commands: &[&[&str]]) -> Option<Vec<CommandOutput>> {
        (1..commands.len()).for_each(|number| self.open(number));
        self.end(self.start(steps, variables, commands), commands.len())
    }

    fn gate(&self, number: usize) -> PathBuf {
        self.project.root().join(format!("open-{number}"))
    }

    fn open(&self, number: usize) {
        std::fs::write(self.gate(number), "").expect("the folder is ours");
    }

    fn end(&self, running: Running, commands: usize) -> Option<Vec<CommandOutput>> {
        let ran: Ran = running.wait_within(STORY);
        if ran.code == SKIPPED {
            left_out(ran.err.trim());
            return None;
        }
        Some((0..commands).map(|number| self.said(number)).collect())
    }

    fn said(&self, number: usize) -> CommandOutput {
        let text = std::fs::read_to_string(self.project.root().join(format!("said-{number}"))).unwrap_or_default();
        let code = text.lines().rev().find_map(|line| line.strip_prefix("code ")).and_then(|code| code.parse().ok());
        CommandOutput { code: code.unwrap_or(-1), text }
    }

    fn folder(&self) -> PathBuf {
        self.project.root().join("rig")
    }

    /// Whether the result of a tool call is in the files in which a client keeps its sessions.
    fn client_has_written(&self) -> bool {
        let mut folders = vec![self.folder().join("home")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                    let record = std::fs::read_to_string(path).unwrap_or_default();
                    if record.contains("\"tool_result\"") || record.contains("\"function_call_output\"") {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// The requests for which the service was asked.
    fn requests(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.folder().join("requests.jsonl")).unwrap_or_default();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == "request").collect()
    }

    /// The agent makes its file.
    fn makes(&self) -> Value {
        let path = self.project.path("made.txt");
        if self.client == "codex" {
            let added = "*** Begin Patch\n*** Add File: made.txt\n+made\n*** End Patch\n";
            json!({ "tool": { "name": "apply_patch", "input": added } })
        } else {
            json!({ "tool": { "name": "Write", "input": { "file_path": path, "content": "made\n" } } })
        }
    }

    /// A harmless tool call.
    fn looks(&self) -> Value {
        if self.client == "codex" {
            json!({ "tool": { "name": "exec_command", "input": { "cmd": "echo one" } } })
        } else {
            json!({ "tool": { "name": "Bash", "input": { "command": "echo one", "description": "say one" } } })
        }
    }

    fn status(&self) -> Value {
        self.project.command(["status", "--json"]).json()
    }
}

/// Output of one command, both streams.
struct CommandOutput {
    code: i32,
    text: String,
}

#[expect(clippy::print_stderr, reason = "a test that is left out has no other way to say so")]
fn left_out(why: &str) {
    eprintln!("left out: {why}");
}

fn rigs() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/onward-rigs");
    std::env::var_os("ONWARD_RIGS").map_or_else(home, PathBuf::from)
}

/// Claude Code takes a key for no subscription, and only those have usage limits.
const SUBSCRIBER: [&str; 2] = ["ANTHROPIC_API_KEY=", "CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy"];

/// The client is called once for a phase and does it: prompt, session, turns and cost are on record, and the next phase ran after it.
#[test]
fn claude_code_does_a_phase() {
    let Some(rig) = AgentRig::new("claude_code_does_a_phase", "claude-code") else { return };
    rig.plan("allow: [Write]");
    let steps = json!([rig.makes(), { "text": "The file is there." }]);
    let Some(said) = rig.play(&steps, &[], &[&["run"]]) else { return };
    assert_eq!(said[0].code, 0, "{}", said[0].text);
    let requests = rig.requests();
    assert_eq!(requests.len(), 2, "requests: {requests:#?}");
    assert!(requests[0]["said"].as_str().is_some_and(|said| said.contains("Make the file made.txt.")), "the prompt");
    rig.project.ran_once(["ship"]);
    let agent = &rig.status()["completed"][0]["agent"];
    assert_eq!((&agent["use"], &agent["turns"]), (&json!("claude-code"), &json!(2)), "{agent}");
    assert_eq!(agent["session"].as_str().map(str::len), Some(36), "{agent}");
    assert!(agent["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{agent}");
    assert_eq!(rig.status()["completed"][0]["summary"], "The file is there.", "its last word");
    let log = rig.project.command(["logs"]).expect(0).out;
    assert!(log.contains("> Write: ") && !log.contains("tool_use"), "the log is for people: {log}");
}

/// The subscription's limit is hit: the run waits until the time that the service named, and is not called before. With patience for
/// it the same session goes on by itself.
#[test]
fn claude_code_meets_its_usage_limit() {
    let Some(rig) = AgentRig::new("claude_code_meets_its_usage_limit", "claude-code") else { return };
    rig.plan("allow: [Write]");
    let limit = json!([rig.looks(), { "error": "usage_limit", "reset_in_s": 7200 }]);
    let before = Timestamp::now();
    let no_wait: &[&str] = &["run", "--wait-limit", "0", "--json"];
    let Some(said) = rig.play(&limit, &SUBSCRIBER, &[no_wait, &["resume", "--wait-limit", "0"]]) else { return };
    assert_eq!((said[0].code, said[1].code), (75, 75), "{}\n{}", said[0].text, said[1].text);
    assert_eq!(rig.requests().len(), 2, "the client is not called before its time");
    let until: Timestamp = retry_at(&said[0].text).parse().expect("a time");
    let away = until.duration_since(before).as_secs();
    assert!((7195..7260).contains(&away), "the run waits {away} s");

    let rig = AgentRig::new("claude_code_meets_its_usage_limit", "claude-code").expect("it was there before");
    rig.plan("allow: [Write]");
    let limit = json!([rig.looks(), { "error": "usage_limit", "reset_in_s": 6 }, rig.makes(), { "text": "done" }]);
    let said = rig.play(&limit, &SUBSCRIBER, &[&["run"]]).expect("it worked before");
    assert_eq!(said[0].code, 0, "{}", said[0].text);
    let requests = rig.requests();
    let waited = requests[2]["at"].as_f64().unwrap_or_default() - requests[1]["at"].as_f64().unwrap_or_default();
    assert!(waited >= 5.0, "the client was called again after {waited} s");
    assert_eq!(requests[2]["continued"], true, "the same session goes on");
    assert_eq!(rig.status()["completed"][0]["attempts"], 2, "attempts");
}

fn retry_at(text: &str) -> String {
    let objects = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut times = objects.filter_map(|object| object["retry_at"].as_str().map(str::to_owned));
    times.next_back().unwrap_or_else(|| panic!("no retry_at in {text}"))
}

/// Everything is killed while the model answers. The same session goes on: what it did before is in the conversation, and the phase
/// is done once.
fn killed_in_mid_answer(rig: &AgentRig) {
    rig.plan(if rig.client == "codex" { "model: gpt-5.5" } else { "allow: [Write]" });
    let steps =
        json!([rig.looks(), { "hang": true, "text": "words that nobody hears" }, rig.makes(), { "text": "done" }]);
    let commands: [&[&str]; 2] = [&["run"], &["run", "--resume"]];
    let mut running = rig.start(&steps, &[], &commands);
    wait_until("the second request", || (rig.requests().len() == 2 || running.ended().is_some()).then_some(()));
    // What a client has not written down when it is killed is in no conversation afterwards.
    wait_until("the client's own record", || (rig.client_has_written() || running.ended().is_some()).then_some(()));
    let session = wait_until("the session on record", || {
        let status = rig.status();
        let id = status["running"][0]["agent"]["session"].as_str().map(str::to_owned);
        if running.ended().is_some() { Some(String::new()) } else { id }
    });
    rig.project.kill_everything();
    rig.open(1);
    let Some(said) = rig.end(running, commands.len()) else { return };
    assert_eq!((said[0].code, said[1].code), (137, 0), "{}\n{}", said[0].text, said[1].text);
    let requests = rig.requests();
    assert_eq!(requests.len(), 4, "requests: {requests:#?}");
    assert_eq!(requests[2]["continued"], true, "what was done before is in the conversation");
    let done = &rig.status()["completed"][0];
    assert_eq!(done["agent"]["session"], json!(session), "the same session: {done}");
    rig.project.ran_once(["ship"]);
}

#[test]
fn claude_code_is_killed_in_mid_answer() {
    if let Some(rig) = AgentRig::new("claude_code_is_killed_in_mid_answer", "claude-code") {
        killed_in_mid_answer(&rig);
    }
}

#[test]
fn codex_is_killed_in_mid_answer() {
    if let Some(rig) = AgentRig::new("codex_is_killed_in_mid_answer", "codex") {
        killed_in_mid_answer(&rig);
    }
}

/// Codex says the time of its limit by the clock on the wall. The run waits for it, and the client's own waiting is switched off.
#[test]
fn codex_meets_its_limits() {
    let Some(rig) = AgentRig::new("codex_meets_its_limits", "codex") else { return };
    rig.plan("model: gpt-5.5");
    let limit = json!([{ "error": "usage_limit", "reset_in_s": 7200 }]);
    let no_wait: &[&str] = &["run", "--wait-limit", "0", "--json"];
    let before = Timestamp::now();
    let Some(said) = rig.play(&limit, &[], &[no_wait]) else { return };
    assert_eq!(said[0].code, 75, "{}", said[0].text);
    let until: Timestamp = retry_at(&said[0].text).parse().expect("a time");
    let away = until.duration_since(before).as_secs();
    assert!((7080..7300).contains(&away), "the run waits {away} s");
    let rig = AgentRig::new("codex_meets_its_limits", "codex").expect("it was there before");
    rig.plan("model: gpt-5.5");
    let asked = json!([{ "error": "rate_limit", "retry_after_s": 600, "times": 0 }]);
    let said = rig.play(&asked, &[], &[no_wait]).expect("it worked before");
    assert_eq!((said[0].code, rig.requests().len()), (75, 1), "{}", said[0].text);
}

/// The whole way with the real client: its usage limit ends after a few seconds, then everything is killed in the middle of an answer, and
/// the next start finishes. One session goes through all of it, and each thing was asked of the service as often as it had to be.
#[test]
fn claude_code_goes_through_a_limit_and_a_kill() {
    let Some(rig) = AgentRig::new("claude_code_goes_through_a_limit_and_a_kill", "claude-code") else { return };
    rig.plan("allow: [Write]");
    let steps = json!([
        rig.looks(),
        { "error": "usage_limit", "reset_in_s": 5 },
        { "hang": true, "text": "words that nobody hears" },
        rig.makes(),
        { "text": "The file is there." }
    ]);
    let commands: [&[&str]; 2] = [&["run"], &["run", "--resume"]];
    let mut running = rig.start(&steps, &SUBSCRIBER, &commands);
    wait_until("the third request", || (rig.requests().len() == 3 || running.ended().is_some()).then_some(()));
    let session = wait_until("the session on record", || {
        let id = rig.status()["running"][0]["agent"]["session"].as_str().map(str::to_owned);
        if running.ended().is_some() { Some(String::new()) } else { id }
    });
    rig.project.kill_everything();
    rig.open(1);
    let Some(said) = rig.end(running, commands.len()) else { return };
    assert_eq!((said[0].code, said[1].code), (137, 0), "{}\n{}", said[0].text, said[1].text);
    assert!(said[0].text.contains("limit"), "the limit is told: {}", said[0].text);
    let requests = rig.requests();
    let at = |number: usize| requests[number]["at"].as_f64().unwrap_or_default();
    assert_eq!(requests.len(), 5, "requests: {requests:#?}");
    assert!(at(2) - at(1) >= 4.0, "the client was called again after {} s", at(2) - at(1));
    assert!(requests[1..].iter().all(|request| request["continued"] == true), "one conversation: {requests:#?}");
    let status = rig.status();
    let done = &status["completed"][0];
    assert_eq!((&done["agent"]["session"], &done["attempts"]), (&json!(session), &json!(3)), "{done}");
    assert_eq!(done["summary"], "The file is there.");
    assert!(status["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{status}");
    rig.project.ran_once(["ship"]);
}

/// Nobody is logged in. The client asks twice at most, says so, and the run does not try on.
#[test]
fn claude_code_is_not_logged_in() {
    let Some(rig) = AgentRig::new("claude_code_is_not_logged_in", "claude-code") else { return };
    rig.plan("allow: [Write]");
    let began = std::time::Instant::now();
    let Some(said) = rig.play(&json!([{ "error": "auth", "times": 0 }]), &[], &[&["run"]]) else { return };
    assert_eq!(said[0].code, 1, "{}", said[0].text);
    let requests = rig.requests().len();
    assert!(requests <= 2 && began.elapsed() < Duration::from_mins(1), "{requests} requests, {:?}", began.elapsed());
    assert!(rig.status()["remaining"].to_string().contains("API key"), "{}", rig.status());
}

/// The launcher of Codex is killed, and the program behind it would work on. It is ended before anything else begins, and the same thread
/// goes on in the next attempt.
#[test]
fn the_launcher_of_codex_is_killed() {
    let Some(rig) = AgentRig::new("the_launcher_of_codex_is_killed", "codex") else { return };
    rig.plan("model: gpt-5.5");
    let plan = rig.project.read("onward.yaml");
    rig.project.plan(&plan.replace("artifacts:", "retry: { max: 1, when: [infra] }\n    artifacts:"));
    let steps =
        json!([rig.looks(), { "hang": true, "text": "words that nobody hears" }, rig.makes(), { "text": "done" }]);
    let mut running = rig.start(&steps, &[], &[&["run"]]);
    wait_until("the second request", || (rig.requests().len() == 2 || running.ended().is_some()).then_some(()));
    if running.ended().is_none() {
        let launcher = wait_until("the launcher", || rig.project.processes().into_iter().find(|&pid| is_launcher(pid)));
        let killed = Command::new("kill").args(["-KILL", &launcher.to_string()]).status();
        assert!(killed.is_ok_and(|status| status.success()), "the launcher lives");
    }
    let Some(said) = rig.end(running, 1) else { return };
    assert_eq!(said[0].code, 0, "{}", said[0].text);
    let requests = rig.requests();
    assert_eq!((requests.len(), &requests[2]["continued"]), (4, &json!(true)), "{requests:#?}");
    assert_eq!(rig.status()["completed"][0]["attempts"], 2);
    rig.project.wait_no_processes();
}

/// The program that npm installs: it starts the real one.
fn is_launcher(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
    words.first().is_some_and(|word| word.ends_with(b"node"))
        && words.get(1).is_some_and(|word| word.ends_with(b"codex"))
}

/// A client is to write a plan. It tries to change a file and may not; its first plan is wrong, it is told so in the same session, and
/// the second one is saved.
fn writes_a_plan(rig: &AgentRig) {
    let plan = "onward: 1\nname: made\nphases:\n  make: { run: touch made.txt }\n";
    let wrong = plan.replace("run:", "rum:");
    let steps = json!([rig.makes(), { "text": wrong }, { "text": format!("Here it is.\n\n```yaml\n{plan}```") }]);
    let command = ["plan", "Make the file made.txt.", "--yes", "--agent", rig.client];
    let Some(said) = rig.play(&steps, &[], &[&command]) else { return };
    assert_eq!(said[0].code, 0, "{}", said[0].text);
    assert_eq!(rig.project.read("onward.yaml"), plan, "{}", said[0].text);
    assert!(!rig.project.exists("made.txt"), "it changed a file while it planned: {}", said[0].text);
    let requests = rig.requests();
    assert_eq!(requests.len(), 3, "requests: {requests:#?}");
    let corrected = &requests[2];
    assert_eq!(corrected["continued"], true, "the same session");
    let told = corrected["last"].as_str().unwrap_or_default();
    assert!(told.contains("did you mean") && told.contains("plan:4:"), "{told}");
}

#[test]
fn claude_code_writes_a_plan() {
    if let Some(rig) = AgentRig::new("claude_code_writes_a_plan", "claude-code") {
        writes_a_plan(&rig);
    }
}

#[test]
fn codex_writes_a_plan() {
    if let Some(rig) = AgentRig::new("codex_writes_a_plan", "codex") {
        writes_a_plan(&rig);
    }
}

/// The call that a person is asked about in the two stories below.
fn asked(rig: &AgentRig) -> Value {
    let pushed = rig.project.path("pushed.txt");
    let command = format!("true && echo push >> {}", pushed.display());
    json!({ "text": "The tests pass.", "tool": { "name": "Bash", "input": { "command": command, "description": "push it" } } })
}

/// The user's own hook, and a project that switches all hooks off.
fn with_hooks_of_others(rig: &AgentRig) {
    let hook = format!("echo called >> {}", rig.project.path("own-hook").display());
    let hook = json!({ "matcher": "Bash", "hooks": [{ "type": "command", "command": hook }] });
    let own = json!({ "hooks": { "PreToolUse": [hook] } });
    rig.project.write(rig.folder().join("home/.claude/settings.json"), own.to_string());
    rig.project.write(rig.project.path(".claude/settings.json"), json!({ "disableAllHooks": true }).to_string());
}

/// A call waits for a person, the client ends, and days later it is made in the same session, once, though the plan allows the tool
/// without asking and the project switches hooks off. The user's own hooks are called as ever.
#[test]
fn claude_code_waits_for_an_approval() {
    let Some(rig) = AgentRig::new("claude_code_waits_for_an_approval", "claude-code") else { return };
    rig.plan("allow: [Bash, Write], ask: [\"Bash(echo push:*)\"]");
    with_hooks_of_others(&rig);
    let steps = json!([rig.looks(), asked(&rig), rig.makes(), { "text": "It is pushed." }]);
    let commands: [&[&str]; 3] = [&["run"], &["approve", "@", "build"], &["resume"]];
    let Some(said) = rig.play(&steps, &[], &commands) else { return };
    assert_eq!(said[0].code, 15, "{}", said[0].text);
    assert!(said[0].text.contains("echo push >>") && said[0].text.contains("The tests pass."), "{}", said[0].text);
    assert_eq!((said[1].code, said[2].code), (0, 0), "{}\n{}", said[1].text, said[2].text);
    assert_eq!(rig.project.read("pushed.txt"), "push\n", "it is made once");
    let requests = rig.requests();
    assert_eq!(requests.len(), 4, "requests: {requests:#?}");
    assert_eq!(requests[2]["continued"], true, "the same session goes on");
    let done = &rig.status()["completed"][0];
    assert_eq!(done["attempts"], 2, "{done}");
    assert!(rig.project.exists("own-hook"), "the user's own hook is called");
    rig.project.ran_once(["ship"]);
}

/// A person says no. The model reads the reason, and goes on without it.
#[test]
fn claude_code_reads_why_a_call_was_rejected() {
    let Some(rig) = AgentRig::new("claude_code_reads_why_a_call_was_rejected", "claude-code") else { return };
    rig.plan("allow: [Bash, Write], ask: [\"Bash(echo push:*)\"]");
    let steps = json!([asked(&rig), rig.makes(), { "text": "Then not." }]);
    let reject: &[&str] = &["reject", "@", "build", "--reason", "Not-on-a-Friday", "--resume"];
    let Some(said) = rig.play(&steps, &[], &[&["run"], reject]) else { return };
    assert_eq!((said[0].code, said[1].code), (15, 0), "{}\n{}", said[0].text, said[1].text);
    assert!(!rig.project.exists("pushed.txt"), "it is not made");
    let requests = rig.requests();
    assert!(requests[1]["results"].to_string().contains("Not-on-a-Friday"), "{:#?}", requests[1]);
    rig.project.ran_once(["ship"]);
}

/// Two calls in one answer, and one of a subagent: none passes unseen. The first waits, the others are put off with a reason.
#[test]
fn claude_code_asks_about_one_call_at_a_time() {
    let Some(rig) = AgentRig::new("claude_code_asks_about_one_call_at_a_time", "claude-code") else { return };
    rig.plan("allow: [Bash, Write, Agent, Task], ask: [\"Bash(echo push:*)\"]");
    let push = |file: &str| {
        let path = rig.project.path(file);
        json!({ "name": "Bash", "input": { "command": format!("echo push >> {}", path.display()) } })
    };
    let sub = json!({ "description": "look", "prompt": "SUBWORK", "subagent_type": "general-purpose" });
    let steps = json!([
        { "when": { "last": "^(?!SUBWORK)", "continued": false }, "tool": { "name": "Agent", "input": sub } },
        { "when": { "last": "SUBWORK", "continued": false }, "tool": push("of-another.txt") },
        { "when": { "last": "SUBWORK", "continued": true }, "text": "it was refused" },
        { "tool": [push("one.txt"), push("two.txt")] },
        rig.makes(),
        { "text": "done" },
    ]);
    let commands: [&[&str]; 2] = [&["run"], &["approve", "@", "build", "--resume"]];
    let Some(said) = rig.play(&steps, &[], &commands) else { return };
    assert_eq!((said[0].code, said[1].code), (15, 0), "{}\n{}", said[0].text, said[1].text);
    assert_eq!(rig.project.read("one.txt"), "push\n");
    assert!(!rig.project.exists("two.txt") && !rig.project.exists("of-another.txt"), "nobody was asked about these");
    let told = rig.requests().iter().map(|request| request["parts"].to_string()).collect::<String>();
    assert!(told.contains("main agent") && told.contains("one at a time"), "{told}");
}
