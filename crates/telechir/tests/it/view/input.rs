//! What a person enters in the page arrives exactly: touch, input methods, dead keys, layouts, paste and
//! the wheel, as Chromium's own input pipeline makes them, at a witness page in the session.

use std::net::TcpStream;
use std::process::Child;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

use super::ticket;
use crate::attached::start_chromium;
use crate::exec::member;
use crate::serve::client::Server;

/// The session with the witness.
const WITNESS: &str = "witness";
/// For the session whose page is looked at by scripts.
const POLICY: &str = "
[[computer]]
actions = ['javascript']
verdict = 'allow'
reason = 'A test.'
";
/// Notes the input that arrives, and has a text field all over.
const SCRIPT: &str = "
document.body.innerHTML = '<textarea style=\"position:fixed;inset:0;width:100%;height:100%\"></textarea>';
window.seen = [];
const keep = (name, part) => addEventListener(name, (event) => seen.push([name, ...part(event)]), true);
const at = (event) => [event.clientX, event.clientY];
for (const name of ['pointerdown', 'pointerup']) {
  keep(name, (event) => [event.button, event.ctrlKey, event.shiftKey, ...at(event)]);
}
keep('wheel', (event) => [event.deltaX, event.deltaY]);
addEventListener('contextmenu', (event) => event.preventDefault());
'ready'";

/// A Chromium in which a person has the live page open.
struct PersonsBrowser {
    chromium: Child,
    socket: WebSocket<TcpStream>,
    target: Option<String>,
    commands: u64,
    _profile: tempfile::TempDir,
}

impl PersonsBrowser {
    fn open(url: &str) -> Self {
        let flags = ["--headless=new", "--window-size=1400,1000", "--lang=en"];
        let (chromium, address, profile) = start_chromium(&flags);
        let host = address
            .strip_prefix("ws://")
            .and_then(|rest| rest.split('/').next());
        let stream = TcpStream::connect(host.expect("a host")).expect("a connection");
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).expect("a timeout");
        let (socket, _) = client(address.as_str(), stream).expect("an upgrade");
        let mut browser = Self {
            chromium,
            socket,
            target: None,
            commands: 0,
            _profile: profile,
        };
        let created = browser.command("Target.createTarget", json!({ "url": url }));
        let attach = json!({"targetId": created["targetId"], "flatten": true});
        let attached = browser.command("Target.attachToTarget", attach);
        browser.target = attached["sessionId"].as_str().map(str::to_owned);
        browser
    }

    /// A command of the Chrome DevTools Protocol and its result.
    fn command(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    fn answer(&mut self, method: &str, params: Value) -> Value {
        self.commands += 1;
        let mut message = json!({"id": self.commands, "method": method, "params": params});
        if let Some(target) = &self.target {
            message["sessionId"] = json!(target);
        }
        let sent = self.socket.send(Message::text(message.to_string()));
        sent.expect("a command");
        loop {
            let Message::Text(text) = self.socket.read().expect("a message") else {
                continue;
            };
            let answer: Value = serde_json::from_str(&text).expect("JSON");
            if answer["id"] == self.commands {
                return answer;
            }
        }
    }

    /// The value of an expression; null while the page has no document.
    fn script(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.answer("Runtime.evaluate", params);
        answer["result"]["result"]["value"].clone()
    }

    #[track_caller]
    fn wait(&mut self, expression: &str) {
        assert_eventually_blocking!(self.script(expression), |value| *value == json!(true));
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64), more: Value) {
        let mut params = json!({"type": kind, "x": x, "y": y});
        merge(&mut params, more);
        self.command("Input.dispatchMouseEvent", params);
    }

    fn key(&mut self, kind: &str, more: Value) {
        let mut params = json!({ "type": kind });
        merge(&mut params, more);
        self.command("Input.dispatchKeyEvent", params);
    }

    /// A key that a layout gives this text.
    fn types(&mut self, key: &str, code: &str) {
        self.key("keyDown", json!({"key": key, "code": code, "text": key}));
        self.key("keyUp", json!({"key": key, "code": code}));
    }
}

impl Drop for PersonsBrowser {
    fn drop(&mut self) {
        let _over_already = self.chromium.kill();
        let _over_already = self.chromium.wait();
    }
}

fn merge(params: &mut Value, more: Value) {
    let (Value::Object(params), Value::Object(more)) = (params, more) else {
        return;
    };
    params.extend(more);
}

/// A session with the witness, and the page in which a person has control of it.
struct InputFixture {
    server: Server,
    browser: PersonsBrowser,
    /// Where the screen is on the person's page, and how large its pixels are there.
    screen: (f64, f64, f64),
}

