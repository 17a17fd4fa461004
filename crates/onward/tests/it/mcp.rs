//! Stories about the MCP server: a client that drives a run, and clients that want more than they may.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

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
            let answer = self.next();
            if answer["id"] == json!(id) {
                return answer;
            }
        }
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.from.read_line(&mut line).expect("text") > 0, "the server ended before it answered");
        serde_json::from_str(&line).expect("a line of JSON")
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

/// A client sends what is no JSON, what is too long, and calls whose parameters are of another form. Each gets an error, for its id where
/// it has one, and the server goes on.
#[test]
fn every_line_is_answered() {
    let project = project();
    let mut client = Client::of(&project, &[]);
    let padding = "x".repeat(17 << 20);
    let long_after =
        format!("{{\"params\":{{\"id\":1,\"x\":\"{padding}\"}},\"method\":\"x\",\"jsonrpc\":\"2.0\",\"id\":\"b\"}}");
    for (line, id, code) in [
        ("garbage".to_owned(), Value::Null, -32_700),
        ("[".repeat(200_000), Value::Null, -32_700),
        (format!("{{\"id\":\"a\",\"params\":\"{padding}\"}}"), json!("a"), -32_600),
        (long_after, json!("b"), -32_600),
        (format!("[\"{padding}\"]"), Value::Null, -32_600),
        ("{\"jsonrpc\":\"2.0\",\"id\":41}".to_owned(), json!(41), -32_600),
        ("7".to_owned(), Value::Null, -32_600),
    ] {
        client.send(&line);
        let answer = client.next();
        assert_eq!((answer.get("id"), &answer["error"]["code"]), (Some(&id), &json!(code)), "{answer}");
    }
    for (method, params) in [
        ("tools/call", json!({ "name": "list", "arguments": "x" })),
        ("tools/call", json!({ "name": 7, "arguments": {} })),
        ("resources/read", json!({})),
    ] {
        assert_eq!(client.ask(method, &params)["error"]["code"], -32_602, "{method} {params}");
    }
    assert_eq!(client.ask("nosuch/method", &json!({}))["error"]["code"], -32_601);
    assert!(!client.tool("list", &json!({})).0);
    client.end();
}

/// An agent starts a plan that is none. It is refused, and the project is as it was, without a store.
#[test]
fn an_invalid_plan_makes_nothing() {
    let project = project();
    let mut client = Client::of(&project, &[]);
    let before = project.tree();
    for phase in [json!({ "external": {} }), json!({ "external": { "instructions": "x" }, "needs": ["nosuch"] })] {
        let plan = json!({ "onward": 1, "name": "m", "phases": { "a": phase } });
        let (failed, told) = client.tool("start", &json!({ "plan": plan }));
        assert!(failed && !project.exists(".onward"), "{told}");
    }
    client.end();
    assert_eq!(project.tree(), before);
}

/// A client keeps changing a run, much faster than any work goes. At some point it is told to wait, and may still look.
#[test]
fn changes_have_a_limit_of_their_own() {
    let project = project();
    let mut client = Client::of(&project, &[]);
    let told = (0..700).map(|_| client.tool("decision_add", &json!({ "nosuch": 1 })).1);
    let told: Vec<String> = told.map(|told| told.to_string()).collect();
    assert!(told[599].contains("nosuch") && told[600].contains("changes in a minute"), "{} {}", told[599], told[600]);
    assert!(!client.tool("list", &json!({})).0);
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
    request_for("/mcp", address, headers, body)
}

/// The same for another target.
fn request_for(target: &str, address: &str, headers: &str, body: &str) -> (u16, String) {
    let all = format!("{JSON}Content-Length: {}\r\n{headers}", body.len());
    sent(address, &format!("POST {target} HTTP/1.1"), &all, body)
}

const JSON: &str = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";

