//! Where an X server listens, read from a display name such as `:1` or `localhost:10.0`.

use std::path::PathBuf;

/// The place of a server and which of its screens is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// A socket file on this machine.
    Local {
        /// The socket.
        path: PathBuf,
        /// The display's number, absent when the name is a socket's path.
        number: Option<u16>,
        /// Which of its screens.
        screen: usize,
    },
    /// A host, as a forwarded connection uses it.
    Remote {
        /// The host.
        host: String,
        /// 6000 and the display's number.
        port: u16,
        /// The display's number.
        number: u16,
        /// Which of its screens.
        screen: usize,
    },
}

impl Address {
    /// The server of this machine with that number.
    pub(crate) fn local(number: u16) -> Self {
        Self::Local {
            path: socket_path(number),
            number: Some(number),
            screen: 0,
        }
    }

    /// The place a display name means; none when it is not one.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        if name.starts_with('/') {
            return Some(Self::Local {
                path: name.into(),
                number: None,
                screen: 0,
            });
        }
        let (host, rest) = name.rsplit_once(':')?;
        let (number, screen) = match rest.split_once('.') {
            Some((number, screen)) => (number.parse().ok()?, screen.parse().ok()?),
            None => (rest.parse::<u16>().ok()?, 0),
        };
        match host {
            "" | "unix" => Some(Self::Local {
                path: socket_path(number),
                number: Some(number),
                screen,
            }),
            host => {
                let port = number.checked_add(6000)?;
                Some(Self::Remote {
                    host: host.to_owned(),
                    port,
                    number,
                    screen,
                })
            }
        }
    }

    /// Which of the server's screens is meant.
    pub(crate) const fn screen(&self) -> usize {
        match self {
            Self::Local { screen, .. } | Self::Remote { screen, .. } => *screen,
        }
    }

    /// The display's number, which chooses the cookie.
    pub(crate) const fn number(&self) -> Option<u16> {
        match self {
            Self::Local { number, .. } => *number,
            Self::Remote { number, .. } => Some(*number),
        }
    }

    /// Whether it is a socket file.
    pub(crate) const fn is_local(&self) -> bool {
        matches!(self, Self::Local { .. })
    }
}

/// Where the server with this number listens.
pub(crate) fn socket_path(number: u16) -> PathBuf {
    format!("/tmp/.X11-unix/X{number}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(number: u16, screen: usize) -> Option<Address> {
        Some(Address::Local {
            path: socket_path(number),
            number: Some(number),
            screen,
        })
    }

    #[test]
    fn reads_names_of_this_machine() {
        assert_eq!(Address::parse(":0"), local(0, 0));
        assert_eq!(Address::parse(":12.1"), local(12, 1));
        assert_eq!(Address::parse("unix:3"), local(3, 0));
    }

    #[test]
    fn reads_the_name_of_a_forwarded_display() {
        let expected = Address::Remote {
            host: "localhost".into(),
            port: 6010,
            number: 10,
            screen: 0,
        };
        assert_eq!(Address::parse("localhost:10.0"), Some(expected));
    }

    #[test]
    fn refuses_what_is_no_display_name() {
        for name in ["", "0", ":", ":x", ":1.y", ":70000", "h:60000"] {
            assert_eq!(Address::parse(name), None, "{name}");
        }
    }
}