impl InputFixture {
    fn open(display: &str, more: &[&str]) -> Self {
        require(Component::Chromium);
        let server = Server::of_shells();
        let policy = server.sessions.file("witness.toml");
        std::fs::write(&policy, POLICY).expect("a policy");
        let policy = format!("--policy={}", policy.display());
        let flags = [&["--browser", display, &policy], more].concat();
        run_script(&server, &flags, SCRIPT);
        let ticket = ticket(&server.client("operator"));
        let url = format!(
            "http://{}/#ticket={ticket}&session={WITNESS}",
            server.address
        );
        let browser = PersonsBrowser::open(&url);
        let screen = (0.0, 0.0, 1.0);
        let mut fixture = Self {
            server,
            browser,
            screen,
        };
        fixture.take_control();
        fixture
    }

    fn take_control(&mut self) {
        let browser = &mut self.browser;
        let button = "[...document.querySelectorAll('button')]\
                      .find((one) => one.textContent === 'Take over' && !one.hidden)";
        browser.wait(&format!("Boolean({button})"));
        browser.wait("document.querySelector('.session canvas')?.hidden === false");
        // The page takes this from a script, but no input.
        browser.script(&format!("{button}.click()"));
        browser.wait("document.querySelector('canvas').classList.contains('controlled')");
        let area = "(() => { const shown = document.querySelector('.session canvas'); \
            const box = shown.getBoundingClientRect(); return [box.x + shown.clientLeft, \
            box.y + shown.clientTop, shown.clientWidth / shown.width]; })()";
        let area = browser.script(area);
        let number = |at: usize| area[at].as_f64().expect("a number");
        self.screen = (number(0), number(1), number(2));
    }

    /// The point of a pixel of the screen on the person's page.
    fn point(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let (left, top, scale) = self.screen;
        (left + (x + 0.5) * scale, top + (y + 0.5) * scale)
    }

    fn give_back(&mut self) {
        let button = "[...document.querySelectorAll('button')]\
                      .find((one) => one.textContent === 'Give back')";
        self.browser.script(&format!("{button}.click()"));
        self.browser
            .wait("!document.querySelector('canvas').classList.contains('controlled')");
    }

    /// Touches the screen along a path.
    fn touch(&mut self, path: &[(f64, f64)]) {
        for (index, at) in path.iter().enumerate() {
            let (x, y) = self.point(*at);
            let kind = match index {
                0 => "touchStart",
                _ => "touchMove",
            };
            let touch = json!({"type": kind, "touchPoints": [{"x": x, "y": y}]});
            self.browser.command("Input.dispatchTouchEvent", touch);
        }
        let end = json!({"type": "touchEnd", "touchPoints": []});
        self.browser.command("Input.dispatchTouchEvent", end);
    }

    /// What the witness saw.
    fn seen(&self) -> Vec<Value> {
        let seen = run_script(&self.server, &[], "JSON.stringify(seen)");
        serde_json::from_str(&seen).expect("events")
    }

    fn text(&self) -> String {
        let value = "JSON.stringify(document.querySelector('textarea').value)";
        serde_json::from_str(&run_script(&self.server, &[], value)).expect("a string")
    }
}

/// The text of an expression's value in the witness page.
fn run_script(server: &Server, flags: &[&str], expression: &str) -> String {
    let input = json!({ "text": expression });
    let call = member("toolu_1", "browser", "javascript_exec", input);
    let message = json!({"type": "message", "role": "assistant", "model": "m",
        "stop_reason": "tool_use", "content": [call]});
    let reply = server
        .sessions
        .exec(WITNESS, flags, &message.to_string())
        .json();
    assert_ne!(reply[0]["is_error"], true, "{reply}");
    let blocks = reply[0]["content"].as_array().into_iter().flatten();
    let text = blocks.filter_map(|block| block["text"].as_str());
    text.collect()
}

