//! `tools` prints what `run` declares with the same devices, without starting any.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

use serde_json::Value;
use telechir_testkit::eventually::PATIENCE;
use telechir_testkit::gate::{Component, require};

use crate::telechir::{Ran, Telechir};

/// Serves one request with an error that is not tried again, and sends its body.
fn refuse_one(listener: &TcpListener, bodies: &mpsc::Sender<Value>) {
    let (stream, _) = listener.accept().expect("a request");
    let mut reader = BufReader::new(&stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let answer = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    (&stream).write_all(answer.as_bytes()).expect("an answer");
    let body = serde_json::from_slice(&body).expect("JSON");
    bodies.send(body).expect("the test waits");
}

/// The tools of the first request of a run.
fn declared_by_run(provider: &str, variable: &str, model: &str, devices: &[&str]) -> Value {
    let telechir = Telechir::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, bodies) = mpsc::channel();
    // Ends with the test's process if no request comes.
    std::thread::spawn(move || refuse_one(&listener, &sender));
    let base = match provider {
        "anthropic" => format!("http://{address}"),
        _ => format!("http://{address}/v1"),
    };
    let mut arguments = vec!["run", "task", "--provider", provider, "--model", model];
    arguments.extend(["--base-url", &base]);
    arguments.extend(devices);
    let mut command = telechir.command(&arguments);
    let ran = Ran::of(command.env(variable, "k"), "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("401"), "it asked the model: {ran:?}");
    let body = bodies.recv_timeout(PATIENCE).expect("a request");
    body["tools"].clone()
}

#[test]
fn tools_declares_what_run_declares() {
    for component in [Component::XServer, Component::Chromium, Component::Sandbox] {
        require(component);
    }
    for (provider, variable, dialect, model) in [
        (
            "anthropic",
            "ANTHROPIC_API_KEY",
            "anthropic-messages",
            "claude-sonnet-4-5",
        ),
        (
            "openai",
            "OPENAI_API_KEY",
            "openai-responses",
            "gpt-5.6-sol",
        ),
    ] {
        let devices = ["--desktop", "--shell", "--editor"];
        let by_run = declared_by_run(provider, variable, model, &devices);
        let telechir = Telechir::new();
        let mut arguments = vec!["tools", "--dialect", dialect, "--model", model];
        arguments.extend(devices);
        assert_eq!(telechir.run(&arguments, "").json()["tools"], by_run);
        assert!(by_run.to_string().contains("read_page"), "{by_run}");
        assert!(by_run.to_string().contains("focus_window"), "{by_run}");
    }
    let model = "claude-opus-5-5";
    let browser = declared_by_run(
        "anthropic",
        "ANTHROPIC_API_KEY",
        model,
        &["--browser", "--headless"],
    );
    let telechir = Telechir::new();
    let flags = [
        "tools",
        "--dialect",
        "anthropic-messages",
        "--model",
        model,
        "--browser",
    ];
    assert_eq!(telechir.run(&flags, "").json()["tools"], browser);
}