/// The same with all that is sent; 0 where nothing is answered.
fn sent(address: &str, line: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(8))).expect("a socket");
    // A server that refuses need not read it all.
    let _ = stream.write_all(format!("{line}\r\n{headers}Connection: close\r\n\r\n{body}").as_bytes());
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text);
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    (status, text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

/// A server over HTTP, with its address and the header with its token.
fn http_server(project: &TestProject) -> (Child, String, String) {
    let mut server = project.prepare(["mcp", "--http"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let told: Value = serde_json::from_str(&line).expect("JSON");
    let url = told["url"].as_str().expect("an address");
    let host = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    (server, host, format!("Authorization: Bearer {}\r\n", told["token"].as_str().expect("a token")))
}

/// Pages in a browser, programs under other names of the machine and whoever has heard of the server try to have a plan started. None of
/// them is heard, nothing changes, and afterwards its own client is answered at once.
#[test]
fn forged_requests_change_nothing() {
    let project = project();
    project.write("readme.txt", "");
    project.plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: Do it. } }\n");
    let (mut server, host, token) = http_server(&project);
    let port = host.split(':').nth(1).expect("a port").to_owned();
    let start = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "start", "arguments": { "plan": own_plan() } } });
    let start = start.to_string();
    let length = format!("Content-Length: {}\r\n", start.len());
    let bare = token.trim_start_matches("Authorization: Bearer ").trim_end().to_owned();
    let here = format!("Host: {host}\r\n");
    let line_of_a_call = "POST /mcp HTTP/1.1";
    // Names that lead here: of a rebound name server, of the machine, with a dot, in other letters, without the port, as IPv6, two at once.
    let names =
        ["evil.example", "localhost", "127.0.0.1", "127.1", "[::1]", "0.0.0.0", "localhost.", "LOCALHOST.evil.example"];
    let mut forged: Vec<(&str, String)> = Vec::new();
    for name in names {
        let port = if ["localhost", "127.0.0.1"].contains(&name) { String::new() } else { format!(":{port}") };
        forged.push((line_of_a_call, format!("Host: {name}{port}\r\n{JSON}{token}{length}")));
    }
    let headers = [
        // Without the token, and with it in a place where it does not count.
        format!("{here}{JSON}{length}"),
        format!("{here}{JSON}Cookie: token={bare}; Authorization=Bearer {bare}\r\n{length}"),
        format!("{here}{JSON}Authorization: Basic {bare}\r\n{length}"),
        format!("{here}{JSON}Authorization: bearer{bare}\r\n{length}"),
        format!("{here}{JSON}Authorization: Bearer \r\n{length}"),
        format!("{here}{JSON}Authorization: Bearer {}\r\n{length}", &bare[..bare.len() - 1]),
        format!("{here}{JSON}Proxy-Authorization: Bearer {bare}\r\nX-Forwarded-For: 127.0.0.1\r\n{length}"),
        format!("{JSON}{token}{length}"),
        // Of two, a proxy may have heeded the other one.
        format!("{here}{JSON}{token}Authorization: Bearer {}\r\n{length}", "0".repeat(64)),
        format!("{here}Host: evil.example:{port}\r\n{JSON}{token}{length}"),
        // A page, with all that a page could have.
        format!("{here}{JSON}{token}Origin: null\r\n{length}"),
        format!("{here}{JSON}{token}Origin: http://{host}.evil.example\r\n{length}"),
        format!("{here}{JSON}{token}Origin: https://{host}\r\n{length}"),
        format!("{here}{JSON}{token}Origin: file://\r\n{length}"),
        // What a form may send without asking.
        format!("{here}Content-Type: text/plain\r\nAccept: */*\r\n{token}{length}"),
        format!(
            "{here}Content-Type: application/x-www-form-urlencoded\r\nAccept: application/json, text/event-stream\r\n{token}{length}"
        ),
        format!("{here}Accept: application/json, text/event-stream\r\n{token}{length}"),
    ];
    forged.extend(headers.into_iter().map(|headers| (line_of_a_call, headers)));
    let good = format!("{here}{JSON}{token}{length}");
    for line in [
        "GET /mcp HTTP/1.1",
        "PUT /mcp HTTP/1.1",
        "DELETE /mcp HTTP/1.1",
        "OPTIONS /mcp HTTP/1.1",
        "TRACE /mcp HTTP/1.1",
        "POST /mcp/ HTTP/1.1",
        "POST //mcp HTTP/1.1",
        "POST /mcp/../mcp HTTP/1.1",
        "POST /%6dcp HTTP/1.1",
        "POST / HTTP/1.1",
    ] {
        let overridden = format!("{good}X-HTTP-Method-Override: POST\r\nX-Method-Override: POST\r\n");
        forged.push((line, overridden));
    }
    let query = format!("POST /mcp?access_token={bare} HTTP/1.1");
    forged.push((&query, format!("{here}{JSON}{length}")));
    for (line, headers) in &forged {
        let (status, answer) = sent(&host, line, headers, &start);
        assert!((400..500).contains(&status), "{line}\n{headers}\n{status} {answer}");
        assert!(!answer.contains("Design it.") && !answer.contains(&bare), "{line}\n{headers}\n{answer}");
        assert!(!project.exists(".onward"), "{line}\n{headers} started something");
    }
    // A body that is too large, announced or not, is given up, though all of it would be understood; whoever has no token is not even read.
    let large = format!("{start}{}", " ".repeat(40 << 20));
    let chunked = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    for (guard, refusals) in [(String::new(), [0, 401]), (token.clone(), [0, 413])] {
        let bodies = [
            (format!("Content-Length: {}\r\n", 1_u64 << 40), &large),
            (format!("Content-Length: {}\r\n", large.len()), &large),
            ("Transfer-Encoding: chunked\r\n".to_owned(), &chunked),
        ];
        for (size, body) in bodies {
            let (status, answer) = sent(&host, line_of_a_call, &format!("{here}{JSON}{guard}{size}"), body);
            assert!(refusals.contains(&status), "{size}: {status} {answer}");
        }
    }
    assert!(!project.exists(".onward"), "something was started");
    let (status, answer) = request(&host, &format!("{here}{token}"), &start);
    assert!(status == 200 && answer.contains("Design it."), "{status} {answer}");
    server.kill().and_then(|()| server.wait()).expect("it ends");
}

