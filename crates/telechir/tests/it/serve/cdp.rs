//! The CDP gateway: a program drives a session's browser, and gets no further than the policy.

use std::net::TcpStream;

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::site::Site;
use tokio::runtime::Runtime;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket, client};

use super::approvals::{answer, question};
use super::bash_with_id;
use super::client::{Client, Server};
use crate::sessions::SessionFixture;

pub(super) const POLICY: &str = "
[[url]]
host = ['127.0.0.1']
verdict = 'allow'
reason = 'The pages of the test.'

[[url]]
host = ['denied.example']
verdict = 'deny'
reason = 'Nobody goes there.'

[[computer]]
actions = ['javascript', 'file_upload']
verdict = 'allow'
reason = 'A test.'

[[shell]]
name = 'anything in the sandbox'
shell = 'sandboxed'
redirection = true
verdict = 'sandbox'
reason = 'The sandbox holds it.'
examples = { match = ['echo a > b'] }
";

const PAGE: &str = "<!doctype html><title>start</title>
<button id=b style='position:absolute;left:0;top:0;width:200px;height:100px'
  onclick=\"document.title = 'clicked ' + event.isTrusted; location.hash = t.value\">go</button>
<input id=t style='position:absolute;left:0;top:200px;width:200px;height:40px'>
<input id=f type=file style='position:absolute;left:0;top:300px'>";

/// A page with a button, a text field and a file control.
pub(super) struct Pages {
    pub(super) url: String,
    _site: Site,
    _runtime: Runtime,
}

impl Pages {
    pub(super) fn serve() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let site = runtime.block_on(Site::serve([("page", PAGE)]));
        let site = site.expect("a site");
        Self {
            url: site.url("page"),
            _site: site,
            _runtime: runtime,
        }
    }
}

/// A server with the gateway, a page, and a session with a browser.
pub(super) struct GatewayFixture {
    pub(super) server: Server,
    pub(super) agent: Client,
    pub(super) session: String,
    pub(super) pages: Pages,
}

impl GatewayFixture {
    pub(super) fn new(policy: &str) -> Self {
        require(Component::Chromium);
        let sessions = SessionFixture::new();
        std::fs::write(sessions.file("policy.toml"), policy).expect("a policy");
        let record = format!("--record={}", sessions.file("recordings").display());
        let flags = [
            "--browser",
            "--headless",
            "--shell",
            "--cdp-gateway",
            &record,
        ];
        let server = Server::in_folder(sessions, &flags);
        let agent = server.client("agent");
        let session = agent.open(&json!({"devices": ["browser", "shell"]}));
        Self {
            server,
            agent,
            session,
            pages: Pages::serve(),
        }
    }

    pub(super) fn address(&self) -> String {
        let path = format!("/v1/sessions/{}/cdp", self.session);
        let made = self.agent.post(&path, "");
        made["url"].as_str().expect("an address").to_owned()
    }

    pub(super) fn connect(&self) -> Driver {
        Driver::connect(&self.server.address, &self.address(), &[]).expect("a connection")
    }

    /// The intents of the session's recording that a program's commands have.
    pub(super) fn intents(&self) -> Vec<Value> {
        let path = format!("/v1/recordings/{}/rows?limit=1000", self.session);
        let client = self.server.client("operator");
        let rows = client.get(&path);
        let rows = rows["rows"].as_array().expect("rows").iter();
        let does = rows.map(|row| row["body"]["does"].clone());
        does.filter(|does| does["devtools"].is_string()).collect()
    }
}

/// A program that speaks CDP.
pub(super) struct Driver {
    socket: WebSocket<TcpStream>,
    pub(super) next: i64,
    pub(super) events: Vec<Value>,
}

impl Driver {
    pub(super) fn connect(
        server: &str,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<Self, Box<tungstenite::Error>> {
        let stream = TcpStream::connect(server).expect("a connection");
        let limit = Some(std::time::Duration::from_secs(60));
        stream.set_read_timeout(limit).expect("a timeout");
        let mut request = Request::get(url)
            .header("Host", server)
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", generate_key());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).expect("a request");
        let connected = client(request, stream);
        let (socket, _) = connected.map_err(|error| match error {
            tungstenite::HandshakeError::Failure(error) => Box::new(error),
            tungstenite::HandshakeError::Interrupted(_) => panic!("the socket blocks"),
        })?;
        Ok(Self {
            socket,
            next: 0,
            events: Vec::new(),
        })
    }

    /// The next message; none at the end of the connection.
    pub(super) fn read(&mut self) -> Option<Value> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    return Some(serde_json::from_str(&text).expect("JSON"));
                }
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// The result of a command, or the message of its error.
    pub(super) fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, String> {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.send(&message);
        self.answer()
    }

