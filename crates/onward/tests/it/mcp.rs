//! Stories about the MCP server: a client that drives a run, and clients that want more than they may.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use onward_testkit::TestProject;
use serde_json::{Value, json};

use crate::project;

/// `onward mcp` with somebody at the other end.
struct Client {
    server: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn of(project: &TestProject, flags: &[&str]) -> Self {
        let words = [&["mcp"], flags].concat();
        let mut command = project.prepare(words);
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let to = server.stdin.take();
        let from = BufReader::new(server.stdout.take().expect("a pipe"));
        let mut client = Self { server, to, from, last: 0 };
        let who = json!({ "name": "test", "version": "1" });
        client.ask("initialize", &json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who }));
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        let to = self.to.as_mut().expect("it is open");
        to.write_all(line.as_bytes()).and_then(|()| to.write_all(b"\n")).expect("the server reads");
    }

    /// The answer to a request; whatever else is said before it is left out.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).expect("text") > 0, "the server ended before it answered {method}");
            let answer: Value = serde_json::from_str(&line).expect("a line of JSON");
            if answer["id"] == json!(id) {
                return answer;
            }
        }
    }

    /// Whether a tool says that it failed, and what it gives.
    fn tool(&mut self, name: &str, arguments: &Value) -> (bool, Value) {
        let answer = self.ask("tools/call", &json!({ "name": name, "arguments": arguments }));
        let result = &answer["result"];
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap_or("null")).expect("JSON");
        assert_eq!(text, result["structuredContent"], "{name}");
        (result["isError"].as_bool().unwrap_or(true), text)
    }

    fn tools(&mut self) -> Vec<Value> {
        self.ask("tools/list", &json!({}))["result"]["tools"].as_array().expect("a list").clone()
    }

    fn end(mut self) {
        drop(self.to.take());
        assert!(self.server.wait().expect("it ends").success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn own_plan() -> Value {
    json!({ "onward": 1, "name": "mine", "phases": {
        "design": { "external": { "instructions": "Design it." }, "artifacts": { "doc": "design.md" } },
        "build": { "needs": ["design"], "external": { "instructions": "Build it." } },
    } })
}

/// An agent starts a plan of its own, loses its server half way, starts the same plan again and comes to its end. It was one run.
#[test]
fn an_agent_starts_a_plan_and_goes_on_with_it() {
    let project = project();
    let mut client = Client::of(&project, &[]);
    let (failed, started) = client.tool("start", &json!({ "plan": own_plan() }));
    assert!(!failed && started["next"]["phase"]["id"] == "design", "{started}");
    client.tool("report_start", &json!({ "phase": "design" }));
    client.tool("report_progress", &json!({ "phase": "design", "note": "half of it" }));
    let (failed, refused) = client.tool("report_done", &json!({ "phase": "design" }));
    assert!(failed && refused["accepted"] == false && refused["reason"].to_string().contains("design.md"), "{refused}");
    client.end();
    let mut client = Client::of(&project, &[]);
    let (_, again) = client.tool("start", &json!({ "plan": own_plan() }));
    assert_eq!((&again["run"], &again["already"]), (&started["run"], &json!(true)));
    assert_eq!(again["next"]["phase"]["note"], "half of it");
    project.write("design.md", "x");
    assert!(!client.tool("report_done", &json!({ "phase": "design", "outputs": { "size": "M" } })).0);
    let (_, checkpoint) = client.tool("checkpoint", &json!({ "name": "half" }));
    let (failed, diff) = client.tool("diff", &json!({ "from": "@-", "to": "half" }));
    assert!(!failed && diff["to"] == checkpoint["id"], "{diff}");
    assert!(!client.tool("state_merge", &json!({ "patch": { "choice": "REST" } })).0);
    assert!(!client.tool("report_done", &json!({ "phase": "build" })).0);
    client.end();
    let status = project.command(["status", "--json"]).expect(0).json();
    assert_eq!((&status["status"], &status["run"]), (&json!("completed"), &started["run"]));
    assert_eq!(project.command(["state", "get", "/choice"]).expect(0).json(), "REST");
}

/// An agent tries to have something executed, to approve a phase, and to read a file. Nothing of it is to be had, and the tools
/// say which of them change something.
#[test]
fn what_a_person_must_grant_is_out_of_reach() {
    let project = project();
    let mut client = Client::of(&project, &[]);
    let mut plan = own_plan();
    plan["phases"]["build"]["verify"] = json!(["touch ../executed"]);
    let (failed, refused) = client.tool("start", &json!({ "plan": plan }));
    assert!(failed && refused["error"]["message"].to_string().contains("verify"), "{refused}");
    project.plan(
        "onward: 1\nname: demo\nphases:\n  gate: { approval: { message: Go? } }\n  a: { needs: gate, run: step a }\n",
    );
    project.command(["run"]).expect(15);
    for (tool, arguments) in [
        ("report_done", json!({ "phase": "gate" })),
        ("report_start", json!({ "phase": "a" })),
        ("report_replan", json!({ "phase": "a", "reason": "x", "plan": plan })),
    ] {
        assert!(client.tool(tool, &arguments).0, "{tool}");
    }
    for word in ["approve", "reject", "delete", "archive", "prune", "trust", "retry", "skip", "adopt", "rewind", "run"]
    {
        let answer = client.ask("tools/call", &json!({ "name": word, "arguments": {} }));
        assert!(answer.get("error").is_some(), "{word}: {answer}");
    }
    project.write("secret.json", "{\"a\": 1}");
    assert!(client.tool("show", &json!({ "id": "secret.json" })).0);
    for tool in client.tools() {
        let hints = &tool["annotations"];
        assert_eq!((&hints["destructiveHint"], &hints["openWorldHint"]), (&json!(false), &json!(false)), "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
    client.end();
    assert_eq!(project.count("begin", "a"), 0);
    assert!(!project.root().join("executed").exists());
}

/// A server is started only to be looked at. It offers no tool that changes anything, and does nothing of the kind.
#[test]
fn a_server_that_only_shows_changes_nothing() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: Do it. } }\n");
    project.command(["run"]).expect(15);
    let before = project.tree();
    let mut client = Client::of(&project, &["--read-only"]);
    assert!(client.tools().iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    let names: Vec<Value> = client.tools().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(
        json!(names),
        json!(["status", "next", "brief", "list", "show", "diff", "why", "message_inbox", "knowledge_list"])
    );
    assert!(!client.tool("status", &json!({})).0 && !client.tool("why", &json!({ "phase": "a" })).0);
    assert!(
        client
            .ask("tools/call", &json!({ "name": "report_start", "arguments": { "phase": "a" } }))
            .get("error")
            .is_some()
    );
    let resources = client.ask("resources/list", &json!({}))["result"]["resources"].clone();
    let read = |client: &mut Client, uri: &Value| client.ask("resources/read", &json!({ "uri": uri }));
    for resource in resources.as_array().expect("a list") {
        assert!(read(&mut client, &resource["uri"])["result"]["contents"][0]["text"].is_string(), "{resource}");
    }
    let strange =
        ["file:///etc/passwd", "onward://run/nosuch", "onward://run/../../etc/passwd", "onward://checkpoint/"];
    for uri in strange {
        assert!(read(&mut client, &json!(uri)).get("error").is_some(), "{uri}");
    }
    client.end();
    assert_eq!(project.tree(), before);
}

/// Two agents speak over one server: a message is delivered until it is acknowledged, what was learned and decided is on record,
/// and a message of no known kind is refused.
#[test]
fn agents_share_over_the_server() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: Do it. } }\n");
    project.command(["run"]).expect(15);
    let mut client = Client::of(&project, &[]);
    let letter =
        json!({ "from": "a", "to": "b", "type": "request", "body": "look at it", "id": "MSG-1", "priority": "high" });
    for _ in 0..2 {
        assert_eq!(client.tool("message_send", &letter), client.tool("message_send", &letter));
    }
    let strange = json!({ "from": "a", "to": "b", "type": "song", "body": "x" });
    assert!(client.tool("message_send", &strange).0);
    let inbox = |client: &mut Client| client.tool("message_inbox", &json!({ "agent": "b" })).1["messages"].clone();
    assert_eq!((inbox(&mut client).as_array().map(Vec::len), &inbox(&mut client)[0]["id"]), (Some(1), &json!("MSG-1")));
    assert!(!client.tool("message_ack", &json!({ "ids": ["MSG-1"] })).0);
    assert_eq!(inbox(&mut client), json!([]));
    let learned = json!({ "id": "KE-1", "type": "decision", "title": "Storage", "body": "Postgres" });
    assert!(!client.tool("knowledge_add", &learned).0 && !client.tool("decision_add", &json!({ "text": "REST" })).0);
    assert_eq!(client.tool("knowledge_list", &json!({})).1["entries"][0]["title"], "Storage");
    let (_, checkpoint) = client.tool("checkpoint", &json!({}));
    let (_, shown) = client.tool("show", &json!({ "id": checkpoint["id"] }));
    client.end();
    assert!(shown["context"]["decisions"].to_string().contains("REST"), "{shown}");
}

