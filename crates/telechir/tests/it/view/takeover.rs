//! A person takes control in the live page, acts, and gives it back.

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};
use tokio_tungstenite::tungstenite::Message;

use super::page::{PageFixture, SCREEN};
use super::stream::{Viewer, page_session};
use crate::exec::member;
use crate::serve::client::Server;
use crate::sessions::response;
use crate::telechir::Ran;

/// A page that shows one text field all over.
const FIELD: &str = "document.body.innerHTML = \
    '<textarea style=\"position:fixed;inset:0;width:100%;height:100%\"></textarea>'; 'ready'";
const BUTTON: &str = "[...document.querySelectorAll('.session section .bar button')]\
    .find((one) => /Take|Give|Waiting/.test(one.textContent))";

impl PageFixture {
    /// Opens the session's page, takes control, and clicks on the screen.
    fn take_control(&self) {
        self.show_screen();
        self.mark_button();
        self.wait("document.querySelector('#control').innerText", "Take over");
        self.click("#control");
        self.wait(
            "document.querySelector('.session').innerText",
            "You have control",
        );
        self.click(".session canvas");
    }

    fn give_back(&self) {
        self.mark_button();
        self.click("#control");
        self.wait("document.querySelector('#control').innerText", "Take over");
    }

    fn mark_button(&self) {
        self.wait(&format!("({BUTTON})?.hidden"), "false");
        self.script(&format!("({BUTTON}).id = 'control'"));
    }

    /// An action of the model on the screen that the person uses.
    fn model(&self, name: &str, input: Value) -> Ran {
        let call = member("toolu_9", "browser", name, input);
        let message = json!({"type": "message", "role": "assistant", "model": "m",
            "stop_reason": "tool_use", "content": [call]});
        self.server.sessions.exec(SCREEN, &[], &message.to_string())
    }

    fn model_script(&self, expression: &str) -> String {
        self.model("javascript_exec", json!({ "text": expression }))
            .json()
            .to_string()
    }
}

#[test]
fn a_person_acts_exactly_and_no_call_does_meanwhile() {
    let page = PageFixture::open("operator", &[]);
    page.start_screen();
    page.browse_in(SCREEN, &[], "javascript_exec", json!({ "text": FIELD }));
    page.take_control();
    page.browse(&[], "type", json!({"text": "Grüße, 世界 €5 \"{x}\""}));
    page.browse(&[], "key", json!({"text": "Enter"}));
    page.browse(&[], "key", json!({"text": "BackSpace"}));
    // Everybody sees who has control.
    let sessions = page.server.client("viewer").get("/v1/sessions");
    let sessions = sessions["sessions"].as_array().expect("sessions");
    let session = sessions.iter().find(|session| session["id"] == SCREEN);
    assert_eq!(
        session.expect("the session")["control"]["by"],
        "operator/test"
    );
    let refused = page.model_script("document.title").to_string();
    assert!(refused.contains("A person has control"), "{refused}");
    page.give_back();
    let typed = "document.querySelector('textarea').value";
    assert_eventually_blocking!(page.model_script(typed), |value| value
        .contains("Grüße, 世界 €5"));
    let value = page.model_script(typed);
    assert!(value.contains("{x}") && !value.contains("\\\\n"), "{value}");
}

#[test]
fn points_are_stale_after_a_person_acted() {
    let page = PageFixture::open("operator", &[]);
    page.start_screen();
    page.browse_in(SCREEN, &[], "javascript_exec", json!({ "text": FIELD }));
    page.take_control();
    page.give_back();
    page.wait(
        "document.querySelector('.calls').innerText",
        "gave control back",
    );
    let target = json!({"type": "coordinate", "x": 10, "y": 10});
    let click = || page.model("left_click", json!({ "target": target })).json();
    let stale = click();
    assert!(
        stale.to_string().contains("A person used the computer"),
        "{stale}"
    );
    page.model("screenshot", json!({}));
    let clicked = click();
    assert_ne!(clicked[0]["is_error"], true, "{clicked}");
}

#[test]
fn control_can_be_taken_after_a_lost_connection() {
    let page = PageFixture::open("operator", &[]);
    page.start_screen();
    page.show_screen();
    page.mark_button();
    page.wait("document.querySelector('#control').innerText", "Take over");
    // The page's sockets, and what opens them, until the connection may be there again.
    page.script(
        "window.sockets = new Set(); const send = WebSocket.prototype.send; \
         WebSocket.prototype.send = function (data) { sockets.add(this); send.call(this, data); }; \
         'ready'",
    );
    page.browse_in(SCREEN, &[], "javascript_exec", json!({ "text": FIELD }));
    page.wait("sockets.size", "1");
    page.script(
        "window.RealSocket = WebSocket; \
         window.WebSocket = class { static OPEN = 1; readyState = 3; close() {} \
             constructor() { setTimeout(() => this.onclose?.(), 10); } }; \
         sockets.forEach((socket) => socket.close()); 'closed'",
    );
    page.wait(
        "document.querySelector('.session').innerText",
        "No connection to the screen",
    );
    page.click("#control");
    // The list of sessions is read every second; it does not say that anything waits.
    page.script(
        "window.seen = 0; window.RealFetch = fetch; \
         window.fetch = (...all) => { window.seen += 1; return RealFetch(...all); }; 'counts'",
    );
    page.wait("seen >= 4", "true");
    page.wait("document.querySelector('#control').innerText", "Take over");
    page.script("window.WebSocket = RealSocket; 'back'");
    page.wait("sockets.size > 1", "true");
    page.click("#control");
    page.wait(
        "document.querySelector('.session').innerText",
        "You have control",
    );
}

