//! Sessions at a service that end when nobody expects it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::remote::Face;

use super::{RemoteFixture, assert_read_hello};

/// As services do whose session is over: plain HTTP in the stream of a WebSocket, which clients see
/// as code 1006.
const HTTP_TEXT: &[u8] = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";

#[test]
fn a_stream_that_ends_without_a_close_frame_is_looked_up_at_the_service() {
    let remote = RemoteFixture::new(Face::Steel);
    let session = ["--session=work"];
    assert_read_hello(&remote.click(&session));
    remote.double.end_streams_with(HTTP_TEXT);
    remote.double.cut();
    let answers = remote.click(&session).json();
    let text = answers[0].to_string();
    assert!(text.contains("refs are stale"), "it runs on: {text}");
    assert_read_hello(&remote.click(&session));
    assert_eq!(remote.double.handshakes(), 2);

    let id = remote.double.sessions()[0].id.clone();
    remote.double.end(&id, "inactivity_timeout");
    let answers = remote.click(&session).json();
    let text = answers[0].to_string();
    assert!(
        text.contains("Steel has ended") && text.contains("inactivity_timeout"),
        "{text}"
    );
    remote.close("work");
    assert_eq!((remote.double.running(), remote.entries()), (0, 0));
}

/// A page whose button waits for an answer that never comes; how often it was clicked.
fn page_that_waits_when_clicked() -> (String, Arc<AtomicUsize>) {
    const BODY: &str = "hello<style>button{position:fixed;inset:0}</style><button onclick=\"\
        const request = new XMLHttpRequest(); request.open('GET', '/clicked', false); request.send()\
        \">click</button>";
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let clicks = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&clicks);
    std::thread::spawn(move || {
        let mut unanswered = Vec::new();
        while let Ok((mut stream, _)) = listener.accept() {
            let mut line = String::new();
            let read = stream.try_clone().map(BufReader::new);
            let _its_first_line = read.expect("a stream").read_line(&mut line);
            if line.contains("/clicked") {
                counted.fetch_add(1, Ordering::SeqCst);
                unanswered.push(stream);
                continue;
            }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
            let _gone = write!(stream, "{head}Content-Length: {}\r\n\r\n{BODY}", BODY.len());
        }
    });
    (url, clicks)
}

#[test]
fn a_session_that_ends_under_a_click_is_an_unknown_effect_and_nothing_is_clicked_twice() {
    let mut remote = RemoteFixture::new(Face::Browserbase);
    let (url, clicks) = page_that_waits_when_clicked();
    remote.fixture.url = url;
    let (mut command, input) = remote.clicking("", &["--session=work"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("a write");
    drop(stdin);
    assert_eventually_blocking!(clicks.load(Ordering::SeqCst), |clicks| *clicks == 1);
    let id = remote.double.sessions()[0].id.clone();
    remote.double.end(&id, "timeout");
    let mut answers = String::new();
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_to_string(&mut answers).expect("text");
    child.wait().expect("an exit status");
    let answers: serde_json::Value = serde_json::from_str(&answers).expect("JSON");
    let click = answers[0].to_string();
    for part in ["Browserbase has ended", "took effect is unknown"] {
        assert!(click.contains(part), "{click}");
    }
    let later = remote.click(&["--session=work"]).json()[0].to_string();
    assert!(later.contains("Browserbase has ended"), "{later}");
    assert_eq!(clicks.load(Ordering::SeqCst), 1);
    remote.close("work");
    assert_eq!(
        (remote.double.sessions().len(), remote.double.running()),
        (1, 0)
    );
    assert_eq!(remote.entries(), 0);
}