/// An agent asks for the brief, in much room and in little. It is the one of the verb.
#[test]
fn an_agent_asks_for_the_brief() {
    let project = project();
    let mut client = Client::of(&project, &[]);
    client.tool("start", &json!({ "plan": own_plan() }));
    client.tool("decision_add", &json!({ "text": "REST, not GraphQL" }));
    let (failed, brief) = client.tool("brief", &json!({}));
    assert!(!failed && brief["text"].as_str().is_some_and(|text| text.contains("REST, not GraphQL")), "{brief}");
    assert_eq!(brief, project.command(["brief", "--json"]).expect(0).json());
    let (_, short) = client.tool("brief", &json!({ "tokens": 50 }));
    assert!(short["tokens"].as_u64().is_some_and(|tokens| tokens <= 50), "{short}");
    client.end();
}

/// A client sends a message of 20 MB, and then calls faster than any agent would. The server goes on, and says so.
#[test]
fn too_much_is_turned_away() {
    let project = project();
    let mut client = Client::of(&project, &[]);
    client.send(&format!("{{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"x\",\"params\":\"{}\"}}", "x".repeat(20 << 20)));
    assert!(!client.tool("list", &json!({})).0);
    let mut refused = Value::Null;
    for _ in 0..1_300 {
        let (failed, answer) = client.tool("list", &json!({ "nosuch": 1 }));
        assert!(failed);
        refused = answer;
    }
    assert!(refused.to_string().contains("in a minute"), "{refused}");
    client.end();
}

