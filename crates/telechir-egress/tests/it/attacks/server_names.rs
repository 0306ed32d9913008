//! A tunnel to a permitted name must not reach another server behind the same address.

use std::time::Duration;

use telechir_policy::NetworkClient;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::fixture::{Proxy, Witness, hello_with, next, server_name};

const RULES: &str = "
    [[network]]
    host = ['good.example', '127.0.0.1']
    address = ['loopback']
    verdict = 'allow'
    reason = 'The witness.'

    [[url]]
    host = ['good.example']
    address = ['loopback']
    verdict = 'allow'
    reason = 'The witness.'

    [[network]]
    host = ['any.example']
    address = ['loopback']
    tunnel = 'any'
    verdict = 'allow'
    reason = 'Other protocols.'
";

/// The extension for an encrypted ClientHello, and for GREASE.
fn encrypted_hello() -> Vec<u8> {
    [&[0xfe, 0x0d, 0, 8][..], &[0; 8]].concat()
}

async fn proxy(client: NetworkClient) -> Proxy {
    let proxy = Proxy::new(RULES, client).await;
    for name in ["good.example", "any.example"] {
        proxy.names.set(name, &[&["127.0.0.1"]]);
    }
    proxy
}

/// Sends `first` through a tunnel to `host` and ends the sending side; returns what the witness
/// received.
async fn received(client: NetworkClient, host: &str, first: &[u8]) -> (Vec<String>, Proxy) {
    let (witness, proxy) = (Witness::answering("").await, proxy(client).await);
    let (mut stream, head) = proxy.tunnel(&format!("{host}:{}", witness.port())).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let _closed_early = stream.write_all(first).await;
    let _closed_early = stream.shutdown().await;
    // Everything was sent and read when the connection ends.
    let _cut_off = stream.read_to_end(&mut Vec::new()).await;
    let seen = witness.seen();
    (
        seen.into_iter().filter(|text| !text.is_empty()).collect(),
        proxy,
    )
}

#[track_caller]
fn assert_refused(seen: &[String], proxy: &Proxy, expected: &str) {
    assert_eq!(seen, [""; 0]);
    let last = proxy.decisions().pop().unwrap();
    assert!(!last.passed && last.reason.contains(expected), "{last}");
}

#[tokio::test]
async fn a_greeting_over_the_limit_is_refused() {
    let padding = [&[0, 21, 0xff, 0x00][..], &[0; 0xff00]].concat();
    let mut hello = hello_with(&[]);
    // One record cannot hold it; its first part suffices.
    hello.extend(padding);
    hello[3..5].copy_from_slice(&[0x40, 0]);
    hello[6..9].copy_from_slice(&[0, 0xff, 0xff]);
    let (seen, proxy) = received(NetworkClient::Shell, "good.example", &hello).await;
    assert_refused(&seen, &proxy, "too long");
}

#[tokio::test]
async fn an_incomplete_greeting_is_not_forwarded_at_its_end() {
    let hello = hello_with(&[server_name("good.example")]);
    let (seen, proxy) = received(NetworkClient::Shell, "good.example", &hello[..40]).await;
    assert_refused(&seen, &proxy, "incomplete");
}

#[tokio::test]
async fn what_names_no_server_is_refused() {
    for first in [
        hello_with(&[]),
        hello_with(&[server_name("good.example"), server_name("evil.example")]),
        b"SSH-2.0-x\r\n".to_vec(),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    ] {
        let (seen, proxy) = received(NetworkClient::Shell, "good.example", &first).await;
        assert_refused(&seen, &proxy, "tunnel = \"any\"");
    }
}

#[tokio::test]
async fn an_http_request_for_another_host_is_refused() {
    let request = b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    let (seen, proxy) = received(NetworkClient::Shell, "good.example", request).await;
    assert_refused(&seen, &proxy, "evil.example");
}

#[tokio::test]
async fn an_encrypted_name_of_a_program_is_refused() {
    let hello = hello_with(&[server_name("good.example"), encrypted_hello()]);
    for client in [NetworkClient::Shell, NetworkClient::Desktop] {
        let (seen, proxy) = received(client, "good.example", &hello).await;
        assert_refused(&seen, &proxy, "ECH");
    }
}

#[tokio::test]
async fn a_host_that_stops_sending_does_not_skip_the_check() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.shutdown().await.unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await.unwrap();
        received
    });
    let proxy = proxy(NetworkClient::Shell).await;
    let (mut stream, _) = proxy.tunnel(&format!("good.example:{port}")).await;
    assert_eq!(next(&mut stream).await, b"", "the host sends no more");
    stream.write_all(b"SSH-2.0-x\r\n").await.unwrap();
    stream.shutdown().await.unwrap();
    let received = tokio::time::timeout(Duration::from_secs(20), server);
    assert_eq!(received.await.unwrap().unwrap(), b"");
}

#[tokio::test]
async fn ordinary_tls_and_web_sockets_pass() {
    let hello = hello_with(&[server_name("good.example")]);
    let socket = b"GET /x HTTP/1.1\r\nHost: good.example:80\r\nUpgrade: websocket\r\n\r\n";
    for first in [&hello[..], socket] {
        let (seen, _proxy) = received(NetworkClient::Shell, "good.example", first).await;
        assert_eq!(seen, [String::from_utf8_lossy(first)]);
    }
    // Chromium's headless shell cannot leave out the decoy of an encrypted name.
    let decoy = hello_with(&[encrypted_hello(), server_name("good.example")]);
    let (seen, _proxy) = received(NetworkClient::Browser, "good.example", &decoy).await;
    assert_eq!(seen, [String::from_utf8_lossy(&decoy)]);
}

#[tokio::test]
async fn a_rule_allows_other_tunnels_but_not_another_name() {
    for first in [
        hello_with(&[]),
        hello_with(&[server_name("any.example"), encrypted_hello()]),
        b"SSH-2.0-x\r\n".to_vec(),
    ] {
        let (seen, _proxy) = received(NetworkClient::Shell, "any.example", &first).await;
        assert_eq!(seen, [String::from_utf8_lossy(&first)]);
    }
    let other = hello_with(&[server_name("good.example")]);
    let (seen, proxy) = received(NetworkClient::Shell, "any.example", &other).await;
    assert_refused(&seen, &proxy, "good.example");
}
