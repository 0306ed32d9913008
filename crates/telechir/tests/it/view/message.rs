//! The message that the model of a run is writing, as people see it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::OpenedPage;
use super::accessibility::assert_passes;
use super::page::PageFixture;
use crate::telechir::Telechir;

const FIRST: &str = "Now I <b>look</b> at \u{202e}it";
const REST: &str = " and find nothing.";
const FLAGS: [&str; 4] = ["--provider", "anthropic", "--model", "claude-opus-5-5"];

/// A model that writes a part of its message, and the rest when the test lets it.
struct WritingModel {
    base_url: String,
    goes_on: Sender<()>,
}

impl WritingModel {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (goes_on, waits) = channel();
        thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a request");
            // A run that failed is gone.
            let _client_gone = write_message(stream, &waits);
        });
        let base_url = format!("http://{address}");
        Self { base_url, goes_on }
    }
}

fn write_message(stream: TcpStream, waits: &Receiver<()>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        let header = line.trim().to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    reader.read_exact(&mut vec![0; length])?;
    let stream = reader.get_mut();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    )?;
    let mut send = |event: Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        write!(stream, "event: {kind}\ndata: {event}\n\n")
    };
    let text = |text: &str| {
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text}})
    };
    send(json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 3, "output_tokens": 1}}}))?;
    send(json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "text", "text": ""}}))?;
    send(text(FIRST))?;
    let _test_ended = waits.recv();
    send(text(REST))?;
    send(json!({"type": "content_block_stop", "index": 0}))?;
    send(json!({"type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": null},
        "usage": {"output_tokens": 2}}))?;
    send(json!({"type": "message_stop"}))
}

#[test]
fn a_page_shows_what_the_model_of_a_session_is_writing() {
    let fixture = PageFixture::open("viewer", &[]);
    let (id, model) = (&fixture.id, WritingModel::start());
    let text = "document.querySelector('.call .running')?.textContent";
    fixture.script(&format!("location.hash = '#/sessions/{id}'"));
    let run = ["run", "Look.", "--session", id, "--stream=always"];
    let run = [&run[..], &FLAGS, &["--base-url", &model.base_url]].concat();
    let mut run = fixture.server.sessions.command(&run);
    run.env("ANTHROPIC_API_KEY", "sk-test-0123456789");
    run.stdin(Stdio::null());
    let mut run = run.spawn().expect("the binary starts");
    // What is no text would be an element, and what is hidden is visible.
    fixture.wait(text, "Now I <b>look</b> at U+202Eit");
    assert_eq!(
        fixture.script("document.querySelectorAll('.call b').length"),
        "0"
    );
    assert_passes(&fixture);
    model.goes_on.send(()).expect("the model waits");
    assert_eq!(run.wait().expect("its end").code(), Some(0));
    let calls = "document.querySelector('.calls').textContent";
    fixture.wait(calls, "U+202Eit and find nothing.");
    fixture.wait(&format!("String({text})"), "undefined");
    let path = format!("/v1/sessions/{id}/message");
    let after = fixture.agent.get(&path);
    assert_eq!(
        (&after["text"], &after["is_writing"]),
        (&json!(""), &json!(false))
    );
}

#[test]
fn the_page_of_a_run_shows_what_its_model_is_writing() {
    require(Component::Sandbox);
    let (telechir, model) = (Telechir::new(), WritingModel::start());
    let run = ["run", "Look.", "--view", "--shell"];
    let run = [&run[..], &FLAGS, &["--base-url", &model.base_url]].concat();
    let mut run = telechir.command(&run);
    run.env("ANTHROPIC_API_KEY", "sk-test-0123456789");
    let mut run = run.spawn().expect("the binary starts");
    let stderr = BufReader::new(run.stderr.take().expect("a pipe"));
    let mut lines = stderr.lines().map(|line| line.expect("a line"));
    let line = lines.find(|line| line.contains("live page"));
    let line = line.expect("an address");
    let mut words = line.split(' ');
    let url = words.find_map(|word| word.strip_suffix(';').filter(|url| url.starts_with("http")));
    let page = OpenedPage::of(url.expect("an address"));
    let path = format!("/v1/sessions/run-{}/message", run.id());
    assert_eventually_blocking!(page.get(&path).json(), |message| message["text"] == FIRST);
    model.goes_on.send(()).expect("the model waits");
    for _rest in lines {}
    assert_eq!(run.wait().expect("its end").code(), Some(0));
    telechir.assert_nothing_left();
}
