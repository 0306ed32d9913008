//! `mcp`: whole runs of the binary by messages of the protocol, in both of its eras.

mod answered_elsewhere;
mod app;
mod bad_input;
mod clients;
mod conformance;
mod ends;
mod flows;
mod repeated;
mod start;
mod view;
mod workspaces;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, ChildStdin, ChildStdout};
use std::rc::Rc;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use crate::telechir::{Ran, Telechir};

/// The version without a handshake: each request has its metadata.
pub(crate) const MODERN: &str = "2026-07-28";
/// A version with a handshake.
pub(crate) const LEGACY: &str = "2025-11-25";

/// A client of a running server.
pub(crate) struct Client {
    pub(crate) telechir: Rc<Telechir>,
    pub(crate) server: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    version: &'static str,
    requests: u64,
}

impl Client {
    /// Starts a server with a shell.
    pub(crate) fn start(version: &'static str, more: &[&str]) -> Self {
        let mut arguments = vec!["--shell"];
        arguments.extend(more);
        Self::start_with(version, &arguments, &[])
    }

    /// Starts a server with these flags and variables.
    pub(crate) fn start_with(
        version: &'static str,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let telechir = Telechir::new();
        let runtime = telechir.folder().join("run");
        fs::create_dir(&runtime).expect("a folder");
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).expect("permissions");
        Self::start_in(Rc::new(telechir), version, flags, variables)
    }

    /// Starts another server with these flags, of the same user.
    pub(crate) fn another(&self, flags: &[&str]) -> Self {
        Self::start_in(Rc::clone(&self.telechir), self.version, flags, &[])
    }

    fn start_in(
        telechir: Rc<Telechir>,
        version: &'static str,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let mut arguments = vec!["mcp"];
        arguments.extend(flags);
        let mut command = telechir.command(&arguments);
        command.env("XDG_RUNTIME_DIR", telechir.folder().join("run"));
        command.envs(variables.iter().copied());
        let mut server = command.spawn().expect("the binary starts");
        let stdin = server.stdin.take();
        let stdout = BufReader::new(server.stdout.take().expect("a pipe"));
        let mut client = Self {
            telechir,
            server,
            stdin,
            stdout,
            version,
            requests: 0,
        };
        if version == LEGACY {
            let hello = json!({
                "protocolVersion": LEGACY,
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "test", "version": "1"},
            });
            let answer = client.request("initialize", hello);
            assert_eq!(
                answer["result"]["serverInfo"]["name"], "telechir",
                "{answer}"
            );
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("an open pipe");
        writeln!(stdin, "{message}").expect("a server that reads");
    }

    fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("an open pipe");
        writeln!(stdin, "{line}").expect("a server that reads");
    }

    /// The next message of the server.
    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stdout
            .read_line(&mut line)
            .expect("a server that writes");
        serde_json::from_str(&line).expect("a message")
    }

    /// The answer to this request; others are skipped.
    pub(crate) fn receive_answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.receive();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Runs another command of the binary, which finds the sessions of this server.
    pub(crate) fn telechir_command(&self, arguments: &[&str]) -> Ran {
        let mut command = self.telechir.command(arguments);
        Ran::of(
            command.env("XDG_RUNTIME_DIR", self.telechir.folder().join("run")),
            "",
        )
    }

    /// Kills the host of this server's session.
    pub(crate) fn kill_host(&self) {
        let list = self.telechir_command(&["sessions", "list", "--json"]);
        let host = list.json()[0]["pid"].as_i64().expect("a pid");
        let host = i32::try_from(host).ok().and_then(Pid::from_raw);
        kill_process(host.expect("a pid"), Signal::KILL).expect("a running host");
    }

    pub(crate) fn send_request(&mut self, method: &str, params: Value) {
        let request = self.message(method, params);
        self.send(&request);
    }

    /// A request with the next id.
    fn message(&mut self, method: &str, mut params: Value) -> Value {
        self.requests += 1;
        if self.version == MODERN {
            for (name, value) in [
                ("protocolVersion", json!(MODERN)),
                ("clientCapabilities", json!({"elicitation": {"form": {}}})),
                ("clientInfo", json!({"name": "test", "version": "1"})),
            ] {
                params["_meta"][format!("io.modelcontextprotocol/{name}")] = value;
            }
        }
        json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params})
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.send_request(method, params);
        self.receive()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.request("tools/call", params);
        answer["result"].clone()
    }

    /// Runs a command; the structured answer.
    pub(crate) fn run(&mut self, command: &str) -> Value {
        let result = self.call("execute_cli", &json!({"command": command}));
        result["structuredContent"].clone()
    }

    /// Closes the connection and waits for the server's end.
    pub(crate) fn leave(mut self) {
        drop(self.stdin.take());
        let ended = self.server.wait().expect("an exit status");
        assert!(ended.success(), "{ended}");
        self.telechir.assert_nothing_left();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _already_ended = self.server.kill();
        let _status = self.server.wait();
    }
}

