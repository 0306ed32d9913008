//! A proxy behind ours: it is asked for what was judged, and for nothing else.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use telechir_policy::Client;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::fixture::{Proxy, Witness};

const GOOD: &str = "
    [[network]]
    host = ['good.example', 'inner.example']
    verdict = 'allow'
    reason = 'A host of the network.'

    [[network]]
    host = ['here.example']
    address = ['loopback']
    verdict = 'allow'
    reason = 'The witness.'
";

/// Opens tunnels, all of them to one server of this machine, and notes what it was asked for.
#[derive(Debug)]
struct Beyond {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Beyond {
    async fn leading_to(server: SocketAddr, answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noting = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let noting = Arc::clone(&noting);
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.unwrap());
                    }
                    let head = String::from_utf8(head).unwrap();
                    let line = head.lines().next().unwrap().to_owned();
                    noting.lock().unwrap().push(line);
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    if answer != OPEN {
                        return;
                    }
                    let mut server = TcpStream::connect(server).await.unwrap();
                    let _either_ends = copy_bidirectional(&mut stream, &mut server).await;
                });
            }
        });
        Self {
            address,
            asked,
            task,
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Beyond {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn through(beyond: &Beyond) -> Proxy {
    let upstream = format!("http://{}", beyond.address).parse().unwrap();
    let proxy = Proxy::through(GOOD, Client::Shell, upstream).await;
    proxy.names.set("good.example", &[&["93.184.216.34"]]);
    proxy.names.set("inner.example", &[&["10.0.0.7"]]);
    proxy.names.set("here.example", &[&["127.0.0.1"]]);
    proxy
}

const OPEN: &str = "HTTP/1.1 200 Connection established\r\nVia: 1.1 beyond\r\n\r\n";

#[tokio::test]
async fn it_is_asked_for_the_address_that_was_judged() {
    let witness = Witness::page().await;
    let beyond = Beyond::leading_to(witness.address, OPEN).await;
    let proxy = through(&beyond).await;
    let answer = proxy.get("http://good.example/x").await;
    assert!(answer.ends_with("hello"), "{answer}");
    assert_eq!(beyond.asked(), ["CONNECT 93.184.216.34:80 HTTP/1.1"]);
    assert!(
        witness.seen()[0].contains("good.example"),
        "{:?}",
        witness.seen()
    );
    let (_stream, head) = proxy.tunnel("good.example:443").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(beyond.asked()[1], "CONNECT 93.184.216.34:443 HTTP/1.1");
}

#[tokio::test]
async fn what_the_policy_refuses_does_not_come_to_it() {
    let witness = Witness::page().await;
    let beyond = Beyond::leading_to(witness.address, OPEN).await;
    let proxy = through(&beyond).await;
    for place in [
        "inner.example",
        "10.0.0.7",
        "169.254.169.254",
        "other.example",
    ] {
        let answer = proxy.get(&format!("http://{place}/")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{place}: {answer}");
    }
    assert!(beyond.asked().is_empty(), "{:?}", beyond.asked());
}

#[tokio::test]
async fn what_is_of_this_machine_is_reached_from_here() {
    let witness = Witness::page().await;
    let beyond = Beyond::leading_to(witness.address, OPEN).await;
    let proxy = through(&beyond).await;
    let url = format!("http://here.example:{}/", witness.port());
    assert!(proxy.get(&url).await.ends_with("hello"));
    assert!(beyond.asked().is_empty(), "{:?}", beyond.asked());
}

#[tokio::test]
async fn one_that_refuses_is_named() {
    let witness = Witness::page().await;
    let refuses = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
    let beyond = Beyond::leading_to(witness.address, refuses).await;
    let proxy = through(&beyond).await;
    let answer = proxy.get("http://good.example/").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let named = format!(
        "the proxy http://{}: it answered HTTP/1.1 407",
        beyond.address
    );
    assert!(answer.contains(&named), "{answer}");
    assert!(witness.seen().is_empty(), "{:?}", witness.seen());
}
