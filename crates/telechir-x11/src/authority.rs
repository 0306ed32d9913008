//! Reads and writes X authority files (`Xauthority(7)`), which contain the cookie of an X server.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use telechir_process::make_private_file;

const COOKIE_NAME: &[u8] = b"MIT-MAGIC-COOKIE-1";
/// Matches any host (`FamilyWild` in X11/Xauth.h).
const FAMILY_WILD: u16 = 65535;

/// The secret that authenticates a client to one X server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct MagicCookie(Vec<u8>);

impl MagicCookie {
    /// Generates a cookie from `/dev/urandom`.
    pub(crate) fn random() -> io::Result<Self> {
        let mut bytes = vec![0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Writes an authority file with mode 0600 whose entry matches every display number.
    pub(crate) fn write(&self, path: &Path) -> io::Result<File> {
        let mut file = make_private_file(path)?;
        let mut entry = FAMILY_WILD.to_be_bytes().to_vec();
        for field in [b"".as_slice(), b"", COOKIE_NAME, &self.0] {
            let length = u16::try_from(field.len()).map_err(io::Error::other)?;
            entry.extend_from_slice(&length.to_be_bytes());
            entry.extend_from_slice(field);
        }
        file.write_all(&entry)?;
        Ok(file)
    }

    /// Reads the cookie for a display number from a file; `None` if there is no matching entry.
    pub(crate) fn read(path: &Path, display: Option<u16>) -> io::Result<Option<Self>> {
        let bytes = fs::read(path)?;
        let mut rest = bytes.as_slice();
        while let Some(entry) = XauthEntry::take(&mut rest) {
            let wanted = display.map(|number| number.to_string().into_bytes());
            let fits =
                entry.number.is_empty() || wanted.is_none_or(|wanted| wanted == entry.number);
            if fits && entry.name == COOKIE_NAME {
                return Ok(Some(Self(entry.data.to_vec())));
            }
        }
        Ok(None)
    }
}

impl std::fmt::Debug for MagicCookie {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MagicCookie")
    }
}

struct XauthEntry<'a> {
    number: &'a [u8],
    name: &'a [u8],
    data: &'a [u8],
}

impl<'a> XauthEntry<'a> {
    fn take(rest: &mut &'a [u8]) -> Option<Self> {
        let _family = take_number(rest)?;
        let _host = take_field(rest)?;
        Some(Self {
            number: take_field(rest)?,
            name: take_field(rest)?,
            data: take_field(rest)?,
        })
    }
}

fn take_number(rest: &mut &[u8]) -> Option<u16> {
    let (head, tail) = rest.split_first_chunk::<2>()?;
    *rest = tail;
    Some(u16::from_be_bytes(*head))
}

fn take_field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::from(take_number(rest)?);
    let (field, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(field)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn reads_back_what_it_wrote_for_any_display() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authority");
        let cookie = MagicCookie::random().unwrap();
        cookie.write(&path).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            MagicCookie::read(&path, Some(7)).unwrap(),
            Some(cookie.clone())
        );
        assert_eq!(MagicCookie::read(&path, None).unwrap(), Some(cookie));
    }

    #[test]
    fn skips_entries_of_other_displays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authority");
        // Family local, host "h", number, name, data: the format that xauth writes.
        let entry = |number: &[u8], data: u8| {
            let mut bytes = vec![1, 0, 0, 1, b'h', 0, 1];
            bytes.extend_from_slice(number);
            bytes.extend_from_slice(&[0, 18]);
            bytes.extend_from_slice(COOKIE_NAME);
            bytes.extend_from_slice(&[0, 1, data]);
            bytes
        };
        fs::write(&path, [entry(b"1", 11), entry(b"2", 22)].concat()).unwrap();
        assert_eq!(
            MagicCookie::read(&path, Some(2)).unwrap(),
            Some(MagicCookie(vec![22]))
        );
        assert_eq!(MagicCookie::read(&path, Some(3)).unwrap(), None);
    }

    #[test]
    fn two_cookies_differ() {
        assert_ne!(
            MagicCookie::random().unwrap(),
            MagicCookie::random().unwrap()
        );
    }
}
