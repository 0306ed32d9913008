//! Requests without a tunnel.

use telechir_egress::ConnectionDecision;
use telechir_policy::NetworkClient;
use tokio::io::AsyncWriteExt as _;

use crate::fixture::{Proxy, Witness, next};

fn open(port: u16) -> String {
    format!(
        "[[url]]\nhost = ['127.0.0.1']\nport = [{port}]\nverdict = 'allow'\nreason = 'The witness.'"
    )
}

#[tokio::test]
async fn a_redirect_is_judged_as_the_next_request() {
    let private = Witness::page().await;
    let location = format!("http://127.0.0.1:{}/secret", private.port());
    let answer = format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
    let public = Witness::answering(&answer).await;
    let proxy = Proxy::new(&open(public.port()), NetworkClient::Browser).await;
    let answer = proxy
        .get(&format!("http://127.0.0.1:{}/", public.port()))
        .await;
    assert!(
        answer.contains(&location),
        "it is forwarded unchanged: {answer}"
    );
    let answer = proxy.get(&location).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(private.seen(), [""; 0]);
}

#[tokio::test]
async fn the_host_header_is_the_judged_host() {
    let witness = Witness::page().await;
    let proxy = Proxy::new(&open(witness.port()), NetworkClient::Browser).await;
    let request = format!(
        "GET http://127.0.0.1:{}/x HTTP/1.1\r\nHost: other.example\r\nHost: third.example\r\n\
         Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eDp5\r\nX-Gone: 1\r\n\
         Connection: close, x-gone\r\nX-Kept: 2\r\n\r\n",
        witness.port()
    );
    let answer = proxy.send(&request).await;
    assert!(answer.ends_with("hello"), "{answer}");
    let [seen] = witness.seen().try_into().unwrap();
    let lower = seen.to_ascii_lowercase();
    assert!(
        lower.contains(&format!("host: 127.0.0.1:{}\r\n", witness.port())),
        "{seen}"
    );
    for gone in ["other.example", "third.example", "proxy-", "x-gone"] {
        assert!(!lower.contains(gone), "{gone} in {seen}");
    }
    assert!(lower.contains("x-kept: 2"), "{seen}");
}

#[tokio::test]
async fn a_refusal_names_host_rule_and_reason() {
    let text = "
        [[url]]
        name = 'no advertising'
        host = ['ads.example']
        verdict = 'deny'
        reason = 'Advertising is blocked.'
    ";
    let proxy = Proxy::new(text, NetworkClient::Browser).await;
    let answer = proxy.get("http://ads.example/track?token=secret").await;
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    assert!(
        answer.contains("telechir; error=http_request_denied"),
        "{answer}"
    );
    for part in [
        "Host: ads.example",
        "Rule: no advertising",
        "Reason: Advertising is blocked.",
    ] {
        assert!(answer.contains(part), "{answer}");
    }
    let decisions = format!("{:?}", proxy.decisions());
    assert!(
        decisions.contains("no advertising") && !decisions.contains("secret"),
        "{decisions}"
    );
}

#[tokio::test]
async fn invalid_proxy_requests_are_refused() {
    let proxy = Proxy::new("", NetworkClient::Browser).await;
    let refused = [
        (
            "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
            "400",
        ),
        (
            "GET ftp://example.com/ HTTP/1.1\r\nConnection: close\r\n\r\n",
            "400",
        ),
        (
            "GET file:///etc/passwd HTTP/1.1\r\nConnection: close\r\n\r\n",
            "400",
        ),
        (
            "GET http://u:p@example.com/ HTTP/1.1\r\nConnection: close\r\n\r\n",
            "400",
        ),
        (
            "GET http://[::1%25lo]/ HTTP/1.1\r\nConnection: close\r\n\r\n",
            "400",
        ),
        (
            "CONNECT example.com HTTP/1.1\r\nConnection: close\r\n\r\n",
            "400",
        ),
        (
            "CONNECT u@example.com:443 HTTP/1.1\r\nConnection: close\r\n\r\n",
            "400",
        ),
        ("CONNECT exam\0ple.com:443 HTTP/1.1\r\n\r\n", "400"),
        ("nonsense\r\n\r\n", "400"),
    ];
    for (request, status) in refused {
        let answer = proxy.send(request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request:?}: {answer:?}"
        );
    }
    let decisions = proxy.decisions();
    assert!(!format!("{decisions:?}").contains("u:p"));
    let invalid = |decision: &ConnectionDecision| decision.port.is_none() && !decision.passed;
    assert!(decisions.iter().all(invalid), "{decisions:?}");
    let hosts: Vec<&str> = decisions.iter().map(|one| one.host.as_str()).collect();
    assert_eq!(
        hosts,
        [
            "example.com",
            "example.com",
            "[::1%25lo]",
            "example.com",
            "example.com:443"
        ]
    );
}

#[tokio::test]
async fn conflicting_content_lengths_are_refused() {
    let witness = Witness::page().await;
    let proxy = Proxy::new(&open(witness.port()), NetworkClient::Browser).await;
    let request = format!(
        "POST http://127.0.0.1:{}/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 30\r\n\r\nabc",
        witness.port()
    );
    let answer = proxy.send(&request).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(witness.seen(), [""; 0]);
}

#[tokio::test]
async fn bodies_are_forwarded_in_both_directions() {
    let witness = Witness::page().await;
    let proxy = Proxy::new(&open(witness.port()), NetworkClient::Browser).await;
    let body = "x".repeat(2000);
    let request = format!(
        "POST http://127.0.0.1:{}/ HTTP/1.1\r\nContent-Length: 2000\r\nConnection: close\r\n\r\n{body}",
        witness.port()
    );
    assert!(proxy.send(&request).await.ends_with("hello"));
}

#[tokio::test]
async fn upgraded_connections_are_forwarded() {
    let answer =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let witness = Witness::answering(answer).await;
    let proxy = Proxy::new(&open(witness.port()), NetworkClient::Browser).await;
    let mut stream = proxy.dial().await;
    let request = format!(
        "GET http://127.0.0.1:{}/ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        witness.port()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = String::from_utf8(next(&mut stream).await).unwrap();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    stream.write_all(b"ping").await.unwrap();
    assert_eq!(next(&mut stream).await, b"ping");
    assert!(
        witness.seen()[0]
            .to_ascii_lowercase()
            .contains("upgrade: websocket")
    );
}

#[tokio::test]
async fn an_approved_host_is_reachable_and_a_denied_address_stays_denied() {
    let witness = Witness::page().await;
    let text = "
        [[url]]
        host = ['reviewed.example']
        address = ['loopback', 'private']
        verdict = 'ask'
        reason = 'The user reviews it.'
    ";
    let proxy = Proxy::new(text, NetworkClient::Browser).await;
    let url = format!("http://reviewed.example:{}/", witness.port());
    proxy.names.set("reviewed.example", &[&["127.0.0.1"]]);
    let answer = proxy.get(&url).await;
    assert!(
        answer.starts_with("HTTP/1.1 403 ") && answer.contains("requires approval"),
        "{answer}"
    );
    let why = proxy.egress.last_refusal(&url);
    assert!(why.is_some_and(|why| why.starts_with("The user reviews it.")));
    proxy.egress.grant(&url);
    assert!(proxy.get(&url).await.ends_with("hello"));
    // The approval does not extend to other addresses of the name.
    proxy.names.set("reviewed.example", &[&["169.254.169.254"]]);
    let answer = proxy.get(&url).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}