/// The status and the body that answer one request over HTTP.
fn request(address: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Connection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("text");
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    (status, text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

/// The server is reached over HTTP by its own client, by one without the token, by one under another name of the machine, and by
/// a page in a browser. Only the first one is answered.
#[test]
fn over_http_only_whoever_has_the_token_is_answered() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: Do it. } }\n");
    project.command(["run"]).expect(15);
    let mut server = project.prepare(["mcp", "--http"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let told: Value = serde_json::from_str(&line).expect("JSON");
    let url = told["url"].as_str().expect("an address");
    let host = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let token = format!("Authorization: Bearer {}\r\n", told["token"].as_str().expect("a token"));
    let here = format!("Host: {host}\r\n");
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "next", "arguments": {} } });
    let call = call.to_string();
    let (status, answer) = request(&host, &format!("{here}{token}"), &call);
    assert!(status == 200 && answer.contains("Do it."), "{status} {answer}");
    for (headers, refusal) in [
        (here.clone(), 401),
        (format!("{here}Authorization: Bearer x\r\n"), 401),
        (format!("Host: evil.example\r\n{token}"), 403),
        (format!("{here}{token}Origin: http://evil.example\r\n"), 403),
    ] {
        assert_eq!(request(&host, &headers, &call).0, refusal, "{headers}");
    }
    server.kill().and_then(|()| server.wait()).expect("it ends");
}