/// Whoever has no token opens all the connections that there are and says nothing. The client of the server is answered all the same.
#[test]
fn soak_silent_connections_give_their_places_back() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: Do it. } }\n");
    let (mut server, host, token) = http_server(&project);
    let silent: Vec<TcpStream> = (0..70).map(|_| TcpStream::connect(&host).expect("it listens")).collect();
    let begun = Instant::now();
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "list", "arguments": {} } });
    let mut status = 0;
    while status != 200 && begun.elapsed() < Duration::from_secs(25) {
        status = request(&host, &format!("Host: {host}\r\n{token}"), &call.to_string()).0;
    }
    assert!(status == 200 && begun.elapsed() < Duration::from_secs(22), "{status} after {:?}", begun.elapsed());
    drop(silent);
    server.kill().and_then(|()| server.wait()).expect("it ends");
}

/// The server is reached over HTTP by its own client, by one without the token, by one under another name of the machine, and by
/// a page in a browser. Only the first one is answered.
#[test]
fn over_http_only_whoever_has_the_token_is_answered() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: Do it. } }\n");
    project.command(["run"]).expect(15);
    let (mut server, host, token) = http_server(&project);
    let here = format!("Host: {host}\r\n");
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "next", "arguments": {} } });
    let call = call.to_string();
    let (status, answer) = request(&host, &format!("{here}{token}"), &call);
    assert!(status == 200 && answer.contains("Do it."), "{status} {answer}");
    assert_eq!(token.trim_end().len(), "Authorization: Bearer ".len() + 64, "256 bits");
    for target in ["http://evil.example/mcp", "http://evil.example:80/mcp"] {
        assert_eq!(request_for(target, &host, &format!("{here}{token}"), &call).0, 403, "{target}");
    }
    assert_eq!(request_for(&format!("http://{host}/mcp"), &host, &format!("{here}{token}"), &call).0, 200);
    for (headers, refusal) in [
        (format!("{here}Host: evil.example\r\n{token}"), 403),
        (format!("{here}{token}Authorization: Bearer x\r\n"), 401),
        (here.clone(), 401),
        (format!("{here}Authorization: Bearer x\r\n"), 401),
        (format!("Host: evil.example\r\n{token}"), 403),
        (format!("{here}{token}Origin: http://evil.example\r\n"), 403),
    ] {
        assert_eq!(request(&host, &headers, &call).0, refusal, "{headers}");
    }
    // Whoever says nothing keeps nobody out, and is not kept for ever.
    let idle: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(&host).expect("it listens")).collect();
    let begun = Instant::now();
    assert_eq!(request(&host, &format!("{here}{token}"), &call).0, 200);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let mut last = idle.last().expect("there are some");
    last.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
    assert!(last.read(&mut [0; 64]).is_ok(), "it is not closed in 20 s");
    server.kill().and_then(|()| server.wait()).expect("it ends");
}

/// A client over HTTP merges numbers that would come back as others, and a key that stands twice. It is told so, under the id of its
/// request; the same as text is taken.
#[test]
fn what_would_change_is_refused_over_http() {
    let project = project();
    project.plan("onward: 1\nname: demo\nphases:\n  a: { external: { instructions: Do it. } }\n");
    project.command(["run"]).expect(15);
    let (mut server, host, token) = http_server(&project);
    let merge = |value: &str| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"state_merge","arguments":{{"patch":{{"n":{value}}}}}}}}}"#
        );
        let (status, body) = request(&host, &format!("Host: {host}\r\n{token}"), &body);
        assert_eq!(status, 200, "{value}: {body}");
        serde_json::from_str::<Value>(&body).expect("JSON")
    };
    for value in ["123456789012345678901234567890", "-0", "1e-400", "1.00000000000000000001", r#"{"k":1,"k":2}"#] {
        let answer = merge(value);
        assert!(answer["id"] == 7 && answer["error"]["code"] == -32602, "{value}: {answer}");
    }
    assert_eq!(project.command(["state", "get"]).json(), json!({}));
    assert_ne!(merge("17")["result"]["isError"], true);
    assert_eq!(project.command(["state", "get"]).json(), json!({ "n": 17 }));
    server.kill().and_then(|()| server.wait()).expect("it ends");
}
