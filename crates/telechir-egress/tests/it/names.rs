//! Names are resolved once, by the proxy, and every address is judged.

use telechir_policy::NetworkClient;

use crate::fixture::{Proxy, Witness};

/// The witness stands for a public host: only these names may resolve to loopback.
const GOOD: &str = "
    [[network]]
    host = ['good.example', 'rebinding.example', '127.0.0.1']
    address = ['loopback']
    verdict = 'allow'
    reason = 'The witness.'
    [[network]]
    host = ['public-only.example', '*.wild.example']
    verdict = 'allow'
    reason = 'Public.'
";

#[tokio::test]
async fn an_allowed_host_is_reached() {
    let (witness, proxy) = (
        Witness::page().await,
        Proxy::new(GOOD, NetworkClient::Shell).await,
    );
    proxy.names.set("good.example", &[&["127.0.0.1"]]);
    let answer = proxy
        .get(&format!("http://GOOD.example.:{}/a?b", witness.port()))
        .await;
    assert!(answer.ends_with("hello"), "{answer}");
    let [seen] = witness.seen().try_into().unwrap();
    assert!(seen.starts_with("GET /a?b HTTP/1.1\r\n"), "{seen}");
    let [decision] = proxy.decisions().try_into().unwrap();
    assert_eq!(
        (decision.host.as_str(), decision.port),
        ("good.example", Some(witness.port()))
    );
    assert_eq!(decision.address, "127.0.0.1".parse().ok());
    assert!(
        decision.passed && !decision.to_string().contains("/a"),
        "{decision}"
    );
}

#[tokio::test]
async fn a_host_without_a_rule_is_refused_without_resolving_it() {
    let proxy = Proxy::new(GOOD, NetworkClient::Shell).await;
    let answer = proxy.get("http://secret.evil.example/").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains("Rule: default: network"), "{answer}");
    let (_, head) = proxy.tunnel("secret.evil.example:443").await;
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
    assert_eq!(proxy.names.queried(), [""; 0]);
    assert!(proxy.decisions().iter().all(|decision| !decision.passed));
    assert_eq!(proxy.decisions().len(), 2);
}

#[tokio::test]
async fn a_wildcard_matches_only_subdomains() {
    let proxy = Proxy::new(GOOD, NetworkClient::Shell).await;
    for host in ["wild.example", "a.wild.example.evil", "notwild.example"] {
        let answer = proxy.get(&format!("http://{host}/")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
    }
    let answer = proxy.get("http://a.wild.example/").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "no address: {answer}");
    assert_eq!(proxy.names.queried(), ["a.wild.example"]);
}

#[tokio::test]
async fn an_allowed_name_that_resolves_to_loopback_is_refused() {
    let (witness, proxy) = (
        Witness::page().await,
        Proxy::new(GOOD, NetworkClient::Shell).await,
    );
    let target = format!("public-only.example:{}", witness.port());
    for addresses in [
        &["127.0.0.1"][..],
        &["::1"],
        &["::ffff:127.0.0.1"],
        &["93.184.216.34", "127.0.0.1"],
        &["10.0.0.1"],
        &["169.254.169.254"],
    ] {
        proxy.names.set("public-only.example", &[addresses]);
        let answer = proxy.get(&format!("http://{target}/")).await;
        assert!(
            answer.starts_with("HTTP/1.1 403 "),
            "{addresses:?}: {answer}"
        );
        let (_, head) = proxy.tunnel(&target).await;
        assert!(head.starts_with("HTTP/1.1 403 "), "{addresses:?}: {head}");
    }
    assert_eq!(witness.seen(), [""; 0]);
}

