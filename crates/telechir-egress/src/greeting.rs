//! Reads the server that the first bytes of a tunnel name, without changing them.

mod client_hello;
mod http_head;

/// Maximum size of the first bytes that are parsed; a current ClientHello has up to 2 KiB, the
/// headers of a request as much.
pub(crate) const MAX_GREETING_BYTES: usize = 16 * 1024;

/// What the first bytes of a tunnel say about its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// Too few bytes to say.
    Incomplete,
    /// TLS or HTTP for this host, in lower case.
    Named {
        host: String,
        /// Whether it may have a second, encrypted name (ECH, RFC 9849, or an earlier draft).
        may_hide_name: bool,
    },
    /// It names no server, more than one, or only beyond the limit; with the reason.
    Unnamed(&'static str),
}

/// Parses the bytes received so far.
pub(crate) fn read(bytes: &[u8]) -> Greeting {
    let greeting = match bytes.first() {
        None => Greeting::Incomplete,
        Some(&client_hello::HANDSHAKE) => client_hello::read(bytes),
        Some(_) => http_head::read(bytes),
    };
    if greeting == Greeting::Incomplete && bytes.len() >= MAX_GREETING_BYTES {
        return Greeting::Unnamed("its first message is too long");
    }
    greeting
}

/// The host of a name as it was sent, in lower case and without a trailing dot; none if it has other
/// characters than names and addresses have. It appears in messages and recordings.
fn host_of(name: &str) -> Option<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b".-_:".contains(&c);
    let is_host = !name.is_empty() && name.bytes().all(is_plain);
    is_host.then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::client_hello::tests::{client_hello, extension};
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Greeting) {
        // No fragment says anything else than the whole.
        for end in 0..bytes.len() {
            let read = read(&bytes[..end]);
            assert!(
                read == Greeting::Incomplete || read == expected,
                "after {end} bytes: {read:?}"
            );
        }
        assert_eq!(read(bytes), expected);
    }

    fn named(host: &str) -> Greeting {
        Greeting::Named {
            host: host.to_owned(),
            may_hide_name: false,
        }
    }

    #[test]
    fn tls_and_http_name_their_host() {
        check(
            &client_hello(&[extension::name("Good.Example.")]),
            named("good.example"),
        );
        check(
            b"GET / HTTP/1.1\r\nA: b\r\nhOsT:  Good.example:80 \r\n\r\n",
            named("good.example"),
        );
        check(b"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", named("::1"));
    }

    #[test]
    fn a_greeting_over_the_limit_names_nothing() {
        let long = vec![
            extension::name("good.example"),
            (21, vec![0; MAX_GREETING_BYTES]),
        ];
        for bytes in [
            client_hello(&long),
            client_hello(&long.into_iter().rev().collect::<Vec<_>>()),
            [&b"GET / HTTP/1.1\r\nA: "[..], &[b'a'; MAX_GREETING_BYTES]].concat(),
            vec![b'A'; MAX_GREETING_BYTES],
        ] {
            let read = read(&bytes[..MAX_GREETING_BYTES]);
            assert!(matches!(read, Greeting::Unnamed(_)), "{read:?}");
        }
    }

    /// Keys of post-quantum cryptography and tickets take kilobytes.
    #[test]
    fn a_greeting_of_some_kilobytes_is_read_to_its_end() {
        let bytes = client_hello(&[(21, vec![0; 15_000]), extension::name("good.example")]);
        assert_eq!(read(&bytes[..15_000]), Greeting::Incomplete);
        assert_eq!(read(&bytes), named("good.example"));
    }

    #[test]
    fn other_data_names_nothing() {
        for bytes in [
            &b"SSH-2.0-x\r\n"[..],
            b"EHLO good.example\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"GET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: good.example\r\nHost: evil.example\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost : good.example\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: good.example:x@evil.example\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: good.example:80:evil.example\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: [::1]evil.example\r\n\r\n",
            b"GET / HTTP/1.1\r\n: x\r\nHost: good.example\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: good.example\r\nA: b\nHost: evil.example\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: good.example\r\nA: b\rHost: evil.example\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: good.example\r\nA: b\0\r\n\r\n",
            b"GET / HTTP/1.1\r\nA: b\r\n Host: good.example\r\n\r\n",
            b"GET / HTTP/1.1\nHost: good.example\n\n",
            b"GET http://evil.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
            b"GET / HTTP/1.1 \r\nHost: good.example\r\n\r\n",
            b"\0",
            &[22, 2, 0, 0, 1, 1],
            &[22, 3, 1, 0, 0],
            &[0x80, 0x2e, 1, 3, 1],
        ] {
            let read = read(bytes);
            let text = bytes.escape_ascii();
            assert!(matches!(read, Greeting::Unnamed(_)), "{text}: {read:?}");
        }
    }

    /// Such a name reaches messages, recordings and terminals.
    #[test]
    fn a_name_with_other_characters_names_nothing() {
        for name in [
            "a\u{1b}[2Jb",
            "good.example\0.evil.example",
            "good.example\nHost: x",
            "b\u{fc}cher.example",
            "\u{202e}elpmaxe.doog",
            "a b",
            "a/b",
            "u@a",
            ".",
        ] {
            let hello = client_hello(&[extension::name(name)]);
            assert!(matches!(read(&hello), Greeting::Unnamed(_)), "{name:?}");
            let request = format!("GET / HTTP/1.1\r\nHost: {name}\r\n\r\n");
            let greeting = read(request.as_bytes());
            assert!(matches!(greeting, Greeting::Unnamed(_)), "{name:?}");
        }
        let hello = client_hello(&[extension::name("_dmarc.X-1.example")]);
        assert_eq!(read(&hello), named("_dmarc.x-1.example"));
    }
}