    pub(super) fn send(&mut self, message: &Value) {
        let sent = self.socket.send(Message::text(message.to_string()));
        sent.expect("a connection");
    }

    /// The answer to the last command.
    pub(super) fn answer(&mut self) -> Result<Value, String> {
        loop {
            let mut message = self.read().expect("an answer");
            if message["id"] == self.next {
                return match message["error"]["message"].as_str() {
                    Some(problem) => Err(problem.to_owned()),
                    None => Ok(message["result"].take()),
                };
            }
            self.events.push(message);
        }
    }

    /// Waits for an event.
    pub(super) fn event(&mut self, method: &str) -> Value {
        loop {
            if let Some(index) = self.events.iter().position(|one| one["method"] == method) {
                return self.events.remove(index)["params"].take();
            }
            let message = self.read().expect("an event");
            self.events.push(message);
        }
    }

    /// Attaches to the session's first page and returns the CDP session.
    pub(super) fn attach(&mut self) -> String {
        let params = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        self.call(None, "Target.setAutoAttach", params)
            .expect("attached");
        let attached = self.event("Target.attachedToTarget");
        assert_eq!(attached["targetInfo"]["type"], "page", "{attached}");
        attached["sessionId"]
            .as_str()
            .expect("a session")
            .to_owned()
    }

    pub(super) fn evaluate(&mut self, session: &str, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true });
        let mut result = self
            .call(Some(session), "Runtime.evaluate", params)
            .expect("a value");
        result["result"]["value"].take()
    }

    /// Opens a page and waits until it has loaded.
    pub(super) fn open(&mut self, session: &str, url: &str) {
        self.call(Some(session), "Page.enable", json!({}))
            .expect("enabled");
        self.events
            .retain(|event| event["method"] != "Page.loadEventFired");
        let opened = self.call(Some(session), "Page.navigate", json!({ "url": url }));
        let opened = opened.expect("an answer");
        assert_eq!(opened["errorText"], Value::Null, "{opened}");
        self.event("Page.loadEventFired");
    }
}

