//! Reads the SNI of a TLS ClientHello.

use super::{Greeting, host_of};

/// The type of a record with handshake messages.
pub(super) const HANDSHAKE: u8 = 22;
/// Extensions: `server_name`, `encrypted_client_hello` with its drafts, `encrypted_server_name`.
const SERVER_NAME: u16 = 0;
const ENCRYPTED_NAMES: [u16; 5] = [0xfe0d, 0xfe0a, 0xfe09, 0xfe08, 0xffce];

const NO_NAME: &str = "its TLS greeting does not name one server";
const NO_GREETING: &str = "it is neither TLS nor HTTP";

/// Parses the bytes received so far, of which the first is the record's type.
pub(super) fn read(bytes: &[u8]) -> Greeting {
    let mut message = Vec::new();
    let mut rest = bytes;
    // A ClientHello may be split over several records.
    loop {
        match rest {
            [] => {}
            [HANDSHAKE, version, ..] if rest.len() < 5 && *version == 3 => {}
            [HANDSHAKE] => {}
            [HANDSHAKE, 3, _, high, low, after @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                if length == 0 {
                    return Greeting::Unnamed(NO_GREETING);
                }
                message.extend_from_slice(&after[..length.min(after.len())]);
                if after.len() >= length {
                    rest = &after[length..];
                    if is_complete(&message) {
                        return named(&message).unwrap_or(Greeting::Unnamed(NO_NAME));
                    }
                    continue;
                }
            }
            _ => return Greeting::Unnamed(NO_GREETING),
        }
        return match message.first() {
            None | Some(&CLIENT_HELLO) => Greeting::Incomplete,
            Some(_) => Greeting::Unnamed(NO_GREETING),
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

/// The only host name of the only `server_name` extension, as RFC 6066 has it: servers disagree
/// about others.
fn named(message: &[u8]) -> Option<Greeting> {
    let mut hello = ByteReader(message);
    if hello.take(1)? != [CLIENT_HELLO] {
        return None;
    }
    let mut hello = ByteReader(hello.length_prefixed::<3>()?);
    // Version and random; then session id, cipher suites and compression methods.
    hello.take(2 + 32)?;
    hello.length_prefixed::<1>()?;
    hello.length_prefixed::<2>()?;
    hello.length_prefixed::<1>()?;
    let mut extensions = ByteReader(hello.length_prefixed::<2>()?);
    let (mut host, mut may_hide_name) = (None, false);
    while !extensions.0.is_empty() {
        let kind = u16::from_be_bytes(extensions.take(2)?.try_into().ok()?);
        let body = extensions.length_prefixed::<2>()?;
        if kind == SERVER_NAME && host.replace(only_name(body)?).is_some() {
            return None;
        }
        may_hide_name |= ENCRYPTED_NAMES.contains(&kind);
    }
    Some(Greeting::Named {
        host: host?,
        may_hide_name,
    })
}

fn only_name(body: &[u8]) -> Option<String> {
    let mut names = ByteReader(ByteReader(body).length_prefixed::<2>()?);
    names.take(1).filter(|kind| *kind == [0])?;
    let name = std::str::from_utf8(names.length_prefixed::<2>()?).ok()?;
    host_of(name).filter(|_| names.0.is_empty())
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
pub(super) mod tests {
    use super::*;

    fn length_prefixed(width: usize, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&length[4 - width..], body].concat()
    }

    /// An extension's type and body.
    pub(crate) type Extension = (u16, Vec<u8>);

    /// Extensions of a ClientHello.
    pub(crate) mod extension {
        use super::{Extension, length_prefixed};

        /// One name.
        pub(crate) fn name(name: &str) -> Extension {
            names(&[name])
        }

        /// A list of names.
        pub(crate) fn names(names: &[&str]) -> Extension {
            let entries = names
                .iter()
                .map(|name| [&[0][..], &length_prefixed(2, name.as_bytes())].concat());
            (0, length_prefixed(2, &entries.collect::<Vec<_>>().concat()))
        }
    }

    fn message(extensions: &[Extension]) -> Vec<u8> {
        let extensions = extensions
            .iter()
            .map(|(kind, body)| [&kind.to_be_bytes()[..], &length_prefixed(2, body)].concat());
        let body = [
            &[3, 3][..],
            &[7; 32],
            &length_prefixed(1, &[9; 32]),
            &length_prefixed(2, &[0x13, 0x01]),
            &length_prefixed(1, &[0]),
            &length_prefixed(2, &extensions.collect::<Vec<_>>().concat()),
        ]
        .concat();
        [&[1][..], &length_prefixed(3, &body)].concat()
    }

    /// A ClientHello with these extensions, in one record.
    pub(crate) fn client_hello(extensions: &[Extension]) -> Vec<u8> {
        [&[22, 3, 1][..], &length_prefixed(2, &message(extensions))].concat()
    }

    fn named(host: &str, may_hide_name: bool) -> Greeting {
        Greeting::Named {
            host: host.to_owned(),
            may_hide_name,
        }
    }

    #[test]
    fn reads_the_name_as_soon_as_it_is_complete() {
        // The middle one is as long as a post-quantum key share.
        let long = (51, vec![7; 1216]);
        let hello = client_hello(&[
            (10, vec![0, 2, 0, 29]),
            long,
            extension::name("Www.Example.com."),
        ]);
        for end in 1..hello.len() {
            assert_eq!(
                read(&hello[..end]),
                Greeting::Incomplete,
                "after {end} bytes"
            );
        }
        assert_eq!(read(&hello), named("www.example.com", false));
        let more = [hello, vec![23; 90]].concat();
        assert_eq!(read(&more), named("www.example.com", false));
    }

    #[test]
    fn reads_a_name_wherever_its_records_are_split() {
        let message = message(&[extension::name("example.com")]);
        let record = |part: &[u8]| [&[22, 3, 1][..], &length_prefixed(2, part)].concat();
        for at in 1..message.len() {
            let first = record(&message[..at]);
            assert_eq!(read(&first), Greeting::Incomplete, "after {at} bytes");
            let both = [first, record(&message[at..])].concat();
            let cut = &both[..both.len() - 1];
            assert_eq!(read(cut), Greeting::Incomplete, "after {at} bytes, cut");
            assert_eq!(read(&both), named("example.com", false), "after {at} bytes");
        }
    }

    #[test]
    fn an_encrypted_name_is_seen_wherever_it_stands() {
        let name = extension::name("example.com");
        for kind in ENCRYPTED_NAMES {
            let hidden = (kind, vec![0; 40]);
            for extensions in [[name.clone(), hidden.clone()], [hidden, name.clone()]] {
                assert_eq!(read(&client_hello(&extensions)), named("example.com", true));
            }
        }
    }

    #[test]
    fn no_name_and_several_names_are_no_name() {
        let name = extension::name("good.example");
        for extensions in [
            vec![],
            vec![(10, vec![0, 2, 0, 29])],
            vec![extension::name("")],
            vec![extension::names(&["good.example", "evil.example"])],
            vec![name.clone(), extension::name("evil.example")],
            vec![name.clone(), name],
            vec![(0, vec![])],
            vec![(0, vec![0, 1, 1])],
        ] {
            let read = read(&client_hello(&extensions));
            assert_eq!(read, Greeting::Unnamed(NO_NAME), "{extensions:?}");
        }
    }

    #[test]
    fn corrupted_bytes_do_not_panic() {
        let hello = client_hello(&[extension::name("example.com")]);
        for at in 0..hello.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut broken = hello.clone();
                broken[at] = value;
                super::super::read(&broken);
            }
        }
    }
}
