//! Limits on users, connections, time and bytes.

use std::time::Duration;

use telechir_egress::{Admission, ProxyLimits};
use telechir_policy::NetworkClient;
use telechir_testkit::closed_port::ClosedPort;
use tokio::io::AsyncWriteExt as _;

use crate::fixture::{Proxy, Witness, next};

const LOCAL: &str = "[[network]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'The witness.'";

fn me() -> u32 {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap())
}

async fn limited(limits: ProxyLimits) -> Proxy {
    Proxy::with(LOCAL, NetworkClient::Shell, limits, Admission::Everyone).await
}

#[tokio::test]
async fn only_the_configured_user_is_served() {
    let witness = Witness::page().await;
    let url = format!("http://127.0.0.1:{}/", witness.port());
    let with = async |uid| {
        let admission = Admission::User(uid);
        let proxy = Proxy::with(
            LOCAL,
            NetworkClient::Shell,
            ProxyLimits::default(),
            admission,
        )
        .await;
        proxy.get(&url).await
    };
    assert!(with(me()).await.ends_with("hello"));
    let answer = with(me() + 1).await;
    assert!(
        answer.starts_with("HTTP/1.1 403 ") && answer.contains("does not belong to it"),
        "{answer}"
    );
    assert_eq!(witness.seen().len(), 1);
}

#[tokio::test]
async fn connections_beyond_the_limit_are_refused_until_one_ends() {
    let witness = Witness::answering("").await;
    let proxy = limited(ProxyLimits {
        max_connections: 1,
        ..ProxyLimits::default()
    })
    .await;
    let target = format!("127.0.0.1:{}", witness.port());
    let (occupied, head) = proxy.tunnel(&target).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let (_, head) = proxy.tunnel(&target).await;
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    drop(occupied);
    let retry = async {
        loop {
            let (_, head) = proxy.tunnel(&target).await;
            if head.starts_with("HTTP/1.1 200 ") {
                break;
            }
        }
    };
    tokio::time::timeout(crate::fixture::MAX_WAIT, retry)
        .await
        .unwrap();
}

#[tokio::test]
async fn slow_and_oversized_headers_are_refused() {
    let proxy = limited(ProxyLimits {
        header_timeout: Duration::from_millis(200),
        ..ProxyLimits::default()
    })
    .await;
    let mut slow = proxy.dial().await;
    // The time may be over before this is written.
    let _closed = slow
        .write_all(b"GET http://127.0.0.1/ HTTP/1.1\r\nX: ")
        .await;
    let answer = next(&mut slow).await;
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"),
        "{answer:?}"
    );
    let proxy = limited(ProxyLimits {
        max_header_bytes: 8192,
        ..ProxyLimits::default()
    })
    .await;
    let long = format!(
        "GET http://127.0.0.1/ HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(20_000)
    );
    let answer = proxy.send(&long).await;
    assert!(
        answer.starts_with("HTTP/1.1 431") || answer.starts_with("HTTP/1.1 4"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn an_idle_tunnel_is_closed() {
    let witness = Witness::answering("").await;
    let proxy = limited(ProxyLimits {
        idle_timeout: Duration::from_millis(200),
        ..ProxyLimits::default()
    })
    .await;
    let (mut stream, head) = proxy.tunnel(&format!("127.0.0.1:{}", witness.port())).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    // The tunnel may be closed already.
    let _closed = stream.write_all(b"x").await;
    while !next(&mut stream).await.is_empty() {}
}

#[tokio::test]
async fn the_byte_limit_of_a_session_is_enforced() {
    let witness = Witness::page().await;
    let proxy = limited(ProxyLimits {
        max_total_bytes: 60,
        ..ProxyLimits::default()
    })
    .await;
    let url = format!("http://127.0.0.1:{}/", witness.port());
    let _the_first_may_be_cut = proxy.get(&url).await;
    let answer = proxy.get(&url).await;
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.contains("limit of 60 bytes is exceeded"),
        "{answer}"
    );
    assert_eq!(witness.seen().len(), 1);
}

#[tokio::test]
async fn an_unreachable_host_is_reported() {
    let closed = ClosedPort::new().unwrap();
    let proxy = limited(ProxyLimits::default()).await;
    let answer = proxy.get(&format!("http://{}/", closed.address())).await;
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains("failed to connect"),
        "{answer}"
    );
}

#[tokio::test]
async fn dropping_the_handle_closes_all_connections() {
    let witness = Witness::answering("").await;
    let proxy = limited(ProxyLimits::default()).await;
    let (mut stream, head) = proxy.tunnel(&format!("127.0.0.1:{}", witness.port())).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let address = proxy.address;
    drop(proxy);
    assert_eq!(next(&mut stream).await, b"");
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
