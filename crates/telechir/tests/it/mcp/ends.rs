//! Every way in which a client can go: nothing of its session is left, and soon.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::MODERN;
use crate::telechir::{Ran, Telechir};

/// Within this time everything is gone.
const LIMIT: Duration = Duration::from_secs(2);
/// The same for a browser with a profile, which writes what pages stored.
const LIMIT_WITH_PROFILE: Duration = Duration::from_secs(3);

/// How client and server are connected.
#[derive(Clone, Copy, Debug)]
enum Streams {
    /// Pipes, as of most clients.
    Pipes,
    /// Sockets, as of clients that run in Node.
    Sockets,
}

/// A server and both ends of its connection, which end one by one.
struct Connection {
    telechir: Telechir,
    server: Child,
    input: Option<Box<dyn Write>>,
    output: Option<Box<dyn BufRead>>,
    requests: u64,
}

impl Connection {
    fn start(streams: Streams, devices: &[&str]) -> Self {
        Self::start_with(Telechir::new(), streams, devices)
    }

    fn start_with(telechir: Telechir, streams: Streams, devices: &[&str]) -> Self {
        let mut arguments = vec!["mcp"];
        arguments.extend(devices);
        let command = telechir.command(&arguments);
        Self::spawn(telechir, streams, command)
    }

    /// Starts the server as the child of a shell that waits for it.
    fn start_below_another(devices: &[&str]) -> Self {
        let telechir = Telechir::new();
        let mut command = telechir.command(&[]);
        let program = command.get_program().to_owned();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "exec 3<&0; \"$@\" <&3 & exec 3<&-; wait", "sh"]);
        shell.arg(program).arg("mcp").args(devices).env_clear();
        let environment: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        command = shell;
        command.envs(environment).stderr(Stdio::piped());
        Self::spawn(telechir, Streams::Pipes, command)
    }

    fn spawn(telechir: Telechir, streams: Streams, mut command: Command) -> Self {
        let runtime = telechir.folder().join("run");
        fs::create_dir(&runtime).expect("a folder");
        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o700)).expect("permissions");
        command.env("XDG_RUNTIME_DIR", &runtime);
        command.env("XDG_DATA_HOME", telechir.folder().join("data"));
        let mut input: Option<Box<dyn Write>> = None;
        let mut output: Option<Box<dyn BufRead>> = None;
        match streams {
            Streams::Pipes => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
            }
            Streams::Sockets => {
                let (ours, theirs) = UnixStream::pair().expect("sockets");
                command.stdin(OwnedFd::from(theirs));
                input = Some(Box::new(ours));
                let (ours, theirs) = UnixStream::pair().expect("sockets");
                command.stdout(OwnedFd::from(theirs));
                output = Some(Box::new(BufReader::new(ours)));
            }
        }
        let mut server = command.spawn().expect("the binary starts");
        // The command has the server's ends of the sockets.
        drop(command);
        if let Some(stdin) = server.stdin.take() {
            input = Some(Box::new(stdin));
        }
        if let Some(stdout) = server.stdout.take() {
            output = Some(Box::new(BufReader::new(stdout)));
        }
        Self {
            telechir,
            server,
            input,
            output,
            requests: 0,
        }
    }

    fn send(&mut self, tool: &str, arguments: &Value) {
        self.requests += 1;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let request = json!({
            "jsonrpc": "2.0", "id": self.requests, "method": "tools/call", "params": params,
        });
        let input = self.input.as_mut().expect("an open stream");
        writeln!(input, "{request}").expect("a server that reads");
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.send(tool, arguments);
        let mut line = String::new();
        let output = self.output.as_mut().expect("an open stream");
        output.read_line(&mut line).expect("a server that writes");
        let answer: Value = serde_json::from_str(&line).expect("a message");
        let result = &answer["result"];
        assert_ne!(result["isError"], true, "{answer}");
        result.clone()
    }

    /// Leaves one program running in the background of the shell, and a call under way.
    fn be_busy(&mut self) {
        self.call("execute_cli", &json!({"command": "sleep 2000 &"}));
        self.send("execute_cli", &json!({"command": "sleep 1000"}));
        assert_eventually_blocking!(self.processes("sleep") == 2, "both commands run");
    }

    fn processes(&self, name: &str) -> usize {
        let all = self.telechir.processes();
        all.iter()
            .filter(|process| process.trim_end() == name)
            .count()
    }

    /// What there is of the session: processes, its folders, its socket, lock and log.
    fn left(&self) -> Vec<String> {
        let files = |folder: &str| {
            let entries = fs::read_dir(self.telechir.folder().join(folder));
            entries.into_iter().flatten().flatten()
        };
        let mut left = self.telechir.processes();
        left.extend(
            files("")
                .chain(files("run/telechir"))
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .filter(|name| name.starts_with("telechir-") || name.starts_with("mcp-")),
        );
        left
    }

    #[track_caller]
    fn assert_gone_within(&mut self, limit: Duration, since: Instant) {
        assert_eventually_blocking!(
            {
                // A child that ended is a process until it is waited for.
                let _ended = self.server.try_wait().expect("a child");
                self.left()
            },
            |left| left.is_empty()
        );
        let took = since.elapsed();
        assert!(took <= limit, "everything was gone after {took:?} only");
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _already_ended = self.server.kill();
        let _status = self.server.wait();
    }
}

