//! A server that records requests, a resolver with changing results, and a proxy between them.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use telechir_egress::{
    Admission, ConnectionDecision, Egress, ProxyLimits, Resolve, ResolveFuture, Serving, Upstream,
};
use telechir_policy::{NetworkClient, Policy};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Time limit of each wait, for a loaded machine.
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(20);

/// A resolver with one list of addresses for each query of a name; the last list stays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    table: Arc<Mutex<HashMap<String, Vec<Vec<IpAddr>>>>>,
    queried: Arc<Mutex<Vec<String>>>,
}

impl Names {
    pub(crate) fn set(&self, name: &str, answers: &[&[&str]]) {
        let parse = |list: &&[&str]| {
            list.iter()
                .map(|address| address.parse().unwrap())
                .collect()
        };
        let answers = answers.iter().map(parse).collect();
        self.table.lock().unwrap().insert(name.to_owned(), answers);
    }

    pub(crate) fn queried(&self) -> Vec<String> {
        self.queried.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
        self.queried.lock().unwrap().push(host.to_owned());
        let mut table = self.table.lock().unwrap();
        let answer = table.get_mut(host).and_then(|answers| match answers.len() {
            0 | 1 => answers.first().cloned(),
            _ => Some(answers.remove(0)),
        });
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such host")) })
    }
}

/// A loopback server that records the first bytes of each connection and responds with a fixed
/// text.
#[derive(Debug)]
pub(crate) struct Witness {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Witness {
    pub(crate) async fn answering(answer: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (log, answer) = (Arc::clone(&seen), answer.to_owned());
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (log, answer) = (Arc::clone(&log), answer.clone());
                tokio::spawn(async move {
                    let mut bytes = vec![0; 4096];
                    let count = stream.read(&mut bytes).await.unwrap_or(0);
                    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                    log.lock().unwrap().push(text);
                    let _gone = stream.write_all(answer.as_bytes()).await;
                    // Echoes everything that follows.
                    while let Ok(count @ 1..) = stream.read(&mut bytes).await {
                        if stream.write_all(&bytes[..count]).await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Self {
            address,
            seen,
            task,
        }
    }

    pub(crate) async fn page() -> Self {
        Self::answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
            .await
    }

    /// The recorded text of each connection.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A proxy with a policy.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) egress: Egress,
    pub(crate) names: Names,
    pub(crate) address: SocketAddr,
    decisions: Arc<Mutex<Vec<ConnectionDecision>>>,
    _serving: Serving,
}

impl Proxy {
    pub(crate) async fn new(policy: &str, client: NetworkClient) -> Self {
        Self::with(policy, client, ProxyLimits::default(), Admission::Everyone).await
    }

    /// A proxy with an upstream proxy.
    pub(crate) async fn with_upstream(
        policy: &str,
        client: NetworkClient,
        upstream: Upstream,
    ) -> Self {
        let mut proxy = Self::new(policy, client).await;
        proxy.egress = proxy.egress.clone().via_proxy(upstream);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        proxy.address = listener.local_addr().unwrap();
        proxy._serving = proxy.egress.serve(listener, Admission::Everyone);
        proxy
    }

    pub(crate) async fn with(
        policy: &str,
        client: NetworkClient,
        limits: ProxyLimits,
        admission: Admission,
    ) -> Self {
        let policy = Policy::from_toml(policy, "test").unwrap();
        let (names, decisions) = (Names::default(), Arc::new(Mutex::new(Vec::new())));
        let recorder = Arc::clone(&decisions);
        let egress = Egress::new(policy.gate(client))
            .with_resolver(names.clone())
            .with_limits(limits)
            .on_decision(move |decision| recorder.lock().unwrap().push(decision));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _serving = egress.serve(listener, admission);
        Self {
            egress,
            names,
            address,
            decisions,
            _serving,
        }
    }

    pub(crate) fn decisions(&self) -> Vec<ConnectionDecision> {
        self.decisions.lock().unwrap().clone()
    }

    pub(crate) async fn dial(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a request; returns the complete response, until the proxy closes the connection.
    pub(crate) async fn send(&self, request: &str) -> String {
        let mut stream = self.dial().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _cut_off = timeout(MAX_WAIT, stream.read_to_end(&mut answer))
            .await
            .unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) async fn get(&self, url: &str) -> String {
        let request =
            format!("GET {url} HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n");
        self.send(&request).await
    }

    /// Opens a tunnel; returns the stream and the response headers.
    pub(crate) async fn tunnel(&self, target: &str) -> (TcpStream, String) {
        let mut stream = self.dial().await;
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let byte = timeout(MAX_WAIT, stream.read_u8()).await.unwrap();
            match byte {
                Ok(byte) => head.push(byte),
                Err(_) => break,
            }
        }
        (stream, String::from_utf8_lossy(&head).into_owned())
    }
}

/// Reads the next bytes.
pub(crate) async fn next(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    let count = timeout(MAX_WAIT, stream.read(&mut bytes))
        .await
        .unwrap()
        .unwrap_or(0);
    bytes.truncate(count);
    bytes
}

fn sized(body: &[u8]) -> Vec<u8> {
    [&u16::try_from(body.len()).unwrap().to_be_bytes(), body].concat()
}

/// The extension with this server name.
pub(crate) fn server_name(name: &str) -> Vec<u8> {
    let entry = [&[0][..], &sized(name.as_bytes())].concat();
    [&[0, 0][..], &sized(&sized(&entry))].concat()
}

/// A ClientHello with these extensions.
pub(crate) fn hello_with(extensions: &[Vec<u8>]) -> Vec<u8> {
    let extensions = extensions.concat();
    let parts = [
        &[3, 3][..],
        &[7; 32],
        &[0],
        &sized(&[0x13, 1]),
        &[1, 0],
        &sized(&extensions),
    ];
    let message = [&[1, 0][..], &sized(&parts.concat())].concat();
    [&[22, 3, 1][..], &sized(&message)].concat()
}
