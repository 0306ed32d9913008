//! A session's screen as an action service, for clients that send one action at a time and no header.

use serde_json::{Value, json};
use telechir_testkit::gate::{Component, require};

use super::cdp::{POLICY, Pages};
use super::client::{Answer, Client, Server, exchange};
use crate::exec::{anthropic, member};
use crate::passwords::holding;
use crate::sessions::{SessionFixture, response};
use crate::telechir::{Ran, image_size};

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

/// Rules for the screen of an action service, which is somebody's.
const OF_SOMEBODY: &str = "
[[url]]
host = ['127.0.0.1']
verdict = 'allow'
reason = 'The pages of the test.'

[[computer]]
display = 'existing'
verdict = 'allow'
reason = 'A test.'
";

#[test]
fn the_screen_of_a_server_is_the_device_of_another_command() {
    require(Component::Chromium);
    let pages = Pages::serve();
    let sessions = SessionFixture::new();
    std::fs::write(sessions.file("policy.toml"), POLICY).expect("a policy");
    std::fs::write(sessions.file("somebody.toml"), OF_SOMEBODY).expect("a policy");
    let server = Server::in_folder(sessions, &["--browser", "--headless"]);
    let agent = server.client("agent");
    let id = agent.open(&json!({"devices": ["browser"], "display": "640x480"}));
    let made = agent.post(&format!("/v1/sessions/{id}/computer"), "");
    let url = made["url"].as_str().expect("an address");
    let secret = url.rsplit('/').next().expect("a secret");
    let with_header = made["url_with_header"].as_str().expect("an address");
    let policy = format!(
        "--policy={}",
        server.sessions.file("somebody.toml").display()
    );
    let record = server.sessions.file("record");
    let record = format!("--record={}", record.display());
    let page = format!("--browser={}", pages.url);
    let exec = ["exec", "--dialect", "anthropic-messages", "-vv", &page];
    let input = anthropic(&[
        member(
            "t1",
            "computer",
            "left_click",
            json!({ "coordinate": [50, 220] }),
        ),
        member("t2", "computer", "type", json!({ "text": "typed" })),
        member("t3", "computer", "key", json!({ "text": "End" })),
        member(
            "t4",
            "computer",
            "left_click",
            json!({ "coordinate": [50, 0] }),
        ),
        member("t5", "computer", "screenshot", json!({})),
        member(
            "t6",
            "computer",
            "right_click",
            json!({ "coordinate": [5, 5] }),
        ),
    ]);
    // By an address that is a secret, in a variable.
    let arguments = [&exec[..], &["--remote=action", &policy, &record]].concat();
    let mut command = server.sessions.command(&arguments);
    let ran = Ran::of(command.env("ACTION_SERVICE_URL", url), &input);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answers = ran.json();
    for answer in &answers.as_array().expect("answers")[..5] {
        assert_ne!(answer["is_error"], true, "{answers}");
    }
    let contents = answers[4]["content"].as_array().into_iter().flatten();
    let mut images = contents.filter_map(|content| content["source"]["data"].as_str());
    let image = images
        .next()
        .unwrap_or_else(|| panic!("no image: {answers}"));
    assert_eq!(image_size(image), (640, 480));
    assert_eq!(answers[5]["is_error"], true, "{answers}");
    assert!(
        answers[5].to_string().contains("left button only"),
        "{answers}"
    );
    // It is the screen of the other session, where the policy of the server counts, too.
    let look = response("computer", None, json!({ "action": "screenshot" }));
    let reply = agent.post(&format!("/v1/sessions/{id}/anthropic-messages"), &look);
    assert!(reply.to_string().contains("/page#typed"), "{reply}");
    assert!(!(ran.stdout + &ran.stderr).contains(secret));
    let (mut found, mut count) = (Vec::new(), 0);
    holding(
        &server.sessions.file("record"),
        secret.as_bytes(),
        &mut found,
        &mut count,
    );
    assert_eq!(found, Vec::<String>::new());
    assert!(count > 0, "nothing was recorded");
    // By an address that is none, and the token in a variable.
    let remote = format!("--remote=action:{with_header}");
    let arguments = [&exec[..4], &["--browser", &remote, &policy]].concat();
    let click = anthropic(&[member(
        "t1",
        "computer",
        "left_click",
        json!({ "coordinate": [5, 5] }),
    )]);
    let mut command = server.sessions.command(&arguments);
    let token = server.token("agent", "test");
    let ran = Ran::of(command.env("ACTION_SERVICE_TOKEN", token), &click);
    assert_ne!(ran.json()[0]["is_error"], true, "{ran:?}");
    let wrong = Ran::of(&mut server.sessions.command(&arguments), &click);
    wrong.fails(1, &["ACTION_SERVICE_TOKEN"]);
    // Without a rule it asks, as for every screen of somebody's.
    let unruled = [&exec[..4], &["--browser", "--remote=action"]].concat();
    let mut command = server.sessions.command(&unruled);
    let denied = Ran::of(command.env("ACTION_SERVICE_URL", url), &click);
    assert!(denied.stdout.contains("is_error"), "{denied:?}");
    for (flags, text) in [
        (&["--remote=action", "--locale=de"][..], "--locale"),
        (
            &["--remote=action", "--remote-context=c"],
            "--remote-context",
        ),
        (&["--remote=action"], "ACTION_SERVICE_URL is not set"),
    ] {
        let arguments = [&exec[..4], &["--browser"], flags].concat();
        let mut command = server.sessions.command(&arguments);
        if !text.contains("not set") {
            command.env("ACTION_SERVICE_URL", url);
        }
        Ran::of(&mut command, &click).fails(2, &[text]);
    }
    let in_clear_text = [
        &exec[..4],
        &["--browser", "--remote=action:http://h.example/x"],
    ]
    .concat();
    let ran = Ran::of(&mut server.sessions.command(&in_clear_text), &click);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("clear text"), "{ran:?}");
    server.assert_closes(&agent, &id);
    server.assert_leaves_nothing();
}
