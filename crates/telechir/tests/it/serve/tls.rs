//! TLS: which certificate is served, when it is read again, and which addresses need it.

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use rustix::process::Signal;
use telechir_testkit::assert_eventually_blocking;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::client::Server;
use crate::sessions::SessionFixture;
use crate::telechir::Ran;

/// Certificates of `localhost` with their keys, for tests alone.
const FIRST: (&str, &str) = (
    include_str!("tls_files/first.pem"),
    include_str!("tls_files/first.key"),
);
const SECOND: (&str, &str) = (
    include_str!("tls_files/second.pem"),
    include_str!("tls_files/second.key"),
);

fn write(sessions: &SessionFixture, (cert, key): (&str, &str)) -> [String; 2] {
    let (cert_file, key_file) = (sessions.file("cert.pem"), sessions.file("key.pem"));
    fs::write(&key_file, key).expect("a file");
    fs::set_permissions(&key_file, Permissions::from_mode(0o600)).expect("permissions");
    fs::write(&cert_file, cert).expect("a file");
    [
        format!("--tls-cert={}", cert_file.display()),
        format!("--tls-key={}", key_file.display()),
    ]
}

fn server(listen: &str) -> Server {
    let sessions = SessionFixture::new();
    let [cert, key] = write(&sessions, FIRST);
    Server::at(sessions, &["--shell", &cert, &key], listen)
}

/// A connection that trusts this certificate alone.
fn connect(port: &str, trusted: &str) -> std::io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    let cert = CertificateDer::from_pem_slice(trusted.as_bytes()).expect("a certificate");
    roots.add(cert).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("a connection");
    let mut stream = StreamOwned::new(client, stream);
    stream.conn.complete_io(&mut stream.sock)?;
    Ok(stream)
}

fn health(
    stream: &mut StreamOwned<ClientConnection, TcpStream>,
    port: &str,
    token: &str,
) -> String {
    let request = format!(
        "GET /v1/health HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("a request");
    let mut part = [0; 4096];
    let length = stream.read(&mut part).expect("an answer");
    String::from_utf8_lossy(&part[..length]).into_owned()
}

#[test]
fn a_certificate_is_served_and_read_again() {
    let server = server("127.0.0.1:0");
    let port = server
        .address
        .rsplit(':')
        .next()
        .expect("a port")
        .to_owned();
    let token = server.token("viewer", "test");
    assert!(server.log().contains("API on https://"), "{}", server.log());
    assert!(connect(&port, SECOND.0).is_err(), "another certificate");
    // HTTP in the clear gets no answer.
    let clear = server.send("GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(clear.status, 0, "{clear:?}");

    let mut early = connect(&port, FIRST.0).expect("a handshake");
    assert!(health(&mut early, &port, &token).starts_with("HTTP/1.1 200"));
    write(&server.sessions, SECOND);
    server.signal(Signal::HUP);
    let mut goes_on = || health(&mut early, &port, &token).starts_with("HTTP/1.1 200");
    let is_new = || connect(&port, SECOND.0).is_ok();
    // The server closes a connection that is not used for long.
    assert_eventually_blocking!(goes_on() && is_new(), "the new certificate");
    assert!(goes_on(), "connections go on");
    assert!(
        connect(&port, FIRST.0).is_err(),
        "the old certificate is gone"
    );

    // Certificate and key of different pairs are not used.
    write(&server.sessions, (FIRST.0, SECOND.1));
    server.signal(Signal::HUP);
    assert_eventually_blocking!(server.log(), |log| log
        .contains("the earlier certificate stays"));
    assert!(connect(&port, SECOND.0).is_ok());
}

#[test]
fn files_that_cannot_be_used_are_refused_at_the_start() {
    let sessions = SessionFixture::new();
    let [cert, key] = write(&sessions, FIRST);
    let run = |more: &[&str]| {
        let arguments = [&["serve", "--shell", "--listen=127.0.0.1:0"], more].concat();
        Ran::of(&mut sessions.command(&arguments), "")
    };
    for (given, missing) in [(&cert, "--tls-key"), (&key, "--tls-cert")] {
        let ran = run(&[given]);
        assert!(
            ran.code == Some(2) && ran.stderr.contains(missing),
            "{ran:?}"
        );
    }
    let file = sessions.file("key.pem");
    fs::set_permissions(&file, Permissions::from_mode(0o604)).expect("permissions");
    run(&[&cert, &key]).fails(1, &["key.pem", "mode 0604", "chmod"]);
    fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("permissions");
    fs::write(&file, SECOND.1).expect("a file");
    run(&[&cert, &key]).fails(1, &["cert.pem", "key.pem", "not usable together"]);
    fs::write(&file, "nothing").expect("a file");
    run(&[&cert, &key]).fails(1, &["key.pem", "no private key"]);
    fs::write(sessions.file("cert.pem"), "nothing").expect("a file");
    run(&[&cert, &key]).fails(1, &["cert.pem", "BEGIN CERTIFICATE"]);
}

#[test]
fn a_public_address_is_served_with_tls_and_a_warning() {
    let server = server("0.0.0.0:0");
    let log = server.log();
    assert!(log.contains("is a public address"), "{log}");
    assert!(log.contains("--host NAME:"), "{log}");
    let port = server
        .address
        .rsplit(':')
        .next()
        .expect("a port")
        .to_owned();
    assert!(connect(&port, FIRST.0).is_ok());
}