#[test]
fn a_program_drives_the_browser_under_the_policy() {
    let gateway = GatewayFixture::new(POLICY);
    let mut program = gateway.connect();
    let page = program.attach();
    program.open(&page, &gateway.pages.url);
    assert_eq!(program.evaluate(&page, "document.title"), "start");
    for kind in ["mousePressed", "mouseReleased"] {
        let params = json!({ "type": kind, "x": 50, "y": 50, "button": "left", "clickCount": 1 });
        let sent = program.call(Some(&page), "Input.dispatchMouseEvent", params);
        sent.expect("a click");
    }
    assert_eq!(program.evaluate(&page, "document.title"), "clicked true");
    program.evaluate(&page, "document.querySelector('#t').focus()");
    let params = json!({ "text": "typed" });
    program
        .call(Some(&page), "Input.insertText", params)
        .expect("typed");
    assert_eq!(
        program.evaluate(&page, "document.querySelector('#t').value"),
        "typed"
    );
    let shot = program.call(Some(&page), "Page.captureScreenshot", json!({}));
    assert!(
        shot.expect("a picture")["data"]
            .as_str()
            .is_some_and(|data| data.len() > 100)
    );

    // The policy decides about URLs, also of new tabs.
    for (session, method) in [
        (Some(page.as_str()), "Page.navigate"),
        (None, "Target.createTarget"),
    ] {
        let params = json!({ "url": "http://denied.example/" });
        let refused = program
            .call(session, method, params)
            .expect_err("it is denied");
        assert!(refused.contains("Nobody goes there"), "{refused}");
    }
    // A command about which the policy asks waits for a person.
    program.next += 1;
    let ask = json!({ "id": program.next, "method": "Storage.getCookies", "params": {} });
    program.send(&ask);
    let operator = gateway.server.client("operator");
    let open = question(&operator);
    let denial = json!({"decision": "deny", "digest": open["digest"], "reason": "not those"});
    let denied = answer(&operator, &open, &denial);
    assert_eq!(denied.status, 204, "{denied:?}");
    let refused = program.answer().expect_err("somebody said no");
    assert!(refused.contains("not those"), "{refused}");
    assert_eq!(
        program.evaluate(&page, "document.title"),
        "clicked true",
        "it is still there"
    );

    // Files of the workspace alone.
    gateway.agent.post(
        &super::turn_path(&gateway.session),
        &bash_with_id("w1", "echo content > note.txt"),
    );
    let upload = |program: &mut Driver, path: &str| {
        let expression = json!({ "expression": "document.querySelector('#f')" });
        let control = program.call(Some(&page), "Runtime.evaluate", expression);
        let object = control.expect("a control")["result"]["objectId"].take();
        let params = json!({ "objectId": object, "files": [path] });
        program.call(Some(&page), "DOM.setFileInputFiles", params)
    };
    upload(&mut program, "note.txt").expect("an upload");
    let read = "document.querySelector('#f').files[0].name";
    assert_eq!(program.evaluate(&page, read), "note.txt");
    for outside in ["/etc/passwd", "../../etc/passwd", "/proc/self/environ"] {
        let refused = upload(&mut program, outside).expect_err("it is outside");
        assert!(
            refused.contains("in the workspace") || refused.contains("upload"),
            "{refused}"
        );
    }

    // All of it is in the recording, with the verdict, before it happened.
    let intents = gateway.intents();
    let has = |wanted: &dyn Fn(&Value) -> bool| intents.iter().any(wanted);
    assert!(
        has(&|does| does["action"]["url"] == gateway.pages.url.as_str()),
        "{intents:?}"
    );
    assert!(has(&|does| does["devtools"] == "Input.dispatchMouseEvent"));
    assert!(has(&|does| does["script"]["text"] == "document.title"));
    assert!(
        !has(&|does| does["action"]["url"] == "http://denied.example/"),
        "never started"
    );

    // A model's calls go on in the same page.
    let look = json!({ "action": "screenshot" });
    let reply = gateway.agent.post(
        &super::turn_path(&gateway.session),
        &crate::sessions::response("computer", None, look),
    );
    assert!(reply.to_string().contains("/page"), "{reply}");
    drop(program);
    gateway
        .server
        .assert_closes(&gateway.agent, &gateway.session);
    gateway.server.assert_leaves_nothing();
}

#[test]
fn a_program_gets_no_further_than_its_session() {
    let gateway = GatewayFixture::new(POLICY);
    let mut program = gateway.connect();
    let page = program.attach();
    for (session, method, params) in [
        (None, "Browser.close", json!({})),
        (None, "Target.attachToBrowserTarget", json!({})),
        (
            None,
            "Target.createBrowserContext",
            json!({ "proxyServer": "http://127.0.0.1:1" }),
        ),
        (
            None,
            "Target.createTarget",
            json!({ "url": "file:///etc/passwd" }),
        ),
        (
            Some(page.as_str()),
            "Page.navigate",
            json!({ "url": "file:///etc/passwd" }),
        ),
        (
            Some(page.as_str()),
            "Page.navigate",
            json!({ "url": "chrome://settings" }),
        ),
        (Some(page.as_str()), "Fetch.enable", json!({})),
        (
            Some(page.as_str()),
            "Page.setBypassCSP",
            json!({ "enabled": true }),
        ),
        (Some("0123456789ABCDEF"), "Page.enable", json!({})),
        (
            None,
            "Target.attachToTarget",
            json!({ "targetId": "0123", "flatten": true }),
        ),
    ] {
        let refused = program.call(session, method, params).expect_err(method);
        assert!(!refused.is_empty(), "{method}");
    }
    // Scripts do not get to files either.
    let read = "fetch('file:///etc/passwd').then(() => 'read', () => 'refused')";
    let params = json!({ "expression": read, "returnByValue": true, "awaitPromise": true });
    let answer = program
        .call(Some(&page), "Runtime.evaluate", params)
        .expect("a value");
    assert_eq!(answer["result"]["value"], "refused");
    program.evaluate(&page, "void (location = 'file:///etc/passwd')");
    let here = program.evaluate(&page, "location.href");
    assert!(
        !here.as_str().unwrap_or_default().starts_with("file"),
        "{here}"
    );

    // Downloads go where those of the session go.
    let folder = gateway.server.sessions.file("stolen");
    let params = json!({ "behavior": "allow", "downloadPath": folder });
    let answered = program.call(None, "Browser.setDownloadBehavior", params);
    assert_eq!(answered, Ok(json!({})));
    program.open(&page, &gateway.pages.url);
    let save = "(() => { const a = document.createElement('a'); a.download = 'x.txt'; \
                a.href = URL.createObjectURL(new Blob(['x'])); a.click(); })()";
    program.evaluate(&page, save);
    let list = gateway.agent.post(
        &super::turn_path(&gateway.session),
        &crate::sessions::response("computer", None, json!({ "action": "screenshot" })),
    );
    assert!(
        list.to_string().contains("x.txt"),
        "the session reports its download: {list}"
    );
    assert!(!folder.exists());
    assert_eq!(
        program.evaluate(&page, "1 + 1"),
        2,
        "the browser still runs"
    );
}

