//! What Chromium's TLS greeting says, and that it is answered.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use telechir_browser::{Options, OwnNetwork};
use telechir_egress::Egress;
use telechir_policy::{NetworkClient, Policy};
use telechir_process::Spawn;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::common::{CHROMIUM, go, launched_with, options};

/// The type of the extension for an encrypted ClientHello, and for the decoy (GREASE).
const ENCRYPTED_HELLO: u16 = 0xfe0d;

/// The types of a ClientHello's extensions.
fn extensions(record: &[u8]) -> Vec<u16> {
    let number = |at: usize| u16::from_be_bytes([record[at], record[at + 1]]);
    // Headers of record and message, version and random; then session id, cipher suites and
    // compression methods.
    let mut at = 5 + 4 + 2 + 32;
    at += 1 + usize::from(record[at]);
    at += 2 + usize::from(number(at));
    at += 1 + usize::from(record[at]);
    let end = at + 2 + usize::from(number(at));
    at += 2;
    let mut types = Vec::new();
    while at < end {
        types.push(number(at));
        at += 4 + usize::from(number(at + 2));
    }
    types
}

/// A TLS server, behind a listener that keeps the first bytes of each connection.
struct TlsServer {
    port: u16,
    greetings: Arc<Mutex<Vec<Vec<u8>>>>,
    _server: telechir_process::Child,
    _folder: tempfile::TempDir,
}

async fn run(args: &[&str]) {
    let child = Spawn::new("openssl").args(args).spawn().await.unwrap();
    assert!(child.wait().await.unwrap().success(), "openssl {args:?}");
}

impl TlsServer {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (key, certificate) = (path("key"), path("certificate"));
        let request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost";
        let mut args: Vec<&str> = request.split(' ').collect();
        args.extend(["-keyout", &key, "-out", &certificate]);
        run(&args).await;
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let behind = free.local_addr().unwrap();
        drop(free);
        let server = Spawn::new("openssl")
            .args(["s_server", "-www", "-quiet", "-accept", &behind.to_string()])
            .args(["-key", &key, "-cert", &certificate])
            .spawn()
            .await
            .unwrap();
        while TcpStream::connect(behind).await.is_err() {
            assert_eq!(server.try_wait().unwrap(), None, "openssl s_server");
            sleep(Duration::from_millis(20)).await;
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let greetings: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let log = Arc::clone(&greetings);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let log = Arc::clone(&log);
                tokio::spawn(async move {
                    let mut first = vec![0; 16 << 10];
                    let count = stream.read(&mut first).await.unwrap_or(0);
                    first.truncate(count);
                    log.lock().unwrap().push(first.clone());
                    let mut server = TcpStream::connect(behind).await.unwrap();
                    server.write_all(&first).await.unwrap();
                    let _either_may_close = copy_bidirectional(&mut stream, &mut server).await;
                });
            }
        });
        Self {
            port,
            greetings,
            _server: server,
            _folder: folder,
        }
    }

    /// Lets a browser open the server's page; returns its greetings.
    async fn greeted_by(&self, program: Option<PathBuf>) -> Vec<Vec<u8>> {
        let port = self.port;
        let text = format!(
            "[[url]]\nhost = ['localhost']\nport = [{port}]\nverdict = 'allow'\nreason = 'TLS.'"
        );
        let policy = Policy::from_toml(&text, "test").unwrap();
        let mut browser = launched_with(Options {
            egress: Some(Egress::new(policy.gate(NetworkClient::Browser))),
            own_network: OwnNetwork::Required,
            program,
            ..options()
        })
        .await;
        let answered = go(&mut browser, &format!("https://localhost:{port}/")).await;
        // The proxy forwarded the greeting and the certificate, which nobody has signed.
        let error = answered.unwrap_err().to_string();
        assert!(error.contains("CERT_AUTHORITY_INVALID"), "{error}");
        browser.close().await.unwrap();
        self.greetings.lock().unwrap().drain(..).collect()
    }
}

#[tokio::test]
async fn https_works_and_chromium_hides_no_name() {
    let server = TlsServer::start().await;
    let greetings = server.greeted_by(Some(CHROMIUM.into())).await;
    for greeting in &greetings {
        assert!(greeting.windows(9).any(|part| part == b"localhost"));
        let extensions = extensions(greeting);
        assert!(!extensions.contains(&ENCRYPTED_HELLO), "{extensions:x?}");
    }
    assert!(!greetings.is_empty());
}

#[tokio::test]
async fn https_works_in_the_headless_shell() {
    let server = TlsServer::start().await;
    assert!(!server.greeted_by(None).await.is_empty());
}