/// How a client goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Going {
    ClosesInput,
    ClosesOutput,
    Kills,
}

const WAYS: [Going; 3] = [Going::ClosesInput, Going::ClosesOutput, Going::Kills];

fn go(client: &mut Connection, way: Going) -> Instant {
    let since = Instant::now();
    match way {
        Going::ClosesInput => drop(client.input.take()),
        Going::ClosesOutput => drop(client.output.take()),
        Going::Kills => client.server.kill().expect("a running server"),
    }
    since
}

#[test]
fn nothing_is_left_of_a_command_under_way() {
    require(Component::Sandbox);
    for streams in [Streams::Pipes, Streams::Sockets] {
        for way in WAYS {
            let mut client = Connection::start(streams, &["--shell"]);
            client.be_busy();
            let since = go(&mut client, way);
            client.assert_gone_within(LIMIT, since);
            if way != Going::Kills {
                let ended = client.server.wait().expect("a status");
                assert!(ended.success(), "{streams:?} {way:?}: {ended}");
            }
        }
    }
}

#[test]
fn nothing_is_left_of_an_idle_session() {
    require(Component::Sandbox);
    for streams in [Streams::Pipes, Streams::Sockets] {
        for way in WAYS {
            let mut client = Connection::start(streams, &["--shell"]);
            client.call("execute_cli", &json!({"command": "true"}));
            let since = go(&mut client, way);
            client.assert_gone_within(LIMIT, since);
        }
    }
}

#[test]
fn nothing_is_left_of_a_browser() {
    require(Component::Sandbox);
    require(Component::Chromium);
    for way in WAYS {
        let devices = ["--shell", "--browser", "--headless"];
        let mut client = Connection::start(Streams::Pipes, &devices);
        client.call("execute_browser", &json!({"action": "open_tab"}));
        client.be_busy();
        let since = go(&mut client, way);
        client.assert_gone_within(LIMIT, since);
    }
}

#[test]
fn a_browser_with_a_profile_ends_a_little_later() {
    require(Component::Chromium);
    for way in WAYS {
        let devices = ["--browser", "--headless", "--profile=work"];
        let telechir = Telechir::new();
        let mut create = telechir.command(&["profiles", "create", "work"]);
        create.env("XDG_DATA_HOME", telechir.folder().join("data"));
        let created = Ran::of(&mut create, "");
        assert_eq!(created.code, Some(0), "{}", created.stderr);
        let mut client = Connection::start_with(telechir, Streams::Pipes, &devices);
        client.call("execute_browser", &json!({"action": "open_tab"}));
        let since = go(&mut client, way);
        client.assert_gone_within(LIMIT_WITH_PROFILE, since);
    }
}

/// A launcher that is killed leaves the streams of its child open.
#[test]
fn nothing_is_left_when_the_parent_exits() {
    require(Component::Sandbox);
    let mut client = Connection::start_below_another(&["--shell"]);
    client.be_busy();
    assert_eq!(client.processes("sh"), 1);
    let since = Instant::now();
    client.server.kill().expect("a running launcher");
    client.assert_gone_within(LIMIT, since);
}

/// The server may be killed before its session has started completely.
#[test]
fn nothing_is_left_of_a_session_that_was_starting() {
    require(Component::Chromium);
    for way in WAYS {
        let mut client = Connection::start(Streams::Pipes, &["--browser", "--headless"]);
        client.send("execute_browser", &json!({"action": "open_tab"}));
        let server = i32::try_from(client.server.id()).expect("a pid");
        assert_eventually_blocking!(client.left(), |left| {
            left.contains(&format!("mcp-{server}.lock"))
        });
        let since = go(&mut client, way);
        client.assert_gone_within(LIMIT, since);
    }
}

#[test]
fn a_client_that_never_reads_leaves_nothing() {
    require(Component::Sandbox);
    let mut client = Connection::start(Streams::Pipes, &["--shell"]);
    client.call("execute_cli", &json!({"command": "touch mark"}));
    // More than a pipe holds, many times.
    for _ in 0..50 {
        let command = "printf %10000s x; echo y >> answered";
        client.send("execute_cli", &json!({"command": command}));
    }
    client.send("execute_cli", &json!({"command": "sleep 1000"}));
    assert_eventually_blocking!(client.processes("sleep") == 1, "all calls were executed");
    let since = go(&mut client, Going::ClosesInput);
    client.assert_gone_within(LIMIT, since);
}

/// Requests before the end of the input are answered when they need no device.
#[test]
fn the_last_requests_of_a_client_are_answered() {
    let mut client = Connection::start(Streams::Pipes, &["--shell"]);
    client.send("get_action_history", &json!({}));
    client.send("get_action_history", &json!({}));
    drop(client.input.take());
    let mut text = String::new();
    let output = client.output.as_mut().expect("an open stream");
    std::io::Read::read_to_string(output, &mut text).expect("answers");
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_signal_ends_the_session_too() {
    require(Component::Sandbox);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut client = Connection::start(Streams::Pipes, &["--shell"]);
        client.be_busy();
        let server = i32::try_from(client.server.id()).expect("a pid");
        let since = Instant::now();
        kill_process(Pid::from_raw(server).expect("a pid"), signal).expect("a running server");
        client.assert_gone_within(LIMIT, since);
    }
}
