//! The Model Context Protocol over HTTP: the same front, one session for each principal.

use std::fs;
use std::io::Read;

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::approvals::POLICY;
use super::client::{Answer, Client, Server};
use crate::mcp::{LEGACY, MODERN};
use crate::sessions::SessionFixture;

/// A client of the protocol, in one of its versions.
struct McpClient<'a> {
    client: &'a Client,
    version: &'static str,
    /// The header of the protocol's own session; versions without a handshake have none.
    session: Option<String>,
}

impl<'a> McpClient<'a> {
    fn new(client: &'a Client, version: &'static str) -> Self {
        let mut connected = Self {
            client,
            version,
            session: None,
        };
        if version == LEGACY {
            let hello = json!({
                "protocolVersion": LEGACY,
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "test", "version": "1"},
            });
            let answer = connected.send("initialize", "", hello);
            let session = answer.header("mcp-session-id").expect("a session");
            connected.session = Some(format!("Mcp-Session-Id: {session}"));
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let answer = connected.post(&["Mcp-Method: notifications/initialized"], &ready);
            assert_eq!(answer.status, 202, "{answer:?}");
        }
        connected
    }

    fn post(&self, headers: &[&str], message: &Value) -> Answer {
        let version = format!("MCP-Protocol-Version: {}", self.version);
        let mut all = vec!["Accept: application/json, text/event-stream"];
        if self.session.is_some() || self.version == MODERN {
            all.push(&version);
        }
        all.extend(self.session.as_deref());
        all.extend(headers);
        let body = message.to_string();
        self.client.request_with(&all, "POST", "/mcp", Some(&body))
    }

    fn send(&self, method: &str, name: &str, mut params: Value) -> Answer {
        let (method_header, name_header) =
            (format!("Mcp-Method: {method}"), format!("Mcp-Name: {name}"));
        let mut headers = Vec::new();
        if self.version == MODERN {
            for (name, value) in [
                ("protocolVersion", json!(MODERN)),
                ("clientCapabilities", json!({"elicitation": {"form": {}}})),
                ("clientInfo", json!({"name": "test", "version": "1"})),
            ] {
                params["_meta"][format!("io.modelcontextprotocol/{name}")] = value;
            }
            headers.push(method_header.as_str());
            if !name.is_empty() {
                headers.push(name_header.as_str());
            }
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(&headers, &message)
    }

    /// The result of a request, from JSON or from a stream of messages.
    fn request(&self, method: &str, name: &str, params: Value) -> Value {
        let answer = self.send(method, name, params);
        assert_eq!(answer.status, 200, "{answer:?}");
        let lines = answer.body.lines();
        let messages = lines.filter_map(|line| line.strip_prefix("data:").or(Some(line)));
        let mut parsed = messages.filter_map(|text| serde_json::from_str::<Value>(text).ok());
        let result = parsed.find(|message| message.get("result").is_some());
        result.unwrap_or_else(|| panic!("{answer:?}"))["result"].clone()
    }

    fn run(&self, command: &str) -> Value {
        let params = json!({"name": "execute_cli", "arguments": {"command": command}});
        self.request("tools/call", "execute_cli", params)
    }
}

