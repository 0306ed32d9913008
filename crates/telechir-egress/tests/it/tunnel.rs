//! Tunnels: forwarded without terminating TLS, after checking the SNI.

use telechir_policy::NetworkClient;
use tokio::io::AsyncWriteExt as _;

use crate::fixture::{Proxy, Witness, hello_with, next, server_name};

const GOOD: &str = "
    [[network]]
    host = ['good.example', '127.0.0.1']
    address = ['loopback']
    verdict = 'allow'
    reason = 'The witness.'
";

/// A minimal ClientHello with this name.
fn client_hello(name: &str) -> Vec<u8> {
    hello_with(&[server_name(name)])
}

async fn proxied() -> (Witness, Proxy, String) {
    let witness = Witness::answering("").await;
    let proxy = Proxy::new(GOOD, NetworkClient::Shell).await;
    proxy.names.set("good.example", &[&["127.0.0.1"]]);
    let target = format!("good.example:{}", witness.port());
    (witness, proxy, target)
}

#[tokio::test]
async fn a_tunnel_with_matching_sni_is_forwarded() {
    let (witness, proxy, target) = proxied().await;
    let (mut stream, head) = proxy.tunnel(&target).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let hello = client_hello("GOOD.example");
    let (first, second) = hello.split_at(20);
    stream.write_all(first).await.unwrap();
    stream.flush().await.unwrap();
    stream.write_all(second).await.unwrap();
    stream.write_all(b"more").await.unwrap();
    // The witness reads the ClientHello and echoes what follows.
    let seen = loop {
        if let Some(seen) = witness.seen().first() {
            break seen.clone();
        }
        tokio::task::yield_now().await;
    };
    assert!(seen.contains("GOOD.example"), "{seen:?}");
    stream.write_all(b"ping").await.unwrap();
    assert!(!next(&mut stream).await.is_empty());
}

#[tokio::test]
async fn a_tunnel_with_another_sni_is_closed_before_a_byte_is_sent() {
    let (witness, proxy, target) = proxied().await;
    let (mut stream, head) = proxy.tunnel(&target).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream
        .write_all(&client_hello("evil.example"))
        .await
        .unwrap();
    assert_eq!(next(&mut stream).await, b"", "the proxy closes it");
    assert!(
        witness.seen().iter().all(String::is_empty),
        "{:?}",
        witness.seen()
    );
    let last = proxy.decisions().pop().unwrap();
    assert!(
        !last.passed && last.reason.contains("evil.example"),
        "{last}"
    );
}

#[tokio::test]
async fn a_tunnel_to_an_ip_address_must_not_have_an_sni() {
    let (_witness, proxy, _) = proxied().await;
    let (mut stream, head) = proxy
        .tunnel(&format!("127.0.0.1:{}", _witness.port()))
        .await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream
        .write_all(&client_hello("good.example"))
        .await
        .unwrap();
    assert_eq!(next(&mut stream).await, b"");
}

#[tokio::test]
async fn data_of_a_host_that_sends_first_is_forwarded() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"SSH-2.0-x\r\n").await.unwrap();
        next(&mut stream).await
    });
    let proxy = Proxy::new(GOOD, NetworkClient::Shell).await;
    let (mut stream, _) = proxy.tunnel(&format!("127.0.0.1:{port}")).await;
    assert_eq!(next(&mut stream).await, b"SSH-2.0-x\r\n");
    stream.write_all(b"SSH-2.0-y\r\n").await.unwrap();
    assert_eq!(server.await.unwrap(), b"SSH-2.0-y\r\n");
}

#[tokio::test]
async fn large_transfers_are_complete() {
    let (_witness, proxy, target) = proxied().await;
    let (stream, _) = proxy.tunnel(&target).await;
    let (mut reading, mut writing) = stream.into_split();
    const SIZE: usize = 4 << 20;
    let sent = tokio::spawn(async move {
        writing
            .write_all(&client_hello("good.example"))
            .await
            .unwrap();
        // The witness keeps its first read and echoes the rest.
        writing.write_all(&vec![b'x'; SIZE]).await.unwrap();
        writing.shutdown().await.unwrap();
    });
    let mut count = 0;
    let mut bytes = vec![0; 64 << 10];
    loop {
        match tokio::io::AsyncReadExt::read(&mut reading, &mut bytes)
            .await
            .unwrap()
        {
            0 => break,
            read => count += read,
        }
    }
    sent.await.unwrap();
    assert!(count > SIZE - 8192 && count <= SIZE, "{count}");
}
