//! All known disguises of an address, as a browser navigates to it and as a program connects with
//! it: both are judged alike.

use std::net::IpAddr;
use std::time::Duration;

use telechir_policy::{Gate, NetworkClient, Policy, Remote, RemoteError, ResolvedAddress, Verdict};

use crate::screen::{facts, navigate};

/// Hosts that lead to this machine, to its network or to no public address. `%` cannot be sent to a
/// proxy, because it is ambiguous; a browser writes the plain form.
const NOT_PUBLIC: &[(&str, &str)] = &[
    // This machine, in every number that means it.
    ("127.0.0.1", ""),
    ("2130706433", ""),
    ("0x7f.1", ""),
    ("0x7f000001", ""),
    ("0177.0.0.1", ""),
    ("017700000001", ""),
    ("127.1", ""),
    ("127.0.1", ""),
    ("0", ""),
    ("0.0.0.0", ""),
    ("127.0.0.1.", ""),
    ("127.255.255.254", ""),
    ("①②⑦.⓪.⓪.①", "%"),
    ("127。0。0。1", "%"),
    ("%31%32%37.0.0.1", "%"),
    ("[::1]", ""),
    ("[::]", ""),
    ("[0:0:0:0:0:0:0:1]", ""),
    // By name.
    ("localhost", ""),
    ("localhost.", ""),
    ("LOCALHOST", ""),
    ("a.localhost", ""),
    ("ｌｏｃａｌｈｏｓｔ", "%"),
    // An IPv4 address inside an IPv6 one: mapped, compatible, translated, NAT64, 6to4, Teredo.
    ("[::ffff:127.0.0.1]", ""),
    ("[::ffff:7f00:1]", ""),
    ("[::127.0.0.1]", ""),
    ("[::ffff:0:127.0.0.1]", ""),
    ("[64:ff9b::7f00:1]", ""),
    ("[64:ff9b:1::7f00:1]", ""),
    ("[2002:7f00:1::]", ""),
    ("[2001:0:53aa:64c::80ff:fffe]", ""),
    ("[::ffff:10.0.0.1]", ""),
    ("[64:ff9b::a00:1]", ""),
    // Private networks.
    ("10.0.0.1", ""),
    ("0xa000001", ""),
    ("172.16.0.1", ""),
    ("172.31.255.255", ""),
    ("192.168.1.1", ""),
    ("100.64.0.1", ""),
    ("[fd00::1]", ""),
    ("[fec0::1]", ""),
    // The link.
    ("169.254.1.1", ""),
    ("[fe80::1]", ""),
    // Cloud metadata services.
    ("169.254.169.254", ""),
    ("2852039166", ""),
    ("0xa9.0xfe.0xa9.0xfe", ""),
    ("[::ffff:169.254.169.254]", ""),
    ("[fd00:ec2::254]", ""),
    ("169.254.170.2", ""),
    ("100.100.100.200", ""),
    ("168.63.129.16", ""),
    ("metadata.google.internal", ""),
    ("METADATA.google.internal.", ""),
    ("metadata", ""),
    // Nobody's.
    ("224.0.0.1", ""),
    ("[ff02::1]", ""),
    ("255.255.255.255", ""),
    ("240.0.0.1", ""),
    ("192.0.2.1", ""),
    ("198.51.100.7", ""),
    ("203.0.113.7", ""),
    ("198.18.0.1", ""),
    ("[2001:db8::1]", ""),
    ("[100::1]", ""),
];

/// What is no place at all, or not only one.
const DISGUISED: &[&str] = &[
    "",
    ":443",
    "example.com",
    "example.com:",
    "example.com:0",
    "example.com:65536",
    "example.com:+443",
    "example.com: 443",
    "example.com:443 ",
    "example.com:443\r\nHost: other",
    "evil\0.example.com:443",
    "example.com\0:443",
    "user@example.com:443",
    "user:word@example.com:443",
    "example.com@127.0.0.1:443",
    "example.com#@127.0.0.1:443",
    "example.com\\@127.0.0.1:443",
    "127.0.0.1%2f@example.com:443",
    "example.com/..:443",
    "example.com?:443",
    "exa mple.com:443",
    "exa\tmple.com:443",
    "a:b:443",
    "::1:443",
    "[::1:443",
    "[fe80::1%25eth0]:443",
    "[fe80::1%eth0]:443",
    "http://example.com:443",
    "256.0.0.1:443",
    "1.2.3.4.5:443",
    "bücher.example:443",
];

