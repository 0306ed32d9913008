//! `translate --envelope` from the command line; its requests pass the checks of the recorded model.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Map, Value, json};
use telechir_testkit::provider::{ModelServer, Provider, Script, ServedPage};

use crate::telechir::{Ran, Telechir};

/// One request of each dialect.
const REQUESTS: &str = include_str!("../../../telechir-providers/tests/it/envelope/requests.json");

fn requests() -> Vec<(String, Value)> {
    let all: Map<String, Value> = serde_json::from_str(REQUESTS).expect("JSON of requests");
    all.into_iter().collect()
}

fn translate(from: &str, to: &str, document: &Value, more: &[&str]) -> Ran {
    let mut arguments = vec!["translate", "--from", from, "--to", to, "--envelope"];
    arguments.extend(more);
    Telechir::new().run(&arguments, &document.to_string())
}

fn lines(ran: &Ran) -> Vec<Value> {
    let lines = ran.stderr.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The dialects with a service, the model of each, and the path of its requests.
const SERVICES: [(&str, Provider, &str, &str); 11] = [
    (
        "anthropic-messages",
        Provider::Anthropic,
        "claude-opus-5-5",
        "/v1/messages",
    ),
    (
        "openai-responses",
        Provider::Openai,
        "gpt-5.6-sol",
        "/v1/responses",
    ),
    (
        "bedrock-converse",
        Provider::Converse,
        "anthropic.claude-sonnet-5",
        "",
    ),
    (
        "bedrock-messages",
        Provider::BedrockMessages,
        "anthropic.claude-opus-5-5",
        "/anthropic/v1/messages",
    ),
    (
        "bedrock-invoke",
        Provider::BedrockInvoke,
        "anthropic.claude-sonnet-5",
        "",
    ),
    (
        "google-generate-content",
        Provider::Google,
        "gemini-3.5-flash",
        "/v1beta",
    ),
    (
        "google-interactions",
        Provider::GoogleSteps,
        "gemini-3.5-flash",
        "/v1beta/interactions",
    ),
    (
        "functions",
        Provider::Functions,
        "local",
        "/v1/chat/completions",
    ),
    (
        "functions-inline",
        Provider::FunctionsInline,
        "local",
        "/v1/chat/completions",
    ),
    (
        "mistral-chat",
        Provider::MistralChat,
        "mistral-large-latest",
        "/v1/chat/completions",
    ),
    (
        "mistral-conversations",
        Provider::MistralConversations,
        "mistral-large-latest",
        "/v1/conversations",
    ),
];

#[test]
fn the_recorded_model_accepts_every_translated_request() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut problems = Vec::new();
    for (from, mut request) in requests() {
        without_hosted_tools(&mut request);
        for (to, provider, model, path) in SERVICES.into_iter().filter(|(to, ..)| *to != from) {
            let ran = translate(&from, to, &request, &["--model", model]);
            assert_eq!(ran.code, Some(0), "{from} to {to}: {}", ran.stderr);
            let server = runtime
                .block_on(ModelServer::start(
                    one_turn(provider),
                    ServedPage::default(),
                    Vec::new(),
                ))
                .expect("a server");
            post(&server, path, &ran);
            // The server knows no response that the translated calls could come from.
            let rejections = server.report().rejections.into_iter();
            for rejection in rejections.filter(|one| !one.message.starts_with("recorded model:")) {
                problems.push(format!("{from} to {to}: {}", rejection.message));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The server does not know the tools that a provider executes.
fn without_hosted_tools(request: &mut Value) {
    let tools = request.get_mut("tools").and_then(Value::as_array_mut);
    if let Some(tools) = tools {
        tools.retain(|tool| {
            let text = tool.to_string();
            !["web_search", "google_search", "codeExecution"]
                .iter()
                .any(|name| text.contains(name))
        });
    }
}

/// A script with one answer.
fn one_turn(provider: Provider) -> Script {
    let mut script = Script::from_json(
        r#"{"dialect": "openai-responses", "turns": [{"say": [{"type": "message", "role": "assistant", "content": []}]}]}"#,
    )
    .expect("a script");
    script.provider = provider;
    script
}

/// Sends a translated request with its headers; the answer does not matter.
fn post(server: &ModelServer, path: &str, ran: &Ran) {
    let line = lines(ran)
        .into_iter()
        .find(|line| line.get("what").is_none());
    let line = line.unwrap_or_default();
    let path = match line["path"].as_str() {
        Some(own) => format!("{path}{own}"),
        None => path.to_owned(),
    };
    // The recorded model does not stream.
    let path = path
        .replace(":streamGenerateContent?alt=sse", ":generateContent")
        .replace("/converse-stream", "/converse")
        .replace("/invoke-with-response-stream", "/invoke");
    let mut body = ran.json();
    body.as_object_mut()
        .expect("a request")
        .shift_remove("stream");
    let body = body.to_string();
    let keys = match path.contains("/model/") || path.starts_with("/anthropic/") {
        true => "authorization: Bearer k",
        false => "x-api-key: k\r\nx-goog-api-key: k\r\nauthorization: Bearer k",
    };
    let mut headers: Map<String, Value> = line["headers"].as_object().cloned().unwrap_or_default();
    headers
        .entry("anthropic-version")
        .or_insert_with(|| json!("2026-10-21"));
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}\r\n", value.as_str().unwrap_or_default()))
        .collect();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: model\r\ncontent-type: application/json\r\n{keys}\r\n\
         {headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
}

#[test]
fn strict_counts_what_the_target_lacks() {
    let request = json!({"model": "m", "max_tokens": 9, "stop_sequences": ["END"],
        "messages": [{"role": "user", "content": "Hi"}]});
    let map = ["--model-map", "m=gpt-5.6-sol", "--strict"];
    let refused = translate("anthropic-messages", "openai-responses", &request, &map);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert_eq!(refused.stdout, "");
    assert_eq!(lines(&refused)[0]["where"], "/stop_sequences");
    let accepted = translate("anthropic-messages", "functions", &request, &map);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    assert_eq!(accepted.json()["model"], "gpt-5.6-sol");
    assert_eq!(accepted.json()["stop"], json!(["END"]));
}

#[test]
fn without_envelope_its_members_are_one_line_and_no_loss() {
    let request = json!({"model": "m", "max_output_tokens": 9, "temperature": 0.5, "store": false,
        "metadata": {"a": "b"}, "input": [{"role": "user", "content": "Hi"}]});
    for to in [
        "anthropic-messages",
        "google-generate-content",
        "functions",
        "mistral-conversations",
    ] {
        let arguments = [
            "translate",
            "--from",
            "openai-responses",
            "--to",
            to,
            "--strict",
        ];
        let ran = Telechir::new().run(&arguments, &request.to_string());
        assert_eq!(ran.code, Some(0), "{to}: {}", ran.stderr);
        let lines = lines(&ran);
        assert_eq!(lines.len(), 1, "{to}: {}", ran.stderr);
        let what = lines[0]["what"].as_str().expect("a text");
        assert!(
            what.contains("`temperature`") && what.contains("`metadata`"),
            "{what}"
        );
    }
}

#[test]
fn models_are_mapped_by_a_file_and_by_arguments() {
    let telechir = Telechir::new();
    let file = telechir.folder().join("models.json");
    std::fs::write(&file, r#"{"m": "from-file", "n": "other"}"#).expect("a file");
    let file = file.to_string_lossy();
    let request = json!({"model": "m", "input": "Hi"}).to_string();
    let base = [
        "translate",
        "--from",
        "openai-responses",
        "--to",
        "functions",
        "--envelope",
    ];
    let mapped = |more: &[&str]| {
        let arguments: Vec<&str> = base.iter().chain(more).copied().collect();
        telechir.run(&arguments, &request)
    };
    let by_file = mapped(&["--model-map-file", &file]);
    assert_eq!(by_file.json()["model"], "from-file");
    let both = mapped(&["--model-map-file", &file, "--model-map", "m=from-argument"]);
    assert_eq!(both.json()["model"], "from-argument");
    assert_eq!(mapped(&["--model-map", "m"]).code, Some(2));
    std::fs::write(telechir.folder().join("models.json"), "[]").expect("a file");
    let broken = mapped(&["--model-map-file", &file]);
    assert_eq!(broken.code, Some(1));
    assert!(
        broken.stderr.contains("failed to read the model map"),
        "{}",
        broken.stderr
    );
}

#[test]
fn a_stream_becomes_the_other_providers_while_it_arrives() {
    let chunk = |delta: &Value, finish: &Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let chunk = json!({"id": "c1", "object": "chat.completion.chunk", "created": 1,
            "model": "local", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let none = Value::Null;
    let first = chunk(&json!({"role": "assistant", "content": "Good"}), &none);
    let rest = chunk(&json!({"content": " day"}), &none)
        + &chunk(&json!({}), &json!("stop"))
        + "data: [DONE]\n\n";
    let telechir = Telechir::new();
    let arguments = [
        "translate",
        "--from",
        "functions",
        "--to",
        "anthropic-messages",
        "--stream",
    ];
    let mut child = telechir.command(&arguments).spawn().expect("the binary");
    let mut stdin = child.stdin.take().expect("its input");
    let mut stdout = child.stdout.take().expect("its output");
    stdin.write_all(first.as_bytes()).expect("the first event");
    // The text arrives although the stream has not ended.
    let mut received = String::new();
    while !received.contains("\"Good\"") {
        let mut piece = [0; 4096];
        let read = stdout.read(&mut piece).expect("output");
        assert!(read > 0, "the output ended: {received}");
        received.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    stdin.write_all(rest.as_bytes()).expect("the other events");
    drop(stdin);
    stdout.read_to_string(&mut received).expect("the rest");
    assert_eq!(child.wait().expect("an exit").code(), Some(0));
    let decode = ["decode", "--dialect", "anthropic-messages", "--stream"];
    let decoded = telechir.run(&decode, &received);
    let last = decoded.stdout.lines().last().expect("a turn").to_owned();
    let turn: Value = serde_json::from_str(&last).expect("JSON");
    assert_eq!(turn["contents"][0]["text"], "Good day");
}