#[test]
fn all_clients_of_a_principal_act_in_one_session() {
    require(Component::Sandbox);
    let mut server = Server::of_shells();
    let agent = server.client("agent");
    for (version, command, printed) in [
        (LEGACY, "x=5; echo one", "one\n"),
        (MODERN, "echo $x", "5\n"),
    ] {
        let mcp = McpClient::new(&agent, version);
        let listed = mcp.request("tools/list", "", json!({}));
        assert_eq!(listed["tools"][0]["name"], "execute_cli", "{listed}");
        let result = mcp.run(command);
        assert_eq!(result["structuredContent"]["stdout"], printed, "{result}");
    }
    let sessions = agent.get("/v1/sessions");
    assert_eq!(sessions["sessions"][0]["name"], "mcp session", "{sessions}");
    let id = sessions["sessions"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let other = Client::new(&server.address, &server.token("agent", "other"));
    let foreign = McpClient::new(&other, MODERN).run("echo $x");
    assert_eq!(foreign["structuredContent"]["stdout"], "\n", "{foreign}");
    // The session is found again by a server that was killed.
    server.kill_and_restart();
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    let result = McpClient::new(&agent, MODERN).run("echo again $x");
    assert_eq!(
        result["structuredContent"]["stdout"], "again 5\n",
        "{result}"
    );
    let other = Client::new(&server.address, &server.token("agent", "other"));
    let rows = other.get("/v1/sessions");
    let own = rows["sessions"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    for (client, id) in [(&agent, &id), (&other, &own)] {
        let closed = client.request("DELETE", &format!("/v1/sessions/{id}"), None);
        assert_eq!(closed.status, 204, "{closed:?}");
    }
    assert_eq!(server.sessions.list(), json!([]));
}

#[test]
fn a_call_that_is_sent_again_is_executed_once() {
    require(Component::Sandbox);
    let mut server = Server::of_shells();
    let agent = server.client("agent");
    let call = json!({
        "name": "execute_cli", "arguments": {"command": "echo done >> mark; cat mark"},
        "_meta": {"telechir/callId": "a-1"},
    });
    let send = |agent: &Client| {
        let mcp = McpClient::new(agent, MODERN);
        mcp.request("tools/call", "execute_cli", call.clone())
    };
    for _ in 0..2 {
        let answer = send(&agent);
        assert_eq!(answer["structuredContent"]["stdout"], "done\n", "{answer}");
        assert_eq!(answer["_meta"]["telechir/callId"], "a-1", "{answer}");
    }
    server.kill_and_restart();
    let agent = Client::new(&server.address, &server.token("agent", "test"));
    let answer = send(&agent);
    assert_eq!(answer["structuredContent"]["stdout"], "done\n", "{answer}");
    let sessions = agent.get("/v1/sessions");
    let id = sessions["sessions"][0]["id"].as_str().expect("an id");
    let closed = agent.request("DELETE", &format!("/v1/sessions/{id}"), None);
    assert_eq!(closed.status, 204, "{closed:?}");
    // The result was in the session's recording, which is gone.
    let refused = send(&agent);
    assert_eq!(refused["isError"], true, "{refused}");
    let text = refused["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.starts_with("The call was sent to an earlier"),
        "{text}"
    );
    let sessions = agent.get("/v1/sessions");
    let id = sessions["sessions"][0]["id"].as_str().expect("an id");
    server.assert_closes(&agent, id);
}

#[test]
fn the_front_is_that_of_all_routes() {
    let server = Server::of_shells();
    let agent = server.client("agent");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let body = list.to_string();
    let send = |client: &Client, headers: &[&str]| {
        let accept = "Accept: application/json, text/event-stream";
        let headers = [&[accept], headers].concat();
        client.request_with(&headers, "POST", "/mcp", Some(&body))
    };
    send(&agent, &["Origin: http://evil.example"]).is_problem(403, "forbidden-origin");
    send(&agent, &["Host: evil.example"]).is_problem(400, "bad-request");
    send(&server.client("viewer"), &[]).is_problem(403, "forbidden");
    let nobody = Client::new(&server.address, "tch_agent_x");
    send(&nobody, &[]).is_problem(401, "unauthorized");
    // A protocol session belongs to the principal who began it.
    let legacy = McpClient::new(&agent, LEGACY);
    let session = legacy.session.clone().expect("a session");
    let version = format!("MCP-Protocol-Version: {LEGACY}");
    let own = send(&agent, &[&session, &version]);
    assert_eq!(own.status, 200, "{own:?}");
    // Some clients send the server's own origin; it replaces no token.
    let origin = format!("Origin: http://{}", server.address);
    let own = send(&agent, &[&session, &version, &origin]);
    assert_eq!(own.status, 200, "{own:?}");
    send(&nobody, &[&session, &version, &origin]).is_problem(401, "unauthorized");
    let other = Client::new(&server.address, &server.token("agent", "other"));
    let foreign = send(&other, &[&session, &version]);
    foreign.is_problem(404, "not-found");
    // Errors of HTTP have the form of all routes, those of the protocol its own.
    let html = agent.request_with(&["Accept: text/html"], "POST", "/mcp", Some(&body));
    html.is_problem(406, "not-acceptable");
    let get = agent.request_with(&["Accept: text/event-stream"], "GET", "/mcp", None);
    assert!((400..500).contains(&get.status), "{get:?}");
    assert_eq!(get.header("content-type"), Some("application/problem+json"));
    let batch = json!([list, list]).to_string();
    let too_many = message_of(100_001);
    let accept = ["Accept: application/json, text/event-stream"];
    for (unreadable, code) in [
        (batch.as_str(), -32_600),
        ("{}", -32_600),
        ("{", -32_700),
        ("no JSON", -32_700),
        (too_many.as_str(), -32_700),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}",
            -32_602,
        ),
    ] {
        let refused = agent.request_with(&accept, "POST", "/mcp", Some(unreadable));
        assert_eq!(refused.status, 400, "{unreadable}: {refused:?}");
        assert_eq!(
            refused.json()["error"]["code"],
            code,
            "{unreadable}: {refused:?}"
        );
    }
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let deep = agent.request_with(&accept, "POST", "/mcp", Some(&deep));
    deep.is_problem(422, "unreadable");
    let large = format!("[\"{}\"]", "x".repeat(4 << 20));
    let large = agent.request_with(&accept, "POST", "/mcp", Some(&large));
    large.is_problem(413, "too-large");
    let mismatched = [
        accept[0],
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
    ];
    let mismatched = agent.request_with(&mismatched, "POST", "/mcp", Some(&body));
    assert_eq!(mismatched.status, 400, "{mismatched:?}");
    assert_eq!(server.sessions.list(), json!([]), "nothing was started");
}

/// A request whose arguments have more than this many values.
fn message_of(values: usize) -> String {
    let values = "0,".repeat(values);
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{\"x\":[{values}0]}}}}"
    )
}

