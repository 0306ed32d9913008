//! What must not pass: requests of web pages, of other hosts, without a token, and such as only
//! attackers send. All of them by raw bytes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use super::client::{Server, connect, read};

/// A request with these headers after `Host`, and this body.
fn request(host: &str, line: &str, headers: &[&str], body: &str) -> String {
    let mut text = format!("{line} HTTP/1.1\r\n");
    if !host.is_empty() {
        text.push_str(&format!("Host: {host}\r\n"));
    }
    for header in headers {
        text.push_str(&format!("{header}\r\n"));
    }
    format!("{text}\r\n{body}")
}

#[test]
fn requests_for_other_hosts_and_of_web_pages_are_refused() {
    let server = Server::of_shells();
    let token = format!("Authorization: Bearer {}", server.token("operator", "me"));
    let own = server.address.clone();
    let port = own.rsplit(':').next().expect("a port").to_owned();
    let health = |host: &str, headers: &[&str]| {
        let headers = [&[token.as_str()], headers].concat();
        server.send(&request(host, "GET /v1/health", &headers, ""))
    };
    assert_eq!(health(&own, &[]).status, 200);
    assert_eq!(health(&format!("localhost:{port}"), &[]).status, 200);
    for host in [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        &format!("evil.example:{port}"),
        &format!("127.0.0.1.evil.example:{port}"),
        &format!("127.0.0.1:{port}.evil.example"),
    ] {
        health(host, &[]).is_problem(403, "forbidden-host");
    }
    health("", &[]).is_problem(400, "bad-request");
    let second = format!("Host: {own}");
    health(&own, &[&second]).is_problem(400, "bad-request");
    health("evil.example", &[&second]).is_problem(400, "bad-request");
    let absolute = "GET http://evil.example/v1/health";
    let answer = server.send(&request(&own, absolute, &[&token], ""));
    answer.is_problem(400, "bad-request");
    for origin in ["http://evil.example", "null", &format!("http://{own}"), ""] {
        health(&own, &[&format!("Origin: {origin}")]).is_problem(403, "forbidden-origin");
    }
    // A WebSocket of a page is a request with an origin.
    let upgrade = [
        "Origin: http://evil.example",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    health(&own, &upgrade).is_problem(403, "forbidden-origin");
}

#[test]
fn a_token_is_one_header_and_nothing_else() {
    let server = Server::of_shells();
    let token = server.token("operator", "me");
    let own = server.address.clone();
    let send = |line: &str, headers: &[&str]| server.send(&request(&own, line, headers, ""));
    let bearer = format!("Authorization: Bearer {token}");
    assert_eq!(send("GET /v1/health", &[&bearer]).status, 200);
    let refused = send("GET /v1/health", &[]);
    refused.is_problem(401, "unauthorized");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    let cut = &token[..token.len() - 1];
    let other_role = token.replace("operator", "agent");
    for header in [
        format!("Authorization: {token}"),
        format!("Authorization: Basic {token}"),
        format!("Authorization: Bearer {cut}"),
        format!("Authorization: Bearer {token}x"),
        format!("Authorization: Bearer {other_role}"),
        format!("Authorization: Bearer {}", "x".repeat(4000)),
        "Authorization: Bearer ".to_owned(),
        format!("Cookie: token={token}"),
        format!("X-Api-Key: {token}"),
    ] {
        send("GET /v1/health", &[&header]).is_problem(401, "unauthorized");
    }
    send("GET /v1/health", &[&bearer, &bearer]).is_problem(401, "unauthorized");
    for query in ["token", "access_token", "TOKEN", "to%6Ben", "authorization"] {
        let line = format!("GET /v1/health?{query}={token}");
        send(&line, &[]).is_problem(400, "bad-request");
        send(&line, &[&bearer]).is_problem(400, "bad-request");
    }
    // What a client claims about itself changes nothing.
    let agent = format!("Authorization: Bearer {}", server.token("agent", "a"));
    let claims = [agent.as_str(), "X-Role: operator", "X-Forwarded-User: root"];
    send("GET /v1/approvals", &claims).is_problem(403, "forbidden");
    send("GET /.well-known/oauth-authorization-server", &[]).is_problem(404, "not-found");
    send("GET /v1/nothing", &[&bearer]).is_problem(404, "not-found");
    send("GET /v1/health?verbose=1", &[&bearer]).is_problem(400, "bad-request");
    send("DELETE /v1/health", &[&bearer]).is_problem(405, "method-not-allowed");
}

#[test]
fn bodies_that_two_servers_could_read_differently_are_refused() {
    let server = Server::of_shells();
    let token = format!("Authorization: Bearer {}", server.token("operator", "me"));
    let own = server.address.clone();
    let send = |headers: &[&str], body: &str| {
        let json = "Content-Type: application/json";
        let headers = [&[token.as_str(), json], headers].concat();
        let line = "POST /v1/decode?dialect=neutral";
        everything(connect(&own, &request(&own, line, &headers, body)))
    };
    let accepted = send(&["Content-Length: 2", "Connection: close"], "[]");
    assert!(accepted.starts_with("HTTP/1.1 200"), "{accepted}");
    // Equal lengths are one length, as RFC 9112 permits.
    let twice = [
        "Content-Length: 2",
        "content-length: 2",
        "Connection: close",
    ];
    let accepted = send(&twice, "[]");
    assert!(accepted.starts_with("HTTP/1.1 200"), "{accepted}");
    assert_eq!(accepted.matches("HTTP/1.1").count(), 1, "{accepted}");
    let smuggled = "0\r\n\r\nGET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n";
    for headers in [
        &["Content-Length: 4", "Transfer-Encoding: chunked"][..],
        &["Transfer-Encoding: chunked", "Content-Length: 4"],
        &["Transfer-Encoding: chunked"],
        &["Transfer-Encoding: xchunked"],
        &["Transfer-Encoding: identity, chunked"],
        &["Transfer-Encoding : chunked"],
        &["Content-Length: 2", "Content-Length: 44"],
        &["Content-Length: +2"],
        &["Content-Length: 2, 2"],
        &["Content-Length: -1"],
        &["Content-Length: 0x2"],
        &["Content-Length: 2 2"],
        &["Content-Length: 2;a=b"],
        &["Content-Length:"],
        &["Content-Length: 99999999999999999999"],
        &["Content-Length : 2"],
        &[
            "Content-Length: 2",
            "Content-Length: 2",
            "Content-Length: 3",
        ],
        &["Content-Length: 2", "Transfer-Encoding:\tchunked"],
        &["Content-Length: 2", "transfer-encoding: CHUNKED"],
        &["Content-Length: 2", "X: a\r\n Transfer-Encoding: chunked"],
        &["Content-Length: 2", "X: a\rTransfer-Encoding: chunked"],
        &["Content-Length: 2", "X\0: a"],
        &["Transfer-Encoding: chunked, identity"],
        &["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
    ] {
        let answer = send(headers, smuggled);
        let is_refused = ["HTTP/1.1 400", "HTTP/1.1 411"]
            .iter()
            .any(|status| answer.starts_with(status));
        assert!(is_refused, "{headers:?}: {answer}");
        // Nothing that follows is read as another request.
        let answers = answer.matches("HTTP/1.1").count();
        assert_eq!(answers, 1, "{headers:?}: {answer}");
    }
}

#[test]
fn a_body_in_another_encoding_is_refused() {
    let server = Server::of_shells();
    let token = format!("Authorization: Bearer {}", server.token("operator", "me"));
    let own = server.address.clone();
    let json = "Content-Type: application/json";
    let send = |encodings: &[&str]| {
        let headers = [&[token.as_str(), json, "Content-Length: 2"], encodings].concat();
        let line = "POST /v1/decode?dialect=neutral";
        server.send(&request(&own, line, &headers, "[]"))
    };
    assert_eq!(send(&["Content-Encoding: identity"]).status, 200);
    for encodings in [
        &["Content-Encoding: gzip"][..],
        &["content-encoding: BR"],
        &["Content-Encoding: identity, gzip"],
        &["Content-Encoding: identity", "Content-Encoding: deflate"],
        &["Content-Encoding: \"gzip"],
        &["Content-Encoding:"],
    ] {
        send(encodings).is_problem(415, "unsupported-media");
    }
}

#[test]
fn bodies_have_limits() {
    let server = Server::of_shells();
    let operator = server.client("operator");
    let open = |body: &str| operator.request("POST", "/v1/sessions", Some(body));
    let large = format!("{{\"name\": \"{}\"}}", "x".repeat(4 << 20));
    open(&large).is_problem(413, "too-large");
    let decode = "/v1/decode?dialect=neutral";
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    operator
        .request("POST", decode, Some(&nested(200)))
        .is_problem(422, "unreadable");
    let history = format!("[{}]", " ".repeat(5 << 20));
    let larger = operator.request("POST", decode, Some(&history));
    assert_eq!(larger.status, 200, "a history may be larger: {larger:?}");
    let token = format!("Authorization: Bearer {}", server.token("operator", "me"));
    for content_type in [
        "Content-Type: text/plain",
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: multipart/form-data; boundary=a",
        "Accept: application/json",
    ] {
        let headers = [token.as_str(), content_type, "Content-Length: 2"];
        let answer = server.send(&request(
            &server.address,
            "POST /v1/sessions",
            &headers,
            "{}",
        ));
        answer.is_problem(415, "unsupported-media");
    }
    let many = "X-Many: 1\r\n".repeat(200);
    let answer = server.send(&request(
        &server.address,
        "GET /v1/health",
        &[&token, many.trim_end()],
        "",
    ));
    assert_eq!(answer.status, 431, "{answer:?}");
    assert_eq!(server.sessions.list(), serde_json::json!([]));
}

#[test]
fn slow_requests_are_ended() {
    let server = Server::of_shells();
    let token = format!("Authorization: Bearer {}", server.token("operator", "me"));
    let own = server.address.clone();
    let started = Instant::now();
    let silent = connect(&own, "");
    let half_head = connect(&own, "GET /v1/health HTTP/1.1\r\nHost: ");
    let head = [
        token.as_str(),
        "Content-Type: application/json",
        "Content-Length: 100",
    ];
    let half_body = connect(&own, &request(&own, "POST /v1/sessions", &head, "{"));
    // A client that sends a byte now and then gains no time.
    let dripping = connect(&own, "GET /v1/health HTTP/1.1\r\nX-Slow: ");
    let dripping = thread::spawn(|| drip(dripping));
    let waits = [silent, half_head].map(|stream| thread::spawn(|| everything(stream)));
    let stalled = read(half_body);
    stalled.is_problem(408, "body-timeout");
    for wait in waits {
        wait.join().expect("closed");
    }
    let took = started.elapsed();
    assert!(took < Duration::from_secs(25), "{took:?}");
    let dripped = dripping.join().expect("closed");
    assert!(dripped < Duration::from_secs(20), "{dripped:?}");
}

/// What the server sends until it closes the connection.
fn everything(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end, too.
    let _reset = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Sends a byte each half second, and returns how long the server took it.
fn drip(mut stream: TcpStream) -> Duration {
    let started = Instant::now();
    stream
        .set_read_timeout(Some(Duration::from_millis(500)))
        .expect("a timeout");
    let mut part = [0; 64];
    loop {
        match stream.read(&mut part) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) => return started.elapsed(),
            Ok(_) => {}
        }
        if stream.write_all(b"a").is_err() || started.elapsed() > Duration::from_secs(40) {
            return started.elapsed();
        }
    }
}