#[test]
fn the_tools_are_listed_before_anything_starts() {
    for version in [MODERN, LEGACY] {
        let mut client = Client::start(version, &[]);
        let listed = client.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().expect("tools").clone();
        let names: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert_eq!(names, ["execute_cli", "wait", "get_action_history"]);
        for tool in &tools {
            for hint in [
                "readOnlyHint",
                "destructiveHint",
                "idempotentHint",
                "openWorldHint",
            ] {
                assert!(tool["annotations"][hint].is_boolean(), "{tool}");
            }
        }
        let lock = format!("run/telechir/mcp-{}.lock", client.server.id());
        assert!(
            !client.telechir.folder().join(lock).exists(),
            "no session was started"
        );
        client.leave();
    }
}

#[test]
fn a_shell_lasts_from_call_to_call_and_ends_with_the_client() {
    require(Component::Sandbox);
    for version in [MODERN, LEGACY] {
        let mut client = Client::start(version, &[]);
        let first = client.run("x=5; cd /; echo one; exit_with() { return 3; }; exit_with");
        assert_eq!(first["stdout"], "one\n", "{first}");
        assert_eq!(
            (&first["status"], &first["exit_code"]),
            (&json!("error"), &json!(3))
        );
        let second = client.run("echo $x in $PWD");
        assert_eq!(second["stdout"], "5 in /\n", "{second}");
        let waiting = client.run("read -p 'name? ' name; echo hello $name");
        assert_eq!(waiting["status"], "awaiting_input", "{waiting}");
        let answer = client.call("execute_cli", &json!({"command": "", "stdin": "you\n"}));
        assert_eq!(
            answer["structuredContent"]["stdout"], "hello you\n",
            "{answer}"
        );
        let history = client.call("get_action_history", &json!({"last_n": 2}));
        let actions = history["structuredContent"]["actions"]
            .as_array()
            .expect("actions");
        assert_eq!(actions.len(), 2);
        client.leave();
    }
}

#[test]
fn wrong_arguments_are_named_and_nothing_is_executed() {
    let mut client = Client::start(MODERN, &[]);
    for (tool, arguments, expected) in [
        (
            "execute_cli",
            json!({"cmd": "ls"}),
            "/cmd: execute_cli has no such argument",
        ),
        (
            "execute_cli",
            json!({"command": 7}),
            "/command: expected a string, found 7",
        ),
        (
            "wait",
            json!({"seconds": 99}),
            "/seconds: expected a number from 0 to 30",
        ),
        (
            "execute_cli",
            json!({"command": "true", "timeout": 60}),
            "/timeout: expected a number from 0.1 to 50",
        ),
        (
            "execute_cli",
            json!({"command": "cat", "stdin": "x"}),
            "/stdin: run the command first",
        ),
        ("execute_cli", json!({}), "/command: missing"),
        (
            "fly",
            json!({}),
            "No tool is named `fly`; use one of execute_cli,",
        ),
    ] {
        let result = client.call(tool, &arguments);
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(expected), "{text}");
    }
    client.leave();
}

/// A policy under which every command is asked about, with more in its rule.
fn asking_with(folder: &std::path::Path, more: &str) -> String {
    let file = folder.join("ask.toml");
    let rule = format!("[[shell]]\nverdict = \"ask\"\nreason = \"Every command.\"\n{more}\n");
    fs::write(&file, rule).expect("a policy file");
    format!("--policy={}", file.display())
}

fn asking(folder: &std::path::Path) -> String {
    asking_with(folder, "")
}

/// A policy under which every command is asked about at a terminal.
fn asking_at_terminal(folder: &std::path::Path) -> String {
    asking_with(folder, "approve = \"terminal\"")
}

#[test]
fn a_client_gets_the_approval_and_it_is_used_once() {
    require(Component::Sandbox);
    let folder = tempfile::tempdir().expect("a folder");
    let policy = asking(folder.path());
    let mut client = Client::start(MODERN, &[&policy, "--approval-wait=1"]);
    let arguments = json!({"command": "echo approved"});
    let params = json!({"name": "execute_cli", "arguments": arguments});
    let needed = client.request("tools/call", params.clone())["result"].clone();
    assert_eq!(needed["resultType"], "input_required", "{needed}");
    let question = &needed["inputRequests"]["approval"]["params"]["message"];
    assert!(
        question
            .as_str()
            .is_some_and(|text| text.contains("echo approved")),
        "{question}"
    );
    let retry = |state: &Value, answer: &str, arguments: &Value| {
        json!({
            "name": "execute_cli", "arguments": arguments, "requestState": state,
            "inputResponses": {"approval": {"action": "accept", "content": {"answer": answer}}},
        })
    };
    let state = &needed["requestState"];
    let other = client.request("tools/call", retry(state, "yes", &json!({"command": "id"})));
    assert_eq!(other["error"]["code"], -32_602, "{other}");
    let done = client.request("tools/call", retry(state, "yes", &arguments));
    assert_eq!(
        done["result"]["structuredContent"]["stdout"], "approved\n",
        "{done}"
    );
    let again = client.request("tools/call", retry(state, "yes", &arguments));
    assert_eq!(
        again["error"]["code"], -32_602,
        "a state is used once: {again}"
    );
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {"answer": "no"}}),
    ] {
        let needed = client.request("tools/call", params.clone())["result"].clone();
        let refused = json!({
            "name": "execute_cli", "arguments": arguments, "requestState": needed["requestState"],
            "inputResponses": {"approval": answer},
        });
        let refused = client.request("tools/call", refused);
        let status = &refused["result"]["structuredContent"]["status"];
        assert_eq!(status, "denied", "{refused}");
        let text = refused["result"]["content"].to_string();
        assert!(text.contains("telechir approve "), "{text}");
    }
    client.leave();
}

