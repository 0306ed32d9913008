//! A server, and a client that sends exactly the bytes of a test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;

use crate::sessions::SessionFixture;
use crate::telechir::Ran;

/// Longest time that a test waits for bytes of a server.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// `telechir serve`; on drop it is killed, and its sessions are closed.
pub(crate) struct Server {
    pub(crate) sessions: SessionFixture,
    flags: Vec<String>,
    variables: Vec<(&'static str, String)>,
    listen: String,
    child: Child,
    pub(crate) address: String,
}

/// An answer of a server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Server {
    /// A server for sandboxed shells with a permissive policy.
    pub(crate) fn of_shells() -> Self {
        Self::with_flags(&["--shell"])
    }

    pub(crate) fn with_flags(flags: &[&str]) -> Self {
        Self::in_folder(SessionFixture::new(), flags)
    }

    /// A server with the policy `policy.toml` of this folder.
    pub(crate) fn in_folder(sessions: SessionFixture, flags: &[&str]) -> Self {
        let policy = format!("--policy={}", sessions.file("policy.toml").display());
        let mut all = vec!["serve".to_owned(), policy];
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        Self::started(sessions, all, "127.0.0.1:0", Vec::new())
    }

    /// A server with further environment variables.
    pub(crate) fn with_variables(flags: &[&str], variables: Vec<(&'static str, String)>) -> Self {
        let all = ["serve"].iter().chain(flags);
        let all = all.map(|flag| (*flag).to_owned()).collect();
        Self::started(SessionFixture::new(), all, "127.0.0.1:0", variables)
    }

    /// A server at another address.
    pub(crate) fn at(sessions: SessionFixture, flags: &[&str], listen: &str) -> Self {
        let flags = ["serve"].iter().chain(flags);
        let flags = flags.map(|flag| (*flag).to_owned()).collect();
        Self::started(sessions, flags, listen, Vec::new())
    }

    fn started(
        sessions: SessionFixture,
        mut flags: Vec<String>,
        listen: &str,
        variables: Vec<(&'static str, String)>,
    ) -> Self {
        // Other tests use the machine's memory at the same time.
        if !flags.iter().any(|flag| flag.contains("min-free-memory")) {
            flags.push("--min-free-memory=0".to_owned());
        }
        let (child, address) = start(&sessions, &flags, &variables, listen);
        Self {
            sessions,
            flags,
            variables,
            listen: listen.to_owned(),
            child,
            address,
        }
    }

    /// What it printed since it was started.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.sessions.file("serve.log")).expect("a log")
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process"), signal).expect("a signal");
    }

    /// Waits for its end.
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().expect("its end").code()
    }

    /// Starts a server that has ended again, at another port: its own may be another process's by now.
    pub(crate) fn start_again(&mut self) {
        (self.child, self.address) =
            start(&self.sessions, &self.flags, &self.variables, &self.listen);
    }

    /// Kills the server as `kill -9` does, and starts it again at another port.
    pub(crate) fn kill_and_restart(&mut self) {
        self.child.kill().expect("a signal");
        self.child.wait().expect("its end");
        self.start_again();
    }