#[test]
fn only_its_own_token_opens_a_session_to_a_program() {
    let gateway = GatewayFixture::new(POLICY);
    let (server, session) = (&gateway.server, &gateway.session);
    let own = format!("ws://{}/v1/sessions/{session}/cdp", server.address);
    let status =
        |url: &str, headers: &[(&str, &str)]| match Driver::connect(&server.address, url, headers)
            .map_err(|error| *error)
        {
            Ok(_) => 101,
            Err(tungstenite::Error::Http(answer)) => answer.status().as_u16(),
            Err(error) => panic!("{error}"),
        };
    let bearer = |token: &str| format!("Bearer {token}");
    assert_eq!(status(&own, &[]), 401);
    let other = bearer(&server.token("agent", "other"));
    assert_eq!(
        status(&own, &[("Authorization", &other)]),
        404,
        "another agent's session"
    );
    let viewer = bearer(&server.token("viewer", "test"));
    assert_eq!(status(&own, &[("Authorization", &viewer)]), 403);
    let token = bearer(&server.token("agent", "test"));
    assert_eq!(status(&own, &[("Authorization", &token)]), 101);
    let page = [
        ("Authorization", token.as_str()),
        ("Origin", "https://evil.example"),
    ];
    assert_eq!(status(&own, &page), 403, "a web page of somebody");
    let address = gateway.address();
    assert_eq!(status(&address, &[]), 101);
    assert_eq!(status(&address, &[("Origin", "https://evil.example")]), 403);
    let wrong = format!("{}0", &address[..address.len() - 1]);
    let wrong = if wrong == address {
        format!("{}1", &address[..address.len() - 1])
    } else {
        wrong
    };
    assert_eq!(status(&wrong, &[]), 401);
    // An address is for its session alone, whatever the token may do.
    let second = gateway.agent.open(&json!({"devices": ["shell"]}));
    let refused = gateway
        .agent
        .request("POST", &format!("/v1/sessions/{second}/cdp"), Some(""));
    assert_eq!(refused.status, 201, "{refused:?}");
    let no_browser = refused.json()["url"]
        .as_str()
        .expect("an address")
        .to_owned();
    assert_eq!(status(&no_browser, &[]), 409, "it has no browser");

    // Where clients look for the address of the socket.
    let path = address
        .split_once(server.address.as_str())
        .expect("a path")
        .1;
    let anonymous = Client::new(&server.address, "none");
    let version = anonymous.get(&format!("{path}/json/version"));
    assert_eq!(version["webSocketDebuggerUrl"], address);
    assert_eq!(version["Protocol-Version"], "1.3");

    // Without the flag there is nothing.
    let without = Server::with_flags(&["--shell"]);
    let agent = without.client("agent");
    let id = agent.open(&json!({}));
    let answer = agent.request("POST", &format!("/v1/sessions/{id}/cdp"), Some(""));
    answer.is_problem(404, "not-found");
    // No secret is in a log.
    let secret = path.rsplit('/').next().expect("a secret");
    assert!(!server.log().contains(secret));
}

#[test]
fn a_policy_that_lets_no_program_read_lets_none_in() {
    let deny = "
[[computer]]
actions = ['read_page']
verdict = 'deny'
reason = 'Nobody reads.'
";
    let gateway = GatewayFixture::new(deny);
    let refused = Driver::connect(&gateway.server.address, &gateway.address(), &[]);
    let Err(error) = refused else {
        panic!("it is connected");
    };
    let tungstenite::Error::Http(answer) = *error else {
        panic!("{error}");
    };
    let body = answer.body().clone().unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    assert!(body.contains("Nobody reads"), "{} {body}", answer.status());
}