#[test]
fn text_arrives_as_layouts_dead_keys_input_methods_and_the_clipboard_make_it() {
    let mut page = InputFixture::open("--display=600x400", &["--headless"]);
    let middle = page.point((300.0, 200.0));
    let browser = &mut page.browser;
    for kind in ["mousePressed", "mouseReleased"] {
        browser.mouse(kind, middle, json!({"button": "left", "clickCount": 1}));
    }
    // Layouts: the key's text counts, wherever the key is.
    for (key, code) in [
        ("я", "KeyZ"),
        ("q", "KeyA"),
        ("€", "KeyE"),
        ("ß", "Minus"),
        (" ", "Space"),
    ] {
        browser.types(key, code);
    }
    // A dead key, and what it makes of the next one.
    browser.key("rawKeyDown", json!({"key": "Dead", "code": "Quote"}));
    browser.key("keyUp", json!({"key": "Dead", "code": "Quote"}));
    browser.types("é", "KeyE");
    // An input method: what is composed arrives once, when it is finished.
    for (text, at) in [("k", 1), ("か", 1), ("かん", 2), ("かんじ", 3), ("漢字", 2)] {
        let process = json!({"key": "Process", "code": "KeyK", "windowsVirtualKeyCode": 229});
        browser.key("rawKeyDown", process);
        let composed = json!({"text": text, "selectionStart": at, "selectionEnd": at});
        browser.command("Input.imeSetComposition", composed);
    }
    browser.command("Input.insertText", json!({"text": "漢字"}));
    // One that is given up leaves nothing.
    let composed = json!({"text": "か", "selectionStart": 1, "selectionEnd": 1});
    browser.command("Input.imeSetComposition", composed);
    let none = json!({"text": "", "selectionStart": 0, "selectionEnd": 0});
    browser.command("Input.imeSetComposition", none);
    // As from a list of emoji or a handwriting field.
    browser.command("Input.insertText", json!({"text": "👩‍🚀"}));
    // The clipboard.
    let origin = format!("http://{}", page.server.address);
    let browser = &mut page.browser;
    let permissions =
        json!({"origin": origin, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    browser.command("Browser.grantPermissions", permissions);
    let pasted = "Zeile 1 <b>&amp;\nZeile 2 \u{5e9}\u{5dc}\u{5d5}\u{5dd} \\ \"x\"";
    browser.script(&format!("navigator.clipboard.writeText({})", json!(pasted)));
    let paste = json!({"key": "v", "code": "KeyV", "modifiers": 2, "commands": ["paste"]});
    browser.key("rawKeyDown", paste);
    // A shortcut on a layout without Latin letters is that of its key.
    browser.key(
        "rawKeyDown",
        json!({"key": "Home", "code": "Home", "modifiers": 2}),
    );
    browser.key(
        "rawKeyDown",
        json!({"key": "ArrowRight", "code": "ArrowRight", "modifiers": 8}),
    );
    browser.key(
        "rawKeyDown",
        json!({"key": "ч", "code": "KeyX", "modifiers": 2}),
    );
    page.give_back();
    assert_eq!(page.text(), format!("q€ß é漢字👩‍🚀{pasted}"));
}

#[test]
fn pointers_touch_and_the_wheel_arrive_where_they_are() {
    check_pointer(&["--headless"]);
}

#[test]
fn a_browser_with_a_window_gets_what_a_person_does() {
    require(Component::XServer);
    check_pointer(&[]);
}

/// Clicks, drags, touches and turns the wheel, and compares what the witness sees.
fn check_pointer(flags: &[&str]) {
    let mut page = InputFixture::open("--display=600x400", flags);
    // Button and modifiers, of which 2 is Control and 8 Shift.
    for (x, y, button, modifiers) in [
        (100.0, 90.0, "left", 0),
        (500.0, 300.0, "left", 2),
        (200.0, 110.0, "right", 0),
        (20.0, 130.0, "middle", 8),
    ] {
        let at = page.point((x, y));
        let more = json!({"button": button, "clickCount": 1, "modifiers": modifiers});
        page.browser.mouse("mousePressed", at, more.clone());
        page.browser.mouse("mouseReleased", at, more);
    }
    page.touch(&[(40.0, 150.0)]);
    page.touch(&[(60.0, 120.0), (160.0, 170.0), (260.0, 270.0)]);
    let at = page.point((250.0, 150.0));
    let turns = [(0, 100), (0, -300), (200, 0), (0, 7)];
    for (dx, dy) in turns {
        let turn = json!({"deltaX": dx, "deltaY": dy});
        page.browser.mouse("mouseWheel", at, turn);
    }
    page.give_back();
    let seen = page.seen();
    // The bars of a window are above its page.
    let bars = 90 - seen[0][5].as_i64().expect("a number");
    let press = |name: &str, button: u32, ctrl: bool, shift: bool, x: i64, y: i64| {
        json!([name, button, ctrl, shift, x, y - bars])
    };
    let mut expected = Vec::new();
    for (button, ctrl, shift, x, y) in [
        (0, false, false, 100, 90),
        (0, true, false, 500, 300),
        (2, false, false, 200, 110),
        (1, false, true, 20, 130),
        (0, false, false, 40, 150),
    ] {
        expected.push(press("pointerdown", button, ctrl, shift, x, y));
        expected.push(press("pointerup", button, ctrl, shift, x, y));
    }
    expected.push(press("pointerdown", 0, false, false, 60, 120));
    expected.push(press("pointerup", 0, false, false, 260, 270));
    expected.extend(turns.map(|(dx, dy)| json!(["wheel", dx, dy])));
    assert_eq!(seen, expected);
}
