//! Reads the SNI from the first bytes of a tunnel, without changing them.

/// Maximum size of a ClientHello that is parsed, in bytes; current ones have up to 2 KiB.
pub(crate) const MAX_HELLO_BYTES: usize = 16 * 1024;

/// The server name indication in the first bytes of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sni {
    /// An incomplete ClientHello.
    Incomplete,
    /// TLS with this name, in lower case.
    Name(String),
    /// TLS without a name, or another protocol.
    Absent,
}

/// Parses the bytes received so far.
pub(crate) fn read(bytes: &[u8]) -> Sni {
    const HANDSHAKE: u8 = 22;
    let mut message = Vec::new();
    let mut rest = bytes;
    // A ClientHello may be split over several records.
    loop {
        match rest {
            [] => {}
            [HANDSHAKE, ..] if rest.len() < 5 => {}
            [HANDSHAKE, 3, _, high, low, after @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                if length == 0 {
                    return Sni::Absent;
                }
                message.extend_from_slice(&after[..length.min(after.len())]);
                if after.len() >= length {
                    rest = &after[length..];
                    if is_complete(&message) {
                        return server_name(&message).map_or(Sni::Absent, Sni::Name);
                    }
                    continue;
                }
            }
            _ => return Sni::Absent,
        }
        let may_be_hello = message.first().is_none_or(|kind| *kind == CLIENT_HELLO);
        return if may_be_hello && bytes.len() < MAX_HELLO_BYTES {
            Sni::Incomplete
        } else {
            Sni::Absent
        };
    }
}

const CLIENT_HELLO: u8 = 1;

fn is_complete(message: &[u8]) -> bool {
    match message {
        [CLIENT_HELLO, a, b, c, after @ ..] => {
            let length = u32::from_be_bytes([0, *a, *b, *c]);
            usize::try_from(length).is_ok_and(|length| after.len() >= length)
        }
        [kind, ..] => *kind != CLIENT_HELLO,
        [] => false,
    }
}

/// The first host name of the `server_name` extension.
fn server_name(message: &[u8]) -> Option<String> {
    let mut hello = ByteReader(message);
    if hello.take(1)? != [CLIENT_HELLO] {
        return None;
    }
    // Length, version and random; then session id, cipher suites and compression methods.
    hello.take(3 + 2 + 32)?;
    hello.length_prefixed::<1>()?;
    hello.length_prefixed::<2>()?;
    hello.length_prefixed::<1>()?;
    let mut extensions = ByteReader(hello.length_prefixed::<2>()?);
    loop {
        let kind = extensions.take(2)?;
        let body = extensions.length_prefixed::<2>()?;
        if kind == [0, 0] {
            let mut names = ByteReader(ByteReader(body).length_prefixed::<2>()?);
            names.take(1).filter(|kind| *kind == [0])?;
            let server_name = std::str::from_utf8(names.length_prefixed::<2>()?).ok()?;
            return Some(server_name.trim_end_matches('.').to_ascii_lowercase());
        }
    }
}

/// Reads from the front of a byte slice.
struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes a field with a length prefix of `N` bytes.
    fn length_prefixed<const N: usize>(&mut self) -> Option<&'a [u8]> {
        let digits = self.take(N)?;
        let count = digits
            .iter()
            .fold(0, |count, digit| (count << 8) | usize::from(*digit));
        self.take(count)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn length_prefixed(width: usize, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&length[4 - width..], body].concat()
    }

    /// A ClientHello for this name, in one record.
    pub(crate) fn client_hello(server_name: Option<&str>) -> Vec<u8> {
        let names = server_name.map(|server_name| {
            let entry = [&[0][..], &length_prefixed(2, server_name.as_bytes())].concat();
            [
                &[0, 0][..],
                &length_prefixed(2, &length_prefixed(2, &entry)),
            ]
            .concat()
        });
        let other = [&[0, 10][..], &length_prefixed(2, &[0, 2, 0, 29])].concat();
        let extensions = [other, names.unwrap_or_default()].concat();
        let body = [
            &[3, 3][..],
            &[7; 32],
            &length_prefixed(1, &[9; 32]),
            &length_prefixed(2, &[0x13, 0x01]),
            &length_prefixed(1, &[0]),
            &length_prefixed(2, &extensions),
        ]
        .concat();
        let message = [&[1][..], &length_prefixed(3, &body)].concat();
        [&[22, 3, 1][..], &length_prefixed(2, &message)].concat()
    }

    #[test]
    fn reads_the_name_as_soon_as_it_is_complete() {
        let hello = client_hello(Some("Www.Example.com."));
        for end in 1..hello.len() {
            assert_eq!(read(&hello[..end]), Sni::Incomplete, "after {end} bytes");
        }
        assert_eq!(read(&hello), Sni::Name("www.example.com".to_owned()));
        let more = [hello, vec![23; 90]].concat();
        assert_eq!(read(&more), Sni::Name("www.example.com".to_owned()));
    }

    #[test]
    fn reads_a_name_split_over_two_records() {
        let hello = client_hello(Some("example.com"));
        let message = &hello[5..];
        let (first, second) = message.split_at(50);
        let split = [
            &[22, 3, 1][..],
            &length_prefixed(2, first),
            &[22, 3, 1],
            &length_prefixed(2, second),
        ]
        .concat();
        assert_eq!(read(&split), Sni::Name("example.com".to_owned()));
        assert_eq!(read(&split[..60]), Sni::Incomplete);
    }

    #[test]
    fn other_data_has_no_sni() {
        assert_eq!(read(&client_hello(None)), Sni::Absent);
        assert_eq!(read(b"SSH-2.0-x\r\n"), Sni::Absent);
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), Sni::Absent);
        assert_eq!(read(&[22, 2, 0, 0, 1, 1]), Sni::Absent);
        assert_eq!(read(&[22, 3, 1, 0, 0]), Sni::Absent);
        // A ClientHello with an excessive length is not waited for.
        let endless = [
            &[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff][..],
            &[0; MAX_HELLO_BYTES],
        ]
        .concat();
        assert_eq!(read(&endless), Sni::Absent);
    }

    #[test]
    fn corrupted_bytes_do_not_panic() {
        let hello = client_hello(Some("example.com"));
        for at in 0..hello.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut broken = hello.clone();
                broken[at] = value;
                read(&broken);
            }
        }
    }
}
