//! An upstream proxy gets only judged addresses.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use telechir_policy::NetworkClient;
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

/// Opens tunnels, all to one server of this machine, and records its requests.
#[derive(Debug)]
struct UpstreamStub {
    address: SocketAddr,
    queried: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl UpstreamStub {
    async fn forwarding_to(server: SocketAddr, answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let queried: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&queried);
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let log = Arc::clone(&log);
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await.unwrap());
                    }
                    let head = String::from_utf8(head).unwrap();
                    let line = head.lines().next().unwrap().to_owned();
                    log.lock().unwrap().push(line);
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
            queried,
            task,
        }
    }

    fn queried(&self) -> Vec<String> {
        self.queried.lock().unwrap().clone()
    }
}

impl Drop for UpstreamStub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn with_upstream(upstream: &UpstreamStub) -> Proxy {
    let upstream = format!("http://{}", upstream.address).parse().unwrap();
    let proxy = Proxy::with_upstream(GOOD, NetworkClient::Shell, upstream).await;
    proxy.names.set("good.example", &[&["93.184.216.34"]]);
    proxy.names.set("inner.example", &[&["10.0.0.7"]]);
    proxy.names.set("here.example", &[&["127.0.0.1"]]);
    proxy
}

const OPEN: &str = "HTTP/1.1 200 Connection established\r\nVia: 1.1 beyond\r\n\r\n";

#[tokio::test]
async fn it_gets_the_judged_address() {
    let witness = Witness::page().await;
    let upstream = UpstreamStub::forwarding_to(witness.address, OPEN).await;
    let proxy = with_upstream(&upstream).await;
    let answer = proxy.get("http://good.example/x").await;
    assert!(answer.ends_with("hello"), "{answer}");
    assert_eq!(upstream.queried(), ["CONNECT 93.184.216.34:80 HTTP/1.1"]);
    assert!(
        witness.seen()[0].contains("good.example"),
        "{:?}",
        witness.seen()
    );
    let (_stream, head) = proxy.tunnel("good.example:443").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(upstream.queried()[1], "CONNECT 93.184.216.34:443 HTTP/1.1");
}

#[tokio::test]
async fn refused_requests_are_not_forwarded() {
    let witness = Witness::page().await;
    let upstream = UpstreamStub::forwarding_to(witness.address, OPEN).await;
    let proxy = with_upstream(&upstream).await;
    for target in [
        "inner.example",
        "10.0.0.7",
        "169.254.169.254",
        "other.example",
    ] {
        let answer = proxy.get(&format!("http://{target}/")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{target}: {answer}");
    }
    assert!(upstream.queried().is_empty(), "{:?}", upstream.queried());
}

#[tokio::test]
async fn addresses_of_this_machine_are_reached_directly() {
    let witness = Witness::page().await;
    let upstream = UpstreamStub::forwarding_to(witness.address, OPEN).await;
    let proxy = with_upstream(&upstream).await;
    let url = format!("http://here.example:{}/", witness.port());
    assert!(proxy.get(&url).await.ends_with("hello"));
    assert!(upstream.queried().is_empty(), "{:?}", upstream.queried());
}

#[tokio::test]
async fn a_refusing_upstream_proxy_is_named() {
    let witness = Witness::page().await;
    let refuses = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
    let upstream = UpstreamStub::forwarding_to(witness.address, refuses).await;
    let proxy = with_upstream(&upstream).await;
    let answer = proxy.get("http://good.example/").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let named = format!(
        "the proxy http://{}: it responded HTTP/1.1 407",
        upstream.address
    );
    assert!(answer.contains(&named), "{answer}");
    assert!(witness.seen().is_empty(), "{:?}", witness.seen());
}