    pub(crate) fn token(&self, role: &str, name: &str) -> String {
        let mut command = self
            .sessions
            .command(&["tokens", "new", role, "--name", name]);
        let ran = Ran::of(&mut command, "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout.trim().to_owned()
    }

    /// Revokes all tokens with this name.
    pub(crate) fn revoke(&self, name: &str) {
        let run = |arguments: &[&str]| Ran::of(&mut self.sessions.command(arguments), "");
        let listed = run(&["tokens", "list", "--json"]).json();
        let tokens = listed.as_array().expect("a list").iter();
        for token in tokens.filter(|token| token["name"] == name) {
            let id = token["id"].as_str().expect("an id");
            assert_eq!(run(&["tokens", "revoke", id]).code, Some(0));
        }
    }

    /// A client with a new token of this role.
    pub(crate) fn client(&self, role: &str) -> Client {
        Client::new(&self.address, &self.token(role, "test"))
    }

    /// Sends bytes and returns the answer.
    pub(crate) fn send(&self, bytes: &str) -> Answer {
        exchange(&self.address, bytes)
    }

    /// Asserts that the API closes a session and leaves nothing of it.
    pub(crate) fn assert_closes(&self, client: &Client, id: &str) {
        let answer = client.request("DELETE", &format!("/v1/sessions/{id}"), None);
        assert_eq!(answer.status, 204, "{answer:?}");
        assert_eq!(self.sessions.list(), json!([]));
    }
}

impl Server {
    /// Ends the server and asserts that no process and no folder is left.
    pub(crate) fn assert_leaves_nothing(mut self) {
        self.child.kill().expect("a signal");
        self.child.wait().expect("its end");
        self.sessions.telechir.assert_nothing_left();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _gone_already = self.child.wait();
    }
}

/// Starts a server, and returns it with the address that it prints.
fn start(
    sessions: &SessionFixture,
    flags: &[String],
    variables: &[(&'static str, String)],
    address: &str,
) -> (Child, String) {
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let listen = format!("--listen={address}");
    flags.push(&listen);
    // A file, because a pipe that nobody reads would block the server.
    let log = sessions.file("serve.log");
    let file = std::fs::File::create(&log).expect("a log");
    let mut command: Command = sessions.command(&flags);
    let child = command
        .envs(variables.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .expect("the server starts");
    let printed = || {
        let text = std::fs::read_to_string(&log).expect("a log");
        let line = text.lines().find_map(|line| line.split_once("API on http"));
        line.map(|(_, address)| {
            let address = address.trim_start_matches(['s', ':', '/']);
            address.trim_end_matches(['"', '}']).to_owned()
        })
    };
    assert_eventually_blocking!(printed(), |address| address.is_some());
    (child, printed().expect("an address"))
}

/// Sends requests with a token, each on a connection of its own.
pub(crate) struct Client {
    address: String,
    token: String,
}

impl Client {
    pub(crate) fn new(address: &str, token: &str) -> Self {
        let (address, token) = (address.to_owned(), token.to_owned());
        Self { address, token }
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        self.request_with(&[], method, path, body)
    }

    pub(crate) fn request_with(
        &self,
        headers: &[&str],
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Answer {
        exchange(&self.address, &self.text(headers, method, path, body))
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let answer = self.request("GET", path, None);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Value {
        let answer = self.request("POST", path, Some(body));
        assert!((200..300).contains(&answer.status), "{answer:?}");
        answer.json()
    }

    /// Head and body of an answer that may not be text.
    pub(crate) fn bytes(&self, path: &str) -> (String, Vec<u8>) {
        let mut stream = connect(&self.address, &self.text(&[], "GET", path, None));
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("an answer");
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n");
        let body = bytes.split_off(end.expect("a head") + 4);
        (String::from_utf8(bytes).expect("text"), body)
    }

    /// Opens a session and returns its id.
    pub(crate) fn open(&self, body: &Value) -> String {
        let session = self.post("/v1/sessions", &body.to_string());
        session["id"].as_str().expect("an id").to_owned()
    }

    /// Sends a request whose answer is read as it comes.
    pub(crate) fn stream(&self, headers: &[&str], path: &str) -> BufReader<TcpStream> {
        self.read_as_it_comes(&self.text(headers, "GET", path, None))
    }

    /// The same with a body.
    pub(crate) fn stream_post(
        &self,
        headers: &[&str],
        path: &str,
        body: &str,
    ) -> BufReader<TcpStream> {
        self.read_as_it_comes(&self.text(headers, "POST", path, Some(body)))
    }

    fn read_as_it_comes(&self, text: &str) -> BufReader<TcpStream> {
        let mut reader = BufReader::new(connect(&self.address, text));
        let mut line = String::new();
        reader.read_line(&mut line).expect("a status");
        assert!(line.contains(" 200 "), "{line}");
        reader
    }

    /// The status of a request whose answer may have no end.
    pub(crate) fn request_until_head(&self, path: &str) -> u16 {
        let mut reader = BufReader::new(connect(&self.address, &self.text(&[], "GET", path, None)));
        let mut line = String::new();
        reader.read_line(&mut line).expect("a status");
        let status = line.split(' ').nth(1);
        status
            .and_then(|status| status.parse().ok())
            .expect("a status")
    }

    /// Sends a request and does not wait for its answer.
    pub(crate) fn start(&self, headers: &[&str], path: &str, body: &str) -> TcpStream {
        connect(&self.address, &self.text(headers, "POST", path, Some(body)))
    }

    fn text(&self, headers: &[&str], method: &str, path: &str, body: Option<&str>) -> String {
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Authorization: Bearer {}\r\n",
            self.address, self.token
        );
        for header in headers {
            text.push_str(&format!("{header}\r\n"));
        }
        match body {
            Some(body) => text.push_str(&format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )),
            None => text.push_str("\r\n"),
        }
        text
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        match self.body.is_empty() {
            true => Value::Null,
            false => serde_json::from_str(&self.body).expect("JSON"),
        }
    }

    /// Asserts a problem with this status and type.
    #[track_caller]
    pub(crate) fn is_problem(&self, status: u16, slug: &str) {
        assert_eq!(self.status, status, "{self:?}");
        let head = self.head.to_ascii_lowercase();
        assert!(
            head.contains("content-type: application/problem+json"),
            "{self:?}"
        );
        let problem = self.json();
        assert_eq!(
            problem["type"],
            format!("urn:telechir:problem:{slug}"),
            "{self:?}"
        );
        assert_eq!(problem["status"], status);
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines();
        let mut fields = lines.filter_map(|line| line.split_once(": "));
        let field = fields.find(|(known, _)| known.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value)
    }
}

pub(crate) fn connect(address: &str, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream
        .set_read_timeout(Some(READ_TIMEOUT))
        .expect("a timeout");
    // A server that refuses a request early does not read all of it.
    let _best_effort = stream.write_all(bytes.as_bytes());
    stream
}

/// Sends bytes and reads the answer until the server closes the connection, or the body is complete.
pub(crate) fn exchange(address: &str, bytes: &str) -> Answer {
    read(connect(address, bytes))
}

pub(crate) fn read(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let mut part = [0; 16 << 10];
    // A connection that is reset has sent its answer before.
    while let Ok(length @ 1..) = stream.read(&mut part) {
        bytes.extend_from_slice(&part[..length]);
        if is_complete(&bytes) {
            break;
        }
    }
    let text = String::from_utf8(bytes).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    Answer {
        status: status.unwrap_or_default(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

fn is_complete(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let head = head.to_ascii_lowercase();
    let length = head.split_once("content-length: ");
    let length = length.and_then(|(_, rest)| rest.lines().next()?.parse::<usize>().ok());
    length.is_some_and(|length| body.len() >= length)
}