#[test]
fn a_principal_has_32_protocol_sessions() {
    let server = Server::of_shells();
    let agent = server.client("agent");
    let mut clients: Vec<_> = (0..32).map(|_| McpClient::new(&agent, LEGACY)).collect();
    let hello = json!({
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let one_more = McpClient {
        client: &agent,
        version: LEGACY,
        session: None,
    };
    let refused = one_more.send("initialize", "", hello.clone());
    refused.is_problem(429, "too-many");
    // A version without them has no such limit.
    let listed = McpClient::new(&agent, MODERN).request("tools/list", "", json!({}));
    assert!(listed["tools"][0].is_object(), "{listed}");
    let last = clients.pop().and_then(|client| client.session);
    let last = last.expect("a session");
    let ended = agent.request_with(&[&last], "DELETE", "/mcp", None);
    assert!((200..300).contains(&ended.status), "{ended:?}");
    let restarted = || one_more.send("initialize", "", hello.clone()).status;
    assert_eventually_blocking!(restarted(), |status| *status == 200);
}

/// With a session of the protocol, an answer would go to the later request's connection, and the first
/// would wait for ever. Without one, each request has its own connection.
#[test]
fn an_id_in_flight_is_refused_in_a_protocol_session_alone() {
    require(Component::Sandbox);
    for version in [LEGACY, MODERN] {
        let sessions = SessionFixture::new();
        fs::write(sessions.file("policy.toml"), POLICY).expect("a policy");
        let server = Server::in_folder(sessions, &["--shell"]);
        let (agent, operator) = (server.client("agent"), server.client("operator"));
        let mcp = McpClient::new(&agent, version);
        let called = std::thread::scope(|scope| {
            let call = scope.spawn(|| mcp.run("touch a && echo made"));
            let question = super::approvals::question(&operator);
            let second = mcp.send("tools/list", "", json!({}));
            assert_eq!(second.status, 200, "{second:?}");
            let is_refused = second.body.contains("-32600");
            assert_eq!(is_refused, version == LEGACY, "{second:?}");
            assert_ne!(
                is_refused,
                second.body.contains("execute_cli"),
                "{second:?}"
            );
            let approve = json!({"decision": "approve", "digest": question["digest"]});
            let approved = super::approvals::answer(&operator, &question, &approve);
            assert_eq!(approved.status, 204, "{approved:?}");
            call.join().expect("the call")
        });
        assert_eq!(called["structuredContent"]["stdout"], "made\n", "{called}");
        // The id is free again.
        let listed = mcp.request("tools/list", "", json!({}));
        assert!(listed["tools"][0].is_object(), "{listed}");
        let rows = agent.get("/v1/sessions");
        let id = rows["sessions"][0]["id"].as_str().expect("an id");
        server.assert_closes(&agent, id);
    }
}

#[test]
fn no_question_goes_to_a_client_and_an_operator_answers() {
    require(Component::Sandbox);
    for version in [LEGACY, MODERN] {
        let sessions = SessionFixture::new();
        fs::write(sessions.file("policy.toml"), POLICY).expect("a policy");
        let server = Server::in_folder(sessions, &["--shell"]);
        let (agent, operator) = (server.client("agent"), server.client("operator"));
        let called = std::thread::scope(|scope| {
            let call = scope.spawn(|| McpClient::new(&agent, version).run("touch a && echo made"));
            let question = super::approvals::question(&operator);
            let approve = json!({"decision": "approve", "digest": question["digest"]});
            let approved = super::approvals::answer(&operator, &question, &approve);
            assert_eq!(approved.status, 204, "{approved:?}");
            call.join().expect("the call")
        });
        assert_eq!(called["structuredContent"]["stdout"], "made\n", "{called}");
        let rows = agent.get("/v1/sessions");
        let id = rows["sessions"][0]["id"].as_str().expect("an id");
        server.assert_closes(&agent, id);
    }
}

#[test]
fn streams_of_the_protocol_end_with_their_token() {
    require(Component::Sandbox);
    let server = Server::of_shells();
    let (anna, operator) = (server.token("agent", "anna"), server.client("operator"));
    let anna = Client::new(&server.address, &anna);
    let legacy = McpClient::new(&anna, LEGACY);
    let session = legacy.session.clone().expect("a session");
    let version = format!("MCP-Protocol-Version: {LEGACY}");
    let stream = ["Accept: text/event-stream", &session, &version];
    let stream = anna.stream(&stream, "/mcp");
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params":
        {"name": "execute_cli", "arguments": {"command": "sleep 1000"}}});
    let accept = "Accept: application/json, text/event-stream";
    let call = anna.start(&[accept, &session, &version], "/mcp", &call.to_string());
    let state = || operator.get("/v1/sessions")["sessions"][0]["state"].clone();
    assert_eventually_blocking!(state(), |state| state == "busy");
    server.revoke("anna");
    for mut connection in [Box::new(stream) as Box<dyn Read>, Box::new(call)] {
        let mut text = String::new();
        connection.read_to_string(&mut text).expect("an end");
        assert!(!text.contains("\"result\""), "{text}");
    }
    let id = operator.get("/v1/sessions")["sessions"][0]["id"].clone();
    server.assert_closes(&operator, id.as_str().expect("an id"));
}
