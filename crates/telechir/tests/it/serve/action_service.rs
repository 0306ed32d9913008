//! A session's screen as an action service, for clients that send one action at a time and no header.

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use super::cdp::{POLICY, Pages};
use super::client::{Answer, Client, Server, exchange};
use crate::sessions::{SessionFixture, response};

/// A client that knows a base URL and sends no header of its own.
struct ActionClient<'a> {
    address: &'a str,
    base: String,
}

impl ActionClient<'_> {
    fn act(&self, action: Value) -> Answer {
        let body = action.to_string();
        let (address, base, length) = (self.address, &self.base, body.len());
        let text = format!(
            "POST {base}/action HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        exchange(address, &text)
    }

    fn screenshot(&self, client: &Client) -> (String, Vec<u8>) {
        client.bytes(&format!("{}/screenshot", self.base))
    }
}

#[test]
fn a_screen_is_used_by_single_actions() {
    require(Component::Chromium);
    let pages = Pages::serve();
    let sessions = SessionFixture::new();
    std::fs::write(sessions.file("policy.toml"), POLICY).expect("a policy");
    let server = Server::in_folder(sessions, &["--browser", "--headless"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({"devices": ["browser"], "display": "640x480"}));
    let made = agent.post(&format!("/v1/sessions/{id}/computer"), "");
    let url = made["url"].as_str().expect("an address").to_owned();
    let base = url
        .split_once(&server.address)
        .expect("a path")
        .1
        .to_owned();
    let service = ActionClient {
        address: &server.address,
        base,
    };
    let anonymous = Client::new(&server.address, "none");
    let (head, bytes) = service.screenshot(&anonymous);
    assert!(
        head.contains("200 OK") && head.contains("image/png"),
        "{head}"
    );
    assert_eq!(&bytes[1..4], b"PNG");
    for action in [
        json!({ "type": "navigate", "url": pages.url }),
        json!({ "type": "click", "x": 50, "y": 220 }),
        json!({ "type": "type", "text": "typed" }),
        json!({ "type": "key", "key": "End" }),
        // A coordinate that is zero is absent.
        json!({ "type": "click", "x": 50 }),
        json!({ "type": "scroll", "direction": "down", "amount": 1 }),
        json!({ "type": "wait", "duration": 100 }),
    ] {
        let answer = service.act(action.clone());
        assert_eq!(answer.status, 200, "{action}: {answer:?}");
        assert_eq!(answer.json()["ok"], true, "{action}");
    }
    // It is the same screen that a model's calls see.
    let look = response("computer", None, json!({ "action": "screenshot" }));
    let reply = agent.post(&format!("/v1/sessions/{id}/anthropic-messages"), &look);
    assert!(reply.to_string().contains("/page#typed"), "{reply}");
    let denied = service.act(json!({ "type": "navigate", "url": "http://denied.example/" }));
    assert_eq!(denied.status, 403, "{denied:?}");
    assert!(denied.body.contains("Nobody goes there"), "{denied:?}");
    assert!(
        denied.body.contains("urn:telechir:problem:denied"),
        "{denied:?}"
    );
    for (wrong, status) in [
        (json!({ "type": "destroy" }), 422),
        (json!({ "type": "click" }), 422),
        (json!({ "type": "click", "x": 5000, "y": 10 }), 422),
        (json!({ "type": "click", "label": 4711 }), 422),
        (json!([]), 422),
    ] {
        let answer = service.act(wrong.clone());
        assert_eq!(answer.status, status, "{wrong}: {answer:?}");
        assert!(!answer.json()["detail"].is_null(), "{answer:?}");
    }
    let other = ActionClient {
        address: &server.address,
        base: format!("/computer/{}", "0".repeat(64)),
    };
    let refused = other.act(json!({ "type": "wait", "duration": 100 }));
    refused.is_problem(401, "unauthorized");
    let cdp = ActionClient {
        address: &server.address,
        base: service.base.replace("/computer/", "/cdp/"),
    };
    assert_eq!(cdp.act(json!({ "type": "screenshot" })).status, 404);
    server.assert_closes(&agent, &id);
    let gone = service.act(json!({ "type": "wait", "duration": 100 }));
    assert_eq!(gone.status, 404, "{gone:?}");
    server.assert_leaves_nothing();
}
