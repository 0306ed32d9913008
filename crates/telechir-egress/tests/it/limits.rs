//! Whom it serves, how many, how long and how much.

use std::time::Duration;

use telechir_egress::{Admission, Limits};
use telechir_policy::Client;
use tokio::io::AsyncWriteExt as _;

use crate::fixture::{Proxy, Witness, next};

const LOCAL: &str = "[[network]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'The witness.'";

fn me() -> u32 {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap())
}

async fn limited(limits: Limits) -> Proxy {
    Proxy::with(LOCAL, Client::Shell, limits, Admission::Everyone).await
}

#[tokio::test]
async fn only_its_own_user_is_served() {
    let witness = Witness::page().await;
    let url = format!("http://127.0.0.1:{}/", witness.port());
    let with = async |uid| {
        let admission = Admission::User(uid);
        let proxy = Proxy::with(LOCAL, Client::Shell, Limits::default(), admission).await;
        proxy.get(&url).await
    };
    assert!(with(me()).await.ends_with("hello"));
    let answer = with(me() + 1).await;
    assert!(
        answer.starts_with("HTTP/1.1 403 ") && answer.contains("not of it"),
        "{answer}"
    );
    assert_eq!(witness.seen().len(), 1);
}

#[tokio::test]
async fn one_connection_too_many_is_refused_until_another_ends() {
    let witness = Witness::answering("").await;
    let proxy = limited(Limits {
        connections: 1,
        ..Limits::default()
    })
    .await;
    let place = format!("127.0.0.1:{}", witness.port());
    let (held, head) = proxy.tunnel(&place).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let (_, head) = proxy.tunnel(&place).await;
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    drop(held);
    let again = async {
        loop {
            let (_, head) = proxy.tunnel(&place).await;
            if head.starts_with("HTTP/1.1 200 ") {
                break;
            }
        }
    };
    tokio::time::timeout(crate::fixture::PATIENCE, again)
        .await
        .unwrap();
}

#[tokio::test]
async fn headers_that_do_not_end_are_given_up() {
    let proxy = limited(Limits {
        header: Duration::from_millis(200),
        ..Limits::default()
    })
    .await;
    let mut slow = proxy.dial().await;
    slow.write_all(b"GET http://127.0.0.1/ HTTP/1.1\r\nX: ")
        .await
        .unwrap();
    let answer = next(&mut slow).await;
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 408"),
        "{answer:?}"
    );
    let proxy = limited(Limits {
        header_bytes: 8192,
        ..Limits::default()
    })
    .await;
    let long = format!(
        "GET http://127.0.0.1/ HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(20_000)
    );
    let answer = proxy.say(&long).await;
    assert!(
        answer.starts_with("HTTP/1.1 431") || answer.starts_with("HTTP/1.1 4"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_tunnel_on_which_nothing_moves_ends() {
    let witness = Witness::answering("").await;
    let proxy = limited(Limits {
        idle: Duration::from_millis(200),
        ..Limits::default()
    })
    .await;
    let (mut stream, head) = proxy.tunnel(&format!("127.0.0.1:{}", witness.port())).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    stream.write_all(b"x").await.unwrap();
    while !next(&mut stream).await.is_empty() {}
}

#[tokio::test]
async fn a_session_moves_no_more_bytes_than_it_may() {
    let witness = Witness::page().await;
    let proxy = limited(Limits {
        bytes: 60,
        ..Limits::default()
    })
    .await;
    let url = format!("http://127.0.0.1:{}/", witness.port());
    let _the_first_may_be_cut = proxy.get(&url).await;
    let answer = proxy.get(&url).await;
    assert!(
        answer.starts_with("HTTP/1.1 503 ") && answer.contains("used up"),
        "{answer}"
    );
    assert_eq!(witness.seen().len(), 1);
}

#[tokio::test]
async fn a_host_that_is_not_there_is_said_to_be_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let proxy = limited(Limits::default()).await;
    let answer = proxy.get(&format!("http://127.0.0.1:{port}/")).await;
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains("could not connect"),
        "{answer}"
    );
}

#[tokio::test]
async fn all_ends_when_it_is_no_longer_served() {
    let witness = Witness::answering("").await;
    let proxy = limited(Limits::default()).await;
    let (mut stream, head) = proxy.tunnel(&format!("127.0.0.1:{}", witness.port())).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let address = proxy.address;
    drop(proxy);
    assert_eq!(next(&mut stream).await, b"");
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