#[tokio::test]
async fn dns_rebinding_has_no_effect() {
    let (witness, proxy) = (
        Witness::page().await,
        Proxy::new(GOOD, NetworkClient::Shell).await,
    );
    let (other, port) = (Witness::page().await, witness.port());
    // Judged and connected with the first result: the name is resolved only once.
    proxy
        .names
        .set("rebinding.example", &[&["127.0.0.1"], &["127.0.0.2"]]);
    let answer = proxy
        .get(&format!("http://rebinding.example:{port}/"))
        .await;
    assert!(answer.ends_with("hello"), "{answer}");
    assert_eq!(proxy.names.queried(), ["rebinding.example"]);
    // The reverse: a public address becomes loopback, and the next request is judged again.
    proxy
        .names
        .set("public-only.example", &[&["203.0.113.1"], &["127.0.0.1"]]);
    for _ in 0..2 {
        let answer = proxy
            .get(&format!("http://public-only.example:{}/", other.port()))
            .await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    assert_eq!(other.seen(), [""; 0]);
}

#[tokio::test]
async fn addresses_of_this_machine_count_as_loopback() {
    // Addresses of this machine other than loopback, as other machines see it.
    let own = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let Ok(own) = own
        .connect("198.51.100.1:9")
        .and_then(|()| own.local_addr())
    else {
        return; // Without a route the machine has no other address.
    };
    let text = "[[network]]\naddress = ['public', 'private']\nverdict = 'allow'\nreason = 'x'";
    let proxy = Proxy::new(text, NetworkClient::Shell).await;
    proxy.names.set("me.example", &[&[&own.ip().to_string()]]);
    let answer = proxy.get("http://me.example/").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[tokio::test]
async fn ip_addresses_need_their_own_rule() {
    let (witness, proxy) = (
        Witness::page().await,
        Proxy::new(GOOD, NetworkClient::Shell).await,
    );
    let port = witness.port();
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "127.1",
        "[::ffff:127.0.0.1]",
    ] {
        let answer = proxy.get(&format!("http://{host}:{port}/")).await;
        let wanted = if host.starts_with('[') {
            "HTTP/1.1 403 "
        } else {
            "HTTP/1.1 200 "
        };
        assert!(answer.starts_with(wanted), "{host}: {answer}");
    }
    let answer = proxy.get(&format!("http://127.0.0.2:{port}/")).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[tokio::test]
async fn a_name_without_an_address_is_reported() {
    let rule = "[[network]]\nhost = ['empty.example']\nverdict = 'allow'\nreason = 'x'\n";
    let proxy = Proxy::new(rule, NetworkClient::Shell).await;
    proxy.names.set("empty.example", &[&[]]);
    let answer = proxy.get("http://empty.example/").await;
    assert!(answer.starts_with("HTTP/1.1 50"), "{answer}");
    assert!(answer.contains("the name has no address"), "{answer}");
}

#[tokio::test]
async fn hosts_that_resemble_an_allowed_one_are_refused() {
    let policy = "
        [[network]]
        host = ['good.example']
        address = ['loopback']
        verdict = 'allow'
        reason = 'The witness.'
    ";
    let (witness, proxy) = (
        Witness::page().await,
        Proxy::new(policy, NetworkClient::Shell).await,
    );
    proxy.names.set("good.example", &[&["127.0.0.1"]]);
    let port = witness.port();
    for host in [
        "good.example.evil.example",
        "evil.example\0.good.example",
        "good.example\0.evil.example",
        "good.example%00.evil.example",
        "good.example\r\nX: .evil.example",
        "good.example@evil.example",
        "evil.example@good.example",
        "evil.example#.good.example",
        "evil.example/.good.example",
        "evil.example\\.good.example",
        "good.example,evil.example",
        "good.example..",
        ".good.example",
        "ｇood.example",
        "127.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::1]",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
    ] {
        let answer = proxy.get(&format!("http://{host}:{port}/")).await;
        assert!(answer.starts_with("HTTP/1.1 40"), "{host:?}: {answer}");
        let (_, head) = proxy.tunnel(&format!("{host}:{port}")).await;
        assert!(head.starts_with("HTTP/1.1 40"), "{host:?}: {head}");
    }
    assert_eq!(proxy.names.queried(), [""; 0]);
    assert_eq!(witness.seen(), [""; 0]);
    let answer = proxy.get(&format!("http://Good.Example.:{port}/")).await;
    assert!(answer.ends_with("hello"), "{answer}");
}