fn found(addresses: &[&str]) -> Vec<ResolvedAddress> {
    let parse = |address: &&str| ResolvedAddress {
        address: address.parse::<IpAddr>().unwrap(),
        is_this_machine: false,
    };
    addresses.iter().map(parse).collect()
}

fn judge(gate: &mut Gate, remote: &Remote, addresses: &[&str]) -> Verdict {
    let literal = remote.literal().map(|literal| literal.to_string());
    let addresses: Vec<&str> = match &literal {
        Some(literal) => vec![literal],
        None => addresses.to_vec(),
    };
    if let Some(ground) = gate.refusal_by_name(remote) {
        return ground.verdict;
    }
    gate.judge(remote, &found(&addresses), Duration::ZERO)
        .verdict
}

fn policy(text: &str) -> Policy {
    Policy::from_toml(text, "p.toml").unwrap()
}

const SHELL_MAY_GO: &str = "
    [[network]]
    from = ['shell']
    host = ['example.com', '*.example.net', 'xn--bcher-kva.example']
    verdict = 'allow'
    reason = 'Needed.'
    examples.match = ['example.com:443', 'a.example.net:80', 'EXAMPLE.com.:443']
    examples.not_match = ['example.com.evil.example:443', 'example.net:443', 'aexample.net:443', '10.0.0.1:443']
";

#[test]
fn no_spelling_of_an_address_that_is_not_public_passes_anywhere() {
    let default = Policy::default_policy();
    let open = policy(
        "[[network]]\nverdict = 'allow'\nreason = 'Everywhere.'\n[[url]]\nverdict = 'allow'\nreason = 'Everywhere.'",
    );
    for (host, unwritable) in NOT_PUBLIC {
        for policy in [&default, &open] {
            let url = format!("http://{host}/");
            assert_eq!(navigate(policy, &url, &facts()), Verdict::Deny, "{url}");
        }
        let remote = match Remote::for_tunnel(&format!("{host}:443")) {
            Ok(remote) => remote,
            Err(_) if *unwritable == "%" => continue,
            Err(error) => panic!("{host}: {error}"),
        };
        for client in [
            NetworkClient::Browser,
            NetworkClient::Desktop,
            NetworkClient::Shell,
        ] {
            for policy in [&default, &open] {
                let verdict = judge(&mut policy.gate(client), &remote, &["93.184.216.34"]);
                assert_eq!(verdict, Verdict::Deny, "{host} for {client:?}");
            }
        }
    }
}

#[test]
fn an_ambiguous_host_is_refused() {
    for text in DISGUISED {
        assert!(Remote::for_tunnel(text).is_err(), "{text:?}");
    }
    for url in [
        "http://user@example.com/",
        "http://user:word@example.com/",
        "http://good.example\\@127.0.0.1/",
        "http://exa mple.com/",
        "http://",
        "//example.com/",
        "/path",
        "*",
    ] {
        assert!(Remote::for_fetch(url).is_err(), "{url:?}");
    }
}

#[test]
fn only_http_is_fetched() {
    for url in [
        "file:///etc/passwd",
        "view-source:file:///etc/passwd",
        "view-source:http://example.com/",
        "chrome://settings",
        "devtools://x",
        "chrome-extension://x/y",
        "javascript:alert(1)",
        "data:text/html,x",
        "about:blank",
        "blob:http://example.com/1",
        "filesystem:http://example.com/t/1",
        "ftp://example.com/",
        "gopher://example.com/",
        "https://example.com/",
        "ws://example.com/",
    ] {
        let error = Remote::for_fetch(url).unwrap_err();
        assert!(matches!(error, RemoteError::Scheme(_)), "{url}: {error:?}");
    }
}

#[test]
fn a_host_has_one_spelling() {
    let tunnel = |text: &str| {
        let remote = Remote::for_tunnel(text).unwrap();
        (remote.host(), remote.port())
    };
    assert_eq!(tunnel("EXAMPLE.com.:443"), ("example.com".to_owned(), 443));
    assert_eq!(tunnel("0x7f.1:80"), ("127.0.0.1".to_owned(), 80));
    assert_eq!(tunnel("[0::1]:8080"), ("[::1]".to_owned(), 8080));
    let fetched = Remote::for_fetch("http://Example.COM/a?b#c").unwrap();
    assert_eq!(
        (fetched.host().as_str(), fetched.port()),
        ("example.com", 80)
    );
    let fetched = Remote::for_fetch("http://example.com:443/").unwrap();
    assert_eq!(fetched.port(), 443);
    let remote = Remote::host_and_port("::1", 80).unwrap();
    assert_eq!(remote.literal(), "::1".parse().ok());
}

