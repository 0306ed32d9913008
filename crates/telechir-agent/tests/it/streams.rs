//! Runs whose responses are streamed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use telechir_agent::{Agent, AgentError, AgentSettings, ApiKey, EndReason, RetryRule, RunReport};
use telechir_providers::{Dialect, ImageLimit, StreamError};
use telechir_runtime::{Session, SessionEvent};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::run::{TestOutcome, TestRun, WORD, opening, policy};
use crate::{anthropic, bedrock, functions, google, openai};

const DIALECTS: [&str; 11] = [
    "anthropic-messages",
    "bedrock-converse",
    "bedrock-invoke",
    "bedrock-messages",
    "functions",
    "functions-inline",
    "google-generate-content",
    "google-interactions",
    "mistral-chat",
    "mistral-conversations",
    "openai-responses",
];

/// A text, and a command, in the dialect's form.
fn turn(dialect: &str, text: &str, command: Option<(&str, &str)>) -> Value {
    let shell = |command: &str| json!({"command": command});
    match dialect {
        "anthropic-messages" | "bedrock-invoke" | "bedrock-messages" => {
            let mut blocks = vec![anthropic::text(text)];
            blocks.extend(command.map(|(id, command)| anthropic::bash(id, command)));
            blocks.into()
        }
        "bedrock-converse" => {
            let mut blocks = vec![bedrock::text(text)];
            blocks.extend(command.map(|(id, command)| bedrock::bash(id, command)));
            blocks.into()
        }
        "openai-responses" => {
            let phase = match command {
                Some(_) => "commentary",
                None => "final_answer",
            };
            let mut items = vec![openai::message(phase, text)];
            items.extend(command.map(|(id, command)| openai::shell(id, json!([command]))));
            items.into()
        }
        "google-generate-content" | "google-interactions" => {
            let mut parts = vec![google::text(dialect, text)];
            parts.extend(
                command
                    .into_iter()
                    .flat_map(|(id, command)| google::call(dialect, id, "shell", shell(command))),
            );
            parts.into()
        }
        _ => {
            let calls: Vec<_> = command
                .into_iter()
                .map(|(id, command)| (id, "shell", shell(command)))
                .collect();
            functions::content(dialect, text, &calls)
        }
    }
}

fn run(dialect: &str) -> TestRun {
    TestRun::new(
        dialect,
        json!([
            {"say": turn(dialect, "I look – at once.", Some(("aaaaaaaa1", "show one")))},
            {"take": [{"name": "word", "call": "aaaaaaaa1", "after": "the word is ", "until": "."}],
                "say": turn(dialect, "Again.", Some(("aaaaaaaa2", "show {{word}}")))},
            {"expect": [{"call": "aaaaaaaa2", "contains": "ran show {{word}}"}],
                "say": turn(dialect, "Done with {{word}}.", None)},
        ]),
    )
}

fn messages(outcome: &TestOutcome) -> Vec<&str> {
    let messages = outcome.events.iter().filter_map(|event| {
        let SessionEvent::AssistantMessage { text } = event else {
            return None;
        };
        Some(text.as_str())
    });
    messages.collect()
}

#[tokio::test]
async fn a_streamed_run_is_the_same_with_every_provider() {
    for dialect in DIALECTS {
        let plain = run(dialect).execute().await;
        let streamed = TestRun {
            is_streamed: true,
            ..run(dialect)
        };
        let streamed = streamed.execute().await;
        assert_eq!(streamed.report.rejections, [], "{dialect}");
        assert_eq!(streamed.report.streamed, 3, "{dialect}");
        assert_eq!(plain.report.streamed, 0, "{dialect}");
        assert_eq!(plain.streamed_text, "", "{dialect}");
        assert_eq!(streamed.actions, plain.actions, "{dialect}");
        assert_eq!(messages(&streamed), messages(&plain), "{dialect}");
        assert_eq!(
            streamed.streamed_text,
            messages(&plain).concat(),
            "{dialect}"
        );
        assert_eq!(streamed.actions, ["show one", &format!("show {WORD}")]);
        let (streamed, plain) = (streamed.clean(), plain.clean());
        assert_eq!(streamed.reason, EndReason::Done, "{dialect}");
        assert_eq!(
            (streamed.text, streamed.steps),
            (plain.text, plain.steps),
            "{dialect}"
        );
        let counted = streamed.usage.output_token_count;
        assert_eq!(counted, plain.usage.output_token_count, "{dialect}");
        assert!(counted.is_some_and(|count| count > 0), "{dialect}");
    }
}

/// What a server does after a request.
enum ServerStep {
    Send(String),
    /// Waits until the text that was sent is shown.
    AwaitText(String),
    /// Closes the connection, complete or not.
    Close,
}

/// The outcome of a run with a server of these steps, one list for each request.
struct Streamed {
    ended: Result<RunReport, AgentError>,
    text: String,
    retries: usize,
}

fn sse(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect()
}

fn started() -> Value {
    json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
        "model": "m", "content": [], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}}})
}

fn text_start() -> Value {
    json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
}

fn delta(text: &str) -> Value {
    json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
}

fn end() -> [Value; 3] {
    [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}),
        json!({"type": "message_stop"}),
    ]
}