#[test]
fn a_client_with_a_handshake_gets_a_request() {
    require(Component::Sandbox);
    let folder = tempfile::tempdir().expect("a folder");
    let policy = asking(folder.path());
    let mut client = Client::start(LEGACY, &[&policy, "--approval-wait=3"]);
    for (answer, status) in [
        (
            json!({"action": "accept", "content": {"answer": "yes"}}),
            "success",
        ),
        (json!({"action": "decline"}), "denied"),
    ] {
        let arguments = json!({"name": "execute_cli", "arguments": {"command": "echo hi"}});
        client.send_request("tools/call", arguments);
        let question = client.receive();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        let done = client.receive();
        assert_eq!(
            done["result"]["structuredContent"]["status"], status,
            "{done}"
        );
    }
    client.leave();
}

#[test]
fn a_rule_for_the_terminal_never_reaches_a_client() {
    require(Component::Sandbox);
    let folder = tempfile::tempdir().expect("a folder");
    let policy = asking_at_terminal(folder.path());
    let mut client = Client::start(MODERN, &[&policy, "--approval-wait=1"]);
    let denied = client.run("echo hi");
    assert_eq!(denied["status"], "denied", "{denied}");
    client.leave();
}

#[test]
fn calls_in_parallel_keep_their_order() {
    require(Component::Sandbox);
    let mut client = Client::start(MODERN, &[]);
    client.run("true");
    for number in 0..20 {
        let arguments = json!({"command": format!("echo {number} >> order")});
        client.send_request(
            "tools/call",
            json!({"name": "execute_cli", "arguments": arguments}),
        );
    }
    let mut answered = Map::new();
    for _ in 0..20 {
        let answer = client.receive();
        answered.insert(answer["id"].to_string(), answer);
    }
    assert_eq!(answered.len(), 20, "each call has one answer");
    let order = client.run("paste -sd, order");
    let numbers: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    assert_eq!(
        order["stdout"],
        format!("{}\n", numbers.join(",")),
        "{order}"
    );
    client.leave();
}

#[test]
fn a_client_that_leaves_or_a_server_that_is_killed_ends_the_session() {
    require(Component::Sandbox);
    for is_killed in [false, true] {
        let mut client = Client::start(MODERN, &[]);
        client.run("true");
        let arguments = json!({"command": "sleep 1000"});
        client.send_request(
            "tools/call",
            json!({"name": "execute_cli", "arguments": arguments}),
        );
        assert_eventually_blocking!(client.telechir.processes(), |all| {
            all.iter().any(|name| name.starts_with("telechir"))
        });
        if is_killed {
            let pid = i32::try_from(client.server.id())
                .ok()
                .and_then(Pid::from_raw);
            kill_process(pid.expect("a pid"), Signal::KILL).expect("a running server");
        } else {
            drop(client.stdin.take());
        }
        client.server.wait().expect("an exit status");
        client.telechir.assert_nothing_left();
    }
}

#[test]
fn a_call_of_another_server_in_the_same_run_is_no_repetition() {
    require(Component::Sandbox);
    let command = "echo one >> count; cat count";
    let recording = tempfile::tempdir().expect("a folder");
    let record = format!("--record={}", recording.path().join("r").display());
    let mut first = Client::start(MODERN, &["--session=a", &record, "--run=r"]);
    assert_eq!(first.run(command)["stdout"], "one\n");
    let runtime = first.telechir.folder().join("run");
    let runtime = runtime.to_str().expect("a path").to_owned();
    let folder = [("XDG_RUNTIME_DIR", runtime.as_str())];
    let mut second = Client::start_with(MODERN, &["--shell", "--session=a"], &folder);
    assert_eq!(second.run(command)["stdout"], "one\none\n");
    second.leave();
    let mut close = first.telechir.command(&["sessions", "close", "a"]);
    close.env("XDG_RUNTIME_DIR", &runtime);
    let closed = close.status().expect("the binary starts");
    assert!(closed.success(), "{closed}");
    first.leave();
}