#[test]
fn a_shell_reaches_the_named_hosts_and_no_other() {
    let policy = policy(SHELL_MAY_GO);
    let mut gate = policy.gate(NetworkClient::Shell);
    let mut reach = |host: &str| {
        let remote = Remote::for_tunnel(&format!("{host}:443")).unwrap();
        judge(&mut gate, &remote, &["93.184.216.34"])
    };
    for host in [
        "example.com",
        "Example.COM.",
        "a.example.net",
        "a.b.example.net",
    ] {
        assert_eq!(reach(host), Verdict::Allow, "{host}");
    }
    for host in [
        "example.net",
        "aexample.net",
        "example.com.evil.test",
        "example.com.example",
        "evil-example.com",
        "sub.example.com",
        "xn--xample-9uf.com",
        "93.184.216.34",
        "localhost",
    ] {
        assert_eq!(reach(host), Verdict::Deny, "{host}");
    }
    assert!(gate.is_open());
    assert!(!policy.gate(NetworkClient::Desktop).is_open());
    assert!(
        !Policy::default_policy()
            .gate(NetworkClient::Shell)
            .is_open()
    );
}

#[test]
fn a_host_that_no_rule_names_is_refused_before_it_is_looked_up() {
    let gate = policy(SHELL_MAY_GO).gate(NetworkClient::Shell);
    let before = |host: &str| {
        gate.refusal_by_name(&Remote::for_tunnel(host).unwrap())
            .is_some()
    };
    assert!(before("secret-in-a-name.evil.test:443"));
    assert!(!before("example.com:443"));
}

#[test]
fn a_named_host_leads_nowhere_private_by_what_its_owner_makes_of_it() {
    let mut gate = policy(SHELL_MAY_GO).gate(NetworkClient::Shell);
    let remote = Remote::for_tunnel("example.com:443").unwrap();
    let mut with = |addresses: &[&str]| judge(&mut gate, &remote, addresses);
    assert_eq!(with(&["93.184.216.34", "2606:4700::1111"]), Verdict::Allow);
    for bad in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "fd00:ec2::254",
        "::ffff:10.0.0.1",
    ] {
        assert_eq!(with(&[bad]), Verdict::Deny, "{bad}");
        assert_eq!(
            with(&["93.184.216.34", bad]),
            Verdict::Deny,
            "one of two is {bad}"
        );
    }
}

#[test]
fn an_address_of_this_machine_is_loopback_however_public_it_looks() {
    let mut gate = policy(SHELL_MAY_GO).gate(NetworkClient::Shell);
    let remote = Remote::for_tunnel("example.com:443").unwrap();
    let neutral = ResolvedAddress {
        address: "93.184.216.34".parse().unwrap(),
        is_this_machine: true,
    };
    assert_eq!(
        gate.judge(&remote, &[neutral], Duration::ZERO).verdict,
        Verdict::Deny
    );
}

#[test]
fn private_addresses_need_a_rule_that_names_them() {
    let rule = |rest: &str| {
        let text = format!("[[network]]\n{rest}\nverdict = 'allow'\nreason = 'x'");
        policy(&text).gate(NetworkClient::Shell)
    };
    let reach = |gate: &mut Gate, target_suffix: &str, addresses: &[&str]| {
        judge(gate, &Remote::for_tunnel(target_suffix).unwrap(), addresses)
    };
    let mut by_class = rule("host = ['db.corp.example']\naddress = ['private']");
    assert_eq!(
        reach(&mut by_class, "db.corp.example:5432", &["10.1.2.3"]),
        Verdict::Allow
    );
    // One that asks for private addresses does not get a cloud's secrets.
    assert_eq!(
        reach(&mut by_class, "db.corp.example:80", &["fd00:ec2::254"]),
        Verdict::Deny
    );
    assert_eq!(
        reach(&mut by_class, "db.corp.example:80", &["93.184.216.34"]),
        Verdict::Deny
    );
    let mut literal = rule("host = ['10.1.2.3', 'localhost']\nport = [8080]");
    assert_eq!(reach(&mut literal, "10.1.2.3:8080", &[]), Verdict::Allow);
    assert_eq!(reach(&mut literal, "10.1.2.3:80", &[]), Verdict::Deny);
    assert_eq!(
        reach(&mut literal, "localhost:8080", &["127.0.0.1"]),
        Verdict::Allow
    );
    assert_eq!(
        reach(&mut literal, "localhost:8080", &["10.0.0.1"]),
        Verdict::Deny
    );
}

