//! The live page: pictures over HTTP, tickets, and the page itself in a real Chromium that telechir
//! drives.

mod accessibility;
mod input;
mod message;
mod page;
mod page_text;
mod recording;
pub(crate) mod stream;
mod takeover;

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use crate::serve::client::{Answer, Client, Server, connect};
use crate::sessions::{SessionFixture, response};
use crate::telechir::Ran;
use stream::Viewer;

/// An answer whose body may be an image.
#[derive(Debug)]
struct Image {
    status: u16,
    head: String,
    bytes: Vec<u8>,
}

impl Image {
    /// Requests a path with a token and these headers.
    fn get(server: &Server, token: &str, headers: &str, path: &str) -> Self {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\n{headers}\r\n",
            server.address
        );
        let mut answer = Vec::new();
        let mut stream = connect(&server.address, &request);
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer.windows(4).position(|part| part == b"\r\n\r\n");
        let end = end.expect("a head");
        let head = String::from_utf8(answer[..end].to_vec()).expect("text");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Self {
            status: status.expect("a status"),
            head: head.to_ascii_lowercase(),
            bytes: answer[end + 4..].to_vec(),
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Width and height of a PNG.
    #[track_caller]
    fn size(&self) -> (u32, u32) {
        assert_eq!(
            (self.status, self.header("content-type")),
            (200, Some("image/png"))
        );
        let reader = png::Decoder::new(std::io::Cursor::new(&self.bytes)).read_info();
        let info = reader.expect("a PNG");
        (info.info().width, info.info().height)
    }
}

#[test]
fn a_screen_is_shown_to_people_while_a_call_runs() {
    require(Component::XServer);
    let server = Server::with_flags(&["--desktop"]);
    let agent = server.client("agent");
    let viewer = server.token("viewer", "screen");
    let id = agent.open(&json!({"display": "800x600"}));
    let path = format!("/v1/sessions/{id}/screenshot");
    let get = |headers: &str, path: &str| Image::get(&server, &viewer, headers, path);
    let image = get("", &path);
    assert_eq!(image.size(), (800, 600));
    assert_eq!(get("", &format!("{path}?width=400")).size(), (400, 300));
    // A new desktop may still be drawn.
    let again = || {
        let image = get("", &path);
        let etag = image.header("etag").expect("an etag");
        get(&format!("If-None-Match: \"0\", {etag}\r\n"), &path)
    };
    let same = assert_eventually_blocking!(again(), |same| same.status == 304);
    assert_eq!(same.bytes.len(), 0, "{}", same.head);

    // The call holds the session, and nobody waits for it.
    let wait = response("wait", Some("computer"), json!({"duration": 30}));
    let turn = format!("/v1/sessions/{id}/anthropic-messages");
    let started = agent.request_with(&["Prefer: respond-async"], "POST", &turn, Some(&wait));
    assert_eq!(started.status, 202, "{started:?}");
    let state = || agent.get(&format!("/v1/sessions/{id}"))["state"].clone();
    assert_eventually_blocking!(state(), |state| *state == "busy");
    assert_eq!(get("", &path).size(), (800, 600));
    assert_eq!(state(), "busy", "the call goes on");
    agent.request("POST", &format!("/v1/sessions/{id}/cancel"), Some("{}"));

    for (path, status, slug) in [
        (format!("{path}?device=browser"), 409, "no-screenshot"),
        (format!("{path}?device=shell"), 400, "bad-request"),
        (format!("{path}?width=-1"), 400, "bad-request"),
        (format!("{path}?width=63"), 400, "bad-request"),
        (format!("{path}?width=2561"), 400, "bad-request"),
    ] {
        let viewer = Client::new(&server.address, &viewer);
        viewer.request("GET", &path, None).is_problem(status, slug);
    }
    let other = server.token("agent", "other");
    Client::new(&server.address, &other)
        .request("GET", &path, None)
        .is_problem(404, "not-found");
    server.assert_closes(&agent, &id);
}

#[test]
fn recorded_screenshots_are_found_by_their_digest() {
    require(Component::XServer);
    let server = Server::with_flags(&["--desktop"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({"display": "640x480"}));
    let look = response("screenshot", Some("computer"), json!({}));
    agent.post(&format!("/v1/sessions/{id}/anthropic-messages"), &look);
    let events = agent.stream(&[], &format!("/v1/sessions/{id}/events?from=1"));
    let mut events = crate::serve::events(events);
    let taken = events.find(|(_, event)| event["event"] == "screenshot_taken");
    let digest = taken.expect("an event").1["blob"].clone();
    let digest = digest.as_str().expect("a digest");
    let path = |digest: &str| format!("/v1/sessions/{id}/screenshots/{digest}");
    let viewer = server.token("viewer", "screen");
    let image = Image::get(&server, &viewer, "", &path(digest));
    assert_eq!(image.status, 200, "{}", image.head);
    assert!(
        image
            .header("content-type")
            .is_some_and(|kind| kind.starts_with("image/"))
    );
    for wrong in [
        digest.replace(|c: char| c.is_ascii_digit(), "f"),
        digest[1..].to_owned(),
        "..%2f..%2fjournal.sqlite".to_owned(),
        format!("..%2f{}", &digest[3..]),
    ] {
        agent
            .request("GET", &path(&wrong), None)
            .is_problem(404, "not-found");
    }
    server.assert_closes(&agent, &id);
}

/// A page session: its cookie and its key.
pub(crate) struct PageSession {
    cookie: String,
    key: String,
}

/// Exchanges a ticket as the page does.
fn exchange(server: &Server, origin: &str, ticket: &str) -> Answer {
    let body = json!({ "ticket": ticket }).to_string();
    server.send(&format!(
        "POST /view/session HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nOrigin: {origin}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    ))
}

/// A page that a command serves, opened by the address that it printed.
pub(crate) struct OpenedPage {
    address: String,
    session: PageSession,
    pub(crate) role: String,
    /// What follows the ticket.
    pub(crate) shows: String,
}

impl OpenedPage {
    pub(crate) fn of(url: &str) -> Self {
        let (origin, fragment) = url.split_once("/#ticket=").expect("a ticket");
        let (ticket, shows) = fragment.split_once('&').unwrap_or((fragment, ""));
        let address = origin.strip_prefix("http://").expect("an address");
        let body = json!({ "ticket": ticket }).to_string();
        let opened = crate::serve::client::exchange(
            address,
            &format!(
                "POST /view/session HTTP/1.1\r\nHost: {address}\r\nOrigin: {origin}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ),
        );
        Self {
            address: address.to_owned(),
            session: PageSession::of(&opened),
            role: opened.json()["role"].as_str().expect("a role").to_owned(),
            shows: shows.to_owned(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        crate::serve::client::exchange(&self.address, &self.request(path))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        let (address, secrets, body) = (&self.address, self.session.secrets(), body.to_string());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n{secrets}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        crate::serve::client::exchange(address, &request)
    }

    /// Waits until a stream contains a text.
    pub(crate) fn wait_in_stream(&self, path: &str, text: &str) {
        let stream = connect(&self.address, &self.request(path));
        let mut lines = BufReader::new(stream).lines();
        let found = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(text)));
        assert!(found.is_some(), "{text} is not in {path}");
    }

    /// The events of a session from its first one.
    pub(crate) fn events(&self, session: &str) -> impl Iterator<Item = Value> + use<> {
        let request = self.request(&format!("/v1/sessions/{session}/events?from=1"));
        let stream = BufReader::new(connect(&self.address, &request));
        crate::serve::events(stream).map(|(_, event)| event)
    }

    /// What the page does with the screen of a session.
    pub(crate) fn viewer(&self, session: &str) -> Viewer {
        Viewer::at(&self.address, &self.session, session)
    }

    fn request(&self, path: &str) -> String {
        let (address, secrets) = (&self.address, self.session.secrets());
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{secrets}\r\n")
    }

    /// Whether the page is gone.
    pub(crate) fn is_gone(&self) -> bool {
        TcpStream::connect(&self.address).is_err()
    }
}

fn ticket(client: &Client) -> String {
    let created = client.request("POST", "/v1/tickets", None);
    assert_eq!(created.status, 201, "{created:?}");
    created.json()["ticket"]
        .as_str()
        .expect("a ticket")
        .to_owned()
}

impl PageSession {
    /// The headers of a request.
    fn secrets(&self) -> String {
        format!("{}{}", self.cookie, self.key)
    }

    fn of(answer: &Answer) -> Self {
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.header("set-cookie").expect("a cookie");
        for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let (cookie, _) = cookie.split_once(';').expect("attributes");
        let key = answer.json()["key"].as_str().expect("a key").to_owned();
        Self {
            cookie: format!("Cookie: {cookie}\r\n"),
            key: format!("X-Telechir-View: {key}\r\n"),
        }
    }
}

fn get(server: &Server, headers: &str, path: &str) -> Answer {
    server.send(&format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
        server.address
    ))
}

#[test]
fn a_ticket_opens_the_page_once() {
    let server = Server::of_shells();
    let operator = server.client("operator");
    let own = format!("http://{}", server.address);
    server
        .client("agent")
        .request("POST", "/v1/tickets", None)
        .is_problem(403, "forbidden");
    let first = ticket(&operator);
    for origin in ["http://evil.example", "null", "https://127.0.0.1:1"] {
        exchange(&server, origin, &first).is_problem(403, "forbidden-origin");
    }
    let opened = exchange(&server, &own, &first);
    assert_eq!(opened.json()["role"], "operator");
    let PageSession { cookie, key } = PageSession::of(&opened);
    exchange(&server, &own, &first).is_problem(401, "unauthorized");
    let both = format!("{cookie}{key}");
    assert_eq!(get(&server, &both, "/v1/approvals").status, 200);
    let other = PageSession::of(&exchange(&server, &own, &ticket(&operator)));
    for half in [&cookie, &key, &format!("{cookie}{}", other.key)] {
        get(&server, half, "/v1/approvals").is_problem(401, "unauthorized");
    }
    // Pages of other origins send neither; should a browser ever do so, the origin tells.
    let foreign = format!("{both}Origin: http://evil.example\r\n");
    get(&server, &foreign, "/v1/approvals").is_problem(403, "forbidden-origin");
    let from_page = format!("{both}Origin: {own}\r\n");
    assert_eq!(get(&server, &from_page, "/v1/approvals").status, 200);
    // The page has the rights of the token with which its ticket was made, and ends with it.
    let viewer = server.client("viewer");
    let watching = PageSession::of(&exchange(&server, &own, &ticket(&viewer)));
    let watching = format!("{}{}", watching.cookie, watching.key);
    assert_eq!(get(&server, &watching, "/v1/sessions").status, 200);
    get(&server, &watching, "/v1/approvals").is_problem(403, "forbidden");
    let listed = Ran::of(
        &mut server.sessions.command(&["tokens", "list", "--json"]),
        "",
    );
    for token in listed.json().as_array().expect("tokens") {
        let id = token["id"].as_str().expect("an id");
        Ran::of(&mut server.sessions.command(&["tokens", "revoke", id]), "");
    }
    get(&server, &watching, "/v1/sessions").is_problem(401, "unauthorized");
    get(&server, &both, "/v1/sessions").is_problem(401, "unauthorized");
}

#[test]
fn wrong_tickets_shut_nobody_out() {
    let server = Server::of_shells();
    let own = format!("http://{}", server.address);
    let valid = ticket(&server.client("operator"));
    for guess in 0..40 {
        let wrong = format!("g{guess}{}", &valid[3..]);
        exchange(&server, &own, &wrong).is_problem(401, "unauthorized");
    }
    let page = PageSession::of(&exchange(&server, &own, &valid));
    // As a program on another port of this host sets them, for a longer path.
    let (name, own) = page.cookie["Cookie: ".len()..]
        .trim_end()
        .split_once('=')
        .expect("a value");
    let tossed = format!("Cookie: {name}=theirs; {name}={own}\r\n{}", page.key);
    assert_eq!(get(&server, &tossed, "/v1/sessions").status, 200);
}

#[test]
fn the_files_of_the_page_need_no_token_and_load_no_others() {
    let server = Server::of_shells();
    for (path, media_type) in [
        ("/", "text/html"),
        ("/view/main.js", "text/javascript"),
        ("/view/page.css", "text/css"),
    ] {
        let answer = get(&server, "", path);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(
            answer
                .header("content-type")
                .is_some_and(|kind| kind.starts_with(media_type))
        );
        let policy = answer.header("content-security-policy").expect("a policy");
        for part in [
            "default-src 'none'",
            "frame-ancestors 'none'",
            "script-src 'self'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    get(&server, "", "/view/other.js").is_problem(404, "not-found");
}

#[test]
fn view_revokes_the_tokens_of_its_killed_processes_and_no_others() {
    let sessions = SessionFixture::new();
    let run = |arguments: &[&str]| Ran::of(&mut sessions.command(arguments), "");
    for name in ["view-wall", "view-", "view-1-2"] {
        let created = run(&["tokens", "new", "viewer", "--name", name]);
        assert_eq!(created.code, Some(0), "{created:?}");
    }
    let refused = run(&["tokens", "new", "viewer", "--name", "view-4711"]);
    refused.fails(1, &["view-4711", "telechir view", "another"]);
    let mut killed = None;
    for _ in 0..2 {
        let mut command = sessions.command(&["view"]);
        let mut child = command.stdin(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("an address");
        let listed = run(&["tokens", "list", "--json"]).json();
        let rows = listed.as_array().expect("tokens").iter();
        let names: Vec<&str> = rows.filter_map(|row| row["name"].as_str()).collect();
        let own = format!("view-{}", child.id());
        assert_eq!(
            names,
            ["view-wall", "view-", "view-1-2", &own],
            "{killed:?}"
        );
        child.kill().expect("a signal");
        child.wait().expect("its end");
        killed = Some(own);
    }
}

#[test]
fn view_serves_the_page_until_it_is_stopped() {
    require(Component::Sandbox);
    let sessions = SessionFixture::new();
    let absent = Ran::of(&mut sessions.command(&["view", "absent"]), "");
    absent.fails(1, &["no session named absent", "telechir sessions list"]);
    sessions.start_shell("work", &[]);
    let mut command = sessions.command(&["view", "work"]);
    let mut child = command.stdin(Stdio::null()).spawn().expect("it starts");
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    output.read_line(&mut line).expect("an address");
    let page = OpenedPage::of(line.trim());
    assert_eq!(
        (page.shows.as_str(), page.role.as_str()),
        ("session=work", "operator")
    );
    let get = |path: &str| page.get(path).json();
    assert_eq!(get("/v1/sessions")["sessions"][0]["id"], "work");
    assert_eq!(get("/v1/approvals"), json!({"approvals": []}));
    let tokens = || Ran::of(&mut sessions.command(&["tokens", "list", "--json"]), "").json();
    assert_eq!(tokens()[0]["name"], format!("view-{}", child.id()));
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process"), Signal::TERM).expect("a signal");
    assert_eq!(child.wait().expect("its end").code(), Some(143));
    assert_eq!(
        tokens(),
        Value::Array(Vec::new()),
        "the page's token is revoked"
    );
    sessions.assert_closes("work");
}
