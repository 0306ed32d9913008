//! Addresses that are fetched without a tunnel.

use telechir_policy::Client;
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
    let proxy = Proxy::new(&open(public.port()), Client::Browser).await;
    let answer = proxy
        .get(&format!("http://127.0.0.1:{}/", public.port()))
        .await;
    assert!(
        answer.contains(&location),
        "it is passed on as it is: {answer}"
    );
    let answer = proxy.get(&location).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(private.seen(), [""; 0]);
}

#[tokio::test]
async fn the_host_that_was_judged_is_the_host_that_is_told() {
    let witness = Witness::page().await;
    let proxy = Proxy::new(&open(witness.port()), Client::Browser).await;
    let request = format!(
        "GET http://127.0.0.1:{}/x HTTP/1.1\r\nHost: other.example\r\nHost: third.example\r\n\
         Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eDp5\r\nX-Gone: 1\r\n\
         Connection: close, x-gone\r\nX-Kept: 2\r\n\r\n",
        witness.port()
    );
    let answer = proxy.say(&request).await;
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
async fn a_refusal_says_what_and_why() {
    let text = "
        [[url]]
        name = 'no advertising'
        host = ['ads.example']
        verdict = 'deny'
        reason = 'Nobody asked for it.'
    ";
    let proxy = Proxy::new(text, Client::Browser).await;
    let answer = proxy.get("http://ads.example/track?token=secret").await;
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    assert!(
        answer.contains("telechir; error=http_request_denied"),
        "{answer}"
    );
    for part in [
        "Host: ads.example",
        "Rule: no advertising",
        "Reason: Nobody asked for it.",
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
async fn what_is_no_request_of_a_proxy_is_refused() {
    let proxy = Proxy::new("", Client::Browser).await;
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
        let answer = proxy.say(request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request:?}: {answer:?}"
        );
    }
    assert!(!format!("{:?}", proxy.decisions()).contains("u:p"));
}

#[tokio::test]
async fn two_lengths_of_one_body_are_refused() {
    let witness = Witness::page().await;
    let proxy = Proxy::new(&open(witness.port()), Client::Browser).await;
    let request = format!(
        "POST http://127.0.0.1:{}/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 30\r\n\r\nabc",
        witness.port()
    );
    let answer = proxy.say(&request).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(witness.seen(), [""; 0]);
}

#[tokio::test]
async fn a_body_is_carried_both_ways() {
    let witness = Witness::page().await;
    let proxy = Proxy::new(&open(witness.port()), Client::Browser).await;
    let body = "x".repeat(2000);
    let request = format!(
        "POST http://127.0.0.1:{}/ HTTP/1.1\r\nContent-Length: 2000\r\nConnection: close\r\n\r\n{body}",
        witness.port()
    );
    assert!(proxy.say(&request).await.ends_with("hello"));
}

#[tokio::test]
async fn another_protocol_passes_once_both_sides_agree() {
    let answer =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let witness = Witness::answering(answer).await;
    let proxy = Proxy::new(&open(witness.port()), Client::Browser).await;
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
async fn what_a_rule_asks_about_passes_after_a_yes_and_a_no_stays_a_no() {
    let witness = Witness::page().await;
    let text = "
        [[url]]
        host = ['asked.example']
        address = ['loopback', 'private']
        verdict = 'ask'
        reason = 'A person looks.'
    ";
    let proxy = Proxy::new(text, Client::Browser).await;
    let url = format!("http://asked.example:{}/", witness.port());
    proxy.names.set("asked.example", &[&["127.0.0.1"]]);
    let answer = proxy.get(&url).await;
    assert!(
        answer.starts_with("HTTP/1.1 403 ") && answer.contains("asks a person"),
        "{answer}"
    );
    let why = proxy.egress.why_refused(&url);
    assert!(why.is_some_and(|why| why.starts_with("A person looks.")));
    proxy.egress.grant(&url);
    assert!(proxy.get(&url).await.ends_with("hello"));
    // A yes to the place is none to where it leads later.
    proxy.names.set("asked.example", &[&["169.254.169.254"]]);
    let answer = proxy.get(&url).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}
