//! Greetings of tunnels, as the egress proxy reads them.

use crate::egress::greeting::{Greeting, MAX_GREETING_BYTES, read};

/// Longer greetings are read at fewer lengths, so that the time stays proportional.
const LENGTHS: usize = 256;

/// Checks that no beginning of a greeting says anything else than more of it, and what a name is.
pub(crate) fn check(bytes: &[u8]) {
    let mut known = Greeting::Incomplete;
    for end in (0..=bytes.len())
        .step_by(bytes.len() / LENGTHS + 1)
        .chain([bytes.len()])
    {
        let greeting = read(&bytes[..end]);
        let is_same = match (&known, &greeting) {
            (Greeting::Incomplete, _) | (Greeting::Unnamed(_), Greeting::Unnamed(_)) => true,
            (known, greeting) => known == greeting,
        };
        assert!(is_same, "after {end} bytes: {known:?}, then {greeting:?}");
        known = greeting;
    }
    if let Greeting::Named { host, .. } = &known {
        assert!(!host.is_empty(), "a name has characters");
        assert!(
            !host
                .chars()
                .any(|c| c.is_control() || c.is_whitespace() || c.is_ascii_uppercase()),
            "{host:?}"
        );
    }
    if bytes.len() >= MAX_GREETING_BYTES {
        assert_ne!(
            known,
            Greeting::Incomplete,
            "nothing is read without a limit"
        );
    }
}

/// TLS greetings and requests of several forms.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let name = |name: &str| extension(0, &long(&[&[0][..], &long(name.as_bytes())].concat()));
    let hidden = extension(0xfe0d, &[0; 40]);
    let hellos = [
        hello(&[name("example.com")]),
        hello(&[name("a.example"), hidden]),
        hello(&[extension(10, &[0, 2, 0, 29]), name("Www.Example.")]),
        hello(&[name("a.example"), name("b.example")]),
        hello(&[]),
    ];
    let split = hellos[0].split_at(60);
    let records = [record(split.0), record(split.1)].concat();
    let requests = [
        "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
        "GET /x HTTP/1.1\r\nA: b\r\nhOsT:  [::1]:80 \r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "POST / HTTP/1.0\r\n\r\n",
    ];
    let hellos = hellos.iter().map(|hello| record(hello));
    let requests = requests.map(|request| request.as_bytes().to_vec());
    hellos.chain([records]).chain(requests).collect()
}

/// Bytes behind their length in two bytes.
fn long(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u16).to_be_bytes()[..], bytes].concat()
}

fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &long(body)].concat()
}

fn record(message: &[u8]) -> Vec<u8> {
    [&[22, 3, 1][..], &long(message)].concat()
}

/// A ClientHello message with these extensions.
fn hello(extensions: &[Vec<u8>]) -> Vec<u8> {
    let body = [
        &[3, 3][..],
        &[7; 32],
        &[0],
        &long(&[0x13, 0x01]),
        &[1, 0],
        &long(&extensions.concat()),
    ];
    let body = body.concat();
    [&[1, 0][..], &long(&body)].concat()
}