#[test]
fn a_viewer_takes_no_control() {
    let page = PageFixture::open("viewer", &[]);
    page.start_screen();
    page.show_screen();
    page.wait(&format!("({BUTTON})?.hidden ?? true"), "true");
}

impl Viewer {
    pub(crate) fn send(&mut self, message: &Value) {
        let sent = self.socket.send(Message::text(message.to_string()));
        sent.expect("a message");
    }

    /// The next message about control.
    pub(crate) fn answer(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.socket.read().expect("a message") {
                return serde_json::from_str(&text).expect("JSON");
            }
        }
    }

    pub(crate) fn take(&mut self) -> Value {
        self.send(&json!("take"));
        self.answer()
    }
}

#[test]
fn control_survives_its_connection_and_any_operator_ends_it() {
    require(Component::XServer);
    let server = Server::with_flags(&["--desktop"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({"display": "640x480"}));
    let control = || agent.get(&format!("/v1/sessions/{id}"))["control"]["by"].clone();
    let mut watching = Viewer::connect(&server, &page_session(&server, "viewer"), &id);
    let refused = watching.take();
    assert!(
        refused["control_problem"]
            .as_str()
            .is_some_and(|why| why.contains("operator"))
    );

    let operator = page_session(&server, "operator");
    let mut page = Viewer::connect(&server, &operator, &id);
    let taken = page.take()["control"]["id"].clone();
    assert_eq!(control(), "operator/test");
    let input = |input: Value| json!({"input": {"control": taken, "input": input}});
    page.send(&input(json!({"move": {"x": 123, "y": 45}})));
    // The answer comes after the input was passed on.
    assert!(page.take()["control_problem"].is_string());
    // Whoever guesses has no control, and a second page cannot take it.
    let mut other = Viewer::connect(&server, &operator, &id);
    let wrong = json!({"input": {"control": "0".repeat(32), "input": {"move": {"x": 9, "y": 9}}}});
    other.send(&wrong);
    assert_eq!(other.answer(), json!({"control": {"id": null}}));
    let second = other.take();
    assert!(
        second["control_problem"]
            .as_str()
            .is_some_and(|why| why.contains("has control"))
    );

    drop(page);
    let again = Viewer::connect(&server, &operator, &id);
    assert_eq!(
        control(),
        "operator/test",
        "a lost connection gives nothing back"
    );
    drop(again);
    other.send(&json!("give"));
    assert_eq!(other.answer(), json!({"control": {"id": null}}));
    assert_eq!(control(), Value::Null);
    let pointer = response("cursor_position", Some("computer"), json!({}));
    let found = agent.post(&format!("/v1/sessions/{id}/anthropic-messages"), &pointer);
    assert!(found.to_string().contains("X=123,Y=45"), "{found}");
    // The recording says who acted, and nothing of what they did.
    let events = agent.stream(&[], &format!("/v1/sessions/{id}/events?from=1"));
    let mut events = crate::serve::events(events);
    let given = events.find(|(_, event)| event["event"] == "control_given_back");
    let given = given.expect("an event").1;
    assert_eq!(
        (&given["by"], &given["inputs"]),
        (&json!("operator/test"), &json!(1))
    );
    server.assert_closes(&agent, &id);
}

#[test]
fn a_narrow_page_reaches_the_point_that_a_person_sees() {
    let page = PageFixture::open("operator", &["--display=420x800"]);
    page.start_screen();
    let witness = "addEventListener('pointerup', ({ clientX, clientY, pointerType }) => { \
        document.title = [pointerType, clientX, clientY].join(); }); 'ready'";
    page.browse_in(SCREEN, &[], "javascript_exec", json!({ "text": witness }));
    page.take_control();
    // The screen has 600x400 pixels and is shown smaller; its middle is at 300x200 all the same.
    let shown = page.script("document.querySelector('.session canvas').clientWidth");
    let width = shown.split(|c: char| !c.is_ascii_digit());
    let width: Vec<u32> = width.filter_map(|part| part.parse().ok()).collect();
    assert!(width.iter().all(|width| *width < 420), "{shown}");
    page.give_back();
    let title = page.model_script("document.title");
    let near = |along: &str, expected: f64| {
        along
            .parse::<f64>()
            .is_ok_and(|along| (along - expected).abs() <= 2.0)
    };
    let point = title.split("mouse,").nth(1).expect("a click");
    let mut parts = point.split(|c: char| !c.is_ascii_digit() && c != '.');
    let (x, y) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    assert!(near(x, 300.0) && near(y, 200.0), "{title}");
}
