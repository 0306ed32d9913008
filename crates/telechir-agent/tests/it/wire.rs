//! Providers that misbehave below HTTP or are unreachable.

use std::time::Duration;

use telechir_agent::{Agent, AgentError, AgentSettings, ApiKey, HttpError};
use telechir_policy::Policy;
use telechir_providers::{Dialect, RequestOptions};
use telechir_runtime::Session;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Reads the head of each request and replies with these bytes; stays silent if there are none.
async fn listener(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut silent = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let _read = stream.read(&mut head).await;
            let _written = stream.write_all(answer).await;
            if answer.is_empty() {
                silent.push(stream);
            }
        }
    });
    format!("http://{address}")
}

/// The error of one attempt with this provider.
async fn error_of(base_url: String, change: impl FnOnce(&mut AgentSettings)) -> AgentError {
    let mut settings = AgentSettings::new(Dialect::AnthropicMessages, ApiKey::new("k").unwrap());
    settings.base_url = Some(base_url);
    settings.retry.attempts = 1;
    change(&mut settings);
    let mut session = Session::builder(Policy::default_policy()).build().unwrap();
    let opening = RequestOptions {
        model: "m".into(),
        task: "t".into(),
        ..RequestOptions::default()
    };
    let agent = Agent::new(settings).unwrap();
    let error = agent.run(opening, &mut session).await.unwrap_err();
    session.close().await.unwrap();
    error
}

#[tokio::test]
async fn an_unreachable_provider_is_named() {
    let error = error_of("http://127.0.0.1:9".to_owned(), |_| ()).await;
    let text = error.to_string();
    assert!(text.starts_with("reach 127.0.0.1:9:"), "{text}");
}

#[tokio::test]
async fn a_silent_provider_times_out() {
    let limit = Duration::from_millis(150);
    let error = error_of(listener(b"").await, |settings| settings.http.total = limit).await;
    assert!(
        matches!(error, AgentError::Http(HttpError::Timeout { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_truncated_response_is_a_connection_error() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"content\": [";
    let error = error_of(listener(half).await, |_| ()).await;
    assert!(
        matches!(error, AgentError::Http(HttpError::Connection { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_oversized_response_is_not_read_completely() {
    let long = b"HTTP/1.1 200 OK\r\ncontent-length: 5000000\r\n\r\n0123456789";
    let error = error_of(listener(long).await, |settings| {
        settings.http.response_bytes = 8
    })
    .await;
    let expected = matches!(
        error,
        AgentError::Http(HttpError::ResponseTooLarge { limit: 8, .. })
    );
    assert!(expected, "{error:?}");
}

#[tokio::test]
async fn an_oversized_request_is_not_sent() {
    let error = error_of(listener(b"").await, |settings| {
        settings.http.request_bytes = 40
    })
    .await;
    assert!(
        matches!(error, AgentError::Http(HttpError::RequestTooLarge { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_response_in_another_dialect_is_an_error_without_a_retry() {
    let other =
        b"HTTP/1.1 200 OK\r\ncontent-length: 33\r\n\r\n{\"object\":\"response\",\"output\":[]}";
    let error = error_of(listener(other).await, |settings| {
        settings.retry.attempts = 5
    })
    .await;
    assert!(matches!(error, AgentError::Decode(_)), "{error:?}");
}
