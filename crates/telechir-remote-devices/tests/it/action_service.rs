//! The screen of an action service against a server that answers as it is told to.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use telechir_device::{Computer, Frame, ScreenAction, Settle, Viewport};
use telechir_image::{Format, encode};
use telechir_protocol::{Action, FailureKind, Size};
use telechir_remote_devices::{ActionService, ActionServiceAddress};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const TOKEN: &str = "canary-token-51c2";
const SIZE: Size = Size::new(40, 30);

/// An answer: its status and body, or none if the connection is cut.
type Answer = Option<(u16, Vec<u8>)>;

#[derive(Default)]
struct Script {
    actions: VecDeque<Answer>,
    screenshots: VecDeque<Answer>,
    /// Method, path and body of each request.
    received: Vec<(String, Value)>,
}

#[derive(Clone, Default)]
struct Server(Arc<Mutex<Script>>);

impl Server {
    async fn start() -> (Self, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = Self::default();
        let shared = server.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = shared.clone();
                tokio::spawn(async move { server.serve(client).await });
            }
        });
        (server, address)
    }

    async fn serve(self, mut client: TcpStream) -> Option<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).ok()?;
        let lower = head.to_ascii_lowercase();
        let length = lower.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.split("\r\n").next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        client.read_exact(&mut body).await.ok()?;
        let line = head.split(" HTTP").next()?.to_owned();
        let is_allowed = head.contains(&format!("Bearer {TOKEN}"));
        let answer = {
            let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let body = serde_json::from_slice(&body).unwrap_or_default();
            script.received.push((line.clone(), body));
            match (is_allowed, line.ends_with("/canary-path/action")) {
                (false, _) => Some((401, b"{}".to_vec())),
                (true, true) => script
                    .actions
                    .pop_front()
                    .unwrap_or_else(|| Some((200, b"{}".to_vec()))),
                (true, false) => {
                    let next = script.screenshots.pop_front();
                    next.unwrap_or_else(|| Some((200, image(Format::Png))))
                }
            }
        };
        let (status, body) = answer?;
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        client.write_all(head.as_bytes()).await.ok()?;
        client.write_all(&body).await.ok()
    }

    fn actions(&self, answers: impl IntoIterator<Item = Answer>) {
        self.lock().actions.extend(answers);
    }

    fn screenshots(&self, answers: impl IntoIterator<Item = Answer>) {
        self.lock().screenshots.extend(answers);
    }

    fn performed(&self) -> Vec<Value> {
        let script = self.lock();
        let actions = script
            .received
            .iter()
            .filter(|(line, _)| line.ends_with("/action"));
        actions.map(|(_, body)| body.clone()).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn frame() -> Frame {
    let pixels = [10, 90, 200, 0].repeat(40 * 30);
    Frame::new(SIZE, pixels).expect("a frame")
}

fn image(format: Format) -> Vec<u8> {
    encode(&frame(), format).expect("an image")
}

fn json(status: u16, body: &Value) -> Answer {
    Some((status, body.to_string().into_bytes()))
}

async fn connected() -> (Server, ActionService) {
    let (server, address) = Server::start().await;
    let address = ActionServiceAddress::new(&format!("http://{address}/canary-path"), Some(TOKEN));
    let service = ActionService::connect(&address.expect("an address")).await;
    (server, service.expect("a screen"))
}

fn action(action: Value) -> ScreenAction {
    let action: Action = serde_json::from_value(action).expect("an action");
    Viewport::unscaled(SIZE)
        .action(&action)
        .expect("on the screen")
}

fn click() -> ScreenAction {
    action(json!({ "action": "left_click", "coordinate": [3, 4] }))
}

#[tokio::test]
async fn the_size_is_that_of_the_first_screenshot_in_any_form() {
    for format in Format::ALL {
        let encoded = image(format);
        let text = STANDARD.encode(&encoded);
        let with_kind = format!("data:image/png;base64,{text}");
        for body in [encoded, text.into_bytes(), with_kind.into_bytes()] {
            let (server, address) = Server::start().await;
            server.screenshots([Some((200, body))]);
            let base = format!("http://{address}/canary-path/");
            let address = ActionServiceAddress::new(&base, Some(TOKEN)).expect("an address");
            let service = ActionService::connect(&address).await.expect("a screen");
            assert_eq!(service.size(), SIZE, "{format:?}");
        }
    }
}

#[tokio::test]
async fn a_service_with_another_method_for_screenshots_is_used_so() {
    let (server, address) = Server::start().await;
    server.screenshots([Some((405, Vec::new()))]);
    let address = ActionServiceAddress::new(&format!("http://{address}/canary-path"), Some(TOKEN));
    let service = ActionService::connect(&address.expect("an address")).await;
    service.expect("a screen").capture().await.expect("a frame");
    let lines: Vec<String> = server
        .lock()
        .received
        .iter()
        .map(|(line, _)| line.clone())
        .collect();
    assert_eq!(
        lines,
        [
            "GET /canary-path/screenshot",
            "POST /canary-path/screenshot",
            "POST /canary-path/screenshot"
        ]
    );
}

#[tokio::test]
async fn an_action_is_sent_once_and_answers_with_its_text() {
    let (server, mut service) = connected().await;
    server.actions([json(200, &json!({ "ok": true, "text": "clicked" }))]);
    let report = service.perform(&click()).await.expect("a report");
    assert_eq!(report.text.as_deref(), Some("clicked"));
    assert_eq!(
        server.performed(),
        [json!({ "type": "click", "x": 3, "y": 4 })]
    );
    let settle = Settle {
        quiet: Duration::from_millis(50),
        ceiling: Duration::from_secs(30),
    };
    let (shown, settled) = service.settle_and_capture(settle).await.expect("a frame");
    assert!(settled.is_settled());
    assert_eq!(shown, frame());
}

#[tokio::test]
async fn every_answer_that_is_no_success_has_one_outcome() {
    let reason = format!("no {TOKEN} at https://h.example/secret: Cannot POST /canary-path/action");
    let problem = |status| json(status, &json!({ "detail": reason }));
    for (answer, kind, text) in [
        (problem(400), FailureKind::InvalidInput, "(400: no …"),
        (problem(401), FailureKind::Device, "ACTION_SERVICE_TOKEN"),
        (problem(403), FailureKind::InvalidInput, "(403: no …"),
        (problem(404), FailureKind::Device, "no such screen"),
        (problem(409), FailureKind::InvalidInput, "(409"),
        (problem(422), FailureKind::InvalidInput, "(422"),
        (problem(429), FailureKind::InvalidInput, "was not performed"),
        (problem(500), FailureKind::Interrupted, "unknown"),
        (problem(503), FailureKind::Interrupted, "unknown"),
        (None, FailureKind::Interrupted, "unknown"),
        (problem(302), FailureKind::InvalidInput, "redirects"),
        (
            json(200, &json!({ "ok": false, "error": reason })),
            FailureKind::InvalidInput,
            "did not perform it: no …",
        ),
        (
            json(200, &json!({ "error": { "code": "blocked" } })),
            FailureKind::InvalidInput,
            "blocked",
        ),
        (
            json(200, &json!({ "error": true })),
            FailureKind::InvalidInput,
            "did not perform it",
        ),
    ] {
        let (server, mut service) = connected().await;
        server.actions([answer.clone()]);
        let error = service.perform(&click()).await.expect_err("a failure");
        let failure = error.to_failure();
        assert_eq!(failure.kind, kind, "{answer:?}: {}", failure.message);
        assert!(failure.message.contains(text), "{}", failure.message);
        for secret in [TOKEN, "secret", "canary-path"] {
            assert!(!failure.message.contains(secret), "{}", failure.message);
        }
        assert_eq!(server.performed().len(), 1, "{answer:?}: never sent again");
        service.perform(&click()).await.expect("the next one");
    }
}

#[tokio::test]
async fn a_screenshot_is_requested_again_and_garbage_is_none() {
    let (server, mut service) = connected().await;
    server.screenshots([None, Some((503, Vec::new()))]);
    service.capture().await.expect("the third");
    for body in [
        &b"<html>busy</html>"[..],
        b"",
        b"aGVsbG8=",
        &image(Format::Png)[..60],
    ] {
        server.screenshots([Some((200, body.to_vec()))]);
        let error = service.capture().await.expect_err("no image").to_string();
        assert!(error.contains("it is gone"), "{error}");
    }
    service.capture().await.expect("a frame");
}

#[tokio::test]
async fn a_service_that_cannot_be_reached_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let address = ActionServiceAddress::new(&format!("http://{address}/canary-path"), None);
    let error = ActionService::connect(&address.expect("an address")).await;
    let error = error.expect_err("nobody").to_string();
    assert!(
        error.contains("cannot be reached") && !error.contains("/canary-path"),
        "{error}"
    );
    let error = ActionServiceAddress::new("http://h.example/secret", None).expect_err("refused");
    assert!(
        error.contains("clear text") && !error.contains("secret"),
        "{error}"
    );
}
