//! The name with which TLS begins: read from a tunnel's first bytes, never changed.

/// The most of a first message that is looked at; those of today have up to 2 KiB.
pub(crate) const MOST: usize = 16 * 1024;

/// What the first bytes of a tunnel say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// They are the beginning of a greeting that is not whole yet.
    More,
    /// TLS with this name, in small letters.
    Name(String),
    /// TLS without a name, or something else.
    Nothing,
}

/// Reads what has come so far.
pub(crate) fn read(bytes: &[u8]) -> Said {
    const HANDSHAKE: u8 = 22;
    let mut message = Vec::new();
    let mut rest = bytes;
    // A greeting may come in several records.
    loop {
        match rest {
            [] => {}
            [HANDSHAKE, ..] if rest.len() < 5 => {}
            [HANDSHAKE, 3, _, high, low, after @ ..] => {
                let length = usize::from(u16::from_be_bytes([*high, *low]));
                if length == 0 {
                    return Said::Nothing;
                }
                message.extend_from_slice(&after[..length.min(after.len())]);
                if after.len() >= length {
                    rest = &after[length..];
                    if is_whole(&message) {
                        return name(&message).map_or(Said::Nothing, Said::Name);
                    }
                    continue;
                }
            }
            _ => return Said::Nothing,
        }
        let is_begun = message.first().is_none_or(|kind| *kind == CLIENT_HELLO);
        return if is_begun && bytes.len() < MOST {
            Said::More
        } else {
            Said::Nothing
        };
    }
}

const CLIENT_HELLO: u8 = 1;

fn is_whole(message: &[u8]) -> bool {
    match message {
        [CLIENT_HELLO, a, b, c, after @ ..] => {
            let length = u32::from_be_bytes([0, *a, *b, *c]);
            usize::try_from(length).is_ok_and(|length| after.len() >= length)
        }
        [kind, ..] => *kind != CLIENT_HELLO,
        [] => false,
    }
}

/// The first name of the extension for names.
fn name(message: &[u8]) -> Option<String> {
    let mut hello = Bytes(message);
    if hello.take(1)? != [CLIENT_HELLO] {
        return None;
    }
    // Length, version, random bytes; then the session, ciphers and compressions.
    hello.take(3 + 2 + 32)?;
    hello.counted::<1>()?;
    hello.counted::<2>()?;
    hello.counted::<1>()?;
    let mut extensions = Bytes(hello.counted::<2>()?);
    loop {
        let kind = extensions.take(2)?;
        let body = extensions.counted::<2>()?;
        if kind == [0, 0] {
            let mut names = Bytes(Bytes(body).counted::<2>()?);
            names.take(1).filter(|kind| *kind == [0])?;
            let name = std::str::from_utf8(names.counted::<2>()?).ok()?;
            return Some(name.trim_end_matches('.').to_ascii_lowercase());
        }
    }
}

/// Bytes that are taken from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// What a length of `N` bytes stands before.
    fn counted<const N: usize>(&mut self) -> Option<&'a [u8]> {
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

    fn counted(width: usize, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        [&length[4 - width..], body].concat()
    }

    /// A greeting for this name, in one record.
    pub(crate) fn greeting(name: Option<&str>) -> Vec<u8> {
        let names = name.map(|name| {
            let entry = [&[0][..], &counted(2, name.as_bytes())].concat();
            [&[0, 0][..], &counted(2, &counted(2, &entry))].concat()
        });
        let other = [&[0, 10][..], &counted(2, &[0, 2, 0, 29])].concat();
        let extensions = [other, names.unwrap_or_default()].concat();
        let body = [
            &[3, 3][..],
            &[7; 32],
            &counted(1, &[9; 32]),
            &counted(2, &[0x13, 0x01]),
            &counted(1, &[0]),
            &counted(2, &extensions),
        ]
        .concat();
        let message = [&[1][..], &counted(3, &body)].concat();
        [&[22, 3, 1][..], &counted(2, &message)].concat()
    }

    #[test]
    fn a_name_is_read_as_soon_as_it_is_whole() {
        let whole = greeting(Some("Www.Example.com."));
        for end in 1..whole.len() {
            assert_eq!(read(&whole[..end]), Said::More, "after {end} bytes");
        }
        assert_eq!(read(&whole), Said::Name("www.example.com".to_owned()));
        let more = [whole, vec![23; 90]].concat();
        assert_eq!(read(&more), Said::Name("www.example.com".to_owned()));
    }

    #[test]
    fn a_name_in_two_records_is_read() {
        let whole = greeting(Some("example.com"));
        let message = &whole[5..];
        let (first, second) = message.split_at(50);
        let split = [
            &[22, 3, 1][..],
            &counted(2, first),
            &[22, 3, 1],
            &counted(2, second),
        ]
        .concat();
        assert_eq!(read(&split), Said::Name("example.com".to_owned()));
        assert_eq!(read(&split[..60]), Said::More);
    }

    #[test]
    fn what_has_no_name_says_nothing() {
        assert_eq!(read(&greeting(None)), Said::Nothing);
        assert_eq!(read(b"SSH-2.0-x\r\n"), Said::Nothing);
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), Said::Nothing);
        assert_eq!(read(&[22, 2, 0, 0, 1, 1]), Said::Nothing);
        assert_eq!(read(&[22, 3, 1, 0, 0]), Said::Nothing);
        // A greeting that claims to be longer than any is waited for only so long.
        let endless = [&[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff][..], &[0; MOST]].concat();
        assert_eq!(read(&endless), Said::Nothing);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = greeting(Some("example.com"));
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut broken = whole.clone();
                broken[at] = value;
                read(&broken);
            }
        }
    }
}