async fn streamed(requests: Vec<Vec<ServerStep>>, secrets: Vec<String>) -> Streamed {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let text = Arc::new(Mutex::new(String::new()));
    let changed = Arc::new(Notify::new());
    let (shown, notify) = (Arc::clone(&text), Arc::clone(&changed));
    let server = tokio::spawn(async move {
        for steps in requests {
            let (mut client, _) = listener.accept().await.unwrap();
            read_request(&mut client).await;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
            client.write_all(head.as_bytes()).await.unwrap();
            for step in steps {
                match step {
                    ServerStep::Send(body) => {
                        let chunk = format!("{:x}\r\n{body}\r\n", body.len());
                        client.write_all(chunk.as_bytes()).await.unwrap();
                    }
                    ServerStep::AwaitText(expected) => {
                        while *shown.lock().unwrap() != expected {
                            notify.notified().await;
                        }
                    }
                    ServerStep::Close => client.write_all(b"0\r\n\r\n").await.unwrap(),
                }
            }
        }
    });
    let dialect = Dialect::AnthropicMessages;
    let mut settings = AgentSettings::new(dialect, ApiKey::new(&"k".repeat(100)).unwrap());
    settings.base_url = Some(format!("http://{address}"));
    settings.secrets = secrets;
    settings.retry = RetryRule {
        attempts: 2,
        first_wait: Duration::ZERO,
        ..RetryRule::default()
    };
    let receiver = Arc::clone(&text);
    let agent = Agent::new(settings).unwrap().stream_text_to(move |piece| {
        receiver.lock().unwrap().push_str(piece);
        changed.notify_one();
    });
    let mut session = Session::builder(policy()).build().unwrap();
    let mut events = session.subscribe();
    let options = opening(dialect, "claude-opus-5-5", ImageLimit::default());
    let ended = agent.run(options, &mut session).await;
    session.close().await.unwrap();
    server.abort();
    let mut retries = 0;
    while let Some(event) = events.next().await {
        retries += usize::from(matches!(*event, SessionEvent::Retrying { .. }));
    }
    let text = text.lock().unwrap().clone();
    Streamed {
        ended,
        text,
        retries,
    }
}

/// Reads a request to the end of its body.
async fn read_request(client: &mut tokio::net::TcpStream) {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                assert!(body.contains("\"stream\":true"), "{body}");
                return;
            }
        }
        assert!(client.read_buf(&mut bytes).await.unwrap() > 0);
    }
}

#[tokio::test]
async fn text_is_given_on_before_the_response_is_complete() {
    let steps = vec![
        ServerStep::Send(sse(&[started(), text_start(), delta("First ")])),
        ServerStep::AwaitText("First ".to_owned()),
        ServerStep::Send(sse(&[delta("second.")])),
        ServerStep::AwaitText("First second.".to_owned()),
        ServerStep::Send(sse(&end())),
        ServerStep::Close,
    ];
    let outcome = streamed(vec![steps], Vec::new()).await;
    assert_eq!(outcome.ended.unwrap().text, "First second.");
    assert_eq!(outcome.text, "First second.");
}

#[tokio::test]
async fn a_secret_is_not_shown_however_it_is_cut() {
    let steps = vec![
        ServerStep::Send(sse(&[started(), text_start(), delta("The key is swor")])),
        ServerStep::Send(sse(&[delta("dfish-12"), delta("34, I think.")])),
        ServerStep::Send(sse(&end())),
        ServerStep::Close,
    ];
    let outcome = streamed(vec![steps], vec!["swordfish-1234".to_owned()]).await;
    assert_eq!(outcome.text, "The key is (hidden), I think.");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_requested_again() {
    let started_only = || ServerStep::Send(sse(&[started(), text_start(), delta("Half")]));
    let complete = || {
        let events = [&[started(), text_start(), delta("Whole.")][..], &end()].concat();
        vec![ServerStep::Send(sse(&events)), ServerStep::Close]
    };
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    for broken in [
        // The connection ends.
        vec![started_only()],
        // The body ends.
        vec![started_only(), ServerStep::Close],
        // The provider says that it failed.
        vec![
            started_only(),
            ServerStep::Send(sse(&[overloaded])),
            ServerStep::Close,
        ],
        vec![
            started_only(),
            ServerStep::Send("data: {\"type\n\n".to_owned()),
            ServerStep::Close,
        ],
    ] {
        let outcome = streamed(vec![broken, complete()], Vec::new()).await;
        assert_eq!(outcome.retries, 1);
        assert_eq!(outcome.ended.unwrap().text, "Whole.");
        assert_eq!(outcome.text, "HalfWhole.");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_every_time_is_an_error() {
    let broken = || vec![ServerStep::Send(sse(&[started()])), ServerStep::Close];
    let outcome = streamed(vec![broken(), broken()], Vec::new()).await;
    let Err(AgentError::GaveUp { last, .. }) = outcome.ended else {
        panic!("{:?}", outcome.ended);
    };
    assert!(matches!(
        *last,
        AgentError::Stream(StreamError::Truncated { .. })
    ));
}

#[tokio::test]
async fn a_service_without_streams_answers_with_a_document() {
    let document = json!({"id": "m", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "At once."}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 2}});
    let steps = vec![ServerStep::Send(document.to_string()), ServerStep::Close];
    let outcome = streamed(vec![steps], Vec::new()).await;
    assert_eq!(outcome.ended.unwrap().text, "At once.");
    assert_eq!(outcome.text, "");
}