#[test]
fn a_rule_that_stops_what_is_of_the_link_stops_a_clouds_secrets_too() {
    let text = "
        [[url]]
        host = ['169.254.169.254']
        verdict = 'allow'
        reason = 'Named.'
        [[url]]
        address = ['link_local']
        verdict = 'deny'
        reason = 'Never.'
    ";
    let url = "http://169.254.169.254/latest/meta-data";
    assert_eq!(navigate(&policy(text), url, &facts()), Verdict::Deny);
}

#[test]
fn a_page_reaches_what_the_browser_may_be_sent_to() {
    let text = "
        [[url]]
        host = ['127.0.0.1']
        port = [8080]
        verdict = 'allow'
        reason = 'Under test.'
        limit = { count = 1, then = 'deny' }
        [[url]]
        host = ['ads.example']
        verdict = 'deny'
        reason = 'No.'
    ";
    let mut gate = policy(text).gate(NetworkClient::Browser);
    let mut reach = |target_suffix: &str| {
        judge(
            &mut gate,
            &Remote::for_tunnel(target_suffix).unwrap(),
            &["93.184.216.34"],
        )
    };
    assert_eq!(reach("127.0.0.1:8080"), Verdict::Allow);
    assert_eq!(
        reach("127.0.0.1:8080"),
        Verdict::Allow,
        "limits count calls, not requests"
    );
    assert_eq!(reach("127.0.0.1:9090"), Verdict::Deny);
    assert_eq!(reach("ads.example:443"), Verdict::Deny);
    assert_eq!(reach("www.example:443"), Verdict::Allow);
}

#[test]
fn a_limit_of_connections_counts() {
    let text = "
        [[network]]
        host = ['example.com']
        verdict = 'allow'
        reason = 'A few.'
        limit = { count = 2, then = 'deny' }
    ";
    let mut gate = policy(text).gate(NetworkClient::Desktop);
    let remote = Remote::for_tunnel("example.com:443").unwrap();
    let mut next = || judge(&mut gate, &remote, &["93.184.216.34"]);
    assert_eq!(
        [next(), next(), next()],
        [Verdict::Allow, Verdict::Allow, Verdict::Deny]
    );
}

#[test]
fn a_network_rule_that_means_nothing_is_refused() {
    let check = |text: &str, wanted: &str| {
        let error = Policy::from_toml(text, "p.toml").unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    };
    check(
        "[[network]]\nverdict = 'ask'\nreason = 'x'",
        "cannot wait for approval",
    );
    check(
        "[[network]]\nhost = []\nverdict = 'allow'\nreason = 'x'",
        "`host` is empty",
    );
    check(
        "[[network]]\nfrom = ['browser']\nverdict = 'allow'\nreason = 'x'",
        "[[url]] rules",
    );
    check(
        "[[network]]\nscheme = ['https']\nverdict = 'allow'\nreason = 'x'",
        "unknown field",
    );
    check(
        "[[network]]\nhost = ['a.example']\nverdict = 'allow'\nreason = 'x'\nexamples.match = ['a.example']",
        "is not a host with a port",
    );
    check(
        "[[network]]\nverdict = 'allow'\nreason = 'x'\nlimit = { count = 1, then = 'ask' }",
        "cannot wait for approval",
    );
}

#[test]
fn other_schemes_are_opened_by_a_rule_that_names_them() {
    const OTHERS: [&str; 8] = [
        "file:///etc/hostname",
        "view-source:https://example.com/",
        "chrome://version/",
        "javascript:alert(1)",
        "data:text/html,x",
        "about:version",
        "blob:https://example.com/1",
        "ftp://93.184.216.34/",
    ];
    let everything = policy("[[url]]\nverdict = 'allow'\nreason = 'Everything of the web.'");
    for url in OTHERS {
        assert_eq!(navigate(&everything, url, &facts()), Verdict::Deny, "{url}");
        let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
        let text = format!("[[url]]\nscheme = ['{scheme}']\nverdict = 'allow'\nreason = 'Named.'");
        let named = policy(&text);
        assert_eq!(navigate(&named, url, &facts()), Verdict::Allow, "{url}");
        assert_eq!(
            navigate(&named, "http://127.0.0.1/", &facts()),
            Verdict::Deny
        );
    }
}
